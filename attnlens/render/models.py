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

_MAX_COLUMNS = 1000
"""As wide as the terminal."""


@terminal_page(min_width=1, max_width=_MAX_COLUMNS)
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


_PARAMETER_HEADS: Final = ("name", "symbol", "shape", "type", "what it does")


def render_description(description: Description) -> str:
    """Sizes, notation, parameters and equations, in columns."""
    sizes = "  ".join(f"{name} {value}" for name, value in description.sizes.items())
    lines = [clean(description.name), "", "sizes", f"  {clean(sizes)}", "", "notation"]
    lines += [f"  {clean(line)}" for line in description.notation]
    rows = [[clean(cell) for cell in row] for row in _parameters(description)]
    lines += ["", "parameters", *columns([_PARAMETER_HEADS, *rows]), "", "equations"]
    rows = [
        [
            clean(equation.text),
            clean(shape(equation.shape, equation.axes)),
            clean(equation.description),
        ]
        for equation in description.equations
    ]
    lines += columns(rows, max_width=72)
    return "\n".join(line.rstrip() for line in lines)


def _parameters(description: Description) -> list[list[str]]:
    """A row for each parameter, under `_PARAMETER_HEADS`."""
    return [
        [
            parameter.name,
            parameter.symbol,
            shape(parameter.shape, parameter.axes),
            parameter.dtype,
            parameter.description,
        ]
        for parameter in description.parameters
    ]


def shape(sizes: Iterable[int], axes: Sequence[str] = ()) -> str:
    """``(5, 10)``, or ``(token 5, width 10)`` where all axes are known; a number is ``()``."""
    sized = zip(axes, sizes, strict=True) if axes and all(axes) else ((size,) for size in sizes)
    return f"({', '.join(' '.join(map(str, size)) for size in sized)})"


def columns(rows: Sequence[Sequence[str]], max_width: int = 48) -> list[str]:
    """Rows with their cells below one another; a cell beyond ``max_width`` moves its row only."""
    if not rows:
        return []
    widths = [
        max((len(row[at]) for row in rows if len(row[at]) <= max_width), default=0)
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
        [equation.text, shape(equation.shape, equation.axes), equation.description]
        for equation in description.equations
    ]
    tables = [
        ("Sizes", ("size", "value"), [[*map(str, size)] for size in description.sizes.items()]),
        ("Notation", (), [[line] for line in description.notation]),
        ("Parameters", _PARAMETER_HEADS, _parameters(description)),
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
        heads=_PARAMETER_HEADS,
        parameters=_parameters(description),
        shape=shape,
        aligned=_aligned,
    )


def _aligned(equation: Equation) -> str:
    left, _, right = equation.latex.partition(" = ")
    words = f"\\text{{{latex(equation.description)}, }}" if equation.description else ""
    sizes = " \\times ".join(map(str, equation.shape))
    return f"{left} &= {right} && {words}{sizes or '1'}"
