"""Measure how well the predicted and the usual probabilities fit held-out matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from attnlens.cricket.lab.figures import NAME, Close, Estimate, add_section, add_title
from attnlens.cricket.lab.held_out import HeldOut
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
from attnlens.render.canvas import Cell, Column, Page, add_table, terminal_page
from attnlens.render.numbers import interval, percent, rounded_all

InningsSize = tuple[str, int, int]
"""An evaluated innings: its match, its number in the match, and its number of balls."""

_INNINGS_PER_BATCH: Final = 16
DRAWS, SEED = 1000, 5
"""The number of resamples for the intervals, and the random seed."""

_CALIBRATED_OUTCOMES: Final = ("4", "6", "W")
"""The outcomes that have their own calibration table."""

_OUTCOME_BINS: Final = 10
MIN_MATCHES: Final = 20
"""A competition with fewer matches than this number is left out of the table."""

_TABLE_BINS: Final = 16
"""The number of bins per outcome. Each bin has about 2,000 balls of the development test."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedBalls:
    """All evaluated balls, in order of innings.

    Attributes:
        probabilities: the model's probabilities ``(balls, 11)``.
        actual: the class number of the actual outcome ``(balls,)``.
        phase: the index of the phase in `PHASES` ``(balls,)``.
        match, number: the match, and the number of the innings in the match ``(balls,)``.
    """

    innings: tuple[InningsSize, ...]
    probabilities: Floats
    actual: Integers
    match: Integers
    phase: Integers
    number: Integers

    def __len__(self) -> int:
        return len(self.actual)


def judge(held: HeldOut, report: Report = silent) -> EvaluatedBalls:
    """Forecast every ball of the matches, with the ratings as of their dates."""
    innings = list(held.innings(report))
    tables: list[Floats] = []
    for start in range(0, len(innings), _INNINGS_PER_BATCH):
        arrays = [encoded.arrays for encoded in innings[start : start + _INNINGS_PER_BATCH]]
        with one_thread(), torch.no_grad():
            forecasts = held.predictor.model(training_batch(arrays)[0]).double().softmax(-1).numpy()
        tables += [table[: len(one)] for table, one in zip(forecasts, arrays, strict=True)]
    sizes = tuple((encoded.match_id, encoded.innings, len(encoded.arrays)) for encoded in innings)
    match_ids, numbers, counts = zip(*sizes, strict=True)
    phases = [
        phase_of(ball.legal_balls_before, quota_of(encoded.match, encoded.side))
        for encoded in innings
        for ball in encoded.side.deliveries
    ]
    return EvaluatedBalls(
        sizes,
        np.concatenate(tables),
        np.concatenate([encoded.arrays.outcome for encoded in innings]),
        np.repeat(group_numbers(match_ids), counts),
        np.array(phases),
        np.repeat(numbers, counts),
    )


@dataclass(frozen=True, slots=True, eq=False)
class BaselineForecasts:
    """The probabilities of each baseline for the evaluated balls.

    Attributes:
        probabilities: for each baseline, ``(balls, 11)``, in the order of `EvaluatedBalls`.
        left_out: the reason for each baseline that could not be fitted, by baseline.
        fitted_on: the number of matches on which the baselines were fitted.
    """

    probabilities: dict[str, Floats]
    left_out: dict[str, str]
    fitted_on: int


