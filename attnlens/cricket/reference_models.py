"""All reference models, for cricket and for general use, in the order of display."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from attnlens.cricket.predictor.calibration import SHIPPED, named_checkpoint
from attnlens.reference.catalogue import ATTENTION, ATTENTION_PAPER, TINY, ReferenceModel
from attnlens.reference.catalogue import reference_model as chosen

MODELS: Final[tuple[ReferenceModel, ...]] = (
    ReferenceModel(
        name="temporal",
        title="the predictor of the next ball",
        source=f"{ATTENTION_PAPER}, section 3.2, with biases for the relations between balls",
        purpose="the model of `explain`: a ball is read as a graph, and the past at five scales",
        written="MATCH, with --ball",
        load="attnlens.cricket.reference_inputs:predictor",
        read="attnlens.cricket.reference_inputs:read_ball",
        kind="temporal",
        options=("ball", "innings"),
    ),
    ATTENTION,
    TINY,
    ReferenceModel(
        name="seq2seq",
        title="an encoder-decoder of sentences",
        source=f"{ATTENTION_PAPER}, section 3",
        purpose="translates spoken commentary into scorer's notation, and shows how three kinds "
        "of attention process the words",
        written="a sentence, in quotes",
        load="attnlens.reference.text_model:load_text",
        read="attnlens.reference.text_model:read_sentence",
        kind="seq2seq",
        example="Tanemori to Duvivier-Oke, full and on the pads, flicked away for four.",
    ),
    ReferenceModel(
        name="cricket",
        title="an encoder-decoder of overs",
        source=f"{ATTENTION_PAPER}, section 3",
        purpose="the model of the command `over`, which predicts the tokens of the next over "
        "from up to 128 past balls",
        written="MATCH, with --over",
        load="attnlens.cricket.reference_inputs:overs",
        read="attnlens.cricket.reference_inputs:read_over",
        kind="cricket",
        options=("over", "innings"),
    ),
)


def reference_model(name: str) -> tuple[ReferenceModel, Path | None]:
    """Return a reference model by name or by checkpoint file, and the path of the file.

    Raises:
        InputError: ``name`` is neither a known name nor a file; the message lists the names.
        CheckpointError: the file is not a checkpoint of these models.
    """
    return chosen(name, MODELS, {shipped: named_checkpoint(shipped)[1] for shipped in SHIPPED})
