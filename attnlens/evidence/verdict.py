"""The verdict on a claim, and corrections of p-values for multiple testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from attnlens.files import Floats

Verdict = Literal["supported", "not better than chance", "contradicted", "cannot be told"]

Q_LEVEL: Final = 0.05
_LOW_LEVEL: Final = 0.01
FIRST_LEVEL: Final = 0.03
"""The part of `Q_LEVEL` that is reserved for the first claim. The smallest p-value for one of 36
items, 1/36, is below this level."""

MIN_POINTS: Final = 0.5
"""The smallest noticeable change of a probability, in percentage points."""

MIN_NATS: Final = 0.0005
MIN_LIFT: Final = 1.25
"""The smallest `Claim.lift` at which a claim is tested."""

MIN_SHARE: Final = 0.1
"""The smallest `ClaimTest.share` at which a claim about a head gets a verdict."""

TOO_SMALL: Final = "the effect is too small to matter"
ITEMS: Final = "items"
CHANCE: Final = "random sets do as much"
AMONG: Final = "with so many claims, random sets do as much"
EVEN: Final = "the head attends to them hardly more than to others"
ELSEWHERE: Final = "their effect reaches the prediction mainly without this head"
OPPOSITE: Final = "their effect is the opposite of the claim"
TOO_FEW_LIKE_IT: Final = "too few similar ones to compare with"


def too_few(items: str) -> str:
    return f"too few other {items} to compare with"


def others_do_more(items: str) -> str:
    return f"other {items} have a larger effect"


def none_matters(items: str) -> str:
    return f"no {items} have an effect here that matters"


def noticeable(effect: float, points: Floats) -> bool:
    """Whether ``effect`` (in nats) or one of ``points`` (percentage points) is noticeable."""
    return effect >= MIN_NATS or float(abs(points).max()) >= MIN_POINTS


def one_against_rest(probabilities: Floats, outcome: int) -> Floats:
    """Return the probabilities of one outcome and of all other outcomes together, ``(..., 2)``."""
    import numpy as np

    prob = probabilities[..., outcome]
    return np.stack([prob, 1 - prob], -1)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return the q-value of each p-value.

    Reference:
        Benjamini & Hochberg 1995, "Controlling the False Discovery Rate".
    """
    # Imported here, because a page that only shows an explanation does not need numpy.
    import numpy as np

    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    ranked = p[order] * len(p) / (np.arange(len(p)) + 1)
    smallest_above = np.minimum.accumulate(ranked[::-1])[::-1]
    q = np.empty_like(p)
    q[order] = np.minimum(smallest_above, 1.0)
    return [float(value) for value in q]


def fixed_sequence(first: float, other_p_values: Sequence[float]) -> tuple[float, list[float]]:
    """Return the q-value of the claim tested first, and the q-values of the other claims.

    The first claim is tested at `FIRST_LEVEL`. If the first claim is significant, the other claims
    are tested at `Q_LEVEL`. If the first claim is not significant, the level is ``Q_LEVEL -
    FIRST_LEVEL``.

    Reference:
        Wiens 2003, "A fixed sequence Bonferroni procedure for testing multiple endpoints".
    """
    left = Q_LEVEL if first <= FIRST_LEVEL else Q_LEVEL - FIRST_LEVEL
    own = min(1.0, first * Q_LEVEL / FIRST_LEVEL)
    return own, [min(1.0, q * Q_LEVEL / left) for q in benjamini_hochberg(other_p_values)]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and its reason. The verdict is None if the claim is not judged."""

    verdict: Verdict | None
    reason: str | None


NO_VERDICT: Final = Judgement(None, None)


def judge(
    effect: float,
    points: Floats,
    p_values: tuple[float, float, float],
    *,
    against: bool = False,
    items: str = ITEMS,
) -> Judgement:
    """Return the verdict on a tested claim.

    - *supported*: the effect is significant (q is at most `Q_LEVEL`), noticeable, and in the
      claimed direction.
    - *contradicted*: the effect is significant and noticeable, but in the opposite direction.
    - *contradicted*: the q-value for a small effect is at most `_LOW_LEVEL`. An effect in the
      opposite direction must also be noticeable.
    - *not better than chance*: all other claims.

    Args:
        effect: the effect of hiding all items of the claim, in nats.
        points: the changes of the claim's outcomes, in percentage points.
        p_values: the p-value for a large effect, its q-value, and the q-value for a small effect.
        against: whether the change contradicts the claimed direction.
        items: the noun for items in the reason, such as ``words``.
    """
    p, q, q_low = p_values
    large = noticeable(effect, points)
    if q <= Q_LEVEL:
        if not large:
            return Judgement("not better than chance", TOO_SMALL)
        return Judgement("contradicted", OPPOSITE) if against else Judgement("supported", None)
    if q_low <= _LOW_LEVEL and (large or not against):
        return Judgement("contradicted", OPPOSITE if against else others_do_more(items))
    return Judgement("not better than chance", AMONG if p <= Q_LEVEL else CHANCE)
