"""How well the value of states tells who wins, on matches it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from attnlens.arrays import Floats, Integers
from attnlens.cricket.lab.evaluation import DRAWS, SEED, CalibrationBin, forecasts, reliability
from attnlens.cricket.lab.figures import Figure
from attnlens.cricket.lab.held_out import CheckpointDates, HeldOut
from attnlens.cricket.predictor.win import win_chances, won
from attnlens.cricket.readers.history import Report, silent
from attnlens.errors import InputError
from attnlens.evidence.scores import Bootstrap, calibration_gap, equal_bins
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import interval, percent
from attnlens.render.numbers import number as figure_text
from attnlens.render.table import Cell, Column, Words, add_table
from attnlens.words import count

_BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedStates:
    """The state before every ball of the judged matches that somebody won, arrays ``(balls,)``.

    Attributes:
        chances, then: of the batting side, before the ball and after what happened.
        won: 1, 0, or a half for a tie.
        match, innings, over: where the ball is.
        left_out: matches that nobody won, or that rain decided.
        unbalanced: the most by which a chance before a ball differs from the mean of those after
            its outcomes.
    """

    chances: Floats
    then: Floats
    won: Floats
    match: Integers
    innings: Integers
    over: Integers
    left_out: int
    unbalanced: float


def evaluate_states(held: HeldOut, report: Report = silent) -> EvaluatedStates:
    """Ask the model who is winning before every ball, with the ratings of each match's date.

    Raises:
        InputError: the checkpoint knows no value of states, or no judged match has a winner.
    """
    if held.predictor.win is None:
        raise InputError("this checkpoint tells nobody's chance to win", remedy="train it again")
    columns: list[list[Floats]] = []
    numbers: dict[str, int] = {}
    unbalanced = 0.0
    for one, chances in forecasts(held, report):
        label = won(one.match, one.side.batting_team)
        winning = win_chances(held.predictor.win, one.match, one.side, one.strength, chances)
        if label is None or winning is None:
            continue
        number = numbers.setdefault(one.match_id, len(numbers))
        mean = np.einsum("bo,bo->b", chances, winning.after)
        unbalanced = max(unbalanced, float(np.abs(mean - winning.before).max()))
        count = len(winning.before)
        columns.append(
            [
                *(winning.before, winning.actual, np.full(count, label)),
                *(np.full(count, float(number)), np.full(count, float(one.innings))),
                one.arrays.over.astype(float),
            ]
        )
    if not columns:
        raise InputError("no judged match has a winner that its state decided")
    before, then, label_of, match, innings, over = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    return EvaluatedStates(
        chances=before,
        then=then,
        won=label_of,
        match=match.astype(np.int64),
        innings=innings.astype(np.int64),
        over=over.astype(np.int64),
        left_out=len(held.matches) - len(numbers),
        unbalanced=unbalanced,
    )


@dataclass(frozen=True, slots=True)
class WinFigures:
    """Brier of the batting side's chance, log-loss in nats, and expected calibration error."""

    brier: Figure
    log_loss: Figure
    ece: float

    @classmethod
    def of(cls, chances: Floats, won: Floats, bootstrap: Bootstrap) -> WinFigures:
        sure = chances.clip(1e-9, 1 - 1e-9)
        loss = -(won * np.log(sure) + (1 - won) * np.log(1 - sure))
        return cls(
            Figure.resampled((chances - won) ** 2, bootstrap),
            Figure.resampled(loss, bootstrap),
            calibration_gap(chances, won, equal_bins(chances)),
        )


@dataclass(frozen=True, slots=True)
class WinEvaluation:
    """The document of ``attnlens lab evaluate --win --json``.

    Attributes:
        left_out, unbalanced: as of `EvaluatedStates`.
        logistic: a logistic model of the state, fitted on the matches of the training; left out
            where it could not be.
        brier_difference: the model's Brier less that of the logistic model, ball by ball.
        by_over: mean chance and share of wins, by innings and over.
    """

    balls: int
    matches: int
    left_out: int
    dates: dict[str, str | None]
    checkpoint: CheckpointDates
    notes: tuple[str, ...]
    model: WinFigures
    by_innings: dict[str, WinFigures]
    unbalanced: float
    logistic: WinFigures | None
    logistic_by_innings: dict[str, WinFigures]
    brier_difference: dict[str, Figure]
    reliability: list[CalibrationBin]
    by_over: dict[str, list[CalibrationBin]]


