"""What docs/text.md shows is what its commands print, and its Python runs."""

from __future__ import annotations

import re
import shlex

import pytest
from command_line import REPOSITORY, Here

from attnlens.text import TextModel

DOCUMENT = REPOSITORY / "docs" / "text.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
SHOWN = re.findall(r"^```sh\n(attnlens .*?)\n```\n```text\n(.*?)^```$", TEXT, re.M | re.S)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def same_but_for_the_last_digits(printed: str, shown: str) -> None:
    """Other processors round elsewhere: words are the same, and numbers nearly."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    told = [[float(found) for found in NUMBER.findall(text)] for text in (printed, shown)]
    assert told[0] == pytest.approx(told[1], rel=0.02, abs=0.011)


# That one takes minutes; its figures are compared below.
@pytest.mark.parametrize(("command", "shown"), [one for one in SHOWN if "--check" not in one[0]])
def test_a_command_prints_what_is_shown(attnlens_here: Here, command: str, shown: str) -> None:
    same_but_for_the_last_digits(attnlens_here.good(*shlex.split(command)[1:]), shown)


def test_the_figures_are_those_of_the_model_card() -> None:
    (shown,) = [shown for command, shown in SHOWN if "--check" in command]
    card = (REPOSITORY / "attnlens/models/weights/README.md").read_text(encoding="utf-8")
    for share in re.findall(r"([\d.]+%) supported", shown):
        assert share in card
        assert share in TEXT.replace(shown, "")
    figures = TextModel.load().about["figures"]
    for name in ("held_out", "new_combinations"):
        assert f"{figures[name]['exact']:.1%} of the answers right" in shown
        assert f"{figures[name]['pairs']} held-out pairs" in shown


def test_there_is_something_to_compare() -> None:
    assert [len(shown) > 50 for _, shown in SHOWN] == [True] * 4


def test_the_python_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
    assert "assert" in code
    exec(compile(code, str(DOCUMENT), "exec"), {})
