"""A description of a model as text for a terminal, as Markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import clean
from attnlens.render.trace import to_ascii

PARAMETER_HEADS: Final = ("name", "symbol", "shape", "type", "what it does")
FEWEST: Final = 3
"""Fewer parameters alike are told one by one."""


def render_description(data: Mapping[str, Any], *, unicode: bool = True) -> str:
    """Sizes, notation, parameters and equations, in columns.

    Args:
        data: `attnlens.symbolic.Description` as plain data.
        unicode: whether the text may hold more than ASCII.
    """
    if not unicode:
        # Before there are columns: a sign may become a word.
        data = _ascii(data)
    sizes = "  ".join(f"{name} {value}" for name, value in data["sizes"].items())
    told = [data["name"], "", "sizes", f"  {sizes}", "", "notation"]
    told += [f"  {line}" for line in data["notation"]]
    told += ["", "parameters"]
    told += columns(
        [
            PARAMETER_HEADS,
            *(
                (one["name"], one["symbol"], shape(one["shape"]), one["dtype"], one["description"])
                for one in together(data["parameters"])
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


def _ascii(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _ascii(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_ascii(member) for member in value]
    return to_ascii(value) if isinstance(value, str) else value


def together(parameters: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parameters, with three and more told once where only one part of the name differs.

    ``layers.*.weight ×12`` stands for twelve; the first of them tells its symbol and its work.
    """
    ways: dict[tuple[str, ...], list[int]] = {}
    for number, one in enumerate(parameters):
        for way in _ways(one):
            ways.setdefault(way, []).append(number)
    told: list[dict[str, Any]] = []
    done: set[int] = set()
    for number, one in enumerate(parameters):
        if number in done:
            continue
        best = max(_ways(one), key=lambda way: len([n for n in ways[way] if n not in done]))
        alike = [n for n in ways[best] if n not in done]
        if len(alike) < FEWEST:
            told.append(dict(one))
            continue
        done.update(alike)
        sizes = zip(*(parameters[n]["shape"] for n in alike), strict=True)
        told.append(
            {
                **one,
                "name": f"{'.'.join(best[2:])} ×{len(alike)}",
                "shape": [column[0] if len(set(column)) == 1 else None for column in sizes],
            }
        )
    return told


def _ways(one: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The name with a part left open that is one of a list's or a dict's, as its symbol tells."""
    parts = one["name"].split(".")
    same = (one["dtype"], str(len(one["shape"])))
    ways = [
        (*same, *parts[:at], "*", *parts[at + 1 :])
        for at in range(1, len(parts))
        if re.search(
            rf"(?:\(|\.|\b{re.escape(parts[at - 1])}_){re.escape(parts[at])}", one["symbol"]
        )
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


def render_description_markdown(data: Mapping[str, Any]) -> str:
    """The same as Markdown, with the equations as mathematics."""
    told = [f"# {_markdown(data['name'])}", "", "## Sizes", ""]
    told += _table(("size", "value"), [(n, str(v)) for n, v in data["sizes"].items()])
    told += ["", "## Notation", ""]
    told += [f"- {_markdown(line)}" for line in data["notation"]]
    told += ["", "## Parameters", ""]
    told += _table(
        PARAMETER_HEADS,
        [
            (one["name"], one["symbol"], shape(one["shape"]), one["dtype"], one["description"])
            for one in together(data["parameters"])
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
            for one in together(data["parameters"])
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
    sizes = (
        " \\times ".join("\\cdot" if size is None else str(size) for size in one["shape"]) or "1"
    )
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
