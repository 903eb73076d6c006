"""Rows, largest weights, lazy attention, folders: parts of what whole recording tells."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from attention_cases import Calls, encoder, reference, tensors
from command_line import HANG, REPOSITORY
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_cases import same
from refused import refused
from torch import Tensor, nn

import attnlens.recording.capture as capture
import attnlens.recording.save as save
from attnlens.errors import InputError, RecordingError
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.lazy import largest
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.recording import Recording, load_recording


def recorded(*inputs: Any, mode: dict[str, Any], **named: Any) -> AttentionRecord:
    model = Calls()
    with record(model, expected=1, **mode) as recording:
        model(*inputs, **named)
    return recording["Calls"]


@settings(max_examples=80)
@given(st.integers(1, 700), st.floats(0, 1), st.integers(0, 2**16), st.booleans())
def test_the_largest_are_the_largest(columns: int, share: float, seed: int, ties: bool) -> None:
    (rows,) = tensors(3, columns, seed=seed)
    if ties:
        rows = rows.round()
        rows[0, columns // 2 :] = -torch.inf
    k = max(1, round(share * columns))
    values, places = largest(rows, k)
    assert torch.equal(values, rows.topk(k).values)
    assert torch.equal(rows.gather(1, places), values)
    assert all(len(set(line.tolist())) == k for line in places)


@pytest.mark.parametrize("cells", [64, 1 << 21])
@pytest.mark.parametrize("seen", ["all", "causal", "some", "added", "grouped"])
@pytest.mark.parametrize("k", [1, 5, 23])
def test_the_largest_weights_and_what_is_left(
    k: int, seen: str, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnlens.recording.lazy._BUFFER_CELLS", cells)
    keys = 2 if seen == "grouped" else 4
    (q,), (kk, v) = tensors(3, 4, 37, 16), tensors(3, keys, 41, 16, seed=1, many=2)
    mask: Tensor | None = None
    if seen == "some":
        mask = torch.rand(3, 1, 37, 41, generator=torch.Generator().manual_seed(2)) > 0.5
        mask[1, :, 6] = False
    elif seen == "added":
        (mask,) = tensors(4, 37, 41, seed=2)
    named = {"is_causal": seen == "causal", "enable_gqa": seen == "grouped"}
    entry = recorded(q, kk, v, mask, mode={"top_k": k}, **named)
    whole = torch.from_numpy(reference(q, kk, mask, seen == "causal")).float()
    assert entry.keys.dtype == torch.int32
    assert entry.key_count == 41
    torch.testing.assert_close(entry.weights, whole.topk(k).values, atol=2e-5, rtol=0)
    at_keys = whole.gather(-1, entry.keys.long())
    torch.testing.assert_close(entry.weights, at_keys, atol=2e-5, rtol=0)
    left = whole.sum(-1) - at_keys.sum(-1)
    torch.testing.assert_close(entry.residual, left, atol=2e-5, rtol=0)
    each = entry.keys.sort(-1).values
    assert not (each.diff(dim=-1) == 0).any()


@pytest.mark.parametrize("seen", ["all", "causal", "causal, few keys", "-inf", "lowest number"])
def test_whole_weights_block_by_block(seen: str) -> None:
    """150 queries are three blocks: whole, and by log-sum-exp, as by hand in float64."""
    q, k, v = tensors(2, 3, 150, 16, many=3)
    mask: Tensor | None = None
    if seen in ("-inf", "lowest number"):
        (mask,) = tensors(150, 150, seed=2)
        least = -torch.inf if seen == "-inf" else torch.finfo(torch.float32).min
        mask = mask.masked_fill(mask > 1, least)
        mask[70] = least
    causal = seen.startswith("causal")
    keys = 70 if "few" in seen else 150
    k, v = k[:, :, :keys], v[:, :, :keys]
    whole = torch.from_numpy(reference(q, k, mask, causal)).float()
    for mode in ({"rows": slice(None)}, {"top_k": keys}, {"lazy": True}):
        entry = recorded(q, k, v, mask, mode=mode, is_causal=causal)
        weights = entry.weights
        if entry.keys is not None:
            weights = torch.zeros(whole.shape).scatter_(3, entry.keys.long(), weights)
        # Of a row all lowest numbers torch's kernel and softmax see only these; float64 sees more.
        rows = [at for at in range(150) if seen != "lowest number" or at != 70]
        torch.testing.assert_close(weights[:, :, rows], whole[:, :, rows], atol=1e-6, rtol=0)
        if seen == "lowest number":
            torch.testing.assert_close(weights[:, :, 70].sum(-1), torch.ones(2, 3))


def test_memory_of_weights_that_nobody_holds_is_used_again() -> None:
    q, k, v = tensors(1, 2, 97, 8, many=3)
    entry = recorded(q, k, v, mode={}, is_causal=True)
    place, expected = entry.weights.data_ptr(), entry.weights.clone()
    part = entry.weights[0, 1]  # holds the memory as the whole does
    del entry
    other = recorded(-q, k, v, mode={})
    assert other.weights.data_ptr() != place
    assert torch.equal(part, expected[0, 1])
    del part
    again = recorded(q, k, v, mode={}, is_causal=True)
    assert again.weights.data_ptr() == place
    assert torch.equal(again.weights, expected)
    torch.testing.assert_close(other.weights, torch.from_numpy(reference(-q, k)).float())


def test_no_more_memory_waits_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "_MOST_BYTES", 1000)
    monkeypatch.setattr(capture, "_idle", {})
    kind = torch.float32, torch.device("cpu")
    kept = [capture.zeros((size,), *kind) for size in (90, 90, 120)]
    assert not any(zeros.any() for zeros in kept)
    kept.clear()
    assert 360 <= sum(size * len(some) for size, some in capture._idle.items()) <= 1000
    assert capture.empty((300,), *kind).shape == (300,)
    assert 1200 not in capture._idle


@pytest.mark.parametrize("rows", [0, -1, [5, 1, -7], slice(2, None, 2), slice(-2, None), range(3)])
def test_rows(rows: Any) -> None:
    kept = np.atleast_1d(np.arange(7)[rows]).tolist()
    q, k, v = tensors(2, 3, 7, 8, many=3)
    (bias,) = tensors(1, 3, 7, 7, seed=5)
    for mask in (None, bias, bias > 0):
        entry = recorded(q, k, v, mask, mode={"rows": rows})
        whole = torch.from_numpy(reference(q, k, mask)).float()[:, :, kept]
        torch.testing.assert_close(entry.weights, whole, atol=2e-5, rtol=0)
        assert entry.rows == tuple(kept)
        if mask is bias:
            again = (entry.content + entry.bias).softmax(-1)
            torch.testing.assert_close(again, whole, atol=2e-5, rtol=0)
    everything = recorded(q, k, v, mode={"rows": slice(None)})
    assert everything.rows is None
    assert everything.weights.shape == (2, 3, 7, 7)
    for mode in ({}, {"top_k": 3}, {"rows": 2}):
        half = recorded(q, k, v, mode={"dtype": torch.float16, **mode}).weights
        kept_whole = recorded(q, k, v, mode=dict(mode)).weights
        assert (half.dtype, kept_whole.dtype) == (torch.float16, torch.float32)
        torch.testing.assert_close(half.float(), kept_whole, atol=1e-3, rtol=0)


def test_content_and_bias_where_keys_are_hidden() -> None:
    q, k, v = tensors(1, 2, 4, 8, many=3)
    hidden = torch.ones(4, 4, dtype=torch.bool).triu(1)
    (bias,) = tensors(1, 2, 4, 4, seed=5)
    for least in (-torch.inf, torch.finfo(torch.float32).min):
        entry = recorded(q, k, v, bias.masked_fill(hidden, least), mode={})
        assert entry.content.isfinite().all()
        assert torch.equal(entry.bias == -torch.inf, hidden.expand(1, 2, 4, 4))
        product = (q @ k.transpose(-1, -2)) / 8**0.5
        torch.testing.assert_close(entry.content, product)
        torch.testing.assert_close((entry.content + entry.bias).softmax(-1), entry.weights)
        only_hides = recorded(q, k, v, torch.zeros(4, 4).masked_fill(hidden, least), mode={})
        assert only_hides.content is None
        assert only_hides.bias is None


def test_size_decides_where_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    model, small = Calls(), tensors(1, 1, 70, 4, many=3)
    monkeypatch.setattr(capture, "WHOLE_CALL_BYTES", 70 * 70 * 4)
    with record(model) as recording:
        model(*small)
        model(*tensors(1, 1, 71, 4, many=3))
    kept = [entry.shape[-1] for entry in recording.calls("Calls")]
    assert kept == [70, 64]
    few, notes = (entry.notes for entry in recording.calls("Calls"))
    assert few == ()
    assert "the 64 largest weights of each row were kept" in notes[0]
    assert "rows=slice(None)" in notes[0]
    assert len(notes) == 1
    with record(model, rows=slice(None)) as recording:
        model(*tensors(1, 1, 71, 4, many=3))
    assert recording["Calls"].shape == (1, 1, 71, 71)


class Looks(nn.Module):
    """Weights through a probe with logits told, and through one of other axes."""

    def __init__(self) -> None:
        super().__init__()
        self.probe = AttentionProbe()
        self.odd = AttentionProbe(("slot", "share"))

    def forward(self, weights: Tensor) -> Tensor:
        seen: Tensor = self.probe(weights, content=weights.log(), bias=weights * 2)
        self.odd(weights[0, 0])
        return seen


def test_probes_keep_rows_and_largest_weights_too() -> None:
    model, found = Looks(), {}
    weights = tensors(2, 3, 5, 7)[0].softmax(-1)
    for mode in ("rows", "top_k", "lazy"):
        with record(model, **{mode: {"rows": [-1, 0], "top_k": 2, "lazy": True}[mode]}) as made:
            model(weights)
        found[mode] = made["probe"]
        assert torch.equal(made["odd"].weights, weights[0, 0])
        assert any("no axis is called query" in n for n in made["odd"].notes) == (mode == "rows")
    kept = weights[:, :, [4, 0]]
    assert found["rows"].rows == (4, 0)
    for part, expected in (("weights", kept), ("content", kept.log()), ("bias", kept * 2)):
        assert torch.equal(getattr(found["rows"], part), expected)
    assert torch.equal(found["top_k"].weights, weights.topk(2).values)
    torch.testing.assert_close(found["top_k"].residual, 1 - weights.topk(2).values.sum(-1))
    assert torch.equal(found["lazy"].weights, weights)
    assert any("all weights were recorded" in note for note in found["lazy"].notes)


@pytest.mark.parametrize("mode", [{}, {"rows": [1]}, {"top_k": 3}, {"lazy": True}])
def test_a_folder_holds_what_memory_would(
    mode: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save, "_PART_BYTES", 1500)
    model = encoder(3).train()
    (x,) = tensors(2, 6, 12)
    folder = tmp_path / "recording"

    def run(**options: Any) -> Recording:
        torch.manual_seed(1)
        with record(model, **mode, **options) as recording:
            model(x)
            model(x[:, :4])
        return recording

    streamed = run(to=folder)
    for other in (run(), load_recording(folder)):
        assert list(other) == list(streamed)
        for one, again in zip(streamed.records(), other.records(), strict=True):
            same(one, again)
    index = json.loads((folder / "recording.json").read_text(encoding="utf-8"))
    parts = [part["file"] for part in index["parts"]]
    assert len(parts) > 1 or "rows" in mode
    assert sorted(path.name for path in folder.iterdir()) == sorted([*parts, "recording.json"])
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_cannot_be_or_was_not_finished(tmp_path: Path) -> None:
    def run(to: Path, reason: type[BaseException] | None = None, **options: Any) -> None:
        with record(model := Calls(), to=to, **options):
            model(*tensors(1, 2, 4, 4, many=3))
            if reason:
                raise reason

    assert "already exists; give the name of a folder that does not exist yet" in refused(
        InputError, run, tmp_path
    )
    nowhere = tmp_path / "a" / "b"
    assert "its folder does not exist" in refused(InputError, run, nowhere)
    for reason in (KeyboardInterrupt, ValueError):
        with pytest.raises(reason):
            run(tmp_path / "new", reason)
    refused(RecordingError, run, tmp_path / "new", expected=2)
    assert list(tmp_path.iterdir()) == []


MEASURE = """
import resource, sys, torch
from torch import nn
import torch.nn.functional as F
from attnlens.recording import record
torch.set_num_threads(1)

class Calls(nn.Module):
    def forward(self, q):
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

model = Calls()
q = torch.randn(1, 1, 6144, 16)
with torch.no_grad(), record(model, top_k=2) as recording:
    model(q[:, :, :1024])
before = peak()
with torch.no_grad(), record(model, top_k=8) as recording:
    model(q)
print(peak() - before, tuple(recording["Calls"].shape))
"""


def test_the_largest_weights_never_need_a_whole_matrix() -> None:
    pytest.importorskip("resource")
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": "", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE]
    told = subprocess.check_output(command, text=True, timeout=HANG, env=environment)
    grown, shape = told.strip().split(" ", 1)
    assert shape == "(1, 1, 6144, 8)"
    # A whole matrix would be 144 MiB.
    assert float(grown) < 72
