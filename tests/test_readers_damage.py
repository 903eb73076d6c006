"""Damaged files give a match or one clear error, never another exception."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from match_files import document

from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match
from attnlens.errors import AttnlensError

VALUES: list[Any] = [
    None, True, 0, -1, 1, 7, 10**20, "", " ", "x", "8.1", "\ud800", "é\u2028", [], {}, [[]], [0],
    {"a": 1}, {"name": 5}, [{}], ["Reds", "Reds"], {"runs": "1"},
]  # fmt: skip
QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def paths_of(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document but its root."""
    steps = node.items() if isinstance(node, dict) else enumerate(node)
    found = []
    for step, value in steps:
        found.append((*path, step))
        if isinstance(value, dict | list):
            found += paths_of(value, (*path, step))
    return found


def check(path: Path) -> bool:
    """Whether the file gave a match; anything but a match or a plain error fails."""
    try:
        match = read_match(path)
    except AttnlensError as error:
        text = str(error)
        assert "\n" not in text
        text.encode()
        return False
    assert isinstance(match, Match)
    hash(match)
    str(match).encode()
    for innings in match.innings:
        assert innings.total >= 0
        assert [ball.index for ball in innings.deliveries] == list(
            range(1, len(innings.deliveries) + 1)
        )
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


DOCUMENT = document()
PATHS = st.sampled_from(paths_of(DOCUMENT))


@QUICK
@given(edits=st.lists(st.tuples(PATHS, st.sampled_from([*VALUES, ...])), min_size=1, max_size=4))
def test_json_of_other_types_and_without_keys(folder: Path, edits: list[tuple[Any, Any]]) -> None:
    content = copy.deepcopy(DOCUMENT)
    for path, value in edits:
        node: Any = content
        try:
            for step in path[:-1]:
                node = node[step]
            if value is ...:
                del node[path[-1]]
            else:
                node[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            # An earlier edit took this place away.
            continue
    file = folder / "types.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    check(file)


def repeated(head: str, row: str, times: int, tail: str = "") -> bytes:
    return (head + row * times + tail).encode()


CSV2_HEADER = (
    "match_id,innings,ball,batting_team,bowling_team,striker,non_striker,bowler,"
    "runs_off_bat,extras,wides,noballs,byes,legbyes,penalty\n"
)


@pytest.mark.parametrize(
    "data",
    [
        repeated(CSV2_HEADER, ",1,0.1,A,B,x,y,z,0,1,1,,,,\n", 60_000),
        repeated('{"info":[', "{},", 600_000, "1]}"),
        repeated('{"info":[', "1.5,", 600_000, "1]}"),
        repeated(
            '{"innings":[{"team":"x","overs":[', '{"over":0,"deliveries":[]},', 90_000, "1]}]}"
        ),
        repeated('{"info":{"venue":"\U0001f600', "a", 2_000_000, '"},"innings":[]}'),
        repeated("[", "[", 500_000),
    ],
    ids=["balls", "objects", "numbers", "overs", "text", "nesting"],
)
def test_no_file_takes_many_times_its_size_in_memory(folder: Path, data: bytes) -> None:
    file = folder / "large"
    file.write_bytes(data)
    tracemalloc.start()
    try:
        check(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 10 * len(data) + 32 * 2**20


REPOSITORY = Path(__file__).resolve().parent.parent


def test_a_thousand_damaged_files(shared_data: Path) -> None:
    words = [sys.executable, "benchmarks/fuzz_readers.py", str(shared_data), "--mutants=1000"]
    found = subprocess.run(
        [*words, "--seed=7"], capture_output=True, text=True, check=False, cwd=REPOSITORY
    )
    assert found.returncode == 0, found.stdout + found.stderr
    counts = re.search(r"^all +(\d+) +(\d+)$", found.stdout, re.MULTILINE)
    assert counts is not None
    read, refused = int(counts[1]), int(counts[2])
    assert read + refused == 1000
    # Neither everything let through nor everything refused would show anything.
    assert read > 200
    assert refused > 200
    assert "\nbroken: 0\n" in found.stdout


def test_without_real_matches_a_test_fails_where_they_are_required(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    env = {**os.environ, "ATTNLENS_SHARED_DATA": str(tmp_path), "ATTNLENS_REQUIRE_DATA": "1"}
    found = subprocess.run(
        [*words, "-k", "thousand"], capture_output=True, text=True, check=False, env=env
    )
    assert found.returncode == 1, found.stdout
    assert "real matches are not here: looked for" in found.stdout
