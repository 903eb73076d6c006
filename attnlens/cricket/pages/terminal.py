"""An explanation for a terminal and for pipes: a page, the summary, one scale's heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.heads import Balls, add_claims, add_heads, add_other_scales, add_strip
from attnlens.cricket.pages.outcomes import add_prediction
from attnlens.cricket.pages.parts import CAVEAT, SCALE_NAMES, beside, win_line
from attnlens.cricket.pages.story import BESIDE
from attnlens.cricket.words.story import aim
from attnlens.cricket.words.summary import summary_of
from attnlens.errors import InputError
from attnlens.files import render_json
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.numbers import percent_seen
from attnlens.render.safe import clean

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation

WIDEST: Final = 128
"""Columns past which lines only get harder to read."""


@terminal_page(most=WIDEST)
def render_terminal(page: Page, shown: Explanation, *, scale: str = "medium") -> None:
    """Everything about one ball.

    Args:
        scale: the scale whose heads are shown in full.

    Raises:
        InputError: a scale that does not exist.
    """
    _check_scale(scale)
    balls = Balls(shown)
    page.parts(shown.ball.echo, 0)
    add_prediction(page, shown, shown.prediction.about)
    if shown.win_probability is not None:
        page.paragraph(win_line(shown))
        page.blank()
    add_claims(page, shown, balls)
    add_heads(page, shown, scale, balls)
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
    said = aim(explanation)
    what_is_said = f"that balls {said} P({explanation.prediction.about})"
    about = "" if said is None else f" A claim says {what_is_said}; effects are on that alone."
    what = BESIDE[beside(explanation)[0]]
    page.paragraph(f"{CAVEAT} Small q: chance seldom does as much. {what}{about}", "quiet")


def render_summary(explanation: Explanation) -> str:
    """Where attention went, and what hiding those balls does, on one line."""
    return clean(explanation.summary or summary_of(explanation))


def render_heatmap(explanation: Explanation, scale: str = "medium") -> str:
    """One scale's heat map as a JSON document.

    Raises:
        InputError: a scale that does not exist.
    """
    _check_scale(scale)
    inner = getattr(explanation.across_balls, scale)
    return render_json({"temporal_attention": inner.model_dump(mode="json")})


def _check_scale(scale: str) -> None:
    """Raises `InputError` where there is no such scale."""
    if scale not in SCALE_NAMES:
        raise InputError(f"no scale {scale!r}", remedy=f"choose one of {' '.join(SCALE_NAMES)}")
