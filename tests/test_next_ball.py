"""The ball not yet bowled: checked against the ball that was bowled next."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from small_predictors import small_predictor

import attnlens
from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain.explain_ball import flags_of
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.match import Innings, Match, Player
from attnlens.cricket.match.naming import (
    NOT_BOWLED,
    BallReference,
    echo,
    find_ball,
    find_players,
    over_ended,
    with_next_ball,
)
from attnlens.cricket.over.next_over import find_over
from attnlens.cricket.predictor.trained import person_called
from attnlens.cricket.predictor.window import window_for
from attnlens.cricket.readers import read_matches
from attnlens.errors import AttnlensError, InputError


def cut(match: Match, number: int, balls: int) -> Match:
    """The match as it stood after so many balls of an innings."""
    side = match.innings[number - 1]
    short = dataclasses.replace(side, deliveries=side.deliveries[:balls])
    earlier = match.innings[: number - 1]
    return dataclasses.replace(match, innings=(*earlier, short))


def told_right(match: Match, innings: Innings, balls: int) -> tuple[bool, bool]:
    """Whether the scoreboard, and whether the players, are those of the ball that followed."""
    true = innings.deliveries[balls]
    made = with_next_ball(
        cut(match, innings.number, balls),
        innings.number,
        bowler=true.bowler,
        batter=true.batter if innings.deliveries[balls - 1].wickets else None,
    )
    ball = made.innings[-1].deliveries[-1]
    assert ball.outcome == NOT_BOWLED
    told = "index over label actual_delivery score_before wickets_before legal_balls_before"
    board = all(getattr(ball, name) == getattr(true, name) for name in told.split())
    return board, ball.batter.name == true.batter.name


def test_nearly_every_next_ball_of_real_matches(shared_data: Path) -> None:
    boards, strikers, count = 0, 0, 0
    for match in read_matches(shared_data / "formats" / "json" / "t20i_women"):
        for innings in match.innings:
            if innings.super_over:
                continue
            for balls in range(1, len(innings.deliveries), 5):
                try:
                    board, striker = told_right(match, innings, balls)
                except BallNotFoundError:
                    continue  # shortened without the file saying so
                boards, strikers, count = boards + board, strikers + striker, count + 1
    assert count > 200
    # Overthrows, short runs and miscounted overs are not in the files.
    assert boards >= 0.99 * count
    assert strikers >= 0.97 * count


def test_who_must_be_named() -> None:
    match = simulate_match(4)
    innings = match.innings[0]
    fallen = next(b.index for b in innings.deliveries if b.wickets and b.wickets[0].counts)
    with pytest.raises(InputError, match="name the batter"):
        with_next_ball(cut(match, 1, fallen), 1, bowler=Player("somebody"))
    ended = next(
        b.index for b in innings.deliveries[:-1] if innings.deliveries[b.index].over != b.over
    )
    with pytest.raises(InputError, match="name the bowler"):
        with_next_ball(cut(match, 1, ended), 1, batter=Player("somebody"))


def test_names_are_of_the_match_or_of_the_ratings_or_of_a_debutant() -> None:
    match, predictor = cut(simulate_match(4), 1, 20), small_predictor(matches=1)
    known = match.innings[0].deliveries[-1].bowler
    first, surname = known.name[0], known.name.split()[-1]
    for name in (known.name, surname.lower(), f"{first}xavier {surname}"):
        assert person_called(name, match, predictor, "bowler") == known
    debutant = person_called("new: A  Stranger ", match, predictor, "bowler")
    assert (debutant.name, debutant.id) == ("A Stranger", None)
    for name, message in (
        ("A Stranger", "nobody in the match or the ratings"),
        ("  ", "bowler is empty"),
    ):
        with pytest.raises(InputError, match=message):
            person_called(name, match, predictor, "bowler")
    with pytest.raises(InputError, match="nobody in the match or the ratings is called 'Nowhere'"):
        attnlens.explain(match, ball="next", batter="Nowhere")


def test_a_full_first_name_means_the_initials_of_who_plays() -> None:
    """A namesake whom only the ratings know is not meant."""
    captain, namesake = Player("RG Sharma", "740742ef"), Player("Rohit Sharma", "another")
    others = [Player("I Sharma"), Player("R Ashwin"), Player("Sharma")]
    assert find_players("Rohit Sharma", [captain, *others], [namesake]) == [captain]
    assert find_players("Rohit Sharma", others, [namesake]) == [namesake]


def test_an_innings_that_rain_ended_has_no_next_ball_once_another_has_begun() -> None:
    match = simulate_match(3)
    for number in (0, 2, 99):
        with pytest.raises(AttnlensError):
            with_next_ball(match, number)
    for balls in (31, 36):
        interrupted = cut(match, 1, balls)
        longer = dataclasses.replace(interrupted, innings=(*interrupted.innings, match.innings[1]))
        with pytest.raises(BallNotFoundError, match="innings 2 has begun"):
            with_next_ball(longer, 1)
        made = with_next_ball(interrupted, 1, batter=Player("Abe Zed"), bowler=Player("Bo Zed"))
        assert made.innings[0].deliveries[balls:]


def test_the_echo_names_the_players_and_says_it_is_not_bowled() -> None:
    match = cut(simulate_match(4), 1, 20)
    reference = find_ball(match, "next")
    assert reference == BallReference(1, 21)
    made = with_next_ball(match, 1)
    ball = made.innings[0].deliveries[-1]
    line = echo(made, reference)
    assert line.startswith("innings 1, delivery 21, not yet bowled | label ")
    assert line.endswith(f" | {ball.bowler} to {ball.batter}")


def test_nobody_bowls_two_overs_in_a_row_or_too_many() -> None:
    match = simulate_match(3)
    side = match.innings[0]
    ends = [
        place
        for place in range(30, len(side.deliveries))
        if side.deliveries[place].over != side.deliveries[place - 1].over
        and not side.deliveries[place - 1].wickets
    ]
    over = cut(match, 1, ends[0])
    before = over.innings[0].deliveries[-1].bowler
    with pytest.raises(InputError, match=f"{before} also bowled the previous over"):
        with_next_ball(over, 1, bowler=before)
    # Five-ball overs may come in twos.
    five = dataclasses.replace(over, balls_per_over=5)
    if over_ended(five.innings[0], five.innings[0].deliveries[-1]):
        with_next_ball(five, 1, bowler=before)
    late = cut(match, 1, ends[-1])
    spent = [
        player
        for player, balls in Counter(
            ball.bowler for ball in late.innings[0].deliveries if ball.is_legal
        ).items()
        if balls == 24 and player != late.innings[0].deliveries[-1].bowler
    ]
    assert spent
    with pytest.raises(InputError, match="has already bowled 24 balls"):
        with_next_ball(late, 1, bowler=spent[0])


def test_in_mid_over_another_bowler_is_told_and_the_one_before_refused() -> None:
    side = simulate_match(3).innings[0]
    # Two balls into the over, nobody out on the last.
    place = next(
        ball.index
        for ball in side.deliveries[30:]
        if side.deliveries[ball.index - 3].over == ball.over - 1 and not ball.wickets
    )
    match = cut(simulate_match(3), 1, place)
    *_, before, _, last = match.innings[0].deliveries
    with pytest.raises(InputError, match=f"{before.bowler} also bowled the previous over"):
        with_next_ball(match, 1, bowler=before.bowler)
    for bowler, expected in (
        (last.bowler, []),
        (Player("Bo Zed"), [f"{last.bowler} bowled the earlier balls of this over"]),
    ):
        longer = with_next_ball(match, 1, bowler=bowler)
        window = window_for(longer, BallReference(1, place + 1), small_predictor(matches=1))
        flags = flags_of(window, small_predictor(matches=1), evidence=True)
        assert [one.text for one in flags if one.flag == "bowler_mid_over"] == expected


def test_next_without_an_innings_is_of_the_one_in_play() -> None:
    match = cut(simulate_match(4), 2, 13)
    assert find_ball(match, "next") == find_ball(match, "2:next") == BallReference(2, 14)
    assert find_ball(match, "next", 1).innings == 1
    with pytest.raises(BallNotFoundError, match="no innings 0"):
        find_ball(match, "next", 0)
    begun = cut(simulate_match(4), 2, 0)
    asked = [find_over(begun, name) for name in ("next", "2:next", "2:0")]
    assert {(one.innings.number, one.over, one.before, one.bowled) for one in asked} == {
        (2, 0, 0, False)
    }
    with pytest.raises(BallNotFoundError, match="innings 2 has no deliveries yet"):
        find_over(begun, "2:1")
