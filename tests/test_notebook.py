"""What Jupyter would show, in a real browser."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import attnlens


@pytest.fixture
def shown(file_page: Callable[..., Any], tmp_path: Path) -> Callable[[str], Any]:
    """The frame of a cell's output, in a page that lets nothing in."""

    def frame(cell: str) -> Any:
        path = tmp_path / "notebook.html"
        path.write_text(f"<!doctype html><meta charset=utf-8><body>{cell}", encoding="utf-8")
        return file_page(path).frame_locator("iframe")

    return frame


def test_an_explanation_shows_its_page(
    shown: Callable[[str], Any], sample_match_path: Path
) -> None:
    explanation = attnlens.explain(attnlens.read_match(sample_match_path), ball=47)
    frame = shown(explanation._repr_html_())
    text = explanation.narrative[0].text
    assert text in " ".join(frame.locator("main").inner_text().split())
    assert frame.locator("svg").count() > 0


def test_a_recording_shows_its_maps_and_its_script_runs(shown: Callable[[str], Any]) -> None:
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(1, 5, 8)
    with attnlens.record(model) as recording, torch.no_grad():
        model(x, x, x)
    labelled = recording.labelled(key=["</iframe>", "b", "<script>", '"', "e"])
    frame = shown(labelled._repr_html_())
    frame.locator("canvas").first.wait_for()
    assert "</iframe>" in frame.locator("main").inner_text()
    record = labelled.records()[0]
    frame = shown(record._repr_html_())
    frame.locator("#texts [data-kind=row] span").nth(3).click()
    shares = frame.locator("#lists section").first.locator(".weight").all_text_contents()
    paid = sorted(record.weights[0, 0, 3].tolist(), reverse=True)
    assert [float(one) for one in shares] == pytest.approx(paid, abs=6e-5)


def test_python_shows_a_line_and_prints_a_page(sample_match_path: Path) -> None:
    match = attnlens.read_match(sample_match_path)
    assert repr(match).startswith(f"<Match {match.match_id}: T20: ")
    assert [repr(one)[:11] for one in match.innings] == ["<Innings 1:", "<Innings 2:"]
    explanation = attnlens.explain(match, ball=47, evidence=False)
    assert repr(explanation).startswith(f"<Explanation of {match.match_id}: innings 1, delivery 47")
    assert repr(explanation).endswith("| no claim was tested>")
    assert explanation.ball.echo.split(" | ")[0] in str(explanation)
    answer = attnlens.what_if(match, ball=47, changes={"last": "W"})
    assert repr(answer).startswith(f"<WhatIf of {match.match_id}: innings 1, delivery 47")
    assert answer.changes[0].text in repr(answer)
    assert html.unescape(answer._repr_html_()) == f"<pre>{answer}</pre>"
    for one in (match, explanation, answer):
        assert len(repr(one)) < 400
        assert "\n" not in repr(one)
    hostile = dataclasses.replace(match, match_id="a\x1b[31mb\nc")
    assert "\x1b" not in repr(hostile)
    assert "\n" not in repr(hostile)


def test_a_description_is_mathematics_and_a_trace_its_text() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    description = attnlens.describe(layer, torch.ones(1, 2, 8))
    assert repr(description) == str(description)
    assert description._repr_markdown_().count("$$") == 2 * len(description.equations)
    traced = attnlens.trace(layer, torch.ones(1, 2, 8))
    assert repr(traced) == str(traced)
