"""A process killed at any moment leaves nothing half-written; the next one ends as if unhurt."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Here, clean_environment, command
from needed import skip_without

import attnlens

FOREVER = 240.0
HALF = """import sys, time
from attnlens.files import written_beside
with written_beside(sys.argv[1]) as part:
    part.write_text("half")
    time.sleep(600)
"""


def killed(words: list[str], folder: Path, until: Callable[[], bool]) -> bool:
    """Starts a command, kills it as soon as something holds; whether it was still at work."""
    environment, quiet = clean_environment(OMP_NUM_THREADS="1"), subprocess.DEVNULL
    process = subprocess.Popen(words, cwd=folder, env=environment, stdout=quiet, stderr=quiet)
    end = time.monotonic() + FOREVER
    while process.poll() is None and not until() and time.monotonic() < end:
        time.sleep(0.01)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return alive


def test_a_killed_process_leaves_the_old_file_and_the_next_one_writes_it(
    attnlens_here: Here,
) -> None:
    target = attnlens_here.folder / "page.html"
    target.write_text("what was there\n")
    words = [sys.executable, "-c", HALF, str(target)]

    def half_written() -> bool:
        # A part may go between the two looks: one is made first to see its permissions.
        with contextlib.suppress(FileNotFoundError):
            return any(part.stat().st_size for part in attnlens_here.folder.glob("*.part"))
        return False

    assert killed(words, target.parent, half_written)
    assert target.read_text() == "what was there\n"
    attnlens_here.good("schema", "--out", target)
    assert target.read_text().startswith("{")


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
    from model_folders import WORDS, small_gpt

    from attnlens.audits.loading import load_model

    folder = attnlens_here.folder
    model = small_gpt(folder / "gpt")
    texts = [" ".join(WORDS[at : at + 8]) for at in range(8)]
    (folder / "texts.txt").write_text("\n\n".join(texts), encoding="utf-8")
    out = folder / "audits.jsonl"
    asked = ("audit", model, "--texts", "texts.txt", "--out", out)
    assert killed(command(*asked), folder, lambda: out.exists() and b"\n" in out.read_bytes())
    attnlens_here.good(*asked)
    resumed = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    loaded = load_model(str(model))
    same = [attnlens.audit(loaded.model, text, tokens=loaded.tokens).to_dict() for text in texts]
    assert [one["inputs"][0]["text"] for one in resumed] == texts
    for mine, theirs in zip(resumed, same, strict=True):
        assert len(mine["claims"]) == len(theirs["claims"])
        for claim, expected in zip(mine["claims"], theirs["claims"], strict=True):
            assert claim["items"] == expected["items"]
            assert claim["effect_nats"] == pytest.approx(expected["effect_nats"], abs=1e-4)
