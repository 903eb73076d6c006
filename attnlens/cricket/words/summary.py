"""Write the summary line: the past balls with the most attention, and the effect of hiding them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ValidationError

from attnlens.cricket.match.match import OUTCOME_NAMES
from attnlens.errors import InputError, count
from attnlens.render.numbers import percent_seen

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import ClaimKind, Evidence, Explanation

_STRONG_FOCUS = 0.3
"""The current over is mentioned if the over's share of the attention is larger."""

_ATTENDED = 0.4
"""The bowler's balls are mentioned if the sum of their weights is larger."""

_BOUNDARIES = frozenset({"4", "6"})

BallHistory = Mapping[Any, Any] | Sequence[Any]
"""The results of the balls: a list in order, or a mapping from indices (numbers or text)."""

_HIDDEN_WITH: Final[Mapping[str, ClaimKind]] = {
    "Strong focus": "this over",
    "Attended": "this bowler",
    "Recent momentum": "attended",
}
"""The first words of each part, and the kind of claim about the same balls."""


class _Head(BaseModel):
    pattern: str | None = None
    bowler: str | None = None
    top_balls: tuple[int, ...] | None = None
    weights: tuple[float, ...] | None = None
    outcomes: tuple[str, ...] | None = None


class _Shares(BaseModel):
    last_over: float | None = None


class _SummaryInput(BaseModel):
    attention_by_head: dict[str, _Head] | None = None
    aggregate_attention: _Shares | None = None

    def head(self, pattern: str) -> _Head | None:
        """Return the first head with this pattern, or ``None``."""
        heads = (self.attention_by_head or {}).values()
        return next((head for head in heads if head.pattern == pattern), None)


def summarize_temporal_attention(heatmap: Any, ball_history: BallHistory | None) -> str:
    """Describe the main features of a heat map, in up to three parts joined by ``" | "``.

    The parts are:

    - the current over's share of attention, if it is above 30%;
    - the share of boundaries among the bowler's balls, if the weights of the ``same_bowler`` head
      on these balls sum to more than 0.4;
    - the total runs from the balls that the ``recency`` head lists.

    Parts with missing data are left out, so the result may be empty. The summary describes
    attention, which is no evidence of an effect on the prediction.

    Args:
        heatmap: a heat-map document (``{"temporal_attention": {...}}``), the inner object of a
            document, or an explanation (its medium scale). Plain data and typed objects are
            accepted.
        ball_history: for each ball, an object or a mapping with the outcome as text (``outcome``).
            ``runs`` (all runs, including extras) and ``boundary`` are optional. The default of
            ``runs`` is the digit of the outcome. The default of ``boundary`` is true for an outcome
            of 4 or 6. For this default, the outcomes in the heat map come first.

    Raises:
        InputError: ``heatmap`` is not an object, or one of its values has the wrong type.
    """
    read = _read(heatmap)
    parts = (
        _current_over(read),
        _bowlers_boundaries(read.head("same_bowler"), ball_history),
        _momentum(read.head("recency"), ball_history),
    )
    return " | ".join(part for part in parts if part)


def summary_of(explanation: Explanation) -> str:
    """Return the summary of the medium scale, with the effect of hiding the balls in each part.

    The parts are joined by ``" | "``. The result is never empty.
    """
    medium = explanation.across_balls.medium
    if not medium.balls:
        return "No attention on past balls: no ball of this innings came before this one"
    past_balls = {row.index: row.model_dump() for row in explanation.past_balls}
    attention = summarize_temporal_attention(medium, past_balls)
    if not attention:
        past = count(len(medium.balls), "past ball")
        attention = f"Attention is spread over {past}: none stands out"
    kinds = [
        kind for start, kind in _HIDDEN_WITH.items() if f" | {start}" in f" | {attention}"
    ] or ["attended"]
    claims = {claim.kind: claim for claim in explanation.evidence if claim.removed_from == "model"}
    # Two claims may have the same balls, for example if the bowler has bowled only this over.
    hidden = {claims[kind].removed: claims[kind] for kind in reversed(kinds) if kind in claims}
    effects = [_effect_of_hiding(claim) for claim in reversed(hidden.values())]
    return " | ".join([attention, *effects])


