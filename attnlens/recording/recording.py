"""The class `Recording`, and functions that load or build recordings."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

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
from attnlens.recording.axes import broadcasts
from attnlens.recording.capture import AXES
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.save import SAVED, read_folder, read_part, reading, write_part

if TYPE_CHECKING:
    import pandas


class Recording(Mapping[str, AttentionRecord]):
    """A mapping from sites to records, in the order of the sites' first calls.

    ``recording[site]`` is the record of a module that ran once. For several calls of a module, use
    ``recording.calls(site)``.
    """

    def __init__(self, records: Sequence[AttentionRecord] = ()) -> None:
        self._calls: dict[str, list[AttentionRecord]] = {}
        for record in records:
            self.add(record)

    def add(self, record: AttentionRecord) -> None:
        self._calls.setdefault(record.site, []).append(record)

    def calls(self, site: str) -> tuple[AttentionRecord, ...]:
        """Return the records of all calls of one module, in order.

        Raises:
            UnknownNameError: no site called ``site`` was recorded.
        """
        if site not in self:
            # UnknownNameError is a KeyError, which Mapping's own methods (such as get) rely on.
            raise UnknownNameError(self._unknown(site))
        return tuple(self._calls[site])

    def _unknown(self, site: object) -> str:
        if not self._calls:
            return (
                f"no attention was recorded at {site!r} or at any other site; call the "
                "model inside the block"
            )
        first = next(iter(self._calls))
        hint = (
            ""
            if isinstance(site, str)
            else f"; a recording is indexed by site, such as recording[{first!r}]"
        )
        return (
            f"no attention was recorded at {site!r}{hint}; the recorded sites are "
            f"{choices(site, self._calls)}"
        )

    def records(self) -> tuple[AttentionRecord, ...]:
        """Return all records, ordered by site and then by call."""
        return tuple(record for calls in self._calls.values() for record in calls)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all records without duplicates."""
        return notes_of(self.records())

    def __getitem__(self, site: str) -> AttentionRecord:
        calls = self.calls(site)
        if len(calls) > 1:
            raise RecordingError(
                f"{site!r} was called {len(calls)} times; use recording.calls({site!r})"
            )
        return calls[0]

    def __contains__(self, site: object) -> bool:
        # Mapping's own method would call __getitem__, which fails for a site with several calls.
        return isinstance(site, str) and site in self._calls

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def labelled(self, **labels: Sequence[str]) -> Recording:
        """Return a copy of the recording with labels on the named axes, such as ``key=words``.

        Axes whose size does not fit the labels stay the same.

        Raises:
            RecordingError: the labels for one of the names fit no record.
        """
        records = list(self.records())
        for name, label in labels.items():
            fitting = False
            for number, record in enumerate(records):
                with suppress(RecordingError):  # the size differs, or there is no axis of that name
                    records[number] = record.labelled(**{name: label})
                    fitting = True
            if not fitting:
                sizes = [
                    f"{axis.name} {size}"
                    for record in records
                    for axis, size in zip(record.axes, record.sizes, strict=True)
                ]
                raise RecordingError(
                    f"{len(label)} labels for {name!r} fit no record; the axes and their sizes "
                    f"are {choices(name, sizes)}"
                )
        return Recording(records)

    def to_pandas(self, *, max_rows: int = MOST_ROWS) -> pandas.DataFrame:
        """Return one table of all records, with the columns of `AttentionRecord.to_pandas`.

        Raises:
            RecordingError: nothing was recorded, or the table would have more than ``max_rows``
                rows.
        """
        if not self._calls:
            raise NothingRecordedError("nothing was recorded, so there is no table")
        return table_of(self.records(), max_rows=max_rows)

    def __repr__(self) -> str:
        return recording_text(self._calls)

    def _repr_html_(self) -> str:
        return str(resolve_name("attnlens.render.page:recording_html")(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write every record to a safetensors file. A lazy record is saved as its queries and keys.

        Raises:
            NothingRecordedError: there is nothing to save.
            InputError: the file cannot be written.
        """
        if not self._calls:
            raise NothingRecordedError("nothing was recorded, so there is nothing to save")
        write_part(path, self.records())


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """Load a saved recording, or open a folder that `record` wrote.

    Raises:
        InputError: the file is missing, damaged, not a recording, or in the format of another
            version of attnlens.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{type(path).__name__} is not a path", remedy=SAVED)
    return Recording(read_folder(path) if os.path.isdir(path) else read_part(path))


_GIVE = "give SITE.q and SITE.k with the axes (batch, head, position, d) or (position, head, d)"


def recording_of_captured(path: str | os.PathLike[str]) -> Recording:
    """Build a recording of lazy records from the queries and keys of a serving engine.

    For every site, the safetensors file contains ``SITE.q`` and ``SITE.k``, and optionally
    ``SITE.mask`` and ``SITE.scale`` (one number). A boolean mask is true for visible keys. A float
    mask is added to the logits. Queries and keys have the shape ``(batch, head, position, d)``, or
    ``(position, head, d)`` as in a vLLM request.

    The file's metadata may contain ``causal`` (``true`` or ``false``) and a ``scale`` for all
    sites. By default, attention is causal if there is no mask and there are as many queries as
    keys. The default scale is ``1 / sqrt(d)``.

    Raises:
        InputError: the file is missing or is not a safetensors file, or its tensors or metadata are
            invalid.
    """
    from safetensors import safe_open

    with reading(path), safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    sites = [name.removesuffix(".q") for name in tensors if name.endswith(".q")]
    expected = {f"{site}.{part}" for site in sites for part in ("q", "k", "mask", "scale")}
    if loose := sorted(tensors.keys() - expected):
        raise InputError(f"the tensor {loose[0]!r} belongs to no site", path=path, remedy=_GIVE)
    if not sites:
        raise InputError("contains no queries", path=path, remedy=_GIVE)
    return Recording([_record(site, tensors, metadata, path) for site in sites])


def _record(
    site: str, tensors: dict[str, Tensor], metadata: dict[str, str], path: Any
) -> AttentionRecord:
    def refuse(problem: str, remedy: str = _GIVE) -> InputError:
        return InputError(f"{site}: {problem}", path=path, remedy=remedy)

    if f"{site}.k" not in tensors:
        raise refuse("has queries, but no keys")
    q, k = (_of_four(tensors[f"{site}.{part}"]) for part in ("q", "k"))
    fits = q.dim() == k.dim() == 4 and q.is_floating_point() and k.is_floating_point()
    if not fits or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]) or q.shape[1] % k.shape[1]:
        raise refuse(
            f"queries {tuple(q.shape)} and keys {tuple(k.shape)} have shapes that do "
            "not fit together"
        )
    if not (q.isfinite().all() and k.isfinite().all()):
        raise refuse("queries or keys contain NaN or infinity", "capture them again")
    mask = tensors.get(f"{site}.mask")
    shape = (*q.shape[:3], k.shape[2])
    if mask is not None:
        is_kind = mask.dtype == torch.bool or mask.is_floating_point()
        if not is_kind or not broadcasts(mask.shape, shape):
            raise refuse(
                f"the mask has shape {tuple(mask.shape)}, but the weights have shape {shape}"
            )
    try:
        number = tensors.get(f"{site}.scale")
        scale = float(metadata["scale"] if number is None else number.item())
    except KeyError:
        scale = 1 / math.sqrt(q.shape[3])
    except (RuntimeError, TypeError, ValueError):
        scale = math.nan
    if not math.isfinite(scale):
        raise refuse(
            "the scale is not a number", "give a number, or omit the scale to use 1 / sqrt(d)"
        )
    causal = metadata.get("causal", str(mask is None and shape[2] == shape[3])).lower()
    if causal not in ("true", "false"):
        raise refuse(f"causal is {causal!r}", "give true or false")
    lazy = LazyAttention(q, k, scale, mask, causal == "true")
    notes = (_CAPTURED,)
    return AttentionRecord.of_lazy(site, 0, lazy, AXES, notes)


_CAPTURED = (
    "computed from captured queries and keys; if the engine changed the weights, "
    "the changes are not included"
)


def _of_four(tensor: Tensor) -> Tensor:
    """Convert ``(position, head, d)`` to ``(batch, head, position, d)``."""
    return tensor.transpose(0, 1).unsqueeze(0) if tensor.dim() == 3 else tensor
