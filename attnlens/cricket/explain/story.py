"""What a ball's story is about: the outcome that is furthest from what is usual there."""

from __future__ import annotations

from typing import Final

import numpy as np

from attnlens.arrays import Floats
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES, Outcome
from attnlens.cricket.model.window import BallWindow

ALL: Final = "all"
"""Asks for evidence about the whole distribution."""

TALKED_OF: Final = frozenset({"0", "1", "4", "6", "W"})
"""Outcomes that people talk of."""

FELT, FELT_ELSE = 0.015, 0.05
"""How far from usual these, and the others, must be."""


def usual_at(window: BallWindow) -> Floats:
    """What such a scoreboard brings in such cricket, whoever plays, ``(11,)``.

    The small scoreboard model says it: over, wickets, score, target and kind of cricket are known
    to it, players and past balls are not.
    """
    logs = window.arrays.base[window.delivery.index - 1].astype(float)
    chances: Floats = np.exp(logs - np.logaddexp.reduce(logs))
    return chances


def asked(
    window: BallWindow, full: Floats, outcome: str | None = None
) -> tuple[Outcome | None, bool]:
    """The outcome that evidence is about, and whether claims say that balls lower its chance.

    They do where it is less likely than usual by so much that it is felt; else they raise it.

    Args:
        full: the prediction ``(11,)``.
        outcome: the one that is asked for; the story's without; of `ALL` none, which is the whole
            distribution.
    """
    if outcome == ALL:
        return None, False
    usual = usual_at(window)
    about = story_outcome(full, usual) if outcome is None else OUTCOMES[OUTCOME_INDEX[outcome]]
    at = OUTCOME_INDEX[about]
    return about, bool(usual[at] - full[at] >= (FELT if about in TALKED_OF else FELT_ELSE))


def story_outcome(full: Floats, usual: Floats) -> Outcome:
    """The outcome that is most times likelier or less likely than usual, of those that are felt.

    Where none is, the one people talk of that is furthest from usual.

    Args:
        full, usual: probabilities of the outcomes ``(11,)``.
    """
    apart = np.abs(full - usual)
    talked_of = np.array([name in TALKED_OF for name in OUTCOMES])
    felt = apart >= np.where(talked_of, FELT, FELT_ELSE)
    times = np.abs(np.log(np.maximum(full, 1e-9) / np.maximum(usual, 1e-9)))
    return OUTCOMES[
        int(np.where(felt, times, 0.0).argmax() if felt.any() else (apart * talked_of).argmax())
    ]
