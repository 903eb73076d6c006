"""Answers that are kept: given again as they were, and never to another question."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Answer, Here, run_process

from attnlens.cricket import session
from attnlens.cricket.session import AnswerCache, key_of, software

BALL = ("--ball", "9")
TELL_HEAVY = """import atexit, os, sys
@atexit.register
def tell():
    heavy = ("torch", "numpy", "torch._dynamo")
    with open(os.environ["TELL_TO"], "w") as file:
        file.write(" ".join(name for name in heavy if name in sys.modules))
"""


@pytest.fixture
def kept(attnlens_here: Here) -> Here:
    """The command line, keeping its answers in the folder ``kept``."""
    attnlens_here.patch.setenv("XDG_CACHE_HOME", str(attnlens_here.folder / "kept"))
    return attnlens_here


def entries(here: Here) -> list[Path]:
    return sorted((here.folder / "kept" / "attnlens").iterdir())


def counted(here: Here) -> Callable[..., int]:
    """How many answers a command adds that tests nothing."""

    def added(*arguments: Any) -> int:
        before = len(entries(here))
        here.good("explain", *arguments, "--no-evidence")
        return len(entries(here)) - before

    return added


def test_a_second_process_gives_the_same_bytes_and_never_loads_torch(
    tmp_path: Path, sample_match_path: Path
) -> None:
    asked = ("explain", sample_match_path, "--ball", "47", "--json")

    def run(*more: str, **environment: str) -> Answer:
        return run_process(tmp_path, *asked, *more, **environment)

    home = {"XDG_CACHE_HOME": str(tmp_path / "home")}
    anew = run(**home)
    (entry,) = (tmp_path / "home" / "attnlens").iterdir()
    written = entry.read_bytes(), entry.stat().st_ino
    (tmp_path / "sitecustomize.py").write_text(TELL_HEAVY, encoding="utf-8")
    told = tmp_path / "told"
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[1]}"
    telling = {**home, "PYTHONPATH": path, "TELL_TO": str(told)}
    assert run(**telling) == anew
    assert told.read_text(encoding="utf-8") == ""
    assert (entry.read_bytes(), entry.stat().st_ino) == written
    run("--no-cache", "--no-evidence", **telling)
    # Nor does working it out load torch's compiler, which takes longer than torch itself.
    assert told.read_text(encoding="utf-8") == "torch numpy"


def test_another_question_is_another_answer(kept: Here, sample_match_path: Path) -> None:
    one = (sample_match_path, *BALL)
    asked = ("explain", *one, "--no-evidence")
    forms = ((), ("--json",), ("--format", "summary"), ("--scale", "short"))
    anew = [kept.good(*asked, *form, "--no-cache") for form in forms]
    assert not (kept.folder / "kept").exists()
    assert [kept.good(*asked, *form) for form in forms] == anew
    assert len(entries(kept)) == 1
    added = counted(kept)
    assert added(sample_match_path, "--ball", "1:9") == 0
    assert added(sample_match_path, "--ball", "2:9") == 1
    assert added(*one, "--outcome", "4") == 1
    assert added(*one, "--model", "measured") == 1
    kept.good("explain", *one)
    assert len(entries(kept)) == 5


def test_matches_and_histories_count_by_what_they_hold(kept: Here, sample_match_path: Path) -> None:
    text = sample_match_path.read_text(encoding="utf-8")
    copy, earlier = kept.folder / sample_match_path.name, kept.folder / "earlier.csv"
    copy.write_text(text, encoding="utf-8")
    kept.good("explain", copy, *BALL, "--no-evidence")
    added = counted(kept)
    copy.write_text(text.replace("Pita Falekaono", "Pita Falekaona"), encoding="utf-8")
    assert added(copy, *BALL) == 1
    copy.write_text(text, encoding="utf-8")
    assert added(copy, *BALL) == 0
    earlier.write_text(text, encoding="utf-8")
    dated = (copy, *BALL, "--history")
    assert added(*dated, earlier) == 1
    assert added(*dated, earlier) == 0
    # A folder may change in too many ways to be told in time.
    (kept.folder / "season").mkdir()
    (kept.folder / "season" / "match.csv").write_text(text, encoding="utf-8")
    assert added(*dated, kept.folder / "season") == 0


def test_a_damaged_answer_is_worked_out_again(kept: Here, sample_match_path: Path) -> None:
    asked = ("explain", sample_match_path, *BALL, "--no-evidence", "--json")
    whole = kept.good(*asked)
    (entry,) = entries(kept)
    right = entry.read_bytes()
    kept.good("explain", sample_match_path, "--ball", "10", "--no-evidence")
    (other,) = set(entries(kept)) - {entry}
    flipped = right[:200] + bytes([right[200] ^ 1]) + right[201:]
    for wrong in (right[:-9], flipped, b"", other.read_bytes()):
        entry.write_bytes(wrong)
        assert kept.good(*asked) == whole
        assert entry.read_bytes() == right
    entry.unlink()
    entry.mkdir()
    assert kept.good(*asked) == whole


def test_the_answers_not_used_for_longest_go(tmp_path: Path) -> None:
    noise = " ".join(str(math.sin(number)) for number in range(400))
    keys = [key_of(number) for number in range(8)]
    large = AnswerCache(tmp_path)
    large.put(keys[0], noise)
    size = next(tmp_path.iterdir()).stat().st_size
    folder = AnswerCache(tmp_path, limit=4 * size + size // 2)
    for number, key in enumerate(keys[:4]):
        folder.put(key, noise)
        os.utime(tmp_path / f"{key}{session.ANSWER_SUFFIX}", (1000 + number, 1000 + number))
    assert folder.get(keys[0]) == noise  # used: no longer the oldest
    folder.put(keys[4], noise)
    assert [folder.get(key) is not None for key in keys[:5]] == [True, False, True, True, True]
    assert sum(entry.stat().st_size for entry in tmp_path.iterdir()) <= folder.limit


@pytest.mark.skipif(sys.platform == "win32", reason="rights are POSIX's")
def test_nothing_is_read_that_another_can_have_written(tmp_path: Path) -> None:
    folder, mine = AnswerCache(tmp_path / "kept"), tmp_path / "mine"
    before = os.umask(0o002)  # of systems where every user has a group of their own
    try:
        folder.put("a", "answer")
    finally:
        os.umask(before)
    (entry,) = folder.folder.iterdir()
    whole = entry.read_bytes()
    assert folder.get("a") == "answer"
    harm = [lambda: entry.chmod(0o666), lambda: entry.chmod(0o620)]
    harm += [lambda: folder.folder.chmod(0o777), lambda: folder.folder.chmod(0o720)]
    if os.geteuid() == 0:  # who alone can give a file away
        harm += [lambda: os.chown(entry, 12345, -1), lambda: os.chown(folder.folder, 12345, -1)]
    for change in harm:
        change()
        assert folder.get("a") is None
        if not entry.stat().st_mode & 0o022 and entry.stat().st_uid == os.geteuid():
            folder.put("b", "more")  # the folder is another's
            assert list(folder.folder.iterdir()) == [entry]
        for path in (entry, folder.folder):
            path.chmod(0o600 if path == entry else 0o700)
            os.chown(path, os.geteuid(), -1)
        assert folder.get("a") == "answer"
    mine.write_bytes(whole)
    for make in (lambda: entry.symlink_to(mine), lambda: os.mkfifo(entry)):
        entry.unlink()
        make()
        assert folder.get("a") is None  # nor is a pipe waited for
        folder.put("a", "anew")
        assert (folder.get("a"), mine.read_bytes()) == ("anew", whole)


def test_other_code_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    source = package / "inner" / "part.py"
    source.write_text("ONE = 1\n", encoding="utf-8")
    monkeypatch.setattr(session, "__file__", str(package / "cricket" / "session.py"))
    first = software()
    assert software() == first
    source.write_text("ONE = 2\n", encoding="utf-8")
    os.utime(source, (1, 1))
    changed = software()
    assert changed != first
    monkeypatch.setattr(session, "VERSION", "99")
    assert software() != changed
