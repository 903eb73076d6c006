"""Running the command line: as a process of its own, or in this one to be quick."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from attnlens.cli import main

REPOSITORY = Path(__file__).resolve().parent.parent
SCALES = ("micro", "short", "medium", "long", "whole")
OUTCOMES = ("0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye")
IDENTITY = ("match_id", "innings", "index", "label", "batter", "bowler", "actual")
COLUMNS = [
    *IDENTITY,
    *(f"p_{outcome}" for outcome in OUTCOMES),
    *("win_before", "win_expected", *(f"win_{outcome}" for outcome in OUTCOMES), "free_hit"),
]

HANG = 3_600.0
"""Seconds after which a process is taken to hang: no bound on speed, also of a busy machine."""

NO_CACHE = os.path.join(os.devnull, "cache")
"""A cache folder that cannot be made: an answer from before would test nothing."""

SPY = """import os, socket
look_up = socket.getaddrinfo
def refused(*address, **more):
    open(os.environ["SPY_LOG"], "a").write(repr(address))
    raise OSError("no network here")
socket.socket.connect = socket.socket.connect_ex = refused
def looked_up(host, *rest, **more):  # a server looks up the address that it listens at
    return (look_up if host in ("127.0.0.1", "0.0.0.0") else refused)(host, *rest, **more)
socket.getaddrinfo = looked_up
"""
"""A `sitecustomize` that refuses every connection, and writes it to the file ``SPY_LOG``."""


@dataclass(frozen=True)
class Answer:
    """What a command gave back."""

    status: int
    out: str
    err: str


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without what would change an answer."""
    unwanted = ("ATTNLENS_", "NO_COLOR", "COLUMNS", "LINES", "TERM", "PYTHON", "TORCH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    ours = {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "error", "XDG_CACHE_HOME": NO_CACHE}
    return {**kept, **ours, **more}


def command(*arguments: str | Path) -> list[str]:
    """The words that start attnlens as a process."""
    return [sys.executable, "-m", "attnlens", *map(str, arguments)]


def heed_interrupts() -> None:
    """For ``preexec_fn``: who runs tests in the background has SIGINT ignored, and so would the
    child."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_process(folder: Path, *arguments: str | Path, **environment: str) -> Answer:
    """Run attnlens as a process of its own in ``folder``."""
    done = subprocess.run(
        command(*arguments),
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        timeout=HANG,
        check=False,
    )
    return Answer(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


class Here:
    """The command line in this process, in a folder of its own."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self.patch = patch
        self._capture = capture
        for name in list(os.environ):
            if name.startswith("ATTNLENS_") or name in ("NO_COLOR", "COLUMNS"):
                patch.delenv(name)
        patch.setenv("XDG_CACHE_HOME", NO_CACHE)
        patch.chdir(folder)

    def __call__(self, *arguments: str | Path | int) -> Answer:
        self._capture.readouterr()
        status = main([str(word) for word in arguments])
        said = self._capture.readouterr()
        return Answer(status, said.out, said.err)

    def good(self, *arguments: str | Path | int) -> str:
        """What a command wrote that must succeed and complain of nothing."""
        answer = self(*arguments)
        assert (answer.status, answer.err) == (0, "")
        return answer.out

    def refused(self, *arguments: str | Path | int) -> str:
        """The one line that a command with bad input complains with."""
        answer = self(*arguments)
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert answer.err.startswith("attnlens: ")
        return answer.err

    def refusals(self, *cases: Sequence[str | Path | int]) -> list[str]:
        """The line that each of several commands is refused with."""
        return [self.refused(*words).rstrip("\n") for words in cases]

    def matches(self, count: int) -> str:
        """A folder of simulated matches."""
        (self.folder / "matches").mkdir()
        for seed in range(count):
            out = f"matches/{seed}.json"
            self.good("lab", "simulate", "--seed", seed, "--out", out, "--format", "json")
        return "matches"

    def files(self) -> list[str]:
        """Every file in the folder, by its path there."""
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*"))
