"""Figures, tables and names in the documentation are those of the code and of the outputs."""

from __future__ import annotations

import re

from command_line import REPOSITORY

from attnlens import attention
from attnlens.cricket.over.encoder_decoder import OverSizes
from attnlens.cricket.over.features import CONTEXT_FEATURES, PAST_FEATURES, TOKENS
from attnlens.cricket.over.next_over import load_overs
from attnlens.cricket.predictor.calibration import named_checkpoint
from attnlens.recording import capture
from attnlens.reference.text_model import AnswerAccuracy, TextModel

INSIDE, MODELS, OVER, RECORDINGS = (
    (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("inside-a-transformer", "models", "over", "recordings")
)
BLOCK = re.compile(r"^```(sh|text|python)\n(.*?)^```$", re.M | re.S)
EXAMPLES = re.findall(r"^## ([^\n]+)$(?:(?!^## ).)*?^```python\n.*?^```$", MODELS, re.M | re.S)


def test_the_figures_of_the_text_model_are_those_that_it_keeps() -> None:
    kept = TextModel.load().metadata["figures"]
    told = {"held_out": "held-out pairs"}
    told["new_combinations"] = "held-out pairs with combinations never seen in training"
    for name, words in told.items():
        assert AnswerAccuracy(**kept[name]).summary(words) in INSIDE


def test_the_figures_in_the_words_are_those_of_the_outputs() -> None:
    words = " ".join(BLOCK.sub("", INSIDE).split())
    blocks = BLOCK.findall(INSIDE)
    table = next(text for kind, text in blocks if kind == "text" and "partners" in text)
    rows = {line.split()[0]: line.split() for line in table.splitlines() if "%" in line}
    one, none = rows["one"], rows["none"]
    assert f"{float(one[2].rstrip('%')):.0f}% of the attention on average" in words
    assert f"{one[5]} of the answers change" in words
    assert f"{float(none[4].rstrip('%')):.0f}% of the answers go" in words


def test_every_section_on_models_has_an_example_and_the_table_leads_to_it() -> None:
    titles = re.findall(r"^## (.+)$", MODELS, re.M)
    assert titles == EXAMPLES
    assert len(titles) == 9
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\(#([\w-]+)\)", MODELS)) == anchors
    assert f"{capture.WHOLE_CALL_BYTES >> 20} MiB per call" in MODELS


def test_the_tables_of_the_encoder_decoder_are_the_codes() -> None:
    tables = OVER.split("A past ball is described")[1].split("## Tokens")[0]
    cells = re.findall(r"^\| (`.+?`) \|", tables, re.M)
    assert re.findall(r"`(\w+)`", " ".join(cells)) == [*PAST_FEATURES, *CONTEXT_FEATURES]
    section = OVER.split("## Tokens")[1].split("Every delivery has one token.")[0]
    cells = re.findall(r"^\| (.+?) \|", section, re.M)
    assert re.findall(r"`([^`]+)`", "".join(cells)) == [*TOKENS]


def test_the_sizes_of_the_encoder_decoder_are_the_models() -> None:
    sizes = load_overs().model.sizes
    assert f"{OverSizes().parameters:,} parameters" in OVER
    assert f"{sizes.parameters:,} parameters" in OVER
    assert (sizes.d, sizes.heads, sizes.d_k, sizes.ff, sizes.length) == (64, 4, 16, 256, 14)
    size = named_checkpoint("cricket")[1].stat().st_size
    assert f"{size / 1e6:.2f} MB" in OVER


def test_every_function_of_attention_is_told_of() -> None:
    names = {name for name in attention.__all__ if name.islower()}
    assert names <= set(re.findall("[a-z_]+", RECORDINGS))
