"""An evaluation for a terminal: the figures beside the baselines, calibration, breakdowns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import interval, number, percent
from attnlens.render.table import Cell, Column, Words, add_table
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.lab.evaluate import Evaluation, Kind, Part

NAME: Final = Words(min_width=14)
Close: Final = partial(Column, gap=1)
LOSS: Final = (NAME, Close("balls"), Close("log-loss"), Close(spare=1))
COMPARED: Final = (NAME, *map(Close, ("log-loss", "", "Brier", "ECE", "top-1")))
APART: Final = (NAME, Close("model minus it"), Close())
KINDS: Final = (
    NAME,
    *map(Close, ("matches", "balls", "log-loss", "ECE", "luck", "minus trees", "")),
)
OUTCOMES: Final = (*LOSS, Close("said"), Close("came"), Close())
CALIBRATION: Final = (Column("said"), Close("came"), Close(), Close("balls"))


@terminal_page(min_width=64)
def render_evaluation(page: Page, shown: Evaluation) -> None:
    """The figures of `attnlens.cricket.lab.evaluate.evaluation`."""
    _head(page, shown)
    _compared(page, shown)
    _calibration(page, shown)
    _breakdowns(page, shown)
    draws = shown.bootstrap["draws"]
    page.paragraph(
        f"Log-loss in nats; Brier summed over the outcomes; ECE of the likeliest outcome; luck: "
        f"what the ECE of an exactly right forecast stays below in 19 of 20 cases. Brackets hold "
        f"95% of {draws} resamples of whole matches.",
        "quiet",
        indent=0,
    )


def _head(page: Page, data: Evaluation) -> None:
    checkpoint, dates = data.checkpoint, data.dates
    balls, matches = count(data.balls, "ball"), count(data.matches, "match", "matches")
    began, ended = (dates[end] or "undated" for end in ("first", "last"))
    told = f"{checkpoint.name} on {balls} of {matches}, {began} to {ended}"
    page.paragraph(told, "title", indent=0)
    until = checkpoint.trained_until
    trained = f"trained until {until}" if until else "training dates not told"
    page.paragraph(f"checkpoint {checkpoint.sha256[:12]}, {trained}", "quiet", indent=0)
    fitted_on = data.baselines_fitted_on["matches"]
    if fitted_on:
        fitted, last = count(fitted_on, "match", "matches"), checkpoint.weights_until or until
        page.paragraph(f"baselines fitted on {fitted} up to {last}", "quiet", indent=0)
    for note in data.notes:
        page.flag(note)
    page.blank()


def _compared(page: Page, data: Evaluation) -> None:
    """The model and the baselines, the best log-loss on top; then what lies between them."""
    everyone = [("model", data.model), *data.baselines.items()]
    everyone.sort(key=lambda one: one[1].log_loss.known_value)
    rows: list[list[Cell]] = []
    apart: list[list[Cell]] = []
    for name, figures in everyone:
        title = name.replace("_", " ")
        rows.append(
            [
                (title, "name" if name == "model" else ""),
                number(figures.log_loss.value, 4),
                interval(figures.log_loss.ci, 4),
                f"{figures.brier:.4f}",
                f"{figures.ece:.4f}",
                percent(figures.accuracy, 1),
            ]
        )
        if name in data.paired_difference:
            gap = data.paired_difference[name]["log_loss"]
            apart.append([title, f"{gap.known_value:+.4f}", interval(gap.ci, 4, sign="+")])
    add_table(page, COMPARED, rows)
    page.blank()
    add_table(page, APART, apart)
    page.blank()


def _calibration(page: Page, data: Evaluation) -> None:
    """What was predicted beside what came, per bin."""
    for name, bins in data.reliability.items():
        what = "the likeliest outcome" if name == "likeliest" else f"P({name})"
        page.paragraph(f"calibration of {what}", "heading", indent=0)
        rows = [
            [
                percent(one.predicted, 1),
                percent(one.observed.known_value, 1),
                interval(one.observed.ci, 1, scale=100),
                f"{one.balls:,}",
            ]
            for one in bins
        ]
        add_table(page, CALIBRATION, rows)
        page.blank()


def _breakdowns(page: Page, data: Evaluation) -> None:
    for title, parts in (("by phase", data.by.phase), ("by innings", data.by.innings)):
        page.paragraph(title, "heading", indent=0)
        add_table(page, LOSS, [[name, *_losses(part)] for name, part in parts.items()])
        page.blank()
    for title, kinds in (("by kind", data.by.kind), ("by competition", data.by.competition)):
        if kinds:
            page.paragraph(title, "heading", indent=0)
            add_table(page, KINDS, [[name, *_of_a_kind(kind)] for name, kind in kinds.items()])
            page.blank()
    page.paragraph("by outcome", "heading", indent=0)
    rows = [
        [
            name,
            *_losses(part),
            percent(part.predicted, 1),
            percent(part.observed.known_value, 1),
            interval(part.observed.ci, 1, scale=100),
        ]
        for name, part in data.by.outcome.items()
    ]
    add_table(page, OUTCOMES, rows)
    page.blank()


def _of_a_kind(kind: Kind) -> list[Cell]:
    """Its size, the model's figures, and what lies between the model and the trees."""
    cells: list[Cell] = [str(kind.matches), f"{kind.balls:,}", number(kind.log_loss.value, 4)]
    cells += [f"{kind.ece:.3f}", f"{kind.ece_by_luck:.3f}"]
    gap = kind.minus.get("boosted_trees")
    if gap is None:
        return [*cells, "", ""]
    return [*cells, f"{gap.known_value:+.4f}", interval(gap.ci, 4, sign="+")]


def _losses(part: Part) -> tuple[str, str, str]:
    loss = number(part.log_loss.value, 4, missing="-")
    return f"{part.balls:,}", loss, interval(part.log_loss.ci, 4)
