"""Evaluate the predicted probabilities and the usual probabilities on held-out matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.cricket.lab.figures import (
    NAME,
    Close,
    Estimate,
    Figure,
    add_figures,
    add_section,
    add_title,
)
from attnlens.cricket.lab.held_out import EncodedInnings, HeldOut
from attnlens.cricket.match.competition import (
    KINDS,
    PHASES,
    competition_of,
    phase_of,
    quota_of,
    table_of,
)
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.calibration import FORMAT, KIND
from attnlens.cricket.predictor.kinds import differences, kinds_unlike
from attnlens.cricket.predictor.window import one_thread, training_batch
from attnlens.cricket.readers import Report, silent
from attnlens.errors import count
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
from attnlens.files import Flags, Floats, Integers, Json
from attnlens.render.canvas import Column, Page, terminal_page
from attnlens.render.numbers import percent, rounded_all

_INNINGS_PER_BATCH: Final = 16
DRAWS, SEED = 1000, 5
"""The number of resamples for a confidence interval, and the random seed."""

_CALIBRATED_OUTCOMES: Final = ("4", "6", "W")

_OUTCOME_BINS: Final = 10
MIN_MATCHES: Final = 20
"""The minimum number of matches for a competition to be shown in a table."""

_TABLE_BINS: Final = 16
"""Bins per outcome. On the development test matches, a bin has about 2,000 balls."""


@dataclass(frozen=True, eq=False)
class EvaluatedBalls:
    """The evaluated balls of all innings. ``probabilities`` has shape ``(balls, 11)``."""

    innings: Sequence[EncodedInnings]
    probabilities: Floats

    @cached_property
    def actual(self) -> Integers:
        """The class of each ball's actual outcome, with shape ``(balls,)``."""
        return np.concatenate([encoded.arrays.outcome for encoded in self.innings])

    @cached_property
    def match(self) -> Integers:
        """For each ball, the index of the match, counted from 0. The shape is ``(balls,)``."""
        return self.each(group_numbers([encoded.match_id for encoded in self.innings]))

    def __len__(self) -> int:
        return len(self.actual)

    def each(self, values: Sequence[Any] | Integers) -> NDArray[Any]:
        """Give every ball the value of the ball's innings. The result has shape ``(balls,)``.

        ``values`` has one value for each innings.
        """
        return np.repeat(values, [len(encoded.arrays) for encoded in self.innings])


def judge(held: HeldOut, report: Report = silent) -> EvaluatedBalls:
    """Forecast every ball. The forecasts for a match use the ratings as of the match date."""
    innings = list(held.innings(report))
    tables: list[Floats] = []
    for start in range(0, len(innings), _INNINGS_PER_BATCH):
        arrays = [encoded.arrays for encoded in innings[start : start + _INNINGS_PER_BATCH]]
        with one_thread(), torch.no_grad():
            forecasts = held.predictor.model(training_batch(arrays)[0]).double().softmax(-1).numpy()
        tables += [table[: len(array)] for table, array in zip(forecasts, arrays, strict=True)]
    return EvaluatedBalls(innings, np.concatenate(tables))


@dataclass(frozen=True, slots=True, eq=False)
class BaselineForecasts:
    """The probabilities of each baseline for the evaluated balls.

    Attributes:
        probabilities: maps each baseline to probabilities with shape ``(balls, 11)``. The balls are
            in the order of `EvaluatedBalls`.
        left_out: maps the name of a baseline to the reason why the baseline could not be fitted.
        fitted_on: the number of matches on which the baselines were fitted.
    """

    probabilities: dict[str, Floats]
    left_out: dict[str, str]
    fitted_on: int


