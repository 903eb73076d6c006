"""An explanation for a terminal: one page that a person reads from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.heads import Balls, add_heads, add_other_scales, add_strip
from attnlens.cricket.pages.outcomes import NAMES, add_prediction
from attnlens.cricket.pages.parts import CAVEAT, SCALE_NAMES, most_moved
from attnlens.errors import InputError
from attnlens.show.canvas import Page, terminal_page
from attnlens.show.numbers import percent_seen

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
    balls = Balls(shown, page.glyphs.ellipsis)
    page.parts(shown.ball.echo, 0)
    add_prediction(page, shown, outcome or most_moved(shown))
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
