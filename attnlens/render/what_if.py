"""A "what if" for a terminal: what is different, before and after, and by which way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attnlens.render.canvas import ASCII, UNICODE, Line, Page, clean_all, pad
from attnlens.render.outcomes import (
    FELT,
    LABEL,
    NAMES,
    WORTH_A_BAR,
    add_the_rest,
    bar,
    percent,
    signed,
)

WIDEST: Final = 100
"""Columns past which the bars only get longer."""

FIGURES: Final = 24
"""Columns of before, after and difference."""

PARTS: Final = ("attention", "scoreboard", "together", "others")
"""The ways a change takes; as many are shown as the width allows."""

COLUMN: Final = 11


def render_what_if(
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
    page.parts(shown["before"]["echo"])
    _add_question(page, shown)
    _add_bars(page, shown)
    if shown["parts"] is not None:
        _add_parts(page, shown)
    for sentence in shown["narrative"]:
        page.paragraph(sentence["text"])
    page.blank()
    for flag in shown["flags"]:
        page.paragraph(flag["text"], "flag", indent=4, lead="  !")
    return page.text(color=color).rstrip("\n")


def _add_question(page: Page, data: Mapping[str, Any]) -> None:
    lead = "  what if"
    for change in data["changes"]:
        told = f"(so {change['text']})" if change["follows"] else change["text"]
        page.paragraph(told, "heading", indent=LABEL, lead=lead)
        lead = ""
    was, now = _board(data["before"]), _board(data["after"])
    if was != now:
        page.paragraph(f"{was} {page.glyphs.arrow} {now}", indent=LABEL, lead="  then")
    page.blank()


def _board(state: Mapping[str, Any]) -> str:
    """``54/2 after 45 legal balls, 80 needed off 75``."""
    balls = state["legal_balls"]
    text = f"{state['score']}/{state['wickets']} after {balls} legal ball{'s' * (balls != 1)}"
    if state["runs_required"] is not None and state["balls_left"] is not None:
        text += f", {state['runs_required']} needed off {state['balls_left']}"
    return text


def _add_bars(page: Page, data: Mapping[str, Any]) -> None:
    room = max(6, page.width - LABEL - FIGURES - 2)
    chosen = data["top_change"]["outcome"]
    shown = [
        entry
        for entry in data["outcomes"]
        if max(entry["before"], entry["after"]) >= WORTH_A_BAR or entry["outcome"] == chosen
    ]
    most = max(max(entry["before"], entry["after"]) for entry in shown)
    page.add(
        (pad("  expected", LABEL + room, ""), "heading"),
        (f"{'before':>8}{'after':>8}{'points':>8}", "quiet"),
    )
    for entry in shown:
        points = entry["points"]
        tone = "more" if points >= FELT else "less" if points <= -FELT else "quiet"
        style = "title" if entry["outcome"] == chosen else ""
        line: Line = [(pad(f"  {NAMES[entry['outcome']]}", LABEL, ""), style)]
        line += bar(entry["after"] / most, entry["before"] / most, room, page.glyphs)
        line += [
            (f"{percent(entry['before']):>8}", "quiet"),
            (f"{percent(entry['after']):>8}", style),
            (f"{signed(points, page.glyphs):>8}", tone),
        ]
        if entry["outcome"] == chosen:
            line.append((f" {page.glyphs.marker}", "title"))
        page.add(*line)
    lesser = [entry for entry in data["outcomes"] if entry not in shown]
    add_the_rest(page, {entry["outcome"]: entry["after"] for entry in lesser})
    page.blank()


def _add_parts(page: Page, data: Mapping[str, Any]) -> None:
    parts = data["parts"]
    told = [name for name in PARTS if parts[name] is not None]
    chased = {change["kind"] == "target" for change in data["changes"] if change["kind"] != "ball"}
    others = "others" if len(chased) > 1 else "target" if True in chased else "players"
    told = told[: (page.width - LABEL - COLUMN + 4) // COLUMN]
    page.add(
        (pad("  came", LABEL, ""), "heading"),
        (f"{'points':>{COLUMN - 4}}", "quiet"),
        *((f"{others if name == 'others' else name:>{COLUMN}}", "quiet") for name in told),
    )
    for place, entry in enumerate(data["outcomes"]):
        row = [parts[name]["points"][place]["points"] for name in told]
        if max(map(abs, [entry["points"], *row])) < FELT:
            continue
        page.add(
            (pad(f"  {NAMES[entry['outcome']]}", LABEL, ""), ""),
            (f"{signed(entry['points'], page.glyphs):>{COLUMN - 4}}", "title"),
            *(
                (
                    f"{signed(points, page.glyphs):>{COLUMN}}",
                    "more" if points >= FELT else "less" if points <= -FELT else "quiet",
                )
                for points in row
            ),
        )
    page.blank()
