"""Parts of a record, chosen by what positions are called or by where they stand.

Every axis stays, one position long at the least, so a part is a record like any other: whole
rows stay whole rows, the strongest keys stay that, and a lazy record forms only the rows that
are asked for. Where an axis has no labels, its positions are called by their numbers, and a
part keeps those as labels, so that nobody loses sight of where it was taken.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.axes import Axis
from attnlens.errors import RecordingError
from attnlens.records import AttentionRecord

SHOWN: Final = 12
"""Choices that an error lists."""
BLOCK_CELLS: Final = 1 << 22
"""Weights of a lazy record that are formed at a time where only some keys are wanted."""


def sizes_of(record: AttentionRecord) -> tuple[int, ...]:
    """How many positions each axis has; keys of a top-k record: those of the model."""
    shape = record.shape
    if record.keys is None:
        return shape
    return (*shape[:-1], record.key_count or shape[-1])


def names_of(record: AttentionRecord, place: int) -> tuple[str, ...]:
    """What the positions of one axis are called: their labels, or else their numbers.

    A query's number is its place among all queries of the call, also where only some were kept.
    """
    axis = record.axes[place]
    if axis.labels is not None:
        return axis.labels
    if axis.name == "query" and record.rows is not None:
        return tuple(map(str, record.rows))
    return tuple(map(str, range(sizes_of(record)[place])))


def place_of(record: AttentionRecord, name: str) -> int:
    """Which dimension an axis is.

    Raises:
        RecordingError: no axis, or more than one, has this name.
    """
    names = [axis.name for axis in record.axes]
    if names.count(name) != 1:
        problem = "no axis" if name not in names else "more than one axis"
        raise RecordingError(f"{record.site}: {problem} {name!r}; axes: {', '.join(names)}")
    return names.index(name)


def by_label(record: AttentionRecord, choices: Mapping[str, Any]) -> AttentionRecord:
    """The part of a record that `AttentionRecord.sel` describes."""
    return _part(record, {name: _labelled(record, name, one) for name, one in choices.items()})


def by_position(record: AttentionRecord, choices: Mapping[str, Any]) -> AttentionRecord:
    """The part of a record that `AttentionRecord.isel` describes."""
    return _part(record, {name: _positions(record, name, one) for name, one in choices.items()})


def _labelled(record: AttentionRecord, name: str, choice: Any) -> list[int]:
    names = names_of(record, place_of(record, name))
    if isinstance(choice, str):
        return _called(record, name, names, choice)
    if isinstance(choice, slice):
        start, stop = choice.start, choice.stop
        if isinstance(start, str):
            start = _one_called(record, name, names, start)
        if isinstance(stop, str):
            # As people name a stretch: up to and with the last one.
            stop = _one_called(record, name, names, stop) + 1
        return _positions(record, name, slice(start, stop, choice.step))
    if isinstance(choice, Iterable) and not _is_single(choice):
        return [place for one in choice for place in _labelled(record, name, one)]
    return _positions(record, name, choice)


def _called(record: AttentionRecord, name: str, names: tuple[str, ...], label: str) -> list[int]:
    found = [place for place, known in enumerate(names) if known == label]
    if not found:
        known = list(dict.fromkeys(names))
        told = ", ".join(map(repr, known[:SHOWN]))
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        raise RecordingError(
            f"{record.site}: no {name} is called {label!r}; there are {told}{more}"
        )
    return found


def _one_called(record: AttentionRecord, name: str, names: tuple[str, ...], label: str) -> int:
    found = _called(record, name, names, label)
    if len(found) > 1:
        places = ", ".join(map(str, found[:SHOWN]))
        raise RecordingError(
            f"{record.site}: a stretch cannot end at {label!r}, which is the {name} at {places}; "
            "give positions"
        )
    return found[0]


def _positions(record: AttentionRecord, name: str, choice: Any) -> list[int]:
    size = sizes_of(record)[place_of(record, name)]
    if isinstance(choice, slice):
        try:
            return list(range(size))[choice]
        except (TypeError, ValueError) as error:
            raise RecordingError(f"{record.site}: {name}={choice!r}: {error}") from None
    if isinstance(choice, Iterable) and not isinstance(choice, str) and not _is_single(choice):
        return [place for one in choice for place in _positions(record, name, one)]
    try:
        if isinstance(choice, bool) or str(getattr(choice, "dtype", "")).endswith("bool"):
            raise TypeError
        place = operator.index(choice)
    except TypeError:
        raise RecordingError(
            f"{record.site}: {name}={choice!r} is neither a position nor, for sel, a label"
        ) from None
    if not -size <= place < size:
        raise RecordingError(
            f"{record.site}: {name} {place} is out of range; there are {size} (0 to {size - 1})"
        )
    return [place % size]


def _is_single(choice: Any) -> bool:
    """Whether this is one number, though arrays of no dimension claim to be iterable."""
    return getattr(choice, "ndim", 1) == 0


def _part(record: AttentionRecord, choices: Mapping[str, list[int]]) -> AttentionRecord:
    for name, places in choices.items():
        if not places:
            raise RecordingError(f"{record.site}: no {name} is asked for; give one or more")
    by_place = {place_of(record, name): places for name, places in choices.items()}
    last = len(record.axes) - 1
    sizes = sizes_of(record)
    by_place = {
        place: chosen
        for place, chosen in sorted(by_place.items())
        if chosen != list(range(sizes[place]))
    }
    axes = tuple(
        _named(axis, names_of(record, place), by_place[place]) if place in by_place else axis
        for place, axis in enumerate(record.axes)
    )
    rows = record.rows
    if (at := next((p for p in by_place if record.axes[p].name == "query"), None)) is not None:
        rows = tuple(by_place[at] if rows is None else (rows[one] for one in by_place[at]))
    if record.lazy is not None:
        return _of_lazy(record, by_place, axes, rows)
    keys = by_place.pop(last, None) if record.keys is not None else None
    told: dict[str, Any] = {"axes": axes, "rows": rows}
    for name in ("weights", "content", "bias", "keys", "residual"):
        value = getattr(record, name)
        if value is not None:
            # The residual has no key axis, so its last axis is the one before the keys.
            ahead = last if name == "residual" else last + 1
            for place, chosen in by_place.items():
                value = _picked(value, place - ahead, chosen, sizes[place])
            told[name] = value
    if keys is None:
        return record.replaced(**told)
    return _of_keys(record.replaced(**told | {"axes": (*axes[:-1], record.axes[-1])}), keys, axes)


def _named(axis: Axis, names: tuple[str, ...], chosen: list[int]) -> Axis:
    if axis.labels is None and axis.name == "query":
        return axis  # its rows tell which queries these are
    return axis.labelled(tuple(names[place] for place in chosen))


def _picked(value: Tensor, dimension: int, chosen: list[int], size: int) -> Tensor:
    if -dimension > value.dim() or (value.shape[dimension] == 1 and size > 1):
        return value  # the same for every position of that axis
    return value.index_select(dimension, torch.tensor(chosen, device=value.device))


def _of_keys(record: AttentionRecord, chosen: list[int], axes: tuple[Axis, ...]) -> AttentionRecord:
    """Of a top-k record, the strongest keys that are among the chosen."""
    if len(set(chosen)) < len(chosen):
        raise RecordingError(f"{record.site}: a key of a top-k record is asked for twice")
    assert record.keys is not None
    table = torch.full((sizes_of(record)[-1],), -1, dtype=torch.int32)
    table[torch.tensor(chosen)] = torch.arange(len(chosen), dtype=torch.int32)
    renamed = table.to(record.keys.device)[record.keys.long()]
    weights = record.weights.masked_fill(renamed < 0, 0.0)
    # What is left of each row moves to its front; the order among it stays.
    order = (renamed < 0).to(torch.uint8).argsort(dim=-1, stable=True)
    width = max(1, int((renamed >= 0).sum(-1).max())) if renamed.numel() else renamed.shape[-1]
    order = order[..., :width]

    def front(value: Tensor) -> Tensor:
        return value.expand(renamed.shape).gather(-1, order)

    told: dict[str, Any] = {"weights": front(weights), "keys": front(renamed.clamp(min=0))}
    for name in ("content", "bias"):
        if getattr(record, name) is not None:
            told[name] = front(getattr(record, name))
    if record.residual is not None:
        away = record.weights.sum(-1) - weights.sum(-1)
        told["residual"] = record.residual + away.to(record.residual.dtype)
    note = f"only {len(chosen)} keys were selected; the residual holds what all others are paid"
    return record.replaced(
        **told, axes=axes, key_count=len(chosen), notes=tuple(dict.fromkeys((*record.notes, note)))
    )


def _of_lazy(
    record: AttentionRecord,
    by_place: dict[int, list[int]],
    axes: tuple[Axis, ...],
    rows: tuple[int, ...] | None,
) -> AttentionRecord:
    lazy = record.lazy
    assert lazy is not None
    batch, heads, queries, key_count = lazy.shape
    told: dict[str, Any] = {}
    if 0 in by_place or 1 in by_place:
        group = heads // lazy.k.shape[1]
        for field in fields(lazy):
            value = getattr(lazy, field.name)
            if not isinstance(value, Tensor):
                continue
            # (batch, head, query), or shapes that broadcast to (batch, head, query, ...).
            ahead = 3 if field.name == "lse" else 4
            if 0 in by_place:
                value = _picked(value, -ahead, by_place[0], batch)
            if 1 in by_place and field.name == "k":
                value = _picked(value, 1 - ahead, [one // group for one in by_place[1]], heads)
            elif 1 in by_place:
                value = _picked(value, 1 - ahead, by_place[1], heads)
            told[field.name] = value
        lazy = replace(lazy, **told)
    parts = {
        name: value for name in ("content", "bias") if (value := getattr(record, name)) is not None
    }
    for name in parts:
        for place, chosen in by_place.items():
            parts[name] = _picked(parts[name], place - 4, chosen, record.shape[place])
    if not {2, 3} & by_place.keys():
        return record.replaced(lazy=lazy, axes=axes, weights=lazy.q, **parts)
    wanted = by_place.get(2, list(range(queries)))
    if 3 not in by_place:
        weights = lazy.weights(wanted)
    else:
        step = max(1, BLOCK_CELLS // max(1, lazy.q.shape[0] * lazy.q.shape[1] * key_count))
        weights = torch.cat(
            [
                _picked(lazy.weights(wanted[start : start + step]), -1, by_place[3], key_count)
                for start in range(0, len(wanted), step)
            ],
            dim=2,
        )
    return record.replaced(weights=weights, lazy=None, axes=axes, rows=rows, **parts)
