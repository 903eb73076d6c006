"""A description of a model as text for a terminal, as Markdown and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attnlens.render.canvas import clean
from attnlens.render.trace import to_ascii


def render_description(data: Mapping[str, Any], *, unicode: bool = True) -> str:
    """Sizes, notation, parameters and equations, in columns.

    Args:
        data: `attnlens.symbolic.Description` as plain data.
        unicode: whether the text may hold more than ASCII.
    """
    sizes = "  ".join(f"{name} {value}" for name, value in data["sizes"].items())
    told = [data["name"], "", "sizes", f"  {sizes}", "", "notation"]
    told += [f"  {line}" for line in data["notation"]]
    told += ["", "parameters"]
    told += columns(
        [
            ("name", "symbol", "shape", "type", "what it does"),
            *(
                (one["name"], one["symbol"], shape(one["shape"]), one["dtype"], one["description"])
                for one in data["parameters"]
            ),
        ]
    )
    told += ["", "equations"]
    told += columns(
        [(one["text"], shape(one["shape"]), one["description"]) for one in data["equations"]],
        most=72,
    )
    lines = (clean(line).rstrip() for line in told)
    return "\n".join(line if unicode else to_ascii(line) for line in lines)


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


def render_description_markdown(data: Mapping[str, Any]) -> str:
    """The same as Markdown, with the equations as mathematics."""
    told = [f"# {_markdown(data['name'])}", "", "## Sizes", ""]
    told += _table(("size", "value"), [(n, str(v)) for n, v in data["sizes"].items()])
    told += ["", "## Notation", ""]
    told += [f"- {_markdown(line)}" for line in data["notation"]]
    told += ["", "## Parameters", ""]
    told += _table(
        ("name", "symbol", "shape", "type", "what it does"),
        [
            (one["name"], one["symbol"], shape(one["shape"]), one["dtype"], one["description"])
            for one in data["parameters"]
        ],
    )
    told += ["", "## Equations", ""]
    for number, one in enumerate(data["equations"], 1):
        words = f": {_markdown(one['description'])}" if one["description"] else ""
        told += [
            f"{number}. `{one['symbol']}` {shape(one['shape'])}{words}",
            "",
            f"   $${one['latex']}$$",
            "",
        ]
    return "\n".join(told).rstrip()


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *([_markdown(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _markdown(text: str) -> str:
    """Text of which Markdown makes nothing else."""
    for sign in ("\\", "|", "*", "_", "`", "[", "]", "<", ">", "$", "#"):
        text = text.replace(
            sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign]
        )
    return clean(text)


def render_description_latex(data: Mapping[str, Any]) -> str:
    """A whole LaTeX document."""
    told = [
        "\\documentclass{article}",
        "\\usepackage[utf8]{inputenc}",
        "\\usepackage[T1]{fontenc}",
        "\\usepackage{amsmath,amssymb,longtable}",
        "\\usepackage[margin=2cm]{geometry}",
        "\\begin{document}",
        f"\\section*{{{latex_text(data['name'])}}}",
        "\\subsection*{Sizes}",
        "\\begin{tabular}{lr}",
        *(f"{latex_text(n)} & {latex_text(str(v))} \\\\" for n, v in data["sizes"].items()),
        "\\end{tabular}",
        "\\subsection*{Notation}",
        "\\begin{itemize}",
        *(f"\\item {latex_text(line)}" for line in data["notation"]),
        "\\end{itemize}",
        "\\subsection*{Parameters}",
        "\\begin{longtable}{llllp{6cm}}",
        "name & symbol & shape & type & what it does \\\\ \\hline",
        *(
            " & ".join(
                latex_text(cell)
                for cell in (
                    one["name"],
                    one["symbol"],
                    shape(one["shape"]),
                    one["dtype"],
                    one["description"],
                )
            )
            + " \\\\"
            for one in data["parameters"]
        ),
        "\\end{longtable}",
        "\\subsection*{Equations}",
        "\\begin{align}",
        " \\\\\n".join(_aligned(one) for one in data["equations"]),
        "\\end{align}",
        "\\end{document}",
    ]
    return "\n".join(told)


def _aligned(one: Mapping[str, Any]) -> str:
    left, _, right = one["latex"].partition(" = ")
    words = f"\\text{{{latex_text(one['description'])}, }}" if one["description"] else ""
    sizes = " \\times ".join(
        "\\cdot" if size is None else str(size) for size in one["shape"]
    ) or "1"
    return f"{left} &= {right} && {words}{sizes}"


_LATEX = {
    "\\": "\\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "−": "$-$",
    "√": "$\\surd$",
    "ᵀ": "$^\\top$",
    "⊙": "$\\odot$",
    "∞": "$\\infty$",
    "σ": "$\\sigma$",
    "Φ": "$\\Phi$",
    "γ": "$\\gamma$",
    "β": "$\\beta$",
    "π": "$\\pi$",
    "Δ": "$\\Delta$",
    "²": "$^2$",
    "³": "$^3$",
    "…": "\\ldots{}",
    "·": "$\\cdot$",
    "⟨": "$\\langle$",
    "⟩": "$\\rangle$",
    "¬": "$\\neg$",
    "→": "$\\to$",
    "<": "$<$",
    ">": "$>$",
}


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(sign, sign) for sign in clean(text))
