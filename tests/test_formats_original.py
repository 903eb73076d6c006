"""Cricsheet's original CSV: rows of version, info and ball."""

from __future__ import annotations

from pathlib import Path

import pytest
from match_files import problem
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.match.match import Player, Wicket
from attnlens.cricket.readers import read_match

HEAD = """version,1.3.0
info,team,Reds
info,team,Blues
info,gender,female
info,season,2011/12
info,date,2012/03/18
info,competition,Harbour Cup
info,match_number,7
info,venue,"Harbour Park, North End"
info,toss_winner,Blues
info,toss_decision,field
info,winner,Reds
info,winner_runs,5
"""
BALLS = """ball,1,0.1,Reds,Ana,Bea,Cem,4,0,,,,,,"",""
ball,1,0.2,Reds,Ana,Bea,Cem,0,1,1,,,,,"",""
ball,1,0.3,Reds,Ana,Bea,Cem,0,0,,,,,,"caught","Ana"
ball,1,0.4,Reds,Eli,Bea,Cem,2,1,,1,,,,"",""
ball,2,0.1,Blues,Cem,Dov,Ana,3,0,,,,,,"run out","Dov"
ball,2,0.2,Blues,Cem,Fay,Ana,0,0,,,,,,"retired hurt","Cem"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "99.csv"
    path.write_text(HEAD + BALLS, encoding="utf-8")
    return path


def test_sixteen_fields_are_read(path: Path) -> None:
    match = read_match(path)
    assert (match.match_id, match.gender, match.season) == ("99", "female", "2011/12")
    assert (str(match.date), match.venue) == ("2012-03-18", "Harbour Park, North End")
    # Before 1.6 the event was called competition, and balls per over were not there.
    assert match.event == {"name": "Harbour Cup", "match_number": 7}
    assert match.balls_per_over == 6
    assert match.outcome == {"winner": "Reds", "by": {"runs": 5}}
    assert match.toss == {"winner": "Blues", "decision": "field"}
    first, second = match.innings
    assert (first.batting_team, first.bowling_team) == ("Reds", "Blues")
    assert (first.total, first.wickets, first.legal_balls, first.extras) == (8, 1, 2, 2)
    assert (second.total, second.wickets, second.legal_balls, second.target) == (3, 1, 2, 9)
    table = [
        (ball.label, ball.actual_delivery, ball.is_legal, ball.outcome, ball.score_before)
        for ball in first.deliveries
    ]
    assert table == [
        ("0.1", "0.1", True, "4", 0),
        ("0.2", "0.2", False, "wd", 4),
        ("0.3", "0.2", True, "W", 5),
        ("0.4", "0.3", False, "nb", 5),
    ]
    assert second.deliveries[0].wickets == (Wicket("run out", Player("Dov")),)
    assert "a ball of this format has room for one wicket only" in match.notes
    assert "fielders are not in this version of the format" in match.notes


def test_twenty_one_fields_are_read(tmp_path: Path) -> None:
    path = tmp_path / "5.csv"
    head = HEAD.replace("1.3.0", "1.8.0").replace("info,gender", "info,match_id,wi_5\ninfo,gender")
    tails = ["0.1,true,,,", "0.2,,,,", "0.2,,Dov,Fay,", "0.3,,,,", "0.1,,,,", "0.2,,,,"]
    rows = [f"{row},{tail}" for row, tail in zip(BALLS.splitlines(), tails, strict=True)]
    path.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    match = read_match(path)
    balls = match.innings[0].deliveries
    assert match.match_id == "wi_5"
    assert (balls[0].non_boundary, balls[0].boundary) == (True, False)
    assert balls[2].wickets == (Wicket("caught", Player("Ana"), ("Dov", "Fay")),)
    assert "fielders are not in this version of the format" not in match.notes
    assert match.innings[1].super_over is False


def test_what_is_wrong_is_said_with_its_line(path: Path, snapshot: SnapshotAssertion) -> None:
    text, problems = path.read_text(encoding="utf-8"), []
    for old, new in (
        ("ball,1,0.3,Reds", "ball,1,0.3,Greens"),
        ("ball,2,0.1", "penalty_runs,2,0.1"),
        ("ball,2,0.1", "bowl,2,0.1"),
        (',"retired hurt","Cem"', ""),
        ("version,1.3.0", "version,2.0.0"),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        problems.append(problem(path))
    assert problems == snapshot
