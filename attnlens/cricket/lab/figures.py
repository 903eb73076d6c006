"""Estimates with 95% intervals, and functions to convert them to JSON or show them in tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np

from attnlens.errors import count
from attnlens.evidence.scores import Bootstrap, Estimates, Interval
from attnlens.files import Flags, Floats, Json
from attnlens.render.canvas import Cell, Column, Page, Words, add_table
from attnlens.render.numbers import DIGITS, interval, rounded

DRAWS: Final = 2000
"""The number of resamples for the interval of a mean."""


@lru_cache(maxsize=4)
def _bootstrap(matches: tuple[str, ...], seed: int) -> Bootstrap:
    groups = np.unique(np.asarray(matches), return_inverse=True)[1].astype(np.int64)
    return Bootstrap(groups, draws=DRAWS, seed=seed)


class Estimate(NamedTuple):
    """A figure and its 95% interval over resampled matches.

    A figure or an interval that is undefined is ``None``. In JSON, an estimate with the key
    ``name`` becomes two members: ``name`` and ``name_ci``.
    """

    value: float | None
    ci: Interval | None

    @classmethod
    def of(
        cls, estimates: Estimates, index: tuple[int, ...] = (), digits: int = DIGITS
    ) -> Estimate:
        """Return one element of an array of estimates."""
        low, high = (finite(ends[index], digits) for ends in (estimates.low, estimates.high))
        ci = None if low is None or high is None else (low, high)
        return cls(finite(estimates.value[index], digits), ci)

    @classmethod
    def mean(cls, values: Sequence[float] | Floats, matches: Sequence[str], seed: int) -> Estimate:
        """Return the mean of a figure over balls, and the interval over resampled matches.

        With a single match, both ends of the interval equal the mean.
        """
        mean = float(np.mean(values))
        interval = _bootstrap(tuple(matches), seed).interval(np.asarray(values, float))
        return cls(mean, interval or (mean, mean))

    @classmethod
    def resampled(cls, values: Floats, bootstrap: Bootstrap, rows: Flags | None = None) -> Estimate:
        """Return the mean of ``values`` and the mean's interval. ``values`` has shape ``(row,)``.

        If ``rows`` is given, only these rows are used. If no row is selected, the mean is ``None``.
        """
        selected = values if rows is None else values[rows]
        value = float(selected.mean()) if len(selected) else None
        return cls(value, bootstrap.interval(values, rows))

    @property
    def required_value(self) -> float:
        """The estimate's value, which must not be ``None``."""
        assert self.value is not None
        return self.value

    def cells(self, form: str, missing: str = "") -> tuple[str, str]:
        """Return the figure and its interval as two cells of a table.

        Args:
            form: a number format such as ``+.4f`` or ``.1%``; the format ``.1p`` is ``.1%``
                without the percent sign.
            missing: the text that is shown for an undefined figure.
        """
        if self.value is None:
            return missing, ""
        digits, sign = int(form[-2]), "+" if form.startswith("+") else ""
        scale = 1 if form.endswith("f") else 100
        text = f"{rounded(scale * self.value, digits):{sign}.{digits}f}"
        ends = interval(self.ci, digits, sign=sign, scale=scale)
        return (f"{text}%" if form.endswith("%") else text), ends


class Mean(NamedTuple):
    """A mean over balls, its 95% interval over resampled matches, and the number of balls."""

    mean: float | None
    ci: Interval | None
    balls: int

    @classmethod
    def of(cls, values: Sequence[float] | Floats, matches: Sequence[str], seed: int) -> Mean:
        """Return the result of `Estimate.mean`, or a mean of ``None`` if there are no values."""
        if not len(values):
            return cls(None, None, 0)
        return cls(*Estimate.mean(values, matches, seed), len(values))


def finite(value: float, digits: int = DIGITS) -> float | None:
    """Return a rounded figure for JSON, or ``None`` if the figure is not finite."""
    return rounded(float(value), digits) if math.isfinite(value) else None


def to_json(value: Any) -> Any:
    """Convert a result to JSON. `Estimate` documents the members of an estimate."""
    if isinstance(value, Mapping):
        members: dict[str, Any] = {}
        for name, member in value.items():
            if isinstance(member, Estimate):
                members |= {name: member.value, f"{name}_ci": to_json(member.ci)}
            else:
                members[name] = to_json(member)
        return members
    if hasattr(value, "_asdict"):
        return to_json(value._asdict())
    return [to_json(member) for member in value] if isinstance(value, list | tuple) else value


Close: Final = partial(Column, gap=1)
NAME: Final = Words(min_width=14)


def add_title(page: Page, document: Json, title: str, *lines: str) -> None:
    """Write the title of a page, then ``lines`` in grey, then the notes in the document.

    Args:
        title: a text with placeholders. ``{name}`` is the name of the checkpoint. ``{balls}`` and
            ``{matches}`` are the sample sizes. ``{first}`` and ``{last}`` are the days of the first
            and the last match. ``{sample}`` has the sample sizes and the known days.
    """
    dates = document["dates"]
    days = list(dates.values()) if isinstance(dates, Mapping) else dates
    balls = count(document["balls"], "ball")
    matches = count(document["matches"], "match", "matches")
    known = " to ".join(dict.fromkeys(day for day in days if day))
    words = title.format(
        name=(document.get("checkpoint") or document["model"])["name"],
        balls=balls,
        matches=matches,
        first=days[0] or "undated",
        last=days[1] or "undated",
        sample=f"{balls} of {matches}{known and ', '}{known}",
    )
    page.paragraph(words, "title", indent=0)
    for line in lines:
        page.paragraph(line, "quiet", indent=0)
    for note in document["notes"]:
        page.flag(note)
    page.blank()


def add_section(
    page: Page,
    heading: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    **settings: Any,
) -> None:
    """Write a table below the heading (if any). ``settings`` are passed to `add_table`."""
    if heading:
        page.paragraph(heading, "heading", indent=0)
    add_table(page, columns, rows, **settings)
    page.blank()


class Figure(NamedTuple):
    """A table column that shows a figure.

    Attributes:
        head: the heading of the column.
        name: the key of the figure in a row of JSON; ``a.b`` is the key ``b`` inside the value of
            ``a``.
        form: the number format, as in `Estimate.cells`, or ``d`` or ``,`` for whole numbers.
        ci: whether a second column shows the 95% interval.
        missing: the text that is shown for an undefined figure.
        spare: the value of `Column.spare` for the interval's column.
    """

    head: str
    name: str
    form: str
    ci: bool = False
    missing: str = ""
    spare: int = 0

    def cells(self, row: Json) -> Sequence[str]:
        value: Any = row
        for name in self.name.split("."):
            value = (value or {}).get(name)
        if isinstance(value, int):
            return [format(value, self.form)]
        figure = value if isinstance(value, Estimate | Mean) else (value, None)
        cells = Estimate(*figure[:2]).cells(self.form, self.missing)
        return cells if self.ci else cells[:1]


def add_figures(
    page: Page,
    rows: Iterable[tuple[Cell, Json]],
    figures: Sequence[Figure],
    *,
    heading: str = "",
    first: Column = NAME,
) -> None:
    """Write a table of figures. The first column has the names of the rows.

    If there are no rows, write nothing.
    """
    columns = [first]
    for figure in figures:
        columns += [Close(figure.head), *[Close(spare=figure.spare)] * figure.ci]
    cells = [
        [name, *(cell for figure in figures for cell in figure.cells(row))] for name, row in rows
    ]
    if cells:
        add_section(page, heading, columns, cells)
