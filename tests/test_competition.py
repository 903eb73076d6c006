"""Which competition a match is of, and how its level comes to be known."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path

import numpy as np

from attnlens.cricket.lab.fit import fit_base, rate_and_encode
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.competition import (
    INTERNATIONALS,
    KINDS,
    competition_of,
    era_of,
    kind_of_cricket,
    table_of,
)
from attnlens.cricket.match.match import OUTCOMES, Facts, Match
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.tensors import encode_innings
from attnlens.cricket.predictor.trained import identity_of
from attnlens.cricket.readers import read_match, read_matches

MATCH = dataclasses.replace(simulate_match(9), dates=(datetime.date(2024, 2, 1),))


def played(event: str | None, **changes: object) -> Match:
    """The match, as one of another competition."""
    facts = Facts() if event is None else Facts(name=event)
    return dataclasses.replace(MATCH, event=facts, **changes)  # type: ignore[arg-type]


def test_internationals_are_one_competition_and_a_league_is_itself() -> None:
    tour, cup = (
        played(name, team_type=kind)
        for name, kind in (("India tour of Nepal", None), ("Asia Cup", "international"))
    )
    assert competition_of(tour) == competition_of(cup) == INTERNATIONALS
    league = played("Big Bash League", team_type="club")
    assert competition_of(league) == "Big Bash League"
    assert competition_of(played("Some Cup", gender="female")) == "Some Cup (women)"
    assert competition_of(played(None)) == ""


def test_kinds_of_cricket() -> None:
    flags = {
        kind_of_cricket(played("Asia Cup", team_type="international", gender="male")),
        kind_of_cricket(played("A League", gender="female", balls_per_over=5)),
    }
    assert flags == {(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)}
    told = [
        KINDS[table_of(played(name, gender=gender, team_type=kind))]
        for gender in ("male", "female")
        for name, kind in (("A tour of B", "international"), ("A League", "club"))
    ]
    assert told == list(KINDS)
    assert era_of(played("X", gender=None)) == era_of(played("X", gender="male"))
    assert era_of(played("X", gender="female")) != era_of(MATCH)


def test_files_tell_whether_clubs_play(shared_data: Path) -> None:
    formats = shared_data / "formats"
    assert read_match(formats / "csv2_27col/t20i/1223952.csv").team_type == "international"
    some = next(iter(read_matches(formats / "json" / "t20i_women")))
    assert some.team_type == "international"
    assert competition_of(some) == f"{INTERNATIONALS} (women)"


def test_a_double_header_of_men_and_women_is_two_matches() -> None:
    men, women = (dataclasses.replace(MATCH, gender=gender) for gender in ("male", "female"))
    assert identity_of(men) != identity_of(women)
    assert identity_of(men) == identity_of(dataclasses.replace(MATCH, gender=None))


def of_league(name: str, day: int, seed: int) -> Match:
    """A match of a league, ``day`` days into 2024."""
    dates = (datetime.date(2024, 1, 1 + day),)
    match_id = f"{name} {day}"
    return dataclasses.replace(
        simulate_match(seed), match_id=match_id, event=Facts(name=name), dates=dates
    )


def sixes(match: Match) -> Match:
    """The match in which every dot ball was a six."""

    def hit(innings_number: int) -> tuple[object, ...]:
        return tuple(
            ball._replace(outcome="6") if ball.outcome == "0" else ball
            for ball in match.innings[innings_number].deliveries
        )

    innings = tuple(
        dataclasses.replace(side, deliveries=hit(place)) for place, side in enumerate(match.innings)
    )
    return dataclasses.replace(match, innings=innings)


def test_a_competition_has_a_level_of_its_own() -> None:
    wild = [sixes(of_league("Wild League", day, day)) for day in range(6)]
    calm = [of_league("Calm League", day, 10 + day) for day in range(6)]
    base, ratings = fit_base(calm, seed=5), Ratings()
    rate_and_encode([*wild, *calm], base, ratings)
    six = OUTCOMES.index("6")
    levels = {name: ratings.of("competition", name)[six] for name in ("Wild League", "Calm League")}
    assert levels["Wild League"] > levels["Calm League"] + 0.1
    assert not ratings.of("competition", "Unheard League").any()

    def expected(event: str) -> float:
        match = played(event, venue="Nowhere", teams=("A", "B"))
        arrays = encode_innings(match, match.innings[0], ratings, base)
        assert np.isfinite(arrays.nodes["match_importance"]).all()
        return float(arrays.ratings["era"][:, six].mean())

    assert expected("Wild League") > expected("Calm League")
    assert expected("Unheard League") < expected("Wild League")
