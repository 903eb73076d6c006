"""Claims about a prediction, and the null distributions that test the claims.

A claim says that some items, such as words or frames, mattered to a prediction. A claim about a
head says that the head's attention to the items mattered. The test hides the items from the whole
model or from the head.

The null distribution contains the summed effects of control sets, which have the same size. Under
the null hypothesis, the claim's items are a random set, so the p-value is exact.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnlens.errors import InputError
from attnlens.evidence.scores import log_odds
from attnlens.evidence.verdict import MIN_LIFT, NO_VERDICT, Judgement, Verdict
from attnlens.files import Floats, Integers

N_DRAWS: Final = 3999
"""The number of random sets to draw if there are too many sets to enumerate."""

MAX_ENUMERATED_SETS: Final = 2000
_TIE: Final = 1e-9
"""The tolerance for equal sums, as a fraction of the largest sum."""


@dataclass(frozen=True, slots=True)
class Pool:
    """All sets of ``size`` items from ``window``."""

    window: tuple[int, ...]
    size: int

    @property
    def n_sets(self) -> int:
        """The number of distinct sets, including the claim's own set."""
        return math.comb(len(self.window), self.size)

    def seed(self, seed: int) -> tuple[int, int]:
        """Return a seed for random draws, computed from ``seed``, the window and the set size."""
        numbers = np.array([1, len(self.window), self.size, *self.window], "<i8")
        return int(seed), zlib.crc32(numbers.tobytes())

    def best_set(self, statistics: Mapping[int, float]) -> tuple[int, ...]:
        """Return the set with the largest sum of statistics."""
        ranked = sorted(self.window, key=statistics.__getitem__, reverse=True)
        return tuple(ranked[: self.size])

    def sample(self, generator: np.random.Generator, sets: int) -> list[tuple[int, ...]]:
        """Draw random sets of items."""
        rows = np.asarray(self.window)[self._draws(generator, sets)]
        return [tuple(row) for row in np.sort(rows, axis=1).tolist()]

    def null(
        self, statistics: Mapping[int, float], generator: np.random.Generator
    ) -> NullDistribution:
        """Return the sums of all sets, or of `N_DRAWS` random sets if there are too many sets."""
        values = np.array([statistics[item] for item in self.window])
        if self.n_sets <= MAX_ENUMERATED_SETS:
            sums = [math.fsum(row) for row in itertools.combinations(values.tolist(), self.size)]
            return NullDistribution(np.array(sums), exhaustive=True)
        return NullDistribution(values[self._draws(generator, N_DRAWS)].sum(1), exhaustive=False)

    def _draws(self, generator: np.random.Generator, sets: int) -> Integers:
        every = np.tile(np.arange(len(self.window)), (sets, 1))
        return generator.permuted(every, axis=1)[:, : self.size]


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """The statistics of the control sets, ``(set,)``.

    If ``exhaustive`` is true, all possible sets are included, even the claim's own set. If
    ``exhaustive`` is false, the sets were drawn at random.
    """

    values: Floats
    exhaustive: bool

    @cached_property
    def _slack(self) -> float:
        return _TIE * float(np.abs(self.values).max(initial=0.0))

    def p_high(self, statistic: float) -> float:
        """Return the one-sided p-value: the share of ``values`` that are at least ``statistic``.

        For random sets, the p-value is ``(1 + #{value >= statistic}) / (draws + 1)``.

        Reference:
            Phipson & Smyth 2010, "Permutation P-values Should Never Be Zero".
        """
        return self._p(int((self.values >= statistic - self._slack).sum()))

    def p_low(self, statistic: float) -> float:
        """Return the one-sided p-value: the share of ``values`` that are at most ``statistic``."""
        return self._p(int((self.values <= statistic + self._slack).sum()))

    def _p(self, count: int) -> float:
        sets = len(self.values)
        return max(count, 1) / sets if self.exhaustive else (count + 1) / (sets + 1)


