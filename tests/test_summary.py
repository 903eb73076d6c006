"""The summary: the reference sentence, its edges, and no heat map that breaks it."""

from __future__ import annotations

import json
from typing import Any

import explanation_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words.summary import summarize_temporal_attention
from attnlens.errors import InputError

REFERENCE = json.loads("""
{"temporal_attention": {
  "scale": "medium", "current_ball": 47, "sequence_range": [12, 47],
  "attention_by_head": {
    "head_0_recency":      {"pattern": "recency", "top_balls": [46,45,44,43],
                            "weights": [0.25,0.18,0.12,0.08]},
    "head_1_same_bowler":  {"pattern": "same_bowler", "bowler": "J Bumrah",
                            "top_balls": [43,37,31,25], "weights": [0.22,0.18,0.15,0.10],
                            "outcomes": ["4","1","4","0"]},
    "head_2_same_batsman": {"pattern": "same_batsman", "batsman": "V Kohli",
                            "top_balls": [46,44,42,40], "weights": [0.20,0.15,0.12,0.10],
                            "outcomes": ["1","2","0","4"]},
    "head_3_boundary_context": {"pattern": "learned", "top_balls": [42,38,35],
                            "weights": [0.15,0.12,0.10], "note": "all were boundaries"}},
  "aggregate_attention": {"last_over": 0.35, "same_bowler": 0.25, "same_batsman": 0.20,
                          "boundaries": 0.12, "other": 0.08}}}
""")
LAST_FOUR = {46: "1", 45: "0", 44: "2", 43: "4"}
HISTORY = {index: {"outcome": outcome} for index, outcome in LAST_FOUR.items()}
FOCUS = "Strong focus on current over (35%)"
BOWLER = "Attended to J Bumrah's previous balls: 2/4 were boundaries"
MOMENTUM = "Recent momentum: 7 runs in last 4 attended balls"


def reference() -> dict[str, Any]:
    return json.loads(json.dumps(REFERENCE["temporal_attention"]))


def test_the_reference_heat_map_gives_the_reference_sentence() -> None:
    expected = f"{FOCUS} | {BOWLER} | {MOMENTUM}"
    whole = [{"outcome": LAST_FOUR.get(index, "0")} for index in range(1, 47)]
    whole[36]["outcome"], whole[30]["outcome"] = "1", "4"
    assert summarize_temporal_attention(REFERENCE, HISTORY) == expected
    assert summarize_temporal_attention(reference(), HISTORY) == expected
    assert summarize_temporal_attention(REFERENCE, whole) == expected
    by_text = {str(index): entry for index, entry in HISTORY.items()}
    assert summarize_temporal_attention(REFERENCE, by_text) == expected


def test_runs_and_boundaries_as_recorded_come_before_the_outcome() -> None:
    rows = {46: ("nb", 7, 1), 45: ("wd", 5, 0), 44: ("W", 1, 0), 43: ("4", 4, 0), 37: ("nb", 7, 1)}
    history = {
        index: {"outcome": outcome, "runs": runs, "boundary": bool(boundary)}
        for index, (outcome, runs, boundary) in rows.items()
    }
    momentum = MOMENTUM.replace("7", "17")
    assert summarize_temporal_attention(REFERENCE, history) == f"{FOCUS} | {BOWLER} | {momentum}"
    history[43]["boundary"] = True
    assert "3/4 were boundaries" in summarize_temporal_attention(REFERENCE, history)


@pytest.mark.parametrize("history", [{}, [], None, {46: {"outcome": "1"}}, [{"outcome": "4"}] * 45])
def test_a_part_whose_balls_are_not_known_is_left_out(history: Any) -> None:
    assert summarize_temporal_attention(REFERENCE, history) == f"{FOCUS} | {BOWLER}"


def test_thresholds_are_strict() -> None:
    heatmap = reference()
    head = heatmap["attention_by_head"]["head_1_same_bowler"]
    for above, summary in ((0, MOMENTUM), (1e-6, f"{FOCUS[:-5]}(30%) | {BOWLER} | {MOMENTUM}")):
        heatmap["aggregate_attention"]["last_over"] = 0.3 + above
        head["weights"] = [0.1, 0.1, 0.1, 0.1 + above]
        assert summarize_temporal_attention(heatmap, HISTORY) == summary


