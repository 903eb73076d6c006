"""What a checkpoint knows of a player, for a terminal."""

from __future__ import annotations

from typing import Final

from attnlens.cricket.model.people import PhaseKnown, PlayerKnown
from attnlens.show.canvas import Page, terminal_page
from attnlens.show.table import Cell, Column, Words, add_table

NOTABLE: Final = 1.1
"""From this many times the average (or one over it) a figure is shown as more or less."""

NAMES: Final = 22
"""Columns of a row's name and number of balls."""

COLUMN: Final = 6


@terminal_page()
def render_player(page: Page, shown: PlayerKnown) -> None:
    """What `attnlens.cricket.model.people.player_known` tells.

    Outcomes that do not fit beside the others are told below them.
    """
    page.paragraph(
        f"{shown.player}: what {shown.model} knows, ratings until {shown.ratings_until}",
        "title",
        indent=0,
    )
    for role, does in ((shown.striker, "batting"), (shown.bowler, "bowling")):
        page.blank()
        if role is None:
            page.paragraph(f"{does}: never seen; an average is used", "quiet", indent=0)
        else:
            _role(page, does, [PhaseKnown("all", role.balls, role.outcomes), *role.phases])
    page.blank()
    page.paragraph(
        "how many times as likely as with an average player in that role, all and by phase; "
        "few balls keep a player near 1",
        "quiet",
        indent=0,
    )


def _role(page: Page, does: str, phases: list[PhaseKnown]) -> None:
    """A row for each phase, as many outcomes side by side as go."""
    outcomes = [one.outcome for one in phases[0].outcomes]
    beside = (page.width - NAMES) // COLUMN
    for start in range(0, len(outcomes), beside):
        part = slice(start, start + beside)
        rows: list[list[Cell]] = [
            [
                f"  {row.phase}",
                f"{row.balls:,}",
                *((f"{one.times:.2f}", _style(one.times)) for one in row.outcomes[part]),
            ]
            for row in phases
        ]
        columns = [Words(does, least=12), Column("balls", least=8, gap=0)]
        columns += [Column(outcome, least=4) for outcome in outcomes[part]]
        columns[2] = Column(outcomes[start], least=COLUMN)
        add_table(page, columns, rows, indent=0, head_style="heading")


def _style(times: float) -> str:
    return "more" if times >= NOTABLE else "less" if times <= 1 / NOTABLE else ""
