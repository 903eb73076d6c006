"""Simulated matches look like cricket, obey its rules, and read back the same."""

from __future__ import annotations

import csv
import dataclasses
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from attnlens.cricket.match import Delivery, Facts, Innings, Match, Player, Wicket
from attnlens.cricket.readers import read_match, read_matches
from attnlens.cricket.simulate import (
    Coefficients,
    planted_balls,
    simulate_match,
    write_csv2,
    write_planted,
)
from attnlens.errors import BallNotFoundError, InputError

NOTHING_PLANTED = Coefficients(settled=0, bowler_hit=0, wicket_fallen=0, free_hit=0, chase=0)


@pytest.fixture(scope="module")
def matches() -> list[Match]:
    return [simulate_match(seed) for seed in range(80)]


def every_innings(matches: list[Match]) -> list[Innings]:
    return [innings for match in matches for innings in match.innings]


def test_the_same_seed_gives_the_same_match() -> None:
    assert simulate_match(5) == simulate_match(5)
    assert simulate_match(5).innings != simulate_match(6).innings


def test_matches_score_as_twenty_overs_do(matches: list[Match]) -> None:
    assert 150 <= mean(match.innings[0].total for match in matches) <= 175
    assert 3 <= mean(match.innings[0].wickets for match in matches) <= 8
    balls = [ball for innings in every_innings(matches) for ball in innings.deliveries]
    outcomes = Counter(ball.outcome for ball in balls)
    assert 0.02 < outcomes["wd"] / len(balls) < 0.06
    assert 0.002 < outcomes["nb"] / len(balls) < 0.02
    assert 0.08 < outcomes["4"] / len(balls) < 0.16
    assert {wicket.kind for ball in balls for wicket in ball.wickets} >= {
        "caught",
        "bowled",
        "lbw",
        "run out",
        "stumped",
        "caught and bowled",
    }
    chases_won = mean("wickets" in match.outcome.get("by", {}) for match in matches)
    assert 0.3 < chases_won < 0.7


def test_the_bowling_rules_hold(matches: list[Match]) -> None:
    for innings in every_innings(matches):
        bowlers: dict[int, set[Player]] = {}
        for ball in innings.deliveries:
            bowlers.setdefault(ball.over, set()).add(ball.bowler)
        assert all(len(names) == 1 for names in bowlers.values())
        by_over = [next(iter(bowlers[over])) for over in sorted(bowlers)]
        assert all(one != two for one, two in pairwise(by_over))
        assert max(Counter(by_over).values()) <= 4
        for over in range(len(by_over) - 1):
            legal = [ball for ball in innings.deliveries if ball.over == over and ball.is_legal]
            assert len(legal) == 6


def test_an_innings_ends_when_it_must(matches: list[Match]) -> None:
    for match in matches:
        first, second = match.innings
        assert second.target == first.total + 1
        for innings in match.innings:
            last = innings.deliveries[-1]
            before_last = last.score_before
            over = innings.wickets == 10 or innings.legal_balls == 120
            won = innings.target is not None and innings.total >= innings.target
            assert over or won
            assert last.wickets_before < 10
            assert innings.target is None or before_last < innings.target
        if second.total > first.total:
            expected = {"winner": second.batting_team, "by": {"wickets": 10 - second.wickets}}
        elif second.total < first.total:
            expected = {
                "winner": first.batting_team,
                "by": {"runs": first.total - second.total},
            }
        else:
            expected = {"result": "tie"}
        assert match.outcome == expected


def test_the_strike_turns_over(matches: list[Match]) -> None:
    turned = kept = 0
    for innings in every_innings(matches):
        for ball, following in pairwise(innings.deliveries):
            assert ball.batter != ball.non_striker
            gone = {wicket.player_out for wicket in ball.wickets}
            assert not gone & {following.batter, following.non_striker}
            if ball.wickets or ball.extras:
                continue
            swaps = (ball.runs_batter % 2) ^ (ball.over != following.over)
            pair = (ball.non_striker, ball.batter) if swaps else (ball.batter, ball.non_striker)
            assert (following.batter, following.non_striker) == pair
            turned += swaps
            kept += not swaps
    assert turned > 1000
    assert kept > 1000


def test_catches_name_a_fielder_of_the_other_side(matches: list[Match]) -> None:
    for innings in every_innings(matches):
        batted = {ball.batter.name for ball in innings.deliveries}
        for ball in innings.deliveries:
            for wicket in ball.wickets:
                assert bool(wicket.fielders) == (wicket.kind in ("caught", "run out", "stumped"))
                assert not batted & set(wicket.fielders)


