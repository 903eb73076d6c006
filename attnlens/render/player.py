"""What a checkpoint knows of a player, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Page, Span, clean_all

NOTABLE: Final = 1.1
"""From this many times the average (or one over it) a figure is shown as more or less."""

LEAST_WIDTH: Final = 40
NAMES: Final = 22
"""Columns of a row's name and number of balls."""

COLUMN: Final = 6


def render_player(data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True) -> str:
    """The page for `attnlens.cricket.ratings_update.player_data`.

    Args:
        width: columns of the terminal; no line is wider (at least `LEAST_WIDTH`). Outcomes that
            do not fit beside the others are told below them.
        color: whether to write colours.
        unicode: ``False`` writes ASCII only.
    """
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(LEAST_WIDTH, min(width, 100)), UNICODE if unicode else ASCII)
    page.paragraph(
        f"{shown['player']}: what {shown['model']} knows, ratings until {shown['ratings_until']}",
        "title",
        indent=0,
    )
    for role, does in (("striker", "batting"), ("bowler", "bowling")):
        page.blank()
        found = shown[role]
        if found is None:
            page.paragraph(f"{does}: never seen; an average is used", "quiet", indent=0)
            continue
        rows = [{"phase": "all", **found}, *found["phases"]]
        beside = (page.width - NAMES) // COLUMN
        for start in range(0, len(found["outcomes"]), beside):
            part = slice(start, start + beside)
            page.add(
                (f"{does:<12}{'balls':>8}  ", "heading"),
                *((f"{row['outcome']:>{COLUMN}}", "heading") for row in found["outcomes"][part]),
            )
            for row in rows:
                _row(page, row["phase"], row["balls"], row["outcomes"][part])
    page.blank()
    page.paragraph(
        "how many times as likely as with an average player in that role, all and by phase; "
        "few balls keep a player near 1",
        "quiet",
        indent=0,
    )
    return page.text(color=color)


def _row(page: Page, name: str, balls: int, outcomes: Sequence[Mapping[str, Any]]) -> None:
    cells: list[Span] = [(f"  {name:<10}{balls:>8,}  ", "")]
    for row in outcomes:
        times = row["times"]
        style = "more" if times >= NOTABLE else "less" if times <= 1 / NOTABLE else ""
        cells.append((f"{times:>{COLUMN}.2f}", style))
    page.add(*cells)