@dataclass(frozen=True, eq=False)
class ReferenceDistribution:
    """The distribution of the standardised effects of single items in other inputs.

    ``values`` contains the quantiles at ``levels``. Both increase and have the shape ``(level,)``.
    """

    values: Floats
    levels: Floats

    def p_high(self, statistic: float) -> float:
        """Return the share of effects ``>= statistic``. The minimum is ``1 - levels[-1]``."""
        below = np.interp(statistic, self.values, self.levels)
        return float(np.clip(1 - below, 1 - self.levels[-1], 1.0))

    def p_low(self, statistic: float) -> float:
        """Return the share of effects ``<= statistic``."""
        return self.mirrored().p_high(-statistic)

    def mirrored(self) -> ReferenceDistribution:
        """Return the distribution of the effects with reversed signs."""
        return ReferenceDistribution(-self.values[::-1], 1 - self.levels[::-1])

    def rarity(self, statistic: float) -> float:
        """Return the share of effects with an absolute value of at least ``|statistic|``."""
        size = abs(statistic)
        return min(1.0, self.p_high(size) + self.p_low(-size))


ItemSets = Sequence[tuple[int, ...]]
Predict = Callable[[NDArray[np.bool_]], Floats]
"""A function from masks ``(mask, item)`` to probabilities ``(mask, outcome)``. A mask is true where
an item is visible."""

MODEL: Final = "model"
"""The site of claims about the whole model. Every other site is the name of a head."""

_ROUNDING: Final = 1e-3


