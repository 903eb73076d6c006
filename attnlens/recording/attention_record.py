"""The record of one attention call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.errors import RecordingError, choices, count
from attnlens.recording.axes import Axis, places, positions
from attnlens.recording.lazy import LazyAttention

if TYPE_CHECKING:
    import pandas

MOST_ROWS: Final = 5_000_000
"""The default maximum number of rows in a table."""
_MOST_CELLS: Final = 250_000_000
"""The maximum number of weights in one array. In float32, they take 1 GB."""
_MAX_LISTED_RECORDS: Final = 20
"""A summary lists at most this many sites, and at most this many notes."""
_WIDEST: Final = 60
"""The maximum length of a name in a summary, in characters."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionRecord:
    """The attention recorded in one call of one module.

    Attributes:
        site: the name of the module, as in ``named_modules()``.
        call: the index of the call among the module's calls, counted from 0.
        weights: the attention weights, usually with shape ``(batch, head, query, key)``. A lazy
            record computes all weights each time ``weights`` is read.
        axes: one `Axis` for each dimension of ``weights``.
        content, bias: query times key, and the bias that was added. Both are None except for probes
            and for fused kernels whose mask adds a bias.
        rows: the positions of the recorded queries, counted from 0; None: all queries.
        keys: in a top-k record, the positions of the kept keys, int32, shape ``(batch, head, query,
            k)``. The key with the largest weight comes first. A row may be padded with keys of
            weight 0.
        residual: in a top-k record, the sum of the other weights, shape ``(batch, head, query)``.
        key_count: in a top-k record, the number of all keys. Labels of the key axis name all keys.
        lazy: in a lazy record, the queries and keys of the call.
        notes: remarks about the recording.
        values: the values, if recorded, shape ``(batch, head, key, width)``.
        outputs: the heads' outputs before concatenation and projection, if recorded, shape
            ``(batch, head, query, width)``.

    Raises:
        RecordingError: the axes do not match the shape of the weights.
    """

    site: str
    call: int
    weights: Tensor
    axes: tuple[Axis, ...]
    content: Tensor | None = None
    bias: Tensor | None = None
    rows: tuple[int, ...] | None = None
    keys: Tensor | None = None
    residual: Tensor | None = None
    key_count: int | None = None
    lazy: LazyAttention | None = None
    notes: tuple[str, ...] = ()
    values: Tensor | None = None
    outputs: Tensor | None = None

    def __post_init__(self) -> None:
        shape = self.shape
        if len(self.axes) != len(shape) or any(
            axis.labels is not None and len(axis.labels) != size
            for axis, size in zip(self.axes, self.sizes, strict=True)
        ):
            sizes = ", ".join(
                f"{axis.name}={'?' if axis.labels is None else len(axis.labels)}"
                for axis in self.axes
            )
            raise RecordingError(
                f"{self.site}: the axes have sizes ({sizes}), but the weights have shape {shape}"
            )
        if self.lazy is not None:
            # Empty the slot, so that reading the attribute calls __getattr__.
            object.__delattr__(self, "weights")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "weights":
                return self.lazy.weights()
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)

    @classmethod
    def of_lazy(
        cls,
        site: str,
        call: int,
        lazy: LazyAttention,
        axes: tuple[Axis, ...],
        notes: tuple[str, ...] = (),
    ) -> AttentionRecord:
        """Return a lazy record."""
        # The queries are a placeholder for the weights, which would be costly to compute here.
        return cls(site, call, lazy.q, axes, lazy=lazy, notes=notes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of ``weights``. The weights of a lazy record are not computed."""
        return tuple(self.weights.shape) if self.lazy is None else self.lazy.shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of positions on each axis. In a top-k record, all keys are counted."""
        shape = self.shape
        return shape if self.keys is None else (*shape[:-1], self.key_count or shape[-1])

    @property
    def _dimensions(self) -> dict[str, tuple[int, ...]]:
        """Maps each tensor field to the axis index of each dimension; -1: no axis."""
        every = tuple(range(len(self.axes)))
        return dict.fromkeys(("weights", "content", "bias", "keys"), every) | {
            "residual": every[:-1],
            "values": (0, 1, 3, -1),
            "outputs": (0, 1, 2, -1),
        }

    def names(self, index: int) -> tuple[str, ...]:
        """Return the labels of one axis, or the positions as text if there are no labels.

        Queries without labels are numbered among all queries of the call.
        """
        axis = self.axes[index]
        if axis.labels is not None:
            return axis.labels
        if axis.name == "query" and self.rows is not None:
            return tuple(map(str, self.rows))
        return tuple(map(str, range(self.sizes[index])))

    def place_of(self, name: str) -> int:
        """Return the index of the axis called ``name``.

        Raises:
            RecordingError: there is no such axis, or several axes have this name.
        """
        names = [axis.name for axis in self.axes]
        if names.count(name) != 1:
            problem = "no axis" if name not in names else "more than one axis"
            raise RecordingError(f"{self.site}: {problem} {name!r}; axes: {choices(name, names)}")
        return names.index(name)

    def replaced(self, **changes: Any) -> AttentionRecord:
        """Return a copy with changed fields. A lazy record stays lazy."""
        if self.lazy is not None:
            changes.setdefault("weights", self.lazy.q)
        return replace(self, **changes)

    def labelled(self, **labels: Sequence[str]) -> AttentionRecord:
        """Return a copy of the record with labels on the named axes.

        Labels of queries may be given for the recorded queries or for all queries of the call.

        Raises:
            RecordingError: an axis does not exist, or the number of labels is wrong.
        """
        for name in labels:
            if name not in [axis.name for axis in self.axes]:
                self.place_of(name)  # raises the error for a missing axis
        axes = []
        for axis, size in zip(self.axes, self.sizes, strict=True):
            axes.append(axis)
            if axis.name not in labels:
                continue
            texts = tuple(map(str, labels[axis.name]))
            if axis.name == "query" and self.rows and len(texts) > max(len(self.rows), *self.rows):
                texts = tuple(texts[row] for row in self.rows)
            if len(texts) != size:
                raise RecordingError(
                    f"{self.site}: {len(texts)} labels were given for the axis "
                    f"{axis.name!r}, which has {size} entries; give one label per entry"
                )
            axes[-1] = Axis(axis.name, texts)
        return self.replaced(axes=tuple(axes))

    def sel(self, **selection: Any) -> AttentionRecord:
        """Return a record of the selected positions, for example ``sel(query="the", head=[0, 3])``.

        A string selects every position with this label. On an axis without labels, the string must
        be the number of a position. An integer is a position (-1 is the last), and a slice is a
        range of positions. A list may mix strings and integers. The result keeps every axis. A lazy
        record computes only the selected rows.

        Raises:
            RecordingError: the axis, label or position does not exist, or the keys of a top-k
                record are selected.
        """
        last = len(self.axes) - 1
        sizes = self.sizes
        by_place: dict[int, list[int]] = {}
        for name, choice in selection.items():
            axis_index, chosen = self.place_of(name), _places(self, name, choice)
            if not chosen:
                raise RecordingError(
                    f"{self.site}: the selection of {name} is empty; select one or more"
                )
            if chosen != list(range(sizes[axis_index])):
                by_place[axis_index] = chosen
        axes = tuple(
            _axis_with(axis, self.names(index), by_place[index]) if index in by_place else axis
            for index, axis in enumerate(self.axes)
        )
        rows = self.rows
        if (at := next((p for p in by_place if self.axes[p].name == "query"), None)) is not None:
            rows = tuple(by_place[at] if rows is None else (rows[row] for row in by_place[at]))
        if self.keys is not None and last in by_place:
            raise RecordingError(
                f"{self.site}: only the largest weights of each row were recorded, so keys "
                "cannot be selected; select from record.to_numpy()"
            )
        parts = _of_lazy(self.lazy, by_place) if self.lazy is not None else {}
        for name, dimensions in self._dimensions.items():
            if name not in parts and (value := getattr(self, name)) is not None:
                parts[name] = _selected(value, dimensions, by_place, sizes)
        return self.replaced(axes=axes, rows=rows, **parts)

    def to_numpy(self) -> NDArray[np.floating[Any]]:
        """Return the weights as a float32 or float64 array with one dimension per axis.

        In the array of a top-k record, all other weights are 0.

        Raises:
            RecordingError: the array of a lazy or top-k record would have over 250 million weights.
        """
        sizes = self.sizes
        if (self.lazy is not None or self.keys is not None) and math.prod(sizes) > _MOST_CELLS:
            raise RecordingError(
                f"{self.site}: the whole array would have {math.prod(sizes):,} weights; "
                "select some heads or queries first (record.sel)"
            )
        weights = _plain(self.weights)
        if self.keys is None:
            return weights
        array = np.zeros(sizes, weights.dtype)
        # Skip weights of 0: they may be padding, whose key can repeat a kept key.
        paid = np.nonzero(weights > 0)
        keys = self.keys.cpu().numpy()
        array[(*paid[:-1], keys[paid])] = weights[paid]
        return array

    def to_pandas(self, *, max_rows: int = MOST_ROWS) -> pandas.DataFrame:
        """Return a table with one row per weight.

        The columns are ``site``, ``call``, one column per axis, and ``weight``. The last columns
        are ``content`` and ``bias``, if recorded. An axis column contains labels, or numbers if the
        axis has no labels. If a label is repeated, a column such as ``query_position`` gives the
        numbers. The table of a top-k record lists only the kept keys.

        Raises:
            RecordingError: the table would have more than ``max_rows`` rows.
        """
        return table_of((self,), max_rows=max_rows)

    def __repr__(self) -> str:
        kind = str((self.weights if self.lazy is None else self.lazy.q).dtype)
        summary = f"{kind_of(self)}, {kind.removeprefix('torch.')}, {_sizes(self)}"
        lines = [f"AttentionRecord {_short(self.site)} (call {self.call}): {summary}"]
        return "\n".join(lines + _noted(self.notes))

    def _repr_html_(self) -> str:
        return str(resolve_name("attnlens.render.page:record_html")(self))


def _places(record: AttentionRecord, name: str, choice: Any) -> list[int]:
    """Convert labels, integers or a slice to positions, counted from 0."""
    if isinstance(choice, list | tuple):
        return [position for label in choice for position in _places(record, name, label)]
    prefix = f"{record.site}: {name}"
    if not isinstance(choice, str):
        return places(positions(prefix, choice), record.sizes[record.place_of(name)], prefix)
    names = record.names(record.place_of(name))
    matches = [index for index, name in enumerate(names) if name == choice]
    if not matches:
        raise RecordingError(
            f"{record.site}: the axis {name} has no label {choice!r}; the labels are "
            f"{choices(choice, names)}"
        )
    return matches


def _axis_with(axis: Axis, names: tuple[str, ...], chosen: list[int]) -> Axis:
    if axis.labels is None and axis.name == "query":
        return axis  # ``rows`` already contains the positions of the queries
    return Axis(axis.name, tuple(names[index] for index in chosen))


def _selected(
    value: Tensor,
    axes: Sequence[int],
    by_place: Mapping[int, list[int]],
    sizes: Sequence[int],
) -> Tensor:
    """``axes`` is the axis index of each dimension; -1: no axis."""
    for dimension, axis in enumerate(axes, -len(axes)):
        if axis not in by_place or -dimension > value.dim():
            continue  # nothing is selected there, or the tensor lacks the axis
        if value.shape[dimension] > 1 or sizes[axis] == 1:  # otherwise all positions share a value
            chosen = torch.tensor(by_place[axis], device=value.device)
            value = value.index_select(dimension, chosen)
    return value


def _of_lazy(lazy: LazyAttention, by_place: Mapping[int, list[int]]) -> dict[str, Any]:
    """Return the new ``lazy`` and ``weights``. Selecting queries or keys computes the weights."""
    lead = {axis: chosen for axis, chosen in by_place.items() if axis < 2}
    group = lazy.shape[1] // lazy.k.shape[1]
    parts: dict[str, Any] = {}
    for name in ("q", "k", "mask", "lse"):
        places = lead
        if name == "k" and 1 in lead:
            places = lead | {1: [head // group for head in lead[1]]}
        if (part := getattr(lazy, name)) is not None:
            parts[name] = _selected(part, range(3 if name == "lse" else 4), places, lazy.shape)
    chosen = replace(lazy, **parts)
    if len(lead) == len(by_place):
        return {"lazy": chosen, "weights": chosen.q}
    weights = chosen.weights(by_place.get(2))
    keys = {axis: places for axis, places in by_place.items() if axis == 3}
    return {"lazy": None, "weights": _selected(weights, range(4), keys, lazy.shape)}


def kind_of(record: AttentionRecord) -> str:
    """Describe the recorded weights, such as ``all``, ``3 rows``, ``top 16`` or ``lazy``."""
    if record.lazy is not None:
        return "lazy"
    rows = "" if record.rows is None else count(len(record.rows), "row")
    if record.keys is not None:
        return ", ".join(filter(None, (f"top {record.keys.shape[-1]}", rows)))
    return rows or "all"


def _plain(value: Tensor) -> NDArray[np.floating[Any]]:
    """Return a float32 or float64 array, because numpy has no bfloat16."""
    tensor = value.detach().cpu()
    array: NDArray[np.floating[Any]] = (
        tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()
    ).numpy()
    return array


def table_of(records: Sequence[AttentionRecord], *, max_rows: int = MOST_ROWS) -> pandas.DataFrame:
    """Combine records into one table with the columns of `AttentionRecord.to_pandas`."""
    import pandas

    rows = sum(math.prod(record.shape) for record in records)
    if rows > max_rows:
        raise RecordingError(
            f"the table would have {rows} rows, more than {max_rows:,}; select some "
            f"heads or queries first (record.sel), or set max_rows={rows}"
        )
    repeated = {
        axis.name
        for record in records
        for axis in record.axes
        if axis.labels is not None and len(set(axis.labels)) < len(axis.labels)
    }
    tables = [_table(record, repeated) for record in records]
    parts = [name for name in ("content", "bias") if any(name in table for table in tables)]
    joined = pandas.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0]
    ends = ["weight", *parts]
    return joined[[*(name for name in joined.columns if name not in ends), *ends]]


def _table(record: AttentionRecord, repeated: set[str]) -> pandas.DataFrame:
    import pandas

    names = [axis.name for axis in record.axes]
    reserved = {"site", "call", "weight", "content", "bias"}
    if len(set(names)) < len(names) or reserved & set(names):
        raise RecordingError(
            f"{record.site}: the axes {', '.join(names)} cannot be columns of one "
            "table; give the axes different names"
        )
    weights = _plain(record.weights)
    is_recorded = np.ones(weights.shape, np.bool_) if record.keys is None else weights > 0
    places: list[Any] = list(np.nonzero(is_recorded))
    if record.keys is not None:
        places[-1] = record.keys.cpu().numpy()[is_recorded].astype(np.int64)
    columns: dict[str, NDArray[Any]] = {
        "site": np.full(len(places[0]), record.site, dtype=object),
        "call": np.full(len(places[0]), record.call),
    }
    for number, (axis, index) in enumerate(zip(record.axes, places, strict=True)):
        numbers = index
        if axis.name == "query" and record.rows is not None:
            numbers = np.array(record.rows, np.int64)[index]
        columns[axis.name] = numbers
        if axis.labels is not None:
            columns[axis.name] = np.array(record.names(number), dtype=object)[index]
        if axis.name in repeated:
            columns[f"{axis.name}_position"] = numbers
    columns["weight"] = weights[is_recorded]
    for name in ("content", "bias"):
        part = getattr(record, name)
        if part is not None:
            columns[name] = np.broadcast_to(_plain(part), is_recorded.shape)[is_recorded]
    return pandas.DataFrame(columns)


def recording_text(sites: Mapping[str, Sequence[AttentionRecord]]) -> str:
    """Return a summary with the calls and sizes of each site, and with the notes."""
    records = [record for calls in sites.values() for record in calls]
    lines = [f"Recording: {count(len(sites), 'site')}, {count(len(records), 'call')}"]
    for site, calls in list(sites.items())[:_MAX_LISTED_RECORDS]:
        summaries = dict.fromkeys(f"{kind_of(call)}, {_sizes(call)}" for call in calls)
        name = _short(site) or "(the model itself)"
        lines.append(f"  {name}: {count(len(calls), 'call')}, {' / '.join([*summaries][:2])}")
    if len(sites) > _MAX_LISTED_RECORDS:
        lines.append(f"  … {len(sites) - _MAX_LISTED_RECORDS} more")
    return "\n".join(lines + _noted(notes_of(records)))


def notes_of(records: Iterable[AttentionRecord]) -> tuple[str, ...]:
    """Return the notes of all records without duplicates."""
    return tuple(dict.fromkeys(note for record in records for note in record.notes))


def _sizes(record: AttentionRecord) -> str:
    return ", ".join(
        f"{_short(axis.name)} {size}" for axis, size in zip(record.axes, record.sizes, strict=True)
    )


def _noted(notes: Sequence[str]) -> list[str]:
    lines = [f"  note: {_short(note, 400)}" for note in notes[:_MAX_LISTED_RECORDS]]
    more = len(notes) - _MAX_LISTED_RECORDS
    return [*lines, f"  … {more} more notes"] if more > 0 else lines


def _short(text: str, widest: int = _WIDEST) -> str:
    clean = "".join(c if c.isprintable() else "�" for c in text)
    return clean if len(clean) <= widest else clean[: widest - 1] + "…"
