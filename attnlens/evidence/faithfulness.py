"""Does an attribution say what mattered? Removal metrics with the controls they need.

Nothing here knows a model or a domain: an input is ``n`` parts, ``predict(masks)`` gives the
outcome probabilities ``(mask, class)`` with only the parts where a mask is true, and an
attribution is one score per part, the higher the more it claims the part mattered.

The explained scalar ``y`` is the log-odds of the class that is likeliest with every part.
Attention has no sign, and ``y`` has: parts that push it up and parts that push it down cancel.
So beside every figure in log-odds stands the same figure in nats, ``KL(full ‖ what is left)``,
which counts both.

Reference:
    DeYoung et al. 2020 (comprehensiveness, sufficiency), Petsiuk et al. 2018 (deletion and
    insertion), Liu et al. 2022 (sign violations), Chrysostomou & Aletras 2022 (random
    attributions as the yardstick), Neely et al. 2022 (why a rank correlation describes a
    model and is no verdict on a sentence).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from attnlens.arrays import Flags, Floats, Integers
from attnlens.evidence.scores import divergence, log_odds

Masks = Flags
Predict = Callable[[Masks], Floats]

SIZES: Final[tuple[int, ...]] = (1, 2, 4, 8, 16)
"""How many parts are removed or kept for comprehensiveness and sufficiency."""

_STEPS: Final = 20
"""Points of a deletion or insertion curve after its first; all ``n`` where there are fewer."""

CONTROLS: Final = 20
"""Random attributions per input."""

_SMALLEST: Final = 1e-12

CORRELATIONS: Final[tuple[str, ...]] = ("spearman", "partial_spearman")

HIGH_IS_FAITHFUL: Final[dict[str, bool]] = {
    "comprehensiveness": True,
    "comprehensiveness_kl": True,
    "sufficiency": False,
    "sufficiency_kl": False,
    "deletion_auc": False,
    "deletion_auc_kl": True,
    "insertion_auc": True,
    "insertion_auc_kl": False,
    "sign_violation_rate": False,
}
"""The figures of `removal_figures`, and whether a faithful attribution has a high one."""


def ranks(values: Floats) -> Floats:
    """Ranks from 1 along the last axis; equal values share their mean rank."""
    flat = np.asarray(values, dtype=float).reshape(-1, np.shape(values)[-1])
    ranked = np.empty_like(flat)
    for row, vector in enumerate(flat):
        _, inverse, counts = np.unique(vector, return_inverse=True, return_counts=True)
        last = np.cumsum(counts)
        ranked[row] = (last - (counts - 1) / 2)[inverse]
    return ranked.reshape(np.shape(values))


def _correlation(floats: Floats, other: Floats) -> float:
    floats, other = floats - floats.mean(), other - other.mean()
    size = float(np.sqrt((floats @ floats) * (other @ other)))
    return float(np.clip(floats @ other / size, -1.0, 1.0)) if size > _SMALLEST else 0.0


def spearman(scores: Floats, effects: Floats) -> float:
    """Rank correlation of two vectors; 0 where either is constant or has fewer than 2 entries.

    A constant says nothing about order, so it agrees with nothing.
    """
    if len(scores) < 2:
        return 0.0
    return _correlation(ranks(scores), ranks(effects))


def partial_spearman(scores: Floats, effects: Floats, floats: Floats) -> float:
    """Rank correlation of two vectors with others held fixed.

    The correlation of what the ranks of ``floats`` leave of both ranks, so any increasing
    function of it (distance or its logarithm) gives the same. With one vector held fixed that is
    ``(r_se - r_sg r_eg) / √((1 - r_sg²)(1 - r_eg²))`` over rank correlations. 0 where ``given``
    orders ``scores`` or ``effects`` completely: nothing is left to agree.

    Args:
        floats: what is held fixed, ``(n,)`` or ``(vectors, n)``.
    """
    if len(scores) < 2:
        return 0.0
    fixed = np.vstack([np.ones(len(scores)), ranks(floats)]).T
    ranked = np.stack([ranks(scores), ranks(effects)], 1)
    total = ((ranked - ranked.mean(0)) ** 2).sum(0)
    left = ranked - fixed @ np.linalg.lstsq(fixed, ranked, rcond=None)[0]
    if ((left**2).sum(0) <= _SMALLEST * np.maximum(total, 1)).any():
        return 0.0
    return _correlation(left[:, 0], left[:, 1])


def auc(scores: Floats, positive: Flags) -> float | None:
    """How often a positive scores above one that is not; equal scores count half.

    1 is perfect, 0.5 is chance.

    Args:
        scores: ``(n,)``, the higher the more.
        positive: which of them are, ``(n,)``.

    Returns:
        ``None`` where there are none of one kind.

    Reference:
        Mann & Whitney 1947; Hanley & McNeil 1982.
    """
    hits = int(positive.sum())
    misses = len(positive) - hits
    if not hits or not misses:
        return None
    above = float(ranks(scores)[positive].sum()) - hits * (hits + 1) / 2
    return above / (hits * misses)


def matched_auc(
    scores: Floats, positive: Flags, groups: Integers | None = None, *, nearest: int = 3
) -> float | None:
    """`auc` of each positive against decoys in its place: the mean over positives.

    Its decoys are the items nearest to it on either side that are not positive and are of its
    group, as many before it as after: by its place alone a positive cannot be told from them,
    and recency gets 0.5.

    Args:
        scores, positive: ``(n,)``, in the order in which items stand.
        groups: what decoys must share with a positive, as numbers ``(n,)``.
        nearest: decoys on each side at most.

    Returns:
        ``None`` where no positive has decoys on both sides.
    """
    areas = []
    for at in np.flatnonzero(positive):
        fits = ~positive if groups is None else ~positive & (groups == groups[at])
        decoys = np.flatnonzero(fits)
        middle = int(np.searchsorted(decoys, at))
        count = min(middle, len(decoys) - middle, nearest)
        rows = [at, *decoys[middle - count : middle + count]]
        areas.append(auc(scores[rows], positive[rows]))
    defined_areas = [area for area in areas if area is not None]
    return float(np.mean(defined_areas)) if defined_areas else None


def descending(scores: Floats, generator: np.random.Generator) -> Integers:
    """Positions from the highest score to the lowest; ties in random order."""
    shuffled = generator.permutation(len(scores))
    order: Integers = shuffled[np.argsort(-np.asarray(scores)[shuffled], kind="stable")]
    return order


def without_first(order: Integers, counts: Sequence[int] | Integers) -> Masks:
    """One mask per count, ``(count, n)``, with that many of the first of ``order`` removed."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    masks: Masks = rank >= np.asarray(counts, np.int64)[:, None]
    return masks


