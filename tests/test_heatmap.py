"""Heat maps in the fixed format, worked out by hand."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.explain.explain_ball import outcome_points, prediction, top_change
from attnlens.cricket.explain.reading import ScaleAttention, aggregate, heat_map, note_on, shares
from attnlens.cricket.match.match import OUTCOMES, Outcome
from attnlens.cricket.predictor.scales import SHARES, WindowBall
from attnlens.render.numbers import rounded


def ball(index: int, *relations: str, outcome: Outcome = "0", over: int = 0) -> WindowBall:
    runs = int(outcome) if outcome.isdigit() else 0
    return WindowBall(
        index=index,
        label=f"{over}.{index}",
        over=over,
        batter="Ana",
        bowler="Cem",
        outcome=outcome,
        runs=runs,
        runs_batter=runs,
        boundary=outcome in ("4", "6"),
        relations=frozenset(relations),
    )


BALLS = (
    ball(41, outcome="0"),
    ball(42, "same_bowler", "boundary", outcome="4"),
    ball(43, "same_batsman", "wicket_adjacent", outcome="W"),
    ball(44, "same_bowler", "same_batsman", "same_matchup", outcome="1"),
    ball(45, "boundary", outcome="6"),
    ball(46, "same_over", "same_bowler", outcome="0", over=7),
)
ROWS = (
    (0.05, 0.10, 0.10, 0.10, 0.25, 0.30),
    (0.30, 0.05, 0.10, 0.10, 0.25, 0.00),
    (0.02, 0.20, 0.20, 0.20, 0.08, 0.20),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)


def attention(**changes: Any) -> ScaleAttention:
    whole = ScaleAttention(
        scale="medium",
        current=47,
        balls=BALLS,
        rows=ROWS,
        own=(0.10, 0.20, 0.10, 1.0),
        carries=(0.25,) * 9,
        sees=(None,) * 9,
        patterns=("recency", "same_bowler", "same_batsman", None),
        earned=("recency", "unspecialised", "unspecialised", "boundary"),
        bias_shares=(0.5, None, 1.0, None),
    )
    return dataclasses.replace(whole, **changes)


EFFECTS = {one.index: one.index / 1e9 for one in BALLS}


def drawn(**changes: Any) -> dict[str, Any]:
    """The heat map of a scale as plain data, read back as its published type."""
    effects = changes.pop("effects", None)
    found = heat_map(attention(**changes), bowler="Cem", batter="Ana", effects=effects)
    data = found.model_dump(mode="json")
    assert type(found).model_validate(data) == found
    return data


def test_the_document_of_a_scale(snapshot: SnapshotAssertion) -> None:
    # Ball 46 is the bowler's too, and has no weight; 41 is not his.
    assert drawn(effects=EFFECTS) == snapshot
    heads = drawn()["attention_by_head"]
    assert heads["head_1_same_bowler"]["effects"] == [None, None, None]
    assert list(drawn())[:4] == ["scale", "current_ball", "sequence_range", "question"]


def test_a_ball_counts_once_under_the_first_that_fits() -> None:
    by_ball = [sum(row[place] for row in ROWS) for place in range(6)]
    whole = sum(by_ball)
    assert aggregate(attention()).model_dump() == pytest.approx(
        {
            "last_over": by_ball[5] / whole,
            "same_bowler": (by_ball[1] + by_ball[3]) / whole,
            "same_batsman": by_ball[2] / whole,
            "boundaries": by_ball[4] / whole,
            "other": by_ball[0] / whole,
        },
        abs=1e-6,
    )


def test_shares_count_every_relation_on_its_own() -> None:
    table = {row.relation: row for row in shares(attention())}
    assert tuple(table) == SHARES
    whole = sum(map(sum, ROWS))
    share = sum(row[1] + row[3] + row[5] for row in ROWS) / whole
    bowler, none = table["same_bowler"], table["over_boundary"]
    assert (bowler.share, bowler.uniform) == (pytest.approx(share, abs=1e-6), 0.5)
    assert bowler.ratio == pytest.approx(2 * share, abs=1e-6)
    assert (none.share, none.uniform, none.ratio) == (0.0, 0.0, None)


def test_overs_are_listed_beside_balls_on_the_long_scale(snapshot: SnapshotAssertion) -> None:
    balls = tuple(ball(index, over=index // 6) for index in range(1, 18))
    weights = ({0: 0.4, 1: 0.2, 2: 0.2}, {0: 0.0, 1: 0.6, 2: 0.1})
    sizes = {over: sum(one.over == over for one in balls) for over in range(3)}
    rows = [[told[one.over] / sizes[one.over] for one in balls] for told in weights]
    assert drawn(
        scale="long",
        balls=balls,
        rows=rows,
        own=(0.2, 0.3),
        patterns=("recency", "same_bowler"),
        earned=("recency", "recency"),
        bias_shares=(None, None),
        over_weights=weights,
    ) == snapshot(name="long scale")


@pytest.mark.parametrize(
    ("balls", "note"),
    [
        ([ball(1, outcome="4"), ball(2, outcome="6")], "all were boundaries"),
        ([ball(1), ball(2)], "all were dot balls"),
        ([ball(1, outcome="1"), ball(2)], None),
        ([ball(1, outcome="W"), ball(2)], None),
        ([ball(1, "same_over", outcome="1"), ball(2, "same_over")], "all in this over"),
        (
            [ball(1, "wicket_adjacent", outcome="W"), ball(2, "wicket_adjacent", outcome="1")],
            "each a wicket or next to one",
        ),
        ([ball(1, outcome="4")], None),
        ([], None),
    ],
)
def test_a_note_tells_what_all_listed_balls_share(
    balls: list[WindowBall], note: str | None
) -> None:
    assert note_on(balls) == note


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(0, 1), min_size=6, max_size=6).filter(lambda row: sum(row) > 1e-3),
        min_size=1,
        max_size=6,
    )
)
def test_the_parts_sum_to_one_and_the_lists_are_ranked(rows: list[list[float]]) -> None:
    scaled = [[weight / (sum(row) * 1.25) for weight in row] for row in rows]
    found = drawn(
        rows=scaled,
        own=[0.2] * len(rows),
        patterns=[None] * len(rows),
        earned=["unspecialised"] * len(rows),
        bias_shares=[None] * len(rows),
    )
    assert math.isclose(sum(found["aggregate_attention"].values()), 1, abs_tol=3e-6)
    for head, row in zip(found["attention_by_head"].values(), scaled, strict=True):
        assert head["weights"] == sorted(head["weights"], reverse=True)
        assert (
            head["weights"]
            == sorted((rounded(one) for one in row), reverse=True)[: len(head["weights"])]
        )
        assert len(head["top_balls"]) == min(4, sum(rounded(one) > 0 for one in row))
        assert head["past_attention"] == pytest.approx(0.8, abs=1e-6)


HALF = np.array([0.5, *[0.05] * 10])
QUARTER = np.array([0.25, 0.05, 0.05, 0.05, 0.3, *[0.05] * 6])


def test_a_prediction_beside_its_baseline(snapshot: SnapshotAssertion) -> None:
    bowled = prediction(QUARTER, HALF, "0", usual=HALF, subject="4")
    coming = prediction(QUARTER, HALF, None, "0", usual=HALF, subject="0")
    assert tuple(row.outcome for row in bowled.outcomes) == OUTCOMES
    assert [bowled.model_dump(), coming.model_dump()] == snapshot


def test_changes_are_in_points_and_name_the_outcome_that_moves_most(
    snapshot: SnapshotAssertion,
) -> None:
    changes = (top_change(HALF, QUARTER), top_change(HALF, QUARTER, (4, 6)))
    assert [change.model_dump() for change in changes] == snapshot
    points = [part.points for part in outcome_points(np.array([1, -1.0000004, -1e-12, *[0] * 8]))]
    assert points[:3] == [1.0, -1.0, 0.0]
    assert math.copysign(1, points[2]) == 1
