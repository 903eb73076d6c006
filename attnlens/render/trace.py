"""A traced forward pass as tables of numbers for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import clean, cut, display_width, pad

MOST_ROWS: Final = 12
"""Of a longer table the first and the last rows are shown."""

MOST_BLOCKS: Final = 8
"""Of more tables of one value only so many are shown."""

Table = tuple[str, list[list[Any]], list[str], list[str]]
"""A heading, rows of values, and the labels of rows and columns (empty: unknown)."""


def render_trace(data: Mapping[str, Any], *, width: int = 100, unicode: bool = True) -> str:
    """Every value under its equation.

    Args:
        data: `attnlens.symbolic.Trace` as plain data.
        width: of the page; what is wider is cut, and says so.
        unicode: whether the page may hold more than ASCII.
    """
    told = [" ".join(filter(None, (data["name"], data["about"]))), ""]
    for value in (*data["inputs"], *data["steps"]):
        told += [*_value_lines(value, data["labels"], width), ""]
    told.append(retraced_words(data["retraced"]))
    lines = (clean(line).rstrip() for line in told)
    return "\n".join(line if unicode else to_ascii(line) for line in lines)


def retraced_words(retraced: Mapping[str, Any]) -> str:
    """What working the equations out again has shown."""
    count, left = retraced["equations"], retraced["not_retraced"]
    told = "No equation could be worked out again."
    if count:
        one = "The equation was" if count == 1 else f"All {count} equations were"
        if left:
            one = f"{count} of {count + len(left)} equations were"
        told = (
            f"{one} worked out again by numpy from the values shown: "
            f"largest difference {retraced['largest_difference']:.1e}."
        )
    return f"{told} Described, not written as equations: {', '.join(left)}." if left else told


def _value_lines(
    value: Mapping[str, Any], labels: Mapping[str, Sequence[str]], width: int
) -> Iterator[str]:
    heading = value["equation"] or value["symbol"]
    shape = f"({', '.join(map(str, value['shape']))})"
    yield cut(f"{heading}   {shape}   {value['description']}".rstrip(), width, "…")
    blocks = list(tables(value, labels))
    for title, rows, row_labels, column_labels in blocks[:MOST_BLOCKS]:
        if title:
            yield f"  {title}"
        yield from _table_lines(rows, row_labels, column_labels, width)
    if len(blocks) > MOST_BLOCKS:
        more = len(blocks) - MOST_BLOCKS
        yield f"  … and {more} {'table' if more == 1 else 'tables'} more; see --json"


def tables(value: Mapping[str, Any], labels: Mapping[str, Sequence[str]]) -> Iterator[Table]:
    """A value as tables: one, or one for every place along the axes before the last two."""
    axes, values = value["axes"], value["values"]
    if not isinstance(values, list):
        yield "", [[values]], [], []
        return
    if len(axes) == 1:
        yield "", [values], [], _labels(axes[0], len(values), labels)
        return
    yield from _blocks(axes, values, labels, "")


def _blocks(
    axes: Sequence[str], values: list[Any], labels: Mapping[str, Sequence[str]], title: str
) -> Iterator[Table]:
    if len(axes) == 2:
        columns = len(values[0]) if values else 0
        yield (
            title,
            values,
            _labels(axes[0], len(values), labels),
            _labels(axes[1], columns, labels),
        )
        return
    names = _labels(axes[0], len(values), labels)
    for place, inner in enumerate(values):
        told = names[place] if names else str(place + 1)
        own = f"{axes[0] or 'part'} {told}"
        yield from _blocks(axes[1:], inner, labels, f"{title}, {own}" if title else own)


def _labels(axis: str, count: int, labels: Mapping[str, Sequence[str]]) -> list[str]:
    known = list(labels.get(axis, ()))
    return known if len(known) == count else []


def number(value: Any) -> str:
    """A value as it stands in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        return str(value).replace("-", "−")
    told = f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
    # Minus nothing is nothing.
    return told.removeprefix("-") if float(told) == 0 else told.replace("-", "−")


def _table_lines(
    rows: list[list[Any]], row_labels: list[str], column_labels: list[str], width: int
) -> Iterator[str]:
    shown: list[int | None] = list(range(len(rows)))
    if len(rows) > MOST_ROWS:
        first = list(range(MOST_ROWS - 4))
        shown = [*first, None, *range(len(rows) - 3, len(rows))]
    cells = [[number(value) for value in rows[at]] for at in shown if at is not None]
    count = len(rows[0]) if rows else 0
    wide = max((display_width(cell) for row in cells for cell in row), default=1)
    wide = max([wide, *(min(display_width(label), 12) for label in column_labels)])
    side = max((min(display_width(label), 24) for label in row_labels), default=0)
    room = (width - 4 - side) // (wide + 2)
    kept, more = count, ""
    if count > room:
        kept = max(1, (width - 4 - side - len(f"  … {count} more")) // (wide + 2))
        more = f"  … {count - kept} more"
    if column_labels:
        heads = "  ".join(_right(label, wide) for label in column_labels[:kept])
        yield f"    {' ' * side}  {heads}"
    lines = iter(cells)
    for at in shown:
        if at is None:
            yield f"    {pad('…', side, '…')}  … {len(rows) - MOST_ROWS + 1} rows more"
            continue
        label = pad(row_labels[at], side, "…") if row_labels else ""
        told = "  ".join(_right(cell, wide) for cell in next(lines)[:kept])
        yield f"    {label}  {told}{more}"


def _right(text: str, width: int) -> str:
    text = cut(text, width, "…")
    return " " * (width - display_width(text)) + text


_PLAIN: Final = (
    ("√", "sqrt "),
    ("ᵀ", "^T"),
    ("⊙", "*"),
    ("×", "x"),
    ("·", "."),
    ("⟨", "<"),
    ("⟩", ">"),
    ("σ", "sigma"),
    ("Φ", "Phi"),
    ("γ", "gamma"),
    ("β", "beta"),
    ("π", "pi"),
    ("Δ", "Delta"),
    ("∞", "inf"),
    ("²", "^2"),
    ("³", "^3"),
    ("¬", "not "),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("∧", "and"),
    ("∨", "or"),
)


def to_ascii(text: str) -> str:
    """The same where only ASCII can be shown."""
    for sign, plain in _PLAIN:
        text = text.replace(sign, plain)
    return clean(text, ascii_only=True)
