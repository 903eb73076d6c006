"""An explanation for programs and pipes: one line, or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attnlens.errors import InputError
from attnlens.render.canvas import clean


def render_summary(data: Mapping[str, Any]) -> str:
    """The summary line, or a sentence that says why there is none."""
    if data["summary"]:
        return clean(data["summary"])
    balls = data["across_balls"]["medium"]["balls"]
    if not balls:
        return "Nothing to summarise: no ball of this innings came before this one."
    count = "1 past ball" if len(balls) == 1 else f"{len(balls)} past balls"
    return f"Nothing to summarise: among {count} no pattern of attention stands out."


def render_json(data: Any) -> str:
    """Plain data as indented JSON, keys in their order, no line break at the end."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def render_heatmap(data: Mapping[str, Any], scale: str = "medium") -> str:
    """One scale's heat map as a JSON document.

    Raises:
        InputError: a scale that does not exist.
    """
    scales = data["across_balls"]
    if scale not in scales:
        raise InputError(f"no scale {scale!r}", remedy=f"choose one of {' '.join(scales)}")
    return render_json({"temporal_attention": scales[scale]})
