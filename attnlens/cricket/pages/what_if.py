"""A "what if" for a terminal: what is different, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.ball_page import FELT, LABEL, NAMES, WORTH_A_BAR, add_the_rest
from attnlens.render.canvas import Page, bar, pad, terminal_page, tone
from attnlens.render.numbers import percent_seen, signed_points
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import BallFacts
    from attnlens.cricket.whatif.types import WhatIf

_FIGURES: Final = 24
"""Columns of before, after and difference."""


@terminal_page()
def render_what_if(page: Page, what_if: WhatIf) -> None:
    """The page for one answer."""
    page.parts(what_if.before.echo)
    _add_question(page, what_if)
    _add_bars(page, what_if)
    for sentence in what_if.narrative:
        page.paragraph(sentence.text)
    page.blank()
    for flag in what_if.flags:
        page.flag(flag.text)


def _add_question(page: Page, answer: WhatIf) -> None:
    lead = "  what if"
    for change in answer.changes:
        words = f"(so {change.text})" if change.follows else change.text
        page.paragraph(words, "heading", indent=LABEL, lead=lead)
        lead = ""
    original, changed = _board(answer.before), _board(answer.after)
    if original != changed:
        page.paragraph(f"{original} → {changed}", indent=LABEL, lead="  then")
    page.blank()


def _board(state: BallFacts) -> str:
    """``54/2 after 45 legal balls, 80 needed off 75``."""
    bowled = (state.legal_number or 1) - 1
    text = f"{state.score}/{state.wickets} after {count(bowled, 'legal ball')}"
    if state.runs_required is not None and state.balls_left is not None:
        text += f", {state.runs_required} needed off {state.balls_left}"
    return text


def _add_bars(page: Page, answer: WhatIf) -> None:
    room = max(6, page.width - LABEL - _FIGURES - 2)
    chosen = answer.top_change.outcome
    with_bars = [
        entry
        for entry in answer.outcomes
        if max(entry.before, entry.after) >= WORTH_A_BAR or entry.outcome == chosen
    ]
    largest = max(max(entry.before, entry.after) for entry in with_bars)
    page.add(
        (pad("  expected", LABEL + room, ""), "heading"),
        (f"{'before':>8}{'after':>8}{'points':>8}", "quiet"),
    )
    for entry in with_bars:
        style = "title" if entry.outcome == chosen else ""
        page.add(
            (pad(f"  {NAMES[entry.outcome]}", LABEL, ""), style),
            *bar(entry.after / largest, entry.before / largest, room),
            (f"{percent_seen(entry.before):>8}", "quiet"),
            (f"{percent_seen(entry.after):>8}", style),
            (f"{signed_points(entry.points, '−'):>8}", tone(entry.points, FELT)),
            (" ◂" if style else "", "title"),
        )
    add_the_rest(page, {row.outcome: row.after for row in answer.outcomes if row not in with_bars})
    page.blank()
