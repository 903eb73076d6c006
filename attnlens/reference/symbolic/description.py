"""A module in symbols, and how it reads as text, as Markdown and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from attnlens.files import Json
from attnlens.render.page import render_plain
from attnlens.render.safe import clean, latex

PARAMETER_COLUMNS: Final = ("name", "symbol", "shape", "type", "what it does")


@dataclass(frozen=True, slots=True)
class Equation:
    """A step: ``text`` and ``latex`` are whole equations.

    Attributes:
        shape: of the value; of one head where the symbol has the index i.
        axes: what its axes are, such as ``token``; ``""`` where that is not known.
    """

    symbol: str
    latex: str
    text: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or buffer: its path, its symbol in the equations, and what it does there."""

    name: str
    symbol: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str
    description: str


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """A module in symbols.

    Attributes:
        sizes: numbers that fix its shape.
        notation: what the signs mean, a sentence each.
    """

    name: str
    sizes: dict[str, int | float]
    notation: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    equations: tuple[Equation, ...]

    def to_dict(self) -> Json:
        """As plain JSON data."""
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
        """A document in Markdown, with the equations as mathematics."""
        return self._rendered("description.md")

    def latex(self) -> str:
        """A whole LaTeX document."""
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
    """``(5, 10)``, or ``(token 5, width 10)`` where all axes are known; a number is ``()``."""
    sized = zip(axes, sizes, strict=True) if axes and all(axes) else ((size,) for size in sizes)
    return f"({', '.join(' '.join(map(str, size)) for size in sized)})"


def _columns(rows: Sequence[Sequence[str]], max_width: int) -> list[str]:
    """Rows with their cells below one another; a cell beyond ``max_width`` moves its row only."""
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
