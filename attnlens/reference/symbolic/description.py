"""The results of `describe` and `trace`, as objects, text, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from torch import Tensor

from attnlens.errors import UnknownNameError, choices, count
from attnlens.files import Json
from attnlens.render.canvas import cut, display_width, pad
from attnlens.render.page import render_plain
from attnlens.render.safe import clean, latex

PARAMETER_COLUMNS: Final = ("name", "symbol", "shape", "type", "what it does")


@dataclass(frozen=True, slots=True)
class Equation:
    """The equation of one step of a forward pass.

    Attributes:
        symbol: the symbol on the left-hand side.
        latex, text: the complete equation in LaTeX and as plain text.
        shape: the shape of the value, or of one head's value if the symbol has the index i.
        axes: the name of each axis in ``shape``, such as ``token``; ``""`` if unknown.
    """

    symbol: str
    latex: str
    text: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or buffer of the module, with its symbol and role in the equations."""

    name: str
    symbol: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str
    description: str


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """The equations of a module.

    Attributes:
        sizes: the sizes of the module by name, such as the number of heads.
        notation: sentences that explain the symbols and signs in the equations.
    """

    name: str
    sizes: dict[str, int | float]
    notation: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    equations: tuple[Equation, ...]

    def to_dict(self) -> Json:
        """Return the description as JSON data."""
        entries = ("notation", "parameters", "equations")
        return asdict(self) | {
            name: [_plain(entry) for entry in getattr(self, name)] for name in entries
        }

    def __str__(self) -> str:
        sizes = "  ".join(f"{name} {value}" for name, value in self.sizes.items())
        equations = [
            (equation.text, shape_text(equation.shape, equation.axes), equation.description)
            for equation in self.equations
        ]
        lines = [self.name, "", "sizes", f"  {sizes}", "", "notation"]
        lines += [f"  {line}" for line in self.notation]
        lines += ["", "parameters", *_columns([PARAMETER_COLUMNS, *self._parameter_rows()], 48)]
        lines += ["", "equations", *_columns(equations, 72)]
        return "\n".join(clean(line).rstrip() for line in lines)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def markdown(self) -> str:
        """Return a Markdown document, with LaTeX equations."""
        return self._rendered("description.md")

    def latex(self) -> str:
        """Return a complete LaTeX document."""
        return self._rendered("description.tex")

    def _rendered(self, template: str) -> str:
        return render_plain(
            template,
            d=self,
            heads=PARAMETER_COLUMNS,
            parameters=self._parameter_rows(),
            shape=shape_text,
            aligned=_aligned,
        )

    def _parameter_rows(self) -> list[tuple[str, ...]]:
        return [
            (
                each.name,
                each.symbol,
                shape_text(each.shape, each.axes),
                each.dtype,
                each.description,
            )
            for each in self.parameters
        ]


def _plain(entry: Equation | Parameter | str) -> Json | str:
    if isinstance(entry, str):
        return entry
    return {**asdict(entry), "shape": list(entry.shape), "axes": list(entry.axes)}


def shape_text(sizes: Iterable[int], axes: Sequence[str] = ()) -> str:
    """Return a shape as text: ``(token 5, width 10)`` if all axes have names, else ``(5, 10)``."""
    sized = zip(axes, sizes, strict=True) if axes and all(axes) else ((size,) for size in sizes)
    return f"({', '.join(' '.join(map(str, size)) for size in sized)})"


def _columns(rows: Sequence[Sequence[str]], max_width: int) -> list[str]:
    """Align the cells of each column, except cells wider than ``max_width``."""
    widths = [
        max((len(cell) for cell in column if len(cell) <= max_width), default=0)
        for column in zip(*rows, strict=True)
    ]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _aligned(equation: Equation) -> str:
    left, _, right = equation.latex.partition(" = ")
    words = f"\\text{{{latex(equation.description)}, }}" if equation.description else ""
    sizes = " \\times ".join(map(str, equation.shape))
    return f"{left} &= {right} && {words}{sizes or '1'}"


MAX_TABLE_ROWS: Final = 12
"""The maximum number of rows in a table. Larger tables show only their first and last rows."""

MAX_TABLES: Final = 8
"""The maximum number of tables shown for one value."""


