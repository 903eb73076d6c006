"""Round numbers for data, and format numbers for readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, SupportsFloat

DIGITS = 6
"""The decimal places of probabilities, shares and percentage points in JSON."""


def rounded(value: SupportsFloat, digits: int = DIGITS) -> float:
    """Round a value to ``digits`` decimals. Minus zero becomes zero."""
    return round(float(value), digits) + 0.0


def rounded_all(value: Any, digits: int = DIGITS) -> Any:
    """Round every float in plain data. Infinite and NaN values become None."""
    if isinstance(value, Mapping):
        return {key: rounded_all(member, digits) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [rounded_all(member, digits) for member in value]
    if isinstance(value, Real) and not isinstance(value, Integral):
        return rounded(value, digits) if math.isfinite(value) else None
    return value


def percent(share: float, digits: int = 0) -> str:
    return f"{share:.{digits}%}"


def percent_seen(share: float, digits: int = 0) -> str:
    """Format a share as a percentage. A positive share that rounds to 0 becomes ``<1%``."""
    text = percent(share, digits)
    if share > 0 and not float(text[:-1]):
        return f"<{10.0**-digits:.{digits}f}%"
    return text


def signed_points(points: float, minus: str = "-") -> str:
    """Format percentage points with a sign, such as ``+4.9``; ``0.0`` gets no sign."""
    text = f"{abs(points):.1f}"
    return text if text == "0.0" else f"{'+' if points > 0 else minus}{text}"


def fine_percent(share: float) -> str:
    """Format a share as ``17%``, with one decimal below 10% and above 99%.

    A share near 0 or 1 becomes ``<0.1%`` or ``>99.9%``.
    """
    points = 100 * share
    if points < 0.05 or points > 99.95:
        return "<0.1%" if points < 50 else ">99.9%"
    return f"{points:.1f}%" if points < 10 or points > 99 else f"{points:.0f}%"


def number(value: float | None, digits: int = 2, missing: str = "") -> str:
    """Format a number with ``digits`` decimals, or return ``missing`` for None."""
    return missing if value is None else f"{rounded(value, digits):.{digits}f}"


def interval(
    ends: Sequence[float] | None, digits: int, *, sign: str = "", scale: float = 1.0
) -> str:
    """Format an interval as ``[0.12, 0.34]``, or return an empty text for None.

    Args:
        sign: ``+`` to show the sign of positive numbers.
        scale: a factor, such as 100 for per cent.
    """
    if ends is None:
        return ""
    low, high = (f"{rounded(scale * end, digits):{sign}.{digits}f}" for end in ends)
    return f"[{low}, {high}]"
