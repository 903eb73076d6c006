"""A traced forward pass as one HTML page of small heat maps: no script, no network, no other file.

Blue is above nothing, orange below, the stronger the further; wherever there is room the number
itself stands in its cell, and every cell says it in words, so that nothing is told by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.html_page import framed
from attnlens.render.html_text import text
from attnlens.render.trace import Table, number, retraced_words, tables

WIDE, NARROW, ROW = 52.0, 14.0, 20.0
"""Sizes of a cell that shows its number and of one that does not, in pixels."""

NUMBERS_UP_TO: Final = 12
"""Of more columns the cells are narrow, and hold no number."""

MOST_ROWS, MOST_COLUMNS, MOST_MAPS = 16, 48, 8
SIDE: Final = 7.0
"""Width of a letter of a row's label."""

KEY: Final = (
    '<p class="quiet">Blue is above nothing, orange below; the stronger, the further from it, up '
    "to the largest number of the same table.</p>"
)


def render_trace_html(data: Mapping[str, Any]) -> str:
    """The page, without a final line break.

    Args:
        data: `attnlens.symbolic.Trace` as plain data.
    """
    title = f"{data['name']}, step by step"
    values = [*data["inputs"], *data["steps"]]
    sections = [_section(value, place, data["labels"]) for place, value in enumerate(values)]
    links = "\n".join(
        f'<li><a href="#step-{place}"><code>{text(value["symbol"])}</code></a> '
        f"{text(value['description'])}</li>"
        for place, value in enumerate(values)
    )
    parts = [
        f'<header>\n<h1>{text(title)}</h1>\n<p class="echo">{text(data["about"])}</p>',
        f"<p>{text(retraced_words(data['retraced']))}</p>\n</header>",
        f'<nav aria-label="steps">\n<ol>\n{links}\n</ol>\n</nav>\n<main>\n{KEY}',
        *sections,
        "</main>\n<footer>\n<p>attnlens trace. Each equation was worked out again from the numbers "
        "it is written with.</p>\n</footer>",
    ]
    return framed(title, parts, "trace_page.css")


def _section(value: Mapping[str, Any], place: int, labels: Mapping[str, Sequence[str]]) -> str:
    heading = text(value["equation"] or value["symbol"])
    shape = f"({', '.join(map(str, value['shape']))})"
    blocks = list(tables(value, labels))
    most = max(
        (abs(one) for _, rows, _, _ in blocks for row in rows for one in row if _finite(one)),
        default=0.0,
    )
    maps = [_figure(block, most, f"{value['symbol']}, {value['description']}") for block in blocks]
    more = len(maps) - MOST_MAPS
    noun = "table" if more == 1 else "tables"
    left = f'\n<p class="quiet">… and {more} {noun} more; see --json</p>' if more > 0 else ""
    return (
        f'<section aria-labelledby="step-{place}">\n'
        f'<h2 class="equation" id="step-{place}">{heading}<small>{text(shape)} '
        f"{text(value['description'])}</small></h2>\n"
        f'<div class="maps">\n{chr(10).join(maps[:MOST_MAPS])}\n</div>{left}\n</section>'
    )


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _figure(block: Table, most: float, what: str) -> str:
    title, rows, row_labels, column_labels = block
    count = len(rows[0]) if rows else 0
    told = _drawing(rows[:MOST_ROWS], row_labels, column_labels, most, f"{what} {title}".strip())
    cut = []
    if len(rows) > MOST_ROWS:
        cut.append(f"{len(rows) - MOST_ROWS} rows")
    if count > MOST_COLUMNS:
        cut.append(f"{count - MOST_COLUMNS} columns")
    words = ", ".join(filter(None, (title, f"{' and '.join(cut)} more" if cut else "")))
    caption = f"<figcaption>{text(words)}</figcaption>" if words else ""
    return f"<figure>{caption}{told}</figure>"


def _drawing(
    rows: Sequence[Sequence[Any]],
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    most: float,
    what: str,
) -> str:
    count = min(len(rows[0]) if rows else 0, MOST_COLUMNS)
    numbers = len(rows[0]) <= NUMBERS_UP_TO if rows else True
    cell = WIDE if numbers else NARROW
    named = column_labels if numbers else ()
    side = 8 + SIDE * max((min(len(label), 24) for label in row_labels), default=0)
    top = 18.0 if named else 2.0
    width, height = side + cell * count + 2, top + ROW * len(rows) + 2
    drawn = [
        f'<svg class="grid" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{text(what)}">'
    ]
    for at, label in enumerate(named[:count]):
        x = side + cell * (at + 0.5)
        drawn.append(f'<text class="column" x="{x:g}" y="13">{text(_short(label, 8))}</text>')
    for place, row in enumerate(rows):
        y = top + ROW * place
        label = row_labels[place] if row_labels else ""
        if label:
            short = text(_short(label, 24))
            drawn.append(f'<text class="row" x="{side - 5:g}" y="{y + 14:g}">{short}</text>')
        for at, value in enumerate(row[:count]):
            told = number(value)
            column = column_labels[at] if column_labels else f"column {at + 1}"
            where = f"{label or f'row {place + 1}'}, {column}: {told}"
            drawn.append(_cell(side + cell * at, y, cell, value, most, where))
            if numbers:
                x = side + cell * (at + 0.5)
                drawn.append(f'<text x="{x:g}" y="{y + 14:g}">{text(told)}</text>')
    return "\n".join([*drawn, "</svg>"])


def _cell(x: float, y: float, wide: float, value: Any, most: float, words: str) -> str:
    kind, shade = "none", 1.0
    if _finite(value) and value and most:
        kind, shade = ("over" if value > 0 else "under"), 0.75 * abs(value) / most
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{ROW:g}" '
        f'fill-opacity="{shade:.2f}"><title>{text(words)}</title></rect>'
    )


def _short(label: str, most: int) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"
