"""Parts of records by label and by place, of every kind, against indexing whole weights."""

from __future__ import annotations

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
    np.testing.assert_array_equal(
        top_record().sel(**chosen_of_top).to_numpy(), top_record().to_numpy()[np.ix_(*indices)]
    )
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
    assert record.content is not None
    assert record.bias is not None
    assert part.content is not None
    assert part.bias is not None
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


CASES: list[tuple[dict[str, Any], str]] = [
    ({"ball": 1}, "all: no axis 'ball'; axes: 'batch', 'head', 'query', 'key'"),
    ({"key": "dog"}, "all: no key is called 'dog'; there are 'the', 'cat', 'sat', 'on', 'mat', "),
    ({"query": "7"}, "all: no query is called '7'; there are '0', '1', '2'"),
    ({"head": 6}, "all: head 6 is out of range; there are 6 (0 to 5, or -1 for the last)"),
    ({"head": -7}, "all: head -7 is out of range; there are 6 (0 to 5, or -1 for the last)"),
    ({"head": []}, "all: no head is asked for; give one or more"),
    ({"head": True}, "all: head=True; give a position (0, 1, ... or -1 for the last), a list"),
    ({"head": 1.0}, "all: head=1.0; give"),
    ({"head": None}, "all: head=None; give"),
    ({"head": np.ones(6, bool)}, "; give a position"),
    ({"head": slice(1.5, None)}, "all: head=slice(1.5, None, None); give"),
]


@pytest.mark.parametrize(("choice", "said"), CASES)
def test_what_is_not_there_is_told_with_what_is(choice: dict[str, Any], said: str) -> None:
    with pytest.raises(RecordingError) as caught:
        whole_record().labelled(key=KEY_NAMES).sel(**choice)
    assert said in str(caught.value)


def test_names_must_be_of_one_axis_with_all_its_keys() -> None:
    twice = AttentionRecord("a", 0, torch.rand(3, 3), (Axis("ball"), Axis("ball")))
    with pytest.raises(RecordingError, match="a: more than one axis 'ball'; axes: 'ball'"):
        twice.sel(ball=0)
    with pytest.raises(RecordingError, match="keys cannot be selected"):
        top_record().sel(key=[1, 1])
    many = AttentionRecord("a", 0, torch.rand(40), (Axis("key"),))
    with pytest.raises(RecordingError, match=r"'11' and 28 more$"):
        many.sel(key="x")


def test_labels_go_to_every_record_that_they_fit() -> None:
    recording = Recording([whole_record(), lazy_record(), rows_record(), top_record()])
    named = recording.labelled(query=QUERY_NAMES, key=KEY_NAMES)
    assert named["rows"].axes[2].labels == ("46.3", "47.1")
    assert {record.axes[3].labels for record in named.records()} == {KEY_NAMES}
    assert named["lazy"].lazy is recording["lazy"].lazy
    assert recording["all"].axes[3].labels is None
    only = recording.labelled(query=["a", "b"])
    assert [one.axes[2].labels for one in only.records()] == [None, None, ("a", "b"), None]
    with pytest.raises(RecordingError) as caught:
        recording.labelled(key=["a"])
    assert "1 labels for 'key' fit no record; axes and their sizes: 'key 11'" in str(caught.value)
    with pytest.raises(RecordingError, match="fit no record"):
        recording.labelled(ball=["a"])
