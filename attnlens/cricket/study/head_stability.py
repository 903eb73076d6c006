"""Do heads do the same in other checkpoints, and do explanations say the same?

A head's role is its *profile*: by how much it pays each relation more than uniform attention
would. Heads of two checkpoints are compared by number, and by the one-to-one matching of
their profiles that fits best, since training may give two heads each other's role.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attnlens.analysis.heads import best_matching, correlation
from attnlens.arrays import Floats
from attnlens.cricket.explain.evidence import contributions_of
from attnlens.cricket.model.heads import head_key
from attnlens.cricket.model.relation_attention import STARTING_PATTERNS
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import cut_window
from attnlens.cricket.study.figures import told
from attnlens.cricket.study.head_report import HeadReport
from attnlens.cricket.study.held_out import Checkpoint, EncodedInnings
from attnlens.cricket.study.sampling import sample_balls
from attnlens.errors import InputError

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class HeadRole:
    """Whether a head has the same role in other checkpoints.

    Attributes:
        names: earned here, and by the head of that number in each other; ``None`` for none.
        correlations: of its profile with the same head's.
        best_match: the head that the best matching gives it in each other.
    """

    head: str
    names: list[str | None]
    same_name: bool
    correlations: list[float | None]
    best_match: list[int | None]
    best_match_correlations: list[float | None]
    best_match_same_name: bool


@dataclass(frozen=True, slots=True)
class ScaleRoles:
    """The heads of a scale, and how many names agree, by number and by matching."""

    scale: str
    heads: list[HeadRole]
    same_names: int
    same_names_matched: int


@dataclass(frozen=True, slots=True)
class Alike:
    """How alike contributions are: their correlation, and their distance in points."""

    correlation: float | None
    mean_absolute_points: float | None


@dataclass(frozen=True, slots=True)
class GroupAlike(Alike):
    """The same of one group."""

    group: str


@dataclass(frozen=True, slots=True)
class PairAlike(Alike):
    """The same of one other checkpoint, over balls, groups and outcomes, and by group."""

    checkpoint: str
    by_group: list[GroupAlike]


@dataclass(frozen=True, slots=True)
class Contributions:
    """Other checkpoints' contributions to some balls, each beside the first's."""

    balls: int
    pairs: list[PairAlike]


@dataclass(frozen=True, slots=True)
class Beside:
    """A predictor's heads and contributions beside those of other checkpoints."""

    checkpoints: list[Checkpoint]
    scales: list[ScaleRoles]
    contributions: Contributions


@dataclass(frozen=True, slots=True)
class HeadsDocument:
    """The document of ``attnlens heads``; ``beside`` where other checkpoints were given."""

    model: Checkpoint
    dates: tuple[str | None, str | None]
    notes: tuple[str, ...]
    seed: int
    report: HeadReport
    beside: Beside | None

    MERGED: ClassVar[tuple[str, ...]] = ("report",)
    OPTIONAL: ClassVar[tuple[str, ...]] = ("beside",)


def beside(
    predictors: Sequence[TrainedPredictor],
    innings: Sequence[Sequence[EncodedInnings]],
    reports: Sequence[HeadReport],
    *,
    balls: int,
    seed: int,
    report: Report = lambda _: None,
) -> Beside:
    """The first of some predictors beside the others.

    Args:
        innings: the same innings for every predictor, each encoded with its own ratings.
        reports: on the heads of each.
        balls: how many to sample for the contributions.
    """
    alike = contributions_alike(predictors, innings, balls=balls, seed=seed, report=report)
    names = [
        {scale.scale: [head.earned for head in scale.heads] for scale in one.scales}
        for one in reports
    ]
    found = roles([profiles(one) for one in reports], names)
    return Beside([Checkpoint.of(one) for one in predictors[1:]], found, alike)


def profiles(report: HeadReport) -> dict[str, Floats]:
    """Share above uniform by scale, ``(head, relation)``."""

    def above(share: float | None, uniform: float | None) -> float:
        return np.nan if share is None or uniform is None else share - uniform

    return {
        scale.scale: np.array(
            [[above(row.share.value, row.uniform) for row in head.relations]
             for head in scale.heads]
        )
        for scale in report.scales
    }  # fmt: skip


