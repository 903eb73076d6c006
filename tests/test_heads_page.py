"""Pages of heads across matches: intervals stand where their numbers say, names are only names."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from attnlens.cricket.pages.heads_page import render_heads

INTERVAL = re.compile(
    r'<line (?!class)x1="([\d.]+)" x2="([\d.]+)" y1="7" y2="7"/><rect x="([\d.]+)"'
)


def head(number: int) -> dict[str, Any]:
    """A head whose figures are known."""
    return {
        "number": number,
        "earned": "same_bowler",
        "sees": None,
        "biases": [{"relation": "recency", "value": 0.5, "start": 0.1}],
        "bias_share": 0.25,
        "self_attention": 0.125,
        "relations": [
            {"relation": "recency", "lift": 2.0, "lift_ci": (1.0, 4.0), "hiding": None},
            {"relation": "same_over", "lift": 12.0, "lift_ci": None, "hiding": None},
        ],
        "hiding": None,
        "importance": {"points": 1.0, "points_ci": (0.5, 2.0), "matters": 0.5, "rank": 1},
        "mean_by_distance": [0.5, None, 0.125],
        "strongest": [
            {"match_id": "m<script>", "innings": 1, "ball": 47, "looked_at": 46, "share": 0.75}
        ],
    }


DOCUMENT = {
    "balls": 1200,
    "matches": 1,
    "scales": [{"scale": "whole", "question": "one relation a head", "heads": [head(0), head(1)]}],
}


def test_every_head_has_a_page_and_intervals_stand_where_their_numbers_say() -> None:
    pages = render_heads(DOCUMENT)
    assert set(pages) == {"", "whole-0", "whole-1"}
    # Points from 0 to the largest end, 2: half a point is a quarter of 116 units after 2.
    assert INTERVAL.findall(pages[""]) == [("31.0", "118.0", "59.0")] * 2
    # Lifts from 0 to 8; what is larger stands at the end, and has no interval here.
    recency, over = INTERVAL.findall(pages["whole-0"])[::-1]
    assert recency == ("16.5", "60.0", "30.0")
    assert over == ("118.0", "118.0", "117.0")
    shades = re.findall(r'fill-opacity="([\d.]+)"', pages["whole-0"])
    assert shades == ["1.00", "0.00", "0.50"]
    assert "1,200 balls of 1 match." in pages[""]


def test_names_are_only_names_and_other_documents_are_refused() -> None:
    page = render_heads(DOCUMENT)["whole-0"]
    assert "m&lt;script&gt;, innings 1: ball 47 looked at ball 46: 75%" in page
    assert "<script" not in page
    older = copy.deepcopy(DOCUMENT)
    for row in older["scales"][0]["heads"]:
        del row["mean_by_distance"], row["strongest"]
    assert "by distance" not in render_heads(older)["whole-0"]
    for wrong in ({}, [], {"scales": []}, {"scales": [{"heads": [{}]}]}, None):
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
            render_heads(wrong)
