"""The reference models: what there is, where it comes from, and how its input is written.

An entry names its functions as ``"module:function"``, so that listing the models loads none of
them, and a model whose input comes from a match can be read by the part that knows matches.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attnlens.errors import InputError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """An input, ready for a model, and the words that belong to it.

    Attributes:
        inputs: what the model is called with.
        names: symbols of the tensors in ``inputs``; empty: ``x``.
        axes: axes of inputs (by symbol) and of parameters (by name).
        labels: axis to its labels, such as ``{"token": ("3", "1", "4")}``.
        batched: whether the first axis of every input is a batch of one.
        about: a line on the input.
    """

    inputs: tuple[Any, ...]
    names: tuple[str, ...] = ()
    axes: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    batched: bool = True
    about: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model in evaluation mode, and whatever else reading its input takes.

    Attributes:
        beside: such as a vocabulary or players' ratings.
    """

    module: nn.Module
    beside: Any = None


@dataclass(frozen=True, slots=True)
class ReferenceModel:
    """One entry.

    Attributes:
        name: as it is asked for.
        title: a few words.
        source: the paper and its section.
        purpose: what it is for.
        written: how its INPUT is written, a few words.
        example: an INPUT to describe it with; ``None`` where `read` makes one of its own.
        kind: what its checkpoints say they are; ``""`` where it has none.
        load: ``function(path or None) -> Loaded``; ``None`` is the one that comes with attnlens.
        read: ``function(loaded, text or None, options) -> Reading``; ``options`` are those of
            the command, by name. Without a text it makes an example.
        from_file: whether its INPUT names a file.
    """

    name: str
    title: str
    source: str
    purpose: str
    written: str
    load: str
    read: str
    kind: str = ""
    example: str | None = None
    from_file: bool = False

    def loaded(self, path: Path | None = None) -> Loaded:
        """The model.

        Raises:
            CheckpointError: ``path`` is no checkpoint of this kind.
        """
        made: Loaded = _function(self.load)(path)
        return made

    def reading(
        self, loaded: Loaded, text: str | None = None, options: Mapping[str, Any] | None = None
    ) -> Reading:
        """An input from how it is written.

        Raises:
            InputError: it cannot be read, or is none for this model.
        """
        given = self.example if text is None else text
        made: Reading = _function(self.read)(loaded, given, options or {})
        return made


ATTENTION_PAPER: Final = 'Vaswani et al. 2017, "Attention Is All You Need"'

MODELS: Final[tuple[ReferenceModel, ...]] = (
    ReferenceModel(
        name="temporal",
        title="the predictor of the next ball",
        source=f"{ATTENTION_PAPER}, section 3.2, with biases for how balls stand to one another",
        purpose="what `explain` explains: a ball as a graph of nodes, its past at four scales",
        written="MATCH, with --ball",
        load="attnlens.cricket.inside:loaded",
        read="attnlens.cricket.inside:read_ball",
        kind="temporal",
        from_file=True,
    ),
    ReferenceModel(
        name="attention",
        title="multi-head attention from scratch",
        source=f"{ATTENTION_PAPER}, section 3.2",
        purpose="the layer that every other model here is built from; weights set by hand",
        written="rows of numbers such as 1,0,0,1;0,1,0,1 or a number of rows",
        load="attnlens.models.by_hand:loaded",
        read="attnlens.models.by_hand:read_rows",
        example="1,0,0,1;0,1,0,1;1,0,1,0",
    ),
    ReferenceModel(
        name="tiny",
        title="a transformer to be read number by number",
        source=f"{ATTENTION_PAPER}, section 3, without positions; GELU: Hendrycks & Gimpel 2016",
        purpose="every number of a transformer on one page, after training on a task whose answer "
        "is known",
        written="5 tokens from 0 to 9, such as 3,1,4,1,5",
        load="attnlens.models.tiny:loaded",
        read="attnlens.models.tiny:read_tokens",
        kind="tiny",
    ),
    ReferenceModel(
        name="seq2seq",
        title="an encoder-decoder of sentences",
        source=f"{ATTENTION_PAPER}, section 3",
        purpose="spoken commentary to what a scorer writes down: three kinds of attention, and "
        "words to follow through them",
        written="a sentence, in quotes",
        load="attnlens.text.inside:loaded",
        read="attnlens.text.inside:read_sentence",
        kind="seq2seq",
        example="Tanemori to Duvivier-Oke, full and on the pads, flicked away for four.",
    ),
    ReferenceModel(
        name="cricket",
        title="an encoder-decoder of overs",
        source=f"{ATTENTION_PAPER}, section 3",
        purpose="the next over, token by token, from up to 128 past balls: what `over` asks",
        written="MATCH, with --over",
        load="attnlens.cricket.inside_over:loaded",
        read="attnlens.cricket.inside_over:read_over",
        kind="cricket",
        from_file=True,
    ),
)
"""Every reference model, in the order in which they are listed."""


def reference_model(name: str) -> tuple[ReferenceModel, Path | None]:
    """The entry of a name or of a checkpoint's file, and the file.

    Raises:
        InputError: neither; the names there are are told.
        CheckpointError: a file that is no checkpoint of these models.
    """
    for entry in MODELS:
        if entry.name == name:
            return entry, None
    from attnlens.models.shipped import SHIPPED, named_checkpoint

    if name in SHIPPED:
        path = named_checkpoint(name)[1]
    elif os.path.exists(name):
        path = Path(name)
    else:
        raise InputError(f"no model is called {name!r}", remedy=KNOWN)
    from attnlens.models.checkpoint import checkpoint_kind

    kind = checkpoint_kind(path)
    for entry in MODELS:
        if entry.kind == kind:
            return entry, path
    raise InputError(f"holds a {kind!r}, none of the reference models", path=path, remedy=KNOWN)


KNOWN: Final = f"give {', '.join(entry.name for entry in MODELS)} or a checkpoint's file"


def _function(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
