"""What a reader should know before trusting an explanation."""

from __future__ import annotations

from collections.abc import Iterator

from attnlens.cricket.explain.types import Caution
from attnlens.cricket.model.kinds import cautions, few_before
from attnlens.cricket.model.ratings import venue_key
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import BallWindow


def flags_of(
    window: BallWindow, predictor: TrainedPredictor, *, evidence: bool, history: bool = False
) -> tuple[Caution, ...]:
    """Cautions, each a name and a sentence.

    Args:
        evidence: whether interventions were run.
        history: whether the ratings were brought to the match's date by its own history.
    """
    flags = [
        *few_before(len(window.past)),
        *_unseen(window),
        *cautions(window.match, window.innings, predictor, evidence=evidence, history=history),
    ]
    return tuple(Caution.model_validate({"flag": name, "text": text}) for name, text in flags)


def _unseen(window: BallWindow) -> Iterator[tuple[str, str]]:
    """Players and the ground that the model has not met."""
    ball = window.delivery
    met = {name: bool(flags[ball.index - 1]) for name, flags in window.arrays.met.items()}
    for role, flag, player, did in (
        ("striker", "unseen_batter", ball.batter, "bat"),
        ("bowler", "unseen_bowler", ball.bowler, "bowl"),
    ):
        if not met[role]:
            yield flag, f"the model has never seen {player.name} {did}: an average is used"
    if not met["venue"]:
        ground = venue_key(window.match) or "the ground"
        yield "unseen_venue", f"the model has never seen a match at {ground}"
