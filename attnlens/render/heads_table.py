"""What heads do, for a terminal: per scale a table of heads, then slots and fusion gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.explanation.heatmap import UNNAMED, UNSPECIALISED
from attnlens.render.canvas import ASCII, UNICODE, Page, clean_all, pad
from attnlens.words import count

NARROWEST: Final = 40
TABLE: Final = 80
"""Columns that the tables need; on a narrower page every row is told in words."""

SLOT_ROW: Final = 61
"""Columns of a slot's line besides what it reads."""

BESIDE_ROW: Final = 55
"""Columns of a line that compares checkpoints, besides the best matches."""

FAVOURED: Final = 1.25
"""A relation is listed where the lift's lower end is at least this."""

LEAST_BIAS: Final = 0.05
MOST_BIASES: Final = 4
"""Biases that are told on a page: all that began as something, and the largest others."""


def render_heads(data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True) -> str:
    """The page for a document of ``attnlens heads``.

    Args:
        data: the document.
        width: columns of the terminal; no line is wider (at least `NARROWEST`). Below `TABLE`
            the figures of a row follow its name, each with what it is.
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
    """
    glyphs = UNICODE if unicode else ASCII
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(NARROWEST, min(width, 110)), glyphs)
    _head(page, shown)
    for scale in shown["scales"]:
        _scale(page, scale)
    _slots(page, shown["slots"])
    _fusion(page, shown["fusion"])
    if shown.get("beside"):
        _beside(page, shown["beside"])
    _legend(page)
    return page.text(color=color)


def _head(page: Page, data: Mapping[str, Any]) -> None:
    model = data["model"]
    days = " to ".join(dict.fromkeys(day for day in data["dates"] if day))
    page.paragraph(
        f"what the heads of {model['name']} do, over {count(data['balls'], 'ball')} of "
        f"{count(data['matches'], 'match', 'matches')}" + (f", {days}" if days else ""),
        "title",
        indent=0,
    )
    for note in data["notes"]:
        page.paragraph(note, "flag", indent=4, lead="  !")
    page.blank()


def _words(name: str) -> str:
    return name.replace("_", " ")


def _percent(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}%"


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _nats(value: float | None) -> str:
    return "" if value is None else f"{1000 * value:.2f}"


def _row(page: Page, cells: Sequence[tuple[str, int, str]], style: str = "") -> None:
    """Cells with their widths; a width below 0 is set to the right."""
    spans = []
    for text, width, own in cells:
        room = abs(width)
        shown = pad(text, room, page.glyphs.ellipsis)
        if width < 0:
            shown = " " * (room - len(shown.rstrip())) + shown.rstrip()
        spans += [(shown, own or style), ("  ", "")]
    page.add(*spans[:-1])


Cell = tuple[str, int, str]
"""A text, the columns it gets (to the right where negative), and its style."""


def _entry(
    page: Page,
    name: Sequence[Cell],
    figures: Sequence[tuple[str, Cell]],
    *,
    narrow: bool | None = None,
) -> None:
    """A row of a table; on a narrow page its name, and below it the figures in words."""
    if not (page.width < TABLE if narrow is None else narrow):
        _row(page, [*name, *(cell for _, cell in figures)])
        return
    page.flow([[(text.strip(), style)] for text, _, style in name if text], indent=2, gap=2)
    told = [f"{title} {text}" for title, (text, _, _) in figures if text]
    told = [f"{text}," for text in told[:-1]] + told[-1:]
    page.flow([[(text, "quiet")] for text in told], indent=6, gap=1)


MEASURES: Final = (("moves", -6), ("matters", -8), ("KL", -6), ("rank", -5))


def _measures(importance: Mapping[str, Any]) -> list[tuple[str, Cell]]:
    told = (
        _number(importance["points"]),
        _percent(importance["matters"]),
        _nats(importance["nats"]),
        str(importance["rank"]),
    )
    return [(title, (text, width, "")) for text, (title, width) in zip(told, MEASURES, strict=True)]


def _titles(page: Page, first: Sequence[tuple[str, int]]) -> None:
    if page.width >= TABLE:
        _row(page, [(text, width, "") for text, width in (*first, *MEASURES)], "quiet")


def _scale(page: Page, scale: Mapping[str, Any]) -> None:
    page.paragraph(
        f"{scale['scale']}: {scale['question']}; the last {scale['window']} {scale['unit']}"
        f", {_percent(scale['weight'])} of the prediction's mix",
        "heading",
        indent=0,
    )
    _titles(page, (("  head", 16), ("earned the name", 16), ("bias", -4), ("self", -4)))
    for head in scale["heads"]:
        start = "free" if head["pattern"] == UNNAMED else _words(head["pattern"])
        earned = head["earned"]
        _entry(
            page,
            [
                (f"  {head['number']} {start}", 16, ""),
                (_words(earned), 16, "quiet" if earned == UNSPECIALISED else "supported"),
            ],
            [
                ("bias", (_percent(head["bias_share"]), -4, "")),
                ("self", (_percent(head["self_attention"]), -4, "")),
                *_measures(head["importance"]),
            ],
        )
        _looks_at(page, head)
        _biases(page, head["biases"])
    page.blank()


