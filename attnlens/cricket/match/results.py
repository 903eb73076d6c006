"""How a match ended, in words."""

from __future__ import annotations

from attnlens.cricket.match.match import Match


def result_sentence(match: Match) -> str | None:
    """``India won by 11 runs``; ``None`` where the file does not say."""
    outcome = match.outcome
    winner = outcome.get("winner")
    how = f" ({outcome['method']})" if outcome.get("method") else ""
    if winner is None:
        result = outcome.get("result")
        decider = outcome.get("eliminator") or outcome.get("bowl_out")
        if result is None:
            return None
        if decider:
            means = "the super over" if outcome.get("eliminator") else "a bowl-out"
            return f"{result}, {decider} won {means}{how}"
        return f"{result}{how}"
    by = outcome.get("by") or {}
    parts = []
    if "innings" in by:
        parts.append("an innings")
    for unit in ("runs", "wickets"):
        if unit in by:
            amount = by[unit]
            parts.append(f"{amount} {unit[:-1] if amount == 1 else unit}")
    margin = f" by {' and '.join(parts)}" if parts else ""
    return f"{winner} won{margin}{how}"
