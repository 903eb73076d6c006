"""A process killed at any moment leaves nothing half-written; the next one ends as if unhurt."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Here, clean_environment, command
from needed import skip_without

FOREVER = 240.0


def killed(words: list[str], folder: Path, until: Callable[[], bool]) -> bool:
    """Starts a command, kills it as soon as something holds; whether it was still at work."""
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=clean_environment(OMP_NUM_THREADS="1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + FOREVER
    while process.poll() is None and not until() and time.monotonic() < end:
        time.sleep(0.01)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return alive


def test_a_training_that_is_killed_goes_on_to_the_same_weights(attnlens_here: Here) -> None:
    source, folder = attnlens_here.matches(4), attnlens_here.folder
    quick = ("--hidden-dim", "12", "--epochs", "3", "--threads", "1", "--head-balls", "3")
    assert attnlens_here("lab", "train", source, "--out", "whole.safetensors", *quick).status == 0
    state, out = folder / "run.state", folder / "mine.safetensors"
    words = command("lab", "train", source, "--out", out, "--state", state, *quick)
    assert killed(words, folder, lambda: state.exists())
    first = state.read_bytes()
    assert killed(words, folder, lambda: state.read_bytes() != first)
    assert not out.exists()
    assert attnlens_here(*words[words.index("lab") :]).status == 0
    assert out.read_bytes() == (folder / "whole.safetensors").read_bytes()


def test_audits_that_are_killed_go_on_where_they_stopped(attnlens_here: Here) -> None:
    skip_without("transformers")
    from test_audit_command import WORDS, saved
    from transformers import GPT2Config, GPT2LMHeadModel

    folder = attnlens_here.folder
    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": 20, "n_positions": 24}
    model = saved(folder / "gpt", GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=2)))
    texts = [" ".join(WORDS[at : at + 8]) for at in range(8)]
    (folder / "texts.txt").write_text("\n\n".join(texts), encoding="utf-8")
    out = folder / "audits.jsonl"
    asked = ("audit", model, "--texts", "texts.txt", "--out", out)
    for lines in (1, 3):
        count = lambda: out.exists() and out.read_bytes().count(b"\n") >= lines  # noqa: B023, E731
        assert killed(command(*asked), folder, count)
    attnlens_here.good(*asked)
    told = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [one["inputs"][0]["text"] for one in told] == texts
    whole = folder / "whole.jsonl"
    attnlens_here.good("audit", model, "--texts", "texts.txt", "--out", whole)
    same = [json.loads(line) for line in whole.read_text(encoding="utf-8").splitlines()]
    for key, tolerance in (("items", 0), ("effect_nats", 1e-4)):
        mine, theirs = (
            [[one[key] for one in row["claims"]] for row in rows] for rows in (told, same)
        )
        for claims, expected in zip(mine, theirs, strict=True):
            assert claims == (pytest.approx(expected, abs=tolerance) if tolerance else expected)