def _effect_of_hiding(claim: Evidence) -> str:
    """Return text such as ``Hiding this over so far: P(four) 17% → 14% (0.0021 nats)``."""
    balls = claim.claim.partition(" (ball")[0]
    nats = "<0.0001" if claim.effect_nats < 0.00005 else f"{claim.effect_nats:.4f}"
    return f"Hiding {balls}: {before_after(claim)} ({nats} nats)"


def before_after(claim: Evidence) -> str:
    """Return text such as ``P(four) 17% → 14%``.

    If the change is less than one point, the percentages have a decimal.
    """
    change = claim.top_change
    before, after = percent_seen(change.before), percent_seen(change.after)
    if before == after or abs(change.points) < 1:
        before, after = percent_seen(change.before, 1), percent_seen(change.after, 1)
    return f"P({OUTCOME_NAMES[change.outcome].short}) {before} → {after}"


def _read(heatmap: Any) -> _SummaryInput:
    for name in ("across_balls", "medium", "temporal_attention"):
        heatmap = _value(heatmap, name) or heatmap
    if not isinstance(heatmap, Mapping | BaseModel):
        raise InputError(
            f"a heat map must be a JSON object, but this is {type(heatmap).__name__}",
            remedy='give {"temporal_attention": {...}} or the object inside it',
        )
    try:
        return _SummaryInput.model_validate(heatmap, from_attributes=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        pointer = "".join(f"/{step}" for step in first["loc"])
        raise InputError(f"not a heat map: {pointer} {first['msg']}") from None


def _value(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _ball(history: BallHistory | None, index: int) -> Any:
    if isinstance(history, Mapping):
        return history.get(index, history.get(str(index)))
    return history[index - 1] if history and 1 <= index <= len(history) else None


def _current_over(heatmap: _SummaryInput) -> str:
    shares = heatmap.aggregate_attention
    share = 0.0 if shares is None else shares.last_over or 0.0
    return f"Strong focus on current over ({share:.0%})" if share > _STRONG_FOCUS else ""


def _bowlers_boundaries(head: _Head | None, history: BallHistory | None) -> str:
    if head is None or not head.bowler or not head.top_balls:
        return ""
    # The ball with the largest weight is always listed, even if another bowler bowled it.
    weights = dict(zip(head.top_balls, head.weights or (), strict=False))
    bowlers = {ball: _value(_ball(history, ball), "bowler") for ball in head.top_balls}
    own = [ball for ball in head.top_balls if bowlers[ball] in (None, head.bowler)]
    others_weight = sum(weights.get(ball, 0.0) for ball in head.top_balls if ball not in own)
    # Weights have six decimals. Without rounding, 0.1 + 0.3 could exceed 0.4.
    if round(sum(head.weights or ()) - others_weight, 6) <= _ATTENDED:
        return ""
    head_outcomes = dict(zip(head.top_balls, head.outcomes or (), strict=False))
    boundaries = [_is_boundary(_ball(history, ball), head_outcomes.get(ball)) for ball in own]
    if None in boundaries:
        return ""
    return (
        f"Attended to {head.bowler}'s previous balls: "
        f"{sum(map(bool, boundaries))}/{len(boundaries)} were boundaries"
    )


def _is_boundary(ball: Any, head_outcome: str | None) -> bool | None:
    recorded = _value(ball, "boundary")
    if recorded is not None:
        return bool(recorded)
    outcome = _value(ball, "outcome") if head_outcome is None else head_outcome
    return None if outcome is None else str(outcome) in _BOUNDARIES


def _momentum(head: _Head | None, history: BallHistory | None) -> str:
    if head is None or not head.top_balls:
        return ""
    runs = [_runs(_ball(history, ball)) for ball in head.top_balls]
    total = sum(scored for scored in runs if scored is not None)
    if None in runs:
        return ""
    return (
        f"Recent momentum: {total} {'run' if total == 1 else 'runs'} "
        f"in last {len(runs)} attended {'ball' if len(runs) == 1 else 'balls'}"
    )


def _runs(ball: Any) -> int | None:
    """Without recorded runs, use the digit of the outcome, or 0 for a wicket or an extra."""
    runs, outcome = _value(ball, "runs"), _value(ball, "outcome")
    if isinstance(runs, Integral):
        return int(runs)
    if outcome is None:
        return None
    digits = str(outcome)
    return int(digits) if digits.isascii() and digits.isdigit() else 0