def roles(
    tables: Sequence[Mapping[str, Floats]], names: Sequence[Mapping[str, Sequence[str]]]
) -> list[ScaleRoles]:
    """How far each head of the first checkpoint has the same role in the others.

    Args:
        tables: the `profiles` of each.
        names: the names that its heads have earned, by scale.
    """
    return [_scale_roles(scale, tables, names) for scale in tables[0]]


def _scale_roles(
    scale: str, tables: Sequence[Mapping[str, Floats]], names: Sequence[Mapping[str, Sequence[str]]]
) -> ScaleRoles:
    likeness = [_likeness(tables[0][scale], other[scale]) for other in tables[1:]]
    matched = [best_matching(one) for one in likeness]
    theirs = [given[scale] for given in names[1:]]
    heads = []
    for number, own in enumerate(names[0][scale]):
        pattern = STARTING_PATTERNS[number] if number < len(STARTING_PATTERNS) else None
        same = [one[number] if number < len(one) else None for one in theirs]
        best = [
            match[number] if match[number] < len(one) else None
            for match, one in zip(matched, theirs, strict=True)
        ]
        found = list(zip(best, likeness, theirs, strict=True))
        heads.append(
            HeadRole(
                head=head_key(number, pattern),
                names=[own, *same],
                same_name=all(name == own for name in same),
                correlations=[told(one[number, number]) for one in likeness],
                best_match=best,
                best_match_correlations=[
                    None if place is None else told(one[number, place]) for place, one, _ in found
                ],
                best_match_same_name=all(
                    place is not None and given[place] == own for place, _, given in found
                ),
            )
        )
    return ScaleRoles(
        scale,
        heads,
        same_names=sum(head.same_name for head in heads),
        same_names_matched=sum(head.best_match_same_name for head in heads),
    )


def _likeness(first: Floats, second: Floats) -> Floats:
    """Correlations of profiles, square; NaN where one checkpoint has no such head."""
    size = max(len(first), len(second))
    table = np.full((size, size), np.nan)
    for row, one in enumerate(first):
        for column, other in enumerate(second):
            table[row, column] = correlation(one, other)
    return table


def contributions_alike(
    predictors: Sequence[TrainedPredictor],
    innings: Sequence[Sequence[EncodedInnings]],
    *,
    balls: int,
    seed: int,
    report: Report = lambda _: None,
) -> Contributions:
    """How alike the contributions to the same balls are between checkpoints.

    Exact Shapley values of the explanation's groups, in percentage points; each of the
    other checkpoints against the first.

    Args:
        innings: the same innings for every predictor, each encoded with its own ratings.
    """
    tables: list[Floats] = []
    groups: tuple[str, ...] = ()
    for predictor, encoded in zip(predictors, innings, strict=True):
        parts = []
        for one, places in sample_balls(encoded, balls, seed):
            for place in places:
                window = cut_window(one.match, one.side, one.arrays, place + 1)
                shared = contributions_of(predictor, window)
                groups, table = shared.groups, shared.table
                parts.append(100 * table)
            report(f"contributions under {predictor.name}: {len(parts)} balls")
        tables.append(np.stack(parts))
    first = tables[0]
    return Contributions(
        len(first),
        [
            PairAlike(
                *_alike(first, other),
                checkpoint=predictor.name,
                by_group=[
                    GroupAlike(*_alike(first[:, place], other[:, place]), group=group)
                    for place, group in enumerate(groups)
                ],
            )
            for predictor, other in zip(predictors[1:], tables[1:], strict=True)
        ],
    )


def _alike(first: Floats, second: Floats) -> tuple[float | None, float | None]:
    """The fields of `Alike`."""
    away = float(np.abs(first - second).mean())
    return told(correlation(first.ravel(), second.ravel())), told(away)


def same_innings(
    first: Sequence[EncodedInnings], other: Sequence[EncodedInnings], name: str
) -> None:
    """Whether two checkpoints are judged on the same innings.

    Raises:
        InputError: they are not.
    """
    keys = [[(one.match_id, one.innings) for one in innings] for innings in (first, other)]
    if keys[0] != keys[1]:
        raise InputError(
            "was trained up to another date, so other matches are held out from it",
            path=name,
            remedy="compare checkpoints of one training split, or give --from a day after both",
        )