def evaluation(held: HeldOut, balls: EvaluatedBalls, baselines: BaselineForecasts) -> Json:
    """Return the JSON result of ``attnlens lab evaluate``.

    The scores are the log-loss in nats, the Brier score, the expected calibration error and the
    accuracy. ``paired_difference`` is the model's mean log-loss minus the baseline's mean log-loss.
    ``outside_training`` describes the matches whose kind does not occur in training.
    """
    bootstrap = Bootstrap(balls.match, draws=DRAWS, seed=SEED)
    losses = log_losses(balls.probabilities, balls.actual)
    gaps = {
        name: losses - log_losses(probabilities, balls.actual)
        for name, probabilities in baselines.probabilities.items()
    }

    def scores(probabilities: Floats) -> Json:
        return {
            "log_loss": Estimate.resampled(log_losses(probabilities, balls.actual), bootstrap),
            "brier": brier_scores(probabilities, balls.actual).mean(),
            "ece": calibration_error(probabilities, balls.actual),
            "accuracy": hits(probabilities, balls.actual).mean(),
        }

    predictor = held.predictor
    unlike = {match.match_id for match in held.matches if differences(match, predictor)}
    return {
        "balls": len(balls),
        "matches": int(balls.match.max()) + 1,
        "dates": dict(zip(("first", "last"), held.dates, strict=True)),
        "checkpoint": held.checkpoint,
        "in_sample": held.in_sample,
        "outside_training": {
            "matches": len(unlike),
            "balls": sum(len(side.arrays) for side in balls.innings if side.match_id in unlike),
            "kinds": kinds_unlike(held.matches, predictor),
        },
        "notes": held.notes,
        "model": scores(balls.probabilities),
        "baselines": {name: scores(table) for name, table in baselines.probabilities.items()},
        "left_out": baselines.left_out,
        "baselines_fitted_on": {"matches": baselines.fitted_on},
        "paired_difference": {
            name: {"log_loss": Estimate.resampled(gap, bootstrap)} for name, gap in gaps.items()
        },
        "by": _breakdowns(held, balls, losses, gaps, bootstrap),
        "reliability": _reliability(balls, bootstrap),
        "bootstrap": {"draws": DRAWS, "seed": SEED, "resampled": "matches"},
    }


def remarks(document: Json) -> list[str]:
    """Return cautions about the result of `evaluation`."""
    lines = list(document["notes"])
    outside = document["outside_training"]
    if outside["matches"]:
        kinds = ", ".join(f"{number} {kind}" for kind, number in outside["kinds"].items())
        lines.append(
            f"{outside['matches']} of {document['matches']} matches are of a kind that the "
            f"training matches do not include ({kinds})"
        )
    left_out = document["left_out"]
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name in left_out if left_out[name] == reason]
        lines.append(f"left out {', '.join(names)}: {reason}")
    if "prior" in document["baselines"] and not document["baselines_fitted_on"]["matches"]:
        lines.append("the prior comes from the checkpoint")
    return lines