def evaluation(held: HeldOut, balls: EvaluatedBalls, baselines: BaselineForecasts) -> Json:
    """Return the JSON result of ``attnlens lab evaluate``.

    The predictor and the baselines are scored on the same balls. The scores are the log-loss in
    nats, the Brier score, the expected calibration error, and the share of balls on which the most
    likely outcome occurred. ``paired_difference`` is the model's log-loss minus each baseline's,
    ball by ball. ``outside_training`` describes the matches that differ in kind from the training
    matches.
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
            "balls": sum(size for match_id, _, size in balls.innings if match_id in unlike),
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
    """Return notes that qualify the figures."""
    lines = list(document["notes"])
    outside = document["outside_training"]
    if outside["matches"]:
        kinds = ", ".join(f"{number} {kind}" for kind, number in outside["kinds"].items())
        lines.append(
            f"{outside['matches']} of {document['matches']} matches differ in kind from the "
            f"training matches ({kinds})"
        )
    left_out = document["left_out"]
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name in left_out if left_out[name] == reason]
        lines.append(f"left out {', '.join(names)}: {reason}")
    if "prior" in document["baselines"] and not document["baselines_fitted_on"]["matches"]:
        lines.append("the prior is the checkpoint's own")
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
        """Return the figures of the matches with the same name, most frequent name first.

        Names with too few matches are left out. ``ece_by_luck``: the ECE of a perfectly calibrated
        forecast is below this value in 19 of 20 cases. ``minus`` is the model's log-loss minus each
        baseline's, ball by ball.
        """
        names = np.repeat(
            [name_of[match_id] for match_id, _, _ in balls.innings],
            [size for _, _, size in balls.innings],
        )
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

    kinds = {match.match_id: KINDS[table_of(match)] for match in held.matches}
    competitions = {match.match_id: competition_of(match) for match in held.matches}
    return {
        "phase": subsets({name: balls.phase == number for number, name in enumerate(PHASES)}),
        "innings": subsets({str(n): balls.number == n for n in np.unique(balls.number)}),
        "outcome": {name: outcome_figures(number) for number, name in enumerate(OUTCOMES)},
        "kind": by_name(kinds, 1),
        "competition": by_name(competitions, MIN_MATCHES),
    }


def _reliability(balls: EvaluatedBalls, bootstrap: Bootstrap) -> dict[str, list[Json]]:
    """Return the calibration tables for the likeliest outcome and for `_CALIBRATED_OUTCOMES`.

    The bins for the likeliest outcome have equal widths; the other bins have similar numbers of
    balls.
    """
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
    """Return the predicted and the observed share of each bin; empty bins are left out.

    Args:
        predicted: the probability of each row ``(rows,)``.
        came_true: whether the event occurred in each row.
        bins: the bin of each row, from `equal_bins` or `filled_bins`.
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
    """Return the calibration table of every outcome, as the content of a calibration file.

    The file is described in `attnlens.cricket.predictor.calibration`. The bins of an outcome have
    similar numbers of balls. ``most`` is the highest probability in a bin. ``happened_ci`` is the
    95% interval over resampled matches, or ``null`` if the balls are from one match.
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


_LOSS_COLUMNS: Final = (NAME, Close("balls"), Close("log-loss"), Close(spare=1))
_COMPARED_COLUMNS: Final = (NAME, *map(Close, ("log-loss", "", "Brier", "ECE", "top-1")))
_DIFFERENCE_COLUMNS: Final = (NAME, Close("model minus it"), Close())
_KIND_COLUMNS: Final = (
    NAME,
    *map(Close, ("matches", "balls", "log-loss", "ECE", "luck", "minus trees", "")),
)
_OUTCOME_COLUMNS: Final = (*_LOSS_COLUMNS, Close("predicted"), Close("observed"), Close())


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
    _compared(page, document)
    for name, bins in document["reliability"].items():
        outcome = "the likeliest outcome" if name == "likeliest" else f"P({name})"
        add_calibration(page, f"calibration of {outcome}", bins)
    for title, columns, cells in _BREAKDOWNS:
        if by[title]:
            rows = [[name, *cells(part)] for name, part in by[title].items()]
            add_section(page, f"by {title}", columns, rows)
    draws = document["bootstrap"]["draws"]
    page.paragraph(
        f"Log-loss in nats; Brier score summed over the outcomes; ECE of the likeliest outcome. "
        f"Luck: the ECE of a perfect forecast is below this in 19 of 20 cases. Brackets hold 95% "
        f"of {draws} resamples of whole matches.",
        "quiet",
        indent=0,
    )


def _compared(page: Page, document: Json) -> None:
    everyone = [("model", document["model"]), *document["baselines"].items()]
    everyone.sort(key=lambda row: row[1]["log_loss"].required_value)
    rows: list[list[Cell]] = []
    differences: list[list[Cell]] = []
    for name, scores in everyone:
        title = name.replace("_", " ")
        rows.append(
            [
                (title, "name" if name == "model" else ""),
                *scores["log_loss"].cells(4),
                f"{scores['brier']:.4f}",
                f"{scores['ece']:.4f}",
                percent(scores["accuracy"], 1),
            ]
        )
        if name in document["paired_difference"]:
            gap = document["paired_difference"][name]["log_loss"]
            differences.append([title, *gap.cells(4, sign="+")])
    add_table(page, _COMPARED_COLUMNS, rows)
    page.blank()
    add_table(page, _DIFFERENCE_COLUMNS, differences)
    page.blank()


def add_calibration(page: Page, title: str, bins: Sequence[Json]) -> None:
    """Write a table of predicted and observed shares, with one row per bin."""
    rows = [[percent(row["predicted"], 1), *_observed(row), f"{row['balls']:,}"] for row in bins]
    columns = [Column("predicted"), Close("observed"), Close(), Close("balls")]
    add_section(page, title, columns, rows)


def _observed(part: Json) -> tuple[str, str]:
    observed = part["observed"]
    return percent(observed.required_value, 1), interval(observed.ci, 1, scale=100)


def _kind_cells(kind: Json) -> list[Cell]:
    gap = kind.get("minus", {}).get("boosted_trees")
    return [
        str(kind["matches"]),
        f"{kind['balls']:,}",
        kind["log_loss"].cells(4)[0],
        f"{kind['ece']:.3f}",
        f"{kind['ece_by_luck']:.3f}",
        *(gap.cells(4, sign="+") if gap else ("", "")),
    ]


def _losses(part: Json) -> tuple[str, str, str]:
    return f"{part['balls']:,}", *part["log_loss"].cells(4, missing="-")


def _outcome_cells(part: Json) -> list[Cell]:
    return [*_losses(part), percent(part["predicted"], 1), *_observed(part)]


_BREAKDOWNS: Final = (
    ("phase", _LOSS_COLUMNS, _losses),
    ("innings", _LOSS_COLUMNS, _losses),
    ("kind", _KIND_COLUMNS, _kind_cells),
    ("competition", _KIND_COLUMNS, _kind_cells),
    ("outcome", _OUTCOME_COLUMNS, _outcome_cells),
)
"""The tables of breakdowns: the name, the columns, and a function that returns a row's cells."""