def curve_counts(parts: int, steps: int = _STEPS) -> Integers:
    """How many parts are gone at each point of a curve, from none to all."""
    counts: Integers = np.round(np.linspace(0, parts, min(parts, steps) + 1)).astype(np.int64)
    return counts


def area(values: Floats, counts: Integers) -> float:
    """The mean height of a curve over the share of parts, by trapezoids.

    ``counts`` runs from 0 to the number of parts. With no parts the curve is one point.
    """
    if len(values) == 1:
        return float(values[0])
    shares = np.asarray(counts, float) / counts[-1]
    return float(((values[1:] + values[:-1]) / 2 * np.diff(shares)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Removed:
    """One input, with everything and with each part removed alone.

    Attributes:
        full: probabilities with every part ``(class,)``.
        nothing: with no part ``(class,)``.
        singles: with each part removed alone ``(n, class)``.
    """

    full: Floats
    nothing: Floats
    singles: Floats

    @property
    def outcome(self) -> int:
        """The explained class: the likeliest with every part."""
        return int(self.full.argmax())

    @property
    def effects(self) -> Floats:
        """What removing each part costs, ``KL(full ‖ without it)`` in nats, ``(n,)``."""
        return divergence(self.full, self.singles)

    @property
    def drops(self) -> Floats:
        """How far each part lifts ``y``: its fall without the part, ``(n,)``."""
        fall: Floats = log_odds(self.full, [self.outcome]) - log_odds(self.singles, [self.outcome])
        return fall


def removed_alone(predict: Predict, parts: int) -> Removed:
    """Ask with everything, with nothing, and without each part."""
    masks = np.concatenate(
        [np.ones((1, parts), bool), np.zeros((1, parts), bool), ~np.eye(parts, dtype=bool)]
    )
    probabilities = predict(masks)
    return Removed(probabilities[0], probabilities[1], probabilities[2:])


def removal_figures(
    predict: Predict, removed: Removed, orders: Sequence[Integers], *, steps: int = _STEPS
) -> list[dict[str, float]]:
    """The figures of `HIGH_IS_FAITHFUL` for each ordering of the parts.

    - comprehensiveness: the mean over `SIZES` of ``y(all) - y(without the first k)``;
    - sufficiency: the mean over `SIZES` of ``y(all) - y(only the first k)``;
    - deletion: the area under ``y`` while the first parts are removed one after another;
      insertion: while they come back to nothing, first ones first;
    - sign violations: the share of the first k that hold ``y`` down, mean over `SIZES`.

    Sizes larger than the number of parts are that number.

    Args:
        orders: positions from the part that is claimed to matter most to the least.
    """
    parts = len(removed.singles)
    sizes = [min(size, parts) for size in SIZES]
    counts = curve_counts(parts, steps)
    masks = []
    for order in orders:
        few, many = without_first(order, sizes), without_first(order, counts)
        masks += [few, ~few, many, ~many]
    if not masks:
        return []
    probabilities = predict(np.concatenate(masks))
    ends = np.cumsum([len(mask) for mask in masks])[:-1]
    pieces = np.split(probabilities, ends)
    explained = [removed.outcome]
    level, drops = log_odds(removed.full, explained), removed.drops
    figures = []
    for number, order in enumerate(orders):
        without_top, only_top, deleted, inserted = (
            log_odds(piece, explained) for piece in pieces[4 * number : 4 * number + 4]
        )
        gone_kl, kept_kl, deleted_kl, inserted_kl = (
            divergence(removed.full, piece) for piece in pieces[4 * number : 4 * number + 4]
        )
        wrong = [float((drops[order[:size]] < 0).mean()) if size else 0.0 for size in sizes]
        figures.append(
            {
                "comprehensiveness": float((level - without_top).mean()),
                "comprehensiveness_kl": float(gone_kl.mean()),
                "sufficiency": float((level - only_top).mean()),
                "sufficiency_kl": float(kept_kl.mean()),
                "deletion_auc": area(deleted, counts),
                "deletion_auc_kl": area(deleted_kl, counts),
                "insertion_auc": area(inserted, counts),
                "insertion_auc_kl": area(inserted_kl, counts),
                "sign_violation_rate": float(np.mean(wrong)),
            }
        )
    return figures


def judge_scores(
    predict: Predict,
    removed: Removed,
    scores: Mapping[str, Floats],
    *,
    generator: np.random.Generator,
    controls: int = CONTROLS,
    steps: int = _STEPS,
) -> tuple[dict[str, dict[str, float]], list[dict[str, float]]]:
    """Removal figures of every method by name, and of each of as many random orderings."""
    orders = [descending(score, generator) for score in scores.values()]
    orders += [generator.permutation(len(removed.singles)) for _ in range(controls)]
    figures = removal_figures(predict, removed, orders, steps=steps)
    return dict(zip(scores, figures, strict=False)), figures[len(scores) :]


def against_controls(value: float, controls: Floats, *, high: bool) -> tuple[float, float]:
    """How far a figure is from random ones: z, signed so that positive is more faithful, and p.

    ``p = (1 + #{control at least as faithful}) / (R + 1)``, one-sided. z is 0 where the
    controls do not vary and the figure is theirs.

    Args:
        controls: the same figure of ``R`` random attributions ``(R,)``.
        high: whether a faithful attribution has a high figure.
    """
    sign = 1.0 if high else -1.0
    better = int((sign * controls >= sign * value).sum())
    spread = float(controls.std(ddof=1)) if len(controls) > 1 else 0.0
    gap = sign * (value - float(controls.mean()))
    z = gap / spread if spread > _SMALLEST else 0.0
    return z, (1 + better) / (len(controls) + 1)
