"""An explanation for programs and pipes: one line, or one scale's heat map as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlens.cricket.pages.parts import SCALE_NAMES
from attnlens.errors import InputError
from attnlens.show.plain import render_json
from attnlens.show.safe import clean
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation


def render_summary(explanation: Explanation) -> str:
    """The summary line, or a sentence that says why there is none."""
    if explanation.summary:
        return clean(explanation.summary)
    balls = explanation.across_balls.medium.balls
    if not balls:
        return "Nothing to summarise: no ball of this innings came before this one."
    past = count(len(balls), "past ball")
    return f"Nothing to summarise: among {past} no pattern of attention stands out."


def render_heatmap(explanation: Explanation, scale: str = "medium") -> str:
    """One scale's heat map as a JSON document.

    Raises:
        InputError: a scale that does not exist.
    """
    if scale not in SCALE_NAMES:
        raise InputError(f"no scale {scale!r}", remedy=f"choose one of {' '.join(SCALE_NAMES)}")
    inner = getattr(explanation.across_balls, scale)
    return render_json({"temporal_attention": inner.model_dump(mode="json")})
