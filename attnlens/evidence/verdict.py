"""From p to a verdict (`judge`), and the corrections for many claims."""

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
"""Of `Q_LEVEL`, what the claim that is tested first may use. One item of 36 can reach it."""

MIN_POINTS: Final = 0.5
"""A noticeable change of a probability, in percentage points."""

MIN_NATS: Final = 0.0005
MIN_LIFT: Final = 1.25
"""A head looks at items if it gives them this many times the mean weight of all items."""

MIN_SHARE: Final = 0.1
"""A head that carries less than this share of an effect is not said to carry it."""

TOO_SMALL: Final = "too small to matter"
ITEMS: Final = "items"
CHANCE: Final = "chance does as much"
AMONG: Final = "among so many claims chance does as much"
EVEN: Final = "the head looks at them hardly more than at others"
ELSEWHERE: Final = "what they do reaches the prediction by other ways than this head"
OPPOSITE: Final = "they do the opposite of what is said"
TOO_FEW_LIKE_IT: Final = "too few others like it to compare with"


def too_few(items: str) -> str:
    return f"too few other {items} to compare with"


def others_do_more(items: str) -> str:
    return f"other {items} do more"


def none_matters(items: str) -> str:
    return f"no {items} do enough here to matter"


def noticeable(effect: float, points: Floats) -> bool:
    """Whether an effect in nats, or a change of ``(outcome,)`` in points, is large enough."""
    return effect >= MIN_NATS or float(abs(points).max()) >= MIN_POINTS


def one_against_rest(probabilities: Floats, outcome: int) -> Floats:
    """Probabilities ``(..., outcome)`` as those of one outcome and of any other, ``(..., 2)``."""
    import numpy as np

    prob = probabilities[..., outcome]
    return np.stack([prob, 1 - prob], -1)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """q-values: the false discovery rate at which each would be declared.

    Reference:
        Benjamini & Hochberg 1995, "Controlling the False Discovery Rate".
    """
    # Imported here because a page that only shows an explanation needs no numpy.
    import numpy as np

    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    ranked = p[order] * len(p) / (np.arange(len(p)) + 1)
    smallest_above = np.minimum.accumulate(ranked[::-1])[::-1]
    q = np.empty_like(p)
    q[order] = np.minimum(smallest_above, 1.0)
    return [float(value) for value in q]


def fixed_sequence(first: float, other_p_values: Sequence[float]) -> tuple[float, list[float]]:
    """q-values of the claim tested first and of the others.

    The first claim may use `FIRST_LEVEL` of `Q_LEVEL`, the others the rest of it; if the first
    holds, all of it. The family-wide error rate does not grow.

    Reference:
        Wiens 2003, "A fixed sequence Bonferroni procedure for testing multiple endpoints".
    """
    left = Q_LEVEL if first <= FIRST_LEVEL else Q_LEVEL - FIRST_LEVEL
    own = min(1.0, first * Q_LEVEL / FIRST_LEVEL)
    return own, [min(1.0, q * Q_LEVEL / left) for q in benjamini_hochberg(other_p_values)]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and why; no verdict where nothing is claimed."""

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
    """The verdict on a claim that could have been supported.

    It is *supported* where few control sets have as large an effect (q at most `Q_LEVEL`), where
    hiding the items is noticeable, and where the effect goes the way its sentence says. It is
    *contradicted* where few control sets have as small an effect (q at most `_LOW_LEVEL`), or where
    a noticeable effect goes against the sentence. Else it is *not better than chance*.

    Args:
        effect: of hiding its items together, nats.
        points: change of each outcome the claim is about, percentage points.
        p_values: p; q; and q of an effect as small.
        against: whether the change goes against what the claim's sentence says.
        items: what items are called, for the reason.
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
