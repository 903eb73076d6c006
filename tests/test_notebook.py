"""What Jupyter would show, in a real browser."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import torch

import attnlens


def shown(chromium: Any, folder: Path, cell: str) -> Any:
    """The frame of a cell's output, in a page that lets nothing in."""
    path = folder / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{cell}", encoding="utf-8")
    page = chromium.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.complaints.append(said.text))
    page.goto(path.as_uri())
    return page


def test_an_explanation_shows_its_page(
    chromium: Any, tmp_path: Path, sample_match_path: Path
) -> None:
    explanation = attnlens.explain(attnlens.read_match(sample_match_path), ball=47)
    page = shown(chromium, tmp_path, explanation._repr_html_())
    frame = page.frame_locator("iframe")
    text = explanation.narrative[0].text
    assert text in " ".join(frame.locator("main").inner_text().split())
    assert frame.locator("svg").count() > 0
    assert page.complaints == []
    page.close()


def test_a_recording_shows_its_maps_and_its_script_runs(chromium: Any, tmp_path: Path) -> None:
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(1, 5, 8)
    with attnlens.record(model) as recording, torch.no_grad():
        model(x, x, x)
    labelled = recording.labelled(key=["</iframe>", "b", "<script>", '"', "e"])
    page = shown(chromium, tmp_path, labelled._repr_html_())
    frame = page.frame_locator("iframe")
    frame.locator("canvas").first.wait_for()
    assert "</iframe>" in frame.locator("main").inner_text()
    assert page.complaints == []
    page.close()


def test_a_long_recording_is_shown_coarser_and_an_empty_one_as_text() -> None:
    model = torch.nn.MultiheadAttention(8, 4, batch_first=True).eval()
    x = torch.randn(1, 700, 8)
    with attnlens.record(model) as recording, torch.no_grad():
        model(x, x, x)
    page = recording._repr_html_()
    assert len(page) < 4_000_000
    assert "each stands for" in html.unescape(page)
    assert re.match(r"<pre>.*</pre>", attnlens.Recording()._repr_html_(), re.S)
