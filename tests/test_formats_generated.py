"""Any match that can be bowled reads the same from JSON, CSV2 and original CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from match_files import delivery, document
from raw_counts import from_json

from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match
from attnlens.cricket.readers.writers import write_match

KINDS = ("wides", "noballs", "byes", "legbyes", "penalty")
REDS, BLUES = ("Ana", "Bea", "Eli"), ("Cem", "Dov", "Fay")
WICKETS = ("bowled", "run out", "retired hurt", "retired not out", "retired out", "stumped")


@st.composite
def balls(draw: st.DrawFn, side: tuple[str, ...], other: tuple[str, ...]) -> dict[str, Any]:
    """One delivery: any runs, up to two kinds of extras, perhaps a wicket."""
    batter, non_striker = draw(st.permutations(side))[:2]
    extras = draw(
        st.one_of(
            st.none(),
            st.dictionaries(st.sampled_from(KINDS), st.integers(1, 5), min_size=1, max_size=2),
        )
    )
    row = delivery(
        batter, non_striker, draw(st.sampled_from(other)), draw(st.integers(0, 7)), extras
    )
    if draw(st.integers(0, 5)) == 0:
        kind = draw(st.sampled_from(WICKETS))
        out = draw(st.sampled_from((batter, non_striker)))
        row["wickets"] = [{"kind": kind, "player_out": out}]
    return row


@st.composite
def matches(draw: st.DrawFn) -> dict[str, Any]:
    """Two innings of up to three overs, each of up to thirteen deliveries."""
    content = document()
    content["info"]["outcome"] = {"result": "no result"}
    content["info"]["registry"]["people"] = {
        name: f"{number:08x}" for number, name in enumerate(REDS + BLUES)
    }
    content["innings"] = [
        {
            "team": team,
            "overs": [
                {
                    "over": number,
                    "deliveries": draw(st.lists(balls(side, other), min_size=1, max_size=13)),
                }
                for number in range(draw(st.integers(1, 3)))
            ],
        }
        for team, side, other in (("Reds", REDS, BLUES), ("Blues", BLUES, REDS))
    ]
    return content


def original_of(match: Match) -> str:
    """The match as original CSV 1.8."""
    lines = ["version,1.8.0", f"info,balls_per_over,{match.balls_per_over}"]
    lines += [f"info,team,{team}" for team in match.teams]
    lines += [f"info,date,{match.date:%Y/%m/%d}", "info,match_type,T20", "info,overs,20"]
    lines += ["info,outcome,no result"]
    people = {
        player.name: player.id
        for innings in match.innings
        for ball in innings.deliveries
        for player in (ball.batter, ball.non_striker, ball.bowler)
    }
    lines += [f"info,registry,people,{name},{identity}" for name, identity in people.items()]
    for innings in match.innings:
        for ball in innings.deliveries:
            extras = [str(ball.extras.get(kind, "")) for kind in KINDS]
            wicket = ball.wickets[0] if ball.wickets else None
            fields = [
                "ball", innings.number, ball.label, innings.batting_team, ball.batter,
                ball.non_striker, ball.bowler, ball.runs_batter, ball.runs_extras, *extras,
                wicket.kind if wicket else '""', wicket.player_out if wicket else '""',
                ball.actual_delivery, "", "", "", "",
            ]  # fmt: skip
            lines.append(",".join(map(str, fields)))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=matches())
def test_three_formats_say_the_same(folder: Path, content: dict[str, Any]) -> None:
    path = folder / "g.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    match = read_match(path)
    counts = [
        (innings.batting_team, innings.total, innings.wickets, innings.legal_balls)
        for innings in match.innings
    ]
    assert counts == from_json(content)
    for innings in match.innings:
        labels = [ball.label for ball in innings.deliveries]
        assert len(set(labels)) == len(labels)
        score = legal = wickets = 0
        for ball in innings.deliveries:
            state = (ball.score_before, ball.legal_balls_before, ball.wickets_before)
            assert state == (score, legal, wickets)
            score += ball.runs_total
            legal += ball.is_legal
            wickets += sum(wicket.counts for wicket in ball.wickets)
        assert score == innings.total
    write_match(match, folder / "g2.csv")
    (folder / "g3.csv").write_text(original_of(match), encoding="utf-8")
    for other in (folder / "g2.csv", folder / "g3.csv"):
        again = read_match(other)
        assert [innings.deliveries for innings in again.innings] == [
            innings.deliveries for innings in match.innings
        ]
        assert again.outcome == match.outcome
        assert [innings.target for innings in again.innings] == [
            innings.target for innings in match.innings
        ]
