"""The page of a recording in a real browser: what it shows, and how it is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recording_cases import AXES, every_kind
from test_view_command import HOSTILE, hostile_recording, planted_sink

from attnlens.attention import entropy
from attnlens.attention.views import maps_data
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.recording import Recording
from attnlens.render.page import layers_of, render_recording_page

WORDS = ("ĠOnce", "Ġup", "on", "Ġa", "Ġtime", ",", "Ġthe", "Ġcat", "Ġs", "at", "Ċ", "Ġdown")
RAMP = ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]
Open = Callable[..., Any]
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


@pytest.fixture
def opened(file_page: Open, tmp_path: Path) -> Open:
    """Opens a recording's page."""

    def open_page(recording: Recording, **options: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(render_recording_page(maps_data(recording), name="r"), encoding="utf-8")
        page = file_page(path, **options)
        page.evaluate("window.attnlensReady")
        return page

    return open_page


def sentence(layers: int = 3) -> Recording:
    """Layers of two causal heads over one sentence; the first head of each has a sink."""
    one = planted_sink().labelled(query=WORDS, key=WORDS)
    return Recording([one.replaced(site=f"model.layers.{n}.attn") for n in range(layers)])


def bars(page: Any, number: int) -> list[tuple[str, float]]:
    """What a list beside the map tells: names, and weights."""
    box = page.locator("#lists section").nth(number)
    names = box.locator(".key").all_text_contents()
    weights = box.locator(".weight").all_text_contents()
    bare = (name.removesuffix(" (sink)") for name in names)
    return list(zip(bare, map(float, weights), strict=True))


def token(page: Any, number: int) -> Any:
    return page.locator(f"#texts [data-token='{number}']").last


def pixels(page: Any, canvas: str) -> np.ndarray[Any, Any]:
    width, height, values = page.evaluate(
        """name => {
            const canvas = document.querySelector(name);
            const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return [canvas.width, canvas.height, Array.from(image.data)];
        }""",
        canvas,
    )
    found: np.ndarray[Any, Any] = np.array(values).reshape(height, width, 4)[..., :3]
    return found


def on_ramp(share: float) -> np.ndarray[Any, Any]:
    """The colour at a part of the scale, worked out anew."""
    stops = np.array([[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in RAMP], float)
    at = np.linspace(0, 1, 5)
    return np.array([np.interp(share, at, stops[:, part]) for part in range(3)])


@pytest.mark.parametrize("kind", ["every kind", "hostile"])
def test_every_site_and_head_is_shown(opened: Open, kind: str) -> None:
    recording = every_kind() if kind == "every kind" else hostile_recording()
    page = opened(recording)
    assert page.locator("main b:not(.text > b), main img").count() == 0
    for number, record in enumerate(recording.records()):
        page.locator("#every-site").evaluate("one => { one.open = true; }")
        page.locator("#sites button").nth(number).click()
        whole = record.to_numpy()
        calls = len(recording.calls(record.site))
        name = record.site + (f", call {record.call}" if calls > 1 else "")
        expect(page.locator("#site")).to_have_text(name)
        first = whole.reshape(-1, *whole.shape[-2:])[0]
        assert page.locator("#head option").count() == (6 if whole.ndim == 4 else 1)
        assert pixels(page, "#one").shape[:2] == first.shape
        page.locator("#one").focus()
        page.keyboard.press("End")
        page.keyboard.press("PageUp")
        keys = record.names(len(record.axes) - 1)
        told = page.locator("#readout").text_content()
        assert told.endswith(f": {first[0, -1]:.4f}"), told
        best = np.sort(first[0][first[0] > 0])[::-1][:8]
        np.testing.assert_allclose([weight for _, weight in bars(page, 0)], best, atol=7e-5)
        if kind == "hostile":
            assert {name for name, _ in bars(page, 0)} <= {
                *keys,
                HOSTILE[-1].replace("\ud800", "�"),
            }


def test_the_text_is_coloured_under_the_pointer(opened: Open) -> None:
    page = opened(sentence())
    whole = planted_sink().to_numpy()[0]
    assert page.locator("#texts .text").text_content() == " Once upon a time, the cat sat↵ down"
    page.select_option("#head", "1")
    token(page, 5).hover()
    np.testing.assert_allclose([one for _, one in bars(page, 0)], whole[1, 5, :6], atol=6e-5)
    names = [name for name, _ in bars(page, 1)]
    assert names == [",", "the", "cat", "s", "at", "↵", "down"]
    ground = token(page, 3).evaluate("one => getComputedStyle(one).backgroundColor")
    expected = on_ramp(np.sqrt(whole[1, 5, 3]))
    found = [int(part) for part in re.findall(r"\d+", ground)]
    np.testing.assert_allclose(found, expected, atol=2)
    line = token(page, 8).evaluate("one => getComputedStyle(one).boxShadow")
    assert float(re.findall(r"-([\d.]+)px", line)[0]) == pytest.approx(
        5 * np.sqrt(whole[1, 8, 5]), abs=0.06
    )
    # What was pointed at goes when the pointer does; a click stays, and the keys go on from it.
    page.mouse.move(2, 2)
    assert page.locator("#texts .here").text_content() == "down"
    token(page, 5).click()
    page.mouse.move(2, 2)
    assert page.locator("#texts .here").text_content() == ","
    page.keyboard.press("ArrowLeft")
    assert page.locator("#texts [aria-selected=true]").text_content() == "time"
    assert page.locator("#readout").text_content() == "query “time” → key “time”: 0.2000"
    page.locator("#rows summary").click()
    assert (
        f"{entropy(whole[1])[4]:.3f} nats" in page.locator("#rows tbody tr").nth(4).text_content()
    )


def test_layers_and_heads_are_chosen_at_a_glance(opened: Open) -> None:
    page = opened(sentence())
    page.locator("#all").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#title")).to_have_text("Layer 1, head 1")
    box = page.locator("#all").bounding_box()
    page.mouse.click(box["x"] + 10, box["y"] + box["height"] - 12)
    expect(page.locator("#title")).to_have_text("Layer 2, head 0")
    assert page.locator("#grid .group").all_text_contents() == ["model.layers.*.attn"]
    assert page.locator("#grid .row").all_text_contents() == ["0", "1", "2"]
    assert layers_of(["h.0.attn", "h.1.attn", "h.1.cross", "pool"]) == {
        "h.0.attn": ("h.*.attn", "0"),
        "h.1.attn": ("h.*.attn", "1"),
        "h.1.cross": ("h.1.cross", ""),
        "pool": ("pool", ""),
    }


def test_one_scale_for_all_heads_and_sinks_apart(opened: Open) -> None:
    page = opened(sentence(1))
    whole = planted_sink().to_numpy()[0]
    legend = page.locator(".legend")
    assert "in this head 1." in legend.text_content()
    assert "a key that gets at least 30% of a head's attention" in legend.text_content()
    assert "rounded to within 0.00005." in legend.text_content()

    def drawn() -> np.ndarray[Any, Any]:
        return pixels(page, "#one").astype(float)

    def expected(cell: float, most: float) -> np.ndarray[Any, Any]:
        return on_ramp(np.sqrt(cell / most))

    apart = drawn()
    np.testing.assert_allclose(apart[8, 5], expected(whole[0, 8, 5], 1), atol=2)
    red, _, blue = apart[8, 2]
    assert red > blue  # the sink has no blue of the others
    page.uncheck("#apart")
    expect(page.locator("#sinks")).to_contain_text("same colours")
    np.testing.assert_allclose(drawn()[8, 2], expected(whole[0, 8, 2], 1), atol=2)
    page.check("#apart")
    page.select_option("#head", "1")
    weights = torch.stack([0.02 * torch.eye(5), 0.5 * torch.eye(5)])[None]
    page = opened(Recording([AttentionRecord("a", 0, weights, AXES)]))
    np.testing.assert_allclose(pixels(page, "#one")[1, 1], on_ramp(np.sqrt(0.04)), atol=2)
    page.check("#each")
    expect(page.locator("#scale")).to_contain_text("its own scale")
    np.testing.assert_allclose(pixels(page, "#one")[1, 1], on_ramp(1), atol=2)
    assert page.locator("#sinks").is_hidden()


def test_what_is_no_one_text_is_shown_as_two(opened: Open) -> None:
    torch.manual_seed(0)
    weights = torch.rand(1, 2, 3, 4).softmax(-1)
    cross = AttentionRecord("cross", 0, weights, AXES)
    page = opened(
        Recording([cross.labelled(query=("il", "y", "a"), key=("there", "##fore", "is", "one"))])
    )
    assert page.locator("#texts .text").all_text_contents() == [
        "query il y a",
        "key therefore is one",
    ]
    page.locator("#texts [data-kind=row] span").nth(1).click()
    page.locator("#texts [data-kind=column] span").nth(2).click()
    told = page.locator("#readout").text_content()
    assert told == f"query “y” → key “is”: {float(weights[0, 0, 1, 2]):.4f}"
    names = tuple(Axis(one.name, WORDS[:4] if one.name == "key" else None) for one in AXES)
    rows = AttentionRecord("rows", 0, torch.eye(4)[None, None, [1, 3]], names, rows=(1, 3))
    page = opened(Recording([rows.labelled(query=("Ġup", "Ġa"))]))
    assert page.locator("#texts .text").count() == 1
    token(page, 1).click()
    assert "“up” → key “up”: 1.0000" in page.locator("#readout").text_content()
    token(page, 2).click()  # this query was not kept: the row stays
    assert "“up” → key “on”: 0.0000" in page.locator("#readout").text_content()


def test_a_module_that_runs_again_has_calls_to_choose_of(opened: Open) -> None:
    one = planted_sink()
    several = [one.replaced(site=f"h.{n}", call=call) for n in (0, 1) for call in (0, 1, 2)]
    page = opened(Recording(several))
    assert page.locator("#grid .row").all_text_contents() == ["0", "1"]
    page.select_option("#call", "2")
    expect(page.locator("#site")).to_have_text("h.0, call 2")
    alone = Recording([one.replaced(site="shared", call=call) for call in range(3)])
    page = opened(alone)
    assert page.locator("#grid .row").all_text_contents() == ["call 0", "call 1", "call 2"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_finger_on_a_phone(opened: Open, scheme: str) -> None:
    page = opened(
        sentence(30), viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    token(page, 7).tap()
    assert page.locator("#texts .here").text_content() == "cat"
    page.locator("#one").tap()
    assert page.locator("#texts .here").text_content() != "cat"
    page.locator("#all").tap(position={"x": 40, "y": 60})
    expect(page.locator("#title")).to_contain_text("head 1")
    ground, words = (
        page.locator("body").evaluate(f"one => getComputedStyle(one).{name}")
        for name in ("backgroundColor", "color")
    )
    dark = [sum(map(int, re.findall(r"\d+", one))) for one in (ground, words)]
    assert (dark[0] < dark[1]) == (scheme == "dark")


def test_thirty_layers_are_in_three_megabytes(opened: Open, tmp_path: Path) -> None:
    torch.manual_seed(0)
    logits = torch.randn(30, 1, 9, 200, 200).mul(3)
    logits.masked_fill_(torch.ones(200, 200, dtype=torch.bool).triu(1), -torch.inf)
    names = tuple(f"Ġt{number}" for number in range(200))
    layers = [
        AttentionRecord(f"h.{number}", 0, one.softmax(-1), AXES).labelled(query=names, key=names)
        for number, one in enumerate(logits)
    ]
    page = opened(Recording(layers))
    assert (tmp_path / "page.html").stat().st_size < 3_000_000
    assert pixels(page, "#one").shape == (200, 200, 3)
