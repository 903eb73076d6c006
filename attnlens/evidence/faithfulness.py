"""Measures of how faithful an attribution is: removal metrics, correlations and controls.

The model is a function ``predict(masks)`` that returns probabilities ``(mask, class)``. A mask is
true where a part is visible. ``y`` is the log-odds of the class that is most likely when all parts
are visible.

Each removal metric is computed from log-odds and, in nats, from ``KL(full ‖ remaining parts)``. In
nats, effects of opposite sign do not cancel each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from attnlens.evidence.scores import divergence, log_odds
from attnlens.files import Flags, Floats, Integers

Predict = Callable[[Flags], Floats]

SIZES: Final[tuple[int, ...]] = (1, 2, 4, 8, 16)
"""The numbers of parts to remove (comprehensiveness) or to keep (sufficiency)."""

_CURVE_STEPS: Final = 20
CONTROLS: Final = 20
_MAX_DECOYS: Final = 3
SMALLEST: Final = 1e-12

CORRELATIONS: Final[tuple[str, ...]] = ("spearman", "partial_spearman")

_REMOVALS: Final = ("comprehensiveness", "sufficiency", "deletion_auc", "insertion_auc")

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
"""For each metric, whether a high value means a faithful attribution."""


def ranks(values: Floats) -> Floats:
    """Return ranks from 1 along the last axis. Ties get the mean of their ranks."""
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
    return float(np.clip(floats @ other / size, -1.0, 1.0)) if size > SMALLEST else 0.0


def spearman(scores: Floats, effects: Floats) -> float:
    """Return the rank correlation, or 0 if a vector is constant or has fewer than 2 entries."""
    if len(scores) < 2:
        return 0.0
    return _correlation(ranks(scores), ranks(effects))


def partial_spearman(scores: Floats, effects: Floats, floats: Floats) -> float:
    """Return the rank correlation of two vectors, controlling for other variables.

    The result is 0 if the other variables determine the ranks of either vector.

    Args:
        floats: the other variables, ``(n,)`` or ``(vectors, n)``; only their ranks are used.
    """
    if len(scores) < 2:
        return 0.0
    fixed = np.vstack([np.ones(len(scores)), ranks(floats)]).T
    ranked = np.stack([ranks(scores), ranks(effects)], 1)
    total = ((ranked - ranked.mean(0)) ** 2).sum(0)
    left = ranked - fixed @ np.linalg.lstsq(fixed, ranked, rcond=None)[0]
    if ((left**2).sum(0) <= SMALLEST * np.maximum(total, 1)).any():
        return 0.0
    return _correlation(left[:, 0], left[:, 1])


def auc(scores: Floats, positive: Flags) -> float | None:
    """Return the area under the ROC curve; ``None`` if all items have the same class.

    Reference:
        Mann & Whitney 1947; Hanley & McNeil 1982.
    """
    hits = int(positive.sum())
    misses = len(positive) - hits
    if not hits or not misses:
        return None
    above = float(ranks(scores)[positive].sum()) - hits * (hits + 1) / 2
    return above / (hits * misses)


def matched_auc(scores: Floats, positive: Flags, groups: Integers | None = None) -> float | None:
    """Return the mean `auc` of all comparisons of a positive item with nearby decoys.

    Decoys are the nearest negative items of the same group, at most `_MAX_DECOYS` on each side.
    Both sides have the same number of decoys, so a ranking by recency scores 0.5.

    Args:
        scores, positive: the items' scores and classes, both ``(n,)``.
        groups: the group number of each item, ``(n,)``; by default, one group.

    Returns:
        the mean `auc`; ``None`` if no positive item has decoys on both sides.
    """
    areas = []
    for at in np.flatnonzero(positive):
        fits = ~positive if groups is None else ~positive & (groups == groups[at])
        decoys = np.flatnonzero(fits)
        middle = int(np.searchsorted(decoys, at))
        count = min(middle, len(decoys) - middle, _MAX_DECOYS)
        rows = [at, *decoys[middle - count : middle + count]]
        areas.append(auc(scores[rows], positive[rows]))
    defined_areas = [area for area in areas if area is not None]
    return float(np.mean(defined_areas)) if defined_areas else None


def descending(scores: Floats, generator: np.random.Generator) -> Integers:
    """Return the positions by decreasing score, with ties in random order."""
    shuffled = generator.permutation(len(scores))
    order: Integers = shuffled[np.argsort(-np.asarray(scores)[shuffled], kind="stable")]
    return order


def masks_without_first(order: Integers, counts: Sequence[int] | Integers) -> Flags:
    """Return a mask for each count ``c`` that hides the first ``c`` items, ``(count, n)``."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    masks: Flags = rank >= np.asarray(counts, np.int64)[:, None]
    return masks


