"""Parts, arrays, tables and text of records of every kind, against their whole weights."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_cases import (
    AXES,
    BATCH,
    HEADS,
    KEY_NAMES,
    KEYS,
    QUERIES,
    QUERY_NAMES,
    every_kind,
    lazy_attention,
    lazy_record,
    rows_record,
    top_record,
    whole_record,
)
from refused import refused

from attnlens.errors import RecordingError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.recording import Recording

WHOLE = lazy_attention().weights()


def picked(batch: list[int], head: list[int], query: list[int], key: list[int]) -> torch.Tensor:
    return WHOLE[batch][:, head][:, :, query][..., key]


PLACES = {
    "batch": st.lists(st.integers(0, BATCH - 1), min_size=1, max_size=3),
    "head": st.lists(st.integers(0, HEADS - 1), min_size=1, max_size=4),
    "query": st.lists(st.integers(0, QUERIES - 1), min_size=1, max_size=4),
    "key": st.lists(st.integers(0, KEYS - 1), min_size=1, max_size=5, unique=True),
}
ALL = {"batch": BATCH, "head": HEADS, "query": QUERIES, "key": KEYS}


@settings(max_examples=25, deadline=None)
@given(data=st.data(), names=st.sets(st.sampled_from(sorted(PLACES))))
def test_positions_of_every_kind_are_indexing(data: st.DataObject, names: set[str]) -> None:
    chosen = {name: data.draw(PLACES[name], label=name) for name in sorted(names)}
    expected = picked(**{name: chosen.get(name, list(range(size))) for name, size in ALL.items()})
    whole, lazy = (make().sel(**chosen) for make in (whole_record, lazy_record))
    assert torch.equal(whole.weights, expected)
    torch.testing.assert_close(lazy.weights, expected)
    assert (lazy.lazy is None) == bool({"query", "key"} & names & _changed(chosen))
    # Of a top-k record its keys stay all.
    chosen_of_top = {name: places for name, places in chosen.items() if name != "key"}
    indices = [chosen_of_top.get(name, list(range(size))) for name, size in ALL.items()]
    part, top = top_record().sel(**chosen_of_top).to_numpy(), top_record().to_numpy()
    np.testing.assert_array_equal(part, top[np.ix_(*indices)])
    for record in (whole, lazy):
        rows = chosen.get("query")
        assert record.rows == (tuple(rows) if rows and "query" in _changed(chosen) else None)
        for axis in record.axes:
            if axis.name in _changed(chosen) - {"query"}:
                assert axis.labels == tuple(map(str, chosen[axis.name]))
            else:
                assert axis.labels is None


def _changed(chosen: dict[str, list[int]]) -> set[str]:
    return {name for name, places in chosen.items() if places != list(range(ALL[name]))}


def test_labels_stand_for_every_position_that_is_called_so() -> None:
    for record in every_kind().records():
        if record.axes[-1].labels == KEY_NAMES and record.keys is None:
            part = record.sel(key="the")
            assert part.axes[-1].labels == ("the", "the", "the")
            np.testing.assert_array_equal(part.to_numpy(), record.to_numpy()[..., [0, 4, 10]])
            one = record.sel(key=["mat", 1, -1])
            assert one.axes[-1].labels == ("mat", "cat", "the")
    record = lazy_record().labelled(query=QUERY_NAMES, key=KEY_NAMES)
    part = record.sel(query="47.1", head=1)
    assert part.shape == (BATCH, 1, 1, KEYS)
    assert part.rows == (6,)
    assert [axis.labels for axis in part.axes] == [None, ("1",), ("47.1",), KEY_NAMES]
    torch.testing.assert_close(part.weights, WHOLE[:, 1:2, 6:])


def test_numbers_are_places_and_texts_are_names_also_without_labels() -> None:
    rows = rows_record()
    assert rows.sel(query="6").rows == rows.sel(query=1).rows == rows.sel(query=-1).rows == (6,)
    assert torch.equal(rows.sel(query="6").weights, rows.weights[:, :, 1:])
    part = whole_record().sel(head=[4, 2]).sel(head="2")
    assert torch.equal(part.weights, WHOLE[:, 2:3])
    assert torch.equal(part.sel(query=np.int64(3)).weights, WHOLE[:, 2:3, 3:4])
    assert torch.equal(part.sel(query=torch.tensor([3, 1])).weights, WHOLE[:, 2:3, [3, 1]])
    digits = whole_record().labelled(query=[str(9 - place) for place in range(QUERIES)])
    assert digits.sel(query="9").rows == digits.sel(query=0).rows == (0,)


def test_logits_go_along() -> None:
    record = whole_record()
    part = record.sel(head=[3, 1], key=[5, 0], query=2)
    assert torch.equal(part.content, record.content[:, [3, 1]][:, :, 2:3][..., [5, 0]])
    assert torch.equal(part.bias, record.bias[:, [3, 1]][..., [5, 0]])


def test_a_long_lazy_record_forms_only_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    q, k = torch.randn(1, 4, 9000, 8), torch.randn(1, 2, 9000, 8)
    lazy = LazyAttention(q, k, 0.3, causal=True)
    formed: list[int] = []
    honest = LazyAttention.logits
    monkeypatch.setattr(
        LazyAttention,
        "logits",
        lambda self, rows=None: formed.append(len(rows or q[0, 0])) or honest(self, rows),
    )
    record = AttentionRecord.of_lazy("long", 0, lazy, AXES)
    part = record.sel(head=3, query=["8999", "17"])
    assert formed == [2]
    expected = q[0, 3, [8999, 17]] @ k[0, 1].T * 0.3
    expected[1, 18:] = -torch.inf
    torch.testing.assert_close(part.weights[0, 0], expected.softmax(-1))


CHOICES: list[dict[str, Any]] = [
    {"ball": 1}, {"key": "dog"}, {"query": "7"}, {"head": 6}, {"head": -7}, {"head": []},
    {"head": True}, {"head": 1.0}, {"head": None}, {"head": np.ones(6, bool)},
    {"head": slice(1.5, None)},
]  # fmt: skip


def test_what_is_not_there_is_told_with_what_is(snapshot: Any) -> None:
    record = whole_record().labelled(key=KEY_NAMES)
    assert [refused(RecordingError, record.sel, **choice) for choice in CHOICES] == snapshot


TWICE = AttentionRecord("a", 0, torch.rand(3, 3), (Axis("ball"), Axis("ball")))


def test_names_must_be_of_one_axis_with_all_its_keys(snapshot: Any) -> None:
    many = AttentionRecord("a", 0, torch.rand(40), (Axis("key"),))
    cases = [(TWICE, {"ball": 0}), (top_record(), {"key": [1, 1]}), (many, {"key": "x"})]
    assert [refused(RecordingError, record.sel, **choice) for record, choice in cases] == snapshot


def test_labels_go_to_every_record_that_they_fit() -> None:
    recording = Recording([whole_record(), lazy_record(), rows_record(), top_record()])
    named = recording.labelled(query=QUERY_NAMES, key=KEY_NAMES)
    assert named["rows"].axes[2].labels == ("46.3", "47.1")
    assert {record.axes[3].labels for record in named.records()} == {KEY_NAMES}
    assert named["lazy"].lazy is recording["lazy"].lazy
    assert recording["all"].axes[3].labels is None
    only = recording.labelled(query=["a", "b"])
    assert [one.axes[2].labels for one in only.records()] == [None, None, ("a", "b"), None]
    told = "1 labels for 'key' fit no record; the axes and their sizes are 'key 11'"
    assert told in refused(RecordingError, recording.labelled, key=["a"])
    assert "fit no record" in refused(RecordingError, recording.labelled, ball=["a"])


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


def test_what_is_too_much_is_refused_with_a_way_out(snapshot: Any) -> None:
    record = lazy_record()
    assert len(record.sel(head=0).to_pandas(max_rows=900)) == 154
    q = torch.zeros(1, 1, 1, 4).expand(1, 32, 40_000, 4)
    long = AttentionRecord.of_lazy("long", 0, LazyAttention(q, q, 1.0), AXES)
    cases: list[tuple[Any, dict[str, int]]] = [
        (record.to_pandas, {"max_rows": 900}),
        (every_kind().to_pandas, {"max_rows": 2000}),
        (Recording().to_pandas, {}),
        (long.to_numpy, {}),
        (long.to_pandas, {}),
        (TWICE.to_pandas, {}),
    ]
    assert [refused(RecordingError, work, **options) for work, options in cases] == snapshot


def test_a_recording_is_told_on_one_screen(snapshot: Any) -> None:
    assert [repr(every_kind()), repr(rows_record())] == snapshot
    gate = AttentionRecord("g", 0, torch.rand(3), (Axis("key"),), notes=("\x1b[2J" + "x" * 999,))
    many = Recording([gate.replaced(site=f"layer.{number}\x1b[31m") for number in range(300)])
    lines = repr(many).splitlines()
    assert len(lines) == 23
    assert lines[21] == "  … 280 more"
    assert all(line.isprintable() and len(line) < 420 for line in lines)


def test_axes_that_do_not_fit_are_refused(snapshot: Any) -> None:
    weights = torch.zeros(2, 5, 6)
    short = (Axis("head"), Axis("ball", tuple("abcdf")))
    entry = AttentionRecord("enc.0", 0, weights, (Axis("head"), Axis("query"), Axis("key")))
    named = entry.labelled(query=list("vwxyz"))
    assert named.axes == (Axis("head"), Axis("query", tuple("vwxyz")), Axis("key"))
    assert [
        refused(RecordingError, AttentionRecord, "enc.0", 0, weights, short),
        refused(RecordingError, entry.labelled, key=["a", "b"]),
        refused(RecordingError, entry.labelled, ball=["a"]),
    ] == snapshot
