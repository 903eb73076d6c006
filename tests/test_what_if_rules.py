"""Which past balls may be told otherwise, against a replay of the innings and edited files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import simulated

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain.what_if_types import WhatIfQuestion, question_of, question_of_page
from attnlens.cricket.lab.simulator import texts_of
from attnlens.cricket.match.match import OUTCOMES, Delivery, Innings, Match
from attnlens.cricket.readers import read_match
from attnlens.cricket.what_if import (
    PLAIN,
    ChangedBall,
    change_balls,
    crease_after,
    disturbs,
    refuse_target,
    rescore,
    with_outcome,
)
from attnlens.errors import InputError

MATCH = simulated(4)
INNINGS = st.sampled_from([1, 2])


def ends_after(striker: str, other: str, outcome: str, ends_over: bool) -> tuple[str, str]:
    """Who faces and who does not after a plain ball, worked out here on its own."""
    if outcome in ("1", "3", "5", "bye"):
        striker, other = other, striker
    return (other, striker) if ends_over else (striker, other)


def plain_balls(innings: Innings) -> Iterator[tuple[Delivery, Delivery]]:
    """Balls that brought what their outcome usually brings, each with the one after it."""
    for ball, follower in pairwise(innings.deliveries):
        runs = PLAIN[ball.outcome][0] + (not ball.is_legal)
        if not ball.wickets and ball.runs_total == runs:
            yield ball, follower


@pytest.mark.parametrize("number", [1, 2])
def test_what_disturbs_later_balls_is_what_a_replay_shows(number: int) -> None:
    innings = MATCH.innings[number - 1]
    seen = {True: 0, False: 0}
    for ball, follower in plain_balls(innings):
        if follower.index > len(innings.deliveries) - 10:
            break
        current = innings.deliveries[ball.index + 7]
        for outcome in ("0", "1", "2", "3", "4", "5", "6", "bye", "wd", "nb", "W"):
            ends_over = follower.over != ball.over
            pair = ends_after(ball.batter.name, ball.non_striker.name, outcome, ends_over)
            fits = pair == (follower.batter.name, follower.non_striker.name) and outcome != "W"
            same_count = ball.is_legal == (outcome not in ("wd", "nb")) or ball.over == current.over
            changed = ChangedBall(ball, with_outcome(ball, outcome))
            assert disturbs(changed, current) == (not (fits and same_count)), (ball, outcome)
            seen[fits and same_count] += 1
    assert min(seen.values()) > 50


@settings(deadline=None, max_examples=50)
@given(INNINGS, st.data(), st.sampled_from(OUTCOMES))
def test_what_was_not_bowled_yet_cannot_change(
    number: int, data: st.DataObject, outcome: str
) -> None:
    count = len(MATCH.innings[number - 1].deliveries)
    index = data.draw(st.integers(1, count))
    place = data.draw(st.integers(index, count))
    with pytest.raises(
        InputError, match=r"comes after the predicted ball|is the predicted ball itself"
    ):
        change_balls(MATCH, number, index, [(str(place), outcome)])


def edited(match: Match, innings: int, place: int, now: Delivery) -> dict[str, Any]:
    """The match as a JSON document, one delivery's row written by hand."""
    document: dict[str, Any] = json.loads(texts_of(match, "json", "m")["m.json"])
    overs = document["innings"][innings - 1]["overs"]
    row = [row for over in overs for row in over["deliveries"]][place - 1]
    bat, extras = PLAIN[now.outcome]
    for key in ("extras", "wickets"):
        row.pop(key, None)
    extra = sum(extras.values())
    row["runs"] = {"batter": bat, "extras": extra, "total": bat + extra}
    if extras:
        row["extras"] = extras
    if now.outcome == "W":
        row["wickets"] = [{"kind": "bowled", "player_out": row["batter"]}]
    return document


BOARD = attrgetter(
    *("index", "outcome", "is_legal", "runs_total", "actual_delivery"),
    *("score_before", "wickets_before", "legal_balls_before"),
)


