"""How well a predictor's probabilities fit matches it has not seen, beside baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import torch

from attnlens.arrays import Flags, Floats, Integers
from attnlens.cricket.lab.figures import Figure
from attnlens.cricket.lab.held_out import CheckpointDates, EncodedInnings, HeldOut
from attnlens.cricket.match.competition import KINDS, competition_of, phase_of, quota_of, table_of
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.calibration import FORMAT, KIND
from attnlens.cricket.predictor.kinds import kinds_unlike, like_training
from attnlens.cricket.predictor.ratings import PHASES
from attnlens.cricket.predictor.window import one_thread, training_batch
from attnlens.cricket.readers.history import Report, silent
from attnlens.evidence.scores import (
    Bootstrap,
    brier_scores,
    calibration_error,
    calibration_error_by_luck,
    equal_bins,
    filled_bins,
    group_numbers,
    hits,
    log_losses,
)
from attnlens.files import Json
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import interval, percent, rounded_all
from attnlens.render.numbers import number as figure_text
from attnlens.render.table import Cell, Column, Words, add_table
from attnlens.words import count

Innings = tuple[str, int, int]
"""A judged innings: its match, its number in it, and how many balls."""

_AT_ONCE: Final = 16
"""Innings in one pass of the network."""

DRAWS, SEED = 1000, 5
"""Resamples of the intervals, and what they are drawn with."""

_WATCHED: Final[tuple[str, ...]] = ("4", "6", "W")
"""Outcomes whose own calibration is told: those that turn a match."""

_WATCHED_BINS: Final = 10
_MATCHES: Final = 20
"""Fewer matches of a competition are too few to judge on."""

_LEVELS: Final = 16
"""Bins per outcome of a calibration table: about 2,000 balls each on the development test."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedBalls:
    """Every judged ball, innings by innings.

    Attributes:
        chances: the model's probabilities ``(balls, 11)``.
        actual: class number of what happened ``(balls,)``; of `PHASES` likewise ``phase``.
        match, number: of the match, and of the innings in it ``(balls,)``.
    """

    innings: tuple[Innings, ...]
    chances: Floats
    actual: Integers
    match: Integers
    phase: Integers
    number: Integers

    def __len__(self) -> int:
        return len(self.actual)


def forecasts(held: HeldOut, report: Report = silent) -> Iterator[tuple[EncodedInnings, Floats]]:
    """Every judged innings, and the predictor's probabilities for its balls ``(balls, 11)``."""
    judged = list(held.innings(report))
    for start in range(0, len(judged), _AT_ONCE):
        some = judged[start : start + _AT_ONCE]
        with one_thread(), torch.no_grad():
            batch, _ = training_batch([one.arrays for one in some])
            said = held.predictor.model(batch).double().softmax(-1).numpy()
        for one, table in zip(some, said, strict=True):
            yield one, table[: len(one.arrays)]


def judge(held: HeldOut, report: Report = silent) -> EvaluatedBalls:
    """Ask the predictor about every ball of the matches, with the ratings of their dates."""
    judged: list[EncodedInnings] = []
    chances: list[Floats] = []
    phases: list[int] = []
    for one, table in forecasts(held, report):
        quota = quota_of(one.match, one.side)
        judged.append(one)
        chances.append(table)
        phases += [phase_of(ball.legal_balls_before, quota) for ball in one.side.deliveries]
    innings = tuple((one.match_id, one.innings, len(one.arrays)) for one in judged)
    counts = [count for _, _, count in innings]
    return EvaluatedBalls(
        innings,
        np.concatenate(chances),
        np.concatenate([one.arrays.outcome for one in judged]),
        np.repeat(group_numbers([match_id for match_id, _, _ in innings]), counts),
        np.array(phases),
        np.repeat([number for _, number, _ in innings], counts),
    )


