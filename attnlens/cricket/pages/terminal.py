"""An explanation for a terminal and for pipes: a page, the summary, one scale's heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.heads import Balls, add_claims, add_heads, add_other_scales, add_strip
from attnlens.cricket.pages.outcomes import NAMES, add_prediction
from attnlens.cricket.pages.parts import CAVEAT, SCALE_NAMES, most_moved, win_line
from attnlens.errors import InputError
from attnlens.files import render_json
from attnlens.show.canvas import Page, terminal_page
from attnlens.show.numbers import percent_seen
from attnlens.show.safe import clean
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation

WIDEST: Final = 128
"""Columns past which lines only get harder to read."""


@terminal_page(most=WIDEST)
def render_terminal(
    page: Page, shown: Explanation, *, outcome: str | None = None, scale: str = "medium"
) -> None:
    """The page for one ball.

    Args:
        outcome: the outcome to explain; without, the one that differs most
            from the baseline, and each claim with the outcome it moves most.
        scale: the scale whose heads are shown in full.

    Raises:
        InputError: an outcome or a scale that does not exist.
    """
    for kind, word, known in (("outcome", outcome, NAMES), ("scale", scale, SCALE_NAMES)):
        if word is not None and word not in known:
            raise InputError(f"no {kind} {word!r}", remedy=f"choose one of {' '.join(known)}")
    balls = Balls(shown)
    page.parts(shown.ball.echo, 0)
    add_prediction(page, shown, outcome or most_moved(shown))
    if shown.win_probability is not None:
        page.paragraph(win_line(shown))
        page.blank()
    add_claims(page, shown, outcome or "", balls)
    add_heads(page, shown, outcome or "", scale, balls)
    add_strip(page, shown, scale, balls)
    add_other_scales(page, shown, scale, balls)
    _add_close(page, shown)


def _add_close(page: Page, explanation: Explanation) -> None:
    page.flow(
        [
            [
                (f"{'the ball itself' if name == 'within_ball' else name} ", ""),
                (percent_seen(weight), "name"),
            ]
            for name, weight in explanation.fusion_weights
        ],
        indent=4,
        gap=3,
        lead=[("  what reached the prediction  ", "heading")],
    )
    page.blank()
    for flag in explanation.flags:
        page.flag(flag.text)
    page.blank()
    explained = explanation.prediction.explained
    about = "" if explained is None else f" Effects and verdicts are about P({explained}) alone."
    page.paragraph(
        f"{CAVEAT} Small q: chance seldom does as much. base: with nothing known.{about}", "quiet"
    )


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