@settings(deadline=None, max_examples=25)
@given(INNINGS, st.data())
def test_the_score_is_that_of_a_file_that_says_so(
    tmp_path_factory: pytest.TempPathFactory, number: int, data: st.DataObject
) -> None:
    innings = MATCH.innings[number - 1]
    index = data.draw(st.integers(2, len(innings.deliveries)))
    place = data.draw(st.integers(max(1, index - 6), index - 1))
    current, ball = innings.deliveries[index - 1], innings.deliveries[place - 1]
    # In the file a legal ball more or less would move the balls that follow to other overs.
    outcome = data.draw(st.sampled_from(OUTCOMES))
    if (outcome in ("wd", "nb")) == ball.is_legal and ball.over != current.over:
        return
    told = change_balls(MATCH, number, index, [(str(place), outcome)])
    followed = rescore(innings.deliveries, {place: told[0].after})
    path = tmp_path_factory.mktemp("edited") / f"{MATCH.match_id}.json"
    path.write_text(json.dumps(edited(MATCH, number, place, told[0].after)), encoding="utf-8")
    read = read_match(path).innings[number - 1].deliveries
    for made, expected in zip(followed[:index], read[:index], strict=True):
        assert BOARD(made) == BOARD(expected)


def test_after_the_last_ball_who_faces_follows() -> None:
    seen = set()
    for ball, current in plain_balls(MATCH.innings[0]):
        ends_over = ball.over != current.over
        batter, other = ball.batter.name, ball.non_striker.name
        for outcome in OUTCOMES:
            expected: tuple[str | None, str | None]
            if outcome == "W":
                expected = (other, None) if ends_over else (None, other)
            else:
                expected = ends_after(batter, other, outcome, ends_over)
            changed = change_balls(MATCH, 1, current.index, [("last", outcome)])
            assert changed[0].before is ball
            crease = crease_after(current, changed)
            names = tuple(player and player.name for player in (crease.striker, crease.other))
            assert names == expected, (ball.index, outcome)
            seen.add((ball.outcome == "W", outcome == "W", ends_over))
    assert len(seen) == 4


def test_what_cannot_be_changed_is_refused() -> None:
    dot = next(ball for ball in MATCH.innings[0].deliveries[20:] if ball.outcome == "0")
    place = str(dot.index)
    for index, changes, error, message in (
        (dot.index + 2, [(place, "7")], InputError, "not an outcome"),
        (dot.index + 2, [("2:3", "0")], InputError, "in innings 2"),
        (
            dot.index + 2,
            [(place, "2"), (dot.label, "4")],
            InputError,
            "changed twice, to 2 and to 4",
        ),
        (1, [("last", "W")], BallNotFoundError, "no ball was bowled before the first"),
    ):
        with pytest.raises(error, match=message):
            change_balls(MATCH, 1, index, changes)


def test_questions_as_they_are_written() -> None:
    plain = WhatIfQuestion("X", None, 5, (("7.1", "W"), ("last", "W")))
    assert question_of(["bowler = X", "target=5", "ball:7.1=W", "last=W"]) == plain
    page = {"bowler": "X", "batter": None, "target": 5, "balls": {"7.1": "W", "last": "W"}}
    assert question_of_page(page) == plain
    refused: Sequence[tuple[str, list[str]]] = (
        ("no change was given", []),
        ("is not a valid change", ["ball:43"]),
        ("is not a valid change", ["ball:=4"]),
        ("is given twice", ["bowler=X", "bowler=Y"]),
        ("is not a valid change", ["keeper=Y"]),
        ("is not a valid change", ["bowler"]),
        ("not a whole number", ["target=many"]),
        ("not a positive number", ["target=-3"]),
        ("too large", ["target=" + "9" * 41]),
    )
    for words, settings_ in refused:
        with pytest.raises(InputError, match=words):
            question_of(settings_)
    with pytest.raises(InputError, match="maps balls to outcomes"):
        question_of_page({"balls": ["46"]})


def test_a_target_that_no_side_could_be_set_is_refused() -> None:
    chase = MATCH.innings[1]
    # An innings of a match without a limit of balls, told what no file of such tells.
    sides = tuple(
        replace(MATCH.innings[at % 2], number=at + 1, target=None, target_balls=None)
        for at in range(4)
    )
    test = replace(MATCH, match_type="Test", overs=None, innings=sides)
    refuse_target(MATCH, chase, 720)
    refuse_target(test, sides[3], 836)  # more than was ever asked for
    for match, side, target, message in (
        (MATCH, chase, 721, "721 off 120 balls is too high for any side to reach; give a "),
        (
            MATCH,
            replace(chase, target_balls=30),
            181,
            "181 off 30 balls is .* target of at most 180",
        ),
        (test, sides[0], 180, "innings 1 is not a chase, so it has no target; leave the target"),
        (test, sides[1], 180, "innings 2 is not a chase, so it has no target; leave the target"),
        (test, sides[2], 180, "innings 3 is not a chase, so it has no target; leave the target"),
        (test, sides[3], 100_000, "a target of 100000 is too high"),
    ):
        with pytest.raises(InputError, match=message):
            refuse_target(match, side, target)
