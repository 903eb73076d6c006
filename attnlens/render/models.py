"""Reference models: their list, and a description of one as text, as Markdown and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from attnlens.files import Json
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.page import render_page, render_plain
from attnlens.render.safe import clean, clean_all, latex

if TYPE_CHECKING:
    from attnlens.reference.symbolic import Description, Equation

MOST = 1000
"""Columns: as wide as the terminal."""


@terminal_page(least=1, most=MOST)
def render_models(page: Page, models: Sequence[Json]) -> None:
    """A paragraph for each model: name, title, source, purpose, input, parameters and sizes."""
    for model in models:
        page.blank()
        heading = "{name}: {title}, {parameters:,} parameters"
        page.paragraph(heading.format(**model), indent=0)
        page.paragraph(f"for: {model['purpose']}")
        sizes = ", ".join(f"{name} {value}" for name, value in model["sizes"].items())
        if sizes:
            page.paragraph(f"sizes: {sizes}")
        page.paragraph(f"source: {model['source']}")
        page.paragraph(f"input of `trace`: {model['input']}")


PARAMETER_HEADS: Final = ("name", "symbol", "shape", "type", "what it does")


def render_description(description: Description) -> str:
    """Sizes, notation, parameters and equations, in columns."""
    sizes = "  ".join(f"{name} {value}" for name, value in description.sizes.items())
    lines = [clean(description.name), "", "sizes", f"  {clean(sizes)}", "", "notation"]
    lines += [f"  {clean(line)}" for line in description.notation]
    rows = [[clean(cell) for cell in row] for row in _parameters(description)]
    lines += ["", "parameters", *columns([PARAMETER_HEADS, *rows]), "", "equations"]
    rows = [
        [clean(one.text), clean(shape(one.shape, one.axes)), clean(one.description)]
        for one in description.equations
    ]
    lines += columns(rows, most=72)
    return "\n".join(line.rstrip() for line in lines)


def _parameters(description: Description) -> list[list[str]]:
    """A row for each parameter, under `PARAMETER_HEADS`."""
    return [
        [one.name, one.symbol, shape(one.shape, one.axes), one.dtype, one.description]
        for one in description.parameters
    ]


def shape(sizes: Iterable[int], axes: Sequence[str] = ()) -> str:
    """``(5, 10)``, or ``(token 5, width 10)`` where all axes are known; a number is ``()``."""
    named = zip(axes, sizes, strict=True) if axes and all(axes) else ((one,) for one in sizes)
    return f"({', '.join(' '.join(map(str, one)) for one in named)})"


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


def render_description_html(description: Description) -> str:
    """The same as a page of HTML."""
    equations = [
        [one.text, shape(one.shape, one.axes), one.description] for one in description.equations
    ]
    tables = [
        ("Sizes", ("size", "value"), [[*map(str, size)] for size in description.sizes.items()]),
        ("Notation", (), [[line] for line in description.notation]),
        ("Parameters", PARAMETER_HEADS, _parameters(description)),
        ("Equations", ("equation", "shape", "what it does"), equations),
    ]
    return render_page(
        "model.html",
        title=clean(description.name),
        lines=[],
        tables=[
            {"title": title, "heads": heads, "rows": clean_all(rows)}
            for title, heads, rows in tables
        ],
        steps=[],
        closing="Derived from the live model by running it once.",
    )


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
    sizes = " \\times ".join(map(str, one.shape))
    return f"{left} &= {right} && {words}{sizes or '1'}"
