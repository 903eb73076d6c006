"""The examples of the documents: ten of them, honest, and what their program writes today."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import attnlens
from attnlens.cricket.pages.parts import presentable
from attnlens.render.safe import markdown

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "examples"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_examples", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_index_lists_ten_examples_and_two_without_a_larger_effect(
    program: ModuleType,
) -> None:
    index = (FOLDER / "README.md").read_text("utf-8")
    listed = re.findall(r"\]\((\d\d-[a-z0-9-]+\.md)\)", index)
    written = sorted(path.name for path in FOLDER.glob("[0-9]*.md"))
    assert sorted(listed) == written
    assert len(listed) == len(program.BALLS) == 10
    assert index.count("| no larger |") >= 2
    for name in listed:
        text = (FOLDER / name).read_text("utf-8")
        assert text.count("\n\n") > 8
        _, shown, _ = text.split("```")
        # A page has at most 30 lines; its command, a blank line and the fence come before it.
        assert len(shown.splitlines()) <= 33


@pytest.mark.parametrize("number", [1, 5])
def test_an_example_is_what_its_program_writes(
    program: ModuleType, shared_data: Path, number: int
) -> None:
    name, archive, match_id, ball, outcome = program.BALLS[number - 1]
    member = archive.format(match_id)
    match = f"{shared_data}/{member}"
    explanation = attnlens.Session("measured").explain(match, ball=ball, outcome=outcome)
    page = (FOLDER / f"{number:02d}-{name}.md").read_text("utf-8")
    for sentence in presentable(explanation).narrative:
        assert f"\n\n{markdown(sentence.text)}\n\n" in page
    assert program.command(member, ball, outcome) in page
