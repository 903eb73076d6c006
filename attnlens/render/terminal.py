"""An explanation for a terminal: one page that a person reads from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnlens.errors import InputError
from attnlens.render.canvas import ASCII, UNICODE, Page, clean_all
from attnlens.render.heads import Balls, add_heads, add_other_scales, add_strip
from attnlens.render.names import short_names
from attnlens.render.outcomes import NAMES, add_prediction, most_moved, percent

WIDEST = 128
"""Columns past which lines only get harder to read."""


def render_terminal(
    data: Mapping[str, Any],
    *,
    width: int,
    color: bool,
    outcome: str | None = None,
    unicode: bool = True,
    scale: str = "medium",
) -> str:
    """The page for one ball.

    Args:
        data: an explanation as plain data.
        width: columns of the terminal; no line is wider (at least 40).
        color: whether to write colours; without, no escape is written.
        outcome: the outcome to explain; without, the one that differs most
            from the baseline, and each claim with the outcome it moves most.
        unicode: ``False`` writes ASCII only.
        scale: the scale whose heads are shown in full.

    Raises:
        InputError: an outcome or a scale that does not exist.
    """
    if outcome is not None and outcome not in NAMES:
        raise InputError(f"no outcome {outcome!r}", remedy=f"choose one of {' '.join(NAMES)}")
    if scale not in data["across_balls"]:
        raise InputError(
            f"no scale {scale!r}", remedy=f"choose one of {' '.join(data['across_balls'])}"
        )
    glyphs = UNICODE if unicode else ASCII
    shown = clean_all(data, ascii_only=not unicode)
    page = Page(max(40, min(width, WIDEST)), glyphs)
    ball = shown["ball"]
    names = [ball["batter"], ball["bowler"], ball["non_striker"]]
    names += [entry[role] for entry in shown["history"] for role in ("batter", "bowler")]
    balls = Balls(shown, short_names(names, glyphs.ellipsis))

    page.parts(shown["ball"]["echo"], 0)
    add_prediction(page, shown, outcome or most_moved(shown))
    add_heads(page, shown, outcome or "", scale, balls)
    add_strip(page, shown, scale, balls)
    add_other_scales(page, shown, scale, balls)
    _add_close(page, shown)
    return page.text(color=color)


def _add_close(page: Page, data: Mapping[str, Any]) -> None:
    weights = data["fusion_weights"]
    page.flow(
        [
            [
                (f"{'the ball itself' if name == 'within_ball' else name} ", ""),
                (percent(weight), "name"),
            ]
            for name, weight in weights.items()
        ],
        indent=4,
        gap=3,
        lead=[("  what reached the prediction  ", "heading")],
    )
    page.blank()
    for flag in data["flags"]:
        page.paragraph(flag["text"], "flag", indent=4, lead="  !")
    if data["flags"]:
        page.blank()
    if data["summary"]:
        page.parts(data["summary"], 2)
    explained = data["prediction"]["explained"]
    about = "" if explained is None else f" Effects and verdicts are about P({explained}) alone."
    page.paragraph(
        "A weight says where the model looked, not that it mattered. Hiding balls takes them out "
        "of its attention; the scoreboard stays. Small q: chance seldom does as much. base: with "
        f"nothing known.{about}",
        "quiet",
    )
