"""Figures with their intervals, and the documents of figures that commands print as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Floats
from attnlens.evidence.scores import Bootstrap, Estimates
from attnlens.files import Json
from attnlens.render.numbers import DIGITS, rounded

Interval = tuple[float, float]
DRAWS: Final = 2000
"""Resamples of the interval of a mean."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and its 95% interval, whole matches resampled; ``None`` where there is none.

    In JSON two fields: ``name`` and ``name_ci``.
    """

    value: float | None
    ci: Interval | None

    @classmethod
    def of(cls, estimates: Estimates, place: tuple[int, ...] = (), digits: int = DIGITS) -> Figure:
        """One of many estimates."""
        low, high = (told(part[place], digits) for part in (estimates.low, estimates.high))
        ci = None if low is None or high is None else (low, high)
        return cls(told(estimates.value[place], digits), ci)

    @classmethod
    def mean(cls, values: Sequence[float] | Floats, matches: Sequence[str], seed: int) -> Figure:
        """The mean of a figure of balls, and its interval over their matches.

        With one match there is nothing to resample, and both ends are the mean.
        """
        place = np.unique(np.asarray(matches), return_inverse=True)[1].astype(np.int64)
        each = np.asarray(values, float)
        mean = float(each.mean())
        found = Bootstrap(place, draws=DRAWS, seed=seed).interval(each)
        return cls(mean, found or (mean, mean))

    @classmethod
    def resampled(
        cls, values: Floats, bootstrap: Bootstrap, rows: NDArray[np.bool_] | None = None
    ) -> Figure:
        """The mean of ``values`` ``(row,)``, or of some of them; nothing where there are none."""
        some = values if rows is None else values[rows]
        value = float(some.mean()) if len(some) else None
        return cls(value, bootstrap.interval(values, rows))

    @property
    def required_value(self) -> float:
        """The figure, where it is known that there is one."""
        assert self.value is not None
        return self.value


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, its 95% interval over matches, and of how many balls."""

    mean: float | None
    ci: Interval | None
    balls: int

    @classmethod
    def of(cls, values: Sequence[float] | Floats, matches: Sequence[str], seed: int) -> Mean:
        """As `Figure.mean`."""
        if not len(values):
            return cls(None, None, 0)
        figure = Figure.mean(values, matches, seed)
        return cls(figure.value, figure.ci, len(values))


class Document(Protocol):
    """A dataclass of plain data.

    ``MERGED`` names fields whose members stand beside the other fields in JSON, ``OPTIONAL``
    those that are left out where there is nothing.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def told(value: float, digits: int = DIGITS) -> float | None:
    """A figure for JSON; ``None`` where there is none."""
    return rounded(float(value), digits) if math.isfinite(value) else None


def to_json(document: Document) -> Json:
    """A document as JSON has it: objects, lists, texts and numbers."""
    plain: Json = {}
    for field in fields(document):
        value = getattr(document, field.name)
        if field.name in getattr(document, "MERGED", ()):
            plain |= _plain(value)
        elif value or field.name not in getattr(document, "OPTIONAL", ()):
            plain |= _object({field.name: value})
    return plain


def _object(members: Mapping[str, Any]) -> Json:
    plain: Json = {}
    for name, value in members.items():
        if isinstance(value, Figure):
            plain |= {name: value.value, f"{name}_ci": _plain(value.ci)}
        else:
            plain[name] = _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_json(value)
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return value
