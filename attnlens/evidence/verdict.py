"""From p to a verdict: did what was named matter more than chance would have it?

A claim is *supported* where chance seldom names items that do as much (q at most `Q_LEVEL`), where
hiding them matters, and where that goes the way its sentence says. It is *contradicted* where
chance seldom names items that do as little (q at most `LOW_LEVEL`, corrected for itself); where it
goes against the sentence, hiding them must matter too. It *cannot be told* where even the best set
of as many items would not have been supported: too few to compare with, or none that matters. All
else is *not better than chance*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from attnlens.arrays import Floats

Verdict = Literal["supported", "not better than chance", "contradicted", "cannot be told"]

Q_LEVEL: Final = 0.05
LOW_LEVEL: Final = 0.01
FIRST_LEVEL: Final = 0.03
"""Of `Q_LEVEL`, what the claim that is tested first may use. One item of 36 can reach it."""

ENOUGH_POINTS: Final = 0.5
ENOUGH_NATS: Final = 0.0005
LEAST_LIFT: Final = 1.25
"""A head looks at items where it gives them this many times the weight of even attention."""

LEAST_SHARE: Final = 0.1
"""A head that carries less than this of an effect is not said to carry it."""

TOO_SMALL: Final = "too small to matter"
ITEMS: Final = "items"
"""What is hidden, where it has no better name."""

CHANCE: Final = "chance does as much"
AMONG: Final = "among so many claims chance does as much"
EVEN: Final = "the head looks at them hardly more than at others"
ELSEWHERE: Final = "what they do reaches the prediction by other ways than this head"
DISAGREE: Final = "operators disagree"
OPPOSITE: Final = "they do the opposite of what is said"


TOO_FEW_LIKE_IT: Final = "too few others like it to compare with"


def too_few(items: str) -> str:
    """Why a claim cannot be told: there are not enough other ``items``, which are named so."""
    return f"too few other {items} to compare with"


def others_do_more(items: str) -> str:
    """Why a claim is contradicted: hiding other ``items`` does more."""
    return f"other {items} do more"


def none_matters(items: str) -> str:
    """Why a claim cannot be told: no set of as many ``items`` does enough."""
    return f"no {items} do enough here to matter"


def matters(effect: float, points: Floats) -> bool:
    """Whether a change of so many nats, and of so many points, is worth telling."""
    return effect >= ENOUGH_NATS or float(abs(points).max()) >= ENOUGH_POINTS


def about_one(probabilities: Floats, outcome: int) -> Floats:
    """Probabilities ``(..., outcome)`` as those of one outcome and of any other, ``(..., 2)``."""
    import numpy as np

    one = probabilities[..., outcome]
    return np.stack([one, 1 - one], -1)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """q-values: the false discovery rate at which each would be declared.

    Reference:
        Benjamini & Hochberg 1995, "Controlling the False Discovery Rate".
    """
    # Here, not above: an explanation that is only shown needs the names of verdicts alone.
    import numpy as np

    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    ranked = p[order] * len(p) / (np.arange(len(p)) + 1)
    smallest_above = np.minimum.accumulate(ranked[::-1])[::-1]
    q = np.empty_like(p)
    q[order] = np.minimum(smallest_above, 1.0)
    return [float(value) for value in q]


def after_the_first(first: float, others: Sequence[float]) -> tuple[float, list[float]]:
    """q-values of a family one of whose claims is tested first, at a level of its own.

    The first may use `FIRST_LEVEL` of `Q_LEVEL`, the others what is left of it; where the first
    holds, all of it. So it pays for no other, and no more false claims are told in all.

    Args:
        first: p of the claim tested first.

    Returns:
        its q, and those of the others.

    Reference:
        Wiens 2003, "A fixed sequence Bonferroni procedure for testing multiple endpoints".
    """
    left = Q_LEVEL if first <= FIRST_LEVEL else Q_LEVEL - FIRST_LEVEL
    own = min(1.0, first * Q_LEVEL / FIRST_LEVEL)
    return own, [min(1.0, q * Q_LEVEL / left) for q in benjamini_hochberg(others)]


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and why; no verdict where nothing is claimed."""

    verdict: Verdict | None
    reason: str | None


def judge(
    effect: float,
    points: Floats,
    chances: tuple[float, float, float],
    *,
    against: bool = False,
    items: str = ITEMS,
) -> Judged:
    """The verdict on a claim that could have been supported.

    Args:
        effect: of hiding its items together, nats.
        points: change of each outcome the claim is about, percentage points.
        chances: p; q, how often chance would be told as this claim is; and the same for
            claims that do as little.
        against: whether the change goes against what the claim's sentence says.
        items: what items are called, for the reason.
    """
    p, q, least = chances
    enough = matters(effect, points)
    if q <= Q_LEVEL:
        if not enough:
            return Judged("not better than chance", TOO_SMALL)
        return Judged("contradicted", OPPOSITE) if against else Judged("supported", None)
    if least <= LOW_LEVEL and (enough or not against):
        return Judged("contradicted", OPPOSITE if against else others_do_more(items))
    return Judged("not better than chance", AMONG if p <= Q_LEVEL else CHANCE)


def agreed(judged: Judged, replaced: Floats, controls: Floats) -> Judged:
    """The verdict after the second operator: each item replaced by one like it.

    A supported claim stands where replacing its items does more, on average over draws, than
    replacing the items of sets that chance would have named does on average. Any other verdict
    stays.

    Args:
        replaced: what each draw for the claim's items does, as it is claimed ``(draw,)``.
        controls: what one draw for each other set does ``(set,)``.
    """
    if judged.verdict != "supported" or replaced.mean() > controls.mean():
        return judged
    return Judged("not better than chance", DISAGREE)
