"""Every way to name a ball, and every way to be told that it does not exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from match_files import delivery, document, written
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference, echo, find_ball, hint
from attnlens.cricket.readers import read_match


@pytest.fixture
def match(tmp_path: Path) -> Match:
    """Innings 1: 0.1 four, 0.2 wide, 0.3, 0.4 wicket, 0.5 no-ball, 0.6; super overs 3 and 4."""
    content = document()
    for team, runs in (("Blues", 6), ("Reds", 4)):
        overs = [{"over": 0, "deliveries": [delivery(runs=runs)]}]
        content["innings"].append({"team": team, "super_over": True, "overs": overs})
    return read_match(written(tmp_path, content))


NAMES: list[tuple[str | int, int | None, tuple[int, int]]] = [
    (3, None, (1, 3)), ("3", None, (1, 3)), (-1, None, (1, 6)), ("-6", None, (1, 1)),
    ("next", None, (4, 2)), ("next", 1, (1, 7)), ("4:next", None, (4, 2)),
    ("0.2", None, (1, 2)), ("legal:2", None, (1, 3)), ("legal:-1", None, (1, 6)),
    ("legal:0.2", None, (1, 3)), ("legal:0.4", None, (1, 6)),
    ("2:3", None, (2, 3)), ("2:0.3", 2, (2, 3)), ("2:legal:0.1", None, (2, 1)),
    ("last", 2, (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("ball", "innings", "expected"), NAMES)
def test_names_of_balls(
    match: Match, ball: str | int, innings: int | None, expected: tuple[int, int]
) -> None:
    assert find_ball(match, ball, innings) == BallReference(*expected)


def test_balls_that_are_not_there(match: Match, snapshot: SnapshotAssertion) -> None:
    problems = []
    for ball, innings in (
        (0, None), (7, None), ("0.10", None), ("legal:5", None), ("legal:0.5", None), ("1", 5),
        ("2:1", 1), ("first", None), (True, None),
    ):  # fmt: skip
        with pytest.raises(BallNotFoundError) as caught:
            find_ball(match, ball, innings)
        problems.append(f"{ball!r}, {innings}: {caught.value}")
    assert problems == snapshot


def test_the_line_that_says_which_ball(match: Match, snapshot: SnapshotAssertion) -> None:
    balls = ("1", "2", "5", "1:next", "3:1")
    assert [f"{ball}: {echo(match, find_ball(match, ball))}" for ball in balls] == snapshot


def test_the_line_of_a_real_ball(shared_data: Path, snapshot: SnapshotAssertion) -> None:
    match = read_match(f"{shared_data / 't20s_male_json.zip'}::1223952.json")
    assert [echo(match, find_ball(match, ball)) for ball in (47, "1:next")] == snapshot


def test_a_hint_where_the_countings_differ(match: Match, snapshot: SnapshotAssertion) -> None:
    balls = ("0.1", "legal:0.1", "3", "0.3", "0.6", "1:legal:0.3")
    assert [f"{ball}: {hint(match, ball, find_ball(match, ball))}" for ball in balls] == snapshot
