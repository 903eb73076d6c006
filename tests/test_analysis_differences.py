"""Differences of recordings against scipy and whole matrices; what does not align is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from recording_cases import (
    AXES,
    KEY_NAMES,
    QUERY_NAMES,
    lazy_record,
    rows_record,
    top_record,
    whole_record,
)
from scipy.spatial.distance import jensenshannon

from attnlens.analysis import compare, difference
from attnlens.analysis import focus as focus_module
from attnlens.errors import InputError
from attnlens.recording.axes import Axis
from attnlens.recording.record import AttentionRecord
from attnlens.recording.recording import Recording

NAMES = tuple("abcdefghijk")


def test_rows_differ_as_scipy_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(focus_module, "BLOCK_CELLS", 2 * 6 * 11 * 3)  # three queries at a time
    before, after = whole_record(seed=1), lazy_record(seed=2)
    one, other = before.to_numpy().astype(float), after.to_numpy().astype(float)
    for first, second in (
        (before, after),
        (lazy_record(seed=1), after),
        (before, whole_record(seed=2)),
    ):
        found = difference(first, second)
        assert found.total_variation.shape == found.divergence.shape == (2, 6, 7)
        for place in itertools.product(range(2), range(6), range(7)):
            if not one[place].any() or not other[place].any():
                assert math.isnan(found.total_variation[place])
                assert math.isnan(found.divergence[place])
                continue
            expected = np.abs(one[place] - other[place]).sum() / 2
            assert found.total_variation[place] == pytest.approx(expected, abs=1e-6)
            apart = jensenshannon(one[place], other[place]) ** 2
            assert found.divergence[place] == pytest.approx(apart, abs=1e-6)
        np.testing.assert_allclose(
            found.by_head, np.nanmean(found.total_variation, axis=(0, 2)), atol=1e-12
        )
    assert np.isnan(difference(before, after).total_variation).any(), "some rows pay nothing"


def test_the_cells_that_moved_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(focus_module, "BLOCK_CELLS", 2 * 6 * 11 * 2)
    before = whole_record(seed=1).labelled(query=QUERY_NAMES, key=NAMES)
    after = lazy_record(seed=2).labelled(query=QUERY_NAMES, key=NAMES)
    for first, second in ((before, after), (after, before)):
        change = second.to_numpy().astype(float) - first.to_numpy()
        moved = difference(first, second).most_moved(25)
        order = np.argsort(-np.abs(change).ravel(), kind="stable")[:25]
        assert len(moved) == 25
        for one, flat in zip(moved, order, strict=True):
            batch, head, query, key = np.unravel_index(flat, change.shape)
            assert one.places == (
                ("batch", str(batch)),
                ("head", str(head)),
                ("query", QUERY_NAMES[query]),
                ("key", NAMES[key]),
            )
            assert one.change == pytest.approx(change[batch, head, query, key], abs=1e-6)
            assert one.after - one.before == one.change
    assert difference(before, before).most_moved() == ()
    with pytest.raises(InputError, match="the 0 cells"):
        difference(before, after).most_moved(0)


def test_labels_in_another_order_are_put_side_by_side() -> None:
    before = whole_record(seed=1).labelled(query=QUERY_NAMES, key=NAMES)
    turned = before.isel(key=list(range(11))[::-1], query=[3, 1, 0, 2, 6, 5, 4])
    found = difference(before, turned)
    assert np.nanmax(found.total_variation) == 0
    assert found.second.axes[3].labels == NAMES
    # By place they would differ.
    plain = turned.replaced(axes=AXES, rows=None)
    assert np.nanmax(difference(before.replaced(axes=AXES), plain).total_variation) > 0.1


def test_only_what_aligns_is_compared() -> None:
    whole = whole_record()
    named = whole.labelled(key=NAMES)
    cases = [
        (named, whole.labelled(key=(*NAMES[::-1][:-1], "z")), "the positions of key do not align"),
        (
            whole.labelled(key=KEY_NAMES),
            whole.labelled(key=KEY_NAMES[::-1]),
            "number 1 is 'cat' in the first and '</script>' in the second",
        ),
        (whole, whole.isel(head=[0, 1]), "6 positions of head and 2 do not align; select what"),
        (whole, rows_record(), "7 positions of query and 2 do not align"),
        (rows_record(), whole.isel(query=[2, 5]), "number 1 is '6' in the first and '5' in the"),
        (whole, top_record(), "top: only the strongest keys were kept"),
        (
            whole,
            AttentionRecord("all", 0, whole.weights[0], AXES[1:]),
            r"axes (batch, head, query, key) and (head, query, key) do not align",
        ),
    ]
    for first, second, said in cases:
        with pytest.raises(InputError) as caught:
            difference(first, second)
        assert said in str(caught.value)
    part = whole.isel(query=[2, 6])
    assert np.nanmax(difference(rows_record(), part).total_variation) < 1e-6
    assert (
        np.nanmax(difference(part.labelled(query=["x", "y"]), rows_record()).total_variation) < 1e-6
    )


def test_sites_and_calls_must_be_the_same() -> None:
    one = Recording([whole_record("a"), whole_record("b"), whole_record("b").replaced(call=1)])
    other = Recording([whole_record("a", seed=3), whole_record("b"), whole_record("c")])
    with pytest.raises(InputError) as caught:
        compare(one, other)
    assert str(caught.value) == (
        "the first recording has no site 'c'; it has a, b; name those to compare with sites=[...]"
    )
    with pytest.raises(InputError, match="b: calls do not align: 2 in the first recording, 1 in"):
        compare(one, other, sites=["a", "b"])
    with pytest.raises(InputError, match="the second recording has no site 'x'"):
        compare(Recording([whole_record("x")]), other, sites=["x"])
    (found,) = compare(one, other, sites=["a"])
    assert (found.site, found.call) == ("a", 0)
    gate = AttentionRecord("g", 0, torch.tensor([[0.5, 0.5]]), (Axis("ball"), Axis("scale")))
    moved = difference(gate, gate.replaced(weights=torch.tensor([[0.75, 0.25]])))
    assert moved.total_variation.tolist() == [0.25]
    assert [one.places for one in moved.most_moved(1)] == [(("ball", "0"), ("scale", "0"))]
    with pytest.raises(InputError, match="g: no axis 'head'; axes: ball"):
        _ = moved.by_head
