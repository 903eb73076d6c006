"""Pages on the reference models: what they show is what their commands and examples print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import REPOSITORY, Here, clean_environment
from numerics import same_but_for_last_digits

from attnlens.reference.text_model import AnswerAccuracy, TextModel

DOCS = REPOSITORY / "docs"
INSIDE = DOCS / "inside-a-transformer.md"
BLOCK = re.compile(r"^```(sh|text|python)\n(.*?)^```$", re.M | re.S)
SLOW = "attnlens lab text-train"
"""A command of a minute, which is tested elsewhere."""

NOT_PRINTED = "held-out pairs: "


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text(encoding="utf-8"))


def steady(text: str) -> str:
    """Without the last digits of a rounding error, which are the machine's."""
    return re.sub(r"largest difference [\d.e+-]+\d", "largest difference", text)


def test_every_block_of_output_is_what_its_command_prints(
    attnlens_here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for kind, text in blocks(INSIDE):
        if kind == "python":
            capsys.readouterr()
            exec(compile(text, str(INSIDE), "exec"), names)
            printed = capsys.readouterr().out
        elif kind == "sh":
            (command,) = text.splitlines()
            if command.startswith(SLOW):
                continue
            first, *words = shlex.split(command)
            if first == "attnlens":
                printed = attnlens_here.good(*words)
            else:
                done = subprocess.run(
                    [sys.executable, *words], cwd=REPOSITORY, env=clean_environment(),
                    capture_output=True, text=True, encoding="utf-8", check=False,
                )  # fmt: skip
                assert (done.returncode, first) == (0, "python"), done.stderr
                printed = done.stdout
        elif NOT_PRINTED not in text:
            same_but_for_last_digits(steady(printed), steady(text))
            compared += 1
    assert compared >= 9


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
