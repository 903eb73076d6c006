"""Pages of heads across matches: intervals stand where their numbers say, names are only names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import Here
from small_predictors import small_predictor

from attnlens.cricket.lab.simulator import simulate_match, write_match
from attnlens.cricket.pages.dashboard_parts import render_heads
from attnlens.cricket.predictor.trained import save_predictor

INTERVAL = re.compile(r'<line x1="([\d.]+)" x2="([\d.]+)" y1="7" y2="7"/><rect x="([\d.]+)"')
TEST = {"nats": 0.0, "matters": 0.02, "supports": False, "margin_nats_ci": [0.1, 0.2]}


@pytest.fixture
def document(tmp_path: Path, attnlens_here: Here) -> Any:
    """What the command says of three matches."""
    save_predictor(tmp_path / "one.safetensors", small_predictor())
    (tmp_path / "matches").mkdir()
    for seed in (6, 7, 8):
        write_match(simulate_match(seed), tmp_path / "matches" / f"{seed}.json")
    attnlens_here.patch.chdir(tmp_path)
    options = ("--model", "one.safetensors", "--balls", "20", "--json")
    return json.loads(attnlens_here.good("lab", "heads", "matches", *options))


def check(page: str, rows: list[Any], name: str, end: float) -> None:
    """116 units from 2 are 0 to ``end``; the mark begins one unit before its middle."""
    for place, row in zip(INTERVAL.findall(page), rows, strict=True):
        low, high, value = (2 + 116 * min(at / end, 1) for at in (*row[f"{name}_ci"], row[name]))
        assert [float(at) for at in place] == pytest.approx([low, high, value - 1], abs=0.06)


def test_every_head_has_a_page_and_intervals_stand_where_their_numbers_say(document: Any) -> None:
    heads = {f"{s['scale']}-{h['number']}": h for s in document["scales"] for h in s["heads"]}
    pages = render_heads(document)
    assert list(pages) == ["", *heads]
    parts = [head["importance"] for head in heads.values()]
    check(pages[""], parts, "points", max(part["points_ci"][1] for part in parts))
    for name, head in heads.items():
        rows = [row for row in head["relations"] if row["lift"] is not None]
        check(pages[name], sorted(rows, key=lambda row: -row["lift"]), "lift", 8)
        assert f"<h1>{name.replace('-', ' ')}" in pages[name]
        assert f"by {1000 * head['importance']['nats']:.2f} thousandths" in pages[name]


def test_what_is_not_known_or_not_shown_is_said_and_names_are_only_names(document: Any) -> None:
    head = document["scales"][-1]["heads"][0]
    head["strongest"][0]["match_id"] = "m<script>"
    head["self_attention"] = head["importance"]["points_ci"] = None
    head["relations"][0].update(lift=2.0, lift_ci=None, hiding=TEST)
    head["mean_by_distance"] = [0.5, None, 0.125]
    page = render_heads(document)["whole-0"]
    assert re.findall(r'fill-opacity="([\d.]+)"', page) == ["1.00", "0.00", "0.50"]
    assert "m&lt;script&gt;, innings" in page
    assert "<script" not in page
    assert "not known of its attention" in page
    verdict = "a larger effect than hiding random balls, but on too few"
    assert f"– matters on 2% of balls, {verdict}" in page


def test_older_documents_are_shown_and_others_refused(document: Any) -> None:
    head = document["scales"][-1]["heads"][0]
    del head["mean_by_distance"], head["strongest"]
    assert "by distance" not in render_heads(document)["whole-0"]
    del head["self_attention"]
    wrong: list[Any] = [document, {}, [], {"scales": []}, {"scales": [{"heads": [{}]}]}, None]
    for other in wrong:
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
            render_heads(other)
