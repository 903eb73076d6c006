"""How well the value of states tells who wins, on matches it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from attnlens.cricket.lab.evaluation import (
    DRAWS,
    SEED,
    Close,
    add_calibration,
    add_title,
    forecasts,
    reliability,
)
from attnlens.cricket.lab.figures import Estimate
from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.predictor.win import win_chances, won
from attnlens.cricket.readers.history import Report, silent
from attnlens.errors import InputError, count
from attnlens.evidence.scores import Bootstrap, calibration_gap, equal_bins
from attnlens.files import Floats, Integers, Json
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.table import Cell, Words, add_table

_BINS: Final = 10


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedStates:
    """The state before every ball of the evaluated matches that somebody won, arrays ``(balls,)``.

    Attributes:
        probabilities: that the batting side wins, before the ball.
        won: 1, 0, or a half for a tie.
        match, innings, over: where the ball is.
        left_out: matches that nobody won, or that rain decided.
        unbalanced: the most by which a probability before a ball differs from the mean of those
            after its outcomes.
    """

    probabilities: Floats
    won: Floats
    match: Integers
    innings: Integers
    over: Integers
    left_out: int
    unbalanced: float


def evaluate_states(held: HeldOut, report: Report = silent) -> EvaluatedStates:
    """Ask the model who is winning before every ball, with the ratings of each match's date.

    Raises:
        InputError: the checkpoint knows no value of states, or no evaluated match has a winner.
    """
    model = held.predictor.win
    if model is None:
        raise InputError("this checkpoint tells nobody's chance to win", remedy="train it again")
    parts: list[tuple[Any, ...]] = []
    numbers: dict[str, int] = {}
    unbalanced = 0.0
    for encoded, outcomes in forecasts(held, report):
        label = won(encoded.match, encoded.side.batting_team)
        winning = win_chances(model, encoded.match, encoded.side, encoded.strength, outcomes)
        if label is None or winning is None:
            continue
        mean = np.einsum("bo,bo->b", outcomes, winning.after)
        unbalanced = max(unbalanced, float(np.abs(mean - winning.before).max()))
        number = numbers.setdefault(encoded.match_id, len(numbers))
        same = (np.full(len(mean), value) for value in (label, number, encoded.innings))
        parts.append((winning.before, *same, encoded.arrays.over))
    if not parts:
        raise InputError("no judged match has a winner that its state decided")
    before, label_of, match, innings, over = map(np.concatenate, zip(*parts, strict=True))
    left_out = len(held.matches) - len(numbers)
    return EvaluatedStates(before, label_of, match, innings, over, left_out, unbalanced)


def win_evaluation(
    held: HeldOut, states: EvaluatedStates, logistic: Floats | None, reason: str | None = None
) -> Json:
    """The document of ``attnlens lab evaluate --win``.

    Brier of the batting side's probability, log-loss in nats, and expected calibration error;
    ``brier_difference``: the model's Brier less that of the logistic model, ball by ball;
    ``by_over``: mean probability and share of wins, by innings and over.

    Args:
        logistic: what a logistic model of the state says of the same balls ``(balls,)``; where
            there is none, ``reason``.
    """
    bootstrap = Bootstrap(states.match, draws=DRAWS, seed=SEED)
    by_innings = {str(number): states.innings == number for number in np.unique(states.innings)}
    resamples = {
        name: Bootstrap(states.match[rows], draws=DRAWS, seed=SEED)
        for name, rows in by_innings.items()
    }
    squares = (states.probabilities - states.won) ** 2

    def scores(probabilities: Floats, won: Floats, bootstrap: Bootstrap) -> Json:
        sure = probabilities.clip(1e-9, 1 - 1e-9)
        losses = -(won * np.log(sure) + (1 - won) * np.log(1 - sure))
        return {
            "brier": Estimate.resampled((probabilities - won) ** 2, bootstrap),
            "log_loss": Estimate.resampled(losses, bootstrap),
            "ece": calibration_gap(probabilities, won, equal_bins(probabilities)),
        }

    def scores_by_innings(probabilities: Floats) -> Json:
        return {
            name: scores(probabilities[rows], states.won[rows], resamples[name])
            for name, rows in by_innings.items()
        }

    differences: Mapping[str, Estimate] = {}
    if logistic is not None:
        gap = squares - (logistic - states.won) ** 2
        differences = {"all": Estimate.resampled(gap, bootstrap)} | {
            name: Estimate.resampled(gap, bootstrap, rows) for name, rows in by_innings.items()
        }
    return {
        "balls": len(states.won),
        "matches": int(states.match.max()) + 1,
        "left_out": states.left_out,
        "dates": dict(zip(("first", "last"), held.dates, strict=True)),
        "checkpoint": held.checkpoint,
        "notes": (*held.notes, *([f"left out logistic: {reason}"] if reason else [])),
        "model": scores(states.probabilities, states.won, bootstrap),
        "by_innings": scores_by_innings(states.probabilities),
        "unbalanced": states.unbalanced,
        "logistic": None if logistic is None else scores(logistic, states.won, bootstrap),
        "logistic_by_innings": {} if logistic is None else scores_by_innings(logistic),
        "brier_difference": differences,
        "reliability": reliability(
            states.probabilities, states.won, equal_bins(states.probabilities, _BINS), bootstrap
        ),
        "by_over": {
            name: reliability(
                states.probabilities[rows], states.won[rows], states.over[rows], resamples[name]
            )
            for name, rows in by_innings.items()
        },
    }


_INNINGS: Final = {"1": "first innings", "2": "chases"}


@terminal_page(min_width=64)
def render_winning(page: Page, document: Json) -> None:
    """The document of `win_evaluation`."""
    add_title(page, document, "who wins, by {name}, before {balls} of {matches}, {first} to {last}")
    if document["left_out"]:
        left = count(document["left_out"], "match", "matches")
        page.paragraph(f"{left} without a winner, or decided by rain, left out", "quiet", indent=0)
    for note in document["notes"]:
        page.flag(note)
    page.blank()
    rows: list[list[Cell]] = []
    for title, key, by_innings in (
        ("model", "model", "by_innings"),
        ("logistic model of the state", "logistic", "logistic_by_innings"),
    ):
        if document[key] is not None:
            style = "name" if key == "model" else ""
            rows.append([(title, style), *_cells(document[key])])
        rows += [
            [f"  {_INNINGS[name]}", *_cells(part)] for name, part in document[by_innings].items()
        ]
    heads = ("Brier", "", "log-loss", "ECE")
    add_table(page, [Words(min_width=14), *map(Close, heads)], rows)
    page.blank()
    for name, gap in document["brier_difference"].items():
        figures = " ".join(gap.cells(4, sign="+"))
        innings = _INNINGS.get(name, "all")
        page.paragraph(f"Brier, model minus logistic, {innings}: {figures}", indent=0)
    page.paragraph(
        f"the chance before a ball is the mean of those after it, to {document['unbalanced']:.0e}",
        indent=0,
    )
    page.blank()
    add_calibration(page, "calibration", document["reliability"])
    for name, bins in document["by_over"].items():
        add_calibration(page, f"by over: said and came, {_INNINGS[name]}", bins)
    page.paragraph("Brackets hold 95% of resamples of whole matches.", "quiet", indent=0)


def _cells(scores: Json) -> list[Cell]:
    return [*scores["brier"].cells(4), scores["log_loss"].cells(4)[0], f"{scores['ece']:.4f}"]