def _looks_at(page: Page, head: Mapping[str, Any]) -> None:
    """The relations a head favours, the most telling first, with what hiding them did."""
    favoured = [
        row for row in head["relations"] if row["lift_ci"] and row["lift_ci"][0] >= FAVOURED
    ]
    favoured.sort(key=lambda row: -row["departure_nats"])
    if not favoured:
        page.paragraph("favours no relation", "quiet", indent=6)
        return
    items = []
    for row in favoured:
        low, high = row["lift_ci"]
        text = f"{_words(row['relation'])} x{row['lift']:.2f} [{low:.2f}, {high:.2f}]"
        test = row["hiding"]
        if test is None:
            text += " (only as near as it is)" if not _beyond(row) else ""
        else:
            text += f" hidden: {_percent(test['matters'])}{'' if test['supports'] else ' no'}"
        items.append([(text + ";", "name" if row["relation"] == head["earned"] else "quiet")])
    items[-1] = [(text.rstrip(";"), style) for text, style in items[-1]]
    page.flow(items, indent=6, gap=1)


def _beyond(row: Mapping[str, Any]) -> bool:
    ends = row["by_distance"]["lift_ci"]
    return row["relation"] == "recency" or (ends is not None and ends[0] > 1)


def _biases(page: Page, biases: Sequence[Mapping[str, Any]]) -> None:
    told = [row for row in biases if row["start"] or abs(row["value"]) >= LEAST_BIAS]
    told.sort(key=lambda row: (-abs(row["start"]), -abs(row["value"])))
    told = told[:MOST_BIASES]
    words = [
        f"{_words(row['relation'])} {row['value']:+.2f}"
        + (f" (began {row['start']:+.2f})" if row["start"] else "")
        for row in told
    ]
    page.paragraph(f"learnt biases: {', '.join(words) or 'none'}", "quiet", indent=6)


def _slots(page: Page, slots: Sequence[Mapping[str, Any]]) -> None:
    if not slots:
        return
    longest = max(len(slot["reads"]) for slot in slots)
    beside = longest <= page.width - SLOT_ROW
    first = [("reads", longest)] if beside else []
    page.paragraph("slots inside the ball, each over its own past balls", "heading", indent=0)
    _titles(page, (("  slot", 19), *first, ("sees", -5)))
    for slot in slots:
        _entry(
            page,
            [
                (f"  {_words(slot['slot'])}", 19, ""),
                *((slot["reads"], width, "quiet") for _, width in first),
            ],
            [
                ("sees", (_number(slot["visible"], 1), -5, "")),
                *_measures(slot["importance"]),
            ],
        )
        if not beside:
            page.paragraph(f"reads {slot['reads']}", "quiet", indent=6)
        _looks_at(page, {**slot, "earned": None})
    page.blank()


def _fusion(page: Page, sources: Sequence[Mapping[str, Any]]) -> None:
    if not sources:
        return
    page.paragraph("what the prediction is mixed from", "heading", indent=0)
    _titles(page, (("  source", 19), ("weight", -7)))
    for source in sources:
        _entry(
            page,
            [(f"  {_words(source['source'])}", 19, "")],
            [
                ("weight", (_percent(source["weight"], 1), -7, "")),
                *_measures(source["importance"]),
            ],
        )
    page.blank()


def _beside(page: Page, beside: Mapping[str, Any]) -> None:
    others = [one["name"] for one in beside["checkpoints"]]
    page.paragraph(f"beside {', '.join(others)}", "heading", indent=0)
    rows = [
        (
            f"  {scale['scale']} {_words(head['head'])}",
            " ".join(_number(value) for value in head["correlations"]),
            "yes" if head["same_name"] else "no",
            ", ".join(
                "none" if number is None else f"{number} ({_number(alike)})"
                for number, alike in zip(
                    head["best_match"], head["best_match_correlations"], strict=True
                )
            ),
        )
        for scale in beside["scales"]
        for head in scale["heads"]
    ]
    titles = ("  head", "role alike", "same name", "best matching head")
    widths = [28, -12, -9, page.width - BESIDE_ROW]
    narrow = page.width < TABLE or any(
        len(text) > abs(width)
        for row in (titles, *rows)
        for text, width in zip(row, widths, strict=True)
    )
    if not narrow:
        _row(page, [(text, width, "") for text, width in zip(titles, widths, strict=True)], "quiet")
    for row in rows:
        cells = [(text, width, "") for text, width in zip(row, widths, strict=True)]
        _entry(page, cells[:1], list(zip(titles[1:], cells[1:], strict=True)), narrow=narrow)
    for pair in beside["contributions"]["pairs"]:
        page.paragraph(
            f"contributions to {count(beside['contributions']['balls'], 'ball')}, beside "
            f"{pair['checkpoint']}: correlation {_number(pair['correlation'])}, "
            f"{_number(pair['mean_absolute_points'])} points apart on average",
        )
    page.blank()


def _legend(page: Page) -> None:
    lines = (
        "bias: how much of a head's preference among balls is its learnt bias and not content",
        "self: weight on the current ball itself, the option that nothing in the past matters",
        "x1.50 [1.40, 1.60]: gets 1.5 times what even attention would give; 95% interval, "
        "whole matches resampled",
        "hidden: on how many balls it matters to hide those balls from this head alone; 'no': on "
        "too few, or no more than hiding other balls",
        "moves, matters, KL, rank: with what it says replaced by its average: the largest change "
        "of an outcome in points, on how many balls it matters, thousandths of a nat, the place "
        "among its like",
        "it matters where an outcome moves by half a point or the prediction by 0.0005 nats",
    )
    for line in lines:
        page.paragraph(line, "quiet", indent=2, lead="")
