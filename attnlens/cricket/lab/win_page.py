"""Who wins, for a terminal: how well the value of states tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import interval, number, percent
from attnlens.render.table import Cell, Column, Words, add_table
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.lab.evaluate import Level
    from attnlens.cricket.lab.win_scores import WinEvaluation, WinFigures

INNINGS: Final = {"1": "first innings", "2": "chases"}


@terminal_page(min_width=64)
def render_winning(page: Page, shown: WinEvaluation) -> None:
    """The document of ``attnlens lab evaluate --win``."""
    matches = count(shown.matches, "match", "matches")
    began, ended = (shown.dates[end] or "undated" for end in ("first", "last"))
    told = f"who wins, by {shown.checkpoint.name}, before {count(shown.balls, 'ball')} of {matches}"
    page.paragraph(f"{told}, {began} to {ended}", "title", indent=0)
    if shown.left_out:
        left = count(shown.left_out, "match", "matches")
        page.paragraph(f"{left} without a winner, or decided by rain, left out", "quiet", indent=0)
    for note in shown.notes:
        page.flag(note)
    page.blank()
    rows: list[list[Cell]] = [_row("model", shown.model)]
    rows += [_row(f"  {INNINGS[name]}", part) for name, part in shown.by_innings.items()]
    if shown.logistic is not None:
        rows.append(_row("logistic model of the state", shown.logistic))
        parts = shown.logistic_by_innings
        rows += [_row(f"  {INNINGS[name]}", part) for name, part in parts.items()]
    heads = ("Brier", "", "log-loss", "ECE")
    add_table(page, [Words(min_width=14), *(Column(head, gap=1) for head in heads)], rows)
    page.blank()
    for name, gap in shown.brier_difference.items():
        where = INNINGS.get(name, "all")
        told = f"{gap.known_value:+.4f} {interval(gap.ci, 4, sign='+')}"
        page.paragraph(f"Brier, model minus logistic, {where}: {told}", indent=0)
    page.paragraph(
        f"the chance before a ball is the mean of those after it, to {shown.unbalanced:.0e}",
        indent=0,
    )
    page.blank()
    _levels(page, "calibration", {"": shown.reliability})
    _levels(page, "by over: said and came", shown.by_over)
    page.paragraph("Brackets hold 95% of resamples of whole matches.", "quiet", indent=0)


def _row(name: str, figures: WinFigures) -> list[Cell]:
    brier, loss = figures.brier, figures.log_loss
    return [
        (name, "name" if name == "model" else ""),
        number(brier.value, 4),
        interval(brier.ci, 4),
        number(loss.value, 4),
        f"{figures.ece:.4f}",
    ]


def _levels(page: Page, title: str, groups: dict[str, list[Level]]) -> None:
    for name, levels in groups.items():
        what = f"{title}, {INNINGS[name]}" if name else title
        page.paragraph(what, "heading", indent=0)
        rows: list[list[Cell]] = [
            [
                percent(one.predicted, 1),
                percent(one.observed.known_value, 1),
                interval(one.observed.ci, 1, scale=100),
                f"{one.balls:,}",
            ]
            for one in levels
        ]
        heads = ("said", "came", "", "balls")
        add_table(page, [Column(heads[0]), *(Column(head, gap=1) for head in heads[1:])], rows)
        page.blank()
