"""Every way to name a ball, and every way to be told that it does not exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from match_files import delivery, document

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference, echo, find_ball, hint
from attnlens.cricket.readers import read_match


@pytest.fixture
def match(tmp_path: Path) -> Match:
    """Innings 1: 0.1 four, 0.2 wide, 0.3, 0.4 wicket, 0.5 no-ball, 0.6; super overs 3 and 4."""
    content = document()
    for team, runs in (("Blues", 6), ("Reds", 4)):
        content["innings"].append(
            {
                "team": team,
                "super_over": True,
                "overs": [{"over": 0, "deliveries": [delivery(runs=runs)]}],
            }
        )
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_match(path)


@pytest.mark.parametrize(
    ("ball", "innings", "expected"),
    [
        (3, None, (1, 3)),
        ("3", None, (1, 3)),
        (-1, None, (1, 6)),
        ("-6", None, (1, 1)),
        ("next", None, (4, 2)),
        ("next", 1, (1, 7)),
        ("0.2", None, (1, 2)),
        ("legal:2", None, (1, 3)),
        ("legal:-1", None, (1, 6)),
        ("legal:0.2", None, (1, 3)),
        ("legal:0.4", None, (1, 6)),
        ("2:3", None, (2, 3)),
        ("2:0.3", 2, (2, 3)),
        ("2:legal:0.1", None, (2, 1)),
        ("last", 2, (2, 3)),
        ("4:next", None, (4, 2)),
    ],
)
def test_names_of_balls(
    match: Match, ball: str | int, innings: int | None, expected: tuple[int, int]
) -> None:
    assert find_ball(match, ball, innings) == BallReference(*expected)


EXTENT = "innings 1 has 6 deliveries (4 legal), labels 0.1 to 0.6"
INNINGS = "the match has innings 1 (Reds), 2 (Blues), 3 (Blues, super over), 4 (Reds, super over)"


@pytest.mark.parametrize(
    ("ball", "innings", "expected"),
    [
        (0, None, f"there is no delivery 0: {EXTENT}"),
        (7, None, f"there is no delivery 7: {EXTENT}; the ball not yet bowled is called next"),
        ("0.10", None, f"there is no label 0.10: {EXTENT}"),
        ("legal:5", None, f"there is no legal ball 5: {EXTENT}"),
        ("legal:0.5", None, f"there is no legal ball 0.5: {EXTENT}"),
        ("1", 5, f"there is no innings 5; {INNINGS}"),
        ("2:1", 1, "ball '2:1' names innings 2, and innings is 1"),
        (
            "first",
            None,
            "ball 'first' is not understood; write 47, -1, last, next, 7.4, legal:47, "
            "legal:7.4, 2:47 or 2:7.4",
        ),
        (
            True,
            None,
            "ball True is neither text nor a whole number; "
            "give a label as text, since 7.10 is not 7.1",
        ),
    ],
)
def test_balls_that_are_not_there(
    match: Match, ball: str | int, innings: int | None, expected: str
) -> None:
    with pytest.raises(BallNotFoundError) as caught:
        find_ball(match, ball, innings)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("ball", "expected"),
    [
        ("1", "innings 1, delivery 1 of 6 | label 0.1 | legal ball 0.1 (1st) | 5/0 | Cem to Ana"),
        (
            "2",
            "innings 1, delivery 2 of 6 | label 0.2 | wide, before legal ball 0.2 (2nd) | 9/0 | "
            "Cem to Ana",
        ),
        (
            "5",
            "innings 1, delivery 5 of 6 | label 0.5 | no-ball, before legal ball 0.4 (4th) | "
            "11/1 | Cem to Eli",
        ),
        (
            "1:next",
            "innings 1, delivery 7, not yet bowled | label 0.7 | legal ball 0.5 (5th) | 16/1",
        ),
        (
            "3:1",
            "innings 3 (super over), delivery 1 of 1 | label 0.1 | legal ball 0.1 (1st) | 0/0 | "
            "Cem to Ana",
        ),
    ],
)
def test_the_line_that_says_which_ball(match: Match, ball: str, expected: str) -> None:
    assert echo(match, find_ball(match, ball)) == expected


def test_the_line_of_a_real_ball(shared_data: Path) -> None:
    match = read_match(f"{shared_data / 't20s_male_json.zip'}::1223952.json")
    assert echo(match, find_ball(match, 47)) == (
        "innings 1, delivery 47 of 125 | label 7.4 | legal ball 7.4 (46th) | 54/2 | "
        "A Zampa to KL Rahul"
    )
    assert echo(match, find_ball(match, "1:next")) == (
        "innings 1, delivery 126, not yet bowled | label 20.1 | legal ball 20.1 (121st) | 161/7"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1", None),
        ("legal:0.1", None),
        ("3", None),
        (
            "0.3",
            "the file's label 0.3 is delivery 3; legal ball 0.3, as on television, "
            "is delivery 4 (write legal:0.3)",
        ),
        (
            "0.6",
            "the file's label 0.6 is delivery 6; legal ball 0.6, as on television, does not exist",
        ),
        (
            "1:legal:0.3",
            "legal ball 0.3, as on television, is delivery 4; the file's label 0.3 "
            "is delivery 3 (write 0.3)",
        ),
    ],
)
def test_a_hint_where_the_countings_differ(match: Match, text: str, expected: str | None) -> None:
    assert hint(match, text, find_ball(match, text)) == expected
