"""A description of a model as text for a terminal, as Markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from attnlens.show.page import render_plain
from attnlens.show.safe import clean, latex, to_ascii

if TYPE_CHECKING:
    from attnlens.symbolic import Description, Equation, Parameter

PARAMETER_HEADS: Final = ("name", "symbol", "shape", "type", "what it does")
FEWEST: Final = 3
"""Fewer parameters alike are told one by one."""


def render_description(description: Description, *, unicode: bool = True) -> str:
    """Sizes, notation, parameters and equations, in columns.

    Args:
        unicode: whether the text may hold more than ASCII.
    """
    # Before there are columns: a sign may become a word.
    plain = clean if unicode else to_ascii
    sizes = "  ".join(f"{name} {value}" for name, value in description.sizes.items())
    lines = [plain(description.name), "", "sizes", f"  {plain(sizes)}", "", "notation"]
    lines += [f"  {plain(line)}" for line in description.notation]
    heads = [list(PARAMETER_HEADS)]
    rows = [[plain(cell) for cell in row] for row in _parameters(description)]
    lines += ["", "parameters", *columns([*heads, *rows]), "", "equations"]
    rows = [
        [plain(one.text), plain(shape(one.shape)), plain(one.description)]
        for one in description.equations
    ]
    lines += columns(rows, most=72)
    return "\n".join(line.rstrip() for line in lines)


def _parameters(description: Description) -> list[list[str]]:
    """A row for each parameter, under `PARAMETER_HEADS`."""
    return [
        [one.name, one.symbol, shape(one.shape), one.dtype, one.description]
        for one in together(description.parameters)
    ]


def together(parameters: Sequence[Parameter]) -> list[Parameter]:
    """The parameters, with three and more told once where only one part of the name differs.

    ``layers.*.weight ×12`` stands for twelve; the first of them tells its symbol and its work.
    """
    ways: dict[tuple[str, ...], list[int]] = {}
    for at, one in enumerate(parameters):
        for way in _ways(one):
            ways.setdefault(way, []).append(at)
    told: list[Parameter] = []
    done: set[int] = set()
    for at, one in enumerate(parameters):
        if at in done:
            continue
        best = max(_ways(one), key=lambda way: len([n for n in ways[way] if n not in done]))
        alike = [n for n in ways[best] if n not in done]
        if len(alike) < FEWEST:
            told.append(one)
            continue
        done.update(alike)
        sizes = zip(*(parameters[n].shape for n in alike), strict=True)
        common: Any = tuple(column[0] if len(set(column)) == 1 else None for column in sizes)
        told.append(replace(one, name=f"{'.'.join(best[2:])} ×{len(alike)}", shape=common))
    return told


def _ways(one: Parameter) -> list[tuple[str, ...]]:
    """The name with a part left open that is one of a list's or a dict's, as its symbol tells."""
    parts = one.name.split(".")
    same = (one.dtype, str(len(one.shape)))
    ways = [
        (*same, *parts[:at], "*", *parts[at + 1 :])
        for at in range(1, len(parts))
        if re.search(rf"(?:\(|\.|\b{re.escape(parts[at - 1])}_){re.escape(parts[at])}", one.symbol)
    ]
    return ways or [(*same, *parts)]


def shape(sizes: Iterable[int | None]) -> str:
    """``(5, 10)``; a single number is ``()``; a size that differs among those told is ``·``."""
    return f"({', '.join('·' if size is None else str(size) for size in sizes)})"


def columns(rows: Sequence[Sequence[str]], most: int = 48) -> list[str]:
    """Rows with their cells below one another; a cell beyond ``most`` moves its own row only."""
    if not rows:
        return []
    widths = [
        max((len(row[at]) for row in rows if len(row[at]) <= most), default=0)
        for at in range(len(rows[0]))
    ]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def render_description_markdown(description: Description) -> str:
    """The same as Markdown, with the equations as mathematics."""
    return _rendered("description.md", description)


def render_description_latex(description: Description) -> str:
    """A whole LaTeX document."""
    return _rendered("description.tex", description)


def _rendered(template: str, description: Description) -> str:
    return render_plain(
        template,
        d=description,
        heads=PARAMETER_HEADS,
        parameters=_parameters(description),
        shape=shape,
        aligned=_aligned,
    )


def _aligned(one: Equation) -> str:
    left, _, right = one.latex.partition(" = ")
    words = f"\\text{{{latex(one.description)}, }}" if one.description else ""
    sizes = " \\times ".join("\\cdot" if size is None else str(size) for size in one.shape)
    return f"{left} &= {right} && {words}{sizes or '1'}"