def _breakdowns(
    held: HeldOut,
    balls: EvaluatedBalls,
    losses: Floats,
    gaps: Mapping[str, Floats],
    bootstrap: Bootstrap,
) -> Json:
    def subset(rows: Flags) -> Json:
        return {"balls": int(rows.sum()), "log_loss": Estimate.resampled(losses, bootstrap, rows)}

    def subsets(groups: Mapping[str, Flags]) -> Json:
        return {name: subset(rows) for name, rows in groups.items() if rows.any()}

    def outcome_figures(number: int) -> Json:
        rows = balls.actual == number
        return subset(rows) | {
            "predicted": balls.probabilities[:, number].mean(),
            "observed": Estimate.resampled(rows.astype(np.float64), bootstrap),
        }

    def by_name(name_of: Mapping[str, str], min_matches: int) -> Json:
        """Return the figures of each kind or competition. ``name_of`` has the name for a match id.

        A perfectly calibrated forecast has a calibration error (ECE) above ``ece_by_luck`` in 1 of
        20 cases. ``minus`` is the model's mean log-loss minus the baseline's mean log-loss.
        """
        names = balls.each([name_of[encoded.match_id] for encoded in balls.innings])
        figures = {}
        for name, matches in Counter(name_of.values()).most_common():
            rows = names == name
            if matches < min_matches or not name or not rows.any():
                continue
            own = Bootstrap(group_numbers(balls.match[rows].tolist()), draws=DRAWS, seed=SEED)
            probabilities = balls.probabilities[rows]
            figures[name] = {
                "balls": int(rows.sum()),
                "log_loss": Estimate.resampled(losses[rows], own),
                "matches": matches,
                "ece": calibration_error(probabilities, balls.actual[rows]),
                "ece_by_luck": calibration_error_by_luck(probabilities),
            }
            if gaps:
                minus = {other: Estimate.resampled(gap[rows], own) for other, gap in gaps.items()}
                figures[name]["minus"] = minus
        return figures

    number = balls.each([encoded.innings for encoded in balls.innings])
    phase = np.array(
        [
            phase_of(ball.legal_balls_before, quota_of(encoded.match, encoded.side))
            for encoded in balls.innings
            for ball in encoded.side.deliveries
        ]
    )
    kinds = {match.match_id: KINDS[table_of(match)] for match in held.matches}
    competitions = {match.match_id: competition_of(match) for match in held.matches}
    return {
        "phase": subsets({name: phase == index for index, name in enumerate(PHASES)}),
        "innings": subsets({str(n): number == n for n in np.unique(number)}),
        "outcome": {name: outcome_figures(index) for index, name in enumerate(OUTCOMES)},
        "kind": by_name(kinds, 1),
        "competition": by_name(competitions, MIN_MATCHES),
    }


def _reliability(balls: EvaluatedBalls, bootstrap: Bootstrap) -> dict[str, list[Json]]:
    confidence, right = balls.probabilities.max(1), hits(balls.probabilities, balls.actual)
    tables = {"likeliest": reliability(confidence, right, equal_bins(confidence), bootstrap)}
    for outcome in _CALIBRATED_OUTCOMES:
        number = OUTCOME_INDEX[outcome]
        predicted = balls.probabilities[:, number]
        bins = filled_bins(predicted, _OUTCOME_BINS)
        tables[outcome] = reliability(predicted, balls.actual == number, bins, bootstrap)
    return tables


def reliability(
    predicted: Floats, came_true: Flags | Floats, bins: Integers, bootstrap: Bootstrap
) -> list[Json]:
    """For each non-empty bin, return the mean prediction and the observed frequency.

    Args:
        predicted: the predicted probability in each row, with shape ``(rows,)``.
        came_true: for each row, whether the predicted event occurred, with shape ``(rows,)``.
        bins: the result of `equal_bins` or `filled_bins`: the bin number of each row.
    """
    observed = came_true.astype(np.float64)
    return [
        {
            "predicted": predicted[rows].mean(),
            "observed": Estimate.resampled(observed, bootstrap, rows),
            "balls": int(rows.sum()),
        }
        for rows in (bins == number for number in np.unique(bins))
    ]


