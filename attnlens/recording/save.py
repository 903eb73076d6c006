"""Write recordings to safetensors files, and read them back.

The file's metadata contain the format, the version of attnlens, and one JSON entry per record. Each
entry lists the parts of a record and the names of their tensors. Shared tensors are stored only
once. `record(to=...)` writes a folder of such files with an index.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from attnlens._version import VERSION
from attnlens.errors import InputError, RecordingError
from attnlens.files import write_text, writing, written_beside
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis, broadcasts
from attnlens.recording.lazy import LazyAttention

Entry = dict[str, Any]
"""The fields of a record, except tensors, as stored in metadata and index."""

_NEWEST: Final = 2
_FORMAT: Final = f"attnlens recording {_NEWEST}"
_LAZY: Final = "lazy."
"""The prefix of the parts of a lazy record, as in ``lazy.q``."""
_INDEX: Final = "recording.json"
"""The index file of a folder, with the format, the notes, and the entries of each file."""
_PART: Final = re.compile(r"part-[0-9]{5,9}\.safetensors")
_MAX_EXPANSION: Final = 1 << 16
"""The largest allowed expansion of a stored tensor, such as a mask that heads share."""
_DAMAGE: Final = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    RecordingError,
)
"""The exceptions that a damaged or forged file can raise."""


def tensors_of(record: AttentionRecord) -> dict[str, Tensor]:
    """Return the tensors of a record by part name, such as ``weights`` or ``lazy.q``."""
    parts = {
        field.name: getattr(record, field.name)
        for field in fields(record)
        if field.name != "weights" or record.lazy is None
    }
    if record.lazy is not None:
        parts |= {
            _LAZY + field.name: getattr(record.lazy, field.name) for field in fields(record.lazy)
        }
    return {name: value.detach() for name, value in parts.items() if isinstance(value, Tensor)}


def describe(record: AttentionRecord) -> Entry:
    """Return the fields of a record, except tensors, in a form that JSON can store."""
    entry = _plain_fields(record, ("weights", "axes", "lazy"))
    entry["axes"] = [[axis.name, axis.labels] for axis in record.axes]
    if record.lazy is not None:
        entry["lazy"] = _plain_fields(record.lazy)
    return entry


def _plain_fields(part: AttentionRecord | LazyAttention, left_out: Sequence[str] = ()) -> Entry:
    return {
        field.name: value
        for field in fields(part)
        if field.name not in left_out
        and (value := getattr(part, field.name)) is not None
        and not isinstance(value, Tensor)
    }


def record_of(entry: Entry, tensors: Mapping[str, Tensor]) -> AttentionRecord:
    """Rebuild a record from the results of `describe` and `tensors_of`.

    Raises:
        RecordingError: parts are missing, have the wrong type, or do not fit one another.
        KeyError, TypeError, ValueError: the entry is malformed.
    """
    parts = {name: tensor for name, tensor in tensors.items() if not name.startswith(_LAZY)}
    values: Entry = {
        name: value for name, value in entry.items() if name not in ("tensors", "expanded")
    }
    _refuse_unknown({*values, *parts}, AttentionRecord, "a record")
    values["axes"] = tuple(_axis(*pair) for pair in values["axes"])
    values["notes"] = tuple(values.get("notes", ()))
    _demand(
        all(isinstance(text, str) for text in (values["site"], *values["notes"])),
        "a site or a note is not text",
    )
    if values.get("rows") is not None:
        values["rows"] = tuple(values["rows"])
    numbers = (values["call"], *(values.get("rows") or ()))
    _demand(all(map(_is_count, numbers)), "a call or row number is not one of 0, 1, 2, ...")
    if values.get("lazy") is not None:
        values["lazy"] = _lazy(values["lazy"], tensors)
        # The queries are a placeholder for the weights, which would be costly to compute here.
        values["weights"] = values["lazy"].q
    record = AttentionRecord(**(values | parts))
    _check(record)
    return record


def write_part(path: str | os.PathLike[str], records: Sequence[AttentionRecord]) -> list[Entry]:
    """Write records to one file, and return the entries stored in the file's metadata.

    Raises:
        InputError: the file cannot be written.
    """
    from safetensors.torch import save_file

    places = _Places()
    entries = []
    for number, record in enumerate(records):
        entry = describe(record) | {"tensors": {}}
        for part, value in tensors_of(record).items():
            small = _unexpanded(value)
            if small.shape != value.shape:
                entry.setdefault("expanded", {})[part] = list(value.shape)
            entry["tensors"][part] = places.name_of(small, f"{number}.{part}")
        entries.append(entry)
    metadata = {"format": _FORMAT, "attnlens": VERSION, "records": json.dumps(entries)}
    with written_beside(path) as part_file:
        save_file(places.tensors, part_file, metadata)
    return entries


def read_part(
    path: str | os.PathLike[str], entries: Sequence[Entry] | None = None
) -> list[AttentionRecord]:
    """Read the records of one file.

    ``entries`` is a return value of `write_part`; None: the entries in the file's metadata.

    Raises:
        InputError: the file is missing, is not a recording, is damaged, or has another format.
    """
    from safetensors import safe_open

    with reading(path), safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        check_format(metadata, path)
        names = set(file.keys())
        tensor = cache(file.get_tensor)  # parts that share a tensor in the file share it again
        records = []
        record_entries = json.loads(metadata["records"]) if entries is None else entries
        _demand(isinstance(record_entries, list | tuple), "its index is not a list")
        for entry in record_entries:
            shapes = entry.get("expanded", {})
            for name in entry["tensors"].values():
                _demand(name in names, f"the tensor {name!r} is missing")
            tensors = {
                part: _expanded(tensor(name), shapes.get(part))
                for part, name in entry["tensors"].items()
            }
            records.append(record_of(entry, tensors))
        return records


def read_folder(path: str | os.PathLike[str]) -> list[AttentionRecord]:
    """Read the records of a folder. The data of a tensor are read at the first use.

    Raises:
        InputError: the folder is not a recording, is damaged, or has another format.
    """
    folder = Path(path)
    index = folder / _INDEX
    if not index.is_file():
        raise InputError(
            f"is a folder without {_INDEX}, so it is not a recording",
            path=path,
            remedy=SAVED,
        )
    with reading(index):
        metadata = json.loads(index.read_text(encoding="utf-8"))
        check_format(metadata, index)
        parts = [(str(part["file"]), part["records"]) for part in metadata["parts"]]
        notes = [str(note) for note in metadata["notes"]]
        for name, _ in parts:
            if not _PART.fullmatch(name):
                raise ValueError(f"its index names {name!r}, which is not a file of this folder")
    records = [record for name, entries in parts for record in read_part(folder / name, entries)]
    if records and notes:
        # A note about the whole block is stored in its first record.
        records[0] = records[0].replaced(notes=(*records[0].notes, *notes))
    return records


_PART_BYTES: Final = 64 << 20
"""The size at which collected records are written to a new file, in bytes."""


class Stream:
    """Writes records to a folder. The folder gets its final name when it is complete.

    Raises:
        InputError: the name already exists, or the enclosing folder does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))
        if self.path.exists():
            raise InputError(
                "already exists",
                path=path,
                remedy="give the name of a folder that does not exist yet",
            )
        if not self.path.parent.is_dir():
            raise InputError(
                "cannot be created, because its folder does not exist",
                path=path,
                remedy="create the folder first",
            )
        self._making = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        with writing(path):
            self._making.mkdir()
        self._held: list[AttentionRecord] = []
        self._bytes = 0
        self._parts: list[Entry] = []

    def add(self, record: AttentionRecord) -> None:
        """Add one record. Write the collected records if they reach `_PART_BYTES`."""
        self._held.append(record)
        self._bytes += sum(
            value.numel() * value.element_size() for value in tensors_of(record).values()
        )
        if self._bytes >= _PART_BYTES:
            self._write()

    def finish(self, notes: tuple[str, ...]) -> None:
        """Write the remaining records and the index, and rename the folder."""
        self._write()
        index = {"format": _FORMAT, "notes": notes, "parts": self._parts}
        write_text(self._making / _INDEX, json.dumps(index))
        with writing(self.path):
            os.rename(self._making, self.path)

    def drop(self) -> None:
        """Delete an unfinished folder."""
        self._held.clear()
        shutil.rmtree(self._making, ignore_errors=True)

    def _write(self) -> None:
        if not self._held:
            return
        name = f"part-{len(self._parts):05}.safetensors"
        entries = write_part(self._making / name, self._held)
        self._parts.append({"file": name, "records": entries})
        self._held.clear()
        self._bytes = 0


