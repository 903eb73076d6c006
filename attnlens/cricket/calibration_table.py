"""Measuring how often calls came true, per outcome and level of probability."""

from __future__ import annotations

from typing import Any, Final

from attnlens.analysis.scores import Bootstrap, filled_bins, reliability
from attnlens.cricket.calibration import FORMAT, KIND
from attnlens.cricket.evaluate import DIGITS, JudgedBalls
from attnlens.cricket.held_out import HeldOut
from attnlens.cricket.outcomes import OUTCOMES

LEVELS: Final = 16
"""Bins per outcome: about 2,000 balls each on the development test."""


def calibration_table(
    held: HeldOut, balls: JudgedBalls, *, levels: int = LEVELS, draws: int = 1000, seed: int = 5
) -> dict[str, Any]:
    """For each outcome, balls with about the same probability and how often it happened.

    Bins are equally filled. ``most`` is the highest probability in a bin, ``happened_ci`` the
    95% interval over resampled matches, ``null`` where the balls come from one match.
    """
    bootstrap = Bootstrap(balls.match, draws=draws, seed=seed)
    first, last = held.dates
    outcomes = {}
    for number, outcome in enumerate(OUTCOMES):
        chance = balls.chances[:, number]
        place = filled_bins(chance, levels)
        bins = reliability(chance, balls.actual == number, place, bootstrap)
        tops = [float(chance[place == at].max()) for at in sorted(set(place.tolist()))]
        outcomes[outcome] = [
            {
                "most": round(top, DIGITS),
                "predicted": round(one.predicted, DIGITS),
                "happened": round(one.observed, DIGITS),
                "happened_ci": None
                if one.interval is None
                else [round(end, DIGITS) for end in one.interval],
                "balls": one.rows,
            }
            for top, one in zip(tops, bins, strict=True)
        ]
    return {
        "kind": KIND,
        "format": FORMAT,
        "checkpoint": {"name": held.predictor.name, "sha256": held.predictor.sha256},
        "matches": int(balls.match.max()) + 1,
        "balls": len(balls),
        "dates": {"first": first, "last": last},
        "in_sample": held.in_sample,
        "outcomes": outcomes,
    }