def check_probabilities(
    predict: Predict, masks: NDArray[np.bool_], outcomes: int | None = None
) -> Floats:
    """Compute and check the model's probabilities, ``(mask, outcome)``.

    Raises:
        InputError: the model did not return one row of probabilities for each mask.
    """
    answer = predict(masks)
    try:
        table = np.asarray(answer, dtype=float)
    except (TypeError, ValueError, RuntimeError):  # ragged, on another device, or with a gradient
        table = np.zeros(0)
    if table.ndim != 2 or table.shape != (len(masks), outcomes or table.shape[1]):
        raise InputError(
            f"the model's answer to {len(masks)} masks is not a table with one row per mask",
            remedy=f"return an array (mask, outcome) with {outcomes or 'the same number of'} "
            "outcomes in every call",
        )
    if not ((table >= -_ROUNDING).all() and (np.abs(table.sum(1) - 1) <= _ROUNDING).all()):
        raise InputError(
            "the model's answer contains rows that are not probabilities with a sum of 1",
            remedy="return a softmax over the outcomes, in double precision",
        )
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement derived from attention, and the items to hide.

    Attributes:
        text: the statement.
        removed: the items to hide.
        window: the items from which control sets are drawn.
        beyond: columns of `attnlens.evidence.trial.Trial.structure`, such as the distance. The test
            subtracts the influence of these columns from the effects.
        raises: the outcomes (columns) that the items make more likely according to ``text``; empty
            if ``text`` names none.
        lift: the items' mean weight, divided by the mean weight of all items; ``None`` if ``text``
            does not mention attention. The claim is not tested if the lift is below `MIN_LIFT`.
        first: whether the claim is tested first in its family, at the level `FIRST_LEVEL`.
        site: where the items are hidden: `MODEL`, or the name of a head.
    """

    text: str
    removed: tuple[int, ...]
    window: tuple[int, ...]
    beyond: tuple[int, ...] = ()
    raises: tuple[int, ...] = ()
    lift: float | None = None
    first: bool = False
    site: str = MODEL

    @property
    def family(self) -> str:
        """The family for the correction of p-values; ``"known"`` without a window."""
        if not self.window:
            return "known"
        return "model" if self.site == MODEL else "head"

    @property
    def pool(self) -> Pool:
        """The possible control sets."""
        return Pool(self.window, len(self.removed))

    @property
    def even(self) -> bool:
        """Whether the lift is too low for a test."""
        return self.lift is not None and self.lift < MIN_LIFT


C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, slots=True)
class AblationSite:
    """A place where items can be hidden: the whole model, or one head.

    Attributes:
        items: the items, in the order of the masks' columns.
        translate: converts a claim to the items of this site; None if the site has the model's
            items.
        outcomes: the number of outcomes; None if unknown.
    """

    predict: Predict
    items: tuple[int, ...]
    translate: Callable[[Claim], Claim] | None = None
    outcomes: int | None = None

    def probs_without(self, sets: ItemSets) -> Floats:
        """Return the probabilities with each set of items hidden, ``(set, outcome)``."""
        column = {item: number for number, item in enumerate(self.items)}
        masks = np.ones((len(sets), len(self.items)), bool)
        rows = np.repeat(np.arange(len(sets)), [len(items) for items in sets])
        masks[rows, [column[item] for item in itertools.chain.from_iterable(sets)]] = False
        return check_probabilities(self.predict, masks, self.outcomes)


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """The results of hiding each item alone.

    ``full`` contains the probabilities with nothing hidden, ``(outcome,)``. ``loo_probs`` contains
    the probabilities without each item. ``effects`` contains the effect of each item, in nats.
    """

    full: Floats
    loo_probs: Mapping[int, Floats]
    effects: Mapping[int, float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClaimTest(Generic[C]):
    """The result of testing a claim: the effect of hiding the items, and the verdict.

    Attributes:
        full: the probabilities with nothing hidden, ``(outcome,)``.
        probabilities: the probabilities with the claim's items hidden, ``(outcome,)``.
        effect: the effect of hiding the items together, in nats.
        singles: the effect of hiding each item alone, in the order of ``claim.removed``: the
            decrease of the log-odds of ``claim.raises`` or of the explained outcome (positive if
            the item raises the outcome), or the effect in nats if there is no such outcome.
        share: the head's effect divided by the whole model's effect, from 0 to 1; ``None`` for a
            claim about the model.
        null_effects: the summed effects of the control sets, in nats; empty if not tested.
        statistic: the sum of `attnlens.evidence.trial.Trial.item_statistics` over the items.
        null_statistics: the statistic of each control set.
        p: the one-sided p-value for a large statistic; ``None`` if not tested.
        p_low: the one-sided p-value for a small statistic; 1 if not tested.
        p_best: the p-value of the best set, which has the largest statistic.
        best_matters: whether the best set has a noticeable effect in the claimed direction.
        untested: the judgement of an untested claim; ``None`` for a tested claim.
        removed: the hidden items, as item numbers of the claim's site.
        q: the p-value, corrected for multiple tests in the family.
        outcomes_replaced: the result of a second test, or ``None``. In the second test, expected
            outcomes replace the recorded outcomes of the items.
        control_probs: the probabilities with each of ``control_sets`` hidden, ``(set, outcome)``;
            ``None`` if not requested.
    """

    claim: C
    removed: tuple[int, ...]
    full: Floats
    probabilities: Floats
    effect: float
    singles: Floats
    share: float | None = None
    null_effects: Floats = field(default_factory=lambda: np.zeros(0))
    statistic: float = 0.0
    null_statistics: Floats = field(default_factory=lambda: np.zeros(0))
    p: float | None = 1.0
    p_low: float = 1.0
    p_best: float = 0.0
    best_matters: bool = True
    untested: Judgement | None = None
    control_sets: tuple[tuple[int, ...], ...] = ()
    q: float | None = None
    judgement: Judgement = NO_VERDICT
    outcomes_replaced: ClaimTest[C] | None = None
    control_probs: Floats | None = None

    @property
    def points(self) -> Floats:
        """The change of each outcome's probability in percentage points, ``(outcome,)``."""
        return 100 * (self.probabilities - self.full)

    def log_odds_change(self, outcomes: Sequence[int]) -> float:
        """Return the decrease of the log-odds of ``outcomes`` when the items are hidden."""
        return float(log_odds(self.full, outcomes) - log_odds(self.probabilities, outcomes))

    @property
    def family(self) -> str:
        return self.claim.family

    @property
    def removed_from(self) -> Literal["model", "head"]:
        return "model" if self.claim.site == MODEL else "head"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; ``None`` if the claim is not judged."""
        return self.judgement.verdict

    @property
    def reason(self) -> str | None:
        return self.judgement.reason