def win_evaluation(
    held: HeldOut, states: EvaluatedStates, logistic: Floats | None, why: str | None = None
) -> WinEvaluation:
    """The figures of the value of states.

    ``logistic`` is what a logistic model of the state says of the same balls ``(balls,)``; where
    there is none, ``why``.
    """
    bootstrap = Bootstrap(states.match, draws=DRAWS, seed=SEED)
    parts = {str(number): states.innings == number for number in np.unique(states.innings)}

    def each(chances: Floats) -> dict[str, WinFigures]:
        found = {}
        for name, rows in parts.items():
            some = Bootstrap(states.match[rows], draws=DRAWS, seed=SEED)
            found[name] = WinFigures.of(chances[rows], states.won[rows], some)
        return found

    differences: Mapping[str, Figure] = {}
    if logistic is not None:
        gap = (states.chances - states.won) ** 2 - (logistic - states.won) ** 2
        differences = {"all": Figure.resampled(gap, bootstrap)} | {
            name: Figure.resampled(gap, bootstrap, rows) for name, rows in parts.items()
        }
    notes = (*held.notes, *([f"left out logistic: {why}"] if why else []))
    return WinEvaluation(
        balls=len(states.won),
        matches=int(states.match.max()) + 1,
        left_out=states.left_out,
        dates=dict(zip(("first", "last"), held.dates, strict=True)),
        checkpoint=held.checkpoint,
        notes=notes,
        model=WinFigures.of(states.chances, states.won, bootstrap),
        by_innings=each(states.chances),
        unbalanced=states.unbalanced,
        logistic=None if logistic is None else WinFigures.of(logistic, states.won, bootstrap),
        logistic_by_innings={} if logistic is None else each(logistic),
        brier_difference=dict(differences),
        reliability=reliability(
            states.chances, states.won, equal_bins(states.chances, _BINS), bootstrap
        ),
        by_over={
            name: reliability(
                states.chances[rows],
                states.won[rows],
                states.over[rows],
                Bootstrap(states.match[rows], draws=DRAWS, seed=SEED),
            )
            for name, rows in parts.items()
        },
    )


if TYPE_CHECKING:
    from attnlens.cricket.lab.evaluation import CalibrationBin
    from attnlens.cricket.lab.win_evaluation import WinEvaluation, WinFigures

_INNINGS: Final = {"1": "first innings", "2": "chases"}


@terminal_page(min_width=64)
def render_winning(page: Page, evaluation: WinEvaluation) -> None:
    """The document of ``attnlens lab evaluate --win``."""
    matches = count(evaluation.matches, "match", "matches")
    began, ended = (evaluation.dates[end] or "undated" for end in ("first", "last"))
    balls = count(evaluation.balls, "ball")
    title = f"who wins, by {evaluation.checkpoint.name}, before {balls} of {matches}"
    page.paragraph(f"{title}, {began} to {ended}", "title", indent=0)
    if evaluation.left_out:
        left = count(evaluation.left_out, "match", "matches")
        page.paragraph(f"{left} without a winner, or decided by rain, left out", "quiet", indent=0)
    for note in evaluation.notes:
        page.flag(note)
    page.blank()
    rows: list[list[Cell]] = [_row("model", evaluation.model)]
    rows += [_row(f"  {_INNINGS[name]}", part) for name, part in evaluation.by_innings.items()]
    if evaluation.logistic is not None:
        rows.append(_row("logistic model of the state", evaluation.logistic))
        parts = evaluation.logistic_by_innings
        rows += [_row(f"  {_INNINGS[name]}", part) for name, part in parts.items()]
    heads = ("Brier", "", "log-loss", "ECE")
    add_table(page, [Words(min_width=14), *(Column(head, gap=1) for head in heads)], rows)
    page.blank()
    for name, gap in evaluation.brier_difference.items():
        where = _INNINGS.get(name, "all")
        told = f"{gap.required_value:+.4f} {interval(gap.ci, 4, sign='+')}"
        page.paragraph(f"Brier, model minus logistic, {where}: {told}", indent=0)
    page.paragraph(
        f"the chance before a ball is the mean of those after it, to {evaluation.unbalanced:.0e}",
        indent=0,
    )
    page.blank()
    _levels(page, "calibration", {"": evaluation.reliability})
    _levels(page, "by over: said and came", evaluation.by_over)
    page.paragraph("Brackets hold 95% of resamples of whole matches.", "quiet", indent=0)


def _row(name: str, figures: WinFigures) -> list[Cell]:
    brier, loss = figures.brier, figures.log_loss
    return [
        (name, "name" if name == "model" else ""),
        figure_text(brier.value, 4),
        interval(brier.ci, 4),
        figure_text(loss.value, 4),
        f"{figures.ece:.4f}",
    ]


def _levels(page: Page, title: str, groups: dict[str, list[CalibrationBin]]) -> None:
    for name, levels in groups.items():
        what = f"{title}, {_INNINGS[name]}" if name else title
        page.paragraph(what, "heading", indent=0)
        rows: list[list[Cell]] = [
            [
                percent(level.predicted, 1),
                percent(level.observed.required_value, 1),
                interval(level.observed.ci, 1, scale=100),
                f"{level.balls:,}",
            ]
            for level in levels
        ]
        heads = ("said", "came", "", "balls")
        add_table(page, [Column(heads[0]), *(Column(head, gap=1) for head in heads[1:])], rows)
        page.blank()