def aligned(balls: EvaluatedBalls, innings: Sequence[Innings], chances: Floats) -> Floats:
    """Probabilities in the order of the judged balls; ``chances`` are in that of ``innings``."""
    ends = np.cumsum([count for _, _, count in innings])
    ended = {(match, number): end for (match, number, _), end in zip(innings, ends, strict=True)}
    rows = [np.arange(ended[match, number] - count, ended[match, number])
            for match, number, count in balls.innings]  # fmt: skip
    result: Floats = chances[np.concatenate(rows)]
    return result


@dataclass(frozen=True, slots=True, eq=False)
class BaselineForecasts:
    """What baselines say of the judged balls: ``chances`` by name, ``(balls, 11)``, in their order.

    ``left_out`` holds those that could not be fitted, and why; ``fitted_on`` counts matches.
    """

    chances: dict[str, Floats]
    left_out: dict[str, str]
    fitted_on: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Log-loss in nats, Brier, expected calibration error, and how often the likeliest came."""

    log_loss: Figure
    brier: float
    ece: float
    accuracy: float

    @classmethod
    def of(cls, chances: Floats, actual: Integers, bootstrap: Bootstrap) -> Scores:
        return cls(
            Figure.resampled(log_losses(chances, actual), bootstrap),
            brier_scores(chances, actual).mean(),
            calibration_error(chances, actual),
            hits(chances, actual).mean(),
        )


@dataclass(frozen=True, slots=True)
class SubsetFigures:
    """Some of the balls, such as those of a phase."""

    balls: int
    log_loss: Figure


@dataclass(frozen=True, slots=True)
class OutcomeFigures(SubsetFigures):
    """The balls on which an outcome came; ``predicted`` and ``observed`` are over all balls."""

    predicted: float
    observed: Figure


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Balls with about the same probability, and how often it came true."""

    predicted: float
    observed: Figure
    balls: int


@dataclass(frozen=True, slots=True)
class CompetitionFigures(SubsetFigures):
    """The balls of one kind of cricket or one competition.

    ``ece_by_luck`` is what the ECE of a forecast that is exactly right would be at most, in 19 of
    20 cases; ``minus`` is the model's log-loss less that of each baseline, ball by ball.
    """

    matches: int
    ece: float
    ece_by_luck: float
    minus: dict[str, Figure]

    MERGED: ClassVar[tuple[str, ...]] = ()
    OPTIONAL: ClassVar[tuple[str, ...]] = ("minus",)


@dataclass(frozen=True, slots=True)
class Breakdowns:
    """The balls by phase, innings, outcome, kind of cricket, and competition.

    Of competitions those with at least `_MATCHES` matches.
    """

    phase: dict[str, SubsetFigures]
    innings: dict[str, SubsetFigures]
    outcome: dict[str, OutcomeFigures]
    kind: dict[str, CompetitionFigures]
    competition: dict[str, CompetitionFigures]


