"""How well overs are foretold, for a terminal: the model, overs of the phase, the difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from attnlens.show.canvas import Page, terminal_page
from attnlens.show.numbers import interval, number
from attnlens.show.table import Column, Words, add_table

if TYPE_CHECKING:
    from attnlens.cricket.study.overs import OverEvaluation, OverPart

FIGURES: Final[Mapping[str, str]] = {
    "token_log_loss": "token log-loss",
    "runs_mae": "runs, off by",
    "runs_crps": "runs, CRPS",
    "wicket_brier": "wicket, Brier",
}
COLUMNS: Final = (
    Words(least=17),
    Column("model", style="name", least=8),
    Column("phase", least=8),
    Column("difference", style="name"),
    Column("95%", style="quiet", least=18),
)


@terminal_page(least=60, most=80)
def render_over_evaluation(page: Page, shown: OverEvaluation) -> None:
    """The figures of `attnlens.cricket.study.overs.over_evaluation`."""
    checkpoint, dates = shown.checkpoint, shown.dates
    page.paragraph(
        f"{checkpoint.name} on {shown.overs:,} overs of {shown.matches:,} matches, "
        f"{dates['first'] or 'undated'} to {dates['last'] or 'undated'}",
        "title",
        indent=0,
    )
    page.paragraph(
        f"checkpoint {checkpoint.sha256[:12]}, weights trained until "
        f"{checkpoint.weights_until or 'a day not told'}; beside it overs of the same phase, "
        f"drawn from {shown.phase_overs_of['matches']:,} earlier matches",
        "quiet",
        indent=0,
    )
    if shown.in_sample:
        page.paragraph(
            f"{shown.in_sample} of the matches lie in its training dates: flattering figures",
            "flag",
            indent=0,
        )
    for name, part in shown.by.items():
        page.blank()
        heading = "all overs" if name == "all" else f"{name} ({part.overs:,} overs)"
        page.paragraph(heading, "heading", indent=0)
        add_table(page, COLUMNS, [_row(part, figure) for figure in FIGURES])
    page.blank()
    runs, wickets = shown.runs, shown.wickets
    page.paragraph(
        f"runs an over: {runs['came']:.2f} came, {runs['drawn']:.2f} drawn; overs with a wicket: "
        f"{wickets['came']:.1%} came, {wickets['model']:.1%} drawn; overs drawn without an end: "
        f"{shown.unfinished:.2%}",
        indent=0,
    )
    page.paragraph(
        f"Log-loss in nats a token, <end> included; runs by the median and the whole distribution "
        f"of {shown.samples} overs drawn for each; Brier of at least one wicket. Less is better "
        f"everywhere. Intervals: {shown.bootstrap['draws']} resamples of whole matches.",
        "quiet",
        indent=0,
    )


def _row(part: OverPart, figure: str) -> list[str]:
    """A figure of the model, of overs of the phase, and their difference with its interval."""
    difference = part.difference[figure]
    return [
        FIGURES[figure],
        number(part.model[figure].value, 4),
        number(part.phase[figure].value, 4),
        f"{difference.known_value:+.4f}",
        interval(difference.ci, 4, sign="+"),
    ]
