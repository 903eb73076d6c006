"""One line that says what a heat map shows, for a person in a hurry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from attnlens.errors import InputError

STRONG_FOCUS = 0.3
"""Share of past attention on the current over above which the summary names it."""

ATTENDED = 0.4
"""Sum of a head's listed weights above which the summary names what they point at."""

BOUNDARIES = frozenset({"4", "6"})

BallHistory = Mapping[Any, Mapping[str, Any]] | Sequence[Mapping[str, Any]]
"""What became of each ball: by index (``int`` or its text), or a list that starts at ball 1."""


def summarize_temporal_attention(heatmap: Any, ball_history: BallHistory | None) -> str:
    """What stands out in a heat map, as up to three parts joined by ``" | "``.

    The parts: attention on the current over above 30%; the share of boundaries
    among the bowler's balls where that head's listed weights sum to more than
    0.4; the runs on the balls the recency head looks at. A part whose head is
    missing, or whose balls the history does not know, is left out, so the
    result may be empty. It tells where attention went; it does not say that
    the prediction depends on it (``evidence`` does).

    Args:
        heatmap: a heat-map document (``{"temporal_attention": {...}}``), its
            inner object, or either as a model from `attnlens.explanation.types`.
        ball_history: per ball ``outcome`` as text and, where known, ``runs``
            (every run, extras too) and ``boundary``, which are used first.
            Without them a run is the outcome's digit, and a boundary is what
            the head itself lists in ``outcomes``, else a 4 or a 6.

    Raises:
        InputError: ``heatmap`` is not an object.
    """
    inner = _inner(heatmap)
    parts = (
        _current_over(inner),
        _bowlers_boundaries(inner, ball_history),
        _momentum(inner, ball_history),
    )
    return " | ".join(part for part in parts if part)


def _inner(heatmap: Any) -> Mapping[str, Any]:
    if not isinstance(heatmap, Mapping) and hasattr(heatmap, "model_dump"):
        heatmap = heatmap.model_dump(mode="json")
    if isinstance(heatmap, Mapping) and "temporal_attention" in heatmap:
        heatmap = heatmap["temporal_attention"]
    if not isinstance(heatmap, Mapping):
        raise InputError(
            f"a heat map is an object, this is {type(heatmap).__name__}",
            remedy='give {"temporal_attention": {...}} or the object inside it',
        )
    return heatmap


def _head(inner: Mapping[str, Any], pattern: str) -> Mapping[str, Any] | None:
    """The first head that started with this pattern, whatever its position."""
    heads = inner.get("attention_by_head") or {}
    return next((head for head in heads.values() if head.get("pattern") == pattern), None)


def _ball(history: BallHistory | None, index: int) -> Mapping[str, Any] | None:
    if not history:
        return None
    entry: Any
    if isinstance(history, Mapping):
        entry = history.get(index, history.get(str(index)))
    else:
        entry = history[index - 1] if 1 <= index <= len(history) else None
    return entry if isinstance(entry, Mapping) else None


def _current_over(inner: Mapping[str, Any]) -> str:
    share = (inner.get("aggregate_attention") or {}).get("last_over") or 0.0
    return f"Strong focus on current over ({share:.0%})" if share > STRONG_FOCUS else ""


def _bowlers_boundaries(inner: Mapping[str, Any], history: BallHistory | None) -> str:
    head = _head(inner, "same_bowler")
    if head is None or not head.get("bowler") or not head.get("top_balls"):
        return ""
    # Weights carry six decimals: 0.1 + 0.3 must not pass for more than 0.4.
    if round(sum(head.get("weights") or ()), 6) <= ATTENDED:
        return ""
    balls = head["top_balls"]
    outcomes = head.get("outcomes") or ()
    boundaries = [
        _is_boundary(_ball(history, ball), outcomes[rank] if rank < len(outcomes) else None)
        for rank, ball in enumerate(balls)
    ]
    if None in boundaries:
        return ""
    return (
        f"Attended to {head['bowler']}'s previous balls: "
        f"{sum(map(bool, boundaries))}/{len(balls)} were boundaries"
    )


def _is_boundary(entry: Mapping[str, Any] | None, listed: str | None) -> bool | None:
    """Whether a ball went for four or six; ``None`` where neither place knows the ball."""
    if entry is not None and entry.get("boundary") is not None:
        return bool(entry["boundary"])
    outcome = listed if listed is not None else (entry or {}).get("outcome")
    return None if outcome is None else str(outcome) in BOUNDARIES


def _momentum(inner: Mapping[str, Any], history: BallHistory | None) -> str:
    head = _head(inner, "recency")
    if head is None or not head.get("top_balls"):
        return ""
    runs = [_runs(_ball(history, ball)) for ball in head["top_balls"]]
    if any(scored is None for scored in runs):
        return ""
    total = sum(scored or 0 for scored in runs)
    return (
        f"Recent momentum: {total} {'run' if total == 1 else 'runs'} "
        f"in last {len(runs)} attended {'ball' if len(runs) == 1 else 'balls'}"
    )


def _runs(entry: Mapping[str, Any] | None) -> int | None:
    """Runs on a ball: as recorded, else the outcome's digit (a wicket or an extra counts 0)."""
    if entry is None:
        return None
    runs = entry.get("runs")
    if isinstance(runs, Integral):
        return int(runs)
    outcome = entry.get("outcome")
    if outcome is None:
        return None
    text = str(outcome)
    return int(text) if text.isascii() and text.isdigit() else 0
