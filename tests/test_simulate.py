"""Simulated matches look like cricket, obey its rules, and tell their causes truly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from math import exp, log
from pathlib import Path
from statistics import fmean, mean, pstdev

import pytest

from attnlens.cricket.lab.causes import PLANTED
from attnlens.cricket.lab.files import save_simulated
from attnlens.cricket.lab.league import (
    DIRECTIONS,
    STRENGTHS,
)
from attnlens.cricket.lab.simulate import Simulated, simulate, simulate_match
from attnlens.cricket.match.match import Delivery, Innings, Match
from attnlens.cricket.match.outcomes import OUTCOMES


@pytest.fixture(scope="module")
def made() -> list[Simulated]:
    return [simulate(seed) for seed in range(150)]


@pytest.fixture(scope="module")
def matches(made: list[Simulated]) -> list[Match]:
    return [one.match for one in made if len(one.match.innings) == 2]


def every_innings(matches: list[Match]) -> list[Innings]:
    return [innings for match in matches for innings in match.innings]


def test_the_same_seed_gives_the_same_match() -> None:
    assert simulate_match(5) == simulate_match(5)
    assert simulate_match(5).innings != simulate_match(6).innings


def test_matches_score_as_real_ones_do(matches: list[Match]) -> None:
    # Bounds are the real figures of docs/predictor.md, and four standard errors of 150 matches.
    totals = [match.innings[0].total for match in matches]
    assert 136 <= mean(totals) <= 164
    assert 31 <= pstdev(totals) <= 50
    assert 6.1 <= mean(match.innings[0].wickets for match in matches) <= 7.7
    balls = [ball for innings in every_innings(matches) for ball in innings.deliveries]
    outcomes = Counter(ball.outcome for ball in balls)
    real = {"0": 0.327, "1": 0.347, "2": 0.070, "4": 0.095, "6": 0.041, "W": 0.056, "wd": 0.036}
    for name, share in real.items():
        assert outcomes[name] / len(balls) == pytest.approx(share, rel=0.15)
    assert {wicket.kind for ball in balls for wicket in ball.wickets} >= {
        "caught",
        "bowled",
        "lbw",
        "run out",
        "stumped",
        "caught and bowled",
    }
    chases_won = mean("wickets" in match.outcome.get("by", {}) for match in matches)
    assert 0.34 < chases_won < 0.7


def test_outcomes_come_as_often_as_their_probabilities_say(made: list[Simulated]) -> None:
    truth = [ball for one in made for ball in one.truth]
    balls = [ball for one in made for innings in one.match.innings for ball in innings.deliveries]
    assert len(truth) == len(balls) > 30_000
    for position, name in enumerate(OUTCOMES):
        shares = [ball.probabilities[position] for ball in truth]
        expected, variance = sum(shares), sum(share * (1 - share) for share in shares)
        found = sum(ball.outcome == name for ball in balls)
        assert abs(found - expected) < 4 * variance**0.5 + 1
    surprise = [-log(ball.probabilities[OUTCOMES.index(was.outcome)]) for ball, was in zip(
        truth, balls, strict=True)]  # fmt: skip
    entropy = [-sum(p * log(p) for p in ball.probabilities if p) for ball in truth]
    assert fmean(surprise) == pytest.approx(fmean(entropy), abs=0.02)


def test_without_causes_no_ball_depends_on_another() -> None:
    one = simulate(7, strength=0)
    first = [ball for ball in one.truth if ball.innings == 1]
    assert all(not ball.balls for ball in first)
    balls = one.match.innings[0].deliveries
    # Who bats, who bowls, the over and the wickets down are then all there is.
    known: dict[tuple[int, str, str, int], tuple[float, ...]] = {}
    for true, ball in zip(first, balls, strict=True):
        key = (ball.over, ball.batter.name, ball.bowler.name, ball.wickets_before)
        assert known.setdefault(key, true.probabilities) == true.probabilities
    assert len(known) < len(balls)


def test_the_truth_names_the_causes_and_what_they_do() -> None:
    seen: set[str] = set()
    for seed in range(6):
        made = simulate(seed, strength=2)
        balls = [(side, ball) for side in made.match.innings for ball in side.deliveries]
        for true, (side, ball) in zip(made.truth, balls, strict=True):
            expected = causes_of(side.deliveries[: ball.index - 1], ball)
            assert true.balls == {
                cause: tuple(earlier.index for earlier in those)
                for cause, those in expected.items()
                if those and STRENGTHS[cause]
            }
            seen |= set(true.balls)
            for cause, amount in true.log_odds.items():
                without = [
                    share * exp(-amount * DIRECTIONS[cause].get(name, 0.0))
                    for name, share in zip(OUTCOMES, true.probabilities, strict=True)
                ]
                pairs = zip(true.probabilities, without, strict=True)
                nats = sum(p * log(p / (q / sum(without))) for p, q in pairs)
                assert true.nats[cause] == pytest.approx(nats, abs=1e-9)
            if "free_hit" in true.balls:
                assert all(wicket.kind == "run out" for wicket in ball.wickets)
    assert seen == {cause for cause in PLANTED if STRENGTHS[cause]}


def causes_of(past: Sequence[Delivery], ball: Delivery) -> dict[str, list[Delivery]]:
    """Each cause by looking back over the whole innings."""
    faced = [e for e in past if e.batter == ball.batter and "wides" not in e.extras]
    spell = [e for e in past if e.bowler == ball.bowler][-6:]
    dots = list(takewhile(lambda earlier: earlier.outcome == "0", reversed(past)))[::-1]
    since = [e for e in past if "wides" not in e.extras or "noballs" in e.extras][-1:]
    return {
        "settled": faced,
        "batter_hit": [e for e in faced[-6:] if e.boundary][-3:],
        "bowler_hit": [e for e in spell if e.boundary][-3:],
        "bowler_wide": [e for e in spell if "wides" in e.extras][-2:],
        "dots": dots[-6:],
        "wicket_fallen": [e for e in past[-6:] if e.wickets],
        "free_hit": [e for e in since if "noballs" in e.extras],
    }


def test_the_sample_is_what_its_readme_says(tmp_path: Path, sample_match_path: Path) -> None:
    readme = sample_match_path.with_name("README.md").read_text(encoding="utf-8")
    assert "attnlens simulate --seed 82 --out sample_data/match.csv" in readme
    save_simulated(tmp_path / "match.csv", [82])
    for name in ("match.csv", "match_info.csv"):
        assert (tmp_path / name).read_bytes() == sample_match_path.with_name(name).read_bytes()