@dataclass(frozen=True, slots=True)
class OutsideTraining:
    """Matches of another kind than those of the training, and how many of each kind."""

    matches: int
    balls: int
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The document of ``attnlens lab evaluate --json``.

    Attributes:
        in_sample: matches inside the training dates.
        left_out, baselines_fitted_on: as of `BaselineForecasts`.
        paired_difference: the model's log-loss less that of each baseline, ball by ball.
        reliability: of the likeliest outcome in equally wide bins; of those that are watched
            in equally filled ones.
    """

    balls: int
    matches: int
    dates: dict[str, str | None]
    checkpoint: CheckpointDates
    in_sample: int
    outside_training: OutsideTraining
    notes: tuple[str, ...]
    model: Scores
    baselines: dict[str, Scores]
    left_out: Mapping[str, str]
    baselines_fitted_on: dict[str, int]
    paired_difference: dict[str, dict[str, Figure]]
    by: Breakdowns
    reliability: dict[str, list[CalibrationBin]]
    bootstrap: dict[str, int | str]

    def remarks(self) -> list[str]:
        """What a reader of the figures should know first."""
        remarks = list(self.notes)
        outside = self.outside_training
        if outside.matches:
            kinds = ", ".join(f"{count} {kind}" for kind, count in outside.kinds.items())
            remarks.append(
                f"{outside.matches} of {self.matches} matches are unlike those the model was "
                f"trained on ({kinds})"
            )
        for reason in dict.fromkeys(self.left_out.values()):
            names = [name for name, why in self.left_out.items() if why == reason]
            remarks.append(f"left out {', '.join(names)}: {reason}")
        if "prior" in self.baselines and not self.baselines_fitted_on["matches"]:
            remarks.append("the prior is the checkpoint's own")
        return remarks


def evaluation(held: HeldOut, balls: EvaluatedBalls, compared: BaselineForecasts) -> Evaluation:
    """The figures of a predictor and of baselines on the same balls."""
    baselines = compared.chances
    bootstrap = Bootstrap(balls.match, draws=DRAWS, seed=SEED)
    losses = log_losses(balls.chances, balls.actual)
    gaps = {name: losses - log_losses(chances, balls.actual) for name, chances in baselines.items()}
    return Evaluation(
        balls=len(balls),
        matches=int(balls.match.max()) + 1,
        dates=dict(zip(("first", "last"), held.dates, strict=True)),
        checkpoint=held.checkpoint,
        in_sample=held.in_sample,
        outside_training=_outside(held, balls),
        notes=held.notes,
        model=Scores.of(balls.chances, balls.actual, bootstrap),
        baselines={
            name: Scores.of(chances, balls.actual, bootstrap) for name, chances in baselines.items()
        },
        left_out=compared.left_out,
        baselines_fitted_on={"matches": compared.fitted_on},
        paired_difference={
            name: {"log_loss": Figure.resampled(gap, bootstrap)} for name, gap in gaps.items()
        },
        by=_breakdowns(held, balls, losses, gaps, bootstrap),
        reliability=_reliability(balls, bootstrap),
        bootstrap={"draws": DRAWS, "seed": SEED, "resampled": "matches"},
    )


def _outside(held: HeldOut, balls: EvaluatedBalls) -> OutsideTraining:
    predictor = held.predictor
    unlike = {match.match_id for match in held.matches if not like_training(match, predictor)}
    count = sum(count for match_id, _, count in balls.innings if match_id in unlike)
    return OutsideTraining(len(unlike), count, kinds_unlike(held.matches, predictor))


def _kinds(
    balls: EvaluatedBalls,
    names: Mapping[str, str],
    losses: Floats,
    gaps: Mapping[str, Floats],
    least: int,
) -> dict[str, CompetitionFigures]:
    """By a name of each match, the commonest first; names of fewer matches than ``least`` not."""
    name_of = np.repeat(
        [names[match_id] for match_id, _, _ in balls.innings],
        [count for _, _, count in balls.innings],
    )
    found = {}
    for name, matches in Counter(names.values()).most_common():
        rows = name_of == name
        if matches < least or not name or not rows.any():
            continue
        some = Bootstrap(group_numbers(balls.match[rows].tolist()), draws=DRAWS, seed=SEED)
        found[name] = CompetitionFigures(
            int(rows.sum()),
            Figure.resampled(losses[rows], some),
            matches,
            calibration_error(balls.chances[rows], balls.actual[rows]),
            calibration_error_by_luck(balls.chances[rows]),
            {other: Figure.resampled(gap[rows], some) for other, gap in gaps.items()},
        )
    return found


def _breakdowns(
    held: HeldOut,
    balls: EvaluatedBalls,
    losses: Floats,
    gaps: Mapping[str, Floats],
    bootstrap: Bootstrap,
) -> Breakdowns:
    def part(rows: Flags) -> tuple[int, Figure]:
        return int(rows.sum()), Figure.resampled(losses, bootstrap, rows)

    def parts(groups: Mapping[str, Flags]) -> dict[str, SubsetFigures]:
        return {name: SubsetFigures(*part(rows)) for name, rows in groups.items() if rows.any()}

    came = {outcome: balls.actual == number for number, outcome in enumerate(OUTCOMES)}
    return Breakdowns(
        phase=parts({name: balls.phase == number for number, name in enumerate(PHASES)}),
        innings=parts({str(number): balls.number == number for number in np.unique(balls.number)}),
        outcome={
            outcome: OutcomeFigures(
                *part(rows),
                balls.chances[:, OUTCOME_INDEX[outcome]].mean(),
                Figure.resampled(rows.astype(np.float64), bootstrap),
            )
            for outcome, rows in came.items()
        },
        kind=_kinds(balls, {m.match_id: KINDS[table_of(m)] for m in held.matches}, losses, gaps, 1),
        competition=_kinds(
            balls, {m.match_id: competition_of(m) for m in held.matches}, losses, gaps, _MATCHES
        ),
    )


def _reliability(balls: EvaluatedBalls, bootstrap: Bootstrap) -> dict[str, list[CalibrationBin]]:
    confidence, right = balls.chances.max(1), hits(balls.chances, balls.actual)
    binned = {"likeliest": reliability(confidence, right, equal_bins(confidence), bootstrap)}
    for outcome in _WATCHED:
        number = OUTCOME_INDEX[outcome]
        chance = balls.chances[:, number]
        place = filled_bins(chance, _WATCHED_BINS)
        binned[outcome] = reliability(chance, balls.actual == number, place, bootstrap)
    return binned


def reliability(
    predicted: Floats, happened: Flags | Floats, integers: Integers, bootstrap: Bootstrap
) -> list[CalibrationBin]:
    """What was predicted beside what came, per bin; bins without rows are left out.

    ``predicted`` is a probability per row ``(rows,)``, ``happened`` whether it came true, ``place``
    the row's bin, as of `equal_bins` or `filled_bins`.
    """
    came = happened.astype(np.float64)
    bins = [integers == number for number in np.unique(integers)]
    return [
        CalibrationBin(
            predicted[rows].mean(), Figure.resampled(came, bootstrap, rows), int(rows.sum())
        )
        for rows in bins
    ]


def calibration_table(held: HeldOut, balls: EvaluatedBalls) -> Json:
    """For each outcome, balls with about the same probability and how often it happened.

    The data of a file that a checkpoint carries (`attnlens.cricket.predictor.calibration`). Bins
    are equally filled. ``most`` is the highest probability in a bin, ``happened_ci`` the 95%
    interval over resampled matches, ``null`` where the balls come from one match.
    """
    bootstrap = Bootstrap(balls.match, draws=DRAWS, seed=SEED)
    outcomes = {}
    for number, outcome in enumerate(OUTCOMES):
        chance = balls.chances[:, number]
        place = filled_bins(chance, _LEVELS)
        bins = reliability(chance, balls.actual == number, place, bootstrap)
        outcomes[outcome] = [
            {
                "most": chance[place == at].max(),
                "predicted": one.predicted,
                "happened": one.observed.value,
                "happened_ci": one.observed.ci,
                "balls": one.balls,
            }
            for at, one in zip(np.unique(place), bins, strict=True)
        ]
    table: Json = rounded_all(
        {
            "kind": KIND,
            "format": FORMAT,
            "checkpoint": {"name": held.predictor.name, "sha256": held.predictor.sha256},
            "matches": int(balls.match.max()) + 1,
            "balls": len(balls),
            "dates": dict(zip(("first", "last"), held.dates, strict=True)),
            "in_sample": held.in_sample,
            "outcomes": outcomes,
        }
    )
    return table


if TYPE_CHECKING:
    from attnlens.cricket.lab.evaluation import CompetitionFigures, Evaluation, SubsetFigures

_NAME: Final = Words(min_width=14)
Close: Final = partial(Column, gap=1)
_LOSS: Final = (_NAME, Close("balls"), Close("log-loss"), Close(spare=1))
_COMPARED_COLUMNS: Final = (_NAME, *map(Close, ("log-loss", "", "Brier", "ECE", "top-1")))
_DIFFERENCE_COLUMNS: Final = (_NAME, Close("model minus it"), Close())
_KIND_COLUMNS: Final = (
    _NAME,
    *map(Close, ("matches", "balls", "log-loss", "ECE", "luck", "minus trees", "")),
)
_OUTCOME_COLUMNS: Final = (*_LOSS, Close("said"), Close("came"), Close())
_CALIBRATION_COLUMNS: Final = (Column("said"), Close("came"), Close(), Close("balls"))


@terminal_page(min_width=64)
def render_evaluation(page: Page, shown: Evaluation) -> None:
    """The figures of `attnlens.cricket.lab.evaluation.evaluation`."""
    _head(page, shown)
    _compared(page, shown)
    _calibration(page, shown)
    _breakdown_tables(page, shown)
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
    everyone.sort(key=lambda one: one[1].log_loss.required_value)
    rows: list[list[Cell]] = []
    apart: list[list[Cell]] = []
    for name, figures in everyone:
        title = name.replace("_", " ")
        rows.append(
            [
                (title, "name" if name == "model" else ""),
                figure_text(figures.log_loss.value, 4),
                interval(figures.log_loss.ci, 4),
                f"{figures.brier:.4f}",
                f"{figures.ece:.4f}",
                percent(figures.accuracy, 1),
            ]
        )
        if name in data.paired_difference:
            gap = data.paired_difference[name]["log_loss"]
            apart.append([title, f"{gap.required_value:+.4f}", interval(gap.ci, 4, sign="+")])
    add_table(page, _COMPARED_COLUMNS, rows)
    page.blank()
    add_table(page, _DIFFERENCE_COLUMNS, apart)
    page.blank()


def _calibration(page: Page, data: Evaluation) -> None:
    """What was predicted beside what came, per bin."""
    for name, bins in data.reliability.items():
        what = "the likeliest outcome" if name == "likeliest" else f"P({name})"
        page.paragraph(f"calibration of {what}", "heading", indent=0)
        rows = [
            [
                percent(one.predicted, 1),
                percent(one.observed.required_value, 1),
                interval(one.observed.ci, 1, scale=100),
                f"{one.balls:,}",
            ]
            for one in bins
        ]
        add_table(page, _CALIBRATION_COLUMNS, rows)
        page.blank()


def _breakdown_tables(page: Page, data: Evaluation) -> None:
    for title, parts in (("by phase", data.by.phase), ("by innings", data.by.innings)):
        page.paragraph(title, "heading", indent=0)
        add_table(page, _LOSS, [[name, *_losses(part)] for name, part in parts.items()])
        page.blank()
    for title, kinds in (("by kind", data.by.kind), ("by competition", data.by.competition)):
        if kinds:
            page.paragraph(title, "heading", indent=0)
            add_table(
                page, _KIND_COLUMNS, [[name, *_of_a_kind(kind)] for name, kind in kinds.items()]
            )
            page.blank()
    page.paragraph("by outcome", "heading", indent=0)
    rows = [
        [
            name,
            *_losses(part),
            percent(part.predicted, 1),
            percent(part.observed.required_value, 1),
            interval(part.observed.ci, 1, scale=100),
        ]
        for name, part in data.by.outcome.items()
    ]
    add_table(page, _OUTCOME_COLUMNS, rows)
    page.blank()


def _of_a_kind(kind: CompetitionFigures) -> list[Cell]:
    """Its size, the model's figures, and what lies between the model and the trees."""
    cells: list[Cell] = [str(kind.matches), f"{kind.balls:,}", figure_text(kind.log_loss.value, 4)]
    cells += [f"{kind.ece:.3f}", f"{kind.ece_by_luck:.3f}"]
    gap = kind.minus.get("boosted_trees")
    if gap is None:
        return [*cells, "", ""]
    return [*cells, f"{gap.required_value:+.4f}", interval(gap.ci, 4, sign="+")]


def _losses(part: SubsetFigures) -> tuple[str, str, str]:
    loss = figure_text(part.log_loss.value, 4, missing="-")
    return f"{part.balls:,}", loss, interval(part.log_loss.ci, 4)
