"""Simulated matches look like cricket, obey its rules, and are written to files as such."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from itertools import count, islice, takewhile
from math import log
from pathlib import Path
from statistics import mean, pstdev

import pytest
from command_line import Here
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.lab.league import CAUSES, PAST_BALLS, RATES, OutcomeProbabilities, Past
from attnlens.cricket.lab.simulator import (
    Simulated,
    save_simulated,
    simulate,
    simulate_match,
    texts_of,
)
from attnlens.cricket.match.match import OUTCOMES, Delivery, Match
from attnlens.cricket.readers import read_match, read_matches
from attnlens.errors import InputError

PENALTIES = (
    "this format does not contain penalty runs awarded outside a delivery, so they count as 0"
)


def as_read(match: Match, source: str = "", notes: tuple[str, ...] = ()) -> Match:
    return dataclasses.replace(match, source=source, notes=notes)


def json_of(made: Simulated) -> str:
    return texts_of(made.match, "json", "m", elevens=made.elevens)["m.json"]


@pytest.fixture(scope="module")
def matches() -> list[Match]:
    played = map(simulate_match, range(150))
    return [match for match in played if len(match.innings) == 2]


def deliveries(matches: list[Match]) -> list[Delivery]:
    return [ball for match in matches for side in match.innings for ball in side.deliveries]


def test_matches_score_as_real_ones_do(matches: list[Match]) -> None:
    # Bounds are figures of real matches, and four standard errors of 150 matches.
    totals = [match.innings[0].total for match in matches]
    assert 136 <= mean(totals) <= 164
    assert 31 <= pstdev(totals) <= 50
    assert 6.1 <= mean(match.innings[0].wickets for match in matches) <= 7.7
    balls = deliveries(matches)
    outcomes = Counter(ball.outcome for ball in balls)
    real = {"0": 0.327, "1": 0.347, "2": 0.070, "4": 0.095, "6": 0.041, "W": 0.056, "wd": 0.036}
    for name, share in real.items():
        assert outcomes[name] / len(balls) == pytest.approx(share, rel=0.15)
    kinds = {"caught", "bowled", "lbw", "run out", "stumped", "caught and bowled"}
    assert {wicket.kind for ball in balls for wicket in ball.wickets} >= kinds
    chases_won = mean("wickets" in match.outcome.get("by", {}) for match in matches)
    assert 0.34 < chases_won < 0.7


def test_causes_are_counted_from_the_past_balls() -> None:
    counted: set[str] = set()
    for seed in range(6):
        for side in simulate_match(seed).innings:
            past = Past(side.target)
            for number, ball in enumerate(side.deliveries):
                units = past.units(ball.batter, ball.bowler)
                expected = causes_of(side.deliveries[:number], ball)
                assert {cause: units[cause] for cause in expected} == expected
                counted |= {cause for cause, count in expected.items() if count}
                if units["free_hit"]:
                    assert all(wicket.kind == "run out" for wicket in ball.wickets)
                past.add(ball)
    assert counted == set(PAST_BALLS)


def test_a_cause_moves_the_outcomes_of_its_direction() -> None:
    nothing = dict.fromkeys(CAUSES, 0.0)
    alike = (0.0,) * len(OUTCOMES)
    probabilities = OutcomeProbabilities(True, alike, chasing=True)
    base = probabilities.of(3, alike, alike, nothing)
    for cause, strength in RATES["strengths"].items():
        moved = probabilities.of(3, alike, alike, {**nothing, cause: 1.0})
        log_odds = [log(p / q) - log(moved[0] / base[0]) for p, q in zip(moved, base, strict=True)]
        dot = RATES["directions"][cause].get("0", 0.0)
        direction = [RATES["directions"][cause].get(name, 0.0) - dot for name in OUTCOMES]
        assert log_odds == pytest.approx([strength * part for part in direction], abs=1e-9)
    ruled = OutcomeProbabilities(False, alike, chasing=True)
    past_balls = {**nothing, **dict.fromkeys(PAST_BALLS, 1.0)}
    assert ruled.of(3, alike, alike, past_balls) == ruled.of(3, alike, alike, nothing)


def causes_of(past: Sequence[Delivery], ball: Delivery) -> dict[str, float]:
    """Units of each cause by looking back over the whole innings."""
    faced = [e for e in past if e.batter == ball.batter and "wides" not in e.extras]
    spell = [e for e in past if e.bowler == ball.bowler][-6:]
    dots = list(takewhile(lambda earlier: earlier.outcome == "0", reversed(past)))
    since = [e for e in past if "wides" not in e.extras or "noballs" in e.extras][-1:]
    return {
        "settled": min(len(faced) / 20, 1.0),
        "batter_hit": min(sum(e.boundary for e in faced[-6:]), 3),
        "bowler_hit": min(sum(e.boundary for e in spell), 3),
        "bowler_wide": min(sum("wides" in e.extras for e in spell), 2),
        "dots": min(len(dots), 6),
        "wicket_fallen": any(e.wickets for e in past[-6:]),
        "free_hit": any("noballs" in e.extras for e in since),
    }


def test_the_sample_is_what_its_readme_says(tmp_path: Path, sample_match_path: Path) -> None:
    readme = sample_match_path.with_name("README.md").read_text(encoding="utf-8")
    assert "attnlens lab simulate --seed 252 --out sample_data/match.csv" in readme
    save_simulated(tmp_path / "match.csv", [252])
    for name in ("match.csv", "match_info.csv"):
        assert (tmp_path / name).read_bytes() == sample_match_path.with_name(name).read_bytes()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**40))
def test_any_match_keeps_the_rules_of_both_formats_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    made = simulate(seed)
    folder = tmp_path_factory.mktemp("match")
    name = made.match.match_id
    for form in ("csv2", "json"):
        for file, text in texts_of(made.match, form, name, elevens=made.elevens).items():
            (folder / file).write_text(text, encoding="utf-8")
    from_json, from_csv = (read_match(folder / f"{name}.{end}") for end in ("json", "csv"))
    assert from_json.notes == ()
    assert from_csv.notes == (PENALTIES,)
    assert as_read(from_json) == as_read(from_csv) == as_read(made.match)


def test_a_tie_goes_to_super_overs_in_both_formats(tmp_path: Path) -> None:
    ties = list(islice((seed for seed in count() if len(simulate_match(seed).innings) > 2), 3))
    for seed in ties:
        made = simulate(seed)
        super_overs = made.match.innings[2:]
        assert all(innings.super_over and innings.legal_balls <= 6 for innings in super_overs)
        assert super_overs[0].batting_team == made.match.innings[1].batting_team
        (tmp_path / "m.json").write_text(json_of(made), encoding="utf-8")
        assert read_match(tmp_path / "m.json").notes == ()


def test_many_matches_in_a_zip(tmp_path: Path) -> None:
    seeds = range(5, 9)
    for form in ("csv2", "json"):
        save_simulated(tmp_path / f"{form}.zip", seeds, file_format=form)
        found = [as_read(match) for match in read_matches(tmp_path / f"{form}.zip")]
        assert found == [as_read(simulate_match(seed)) for seed in seeds]
    save_simulated(tmp_path / "again.zip", seeds)
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "csv2.zip").read_bytes()


def test_bad_values_are_one_clear_line(attnlens_here: Here, snapshot: SnapshotAssertion) -> None:
    Path("full").mkdir()
    Path("full/note").write_text("x", encoding="utf-8")
    bad = ("m.txt", "full", "m.csv --matches 2", "m.csv --format json", "none/m.csv", "")
    values = [words.split(" ") for words in (*bad, "m.csv --matches 0")]
    assert [attnlens_here.refused("lab", "simulate", "--out", *v) for v in values] == snapshot
    assert [path.name for path in Path().iterdir()] == ["full"]


def test_no_file_is_left_when_one_cannot_be_written(tmp_path: Path) -> None:
    for name in ("m.csv", "m.zip"):
        (tmp_path / name).mkdir()
        with pytest.raises(InputError, match="is a directory"):
            save_simulated(tmp_path / name, [1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.csv", "m.zip"]