@pytest.mark.parametrize(
    ("name", "outcomes", "size"),
    [
        ("wicket_fallen", {"0"}, 2.0),
        ("bowler_hit", {"4", "6"}, 1.0),
        ("free_hit", {"6"}, 2.0),
    ],
)
def test_a_coefficient_does_what_it_says(name: str, outcomes: set[str], size: float) -> None:
    changes = {**dataclasses.asdict(NOTHING_PLANTED), name: size}
    strong = Coefficients(**changes)
    matches = [simulate_match(seed, coefficients=strong) for seed in range(15)]
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for match in matches:
        for ball in match.innings[0].deliveries:
            planted = name in planted_balls(match, 1, ball.index, strong)
            hits[planted].append(ball.outcome in outcomes)
    assert mean(hits[True]) > 1.5 * mean(hits[False])


def test_planted_balls_are_the_causes() -> None:
    match = simulate_match(82)
    deliveries = match.innings[0].deliveries
    seen: set[str] = set()
    for ball in deliveries:
        causes = planted_balls(match, 1, ball.index)
        seen |= set(causes)
        past = {earlier.index: earlier for earlier in deliveries[: ball.index - 1]}
        assert all(past[index].batter == ball.batter for index in causes.get("settled", ()))
        assert all(
            past[index].boundary and past[index].bowler == ball.bowler
            for index in causes.get("bowler_hit", ())
        )
        assert causes.get("wicket_fallen", ()) == tuple(
            index for index, earlier in past.items() if index >= ball.index - 6 and earlier.wickets
        )
    assert seen >= {"settled", "bowler_hit", "wicket_fallen"}
    assert planted_balls(match, 1, 60, NOTHING_PLANTED) == {}
    with pytest.raises(BallNotFoundError):
        planted_balls(match, 3, 1)
    with pytest.raises(IndexError):
        planted_balls(match, 1, 0)


def test_a_written_match_reads_back_the_same(tmp_path: Path) -> None:
    for seed in (0, 82):
        match = simulate_match(seed)
        path = tmp_path / f"{seed}.csv"
        write_csv2(match, path)
        again = read_match(path)
        assert again.notes == (
            "penalty runs outside a delivery are not in this format: taken as 0",
        )
        assert dataclasses.replace(again, source=match.source, notes=()) == match
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "0.csv",
        "0_info.csv",
        "82.csv",
        "82_info.csv",
    ]


def test_the_sample_is_what_its_readme_says(tmp_path: Path, sample_match_path: Path) -> None:
    readme = sample_match_path.with_name("README.md").read_text(encoding="utf-8")
    assert "attnlens simulate --seed 82 --out sample_data/match.csv" in readme
    write_csv2(simulate_match(82), tmp_path / "match.csv")
    for name in ("match.csv", "match_info.csv"):
        assert (tmp_path / name).read_bytes() == sample_match_path.with_name(name).read_bytes()


def test_oddities_survive_writing(tmp_path: Path) -> None:
    match = simulate_match(1)
    first = match.innings[0]
    one, two = Player("A, B", "00000001"), Player('"Q"', "00000002")
    odd = Delivery(
        1, 0, "0.1", "0.1", True, one, two, Player("No Id"), 4, 0, 4, Facts(),
        (Wicket("caught", one, ("X, Y",)), Wicket("retired hurt", two)),
        "W", 0, 0, 0, non_boundary=True,
    )  # fmt: skip
    changed = dataclasses.replace(first, deliveries=(odd,))
    chase = dataclasses.replace(
        match.innings[1], deliveries=(dataclasses.replace(odd, wickets=(), outcome="4"),),
        target=5, target_balls=49,
    )  # fmt: skip
    whole = dataclasses.replace(match, innings=(changed, chase))
    write_csv2(whole, tmp_path / "odd.csv")
    again = read_match(tmp_path / "odd.csv")
    assert again.innings == whole.innings


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    match = simulate_match(1)
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_csv2(match, tmp_path / "none" / "m.csv")
    ball = match.innings[0].deliveries[0]
    wicket = Wicket("run out", ball.batter, ("a", "b", "c", "d"))
    innings = dataclasses.replace(
        match.innings[0], deliveries=(dataclasses.replace(ball, wickets=(wicket,)),)
    )
    with pytest.raises(InputError, match=r"innings 1, ball 0\.1: CSV2 has room for"):
        write_csv2(dataclasses.replace(match, innings=(innings,)), tmp_path / "m.csv")
    assert list(tmp_path.iterdir()) == []


def test_planted_balls_are_written_beside_the_match(tmp_path: Path) -> None:
    match = simulate_match(82)
    write_csv2(match, tmp_path / "m.csv")
    write_planted(match, tmp_path / "m.csv")
    with (tmp_path / "m_planted.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    told: dict[str, list[int]] = {}
    for row in rows:
        if (row["match_id"], row["innings"], row["index"]) == ("simulated-82", "2", "60"):
            told.setdefault(row["cause"], []).append(int(row["past_ball"]))
    expected = planted_balls(match, 2, 60)
    assert expected
    assert told == {cause: list(balls) for cause, balls in expected.items()}
    assert [found.match_id for found in read_matches(tmp_path)] == ["simulated-82"]
