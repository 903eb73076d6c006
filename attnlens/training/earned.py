"""Which names the heads have earned, from what they do on many balls.

A head earns the name of a relation when, over a sample of balls, it pays that relation more
than uniform attention would, by a margin that a bootstrap over matches does not undo, *and*
hiding the balls it lists does more to the prediction than hiding others like them. A head
that looks but does not matter stays ``unspecialised``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.evidence import gather_evidence
from attnlens.cricket.match import Innings, Match
from attnlens.cricket.reading import read_ball
from attnlens.cricket.tensors import InningsArrays
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import cut_window
from attnlens.explanation.heatmap import SHARES, ScaleAttention
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]

LEAST_LIFT: Final = 1.25
LEAST_BALLS: Final = 50
RESAMPLES: Final = 1000
NEAR: Final = {"micro": 2, "short": 4, "medium": 6, "long": 6}
"""A head that favours this many nearest balls is a recency head."""

UNSPECIALISED: Final = "unspecialised"


def earned_names(
    predictor: TrainedPredictor,
    innings: Sequence[tuple[Match, Innings, InningsArrays]],
    *,
    balls: int,
    seed: int,
    report: Callable[[str], None] | None = None,
) -> dict[str, list[str]]:
    """The name of every head by scale, from ``balls`` balls with at least 36 before them."""
    generator = np.random.default_rng(seed)
    long_enough = [one for one in innings if len(one[2]) > SCALES["medium"]]
    focus: dict[tuple[str, int, str], list[tuple[str, float, float]]] = defaultdict(list)
    margins: dict[tuple[str, int], list[tuple[str, float]]] = defaultdict(list)
    for number in range(balls if long_enough else 0):
        match, side, arrays = long_enough[int(generator.integers(len(long_enough)))]
        index = int(generator.integers(SCALES["medium"], len(arrays))) + 1
        window = cut_window(match, side, arrays, index)
        reading = read_ball(predictor, window)
        for scale, attention in reading.scales.items():
            for head, relation, share, uniform in relation_shares(attention):
                focus[scale, head, relation].append((match.match_id, share, uniform))
        evidence = gather_evidence(predictor, window, reading.scales)
        for tested in evidence.tested:
            claim = tested.claim
            if claim.scale is not None and claim.head is not None and len(tested.controls):
                head = int(claim.head.split("_")[1])
                margin = tested.effect - float(tested.controls.mean())
                margins[claim.scale, head].append((match.match_id, margin))
        if report and number % 20 == 19:
            report(f"head names: ball {number + 1} of {balls}")
    heads = predictor.model.sizes.heads
    return {
        scale: [
            _name(scale, head, focus, margins, np.random.default_rng(seed))
            for head in range(heads[scale])
        ]
        for scale in SCALES
    }


def relation_shares(attention: ScaleAttention) -> list[tuple[int, str, float, float]]:
    """Per head and relation: the share of past attention, and what uniform attention gives."""
    if not attention.balls:
        return []
    near = {ball.index for ball in attention.balls[-NEAR[attention.scale] :]}
    found = []
    for head, row in enumerate(attention.rows):
        total = sum(row)
        if total <= 0:
            continue
        for relation in (*SHARES, "recency"):
            places = [
                place
                for place, ball in enumerate(attention.balls)
                if (ball.index in near if relation == "recency" else relation in ball.relations)
            ]
            share = sum(row[place] for place in places) / total
            found.append((head, relation, share, len(places) / len(attention.balls)))
    return found


def _name(
    scale: str,
    head: int,
    focus: dict[tuple[str, int, str], list[tuple[str, float, float]]],
    margins: dict[tuple[str, int], list[tuple[str, float]]],
    generator: np.random.Generator,
) -> str:
    tests = margins.get((scale, head), [])
    if len(tests) < LEAST_BALLS or lower_bound(tests, generator) <= 0:
        return UNSPECIALISED
    lifts = {}
    for relation in (*SHARES, "recency"):
        rows = focus.get((scale, head, relation), [])
        uniform = float(np.mean([row[2] for row in rows])) if rows else 0.0
        if len(rows) < LEAST_BALLS or not uniform:
            continue
        low = lower_bound([(row[0], row[1] - LEAST_LIFT * row[2]) for row in rows], generator)
        if low > 0:
            lifts[relation] = float(np.mean([row[1] for row in rows])) / uniform
    return max(lifts, key=lambda relation: lifts[relation]) if lifts else UNSPECIALISED


def lower_bound(values: Sequence[tuple[str, float]], generator: np.random.Generator) -> float:
    """The 2.5th percentile of the mean, resampling whole matches."""
    sums: dict[str, list[float]] = defaultdict(list)
    for match, value in values:
        sums[match].append(value)
    totals = np.array([sum(group) for group in sums.values()])
    counts = np.array([len(group) for group in sums.values()])
    picks = generator.integers(len(totals), size=(RESAMPLES, len(totals)))
    means: Floats = totals[picks].sum(1) / counts[picks].sum(1)
    return float(np.percentile(means, 2.5))
