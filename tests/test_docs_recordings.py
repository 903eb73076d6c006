"""The examples of docs/recordings.md and docs/audit.md run, and commands answer."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import REPOSITORY, Here

import attnlens
from attnlens import attention

COMMAND = re.compile("attnlens ")


def blocks(name: str, language: str) -> list[tuple[int, str]]:
    """Every fenced block of a language, and the line it begins on."""
    text = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start(1)), found[1])
        for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    ]


def run(name: str, least: int) -> dict[str, Any]:
    """Runs the examples of a page one after another; the names that they leave."""
    names: dict[str, Any] = {}
    examples = blocks(name, "python")
    assert len(examples) >= least
    for line, code in examples:
        # Errors then name the line of the document.
        exec(compile("\n" * line + code, name, "exec"), names)
    return names


def test_every_example_on_recordings_runs(
    attnlens_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("recordings.md", 11)
    assert "Recording: 2 sites, 2 calls" in capsys.readouterr().out
    assert (tmp_path / "run.safetensors").is_file()
    commands = [line for _, block in blocks("recordings.md", "sh") for line in block.splitlines()]
    assert len(commands) == 2
    for command in commands:
        first, *words = shlex.split(command)
        assert first == "attnlens"
        attnlens_here.good(*words)
    assert (tmp_path / "page.html").stat().st_size > 10_000
    check_interventions(names)


def test_every_function_is_told_of() -> None:
    text = (REPOSITORY / "docs" / "recordings.md").read_text(encoding="utf-8")
    names = {name for name in attention.__all__ if name.islower()}
    assert names <= set(re.findall("[a-z_]+", text))


def test_every_example_on_audits_runs(
    attnlens_here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    names = run("audit.md", 5)
    assert "what mattered: hidden from the whole model" in capsys.readouterr().out
    assert (tmp_path / "audit.html").stat().st_size > 10_000
    assert len(names["table"]) == len(names["report"].claims)
    for _, block in blocks("audit.md", "sh"):
        for line in filter(COMMAND.match, block.splitlines()):
            # Each command is one that there is: what is wrong is that the model is not here.
            answer = attnlens_here(*shlex.split(line, comments=True)[1:])
            assert answer.status == 2
            assert "no such" in answer.err


def check_interventions(names: dict[str, Any]) -> None:
    """The examples that change attention leave what their comments say."""
    model, x, full = names["model"], names["x"], names["full"]
    assert not torch.allclose(names["ablated"], full)
    assert not torch.allclose(names["one_edge"][:, -1], full[:, -1], atol=1e-5)
    assert names["effects"].shape == (300,)
    best = int(names["effects"].argmax())
    with torch.no_grad(), attnlens.intervene(model, hide=names["strongest"]):
        torch.testing.assert_close(model(x)[0], names["outputs"][best], atol=1e-6, rtol=0)
    assert names["gates"].grad.abs().min() > 0
