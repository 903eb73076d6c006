"""The examples of docs/recordings.md run, in their order, and its commands answer."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from command_line import REPOSITORY, Here

from attnlens import analysis

DOCUMENT = REPOSITORY / "docs" / "recordings.md"


def blocks(language: str) -> list[tuple[int, str]]:
    """Every fenced block of a language, and the line it begins on."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start(1)), found[1])
        for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    ]


def test_every_example_runs(
    attnlens_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    examples = blocks("python")
    assert len(examples) >= 5
    for line, code in examples:
        # Errors then name the line of the document.
        exec(compile("\n" * line + code, str(DOCUMENT), "exec"), names)
    assert "Recording: 2 sites, 2 calls" in capsys.readouterr().out
    assert (tmp_path / "run.safetensors").is_file()
    commands = [line for _, block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 3
    for command in commands:
        first, *words = shlex.split(command)
        assert first == "attnlens"
        attnlens_here.good(*words)
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_every_function_is_told_of() -> None:
    told = set(re.findall(r"[a-z_]+", DOCUMENT.read_text(encoding="utf-8")))
    functions = {name for name in analysis.__all__ if name.islower()}
    assert functions <= told
