"""An explanation as Markdown (GitHub's, CommonMark with tables), for issues and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlens.cricket.pages import parts
from attnlens.show.canvas import UNICODE
from attnlens.show.page import render_plain
from attnlens.show.shades import legend, shade

if TYPE_CHECKING:
    from attnlens.cricket.explain.attention_types import HeatMap
    from attnlens.cricket.explain.types import Explanation

SIDE = 14
"""Letters before a row of shades."""


def render_markdown(explanation: Explanation) -> str:
    """The explanation as a Markdown document, without a final line break."""
    shown = parts.presentable(explanation)
    most = parts.most_attention(shown)
    scales = (getattr(shown.across_balls, name) for name in parts.SCALE_NAMES)
    strips = [(scale, _strip(scale, most)) for scale in scales if scale.balls]
    return render_plain("cricket/explanation.md", **parts.context(shown), strips=strips)


def _strip(scale: HeatMap, most: float) -> str:
    """A scale's heat map as rows of shades, overs apart."""
    starts = [at for at, first in enumerate(parts.over_starts(scale.ball_labels)) if first]
    ends = [*starts[1:], len(scale.balls)]
    overs = [scale.ball_labels[at].rpartition(".")[0] for at in starts]
    spans = list(zip(starts, ends, overs, strict=True))

    def row(name: str, cells: Sequence[str]) -> str:
        groups = ("".join(cells[start:end]).ljust(len(over)) for start, end, over in spans)
        return f"{name:<{SIDE}}" + " ".join(groups)

    heads = (over.ljust(end - start) for start, end, over in spans)
    lines = [
        f"{'over':<{SIDE}}" + " ".join(heads),
        row("outcome", [parts.sign_of(outcome) for outcome in scale.ball_outcomes]),
    ]
    for key, head in scale.attention_by_head.items():
        shades = [shade(weight, most, UNICODE)[0] for weight in head.row]
        lines.append(row(parts.head_name(key, head), shades))
    lines.append(f"{'':<{SIDE}}{legend(most, UNICODE, 1)} of a head's attention")
    return "\n".join(line.replace("`", "'").rstrip() for line in lines)