@dataclass(frozen=True, slots=True, eq=False)
class Value(Equation):
    """A named value of the forward pass, and the value's equation. Inputs have no equation.

    Attributes:
        axes: the name of each axis of ``values``, such as ``head``; ``""`` if unknown.
        values: the numbers, without the batch axis. A head axis comes first.
        difference: the largest difference between the model's values and numpy's values; None if
            the equation cannot be recomputed.
    """

    values: Tensor
    difference: float | None

    def to_dict(self) -> Json:
        """Return JSON data. Infinite, NaN and complex numbers become strings like ``"-inf"``."""
        return {
            "symbol": self.symbol,
            "shape": list(self.shape),
            "axes": list(self.axes),
            "values": _json_numbers(self.values.tolist()),
            "description": self.description,
            "equation": self.text,
            "latex": self.latex,
            "difference": self.difference,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """Every named value of one forward pass.

    Attributes:
        caption: a one-line description of the input.
        labels: the labels along each named axis, such as ``{"token": ("3", "1", "4")}``.
        inputs: the input tensors.
        steps: the named results, in order of computation.
        output: the return value of the module.
    """

    name: str
    caption: str
    labels: dict[str, tuple[str, ...]]
    inputs: tuple[Value, ...]
    steps: tuple[Value, ...]
    output: Any

    def __getitem__(self, symbol: str) -> Tensor:
        """Return the values of a step or input by its symbol.

        Raises:
            UnknownNameError: no step or input has this symbol.
        """
        values = {value.symbol: value.values for value in (*self.inputs, *reversed(self.steps))}
        if symbol not in values:
            raise UnknownNameError(
                f"there is no step {symbol!r}; the steps are {choices(symbol, values)}"
            )
        return values[symbol]

    @property
    def difference(self) -> float | None:
        """The largest difference in a recomputed equation; None if no equation was recomputed."""
        differences = [step.difference for step in self.steps if step.difference is not None]
        return max(differences, default=None)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The symbols of the steps whose equations cannot be recomputed."""
        return tuple(step.symbol for step in self.steps if step.difference is None)

    def to_dict(self) -> Json:
        """Return the trace as JSON data."""
        return {
            "name": self.name,
            "about": self.caption,
            "labels": {axis: list(labels) for axis, labels in self.labels.items()},
            "inputs": [value.to_dict() for value in self.inputs],
            "steps": [step.to_dict() for step in self.steps],
            "retraced": {
                "equations": len(self.steps) - len(self.unchecked),
                "largest_difference": self.difference,
                "not_retraced": list(self.unchecked),
            },
        }

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def text(self, width: int = 100) -> str:
        """Return all equations and values as text. Lines are truncated to ``width`` characters."""
        lines = [" ".join(filter(None, (self.name, self.caption))), ""]
        for value in (*self.inputs, *self.steps):
            lines += [*self._value_lines(value, width), ""]
        lines.append(self._check_summary())
        return "\n".join(clean(line).rstrip() for line in lines)

    def _check_summary(self) -> str:
        checked, every = len(self.steps) - len(self.unchecked), len(self.steps)
        summary = "No equation could be recomputed."
        if checked:
            which = "The equation was" if checked == 1 else f"All {checked} equations were"
            if self.unchecked:
                which = f"{checked} of {every} equations were"
            summary = (
                f"{which} recomputed with numpy from the values shown; the "
                f"largest difference is {self.difference:.1e}."
            )
        if self.unchecked:
            summary += f" Not recomputed: {', '.join(self.unchecked)}."
        return summary

    def _value_lines(self, value: Value, width: int) -> Iterator[str]:
        heading = f"{value.text or value.symbol}   {shape_text(value.shape)}   {value.description}"
        yield cut(heading.rstrip(), width)
        values = np.asarray(value.values.numpy(force=True))
        values = values.reshape((1,) * (2 - values.ndim) + values.shape)
        axes = ("",) * (2 - len(value.axes)) + value.axes
        labels = [self._labels(axis, size) for axis, size in zip(axes, values.shape, strict=True)]
        tables = list(np.ndindex(values.shape[:-2]))
        for index in tables[:MAX_TABLES]:
            if index:
                names = (
                    f"{axis or 'part'} {its[at] if its else at + 1}"
                    for axis, its, at in zip(axes, labels, index, strict=False)
                )
                yield f"  {', '.join(names)}"
            yield from _table_lines(values[index].tolist(), labels[-2], labels[-1], width)
        if len(tables) > MAX_TABLES:
            yield f"  … {count(len(tables) - MAX_TABLES, 'table')} not shown; see --json"

    def _labels(self, axis: str, size: int) -> Sequence[str]:
        labels = self.labels.get(axis, ())
        return labels if len(labels) == size else ()


def _json_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_numbers(member) for member in value]
    as_text = isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value))
    return str(value) if as_text else value


def _number(value: complex) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value).replace("-", "−")
    text = f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
    # Show no sign for minus zero.
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def _table_lines(
    rows: list[list[complex]], row_labels: Sequence[str], column_labels: Sequence[str], width: int
) -> Iterator[str]:
    places = list(range(len(rows)))
    if len(rows) > MAX_TABLE_ROWS:
        del places[MAX_TABLE_ROWS - 4 : -3]
    cells = {at: [_number(value) for value in rows[at]] for at in places}
    across = len(rows[0]) if rows else 0
    wide = max((display_width(cell) for row in cells.values() for cell in row), default=1)
    wide = max([wide, *(min(display_width(label), 12) for label in column_labels)])
    side = max((min(display_width(label), 24) for label in row_labels), default=0)
    columns, more = across, ""
    if across > (width - 4 - side) // (wide + 2):
        columns = max(1, (width - 4 - side - len(f"  … {across} more")) // (wide + 2))
        more = f"  … {across - columns} more"

    def line(label: str, texts: Sequence[str]) -> str:
        cut_texts = (cut(text, wide) for text in texts[:columns])
        right = "  ".join(" " * (wide - display_width(text)) + text for text in cut_texts)
        return f"    {pad(label, side)}  {right}"

    if column_labels:
        yield line("", column_labels)
    for at, row in cells.items():
        yield line(row_labels[at] if row_labels else "", row) + more
        if len(cells) < len(rows) and at == MAX_TABLE_ROWS - 5:
            yield f"    {pad('…', side)}  … {len(rows) - len(cells)} more rows"