def calibration_table(held: HeldOut, balls: EvaluatedBalls) -> Json:
    """Return the content of a calibration file: a calibration table for every outcome.

    `attnlens.cricket.predictor.calibration` describes the file. The bins of an outcome have similar
    numbers of balls. ``most`` is the highest probability in a bin. ``happened_ci`` is the 95%
    interval of the observed frequency, or ``null`` for a single match.
    """
    bootstrap = Bootstrap(balls.match, draws=DRAWS, seed=SEED)
    outcomes = {}
    for number, outcome in enumerate(OUTCOMES):
        predicted = balls.probabilities[:, number]
        bins = filled_bins(predicted, _TABLE_BINS)
        rows = reliability(predicted, balls.actual == number, bins, bootstrap)
        outcomes[outcome] = [
            {
                "most": predicted[bins == bin_number].max(),
                "predicted": row["predicted"],
                "happened": row["observed"].value,
                "happened_ci": row["observed"].ci,
                "balls": row["balls"],
            }
            for bin_number, row in zip(np.unique(bins), rows, strict=True)
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


_LOSSES: Final = (
    Figure("balls", "balls", ","),
    Figure("log-loss", "log_loss", ".4f", ci=True, missing="-", spare=1),
)
_OBSERVED: Final = Figure("observed", "observed", ".1%", ci=True)
_BY_NAME: Final = (
    Figure("matches", "matches", "d"),
    Figure("balls", "balls", ","),
    Figure("log-loss", "log_loss", ".4f"),
    Figure("ECE", "ece", ".3f"),
    Figure("luck", "ece_by_luck", ".3f"),
    Figure("minus trees", "minus.boosted_trees", "+.4f", ci=True),
)
_BREAKDOWNS: Final[Mapping[str, Sequence[Figure]]] = {
    "phase": _LOSSES,
    "innings": _LOSSES,
    "kind": _BY_NAME,
    "competition": _BY_NAME,
    "outcome": (*_LOSSES, Figure("predicted", "predicted", ".1%"), _OBSERVED),
}
_SCORES: Final = (
    Figure("log-loss", "log_loss", ".4f", ci=True),
    Figure("Brier", "brier", ".4f"),
    Figure("ECE", "ece", ".4f"),
    Figure("top-1", "accuracy", ".1%"),
)


@terminal_page(min_width=64)
def render_evaluation(page: Page, document: Json) -> None:
    """Write the result of `evaluation` to a terminal page."""
    checkpoint, by = document["checkpoint"], document["by"]
    until = checkpoint["trained_until"]
    trained = f"trained until {until}" if until else "training dates unknown"
    lines = [f"checkpoint {checkpoint['sha256'][:12]}, {trained}"]
    fitted_on = document["baselines_fitted_on"]["matches"]
    if fitted_on:
        last = checkpoint["weights_until"] or until
        lines.append(f"baselines fitted on {count(fitted_on, 'match', 'matches')} up to {last}")
    add_title(page, document, "{name} on {balls} of {matches}, {first} to {last}", *lines)
    scores = [("model", document["model"]), *document["baselines"].items()]
    scores.sort(key=lambda row: row[1]["log_loss"].required_value)
    titles = {name: name.replace("_", " ") for name, _ in scores}
    rows = [((titles[name], "name" if name == "model" else ""), row) for name, row in scores]
    add_figures(page, rows, _SCORES)
    gaps = document["paired_difference"]
    rows = [((titles[name], ""), gaps[name]) for name, _ in scores if name in gaps]
    add_figures(page, rows, [Figure("model minus baseline", "log_loss", "+.4f", ci=True)])
    for name, bins in document["reliability"].items():
        outcome = "the likeliest outcome" if name == "likeliest" else f"P({name})"
        add_calibration(page, f"calibration of {outcome}", bins)
    for title, figures in _BREAKDOWNS.items():
        add_figures(page, by[title].items(), figures, heading=f"by {title}")
    draws = document["bootstrap"]["draws"]
    page.paragraph(
        f"Log-loss is in nats per ball. The Brier score is summed over the outcomes. ECE is for "
        f"the likeliest outcome. 'Luck' is the ECE that 5% of perfectly calibrated forecasts "
        f"exceed. Brackets show 95% intervals from {draws} resamples of whole matches.",
        "quiet",
        indent=0,
    )


def add_calibration(page: Page, title: str, bins: Sequence[Json]) -> None:
    """Write a table of predicted and observed frequencies, with one row per bin."""
    rows = [(percent(row["predicted"], 1), row) for row in bins]
    figures = [_OBSERVED, Figure("balls", "balls", ",")]
    add_figures(page, rows, figures, heading=title, first=Column("predicted"))


_COMMON: Final = ("0", "1", "4", "6", "W", "wd")


def usual_evaluation(held: HeldOut, report: Report = silent) -> Json:
    """Return the JSON result of ``attnlens lab evaluate --usual``.

    ``log_loss`` has three values in nats. ``usual`` is the log-loss of the usual probabilities.
    ``scoreboard`` is the log-loss of forecasts that use the scoreboard but ignore the competition.
    ``difference`` is ``usual`` minus ``scoreboard``. ``by_competition`` has four percentages for
    every common outcome: the mean usual probability, the observed frequency, the usual probability
    minus the observed frequency, and the mean probability from the scoreboard.
    """
    innings = list(held.innings(report))
    usual, scoreboard = (
        np.exp(np.concatenate([getattr(encoded.arrays, name) for encoded in innings], dtype=float))
        for name in ("usual", "base")
    )
    balls = EvaluatedBalls(innings, usual)
    actual, match = balls.actual, balls.match
    competition = balls.each([competition_of(encoded.match) for encoded in innings])
    losses, plain = log_losses(usual, actual), log_losses(scoreboard, actual)
    bootstrap = Bootstrap(match, draws=DRAWS, seed=SEED)

    def outcomes(rows: Flags) -> Json:
        own = Bootstrap(group_numbers(match[rows].tolist()), draws=DRAWS, seed=SEED)

        def figures(number: int) -> Json:
            came: Floats = (actual[rows] == number).astype(float)
            expected = 100 * usual[rows, number]
            return {
                "usual": expected.mean(),
                "came": 100 * came.mean(),
                "difference": Estimate.resampled(expected - 100 * came, own),
                "scoreboard": 100 * scoreboard[rows, number].mean(),
            }

        return {name: figures(OUTCOME_INDEX[name]) for name in _COMMON}

    matches = Counter(competition_of(encoded) for encoded in held.matches)
    return {
        "balls": len(actual),
        "matches": int(match.max()) + 1,
        "dates": dict(zip(("first", "last"), held.dates, strict=True)),
        "checkpoint": held.checkpoint,
        "notes": held.notes,
        "log_loss": {
            "usual": Estimate.resampled(losses, bootstrap),
            "scoreboard": Estimate.resampled(plain, bootstrap),
            "difference": Estimate.resampled(losses - plain, bootstrap),
        },
        "all": outcomes(np.ones(len(actual), bool)),
        "by_competition": {
            name: {"matches": number, "outcomes": outcomes(competition == name)}
            for name, number in matches.most_common()
            if name and number >= MIN_MATCHES
        },
    }


@terminal_page(min_width=64)
def render_usual(page: Page, document: Json) -> None:
    """Write the result of `usual_evaluation` to a terminal page."""
    title = "usual probabilities of {name}, on {balls} of {matches}, {first} to {last}"
    add_title(page, document, title)
    losses = document["log_loss"]
    rows = [
        [words, *losses[name].cells(form)]
        for words, name, form in (
            ("usual", "usual", ".4f"),
            ("scoreboard alone", "scoreboard", ".4f"),
            ("difference", "difference", "+.4f"),
        )
    ]
    add_section(page, "", (NAME, Close("log-loss"), Close()), rows)
    everyone = {"all": {"matches": document["matches"], "outcomes": document["all"]}}
    groups = everyone | document["by_competition"]
    for heading, name, form in (
        ("usual, %", "usual", ".1f"),
        ("observed, %", "came", ".1f"),
        ("usual minus observed, points", "difference", "+.2f"),
    ):
        figures = [Figure(outcome, f"outcomes.{outcome}.{name}", form) for outcome in _COMMON]
        figures.insert(0, Figure("matches", "matches", "d"))
        add_figures(page, groups.items(), figures, heading=heading)
    page.paragraph(
        f"Log-loss is in nats per ball. Brackets show 95% intervals from {DRAWS} resamples of "
        "whole matches. The JSON has the intervals of all differences.",
        "quiet",
        indent=0,
    )