def curve_counts(parts: int) -> Integers:
    """Return the numbers of removed parts along a curve, from none to all."""
    counts: Integers = np.round(np.linspace(0, parts, min(parts, _CURVE_STEPS) + 1)).astype(
        np.int64
    )
    return counts


def area(values: Floats, counts: Integers) -> float:
    """Return the area under a curve. The x-axis ``counts`` is scaled to the range from 0 to 1."""
    if len(values) == 1:
        return float(values[0])
    return float(np.trapezoid(values, np.asarray(counts, float) / counts[-1]))


@dataclass(frozen=True, slots=True, eq=False)
class SingleRemovals:
    """The probabilities for one input: with all parts, with no parts, and without each part.

    ``full`` and ``nothing`` have the shape ``(class,)``; ``singles`` has the shape ``(n, class)``.
    """

    full: Floats
    nothing: Floats
    singles: Floats

    @property
    def outcome(self) -> int:
        """The explained class: the most likely class when all parts are visible."""
        return int(self.full.argmax())

    @property
    def effects(self) -> Floats:
        """``KL(full ‖ without the part)`` for each part in nats, ``(n,)``."""
        return divergence(self.full, self.singles)

    @property
    def drops(self) -> Floats:
        """The decrease of ``y`` caused by removing each part alone, ``(n,)``."""
        fall: Floats = log_odds(self.full, [self.outcome]) - log_odds(self.singles, [self.outcome])
        return fall


def remove_each(predict: Predict, parts: int) -> SingleRemovals:
    masks = np.concatenate(
        [np.ones((1, parts), bool), np.zeros((1, parts), bool), ~np.eye(parts, dtype=bool)]
    )
    probabilities = predict(masks)
    return SingleRemovals(probabilities[0], probabilities[1], probabilities[2:])


def removal_figures(
    predict: Predict, removed: SingleRemovals, orders: Sequence[Integers]
) -> list[dict[str, float]]:
    """Compute the metrics of `HIGH_IS_FAITHFUL` for each ordering of the parts.

    The first three metrics are means over the numbers k in `SIZES`.

    - Comprehensiveness: ``y(all) - y(without the first k)``.
    - Sufficiency: ``y(all) - y(only the first k)``.
    - Sign violations: the share of the first k parts whose removal increases ``y``.
    - Deletion: the area under the curve of ``y`` as parts are removed in order.
    - Insertion: the area under the curve of ``y`` as parts are added in order.

    Args:
        orders: the orderings: positions of parts, most important part first.

    Reference:
        DeYoung et al. 2020 (comprehensiveness, sufficiency); Petsiuk et al. 2018 (deletion and
        insertion); Liu et al. 2022 (sign violations).
    """
    parts = len(removed.singles)
    sizes = [min(size, parts) for size in SIZES]
    counts = curve_counts(parts)
    masks = []
    for order in orders:
        few, many = masks_without_first(order, sizes), masks_without_first(order, counts)
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
        row: dict[str, float] = {}
        for name, piece in zip(_REMOVALS, pieces[4 * number : 4 * number + 4], strict=True):
            odds, nats = log_odds(piece, explained), divergence(removed.full, piece)
            if name.endswith("auc"):
                row |= {name: area(odds, counts), f"{name}_kl": area(nats, counts)}
            else:
                row |= {name: float((level - odds).mean()), f"{name}_kl": float(nats.mean())}
        wrong = [float((drops[order[:size]] < 0).mean()) if size else 0.0 for size in sizes]
        figures.append(row | {"sign_violation_rate": float(np.mean(wrong))})
    return figures


def judge_scores(
    predict: Predict,
    removed: SingleRemovals,
    scores: Mapping[str, Floats],
    *,
    generator: np.random.Generator,
) -> tuple[dict[str, dict[str, float]], list[dict[str, float]]]:
    """Compute the removal metrics for each named method and for `CONTROLS` random orderings."""
    orders = [descending(score, generator) for score in scores.values()]
    orders += [generator.permutation(len(removed.singles)) for _ in range(CONTROLS)]
    figures = removal_figures(predict, removed, orders)
    return dict(zip(scores, figures, strict=False)), figures[len(scores) :]


def against_controls(value: float, controls: Floats, *, high: bool) -> tuple[float, float]:
    """Return the z-score and one-sided p-value of a metric against random attributions.

    z is positive if the attribution is more faithful than the mean control. z is 0 if all controls
    are equal. The p-value is ``(1 + #{control at least as faithful}) / (R + 1)``.

    Args:
        controls: the values of the metric for ``R`` random attributions, ``(R,)``.
        high: whether a high value means a faithful attribution.
    """
    sign = 1.0 if high else -1.0
    better = int((sign * controls >= sign * value).sum())
    spread = float(controls.std(ddof=1)) if len(controls) > 1 else 0.0
    gap = sign * (value - float(controls.mean()))
    z = gap / spread if spread > SMALLEST else 0.0
    return z, (1 + better) / (len(controls) + 1)
