"""What the dashboard shows of a ball: parts of its page, each for the element that it fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from attnlens.cricket.match.outcomes import OUTCOME_NAMES, OUTCOMES
from attnlens.cricket.pages import parts
from attnlens.cricket.pages.ball_page import USUAL_WORDS, ball_page_of
from attnlens.cricket.words.facts import claims_in_order
from attnlens.files import Json
from attnlens.render.page import render_part

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Evidence, Explanation
    from attnlens.cricket.match.match import Innings
    from attnlens.cricket.whatif.types import WhatIf

_CLAIM_KINDS: Final = (
    ("These balls mattered", "Hidden from the whole model; no head is named."),
    (
        "This head's look mattered",
        "What it looked at most, hidden from that head alone. Its share: that effect over the one "
        "of hiding the same balls from the whole model.",
    ),
    ("What else was known mattered", "Taken away, or replaced by another's: no ball is hidden."),
)
"""A heading, and how claims of the kind are tested."""

_MAX_HIDDEN_SETS: Final = 6
_MAX_CHANGED: Final = 36
"""Past balls that a what-if offers, the last first."""

_NAMES: Final = {code: OUTCOME_NAMES[code].noun for code in OUTCOMES}


def render_ball_parts(
    explanation: Explanation, batters: Sequence[str], bowlers: Sequence[str]
) -> str:
    """The words of a ball, its hidden sets, its reasons, every claim, and the form of a what-if."""
    explanation = parts.presentable(explanation)
    claims: tuple[list[tuple[int, Evidence]], ...] = ([], [], [])
    for number in claims_in_order(explanation):
        claim = explanation.evidence[number]
        kind = 1 if claim.removed_from == "head" else 0 if claim.removed else 2
        claims[kind].append((number, claim))
    return render_part(
        "cricket/ball_parts.html",
        **parts.context(explanation) | {"claims": ()},
        story=ball_page_of(explanation, max_hidden_sets=_MAX_HIDDEN_SETS),
        scale=_scale_of(explanation),
        pieces=parts.pieces,
        kinds=[(*words, rows) for words, rows in zip(_CLAIM_KINDS, claims, strict=True)],
        usual_words=USUAL_WORDS,
        names=_NAMES,
        batters=batters,
        bowlers=bowlers,
        past=explanation.past_balls[: -_MAX_CHANGED - 1 : -1],
    )


def _scale_of(explanation: Explanation) -> tuple[float, float]:
    """The probabilities at the ends of the drawings of hidden sets."""
    shown = [
        part
        for claim in explanation.evidence
        if claim.removed and claim.removed_from == "model"
        for part in (
            claim.top_change.before,
            claim.top_change.after,
            *((claim.controls.low, claim.controls.high) if claim.controls else ()),
        )
    ]
    return (min(shown), max(max(shown), min(shown) + 1e-6)) if shown else (0.0, 1.0)


def render_scores(innings: Innings, document: Json) -> list[str]:
    """The score bar before each ball of `attnlens.cricket.explain.innings_data.shown_innings`."""
    balls = document["balls"]
    win = document["win"] or [None] * len(balls)
    return [
        render_part(
            "cricket/score_bar.html",
            innings=innings,
            ball=ball,
            won=chance,
            over=[other for other in balls if other["over"] == ball["over"]],
            count=len(balls),
            names=_NAMES,
        )
        for ball, chance in zip(balls, win, strict=True)
    ]


def render_what_if_part(answer: WhatIf) -> str:
    """The answer to a what-if: what is different, and every outcome before and after."""
    return render_part("cricket/what_if_part.html", answer=answer, names=_NAMES)
