"""Records as arrays, tables and text against their weights, cell by cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from recording_cases import (
    AXES,
    KEY_NAMES,
    QUERY_NAMES,
    every_kind,
    lazy_attention,
    lazy_record,
    rows_record,
    top_record,
    whole_record,
)

from attnlens.errors import NothingRecordedError, RecordingError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.recording import Recording


def test_arrays_are_the_weights() -> None:
    weights = lazy_attention().weights()
    np.testing.assert_array_equal(whole_record().to_numpy(), weights)
    np.testing.assert_array_equal(lazy_record().to_numpy(), weights)
    np.testing.assert_allclose(rows_record().to_numpy(), weights[:, :, [2, 6]], rtol=1e-5)
    assert whole_record().to_numpy().dtype == np.float32
    half = AttentionRecord("half", 0, weights.bfloat16(), AXES)
    np.testing.assert_array_equal(half.to_numpy(), weights.bfloat16().float())
    found = top_record().to_numpy()
    strongest = np.argsort(-weights.numpy(), axis=-1, kind="stable")[..., :4]
    for place in itertools.product(range(2), range(6), range(7)):
        paid = [key for key in strongest[place] if weights[place][key] > 0]
        assert np.flatnonzero(found[place]).tolist() == sorted(paid)
        np.testing.assert_array_equal(found[place][paid], weights[place][paid])


def test_a_table_has_a_row_for_every_weight() -> None:
    record = whole_record().labelled(query=QUERY_NAMES, key=KEY_NAMES)
    table = record.to_pandas()
    assert list(table.columns) == [
        *("site", "call", "batch", "head", "query", "key", "key_position"),
        *("weight", "content", "bias"),
    ]
    assert len(table) == 2 * 6 * 7 * 11
    assert set(table["site"]) == {"all"}
    assert record.content is not None
    assert record.bias is not None
    for row in table.sample(60, random_state=1).itertuples():
        query = QUERY_NAMES.index(row.query)
        at = (row.batch, row.head, query, row.key_position)
        assert KEY_NAMES[row.key_position] == row.key
        assert row.weight == record.weights[at].item()
        assert row.content == record.content[at].item()
        assert row.bias == record.bias[0, row.head, 0, row.key_position].item()
    sums = table.groupby(["batch", "head", "query"])["weight"].sum()
    np.testing.assert_allclose(sums, record.weights.sum(-1).ravel(), atol=1e-6)


def test_rows_keep_their_numbers_and_top_k_is_sparse() -> None:
    rows = rows_record().to_pandas()
    assert sorted(set(rows["query"])) == [2, 6]
    assert list(rows.columns) == ["site", "call", "batch", "head", "query", "key", "weight"]
    top = top_record()
    table = top.to_pandas()
    assert len(table) == int((top.weights > 0).sum()) < top.weights.numel()
    whole = lazy_attention().weights()
    found = whole[tuple(torch.tensor(table[name]) for name in ("batch", "head", "query", "key"))]
    np.testing.assert_array_equal(table["weight"], found)


def test_a_recording_is_one_table() -> None:
    recording = every_kind()
    table = recording.to_pandas()
    assert list(table["site"].unique()) == ["lazy", "all", "rows", "top", "gate"]
    assert len(table) == sum(len(one.to_pandas()) for one in recording.records())
    gate = table[table["site"] == "gate"]
    np.testing.assert_array_equal(gate["weight"], recording["gate"].weights.ravel())
    assert gate["head"].isna().all()
    assert sorted(table[table["site"] == "top"]["call"].unique()) == [0, 1]
    back = table[(table["site"] == "all")].pivot_table("weight", ["batch", "head"], "key_position")
    np.testing.assert_allclose(back, recording["all"].weights.mean(2).reshape(12, 11), atol=1e-6)


def test_what_is_too_much_is_refused_with_a_way_out() -> None:
    record = lazy_record()
    with pytest.raises(RecordingError) as caught:
        record.to_pandas(max_rows=900)
    assert str(caught.value) == (
        "the table would have 924 rows, more than 900; select some heads or queries first "
        "(record.sel), or ask for them with max_rows=924"
    )
    assert len(record.sel(head=0).to_pandas(max_rows=900)) == 154
    with pytest.raises(RecordingError, match="the table would have"):
        every_kind().to_pandas(max_rows=2000)
    with pytest.raises(NothingRecordedError):
        Recording().to_pandas()
    q = torch.zeros(1, 1, 1, 4).expand(1, 32, 40_000, 4)
    long = AttentionRecord.of_lazy("long", 0, LazyAttention(q, q, 1.0), AXES)
    with pytest.raises(RecordingError, match=r"long: the whole of it would be 51,200,000,000 w"):
        long.to_numpy()
    with pytest.raises(RecordingError, match="would have 51,200,000,000 rows"):
        long.to_pandas()
    twice = AttentionRecord("a", 0, torch.rand(3, 3), (Axis("ball"), Axis("ball")))
    with pytest.raises(RecordingError, match="axes ball, ball cannot be columns"):
        twice.to_pandas()


def test_a_recording_is_told_on_one_screen() -> None:
    assert repr(every_kind()).splitlines() == [
        "Recording: 5 sites, 6 calls",
        "  lazy: 1 call, lazy, batch 2, head 6, query 7, key 11",
        "  all: 1 call, all, batch 2, head 6, query 7, key 11",
        "  rows: 1 call, 2 rows, batch 2, head 6, query 2, key 11",
        "  top: 2 calls, top 4, batch 2, head 6, query 7, key 11",
        "  gate: 1 call, all, ball 3, scale 5",
        "  note: before dropout",
        "  note: top 4",
    ]
    assert repr(rows_record()) == (
        "AttentionRecord rows (call 0): 2 rows, float32, batch 2, head 6, query 2, key 11\n"
        "  note: before dropout"
    )
    gate = AttentionRecord("g", 0, torch.rand(3), (Axis("key"),), notes=("\x1b[2J" + "x" * 999,))
    many = Recording([gate.replaced(site=f"layer.{number}\x1b[31m") for number in range(300)])
    lines = repr(many).splitlines()
    assert len(lines) == 23
    assert lines[21] == "  … 280 more"
    assert all(line.isprintable() and len(line) < 420 for line in lines)


def test_axes_that_do_not_fit_are_refused() -> None:
    weights = torch.zeros(2, 5, 6)
    with pytest.raises(RecordingError) as caught:
        AttentionRecord("enc.0", 0, weights, (Axis("head"), Axis("ball", tuple("abcdf"))))
    assert str(caught.value) == "enc.0: axes say (head=?, ball=5), weights have shape (2, 5, 6)"
    entry = AttentionRecord("enc.0", 0, weights, (Axis("head"), Axis("query"), Axis("key")))
    named = entry.labelled(query=list("vwxyz"))
    assert named.axes == (Axis("head"), Axis("query", tuple("vwxyz")), Axis("key"))
    with pytest.raises(RecordingError, match="2 labels for 'key', which has 6; give one for each"):
        entry.labelled(key=["a", "b"])
    with pytest.raises(RecordingError, match="no axis 'ball'; axes: 'head', 'query', 'key'"):
        entry.labelled(ball=["a"])