_COMMON: Final = ("0", "1", "4", "6", "W", "wd")
"""The outcomes that occur often enough in every competition."""


def usual_evaluation(held: HeldOut, report: Report = silent) -> Json:
    """Return the JSON result of ``attnlens lab evaluate --usual``.

    ``log_loss`` has three values in nats: ``usual`` for the usual probabilities, ``scoreboard`` for
    the scoreboard alone without the competition, and ``difference`` for the first minus the second,
    ball by ball. ``by_competition`` has, for every common outcome, its mean usual probability, its
    observed frequency, and the difference, in percent.
    """
    innings = list(held.innings(report))
    counts = [len(encoded.arrays) for encoded in innings]
    actual = np.concatenate([encoded.arrays.outcome for encoded in innings])
    usual, scoreboard = (
        np.exp(np.concatenate([getattr(encoded.arrays, name) for encoded in innings], dtype=float))
        for name in ("usual", "base")
    )
    match = np.repeat(group_numbers([encoded.match_id for encoded in innings]), counts)
    competition = np.repeat([competition_of(encoded.match) for encoded in innings], counts)
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
    title = "what is usual, by {name}, on {balls} of {matches}, {first} to {last}"
    add_title(page, document, title)
    losses = document["log_loss"]
    rows = [
        [words, *losses[name].cells(4, sign=sign)]
        for words, name, sign in (
            ("usual", "usual", ""),
            ("scoreboard alone", "scoreboard", ""),
            ("difference", "difference", "+"),
        )
    ]
    add_table(page, (NAME, Close("log-loss"), Close()), rows)
    page.blank()
    everyone = {"all": {"matches": document["matches"], "outcomes": document["all"]}}
    groups = everyone | document["by_competition"]
    heads = [NAME, Close("matches"), *map(Close, _COMMON)]

    for heading, style in (
        ("usual, %", "{usual:.1f}"),
        ("observed, %", "{came:.1f}"),
        ("usual minus observed, points", "{difference.value:+.2f}"),
    ):
        rows = [
            [name, str(group["matches"])]
            + [style.format(**group["outcomes"][outcome]) for outcome in _COMMON]
            for name, group in groups.items()
        ]
        add_section(page, heading, heads, rows)
    page.paragraph(
        f"Log-loss in nats a ball. Brackets hold 95% of {DRAWS} resamples of whole matches; those "
        "of each difference are in the JSON.",
        "quiet",
        indent=0,
    )
