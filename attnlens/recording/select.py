"""Parts of a record, chosen by what positions are called or by where they stand.

Every axis stays, one position long at the least, so a part is a record like any other: whole
rows stay whole rows, the strongest keys stay that, and a lazy record forms only the rows that
are asked for. Where an axis has no labels, its positions are called by their numbers, and a
part keeps those as labels, so that nobody loses sight of where it was taken.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import torch
from torch import Tensor

from attnlens.errors import RecordingError
from attnlens.recording.axes import Axis
from attnlens.recording.kept import Kept

R = TypeVar("R", bound=Kept)
Choices = Mapping[str, Any]
"""By the name of an axis: labels, positions, lists and slices of them, of any library's kind."""

SHOWN: Final = 12
"""Choices that an error lists."""
BLOCK_CELLS: Final = 1 << 22
"""Weights of a lazy record that are formed at a time where only some keys are wanted."""


def by_label(record: R, choices: Choices) -> R:
    """The part of a record that `AttentionRecord.sel` describes."""
    return _part(record, {name: _labelled(record, name, one) for name, one in choices.items()})


def by_position(record: R, choices: Choices) -> R:
    """The part of a record that `AttentionRecord.isel` describes."""
    return _part(record, {name: _positions(record, name, one) for name, one in choices.items()})


def _labelled(record: Kept, name: str, choice: Any) -> list[int]:
    names = record.names(record.place_of(name))
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


def _called(record: Kept, name: str, names: tuple[str, ...], label: str) -> list[int]:
    found = [place for place, known in enumerate(names) if known == label]
    if not found:
        known = list(dict.fromkeys(names))
        told = ", ".join(map(repr, known[:SHOWN]))
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        raise RecordingError(
            f"{record.site}: no {name} is called {label!r}; there are {told}{more}"
        )
    return found


def _one_called(record: Kept, name: str, names: tuple[str, ...], label: str) -> int:
    found = _called(record, name, names, label)
    if len(found) > 1:
        places = ", ".join(map(str, found[:SHOWN]))
        raise RecordingError(
            f"{record.site}: a stretch cannot end at {label!r}, which is the {name} at {places}; "
            "give positions"
        )
    return found[0]


def _positions(record: Kept, name: str, choice: Any) -> list[int]:
    size = record.sizes[record.place_of(name)]
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


def _part(record: R, choices: Mapping[str, list[int]]) -> R:
    for name, places in choices.items():
        if not places:
            raise RecordingError(f"{record.site}: no {name} is asked for; give one or more")
    by_place = {record.place_of(name): places for name, places in choices.items()}
    last = len(record.axes) - 1
    sizes = record.sizes
    by_place = {
        place: chosen
        for place, chosen in sorted(by_place.items())
        if chosen != list(range(sizes[place]))
    }
    axes = tuple(
        _named(axis, record.names(place), by_place[place]) if place in by_place else axis
        for place, axis in enumerate(record.axes)
    )
    rows = record.rows
    if (at := next((p for p in by_place if record.axes[p].name == "query"), None)) is not None:
        rows = tuple(by_place[at] if rows is None else (rows[one] for one in by_place[at]))
    if record.lazy is not None:
        return _of_lazy(record, by_place, axes, rows)
    keys = by_place.pop(last, None) if record.keys is not None else None
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
    if keys is None:
        return record.replaced(axes=axes, rows=rows, **parts)
    some = record.replaced(axes=(*axes[:-1], record.axes[-1]), rows=rows, **parts)
    return _of_keys(some, keys, axes)


def _named(axis: Axis, names: tuple[str, ...], chosen: list[int]) -> Axis:
    if axis.labels is None and axis.name == "query":
        return axis  # its rows tell which queries these are
    return axis.labelled(tuple(names[place] for place in chosen))


def _picked(value: Tensor, dimension: int, chosen: list[int], size: int) -> Tensor:
    if -dimension > value.dim() or (value.shape[dimension] == 1 and size > 1):
        return value  # the same for every position of that axis
    return value.index_select(dimension, torch.tensor(chosen, device=value.device))


def _of_keys(record: R, chosen: list[int], axes: tuple[Axis, ...]) -> R:
    """Of a top-k record, the strongest keys that are among the chosen."""
    if len(set(chosen)) < len(chosen):
        raise RecordingError(f"{record.site}: a key of a top-k record is asked for twice")
    assert record.keys is not None
    table = torch.full((record.sizes[-1],), -1, dtype=torch.int32)
    table[torch.tensor(chosen)] = torch.arange(len(chosen), dtype=torch.int32)
    renamed = table.to(record.keys.device)[record.keys.long()]
    weights = record.weights.masked_fill(renamed < 0, 0.0)
    # What is left of each row moves to its front; the order among it stays.
    order = (renamed < 0).to(torch.uint8).argsort(dim=-1, stable=True)
    width = max(1, int((renamed >= 0).sum(-1).max())) if renamed.numel() else renamed.shape[-1]
    order = order[..., :width]

    def front(value: Tensor) -> Tensor:
        return value.expand(renamed.shape).gather(-1, order)

    content, bias = (
        part if part is None else front(part) for part in (record.content, record.bias)
    )
    residual = record.residual
    if residual is not None:
        away = record.weights.sum(-1) - weights.sum(-1)
        residual = residual + away.to(residual.dtype)
    note = f"only {len(chosen)} keys were selected; the residual holds what all others are paid"
    return record.replaced(
        weights=front(weights),
        keys=front(renamed.clamp(min=0)),
        content=content,
        bias=bias,
        residual=residual,
        axes=axes,
        key_count=len(chosen),
        notes=tuple(dict.fromkeys((*record.notes, note))),
    )


def _of_lazy(
    record: R,
    by_place: dict[int, list[int]],
    axes: tuple[Axis, ...],
    rows: tuple[int, ...] | None,
) -> R:
    lazy = record.lazy
    assert lazy is not None
    batch, heads, queries, key_count = lazy.shape
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
