"""A corpus is whole or not begun, whoever is killed when, and the same whoever works on it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import clean_environment, command, heed_interrupts, run_process
from corpus_cases import season, tree

from attnlens.cricket.corpus.explain import explain_corpus
from attnlens.cricket.corpus.folder import writing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")

LONGEST_WAIT = 120.0


@pytest.fixture(scope="module")
def whole(season_path: Path) -> dict[str, bytes]:
    """The files of a run that nobody disturbed."""
    folder = season_path.parent / "whole"
    explain_corpus([season_path], folder, each=1)
    return tree(folder)


def explain(source: Path, out: Path, *more: str) -> list[str]:
    return command("corpus", "explain", source, "--out", out, "--matches-per-part", "1", *more)


def started(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )


def at_work(source: Path, out: Path) -> subprocess.Popen[bytes]:
    """A run of two workers that has finished a part."""
    process = started(explain(source, out, "--workers", "2"))
    until(lambda: bool(finished(out)))
    return process


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_WAIT
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def finished(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("parts/*.json")}


def times(folder: Path, parts: set[str]) -> dict[str, int]:
    """When each file of some parts was written."""
    files = [path for path in folder.rglob("part-*") if path.stem in parts]
    return {str(path): path.stat().st_mtime_ns for path in files}


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_any_moment_nothing_is_lost_or_done_twice(
    tmp_path: Path, season_path: Path, whole: dict[str, bytes], workers: int
) -> None:
    out = tmp_path / "c"
    words = explain(season_path, out, "--workers", str(workers))
    process = started(words)
    until(lambda: bool(finished(out)))
    time.sleep(random.Random(workers).uniform(0, 0.15))
    process.kill()
    process.communicate(timeout=LONGEST_WAIT)
    before = finished(out)
    kept = times(out, before)
    assert subprocess.run(words, env=clean_environment(), check=False).returncode == 0
    assert times(out, before) == kept
    assert tree(out) == whole


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that a run has started, by number."""
    children = [
        int(pid)
        for path in Path(f"/proc/{process.pid}/task").glob("*/children")
        for pid in path.read_text().split()
    ]
    return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_workers_end_with_whoever_started_them(tmp_path: Path, season_path: Path) -> None:
    process = at_work(season_path, tmp_path / "c")
    states = [Path(f"/proc/{pid}/stat") for pid in workers_of(process)]
    assert len(states) == 2
    process.kill()
    process.communicate(timeout=LONGEST_WAIT)
    # A process that ended and that nobody has asked after is told as a zombie.
    until(lambda: all(not path.exists() or path.read_text().split()[2] == "Z" for path in states))


def test_a_killed_worker_is_told_in_one_line(tmp_path: Path, season_path: Path) -> None:
    process = at_work(season_path, tmp_path / "c")
    os.kill(workers_of(process)[0], signal.SIGKILL)
    _, said = process.communicate(timeout=LONGEST_WAIT)
    # It may have been done by then.
    if process.returncode:
        assert process.returncode == 2
        assert said.startswith(b"attnlens: a worker process was killed")
        assert said.count(b"\n") == 1


def test_interrupted_it_says_nothing_and_leaves_whole_files(
    tmp_path: Path, season_path: Path
) -> None:
    out = tmp_path / "c"
    process = at_work(season_path, out)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, said = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode in (130, 0)
    if process.returncode:
        assert said == b""
        assert not json.loads((out / "manifest.json").read_text("utf-8"))["complete"]
    assert not list(out.rglob("*.tmp")) + list(out.rglob("*.part"))


def test_a_question_without_end_is_interrupted(corpus: Path) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    endless = "select count(*) from range(10000000000) a, range(1000) b"
    process = started(command("corpus", "query", corpus, endless))
    threads = Path(f"/proc/{process.pid}/task")
    if threads.is_dir():  # until DuckDB is at work
        until(lambda: b"duckdb" in Path(f"/proc/{process.pid}/maps").read_bytes())
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, said) == (130, b"")


def test_two_processes_do_not_write_one_corpus(tmp_path: Path, season_path: Path) -> None:
    out = tmp_path / "c"
    with writing(out):
        answer = run_process(tmp_path, "corpus", "explain", season_path, "--out", out)
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert f"{out}: another process is writing this corpus; wait for it" in answer.err
    with writing(out):
        pass


def test_a_damaged_part_is_worked_out_anew(
    tmp_path: Path, season_path: Path, whole: dict[str, bytes]
) -> None:
    explain_corpus([season_path], tmp_path / "c", each=1)
    damaged = next((tmp_path / "c" / "heads").rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:1000])
    next((tmp_path / "c" / "parts").glob("*3.json")).write_text("{", "utf-8")
    done = explain_corpus([season_path], tmp_path / "c", each=1)
    assert done.here == 2
    assert tree(tmp_path / "c") == whole


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_gives_the_same_to_the_last_bit(tmp_path: Path) -> None:
    source = season(tmp_path, 2)
    explain_corpus([source], tmp_path / "local", each=1)
    words = ("corpus", "explain", source, "--matches-per-part", "1", "--engine", "ray")
    done = run_process(tmp_path, *words, "--out", "ray", PYTHONWARNINGS="ignore")  # Ray's own
    assert done.status == 0, done.err
    assert tree(tmp_path / "ray") == tree(tmp_path / "local")
