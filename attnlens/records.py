"""What was recorded: attention weights, where they came from, and what each axis means."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from attnlens.axes import Axis
from attnlens.errors import InputError, NothingRecordedError, RecordingError
from attnlens.files import written_beside

FORMAT = "attnlens recording 1"


@dataclass(frozen=True, slots=True, eq=False)
class AttentionRecord:
    """The attention of one call of one module.

    Attributes:
        site: where, as in ``named_modules()``.
        call: 0, 1, ... when one module runs more than once.
        weights: shares, usually ``(batch, head, query, key)``.
        axes: one per dimension of ``weights``.
        content: the part of the logits from query times key, where the model tells it.
        bias: the part of the logits from built-in biases, likewise.

    Raises:
        RecordingError: axes and weights do not fit each other.
    """

    site: str
    call: int
    weights: Tensor
    axes: tuple[Axis, ...]
    content: Tensor | None = None
    bias: Tensor | None = None

    def __post_init__(self) -> None:
        fits = len(self.axes) == self.weights.dim() and all(
            axis.labels is None or len(axis.labels) == size
            for axis, size in zip(self.axes, self.weights.shape, strict=True)
        )
        if not fits:
            told = ", ".join(
                f"{axis.name}={'?' if axis.labels is None else len(axis.labels)}"
                for axis in self.axes
            )
            raise RecordingError(
                f"{self.site}: axes say ({told}), weights have shape {tuple(self.weights.shape)}"
            )

    def labelled(self, **labels: Sequence[str]) -> AttentionRecord:
        """The same record with labels on the named axes.

        Raises:
            RecordingError: no such axis, or as many labels as positions there are not.
        """
        names = [axis.name for axis in self.axes]
        for name in labels:
            if name not in names:
                raise RecordingError(f"{self.site}: no axis {name!r}; axes: {', '.join(names)}")
        axes = tuple(
            axis.labelled(tuple(labels[axis.name])) if axis.name in labels else axis
            for axis in self.axes
        )
        return replace(self, axes=axes)


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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write every record to a safetensors file (beside it first, then renamed).

        Raises:
            NothingRecordedError: there is nothing to save.
        """
        from safetensors.torch import save_file

        if not self._calls:
            raise NothingRecordedError("nothing was recorded, so there is nothing to save")
        tensors: dict[str, Tensor] = {}
        index = []
        for number, record in enumerate(r for calls in self._calls.values() for r in calls):
            parts = {"weights": record.weights, "content": record.content, "bias": record.bias}
            for part, value in parts.items():
                if value is not None:
                    tensors[f"{number}.{part}"] = value.contiguous()
            index.append(
                {
                    "site": record.site,
                    "call": record.call,
                    "axes": [[axis.name, axis.labels] for axis in record.axes],
                }
            )
        with written_beside(path) as part_file:
            save_file(tensors, part_file, {"format": FORMAT, "records": json.dumps(index)})


def load_recording(path: str | os.PathLike[str]) -> Recording:
    """A recording that was saved.

    Raises:
        InputError: the file is missing, or is not a recording.
    """
    from safetensors import SafetensorError, safe_open

    recording = Recording()
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            if about.get("format") != FORMAT:
                raise InputError("not a recording", path=path, remedy="give one that was saved")
            names = set(file.keys())
            for number, entry in enumerate(json.loads(about["records"])):
                parts = {
                    part: file.get_tensor(f"{number}.{part}")
                    for part in ("weights", "content", "bias")
                    if f"{number}.{part}" in names
                }
                axes = tuple(
                    Axis(name, None if labels is None else tuple(labels))
                    for name, labels in entry["axes"]
                )
                recording.add(AttentionRecord(entry["site"], entry["call"], axes=axes, **parts))
    except (OSError, SafetensorError) as error:
        raise InputError(f"cannot be read as a recording ({error})", path=path) from error
    except (KeyError, TypeError, ValueError, RecordingError) as error:
        raise InputError(f"is a damaged recording ({error})", path=path) from error
    return recording
