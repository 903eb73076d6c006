"""Overs as tokens: every delivery has one, and what a token says is true of the delivery."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.match import Delivery, Facts
from attnlens.cricket.match.outcomes import classify
from attnlens.cricket.over.features import TOKENS, legal, overs_of, token_of
from attnlens.cricket.readers import read_matches

EXTRAS = ("wides", "noballs", "byes", "legbyes", "penalty")
BALL = simulate_match(1).innings[0].deliveries[0]


def ball(bat: int = 0, *, wicket: bool = False, **extras: int) -> Delivery:
    kinds = {name: extras.get(name, 0) for name in ("wides", "noballs", "byes", "legbyes")}
    return BALL._replace(
        runs_batter=bat,
        runs_extras=sum(extras.values()),
        runs_total=bat + sum(extras.values()),
        extras=Facts(extras),
        outcome=classify(runs_batter=bat, counted_wicket=wicket, **kinds),
        is_legal="wides" not in extras and "noballs" not in extras,
    )


RULES = {
    "0": [ball(penalty=5)],
    "6": [ball(6), ball(7)],
    # Bowled; a run out going for the second; stumped off a wide; run out off a no-ball.
    "W": [
        *(ball(wicket=True), ball(1, wicket=True), ball(wides=1, wicket=True)),
        ball(2, noballs=1, wicket=True),
    ],
    "wd": [ball(wides=1), ball(wides=1, penalty=5)],
    "wd+4": [ball(wides=5), ball(wides=7)],
    "nb": [ball(noballs=1)],
    "nb+1": [ball(noballs=1, legbyes=1)],
    "nb+2": [ball(1, noballs=1, byes=1)],
    # Older files write byes off a no-ball as five no-balls.
    "nb+4": [ball(4, noballs=1), ball(noballs=1, byes=4), ball(noballs=5)],
    "nb+6": [ball(5, noballs=1)],
    "lb": [ball(legbyes=4)],
    "b": [ball(byes=1)],
}


def test_rules_where_several_things_happen() -> None:
    assert {token: [*map(token_of, balls)] for token, balls in RULES.items()} == {
        token: [token] * len(balls) for token, balls in RULES.items()
    }


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
    archive, folder = shared_data / "t20s_male_json.zip", shared_data / "formats" / "json"
    sources = [(archive, 12), *((path, 1) for path in sorted(folder.iterdir()))]
    seen: Counter[str] = Counter()
    for source, count in sources:
        for match in itertools.islice(read_matches(source, on_error="skip"), count):
            for side in match.innings:
                assert [b for balls in overs_of(side).values() for b in balls] == [*side.deliveries]
                for one in side.deliveries:
                    token = token_of(one)
                    seen[token] += 1
                    assert token in TOKENS[3:]
                    assert (token == "W") == (one.outcome == "W")
                    assert not token.isdigit() or token == "6" or one.runs_batter == int(token)
                    assert token in ("W", "0") or legal(token) == one.is_legal
    assert {"0", "1", "4", "6", "W", "wd", "nb", "lb", "b", "wd+4"} <= set(seen)