SAVED: Final = "give a complete file written by recording.save, or a folder of record(to=...)"


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors inside this ``with`` block into an InputError about the file."""
    from safetensors import SafetensorError

    if os.path.exists(path) and not os.path.isfile(path):
        # Opening a pipe would wait for a writer.
        raise InputError("is a directory, a device or a pipe", path=path, remedy=SAVED)
    try:
        if os.path.exists(path):
            open(path, "rb").close()  # safetensors reports an unreadable file as missing
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        problem = f"cannot be read as a recording ({reason})"
        raise InputError(problem, path=path, remedy=SAVED) from error
    except _DAMAGE as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        remedy = "record it again"
        raise InputError(f"is a damaged recording ({reason})", path=path, remedy=remedy) from error


def check_format(entry: Entry, path: str | os.PathLike[str]) -> None:
    """Raise an InputError unless the metadata describe a recording in a known format."""
    matched = re.fullmatch(r"attnlens recording ([0-9]{1,9})", str(entry.get("format")))
    if matched is None:
        raise InputError("is not a recording", path=path, remedy=SAVED)
    if int(matched[1]) != _NEWEST:
        is_old = int(matched[1]) < _NEWEST
        raise InputError(
            f"has format {matched[1]}, but attnlens {VERSION} reads only format {_NEWEST}",
            path=path,
            remedy="record it again" if is_old else "install a newer version of attnlens",
        )


def _unexpanded(value: Tensor) -> Tensor:
    """Return a tensor without the repetitions made by ``expand``."""
    for index, (size, step) in enumerate(zip(value.shape, value.stride(), strict=True)):
        if size > 1 and step == 0:
            value = value.narrow(index, 0, 1)
    return value


def _expanded(value: Tensor, shape: Sequence[int] | None) -> Tensor:
    """Check the stored shape, and expand the tensor to this shape."""
    if shape is None:
        return value
    claimed = math.prod(shape)
    _demand(
        claimed <= _MAX_EXPANSION * max(1, value.numel()),
        f"{value.numel()} numbers are claimed to have the shape {' x '.join(map(str, shape))}",
    )
    return value.expand(shape)


class _Places:
    """Collects the tensors to write. Each tensor is written once, under one name."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._names: dict[tuple[object, ...], str] = {}
        self._storages: set[tuple[object, ...]] = set()

    def name_of(self, value: Tensor, name: str) -> str:
        """Return the tensor's name in the file. A new tensor gets the name ``name``."""
        storage = value.untyped_storage()
        storage_key = (value.device, storage.data_ptr())
        layout = (*storage_key, value.storage_offset(), value.shape, value.stride(), value.dtype)
        if value.numel() and layout in self._names:
            return self._names[layout]
        # Copy a view of a larger buffer, such as fused queries and keys. safetensors refuses such
        # views or writes the whole buffer.
        is_whole = storage.nbytes() == value.numel() * value.element_size()
        if not (value.is_contiguous() and is_whole) or storage_key in self._storages:
            value = value.clone(memory_format=torch.contiguous_format)
        self.tensors[name] = value
        self._names[layout] = name
        self._storages.add(storage_key)
        return name


