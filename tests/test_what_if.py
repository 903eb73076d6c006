"""What the model would have expected: against independent computations of each world."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numerics import near_effect
from small_predictors import arrays_of, probabilities, simulated, small_predictor, with_delivery

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain.what_if_types import WhatIf, WhatIfQuestion
from attnlens.cricket.match.match import Delivery, Match, Player
from attnlens.cricket.match.naming import changed_ends, find_ball
from attnlens.cricket.pages.ball_page import render_what_if
from attnlens.cricket.predictor.trained import TrainedPredictor, person_called
from attnlens.cricket.predictor.window import window_batch
from attnlens.cricket.readers import read_match
from attnlens.cricket.what_if import what_if, with_outcome
from attnlens.cricket.words.facts import resolve
from attnlens.errors import InputError
from attnlens.render.canvas import display_width

MATCH = simulated(4)
CLOSE = 2e-6
"""Figures have six decimals."""
FIRST = MATCH.innings[0]


def ball_after_a_dot(start: int, back: int = 1, *, same_over: bool = True) -> Delivery:
    """The first ball of the innings from a place on whose earlier ball, of its over, was a dot."""
    return next(
        ball
        for ball in FIRST.deliveries[start:]
        if (earlier := FIRST.deliveries[ball.index - 1 - back]).outcome == "0"
        and (earlier.over == ball.over) == same_over
    )


def flags_of(data: dict[str, Any]) -> set[str]:
    return {flag["flag"] for flag in data["flags"]}


@pytest.fixture(scope="module")
def predictor() -> TrainedPredictor:
    return small_predictor(matches=2)


@pytest.fixture(scope="module")
def stranger(predictor: TrainedPredictor) -> Player:
    """Somebody whom the ratings know and who is not in the match."""
    here = {p.key for side in MATCH.innings for b in side.deliveries for p in (b.batter, b.bowler)}
    rated = predictor.ratings.tables["bowler"]
    return next(
        Player(name, key)
        for name, key in predictor.ratings.aliases.items()
        if key not in here and rated.keys.get(key) is not None
    )


def ask(predictor: TrainedPredictor, ball: int | str, match: Match = MATCH, **asked: Any) -> Any:
    """An answer, checked as a document on the way."""
    if "changes" in asked:
        asked["balls"] = tuple((str(k), str(v)) for k, v in asked.pop("changes").items())
    answer = what_if(match, find_ball(match, ball), predictor, WhatIfQuestion(**asked))
    assert WhatIf.from_json(answer.to_json()) == answer
    data = answer.to_dict()
    check_words(data)
    return data


def check_words(data: dict[str, Any]) -> None:
    """Every fact stands in its sentence, and no figure stands outside a fact."""
    for sentence in data["narrative"]:
        rest = sentence["text"]
        for fact in sentence["facts"]:
            resolve(data, fact["pointer"])
            assert fact["text"] in rest
            rest = rest.replace(fact["text"], "", 1)
        assert re.search(r"[0-9]", rest) is None


def expected(predictor: TrainedPredictor, match: Match, innings: int, index: int) -> Any:
    """The prediction for a ball of a match as it stands, ``(11,)``."""
    arrays = arrays_of(predictor, match, innings)
    return probabilities(predictor.model, window_batch(arrays, index - 1))[0, 0]


def column(data: dict[str, Any], name: str) -> Any:
    return np.array([entry[name] for entry in data["outcomes"]])


def check_points(data: dict[str, Any]) -> None:
    moved = column(data, "after") - column(data, "before")
    assert column(data, "points") == pytest.approx(100 * moved, abs=2e-4)


@settings(deadline=None, max_examples=15)
@given(st.sampled_from([1, 2]), st.data())
def test_the_outcome_a_ball_had_changes_no_bit(
    predictor: TrainedPredictor, number: int, data: st.DataObject
) -> None:
    innings = MATCH.innings[number - 1]
    index = data.draw(st.integers(2, len(innings.deliveries)))
    places = data.draw(st.sets(st.integers(1, index - 1), min_size=1, max_size=3))
    same = {place: innings.deliveries[place - 1].outcome for place in places}
    answer = ask(predictor, f"{number}:{index}", changes=same)
    assert answer["before"] == answer["after"]
    assert (column(answer, "before") == column(answer, "after")).all()
    assert (column(answer, "points") == 0).all()
    assert answer["effect_nats"] == 0
    true = expected(predictor, MATCH, number, index)
    assert column(answer, "before") == pytest.approx(true, abs=CLOSE)


@settings(deadline=None, max_examples=15)
@given(st.sampled_from([1, 2]), st.data())
def test_a_past_ball_that_went_otherwise_is_what_its_own_match_says(
    predictor: TrainedPredictor, number: int, data: st.DataObject
) -> None:
    innings = MATCH.innings[number - 1]
    index = data.draw(st.integers(8, len(innings.deliveries)))
    place = data.draw(st.integers(max(1, index - 12), index - 2))
    ball, current = innings.deliveries[place - 1], innings.deliveries[index - 1]
    # A no-ball gives a free hit, and a wide moves later balls: both are tested elsewhere.
    outcome = data.draw(st.sampled_from(["0", "1", "2", "3", "4", "5", "6", "bye"]))
    now = with_outcome(ball, outcome)
    runs = now.runs_total - ball.runs_total
    out = innings.target is not None and current.score_before + runs >= innings.target
    if not ball.is_legal or ball.outcome in ("W", outcome) or out:
        return
    answer = ask(predictor, f"{number}:{index}", changes={place: outcome})
    fields = ("outcome", "runs_batter", "runs_extras", "runs_total", "extras", "non_boundary")
    other = with_delivery(MATCH, number, place, **{name: getattr(now, name) for name in fields})
    # The score before the ball asked about is all of the scoreboard that it can see.
    other = with_delivery(other, number, index, score_before=current.score_before + runs)
    was, after = (expected(predictor, match, number, index) for match in (MATCH, other))
    assert column(answer, "before") == pytest.approx(was, abs=CLOSE)
    assert column(answer, "after") == pytest.approx(after, abs=CLOSE)
    check_points(answer)
    near_effect(answer["effect_nats"], float((was * np.log(was / after)).sum()))
    assert answer["effect_nats"] > 0
    moved = (changed_ends(ball) != changed_ends(now)) and place < index - 1
    assert ("as_recorded" in flags_of(answer)) == moved


def test_a_whole_edited_match_gives_the_same_answer(
    predictor: TrainedPredictor, stranger: Player
) -> None:
    """Wicket, new batter and another bowler at once, against a match rebuilt ball by ball."""
    current = ball_after_a_dot(30)
    last = FIRST.deliveries[current.index - 2]
    bowler = next(b.bowler for b in FIRST.deliveries if b.bowler.key != current.bowler.key)
    people = {"batter": stranger, "bowler": bowler}
    answer = ask(
        predictor,
        current.index,
        changes={"last": "W"},
        **{role: player.name for role, player in people.items()},
    )
    out, wickets = with_outcome(last, "W"), current.wickets_before + 1
    match = with_delivery(MATCH, 1, last.index, outcome="W", wickets=out.wickets)
    match = with_delivery(match, 1, current.index, **people, wickets_before=wickets)
    after = expected(predictor, match, 1, current.index)
    assert column(answer, "after") == pytest.approx(after, abs=CLOSE)
    assert (answer["after"]["batter"], answer["after"]["wickets"]) == (stranger.name, wickets)
    assert [change["kind"] for change in answer["changes"]] == ["ball", "bowler", "batter"]


def test_a_bowler_brings_his_earlier_balls(predictor: TrainedPredictor, stranger: Player) -> None:
    current = FIRST.deliveries[59]
    bowler = next(b.bowler for b in FIRST.deliveries[:30] if b.bowler.key != current.bowler.key)
    answer = ask(predictor, 60, bowler=bowler.name)
    same = with_delivery(MATCH, 1, 60, bowler=bowler)
    assert column(answer, "after") == pytest.approx(expected(predictor, same, 1, 60), abs=CLOSE)
    # Without the earlier balls the same record says something else.
    namesake = Player("A Namesake", predictor.ratings.player_key(bowler))
    alone = with_delivery(MATCH, 1, 60, bowler=namesake)
    for ball in FIRST.deliveries[:59]:
        if ball.bowler.key == bowler.key:
            alone = with_delivery(alone, 1, ball.index, bowler=Player("Another"))
    assert not np.allclose(column(answer, "after"), expected(predictor, alone, 1, 60), atol=1e-4)
    assert "not_in_match" in flags_of(ask(predictor, 60, bowler=stranger.name))


def test_a_wide_in_this_over_takes_a_legal_ball_back(predictor: TrainedPredictor) -> None:
    current = ball_after_a_dot(25, 2)
    answer = ask(predictor, current.index, changes={current.index - 2: "wd"})
    before, after = answer["before"], answer["after"]
    moved = {key: after[key] - before[key] for key in ("score", "legal_number", "balls_left")}
    assert moved == {"score": 1, "legal_number": -1, "balls_left": 1}
    noball = ask(predictor, current.index, changes={"last": "nb"})
    assert (noball["before"]["free_hit"], noball["after"]["free_hit"]) == (False, True)


def test_a_target_moves_the_chase(predictor: TrainedPredictor) -> None:
    chase = MATCH.innings[1]
    assert chase.target is not None
    answer = ask(predictor, "2:30", target=chase.target + 20)
    after = answer["after"]
    assert after["runs_required"] == answer["before"]["runs_required"] + 20
    rate = 6 * after["runs_required"] / after["balls_left"]
    assert after["required_rate"] == pytest.approx(rate, abs=CLOSE)
    moved = replace(MATCH, innings=(FIRST, replace(chase, target=chase.target + 20)))
    assert column(answer, "after") == pytest.approx(expected(predictor, moved, 2, 30), abs=CLOSE)
    with pytest.raises(InputError, match="is not a chase"):
        ask(predictor, 30, target=100)
    with pytest.raises(InputError, match="the target was reached"):
        ask(predictor, "2:60", target=5)
    near = replace(chase, target=chase.deliveries[-1].score_before + 1)
    match = replace(MATCH, innings=(FIRST, near))
    ball = next(ball for ball in reversed(chase.deliveries[:-2]) if ball.outcome == "0")
    with pytest.raises(InputError, match="the target was reached"):
        ask(predictor, "2:last", match=match, changes={ball.index: "6"})


def test_the_first_ball_a_super_over_and_the_next_ball(predictor: TrainedPredictor) -> None:
    bowler = FIRST.deliveries[20].bowler.name
    assert "no_history" in flags_of(ask(predictor, 1, bowler=bowler))
    with pytest.raises(BallNotFoundError, match="no ball was bowled before"):
        ask(predictor, 1, changes={"last": "4"})

    balls = FIRST.deliveries
    side = replace(FIRST, number=3, super_over=True, deliveries=balls[:4], target=None)
    tied = replace(MATCH, innings=(*MATCH.innings, side))
    over = ask(predictor, "3:next", match=tied, bowler=bowler)
    names = ("innings", "index", "super_over")
    assert [over["before"][name] for name in names] == [3, 5, True]
    assert over["actual"] is None
    assert "super_over" in flags_of(over)

    ends = next(at for at in range(30, 40) if balls[at].over != balls[at - 1].over)
    cut = replace(MATCH, innings=(replace(FIRST, deliveries=balls[:ends]),))
    unnamed = ask(predictor, "next", match=cut, bowler=bowler)
    assert unnamed["before"]["bowler"] == "an unnamed bowler"
    assert unnamed["after"]["bowler"] == bowler
    assert "unnamed_bowler" in flags_of(unnamed)
    wicket = ask(predictor, "next", match=cut, changes={"last": "W"}, bowler=bowler)
    assert wicket["after"]["wickets"] == wicket["before"]["wickets"] + 1


def test_questions_outside_the_rules_are_flagged(predictor: TrainedPredictor) -> None:
    balls = FIRST.deliveries

    def flags(ball: int, **people: str) -> set[str]:
        return flags_of(ask(predictor, ball, **people))

    first = next(ball for ball in balls if ball.over == 10)
    again = balls[first.index - 2].bowler.name
    assert "bowled_last_over" in flags(first.index, bowler=again)
    assert "bowler_mid_over" not in flags(first.index, bowler=again)
    assert "bowler_mid_over" in flags(first.index + 1, bowler=again)
    bowled = Counter(ball.bowler.key for ball in balls if ball.is_legal)
    done = next(
        ball.bowler.name
        for ball in balls
        if ball.bowler.key != balls[-1].bowler.key and bowled[ball.bowler.key] >= 24
    )
    assert "bowler_quota" in flags(balls[-1].index, bowler=done)
    assert "bowler_quota" not in flags(2, bowler=done)
    fallen = next(ball for ball in balls if ball.outcome == "W")
    assert "already_out" in flags(fallen.index + 6, batter=fallen.wickets[0].player_out.name)


def test_who_is_meant(predictor: TrainedPredictor, stranger: Player) -> None:
    bowler, batter = FIRST.deliveries[0].bowler, FIRST.deliveries[0].batter

    def who(name: str) -> Player:
        return person_called(name, MATCH, predictor, "--set bowler")

    for name in (f"  {bowler.name.upper()} ", bowler.id or bowler.name):
        assert who(name) == bowler
    assert who(stranger.name) == stranger
    misspelt = bowler.name[:-1] + ("x" if bowler.name[-1] != "x" else "y")
    for name, message in (
        (" ", "is empty"),
        (misspelt, f"nearest known names? (are|is) .*{bowler.name}"),
        ("a", "write the full name"),
    ):
        with pytest.raises(InputError, match=message):
            who(name)
    for people in ({"bowler": batter.name}, {"batter": bowler.name}):
        with pytest.raises(InputError, match="plays for"):
            ask(predictor, 20, **people)


def test_who_comes_in_after_a_wicket(predictor: TrainedPredictor, stranger: Player) -> None:
    current = ball_after_a_dot(20, same_over=False)
    last = FIRST.deliveries[current.index - 2]

    def crease(outcome: str, **people: str) -> tuple[str, str]:
        after = ask(predictor, current.index, changes={"last": outcome}, **people)["after"]
        return after["batter"], after["non_striker"]

    before = {p for b in FIRST.deliveries[: current.index] for p in (b.batter, b.non_striker)}
    next_in = next(b for b in FIRST.deliveries if b.batter not in before).batter
    assert crease("W") == (last.non_striker.name, next_in.name)
    assert crease("W", batter=stranger.name)[1] == stranger.name
    for player in (last.batter, last.non_striker):
        with pytest.raises(InputError, match="cannot come in"):
            crease("W", batter=player.name)
    single = ask(predictor, current.index, changes={"last": "1"})
    assert single["after"]["batter"] == last.batter.name
    assert [change["follows"] for change in single["changes"]] == [False, True, True]
    assert crease("1", batter=last.non_striker.name)[0] == last.non_striker.name


@pytest.mark.parametrize("width", [40, 200])
def test_the_page_keeps_its_width_and_shows_no_escape(
    predictor: TrainedPredictor, width: int
) -> None:
    evil = Player("Ev\x1b[31mil \u202eName")
    match = with_delivery(MATCH, 1, 70, batter=evil)
    answer = WhatIf.from_dict(ask(predictor, 60, match, changes={"last": "W"}, batter=evil.name))
    page = render_what_if(answer, width=width, color=False)
    assert max(display_width(line) for line in page.splitlines()) <= min(width, 100)
    assert not {"\x1b", "\u202e"} & set(page)
    assert page.startswith("innings 1, delivery 60 of")
    assert "what if" in page
    assert "expected" in page
    coloured = render_what_if(answer, width=width, color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == page


@pytest.mark.parametrize("file", ["ipl/1216517", "t20i_women/1150537"])
def test_real_matches(predictor: TrainedPredictor, shared_data: Path, file: str) -> None:
    match = read_match(shared_data / "formats" / "json" / f"{file}.json")
    for innings in match.innings:
        last = len(innings.deliveries)
        for index in {1, 2, last // 2 + 1, last}:
            current = innings.deliveries[index - 1]
            others = [b for b in innings.deliveries if b.bowler.key != current.bowler.key]
            bowler = others[-1].bowler.name if others else current.bowler.name
            changes = {"changes": {"last": "1"}} if index > 1 else {}
            answer = ask(predictor, f"{innings.number}:{index}", match, bowler=bowler, **changes)
            assert column(answer, "after").sum() == pytest.approx(1, abs=1e-5)
            check_points(answer)
