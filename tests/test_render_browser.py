"""The HTML page of an explanation as a browser shows it: at every width, dark, and in print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.pages.documents import render_html


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = json.loads(Path(__file__).with_name("explanation_example.json").read_text("utf-8"))
    path = tmp_path_factory.mktemp("page") / "explanation.html"
    path.write_text(render_html(Explanation.from_dict(data)), "utf-8")
    return path


def luminance(colour: str) -> float:
    """Relative luminance of ``rgb(r, g, b)`` or ``color(srgb r g b)``."""
    parts = colour[colour.index("(") + 1 : -1].replace("srgb", "").replace(",", " ").split()
    most = 1.0 if "srgb" in colour else 255.0
    channels = [float(part) / most for part in parts[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def style(page: Any, selector: str, name: str) -> str:
    found = page.locator(selector).first
    value: str = found.evaluate(f"element => getComputedStyle(element).{name}")
    return value


@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_is_wider_than_the_window(file_page: Any, page_path: Path, width: int) -> None:
    page = file_page(page_path, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in ("h1", ".score", ".words p", ".claims li"):
        box = page.locator(selector).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_in_light_and_dark(file_page: Any, page_path: Path, scheme: str) -> None:
    page = file_page(page_path, color_scheme=scheme)
    ground = luminance(style(page, "body", "backgroundColor"))
    assert (ground < 0.1) == (scheme == "dark")
    for selector in ("body", ".quiet", ".verdict", ".supported .verdict", ".match", "summary"):
        words = luminance(style(page, selector, "color"))
        ratio = (max(words, ground) + 0.05) / (min(words, ground) + 0.05)
        assert ratio >= 4.5, selector
    cell = page.locator("svg.heat rect").first
    assert (luminance(cell.evaluate("e => getComputedStyle(e).fill")) > ground) == (
        scheme == "dark"
    )
