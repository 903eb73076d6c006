"""A corpus is whole or not begun, whoever is killed when, and the same whoever works on it."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_line import Here, clean_environment, command, heed_interrupts, run_process
from corpus_cases import EACH, TESTED, season, tree

from attnlens.cricket.corpus.explain import explain_corpus
from attnlens.cricket.corpus.folder import Corpus, sealed, writing
from attnlens.cricket.corpus.questions import write_answer
from attnlens.errors import InputError

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


def test_a_question_has_a_limit_of_time_which_its_reader_does_not_use(
    tmp_path: Path, corpus: Path
) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    for question in (
        "select count(*) from range(10000000000) a, range(1000) b",
        "with recursive r as (select 1 x union all select x + 1 from r) select max(x) from r",
        "select a from range(100000000000) t(a) where a < 0",
    ):
        began = time.monotonic()
        answer = run_process(tmp_path, "corpus", "query", corpus, question, "--timeout", "1")
        assert (answer.status, answer.out.strip()) == (2, "" if "count" in question else answer.out)
        told = "attnlens: the question takes more than 1 seconds; ask for less, or give it longer"
        assert answer.err.startswith(told)
        assert time.monotonic() - began < 20

    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            time.sleep(0.1 if self.tell() < 40 else 0)
            return super().write(text)

    write_answer(corpus, "select a from range(5000) t(a)", out := Slow(), seconds=1)
    assert out.getvalue().count("\n") == 5001


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
    damaged = min((tmp_path / "c" / "heads").rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:1000])
    record = next((tmp_path / "c" / "parts").glob("*3.json"))
    record.write_text("{", "utf-8")
    done = explain_corpus([season_path], tmp_path / "c", each=1)
    assert done.here == 2
    assert [error.path for error in done.damaged] == [str(damaged), str(record)]
    assert tree(tmp_path / "c") == whole


def test_every_flipped_bit_is_told(tmp_path: Path, corpus: Path) -> None:
    shutil.copytree(corpus, tmp_path / "c")
    draw, told = random.Random(150), 0
    files = sorted(name for name, data in tree(corpus).items() if data)
    for number in range(150):
        path = tmp_path / "c" / files[number % len(files)]
        whole = path.read_bytes()
        flipped = bytearray(whole)
        flipped[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(InputError) as caught:
            Corpus(tmp_path / "c").check()
        told += str(path) in str(caught.value)
        path.write_bytes(whole)
    print(f"{told} of 150 flipped bits told, over {len(files)} files")
    assert (told, Corpus(tmp_path / "c").damage()) == (150, [])


def test_damage_is_told_by_whatever_reads_a_corpus(
    attnlens_here: Here, corpus: Path, season_path: Path
) -> None:
    here = attnlens_here
    shutil.copytree(corpus, "c")
    said = here.good("corpus", "verify", "c")
    assert re.fullmatch(r"c: 4 parts, [0-9.]+ MB: every file is as it was written\n", said)
    table = next(Path("c/balls").rglob("*.parquet"))
    whole = table.read_bytes()
    table.write_bytes(whole[:-9] + bytes([whole[-9] ^ 4]) + whole[-8:])
    wrong = f"{table}: is damaged: its bytes are not those written"
    found = here("corpus", "verify", "c")
    assert (found.status, found.out) == (1, f"{wrong}\n")
    assert found.err.startswith("attnlens: 1 fault; run `attnlens corpus explain` as before")
    for words in (("query", "c", "select 1"), ("report", "c")):
        answer = here("corpus", *words)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith(f"attnlens: {wrong}; run `attnlens corpus explain` as before")
    again = ("corpus", "explain", season_path, "--out", "c", "--matches-per-part", EACH)
    resumed = here(*again, "--evidence", TESTED)
    assert resumed.err.startswith(f"attnlens: 1 damaged file, made anew:\nattnlens: {wrong}\n")
    assert tree(Path("c")) == tree(corpus)
    next(Path("c/parts").iterdir()).unlink()
    assert here("corpus", "verify", "c").out == "c: has lost 1 of its 4 parts\n"


def test_no_file_is_written_or_deleted_through_a_strange_corpus(
    attnlens_here: Here, corpus: Path, season_path: Path
) -> None:
    Path("mine").mkdir()
    (mine := Path("mine/part-2024-00000.parquet")).write_text("mine")
    again = ("corpus", "explain", season_path, "--out", "c", "--matches-per-part", EACH)
    shutil.copytree(corpus, "c")
    Path("c/sources.jsonl").rename("list")
    os.symlink(Path("list").resolve(), "c/sources.jsonl")
    assert "c/sources.jsonl: is a link" in attnlens_here(*again, "--evidence", TESTED).err
    Path("c/sources.jsonl").unlink()
    record = min(Path("c/parts").iterdir())
    whole = json.loads(record.read_text("utf-8"))
    del whole["seal"]
    whole["tables"] = {"../mine/../balls": whole["tables"]["balls"]}
    record.write_bytes(sealed(whole))
    done = attnlens_here(*again, "--evidence", TESTED)
    assert (done.status, mine.read_text()) == (0, "mine")
    assert tree(Path("c")) == tree(corpus)


def test_what_is_finished_is_on_the_disk_before_it_is_said_to_be(
    tmp_path: Path, season_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []

    def spied(name: str, place: int) -> None:
        real = getattr(os, name)

        def call(*given: Any) -> Any:
            what = os.readlink(f"/proc/self/fd/{given[0]}") if name == "fsync" else given[place]
            seen.append((name, Path(what).name.removesuffix(f".{os.getpid()}.part")))
            return real(*given)

        monkeypatch.setattr(os, name, call)

    spied("fsync", 0)
    spied("replace", 1)
    explain_corpus([season_path], tmp_path / "c")
    renamed = [place for place, (what, _) in enumerate(seen) if what == "replace"]
    folders = {"part-2024-00000.parquet": "year=2024", "part-2024-00000.json": "parts"}
    for place in renamed:
        name = seen[place][1]
        assert seen[place - 1] == ("fsync", name)
        assert seen[place + 1] == ("fsync", folders.get(name, "c"))
    order = [seen[place][1] for place in renamed]
    assert order.index("part-2024-00000.json") > order.index("part-2024-00000.parquet")


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_gives_the_same_to_the_last_bit(tmp_path: Path) -> None:
    source = season(tmp_path, 2)
    explain_corpus([source], tmp_path / "local", each=1)
    words = ("corpus", "explain", source, "--matches-per-part", "1", "--engine", "ray")
    done = run_process(tmp_path, *words, "--out", "ray", PYTHONWARNINGS="ignore")  # Ray's own
    assert done.status == 0, done.err
    assert tree(tmp_path / "ray") == tree(tmp_path / "local")
