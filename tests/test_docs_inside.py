"""The page on the reference models: its figures are those of the models and of its outputs."""

from __future__ import annotations

import re
from pathlib import Path

from command_line import REPOSITORY

from attnlens.reference.text_model import AnswerAccuracy, TextModel

DOCS = REPOSITORY / "docs"
INSIDE = DOCS / "inside-a-transformer.md"
BLOCK = re.compile(r"^```(sh|text|python)\n(.*?)^```$", re.M | re.S)


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text(encoding="utf-8"))


def test_the_figures_of_the_text_model_are_those_that_it_keeps() -> None:
    kept = TextModel.load().metadata["figures"]
    told = {"held_out": "held-out pairs"}
    told["new_combinations"] = "held-out pairs of combinations never trained on"
    page = INSIDE.read_text(encoding="utf-8")
    for name, words in told.items():
        assert AnswerAccuracy(**kept[name]).summary(words) in page


def test_the_figures_in_the_words_are_those_of_the_outputs() -> None:
    words = BLOCK.sub("", INSIDE.read_text(encoding="utf-8"))
    table = next(text for kind, text in blocks(INSIDE) if kind == "text" and "partners" in text)
    rows = {line.split()[0]: line.split() for line in table.splitlines() if "%" in line}
    one, none = rows["one"], rows["none"]
    assert f"{float(one[2].rstrip('%')):.0f}% of the attention on average" in words
    assert f"{one[5]} of the answers change" in " ".join(words.split())
    assert f"{float(none[4].rstrip('%')):.0f}% of the answers go" in " ".join(words.split())
