"""A recording: every record of a block, by site; saved and loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from attnlens.errors import (
    InputError,
    NothingRecordedError,
    RecordingError,
    UnknownNameError,
    choices,
)
from attnlens.recording.attention_record import (
    MOST_ROWS,
    AttentionRecord,
    notes_of,
    recording_text,
    table_of,
)
from attnlens.recording.save import SAVED, read_folder, read_part, write_part

if TYPE_CHECKING:
    import pandas


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
        self._calls.setdefault(record.site, []).append(record)

    def calls(self, site: str) -> tuple[AttentionRecord, ...]:
        """Every call of one module, first to last.

        Raises:
            UnknownNameError: nothing of that name was recorded.
        """
        if site not in self:
            # Mapping's own methods (get) rely on KeyError, which this is.
            raise UnknownNameError(self._unknown(site))
        return tuple(self._calls[site])

    def _unknown(self, site: object) -> str:
        if not self._calls:
            return f"no attention recorded at {site!r}, nor elsewhere; call the model in the block"
        first = next(iter(self._calls))
        hint = "" if isinstance(site, str) else f"; records go by site: recording[{first!r}]"
        return f"no attention recorded at {site!r}{hint}; recorded: {choices(site, self._calls)}"

    def records(self) -> tuple[AttentionRecord, ...]:
        """Every record, site by site, the calls of each first to last."""
        return tuple(record for calls in self._calls.values() for record in calls)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the records say of how they were come by, each thing once."""
        return notes_of(self.records())

    def __getitem__(self, site: str) -> AttentionRecord:
        calls = self.calls(site)
        if len(calls) > 1:
            raise RecordingError(f"{site} ran {len(calls)} times; use recording.calls({site!r})")
        return calls[0]

    def __contains__(self, site: object) -> bool:
        # Mapping's own would ask for the record, which a site with several calls refuses.
        return isinstance(site, str) and site in self._calls

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
        for name, label in labels.items():
            fitting = 0
            for number, record in enumerate(records):
                try:
                    records[number] = record.labelled(**{name: label})
                    fitting += 1
                except RecordingError:
                    continue  # another size, or no such axis
            if not fitting:
                sizes = [
                    f"{axis.name} {size}"
                    for record in records
                    for axis, size in zip(record.axes, record.sizes, strict=True)
                ]
                raise RecordingError(
                    f"{len(label)} labels for {name!r} fit no record; axes and their sizes: "
                    f"{choices(name, sizes)}"
                )
        return Recording(records)

    def to_pandas(self, *, max_rows: int = MOST_ROWS) -> pandas.DataFrame:
        """Every record's table, as `AttentionRecord.to_pandas` makes it, one below the other.

        Raises:
            RecordingError: nothing was recorded, or more than ``max_rows`` rows.
        """
        if not self._calls:
            raise NothingRecordedError("nothing was recorded, so there is no table")
        return table_of(self.records(), max_rows=max_rows)

    def __repr__(self) -> str:
        return recording_text(self._calls)

    def _repr_html_(self) -> str:
        return str(resolve_name("attnlens.render.notebook:recording_html")(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write every record to a safetensors file (beside it first, then renamed).

        A lazy record is written as its queries and keys.

        Raises:
            NothingRecordedError: there is nothing to save.
            InputError: the file cannot be written.
        """
        if not self._calls:
            raise NothingRecordedError("nothing was recorded, so there is nothing to save")
        write_part(path, self.records())


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """A recording that was saved, or the folder that `record` wrote.

    Raises:
        InputError: the file is missing, damaged, not a recording, or of a later attnlens.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{type(path).__name__} is no path", remedy=SAVED)
    return Recording(read_folder(path) if os.path.isdir(path) else read_part(path))
