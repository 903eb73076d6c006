"""Situations like a ball, for a terminal: what happened in them beside what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from attnlens.cricket.match.naming import echo
from attnlens.cricket.pages.outcomes import NAMES
from attnlens.show.canvas import Page, terminal_page
from attnlens.show.numbers import percent_seen
from attnlens.show.table import Cell, Column, Words, add_table
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.corpus.similar import Likelihood, Nearest, NextBalls, Similar

UNLIKELY: Final = 0.005
"""Outcomes that neither came nor were expected more often than this are left out."""


@terminal_page()
def render_similar(page: Page, similar: Similar) -> None:
    """The answer of ``attnlens similar``."""
    page.parts(echo(similar.match, similar.reference))
    page.paragraph(
        f"{count(len(similar.best), 'ball')} most like it, of "
        f"{count(similar.next_balls.matches, 'match', 'matches')} among "
        f"{similar.corpus_balls:,} balls; distance {similar.best[0].distance:.2f} to "
        f"{similar.best[-1].distance:.2f}"
    )
    page.blank()
    _add_outcomes(page, similar.outcomes)
    _add_next(page, similar.next_balls)
    _add_nearest(page, similar.listed)


def _add_outcomes(page: Page, outcomes: Sequence[Likelihood]) -> None:
    rows: list[list[Cell]] = []
    for outcome in outcomes:
        if max(outcome.expected, outcome.expected_there, outcome.happened) < UNLIKELY:
            continue
        low, high = percent_seen(outcome.low), percent_seen(outcome.high)
        outside = not outcome.low <= outcome.expected_there <= outcome.high
        rows.append(
            [
                NAMES[outcome.outcome],
                percent_seen(outcome.expected),
                percent_seen(outcome.expected_there),
                (percent_seen(outcome.happened), "more" if outside else ""),
                f"{low} to {high}, {count(outcome.count, 'time')}",
            ]
        )
    columns = [
        Words(style="name", least=10),
        Column("here", least=6),
        Column("there", least=6),
        Column("happened"),
        Words("95%", style="quiet"),
    ]
    add_table(page, columns, rows, head_style="heading")
    page.paragraph(
        "here: expected of this ball; there: on average expected of those balls", "quiet"
    )
    page.blank()


def _add_next(page: Page, following: NextBalls) -> None:
    runs, wickets = following.runs, following.wickets
    if runs.low is None:
        return
    page.paragraph(
        f"The next {following.balls} balls, this one first, brought {runs.value:.1f} runs "
        f"({runs.low:.1f} to {runs.high:.1f}) and {wickets.value:.2f} wickets "
        f"({wickets.low:.2f} to {wickets.high:.2f})."
    )
    page.blank()


def _add_nearest(page: Page, nearest: Sequence[Nearest]) -> None:
    rows = []
    for near in nearest:
        row = near.to_dict()
        needed = "" if row["runs_required"] is None else f", {row['runs_required']} needed"
        left = "" if row["balls_left"] is None else f", {row['balls_left']} left"
        rows.append(
            [
                f"{near.distance:.2f}",
                f"{row['score']}/{row['wickets']}{needed}{left}",
                f"{row['batting_team']} v {row['bowling_team']}",
                row["date"] or "",
                " ".join(outcome or "?" for outcome in near.then),
            ]
        )
    page.add(("  nearest", "heading"))
    columns = [
        Column(style="quiet", least=5),
        Words(most=30, shrinks=True),
        Words(most=30, shrinks=True),
        Words(style="quiet"),
        Words(),
    ]
    add_table(page, columns, rows)
