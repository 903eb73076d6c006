"""`attnlens view`: what the page holds, the JSON, and bad input."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import webbrowser
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Here
from html_elements import Elements
from recording_cases import (
    AXES,
    KEY_NAMES,
    every_kind,
    lazy_attention,
    lazy_record,
    top_record,
    whole_record,
)
from syrupy.assertion import SnapshotAssertion

from attnlens.attention import entropy, entropy_bounds
from attnlens.attention.views import maps_data
from attnlens.cli.recordings import page_of_recording, rows_of_recording
from attnlens.errors import InputError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.recording import Recording

CHOICE = dict.fromkeys(("site", "batch", "head", "query"))
WHOLE = lazy_attention().weights().double().numpy()
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><b>x",
    'a"onload="b',
    "&lt;",
    "<!--",
    "\u202eabc",
    "\ud800",
)


@pytest.fixture
def saved(attnlens_here: Here) -> str:
    every_kind().save(attnlens_here.folder / "r.safetensors")
    return "r.safetensors"


def test_the_page_is_one_file_that_asks_for_nothing(attnlens_here: Here, saved: str) -> None:
    assert attnlens_here.good("view", saved, "--out", "page.html") == ""
    assert attnlens_here.files() == ["page.html", saved]
    page = Path("page.html").read_text(encoding="utf-8")
    seen = Elements(page)
    assert not {"link", "iframe", "object", "img", "form"} & set(seen.names)
    assert {"src", "href"}.isdisjoint(name for name, _ in seen.attributes)
    assert "http" not in page.replace("http-equiv", "")
    policy = next(value for name, value in seen.attributes if name == "content" and "src" in value)
    assert "default-src 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(seen.scripts[-1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    for name in ("lazy", "all", "rows", "top, call 0", "top, call 1", "gate"):
        assert f">{name}</td>" in page


def packed_of(record: AttentionRecord, **options: int) -> list[dict[str, Any]]:
    data = maps_data(Recording([record]), **options)
    (told,), levels, bend = data["records"], data["levels"], data["bend"]
    shape = [-(-len(told[name]) // size) for name, size in zip(SIDES, told["block"], strict=True)]
    maps = []
    raw, size = zlib.decompress(told["packed"]), (2 if levels > 255 else 1) * shape[0] * shape[1]
    for one in told["maps"]:
        # As maps_data says: cells column by column, padded to 2 bytes; bounds of entropies.
        cells = np.frombuffer(raw[:size], "<u2" if levels > 255 else "u1")
        raw = raw[size + size % 2 :]
        nats = np.frombuffer(raw[: 4 * shape[0]], "<u2").reshape(2, shape[0]).astype(float)
        raw = raw[4 * shape[0] :]
        bent = one["top"] * bend * ((1 + 1 / bend) ** (cells / levels) - 1)
        low, high = np.where(nats == 65535, np.nan, nats / 4096)
        known = {"cells": bent.reshape(shape[::-1]).T, "low": low, "high": high}
        maps.append({**one, **known, "told": told, "levels": levels})
    assert raw == b""
    return maps


SIDES = ("queries", "keys")


def test_maps_hold_what_was_recorded() -> None:
    for record in every_kind().records()[:4]:
        whole = record.to_numpy()
        maps = packed_of(record)
        assert [one["lead"] for one in maps] == [[str(b), str(h)] for b in "01" for h in "012345"]
        for one in maps:
            batch, head = map(int, one["lead"])
            np.testing.assert_allclose(one["cells"], whole[batch, head], atol=2e-5)
            assert one["top"] == pytest.approx(whole[batch, head].max())
            if record.keys is None:
                np.testing.assert_allclose(one["low"], entropy(whole)[batch, head], atol=2e-4)
                np.testing.assert_array_equal(one["low"], one["high"])
    top = top_record()
    low, high = entropy_bounds(top.weights, top.residual, top.key_count)
    found = packed_of(top)
    np.testing.assert_allclose([one["low"] for one in found], low.reshape(12, 7), atol=2e-4)
    np.testing.assert_allclose([one["high"] for one in found], high.reshape(12, 7), atol=2e-4)


def test_cells_are_told_less_finely_where_they_are_many() -> None:
    torch.manual_seed(0)
    record = AttentionRecord("a", 0, (2 * torch.randn(1, 2, 60, 50)).softmax(-1), AXES)
    sizes = []
    for levels, room in ((65535, 10**5), (255, 10_000), (127, 6_000), (63, 5_000)):
        found = packed_of(record, most_bytes=room)
        sizes.append(len(found[0]["told"]["packed"]))
        assert found[0]["levels"] == levels
        step = np.log(11) / levels / 2  # half of it, as the page tells
        for one, weights in zip(found, record.to_numpy()[0], strict=True):
            error = np.abs(one["cells"] - weights)
            assert (error <= 1.05 * step * (weights + 0.1 * one["top"])).all()
    assert packed_of(record, most_bytes=3_000)[0]["told"]["block"] == [2, 2]
    assert sizes == sorted(sizes, reverse=True)


def planted_sink(tokens: int = 12, share: float = 0.6) -> AttentionRecord:
    """Two causal heads: one that pays the third token much, one that spreads evenly."""
    even = np.tril(np.ones((tokens, tokens))) / np.arange(1, tokens + 1)[:, None]
    drained = even.copy()
    drained[3:] = (1 - share) * even[3:]
    drained[3:, 2] += share
    weights = torch.tensor(np.stack([drained, even])[None])
    return AttentionRecord("attn", 0, weights, AXES)


def test_a_sink_is_a_key_that_is_paid_much_by_every_query() -> None:
    drained, even = packed_of(planted_sink())
    assert (drained["sinks"], even["sinks"]) == ([2], [])
    outside = np.delete(planted_sink().to_numpy()[0, 0], 2, 1).max()
    assert drained["rest"] == pytest.approx(outside)
    assert even["rest"] == even["top"] == 1
    assert packed_of(planted_sink(share=0.15))[0]["sinks"] == []
    # The last tokens are seen by few queries, and three queries are too few to say anything.
    late = np.eye(12) * 0.5 + 0.5 / 12
    late[10:, 10] += 0.5
    assert packed_of(AttentionRecord("a", 0, torch.tensor(late), AXES[2:]))[0]["sinks"] == []
    assert packed_of(planted_sink(tokens=3))[0]["sinks"] == []
    whole = torch.full((1, 1, 6, 5), 0.1)
    whole[..., 4] = 0.6
    assert packed_of(AttentionRecord("a", 0, whole, AXES))[0]["sinks"] == [4]
    gate = tuple(Axis(name) for name in ("ball", "scale"))
    assert packed_of(AttentionRecord("a", 0, whole[0, 0], gate))[0]["sinks"] == []


def test_a_large_map_is_made_of_the_largest_of_each_block() -> None:
    torch.manual_seed(0)
    lazy = LazyAttention(torch.randn(1, 2, 1100, 4), torch.randn(1, 1, 700, 4), 0.5)
    record = AttentionRecord.of_lazy("big", 0, lazy, AXES)
    weights = lazy.weights().numpy()
    nats = entropy(weights)
    for one in packed_of(record):
        head = int(one["lead"][1])
        assert one["cells"].shape == (367, 350)
        padded = np.zeros((367 * 3, 700))
        padded[:1100] = weights[0, head]
        blocks = padded.reshape(367, 3, 350, 2).max((1, 3))
        np.testing.assert_allclose(one["cells"], blocks, atol=2e-5)
        assert one["low"][0] == pytest.approx(nats[0, head, :3].mean(), abs=2e-4)
        assert one["told"]["notes"] == [
            "1100 by 700 cells are drawn as 367 by 350: each drawn cell shows the largest weight "
            "of 3 by 2 cells, and each drawn row has the mean entropy of the rows that it replaces"
        ]
        assert (one["told"]["block"], len(one["told"]["queries"])) == ([3, 2], 1100)


def hostile_recording() -> Recording:
    keys = (*HOSTILE, *KEY_NAMES[:4])
    record = whole_record(site=HOSTILE[0]).labelled(key=keys, query=HOSTILE)
    return Recording([record.replaced(notes=(HOSTILE[1],)), top_record(site=HOSTILE[4])])


def test_hostile_names_stay_text(attnlens_here: Here) -> None:
    hostile_recording().save("<b>.safetensors")
    attnlens_here.good("view", "<b>.safetensors", "--out", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    seen = Elements(page)
    assert seen.names.count("script") == 2
    assert "b" not in seen.names
    assert not any(name.startswith("on") for name, _ in seen.attributes)
    stored = json.loads(seen.scripts[0])
    assert stored["names"][stored["records"][0]["keys"]][:7] == list(HOSTILE)
    assert stored["records"][0]["site"] == HOSTILE[0]
    assert HOSTILE[0] in seen.text
    assert "\u202e" not in page[: page.index('id="data"')]
    rows = json.loads(attnlens_here.good("view", "<b>.safetensors", "--json"))["rows"]
    assert {one["query"] for one in rows} == {"?"}
    assert {one["site"] for one in rows} == {HOSTILE[0]}


def test_without_out_the_browser_is_opened(attnlens_here: Here, saved: str) -> None:
    opened: list[str] = []
    attnlens_here.patch.setattr(webbrowser, "open", lambda where: not opened.append(where))
    path = Path(attnlens_here.good("view", saved).strip())
    assert opened == [path.as_uri()]
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    path.unlink()


def test_the_json_holds_the_same(
    attnlens_here: Here, saved: str, snapshot: SnapshotAssertion
) -> None:
    data = rows_of_recording(saved, CHOICE, 8, len)
    assert data["sites"] == snapshot
    assert [row["head"] for row in data["rows"]] == list("012345")
    row = data["rows"][3]
    assert (row["batch"], row["query"], row["position"]) == ("0", "47.1", 6)
    assert row["entropy_nats"] == pytest.approx(entropy(WHOLE[0, 3, 6]), abs=1e-5)
    for one in row["strongest"]:
        assert one["key"] == KEY_NAMES[one["position"]]
        assert one["weight"] == pytest.approx(WHOLE[0, 3, 6, one["position"]], abs=1e-6)
    words = ("--json", "--site", "rows", "--query", "46.3", "--batch", "1")
    data = json.loads(attnlens_here.good("view", saved, *words))
    assert data["recording"] == saved
    assert {(row["batch"], row["position"]) for row in data["rows"]} == {("1", 2)}
    rows = rows_of_recording(saved, {**CHOICE, "site": "top"}, 8, len)["rows"]
    assert {(row["call"], row["entropy_nats"]) for row in rows} == {(0, None), (1, None)}
    low, high = rows[0]["entropy_bounds"]
    assert low <= high


def test_bad_input_is_one_line(
    attnlens_here: Here, saved: str, snapshot: SnapshotAssertion
) -> None:
    Path("text.txt").write_text("no recording", encoding="utf-8")
    messages = []
    for path, choice in (
        ("nowhere.safetensors", {}),
        ("text.txt", {}),
        (saved, {"site": "x"}),
        (saved, {"site": "lazy", "head": "6"}),
        (saved, {"site": "lazy", "query": "x"}),
    ):
        with pytest.raises(InputError) as caught:
            page_of_recording(path, CHOICE | choice, "page", len)
        messages.append(f"attnlens: {caught.value}")
    messages += attnlens_here.refusals(
        ("view", saved, "--site", "gate", "--head", "0"),
        ("view", saved, "--top", "0"),
        ("view", saved, "--out", "no/where.html"),
    )
    # What a library says of such files depends on its release.
    assert [re.sub(r" \(\D*?\);", ";", message) for message in messages] == snapshot
    assert attnlens_here.files() == [saved, "text.txt"]


def test_weights_that_are_no_attention_are_noted_on_every_page(
    attnlens_here: Here, snapshot: Any
) -> None:
    weights = torch.softmax(torch.randn(2, 3, 5, 7), -1)
    good = AttentionRecord("good", 0, weights, AXES)
    bad = weights.clone()
    bad[0, 0, 1, 2], bad[0, 1, 1, 2], bad[1, 2, 4, 0] = math.nan, -0.2, math.inf
    bad[1, 0, 0] *= 1.5
    bad[1, 0, 1] *= 0.25
    bad[1, 0, 2] = 0  # all of its keys are hidden
    half = good.replaced(site="half", weights=weights.bfloat16())
    lazy = lazy_record("lazy of NaN")
    lazy.lazy.q[0, 0, 0] = math.nan
    top = top_record()
    assert top.residual is not None
    residual = top.residual.clone()
    residual[0, 0, 0], residual[0, 0, 1] = math.nan, -5.0
    worse = top.replaced(site="bad residual", residual=residual)
    records = [good, good.replaced(site="bad", weights=bad), half, lazy, top, worse]
    Recording(records).save(attnlens_here.folder / "r")
    data = json.loads(attnlens_here.good("view", "r", "--json"))
    notes = {site["site"]: site["notes"] for site in data["sites"]}
    assert notes["good"] == notes["half"] == []
    assert {site: each for site, each in notes.items() if each} == snapshot
    attnlens_here.patch.setattr(webbrowser, "open", None)
    path = Path(attnlens_here.good("view", "r", "--no-browser").strip())
    page = path.read_text(encoding="utf-8")
    path.unlink()
    for note in (*notes["bad"], *notes["lazy of NaN"]):
        assert note in page
        assert note in Recording(records)._repr_html_()
