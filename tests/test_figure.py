"""The figure of a record: its weights, its one scale, and what it says where it cannot be made."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from needed import skip_without
from recording_cases import AXES, top_record, whole_record
from test_view_command import planted_sink

import attnlens
from attnlens.errors import InputError

skip_without("plotly")


def test_every_head_is_drawn_with_its_weights_on_one_scale() -> None:
    record = whole_record().labelled(query=[f"Ġw{n % 3}" for n in range(7)])
    drawn = attnlens.figure(record.sel(batch=1))
    whole = record.to_numpy()[1]
    assert len(drawn.data) == 6
    for one, weights in zip(drawn.data, whole, strict=True):
        np.testing.assert_array_equal(one.z, weights)
        assert one.coloraxis == "coloraxis"
        assert list(one.y) == ["w0 · 0", "w1 · 1", "w2 · 2", "w0 · 3", "w1 · 4", "w2 · 5", "w0 · 6"]
        assert list(one.x) == [str(key) for key in range(11)]
    titles = sorted(one.text for one in drawn.layout.annotations)
    assert titles == [f"batch 1, head {n}" for n in range(6)]
    assert drawn.layout.title.text == "all"
    rows = attnlens.figure(top_record().sel(batch=0, head=[4]))
    np.testing.assert_array_equal(rows.data[0].z, top_record().to_numpy()[0, 4])


def test_the_scale_ends_where_sinks_begin() -> None:
    drained = planted_sink().sel(head=0)
    scale = attnlens.figure(drained).layout.coloraxis
    outside = np.delete(drained.to_numpy()[0, 0], 2, 1)
    # The first query sees but itself, so all it pays is no sink's.
    assert scale.cmax == pytest.approx(outside.max()) == 1
    most = attnlens.figure(drained.sel(query=slice(3, 12))).layout.coloraxis
    assert most.cmax == pytest.approx(outside[3:].max())
    assert most.cmax < 0.11
    assert "sinks: more" in most.colorbar.title.text
    # A quarter of the darkest has the colour of half the way: the square root.
    stops = dict(scale.colorscale)
    assert stops[0.25] == "rgb(107, 174, 214)"
    assert (
        attnlens.figure(planted_sink().sel(head=1)).layout.coloraxis.colorbar.title.text == "weight"
    )


def test_names_are_no_markup() -> None:
    names = ("<b>", "<a href='x'>", "plain", "&", *"abcdefg")
    drawn = attnlens.figure(whole_record(site="<i>").sel(head=0, batch=0).labelled(key=names))
    assert list(drawn.data[0].x)[:4] == ["&lt;b&gt;", "&lt;a href='x'&gt;", "plain", "&amp;"]
    assert drawn.layout.title.text == "&lt;i&gt;"


def test_what_is_no_figure_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="one record, but got a Recording; give recording"):
        attnlens.figure(attnlens.Recording([whole_record()]))  # type: ignore[arg-type]
    many = attnlens.AttentionRecord("a", 0, torch.zeros(5, 13, 2, 2), AXES)
    with pytest.raises(InputError, match=r"65 heat maps with 260 weights.*select some"):
        attnlens.figure(many)
    none = attnlens.AttentionRecord("a", 0, torch.zeros(1, 1, 0, 3), AXES)
    with pytest.raises(InputError, match="a: the record contains no weights"):
        attnlens.figure(none)
    monkeypatch.setitem(sys.modules, "plotly.express", None)
    with pytest.raises(InputError, match="is not installed; run: pip install plotly"):
        attnlens.figure(whole_record())
