"""Overs as tokens: every delivery has one, and what a token says is true of the delivery."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.match import Delivery, Facts, classify
from attnlens.cricket.over.features import TOKENS, legal, overs_of, token_of
from attnlens.cricket.readers import read_matches

EXTRAS = ("wides", "noballs", "byes", "legbyes", "penalty")
BALL = simulate_match(1).innings[0].deliveries[0]


def ball(bat: int = 0, *, wicket: bool = False, **extras: int) -> Delivery:
    return BALL._replace(
        runs_batter=bat,
        runs_extras=sum(extras.values()),
        runs_total=bat + sum(extras.values()),
        extras=Facts(extras),
        outcome=classify(bat, extras, counted_wicket=wicket),
        is_legal="wides" not in extras and "noballs" not in extras,
    )


@pytest.mark.parametrize(
    ("delivery", "token"),
    [
        (ball(6), "6"),
        (ball(7), "6"),
        (ball(wicket=True), "W"),
        (ball(1, wicket=True), "W"),  # a run out going for the second
        (ball(wides=1, wicket=True), "W"),  # stumped off a wide
        (ball(2, noballs=1, wicket=True), "W"),
        (ball(wides=1), "wd"),
        (ball(wides=5), "wd+4"),
        (ball(wides=7), "wd+4"),
        (ball(wides=1, penalty=5), "wd"),
        (ball(noballs=1), "nb"),
        (ball(4, noballs=1), "nb+4"),
        (ball(5, noballs=1), "nb+6"),
        (ball(noballs=1, legbyes=1), "nb+1"),
        (ball(noballs=1, byes=4), "nb+4"),
        (ball(noballs=5), "nb+4"),  # older files write byes off a no-ball so
        (ball(1, noballs=1, byes=1), "nb+2"),
        (ball(legbyes=4), "lb"),
        (ball(byes=1), "b"),
        (ball(penalty=5), "0"),
    ],
)
def test_rules_where_several_things_happen(delivery: Delivery, token: str) -> None:
    assert token_of(delivery) == token


@given(
    bat=st.integers(0, 9),
    wicket=st.booleans(),
    extras=st.dictionaries(st.sampled_from(EXTRAS), st.integers(1, 9)),
)
def test_any_delivery_has_a_token_that_agrees_with_its_outcome(
    bat: int, wicket: bool, extras: dict[str, int]
) -> None:
    delivery = ball(bat, wicket=wicket, **extras)
    token = token_of(delivery)
    assert token in TOKENS[3:]
    kind = {"l": "bye", "b": "bye", "w": "wd", "n": "nb"}.get(token[0], token)
    assert kind == delivery.outcome
    if not wicket:
        assert legal(token) == delivery.is_legal


def test_every_delivery_of_real_matches_has_a_token(shared_data: Path) -> None:
    """Some of every competition there are samples of, and some internationals."""
    folders = sorted((shared_data / "formats" / "json").iterdir())
    internationals = read_matches(shared_data / "t20s_male_json.zip", on_error="skip")
    matches = itertools.chain(
        itertools.islice(internationals, 12),
        *(itertools.islice(read_matches(folder, on_error="skip"), 1) for folder in folders),
    )
    seen: Counter[str] = Counter()
    for match in matches:
        for side in match.innings:
            overs = overs_of(side)
            assert [b for balls in overs.values() for b in balls] == list(side.deliveries)
            for balls in overs.values():
                tokens = [token_of(one) for one in balls]
                seen.update(tokens)
                for token, one in zip(tokens, balls, strict=True):
                    assert token in TOKENS[3:]
                    assert (token == "W") == (one.outcome == "W")
                    if token.isdigit() and token != "6":
                        assert one.runs_batter == int(token)
                    if token not in ("W", "0"):
                        assert legal(token) == one.is_legal
    assert {"0", "1", "4", "6", "W", "wd", "nb", "lb", "b", "wd+4"} <= set(seen)