def test_heads_are_known_by_their_pattern_and_balls_counted_as_they_are() -> None:
    heatmap = reference()
    heads = heatmap["attention_by_head"]
    recency, bowler = heads["head_0_recency"], heads["head_1_same_bowler"]
    heatmap["attention_by_head"] = {"head_0_free": bowler, "head_1_same_bowler": recency}
    assert summarize_temporal_attention(heatmap, HISTORY) == f"{FOCUS} | {BOWLER} | {MOMENTUM}"
    bowler |= {"top_balls": [43, 37], "outcomes": ["4", "1"]}
    for balls, momentum in (
        ([46], " | Recent momentum: 1 run in last 1 attended ball"),
        ([45, 44], " | Recent momentum: 2 runs in last 2 attended balls"),
        ([], ""),
    ):
        recency |= {"top_balls": balls, "weights": [0.6] * len(balls)}
        summary = summarize_temporal_attention(heatmap, HISTORY)
        assert summary == f"{FOCUS} | {BOWLER.replace('2/4', '1/2')}{momentum}"
    heatmap["attention_by_head"] = {}
    assert summarize_temporal_attention(heatmap, HISTORY) == FOCUS


def test_another_bowlers_ball_is_not_counted_as_his() -> None:
    heads = REFERENCE["temporal_attention"]["attention_by_head"]
    history = {ball: {"bowler": "J Bumrah"} for ball in heads["head_1_same_bowler"]["top_balls"]}
    assert summarize_temporal_attention(REFERENCE, history) == f"{FOCUS} | {BOWLER}"
    for ball, bowler in ((25, f" | {BOWLER.replace('2/4', '2/3')}"), (43, "")):
        history[ball] = {"bowler": "another"}
        assert summarize_temporal_attention(REFERENCE, history) == f"{FOCUS}{bowler}"


def test_what_is_no_heat_map_is_refused() -> None:
    with pytest.raises(
        InputError, match=r'a heat map must be a JSON object, but this is str; give \{"temporal'
    ):
        summarize_temporal_attention("medium", HISTORY)


def test_the_typed_heat_map_says_the_same() -> None:
    data = explanation_cases.explanation(47)
    history = {entry["index"]: entry for entry in data["past_balls"]}
    typed = Explanation.from_dict(data).across_balls.medium
    document = {"temporal_attention": typed}
    assert data["summary"].endswith("attended balls")
    assert summarize_temporal_attention(typed, history) == data["summary"]
    for told in (document, data, data["across_balls"], Explanation.from_dict(data)):
        assert summarize_temporal_attention(told, history) == data["summary"]


OUTCOME = st.sampled_from(explanation_cases.OUTCOMES)
ENTRY = st.none() | st.fixed_dictionaries(
    {"outcome": OUTCOME},
    optional={"runs": st.none() | st.integers(0, 8), "boundary": st.none() | st.booleans()},
)
HISTORIES = (
    st.none()
    | st.lists(ENTRY, max_size=60)
    | st.dictionaries(st.integers(1, 60) | st.integers(1, 60).map(str), ENTRY)
)


@given(
    ball=st.integers(1, 60),
    scale=st.sampled_from(["micro", "short", "medium", "long"]),
    history=HISTORIES,
    dropped=st.sets(st.integers(0, 5)),
)
def test_no_valid_heat_map_raises(ball: int, scale: str, history: Any, dropped: set[int]) -> None:
    heatmap = explanation_cases.explanation(ball)["across_balls"][scale]
    heatmap["attention_by_head"] = {
        name: head
        for place, (name, head) in enumerate(heatmap["attention_by_head"].items())
        if place not in dropped
    }
    parts = summarize_temporal_attention({"temporal_attention": heatmap}, history).split(" | ")
    starts = ("Strong focus on current over (", "Attended to ", "Recent momentum: ")
    said = [start for start in starts if any(part.startswith(start) for part in parts)]
    assert parts == [""] or len(said) == len(parts)
    if not history:
        assert "Recent momentum: " not in said
