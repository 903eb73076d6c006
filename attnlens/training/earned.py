"""Which names the heads of a new predictor have earned, for its card.

The rule, and everything it is measured with, is `attnlens.cricket.heads`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnlens.cricket.heads import HeadStudy, name_heads
from attnlens.cricket.held_out import EncodedInnings
from attnlens.cricket.match import Innings, Match
from attnlens.cricket.tensors import InningsArrays
from attnlens.cricket.trained import TrainedPredictor


def earned_names(
    predictor: TrainedPredictor,
    innings: Sequence[tuple[Match, Innings, InningsArrays]],
    *,
    balls: int,
    seed: int,
    report: Callable[[str], None] | None = None,
) -> dict[str, list[str]]:
    """The name of every head by scale, from ``balls`` balls with at least 36 before them."""
    encoded = [EncodedInnings(*one) for one in innings]
    study = HeadStudy(predictor.model, encoded, balls=balls, seed=seed)
    if report:
        report(f"names of heads, from {len(study.sample)} balls")
    named = name_heads(study, thorough=False)
    return {scale: [head.earned for head in heads] for scale, heads in named.items()}
