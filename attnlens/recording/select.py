"""Parts of a record, chosen by what positions are called or by where they stand.

Every axis stays, one position long at the least, so a part is a record like any other: whole
rows stay whole rows, the strongest keys stay that, and a lazy record forms only the rows that
are asked for. Where an axis has no labels, its positions are called by their numbers, and a
part keeps those as labels, so that nobody loses sight of where it was taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnlens.errors import RecordingError
from attnlens.recording.axes import Axis, places, positions
from attnlens.words import choices

if TYPE_CHECKING:
    from attnlens.recording.record import AttentionRecord

Choices = Mapping[str, Any]
"""By the name of an axis: labels, positions, lists and slices of them, of any library's kind."""


def _places(record: AttentionRecord, name: str, choice: Any) -> list[int]:
    """Where the positions are, counted from 0, that are called or stand as a choice says."""
    if isinstance(choice, list | tuple):
        return [place for one in choice for place in _places(record, name, one)]
    told = f"{record.site}: {name}"
    if not isinstance(choice, str):
        return places(positions(told, choice), record.sizes[record.place_of(name)], told)
    names = record.names(record.place_of(name))
    found = [place for place, known in enumerate(names) if known == choice]
    if not found:
        raise RecordingError(
            f"{record.site}: no {name} is called {choice!r}; there are {choices(choice, names)}"
        )
    return found


def part_of(record: AttentionRecord, asked: Choices) -> AttentionRecord:
    """The part of a record that `AttentionRecord.sel` describes."""
    last = len(record.axes) - 1
    sizes = record.sizes
    by_place: dict[int, list[int]] = {}
    for name, choice in asked.items():
        place, chosen = record.place_of(name), _places(record, name, choice)
        if not chosen:
            raise RecordingError(f"{record.site}: no {name} is asked for; give one or more")
        if chosen != list(range(sizes[place])):
            by_place[place] = chosen
    axes = tuple(
        _named(axis, record.names(place), by_place[place]) if place in by_place else axis
        for place, axis in enumerate(record.axes)
    )
    rows = record.rows
    if (at := next((p for p in by_place if record.axes[p].name == "query"), None)) is not None:
        rows = tuple(by_place[at] if rows is None else (rows[one] for one in by_place[at]))
    if record.lazy is not None:
        return _of_lazy(record, by_place, axes, rows)
    if record.keys is not None and last in by_place:
        raise RecordingError(
            f"{record.site}: only the strongest keys were kept, so keys cannot be selected; "
            "select of record.to_numpy()"
        )
    parts = {
        name: value
        for name in ("weights", "content", "bias", "keys", "residual")
        if (value := getattr(record, name)) is not None
    }
    for name in parts:
        # The residual has no key axis, so its last axis is the one before the keys.
        ahead = last if name == "residual" else last + 1
        for place, chosen in by_place.items():
            parts[name] = _picked(parts[name], place - ahead, chosen, sizes[place])
    return record.replaced(axes=axes, rows=rows, **parts, **_carried(record, by_place))


def _carried(record: AttentionRecord, by_place: dict[int, list[int]]) -> dict[str, Tensor | None]:
    """Values and outputs of the part, whose third dimension is the key's and the query's."""
    parts = {"values": record.values, "outputs": record.outputs}
    for name, third in (("values", 3), ("outputs", 2)):
        for place, chosen in by_place.items():
            value, dimension = parts[name], {0: 0, 1: 1, third: 2}.get(place)
            if value is not None and dimension is not None:
                parts[name] = _picked(value, dimension - 4, chosen, value.shape[dimension])
    return parts


def _named(axis: Axis, names: tuple[str, ...], chosen: list[int]) -> Axis:
    if axis.labels is None and axis.name == "query":
        return axis  # its rows tell which queries these are
    return Axis(axis.name, tuple(names[place] for place in chosen))


def _picked(value: Tensor, dimension: int, chosen: list[int], size: int) -> Tensor:
    if -dimension > value.dim() or (value.shape[dimension] == 1 and size > 1):
        return value  # the same for every position of that axis
    return value.index_select(dimension, torch.tensor(chosen, device=value.device))


def _of_lazy(
    record: AttentionRecord,
    by_place: dict[int, list[int]],
    axes: tuple[Axis, ...],
    rows: tuple[int, ...] | None,
) -> AttentionRecord:
    lazy = record.lazy
    assert lazy is not None
    batch, heads, _, key_count = lazy.shape
    group = heads // lazy.k.shape[1]
    for place, size in ((0, batch), (1, heads)):
        if place not in by_place:
            continue
        chosen = by_place[place]
        of_keys = [head // group for head in chosen] if place else chosen
        mask, lse = lazy.mask, lazy.lse
        lazy = replace(
            lazy,
            q=_picked(lazy.q, place - 4, chosen, size),
            k=_picked(lazy.k, place - 4, of_keys, size),
            mask=mask if mask is None else _picked(mask, place - 4, chosen, size),
            lse=lse if lse is None else _picked(lse, place - 3, chosen, size),
        )
    if not {2, 3} & by_place.keys():
        return record.replaced(lazy=lazy, axes=axes, weights=lazy.q, **_carried(record, by_place))
    weights = lazy.weights(by_place.get(2))
    if 3 in by_place:
        weights = _picked(weights, -1, by_place[3], key_count)
    parts = _carried(record, by_place)
    return record.replaced(weights=weights, lazy=None, axes=axes, rows=rows, **parts)
