"""Measure whether the contributions of reasons are calibrated on held-out balls.

A reason is a group of inputs, such as the bowler's record. The contribution of a reason is the
reason's effect on the log-odds of an outcome. All contributions sum to the log-odds of the
prediction minus the usual log-odds. The scoreboard's contribution is the log-odds given only the
scoreboard, minus the usual log-odds. The contributions of other reasons are Shapley values.

The slope of a reason is the coefficient of the reason's contribution in a logistic regression of
the outcome. All other contributions and the usual log-odds form a fixed offset. A slope of 1 means
that the contribution is calibrated. A slope of 0.5 means that the contribution is twice as large as
it should be.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from attnlens.cricket.explain.ablation import under_knowledge
from attnlens.cricket.explain.claims import groups_of, has_record
from attnlens.cricket.explain.reading import scoreboard_baseline
from attnlens.cricket.lab.evaluation import DRAWS, SEED
from attnlens.cricket.lab.figures import (
    NAME,
    Close,
    Estimate,
    Figure,
    add_figures,
    add_section,
    add_title,
)
from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.lab.sampling import sample
from attnlens.cricket.match.competition import KINDS, table_of
from attnlens.cricket.match.match import OUTCOME_INDEX
from attnlens.cricket.predictor.predictor import KNOWLEDGE
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow, cut_window, one_thread
from attnlens.cricket.readers import Report, silent
from attnlens.errors import InputError
from attnlens.evidence.scores import group_numbers
from attnlens.evidence.shapley import contributions
from attnlens.files import Flags, Floats, Integers, Json
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import rounded_all

BALLS: Final = 6600
"""The default number of held-out balls in the sample."""

ALL_KINDS: Final = "all"
STACKED: Final = "stacked"
"""The name of the rows that pool all outcomes of `REASON_OUTCOMES`."""

REASON_OUTCOMES: Final = ("0", "1", "4", "6", "W")
"""The outcomes for which slopes are measured."""

_SCOREBOARD: Final = "scoreboard"
_COLUMNS: Final = [OUTCOME_INDEX[outcome] for outcome in REASON_OUTCOMES]
_NEWTON_STEPS: Final = 50
_GRID_ERRORS, _GRID_POINTS = 6, 121
"""The half-width (in standard errors) and the number of points of the grid of slopes."""


def log_odds_of_each(probabilities: Floats) -> Floats:
    """Return the log-odds of each outcome against all other outcomes."""
    odds: Floats = np.log(probabilities) - np.log1p(-probabilities)
    return odds


def parts_from_usual(
    predictor: TrainedPredictor, window: BallWindow
) -> tuple[dict[str, Floats], Floats]:
    """Return the contribution of each group to the log-odds, and the log-odds of the prediction.

    All values have shape ``(11,)``. `attnlens.cricket.explain.claims.contributions_of` has the same
    groups.
    """
    past, names = len(window.past), [name for name in KNOWLEDGE if name != _SCOREBOARD]

    def predict(masks: Flags) -> Floats:
        knowledge = {group: masks[:, past + n] for n, group in enumerate(names)}
        knowledge[_SCOREBOARD] = np.ones(len(masks), bool)
        probs = under_knowledge(predictor.model, window.batch, masks[:, :past], knowledge)
        return log_odds_of_each(probs)

    groups = {group: [past + number] for number, group in enumerate(names)} | groups_of(window)
    shared = contributions(predict, groups, range(past + len(names)))
    board = shared.baseline - log_odds_of_each(scoreboard_baseline(window))
    parts = {_SCOREBOARD: board, **dict(zip(shared.groups, shared.table, strict=True))}
    return parts, shared.full


@dataclass(frozen=True, slots=True, eq=False)
class ReasonSample:
    """Sampled balls, and the contributions to the predictions for the balls.

    Attributes:
        parts: for each group, the contributions to the log-odds of `REASON_OUTCOMES`, with shape
            ``(ball, 5)``. A contribution is 0 if the group has no past ball, or if the player has
            no record.
        odds: the log-odds of the predictions, with shape ``(ball, 5)``.
        came: whether each of `REASON_OUTCOMES` occurred, with shape ``(ball, 5)``.
        match: the index of each ball's match, counted from 0, with shape ``(ball,)``.
        kind: the kind of cricket of each ball, with shape ``(ball,)``.
    """

    parts: dict[str, Floats]
    odds: Floats
    came: Flags
    match: Integers
    kind: np.ndarray[Any, np.dtype[np.str_]]


@one_thread()
def sample_reasons(held: HeldOut, balls: int, seed: int, report: Report = silent) -> ReasonSample:
    """Sample held-out balls, and compute the contribution of every group to each prediction.

    Raises:
        InputError: no held-out ball has an outcome.
    """
    innings = list(held.innings(report))
    chosen = sample(innings, balls, seed, before=0)
    if not chosen:
        raise InputError("no ball has a known outcome", remedy="give matches that were played")
    parts: list[dict[str, Floats]] = []
    odds: list[Floats] = []
    for number, (row, position) in enumerate(chosen):
        if number % 50 == 0:
            report(f"computing reasons: ball {number + 1} of {len(chosen)}")
        encoded = innings[row]
        window = cut_window(encoded.match, encoded.side, encoded.arrays, position + 1)
        by_group, full = parts_from_usual(held.predictor, window)
        odds.append(full[_COLUMNS])
        parts.append(
            {group: has_record(window, group) * part[_COLUMNS] for group, part in by_group.items()}
        )
    actual = np.array([innings[row].arrays.outcome[position] for row, position in chosen])
    return ReasonSample(
        parts={group: np.stack([ball[group] for ball in parts]) for group in parts[0]},
        odds=np.stack(odds),
        came=actual[:, None] == np.array(_COLUMNS),
        match=group_numbers([innings[row].match_id for row, _ in chosen]),
        kind=np.array([_KINDS[min(table_of(innings[row].match), 2)] for row, _ in chosen]),
    )


_KINDS: Final = (*KINDS[:2], "women's")
"""Women's internationals and women's leagues form one kind."""


def slope_of(
    came: Flags, part: Floats, odds: Floats, match: Integers, *, seed: int = SEED
) -> tuple[float, tuple[float, float] | None] | None:
    """Return the slope of the outcome on a group's contribution, and the slope's 95% interval.

    The logistic regression has one coefficient and no intercept: the log-odds of the outcome are
    ``odds - part + slope * part``. The interval comes from resampled matches.

    Args:
        came: whether the outcome occurred, with shape ``(row,)``.
        part: the contribution of the group, with shape ``(row,)``.
        odds: the log-odds of the prediction, including the contribution, with shape ``(row,)``.
        match: the index of each row's match, with shape ``(row,)``.

    Returns:
        The slope and its interval, or ``None`` if all contributions are 0. The interval is ``None``
        if all rows with a contribution are from one match.
    """
    rows = part != 0
    if not rows.any():
        return None
    came, part, offset = came[rows].astype(float), part[rows], (odds - part)[rows]
    match = np.unique(match[rows], return_inverse=True)[1].astype(np.int64)

    def score(slope: float) -> tuple[Floats, float]:
        """Return the derivative of each match's log-likelihood, and the Fisher information."""
        expected = 1 / (1 + np.exp(-(offset + slope * part)))
        information = float((part**2 * expected * (1 - expected)).sum())
        by_match: Floats = np.bincount(match, part * (came - expected)).astype(float)
        return by_match, information

    slope = 1.0
    for _ in range(_NEWTON_STEPS):
        by_match, information = score(slope)
        # A step of more than 2 would leave the region in which the score is nearly linear.
        step = float(np.clip(by_match.sum() / max(information, 1e-12), -2, 2))
        slope += step
        if abs(step) < 1e-8:
            break
    by_match, information = score(slope)
    if len(by_match) < 2:
        return slope, None
    error = float(np.sqrt((by_match**2).sum())) / max(information, 1e-12)
    grid = slope + error * np.linspace(-_GRID_ERRORS, _GRID_ERRORS, _GRID_POINTS)
    scores = np.stack([score(point)[0] for point in grid], 1)
    times = np.random.default_rng(seed).multinomial(
        len(by_match), np.full(len(by_match), 1 / len(by_match)), size=DRAWS
    )
    slopes = [np.interp(0.0, -resample, grid) for resample in times @ scores]
    low, high = np.quantile(slopes, [0.025, 0.975])
    return slope, (float(low), float(high))