def _refuse_unknown(names: Iterable[str], kind: type[Any], subject: str) -> None:
    if unknown := sorted(set(names) - {field.name for field in fields(kind)}):
        raise RecordingError(f"{subject} has an unknown part {unknown[0]!r}")


def _axis(name: object, labels: Sequence[object] | None) -> Axis:
    names = None if labels is None else tuple(labels)
    texts = [name, *(names or ())]
    good = not isinstance(labels, str) and all(isinstance(text, str) for text in texts)
    _demand(good, f"the name or the labels of axis {name!r} are not texts")
    return Axis(str(name), None if names is None else tuple(map(str, names)))


def _lazy(entry: Entry, tensors: Mapping[str, Tensor]) -> LazyAttention:
    values: Entry = {name: tuple(v) if isinstance(v, list) else v for name, v in entry.items()}
    values |= {
        name.removeprefix(_LAZY): tensor
        for name, tensor in tensors.items()
        if name.startswith(_LAZY)
    }
    _refuse_unknown(values, LazyAttention, "lazy attention")
    lazy = LazyAttention(**values)
    q, k = lazy.q, lazy.k
    _demand(
        q.is_floating_point() and k.is_floating_point(),
        "queries or keys are not floating-point numbers",
    )
    fits = q.dim() == k.dim() == 4 and q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3]
    _demand(
        fits and k.shape[1] > 0 and q.shape[1] % k.shape[1] == 0,
        f"queries {tuple(q.shape)} and keys {tuple(k.shape)} have shapes that do not fit together",
    )
    is_number = isinstance(lazy.scale, int | float) and not isinstance(lazy.scale, bool)
    is_number = is_number and abs(lazy.scale) <= torch.finfo(torch.float32).max
    _demand(
        is_number and isinstance(lazy.causal, bool),
        f"scale {lazy.scale!r} is not a number, or causal {lazy.causal!r} is not true or false",
    )
    if lazy.mask is not None:
        kind = lazy.mask.dtype == torch.bool or lazy.mask.is_floating_point()
        fits = kind and broadcasts(lazy.mask.shape, lazy.shape)
        _demand(fits, "the mask does not fit the weights")
    if lazy.lse is not None:
        fits = lazy.lse.shape == lazy.shape[:3]
        _fit(lazy.lse, fits, "the log-sum-exps do not fit the weights")
    return lazy


