"""Which past balls may be told otherwise, against a replay of the innings and edited files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import simulated, small_predictor

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import Delivery, Facts, Innings, Match, Player
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.model.people import person_called
from attnlens.cricket.readers import read_match, read_matches
from attnlens.cricket.readers.writers import texts_of
from attnlens.cricket.whatif.flags import refuse_target
from attnlens.cricket.whatif.question import Question, asked, question_of
from attnlens.cricket.whatif.retelling import (
    PLAIN,
    crease_after,
    possible,
    retold,
    retold_balls,
    scored_again,
)
from attnlens.errors import InputError

MATCH = simulated(4)
INNINGS = st.sampled_from([1, 2])


def ends_after(striker: str, other: str, outcome: str, ends_over: bool) -> tuple[str, str]:
    """Who faces and who does not after a plain ball, worked out here on its own."""
    if outcome in ("1", "3", "5", "bye"):
        striker, other = other, striker
    return (other, striker) if ends_over else (striker, other)


def replay_allows(innings: Innings, ball: Delivery, outcome: str, current: Delivery) -> bool:
    """Whether the batters recorded since could have faced, had the ball gone so.

    For an innings in which every ball follows the rules, and a ball without a wicket.
    """
    legal = outcome not in ("wd", "nb")
    counts: dict[int, int] = {}
    for one in innings.deliveries[: current.index - 1]:
        is_legal = legal if one is ball else one.is_legal
        counts[one.over] = counts.get(one.over, 0) + is_legal
    if any(balls != 6 for over, balls in counts.items() if over < current.over):
        return False
    if counts.get(current.over, 0) >= 6:
        return False
    if ball.index == current.index - 1:
        return True
    since = innings.deliveries[ball.index : current.index - 1]
    if outcome == "nb":
        # A free hit lasts until a legal ball: nobody can be bowled or caught on it.
        for one in since:
            if any(wicket.kind != "run out" for wicket in one.wickets):
                return False
            if one.is_legal:
                break
    if outcome == "W":
        return False
    follower = innings.deliveries[ball.index]
    pair = ends_after(ball.batter.name, ball.non_striker.name, outcome, follower.over != ball.over)
    return pair == (follower.batter.name, follower.non_striker.name)


@pytest.mark.parametrize("number", [1, 2])
def test_what_may_change_is_what_a_replay_allows(number: int) -> None:
    innings = MATCH.innings[number - 1]
    seen = {True: 0, False: 0}
    for current in innings.deliveries[12:90:7]:
        for ball in innings.deliveries[max(current.index - 10, 0) : current.index - 1]:
            if ball.wickets:
                continue
            found = possible(innings, current, ball)
            for outcome in OUTCOMES:
                if outcome != ball.outcome:
                    allowed = replay_allows(innings, ball, outcome, current)
                    assert (outcome in found) == allowed, (current.index, ball, outcome)
                    seen[allowed] += 1
    assert min(seen.values()) > 100


@settings(deadline=None, max_examples=50)
@given(INNINGS, st.data(), st.sampled_from(OUTCOMES))
def test_what_was_not_bowled_yet_cannot_change(
    number: int, data: st.DataObject, outcome: str
) -> None:
    count = len(MATCH.innings[number - 1].deliveries)
    index = data.draw(st.integers(1, count))
    place = data.draw(st.integers(index, count))
    with pytest.raises(InputError, match=r"comes after it|is the ball asked about"):
        retold_balls(MATCH, number, index, [(str(place), outcome)])


def edited(match: Match, innings: int, place: int, now: Delivery) -> dict[str, Any]:
    """The match as a JSON document, one delivery's row written by hand."""
    document: dict[str, Any] = json.loads(texts_of(match, "json", "m")["m.json"])
    rows = [row for over in document["innings"][innings - 1]["overs"] for row in over["deliveries"]]
    bat, extras = PLAIN[now.outcome]
    extra = sum(extras.values())
    row = rows[place - 1]
    for key in ("extras", "wickets"):
        row.pop(key, None)
    row["runs"] = {"batter": bat, "extras": extra, "total": bat + extra}
    if extras:
        row["extras"] = extras
    if now.outcome == "W":
        row["wickets"] = [{"kind": "bowled", "player_out": row["batter"]}]
    return document


