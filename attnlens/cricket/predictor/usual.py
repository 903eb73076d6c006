"""What a past ball does from where it stands: how far back, by the same bowler, to the same batter.

A later ball moves a forecast more than an earlier one, and a batter's own balls more than others',
whatever happened on them. So what hiding a ball does is told beside what hiding a ball in its place
does usually (`FullModel.usual_effects`), found on balls that the weights were not trained on.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from attnlens.arrays import Flags, Integers

DISTANCES: Final = (1, 2, 3, 4, 6, 9, 12, 18, 24, 30)
"""Least distances of the bands that are told apart; the ball before is 1 back."""

PLACES: Final = 4 * len(DISTANCES)
"""A band of distance, whether the batter is the same, whether the bowler is."""


def places(distance: Integers, same_batter: Flags, same_bowler: Flags) -> Integers:
    """The place of each past ball, from 0 to `PLACES` - 1, all of one shape."""
    band = np.searchsorted(DISTANCES, distance, side="right") - 1
    result: Integers = 4 * band + 2 * same_batter + same_bowler
    return result