def _check(record: AttentionRecord) -> None:
    """Check properties that a damaged or forged file can violate."""
    shape = record.shape
    for name in ("content", "bias"):
        part = getattr(record, name)
        if part is not None:
            fits = broadcasts(part.shape, shape)
            _fit(part, fits, f"{name} does not fit the weights' shape {shape}")
    sizes = record.sizes[-1:], shape[2:3]
    for part, size in zip((record.values, record.outputs), sizes, strict=True):
        if part is not None:
            fits = part.dim() == 4 and part.shape[:3] == shape[:2] + size
            _fit(part, fits, "values or outputs do not fit the weights")
    if record.rows is not None and "query" in (names := [axis.name for axis in record.axes]):
        n_rows = shape[names.index("query")]
        _demand(
            len(record.rows) == n_rows,
            f"{len(record.rows)} row numbers are given for {n_rows} rows",
        )
    if record.lazy is not None:
        return
    _demand(record.weights.is_floating_point(), f"weights have dtype {record.weights.dtype}")
    if record.keys is None:
        _demand(
            record.residual is None and record.key_count is None, "there is a residual, but no keys"
        )
        return
    keys, count = record.keys, record.key_count
    _demand(_is_count(count) and len(shape) > 0, f"the key count {count!r} is not a number")
    _demand(
        (count or 0) <= _MAX_EXPANSION * max(1, keys.shape[-1] if keys.dim() else 1),
        f"{count} keys are claimed, but far fewer are stored",
    )
    _demand(
        not keys.is_floating_point()
        and not keys.is_complex()
        and keys.dtype != torch.bool
        and keys.shape == record.weights.shape,
        f"keys {tuple(keys.shape)} of {keys.dtype} do not fit the weights' shape {shape}",
    )
    inside = not keys.numel() or (int(keys.min()) >= 0 and int(keys.max()) < (count or 0))
    _demand(inside, f"a key number is not below the key count {count}")
    if record.residual is not None:
        fits = record.residual.shape == shape[:-1]
        _fit(record.residual, fits, "the residual does not fit the weights")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _fit(part: Tensor, fits: bool, otherwise: str) -> None:
    _demand(part.is_floating_point() and fits, otherwise)


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RecordingError(otherwise)