def board(ball: Delivery) -> tuple[Any, ...]:
    return (
        ball.index,
        ball.outcome,
        ball.is_legal,
        ball.runs_total,
        ball.actual_delivery,
        ball.score_before,
        ball.wickets_before,
        ball.legal_balls_before,
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
    choices = possible(innings, current, ball)
    if not choices:
        return
    outcome = data.draw(st.sampled_from(choices))
    told = retold_balls(MATCH, number, index, [(str(place), outcome)])
    followed = scored_again(innings.deliveries, {place: told[0].after})
    path = tmp_path_factory.mktemp("edited") / f"{MATCH.match_id}.json"
    path.write_text(json.dumps(edited(MATCH, number, place, told[0].after)), encoding="utf-8")
    read = read_match(path).innings[number - 1].deliveries
    for j in range(index):
        made = (
            followed[j]
            if j != place - 1
            else replace(told[0].after, actual_delivery=followed[j].actual_delivery)
        )
        assert board(made) == board(read[j])


def with_last(current: Delivery, ball: Delivery, outcome: str) -> tuple[str | None, str | None]:
    innings = MATCH.innings[0]
    told = retold_balls(MATCH, 1, current.index, [("last", outcome)])
    assert told[0].before is ball
    found = crease_after(innings.deliveries[current.index - 1], told)
    return (
        None if found.striker is None else found.striker.name,
        None if found.other is None else found.other.name,
    )


def test_after_the_last_ball_who_faces_follows() -> None:
    deliveries = MATCH.innings[0].deliveries
    seen = set()
    for ball, current in pairwise(deliveries):
        ends_over = ball.over != current.over
        batter, other = ball.batter.name, ball.non_striker.name
        for outcome in possible(MATCH.innings[0], current, ball):
            expected: tuple[str | None, str | None]
            if outcome == "W":
                expected = (other, None) if ends_over else (None, other)
            else:
                expected = ends_after(batter, other, outcome, ends_over)
            assert with_last(current, ball, outcome) == expected, (ball.index, outcome)
            seen.add((ball.outcome == "W", outcome == "W", ends_over))
    assert len(seen) >= 5


def test_a_refusal_says_why_and_what_is_possible() -> None:
    innings = MATCH.innings[0]
    dot = next(
        ball
        for ball in innings.deliveries[20:]
        if ball.outcome == "0" and innings.deliveries[ball.index].over == ball.over
    )
    current = dot.index + 2
    with pytest.raises(InputError, match=r"at each other's ends.*may become 2 4 6") as caught:
        retold_balls(MATCH, 1, current, [(dot.label, "1")])
    assert innings.deliveries[dot.index].batter.name in str(caught.value)
    with pytest.raises(InputError, match="would be out"):
        retold_balls(MATCH, 1, current, [(str(dot.index), "W")])
    with pytest.raises(InputError, match=rf"over {dot.over} is finished"):
        retold_balls(MATCH, 1, dot.index + 14, [(str(dot.index), "wd")])
    out = next(ball for ball in innings.deliveries if ball.outcome == "W")
    with pytest.raises(InputError, match="would not be out"):
        retold_balls(MATCH, 1, out.index + 3, [(str(out.index), "0")])
    with pytest.raises(InputError, match="no outcome"):
        retold_balls(MATCH, 1, current, [(str(dot.index), "7")])
    with pytest.raises(InputError, match="in innings 2"):
        retold_balls(MATCH, 1, current, [("2:3", "0")])
    with pytest.raises(InputError, match=r"changed to 2 and to 4"):
        retold_balls(MATCH, 1, current, [(str(dot.index), "2"), (dot.label, "4")])
    with pytest.raises(BallNotFoundError, match="no ball was bowled before the first"):
        retold_balls(MATCH, 1, 1, [("last", "W")])


def test_a_free_hit_cannot_be_put_before_a_catch(tmp_path: Path) -> None:
    innings = MATCH.innings[0]
    caught = next(
        ball
        for ball in innings.deliveries
        if any(wicket.kind in ("bowled", "caught", "lbw") for wicket in ball.wickets)
        and innings.deliveries[ball.index - 2].over == ball.over
        and innings.deliveries[ball.index].over == ball.over
    )
    before = innings.deliveries[caught.index - 2]
    wide = retold(before, "wd")
    document = edited(MATCH, 1, before.index, wide)
    path = tmp_path / "free.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    match = read_match(path)
    current = caught.index + 1
    with pytest.raises(InputError, match="would be a free hit"):
        retold_balls(match, 1, current, [(str(before.index), "nb")])


def test_wide_and_no_ball_in_this_over_but_not_past_its_end() -> None:
    innings = MATCH.innings[0]
    wide = next(
        ball for ball in innings.deliveries if ball.outcome == "wd" and ball.runs_total == 1
    )
    over = [ball for ball in innings.deliveries if ball.over == wide.over]
    last = over[-1]
    assert last is not wide
    with pytest.raises(InputError, match="would have ended before"):
        retold_balls(MATCH, 1, last.index, [(str(wide.index), "0")])


def test_questions_as_they_are_written() -> None:
    plain = Question("X", None, 5, (("7.1", "W"), ("last", "W")))
    assert question_of(["bowler = X", "target=5", "ball:7.1=W", "last=W"]) == plain
    page = {"bowler": "X", "batter": None, "target": 5, "balls": {"7.1": "W", "last": "W"}}
    assert asked(page) == plain
    refused: Sequence[tuple[str, list[str]]] = (
        ("nothing is asked", []),
        ("not understood", ["ball:43"]),
        ("not understood", ["ball:=4"]),
        ("is given twice", ["bowler=X", "bowler=Y"]),
        ("not understood", ["keeper=Y"]),
        ("not understood", ["bowler"]),
        ("no whole number", ["target=many"]),
        ("no number of runs", ["target=-3"]),
        ("out of reach", ["target=" + "9" * 41]),
    )
    for words, settings_ in refused:
        with pytest.raises(InputError, match=words):
            question_of(settings_)
    with pytest.raises(InputError, match="by ball"):
        asked({"balls": ["46"]})


def test_every_ball_of_real_matches_has_rules_that_hold(shared_data: Path) -> None:
    """A change that is possible gives an innings in which balls follow as the file says."""
    count = 0
    for match in read_matches(shared_data / "formats" / "json" / "wpl"):
        for innings in match.innings:
            for current in innings.deliveries[1::23]:
                for ball in innings.deliveries[max(current.index - 5, 0) : current.index - 1]:
                    for outcome in possible(innings, current, ball):
                        (one,) = retold_balls(
                            match, innings.number, current.index, [(str(ball.index), outcome)]
                        )
                        assert one.after.outcome == outcome
                        scores = scored_again(innings.deliveries, {ball.index: one.after})
                        changed = one.after.runs_total - ball.runs_total
                        now = scores[current.index - 1]
                        assert now.score_before == current.score_before + changed
                        count += 1
    assert count > 500


# Targets


def of_a_test(number: int) -> tuple[Match, Innings]:
    """An innings of a match without a limit of balls, told what no file of such tells."""
    sides = tuple(
        replace(MATCH.innings[at % 2], number=at + 1, target=None, target_balls=None)
        for at in range(4)
    )
    match = replace(MATCH, match_type="Test", overs=None, innings=sides)
    return match, sides[number - 1]


def test_a_target_that_no_side_could_be_set_is_refused() -> None:
    chase = MATCH.innings[1]
    refuse_target(MATCH, chase, 720)
    with pytest.raises(InputError, match="721 off 120 balls is out of reach of any side; give at "):
        refuse_target(MATCH, chase, 721)
    short = replace(chase, target_balls=30)
    with pytest.raises(InputError, match=r"181 off 30 balls is out of reach .*; give at most 180"):
        refuse_target(MATCH, short, 181)
    for number in (1, 2, 3):
        with pytest.raises(InputError, match=f"innings {number} chases nothing; leave the target"):
            refuse_target(*of_a_test(number), 180)
    match, last = of_a_test(4)
    refuse_target(match, last, 836)  # more than was ever asked for
    with pytest.raises(InputError, match="a target of 100000 is out of reach"):
        refuse_target(match, last, 100_000)


def test_names_that_are_near_are_told_in_good_english() -> None:
    predictor = small_predictor(matches=1)
    bowler = MATCH.innings[0].deliveries[0].bowler.name
    with pytest.raises(InputError, match=f"the nearest known name is {bowler}; write the name"):
        person_called(f"{bowler[:-1]}q", only(bowler), predictor, "--bowler")


def only(name: str) -> Match:
    """The match with one player in it, everywhere."""
    player = Player(name)
    ball = replace(MATCH.innings[0].deliveries[0], batter=player, non_striker=player, bowler=player)
    side = replace(MATCH.innings[0], deliveries=(ball,))
    return replace(MATCH, innings=(side,), players=Facts())
