"""Situations like a ball, for a terminal: what happened in them beside what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Page, clean_all, cut, pad
from attnlens.render.outcomes import NAMES, percent
from attnlens.words import count as counted

WIDEST: Final = 100
UNLIKELY: Final = 0.005
"""Outcomes that neither came nor were expected more often than this are left out."""


def render_similar(
    data: Mapping[str, Any], *, width: int, color: bool, unicode: bool = True
) -> str:
    """The page for one answer.

    Args:
        data: an answer as plain data.
        width: columns of the terminal; no line is wider (at least 40).
        color: whether to write colours; without, no escape is written.
        unicode: ``False`` writes ASCII only.
    """
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(40, min(width, WIDEST)), UNICODE if unicode else ASCII)
    page.parts(shown["ball"]["echo"])
    page.paragraph(
        f"{counted(shown['situations'], 'ball')} most like it, of "
        f"{counted(shown['next_balls']['matches'], 'match', 'matches')} among "
        f"{shown['corpus_balls']:,} balls; distance {shown['nearest_distance']:.2f} to "
        f"{shown['farthest_distance']:.2f}"
    )
    page.blank()
    _add_outcomes(page, shown)
    _add_next(page, shown["next_balls"])
    _add_nearest(page, shown)
    return page.text(color=color).rstrip("\n")


def _add_outcomes(page: Page, data: Mapping[str, Any]) -> None:
    page.add((f"  {'':<10}{'here':>8}{'there':>8}{'happened':>10}", "heading"), ("  95%", "quiet"))
    for row in data["outcomes"]:
        if max(row["expected"], row["expected_there"], row["happened"]) < UNLIKELY:
            continue
        outside = not row["low"] <= row["expected_there"] <= row["high"]
        page.add(
            (f"  {NAMES[row['outcome']]:<10}", "name"),
            (f"{percent(row['expected']):>8}{percent(row['expected_there']):>8}", ""),
            (f"{percent(row['happened']):>10}", "more" if outside else ""),
            (f"  {percent(row['low'])} to {percent(row['high'])}", "quiet"),
            (f", {counted(row['count'], 'time')}", "quiet"),
        )
    page.paragraph(
        "here: expected of this ball; there: on average expected of those balls", "quiet"
    )
    page.blank()


def _add_next(page: Page, told: Mapping[str, Any]) -> None:
    if told["runs"]["low"] is None:
        return
    runs, wickets = told["runs"], told["wickets"]
    page.paragraph(
        f"The next {told['balls']} balls, this one first, brought {runs['value']:.1f} runs "
        f"({runs['low']:.1f} to {runs['high']:.1f}) and {wickets['value']:.2f} wickets "
        f"({wickets['low']:.2f} to {wickets['high']:.2f})."
    )
    page.blank()


def _add_nearest(page: Page, data: Mapping[str, Any]) -> None:
    page.add(("  nearest", "heading"))
    for row in data["nearest"]:
        needed = ""
        if row["runs_required"] is not None:
            needed = f", {row['runs_required']} needed"
        left = "" if row["balls_left"] is None else f", {row['balls_left']} left"
        sides = f"{row['batting_team']} v {row['bowling_team']}"
        page.add(
            (f"  {row['distance']:5.2f}  ", "quiet"),
            (pad(f"{row['score']}/{row['wickets']}{needed}{left}", 30, page.glyphs.ellipsis), ""),
            (pad(cut(sides, 30, page.glyphs.ellipsis), 31, page.glyphs.ellipsis), ""),
            (f"{row['date'] or '':<12}", "quiet"),
            (" ".join(outcome or "?" for outcome in row["then"]), ""),
        )