def reasons_evaluation(
    held: HeldOut, *, balls: int = BALLS, seed: int = SEED, report: Report = silent
) -> Json:
    """Return the JSON result of ``attnlens lab evaluate --reasons``.

    ``rows`` has one row for every combination of reason, kind of cricket and outcome. A row has the
    slope, its interval, and the number of balls to which the reason contributes.
    """
    sampled = sample_reasons(held, balls, seed, report)
    outcomes: dict[str, list[int]] = {STACKED: list(range(len(REASON_OUTCOMES)))}
    outcomes |= {outcome: [column] for column, outcome in enumerate(REASON_OUTCOMES)}

    def row(reason: str, kind: str, outcome: str) -> Json | None:
        rows = (sampled.kind == kind) | (kind == ALL_KINDS)
        columns, parts = outcomes[outcome], sampled.parts[reason][rows]
        match = np.repeat(sampled.match[rows], len(columns))
        came, part, odds = (
            values[:, columns].ravel() for values in (sampled.came[rows], parts, sampled.odds[rows])
        )
        estimate = slope_of(came, part, odds, match, seed=seed)
        if estimate is None:
            return None
        slope, ends = estimate
        members = {"reason": reason, "kind": kind, "outcome": outcome}
        return members | {"slope": slope, "interval": ends, "balls": int(parts.any(1).sum())}

    rows = (
        row(reason, kind, outcome)
        for kind in (ALL_KINDS, *(kind for kind in _KINDS if kind in sampled.kind))
        for reason in sampled.parts
        for outcome in outcomes
    )
    return {
        "balls": len(sampled.odds),
        "matches": int(sampled.match.max()) + 1,
        "dates": dict(zip(("first", "last"), held.dates, strict=True)),
        "checkpoint": held.checkpoint,
        "notes": held.notes,
        "seed": seed,
        "rows": [entry for entry in rows if entry is not None],
    }


