"""A "what if" for a terminal: what is different, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.ball_page import add_outcome_bars
from attnlens.errors import count
from attnlens.render.canvas import Page, terminal_page

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import BallFacts
    from attnlens.cricket.whatif.types import WhatIf

_LEAD_COLUMNS: Final = 11


@terminal_page()
def render_what_if(page: Page, what_if: WhatIf) -> None:
    """The page for one answer."""
    page.parts(what_if.before.echo)
    lead = "  what if"
    for change in what_if.changes:
        words = f"(so {change.text})" if change.follows else change.text
        page.paragraph(words, "heading", indent=_LEAD_COLUMNS, lead=lead)
        lead = ""
    original, changed = _score_line(what_if.before), _score_line(what_if.after)
    if original != changed:
        page.paragraph(f"{original} → {changed}", indent=_LEAD_COLUMNS, lead="  then")
    page.blank()
    rows = [(row.outcome, row.before, row.after) for row in what_if.outcomes]
    add_outcome_bars(page, rows, ("before", "after"), chosen=what_if.top_change.outcome)
    page.blank()
    for sentence in what_if.narrative:
        page.paragraph(sentence.text)
    page.blank()
    for flag in what_if.flags:
        page.flag(flag.text)


def _score_line(state: BallFacts) -> str:
    """``54/2 after 45 legal balls, 80 needed off 75``."""
    bowled = (state.legal_number or 1) - 1
    text = f"{state.score}/{state.wickets} after {count(bowled, 'legal ball')}"
    if state.runs_required is not None and state.balls_left is not None:
        text += f", {state.runs_required} needed off {state.balls_left}"
    return text
