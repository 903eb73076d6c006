"""What was recorded: attention weights, where they came from, and what each axis means."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from torch import Tensor

from attnlens.axes import Axis
from attnlens.errors import NothingRecordedError, RecordingError
from attnlens.lazy import LazyAttention

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionRecord:
    """The attention of one call of one module.

    Attributes:
        site: where, as in ``named_modules()``.
        call: 0, 1, ... when one module runs more than once.
        weights: shares, usually ``(batch, head, query, key)``. Of a lazy record they are
            worked out, all of them, each time they are asked for.
        axes: one per dimension of ``weights``.
        content: the part of the logits from query times key, where the model tells it. None
            where nothing is added to it, and where only the softmax was seen: a note says so.
        bias: the part of the logits from built-in biases, likewise.
        rows: which queries were kept, counted from 0; None: all of them.
        keys: of a top-k record, the key of each kept weight, ``(batch, head, query, k)``, int32;
            largest weight first. Keys with weight 0 may fill a row up. The labels of the key
            axis, if any, then name every key of the model.
        residual: of a top-k record, the mass that was not kept, ``(batch, head, query)``.
        key_count: of a top-k record, how many keys there were.
        lazy: queries and keys from which any row can be worked out.
        notes: what a reader must know of how the weights were come by.

    Raises:
        RecordingError: axes and weights do not fit each other.
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

    def __post_init__(self) -> None:
        shape = self.shape
        sizes = shape if self.keys is None else (*shape[:-1], self.key_count or shape[-1])
        fits = len(self.axes) == len(shape)
        if fits:
            fits = all(
                axis.labels is None or len(axis.labels) == size
                for axis, size in zip(self.axes, sizes, strict=True)
            )
        if not fits:
            told = ", ".join(
                f"{axis.name}={'?' if axis.labels is None else len(axis.labels)}"
                for axis in self.axes
            )
            raise RecordingError(f"{self.site}: axes say ({told}), weights have shape {shape}")
        if self.lazy is not None:
            # An empty slot: asking for it comes to __getattr__, which works the weights out.
            object.__delattr__(self, "weights")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "weights":
                return self.lazy.weights()
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def of_lazy(
        cls,
        site: str,
        call: int,
        lazy: LazyAttention,
        axes: tuple[Axis, ...],
        notes: tuple[str, ...] = (),
    ) -> AttentionRecord:
        """A record whose weights are worked out when asked for."""
        # The queries stand in for the weights, which would be costly to form here.
        return cls(site, call, lazy.q, axes, lazy=lazy, notes=notes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of ``weights``, told without working them out."""
        return tuple(self.weights.shape) if self.lazy is None else self.lazy.shape

    def replaced(self, **changes: Any) -> AttentionRecord:
        """The same record with other fields; a lazy one stays lazy.

        ``dataclasses.replace`` would work out the weights of a lazy record.
        """
        told: dict[str, Any] = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "weights" and field.name not in changes
        }
        if "weights" not in changes:
            told["weights"] = self.weights if self.lazy is None else self.lazy.q
        return type(self)(**told, **changes)

    def labelled(self, **labels: Sequence[str]) -> AttentionRecord:
        """The same record with labels on the named axes.

        Where only some queries were kept, labels of all queries may be given: those of the
        kept ones are taken.

        Raises:
            RecordingError: no such axis, or as many labels as positions there are not.
        """
        names = [axis.name for axis in self.axes]
        for name in labels:
            if name not in names:
                raise RecordingError(f"{self.site}: no axis {name!r}; axes: {', '.join(names)}")
        told = {name: tuple(given) for name, given in labels.items()}
        query = told.get("query", ())
        if self.rows and len(query) > max(len(self.rows), *self.rows):
            told["query"] = tuple(query[row] for row in self.rows)
        axes = tuple(
            axis.labelled(told[axis.name]) if axis.name in told else axis for axis in self.axes
        )
        return self.replaced(axes=axes)

    def sel(self, **choices: Any) -> AttentionRecord:
        """The part where axes are called as asked: ``sel(query="the", head=[0, 3])``.

        A text is a label, or the number of a position whose axis has no labels, and stands
        for every position that is called so; a stretch of labels, ``slice("the", "mat")``,
        includes its last. A number is a position, as for `isel`. Lists may hold both. Every
        axis stays. Of a lazy record only the rows that are asked for are formed.

        Raises:
            RecordingError: no such axis, label or position.
        """
        from attnlens.selection import by_label

        return by_label(self, choices)

    def isel(self, **choices: Any) -> AttentionRecord:
        """The part at these positions: ``isel(query=-1, key=slice(0, 8))``; every axis stays.

        Raises:
            RecordingError: no such axis or position.
        """
        from attnlens.selection import by_position

        return by_position(self, choices)

    def to_numpy(self, *, missing: float = 0.0) -> NDArray[np.floating[Any]]:
        """The weights as an array, one dimension per axis, in single or double precision.

        Args:
            missing: what stands where a top-k record kept no weight.

        Raises:
            RecordingError: more weights than memory can be expected to hold.
        """
        from attnlens.record_tables import array_of

        return array_of(self, missing=missing)

    def to_pandas(self, *, most: int = 5_000_000) -> pandas.DataFrame:
        """One row per weight: ``site, call``, a column per axis, ``weight`` and, where they
        were told, ``content`` and ``bias``.

        An axis column holds labels where there are some, else numbers; where labels repeat,
        ``query_position`` (or so) tells them apart. Of a top-k record, the keys that were kept.

        Raises:
            RecordingError: more than ``most`` rows.
        """
        from attnlens.record_tables import table_of

        return table_of((self,), most=most)

    def __repr__(self) -> str:
        from attnlens.record_tables import record_text

        return record_text(self)


class Recording(Mapping[str, AttentionRecord]):
    """Records by site, in the order in which the sites first ran.

    ``recording[site]`` is the record of a module that ran once; several calls of one
    module are ``recording.calls(site)``.
    """

    def __init__(self, records: Sequence[AttentionRecord] = ()) -> None:
        self._calls: dict[str, list[AttentionRecord]] = {}
        for record in records:
            self.add(record)

    def add(self, record: AttentionRecord) -> None:
        """Take one more record in."""
        self._calls.setdefault(record.site, []).append(record)

    def calls(self, site: str) -> tuple[AttentionRecord, ...]:
        """Every call of one module, first to last.

        Raises:
            RecordingError: nothing of that name was recorded.
        """
        if site not in self._calls:
            known = ", ".join(self._calls) or "nothing was recorded"
            raise RecordingError(f"no attention recorded at {site!r}; recorded: {known}")
        return tuple(self._calls[site])

    def records(self) -> tuple[AttentionRecord, ...]:
        """Every record, site by site, the calls of each first to last."""
        return tuple(record for calls in self._calls.values() for record in calls)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the records say of how they were come by, each thing once."""
        return tuple(dict.fromkeys(note for record in self.records() for note in record.notes))

    def __getitem__(self, site: str) -> AttentionRecord:
        if site not in self._calls:
            # Mapping's own methods (get, in) rely on KeyError.
            raise KeyError(site)
        calls = self._calls[site]
        if len(calls) > 1:
            raise RecordingError(f"{site} ran {len(calls)} times; use recording.calls({site!r})")
        return calls[0]

    def __contains__(self, site: object) -> bool:
        # Mapping's own would ask for the record, which a site with several calls refuses.
        return site in self._calls

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def labelled(self, **labels: Sequence[str]) -> Recording:
        """The same recording with labels on every axis that has such a name and as many positions.

        Raises:
            RecordingError: labels that fit no record.
        """
        records = list(self.records())
        for name, given in labels.items():
            fitting = 0
            for number, record in enumerate(records):
                try:
                    records[number] = record.labelled(**{name: given})
                    fitting += 1
                except RecordingError:
                    continue  # another size, or no such axis
            if not fitting:
                from attnlens.selection import sizes_of

                sizes = {
                    size
                    for record in records
                    for axis, size in zip(record.axes, sizes_of(record), strict=True)
                    if axis.name == name
                }
                told = (
                    f"axes of that name have {sorted(sizes)} positions" if sizes else "no such axis"
                )
                raise RecordingError(f"{len(given)} labels for {name!r} fit no record; {told}")
        return Recording(records)

    def to_pandas(self, *, most: int = 5_000_000) -> pandas.DataFrame:
        """Every record's table, as `AttentionRecord.to_pandas` makes it, one below the other.

        Raises:
            RecordingError: nothing was recorded, or more than ``most`` rows.
        """
        from attnlens.record_tables import table_of

        if not self._calls:
            raise NothingRecordedError("nothing was recorded, so there is no table")
        return table_of(self.records(), most=most)

    def __repr__(self) -> str:
        from attnlens.record_tables import recording_text

        return recording_text(self)

    def _repr_html_(self) -> str:
        from attnlens.notebook import recording_html

        return recording_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write every record to a safetensors file (beside it first, then renamed).

        A lazy record is written as its queries and keys.

        Raises:
            NothingRecordedError: there is nothing to save.
            InputError: the file cannot be written.
        """
        from attnlens.recording_files import write_part

        if not self._calls:
            raise NothingRecordedError("nothing was recorded, so there is nothing to save")
        write_part(path, self.records())


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """A recording that was saved, or the folder that `record` wrote.

    Raises:
        InputError: the file is missing, damaged, not a recording, or of a later attnlens.
    """
    from attnlens.recording_files import read_part

    if os.path.isdir(path):
        from attnlens.recording_folder import load_folder

        return load_folder(path)
    return Recording(read_part(path))