def calibration_file(path: str, sha256: str) -> Json:
    """Read the calibration file to which slopes will be added.

    Raises:
        InputError: ``path`` is not the calibration file of a checkpoint with the digest ``sha256``.
    """
    try:
        table: Json = json.loads(Path(path).read_bytes())
        measured_on = table["checkpoint"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            "is not a calibration file to which slopes can be added",
            path=path,
            remedy="write the file first, with --calibration-out and without --reasons",
        ) from error
    if measured_on != sha256:
        raise InputError(
            "is the calibration of another checkpoint", path=path, remedy="write it again"
        )
    return table


def reasons_table(document: Json) -> Json:
    """Return the slope of each reason, for the member ``reasons`` of a calibration file.

    The slopes pool all kinds of cricket and all outcomes. `attnlens.cricket.predictor.calibration`
    describes the file.
    """
    slopes = {}
    for row in document["rows"]:
        ends = row["interval"]
        if (row["kind"], row["outcome"]) == (ALL_KINDS, STACKED) and ends is not None:
            slopes[row["reason"]] = {"slope": row["slope"], "low": ends[0], "high": ends[1]}
    table: Json = rounded_all(
        {**{name: document[name] for name in ("balls", "matches", "dates")}, "slopes": slopes}
    )
    return table


_SLOPES: Final = (Figure("balls", "balls", ","), Figure("slope", "slope", ".2f", ci=True))


@terminal_page(min_width=64)
def render_reasons(page: Page, document: Json) -> None:
    """Write the result of `reasons_evaluation` to a terminal page."""
    title = "slopes of the reasons of {name}, on {balls} of {matches}, {first} to {last}"
    add_title(page, document, title)
    by_kind: dict[str, dict[str, dict[str, Any]]] = {}
    for row in document["rows"]:
        by_kind.setdefault(row["kind"], {}).setdefault(row["reason"], {})[row["outcome"]] = row
    for kind, reasons in by_kind.items():
        rows = [
            (reason, {"balls": row["balls"], "slope": Estimate(row["slope"], row["interval"])})
            for reason, of_outcome in reasons.items()
            for row in [of_outcome[STACKED]]
        ]
        heading = "all kinds of cricket" if kind == ALL_KINDS else kind
        add_figures(page, rows, _SLOPES, heading=heading)
    cells = [
        [reason, *(_marked(rows.get(outcome)) for outcome in REASON_OUTCOMES)]
        for reason, rows in by_kind[ALL_KINDS].items()
    ]
    columns = [NAME, *map(Close, REASON_OUTCOMES)]
    add_section(page, "by outcome, all kinds of cricket", columns, cells)
    page.paragraph(
        "A slope of 1 means that stated effects are calibrated. A slope of 0.5 means that pages "
        "state twice the true effect. "
        f"The first tables pool the outcomes {', '.join(REASON_OUTCOMES)}. "
        f"Brackets show 95% intervals from {DRAWS} resamples of whole matches; * marks a slope "
        "whose interval excludes 1.",
        "quiet",
        indent=0,
    )


def _marked(row: Json | None) -> str:
    if row is None:
        return "-"
    ends = row["interval"]
    excludes = ends is not None and not ends[0] <= 1 <= ends[1]
    return f"{row['slope']:.2f}{'*' if excludes else ' '}"
