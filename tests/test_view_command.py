"""`attnlens view`: the page, with and without its script, the text, the JSON, and bad input."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import webbrowser
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Here, run_process
from recording_cases import (
    AXES,
    KEY_NAMES,
    QUERY_NAMES,
    every_kind,
    lazy_attention,
    top_record,
    whole_record,
)

from attnlens.analysis import entropy, entropy_bounds
from attnlens.analysis.views import STRONGEST, maps_data
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.record import AttentionRecord
from attnlens.recording.recording import Recording
from attnlens.show.notebook import render_recording_page

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


class Elements(HTMLParser):
    """What a browser would make of a page: its elements, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.within = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.within = tag
        self.attributes.append(dict(attrs))

    def handle_endtag(self, _: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        if self.within == "script":
            self.scripts.append(data)
        elif self.within != "style":
            self.text += data


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
    addresses = [v for one in seen.attributes for k, v in one.items() if k in ("src", "href")]
    assert addresses == []
    assert "http" not in page.replace("http-equiv", "")
    policy = next(one["content"] for one in seen.attributes if "http-equiv" in one)
    assert policy is not None
    assert "default-src 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(seen.scripts[-1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    for name in ("lazy", "all", "rows", "top, call 0", "top, call 1", "gate"):
        assert f">{name}</td>" in page


def packed_of(record: AttentionRecord) -> list[dict[str, Any]]:
    (told,) = maps_data(Recording([record]))["records"]
    shape = len(told["rows"]), len(told["columns"])
    maps = []
    for one in told["maps"]:
        # As maps_data says: cells, padded to 4 bytes; bounds; places and weights of the strongest.
        raw, (tall, wide) = zlib.decompress(one["packed"]), shape
        sizes = [tall * wide * 2, -(tall * wide * 2) % 4, *[tall * 4] * 2, tall * STRONGEST * 8]
        cells, _, low, high, places, paid = np.split(np.frombuffer(raw, np.uint8), np.cumsum(sizes))
        maps.append(
            {
                "lead": one["lead"],
                "cells": cells.view("<u2").reshape(shape) / 65535 * one["top"],
                "low": low.view("<f4"),
                "high": high.view("<f4"),
                "places": places.view("<i4").reshape(tall, STRONGEST, 2),
                "paid": paid.view("<f4").reshape(tall, STRONGEST),
                "notes": told["notes"],
                "told": told,
            }
        )
    return maps


def test_maps_hold_what_was_recorded() -> None:
    for record in every_kind().records()[:4]:
        whole = record.to_numpy()
        maps = packed_of(record)
        assert [one["lead"] for one in maps] == [[str(b), str(h)] for b in "01" for h in "012345"]
        for one in maps:
            batch, head = map(int, one["lead"])
            np.testing.assert_allclose(one["cells"], whole[batch, head], atol=1e-5)
            for row, (places, paid) in enumerate(zip(one["places"], one["paid"], strict=True)):
                order = np.argsort(-whole[batch, head, row], kind="stable")[:STRONGEST]
                order = [key for key in order if whole[batch, head, row, key] > 0]
                assert [key for _, key in places if key >= 0] == order
                np.testing.assert_array_equal(paid[: len(order)], whole[batch, head, row, order])
            if record.keys is None:
                np.testing.assert_allclose(one["low"], entropy(whole)[batch, head], atol=1e-5)
                np.testing.assert_array_equal(one["low"], one["high"])
    top = top_record()
    low, high = entropy_bounds(top.weights, top.residual, top.key_count)
    found = packed_of(top)
    np.testing.assert_allclose([one["low"] for one in found], low.reshape(12, 7), rtol=1e-6)
    np.testing.assert_allclose([one["high"] for one in found], high.reshape(12, 7), rtol=1e-6)


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
        np.testing.assert_allclose(one["cells"], blocks, atol=blocks.max() / 65535)
        assert one["low"][0] == pytest.approx(nats[0, head, :3].mean(), abs=1e-5)
        query, key = one["places"][5, 0]
        part = weights[0, head, 15:18]
        assert (query - 15, key) == np.unravel_index(part.argmax(), part.shape)
        assert one["notes"] == [
            "1100 by 700 cells are shown as 367 by 350: each stands for 3 by 2 and has the "
            "largest weight among them; entropies are means of such rows"
        ]
        assert one["told"]["rows"][1] == "3 … 5"
        assert one["told"]["rows"][-1] == "1098 … 1099"


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
    assert not any(key.startswith("on") for one in seen.attributes for key in one)
    stored = json.loads(seen.scripts[0])
    assert stored["records"][0]["keys"][:7] == list(HOSTILE)
    assert stored["records"][0]["site"] == HOSTILE[0]
    assert HOSTILE[0] in seen.text
    assert "\u202e" not in page[: page.index('id="data"')]
    rows = json.loads(attnlens_here.good("view", "<b>.safetensors", "--json"))["rows"]
    assert {one["query"] for one in rows} == {"?"}
    assert {one["site"] for one in rows} == {HOSTILE[0]}


NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node, which runs the page's script, is not installed")
@pytest.mark.parametrize("kind", ["every kind", "hostile"])
def test_the_script_shows_every_site(tmp_path: Path, kind: str) -> None:
    recording = every_kind() if kind == "every kind" else hostile_recording()
    path = tmp_path / "page.html"
    path.write_text(render_recording_page(maps_data(recording), name="r"), encoding="utf-8")
    done = subprocess.run(
        [str(NODE), str(Path(__file__).with_name("view_page.js")), str(path)],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    said = json.loads(done.stdout)
    assert said["markup"] == 0
    assert len(said["pages"]) == len(recording.records())
    for page, record in zip(said["pages"], recording.records(), strict=True):
        whole = record.to_numpy()
        calls = len(recording.calls(record.site))
        assert page["title"] == record.site + (f", call {record.call}" if calls > 1 else "")
        assert page["canvas"]["width"] == whole.shape[-1]
        assert page["canvas"]["height"] == whole.shape[-2]
        assert page["canvas"]["first"][3] == 255
        first = whole.reshape(-1, *whole.shape[-2:])[0]
        assert len(page["rows"]) == len(first)
        weights = [float(weight) for weight, _ in page["bars"]]
        best = np.sort(first[0][first[0] > 0])[::-1][:8]
        np.testing.assert_allclose(weights, best, atol=1e-4)
        assert page["heads"] == ([f"head {n}" for n in range(6)] if whole.ndim == 4 else [])
    first = recording.records()[0]
    queries = first.axes[2].labels
    keys = first.axes[3].labels
    assert queries is not None
    assert keys is not None

    def told(query: int, key: int) -> str:
        weight = first.to_numpy()[0, 0, query, key]
        return f"query “{queries[query]}” → key “{keys[key]}”: {weight:.4f}"

    places = [(0, 10), (1, 10), (2, 10), (2, 9), (0, 9), (0, 0), (0, 0)]
    assert said["keys"] == [told(*place) for place in places]
    assert said["pressed"] == told(4, 3)
    assert said["focused"] == "head 5"
    last = said["lastHead"]
    row = first.to_numpy()[0, 5, 4]
    np.testing.assert_allclose(
        [float(weight) for weight, _ in last["bars"]], np.sort(row[row > 0])[::-1][:8], atol=1e-4
    )
    assert {name for _, name in last["bars"]} <= set(keys)


def test_without_out_the_browser_is_opened(attnlens_here: Here, saved: str) -> None:
    opened: list[str] = []
    attnlens_here.patch.setattr(webbrowser, "open", lambda where: not opened.append(where))
    path = Path(attnlens_here.good("view", saved).strip())
    assert opened == [path.as_uri()]
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    path.unlink()
    path = Path(attnlens_here.good("view", saved, "--no-browser").strip())
    assert len(opened) == 1
    path.unlink()


def test_the_json_tells_the_same(attnlens_here: Here, saved: str) -> None:
    data = json.loads(attnlens_here.good("view", saved, "--json"))
    assert data["recording"] == "r.safetensors"
    assert [(one["site"], one["call"], one["kept"]) for one in data["sites"]] == [
        ("lazy", 0, "lazy"),
        ("all", 0, "all"),
        ("rows", 0, "2 rows"),
        ("top", 0, "top 4"),
        ("top", 1, "top 4"),
        ("gate", 0, "all"),
    ]
    assert data["sites"][0]["axes"][2] == {
        "name": "query",
        "size": 7,
        "labels": list(QUERY_NAMES),
    }
    assert data["sites"][2]["rows"] == [2, 6]
    assert [row["head"] for row in data["rows"]] == list("012345")
    row = data["rows"][3]
    assert (row["batch"], row["query"], row["position"]) == ("0", "47.1", 6)
    assert row["entropy_nats"] == pytest.approx(entropy(WHOLE[0, 3, 6]), abs=1e-5)
    for one in row["strongest"]:
        assert one["key"] == KEY_NAMES[one["position"]]
        assert one["weight"] == pytest.approx(WHOLE[0, 3, 6, one["position"]], abs=1e-6)
    asked = ("--site", "rows", "--query", "46.3", "--batch", "1")
    rows = json.loads(attnlens_here.good("view", saved, "--json", *asked))["rows"]
    assert {(row["batch"], row["position"]) for row in rows} == {("1", 2)}
    top = json.loads(attnlens_here.good("view", saved, "--json", "--site", "top"))
    assert {row["call"] for row in top["rows"]} == {0, 1}
    assert all(row["entropy_nats"] is None for row in top["rows"])
    low, high = top["rows"][0]["entropy_bounds"]
    assert low <= high


CASES = [
    (("nowhere.safetensors",), "attnlens: nowhere.safetensors: cannot be read as a recording"),
    (("r.safetensors", "--site", "x"), "no attention recorded at 'x'; choose of lazy, all, rows"),
    (("r.safetensors", "--site", "lazy", "--head", "6"), "lazy: head 6 is out of range; there"),
    (("r.safetensors", "--site", "lazy", "--query", "x"), "lazy: no query is called 'x'; there"),
    (("r.safetensors", "--site", "gate", "--head", "0"), "no record has an axis 'head'; leave"),
    (("r.safetensors", "--top", "0"), "--top 0 is no number of keys; give 1 or more"),
    (("r.safetensors", "--out", "no/where.html"), "no/where.html: its folder does not exist"),
    (("text.txt",), "attnlens: text.txt: cannot be read as a recording"),
]


@pytest.mark.parametrize(("words", "said"), CASES)
def test_bad_input_is_one_line(
    attnlens_here: Here, saved: str, words: tuple[str, ...], said: str
) -> None:
    Path("text.txt").write_text("no recording", encoding="utf-8")
    answer = attnlens_here("view", *words)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert attnlens_here.files() == [saved, "text.txt"]


def test_it_runs_as_a_process(tmp_path: Path) -> None:
    every_kind().save(tmp_path / "r.safetensors")
    answer = run_process(tmp_path, "view", "r.safetensors", "--json", "--site", "gate")
    assert (answer.status, answer.err) == (0, "")
    assert json.loads(answer.out)["sites"][0]["axes"][0]["name"] == "ball"
