"""A claim that some items mattered to a prediction, or that a head's attention to them did.

An item is a key of attention, such as a word or a frame. To test a claim, its items are hidden from
the whole model or from a single head.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnlens.errors import InputError
from attnlens.evidence.null import Pool
from attnlens.evidence.scores import log_odds
from attnlens.evidence.verdict import MIN_LIFT, NO_VERDICT, Judgement, Verdict
from attnlens.files import Floats

ItemSets = Sequence[tuple[int, ...]]
Predict = Callable[[NDArray[np.bool_]], Floats]
"""A function from masks ``(mask, item)``, true for visible items, to probabilities ``(mask,
outcome)``.
"""

MODEL: Final = "model"
"""The site of claims about the whole model; every other site is a head."""

_ROUNDING: Final = 1e-3


def check_probabilities(
    predict: Predict, masks: NDArray[np.bool_], outcomes: int | None = None
) -> Floats:
    """Return the model's probabilities for each mask, ``(mask, outcome)``.

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
            f"the model's answer to {len(masks)} masks is not a table with as many rows",
            remedy=f"give an array (mask, outcome), of {outcomes or 'as many'} outcomes each time",
        )
    if not ((table >= -_ROUNDING).all() and (np.abs(table.sum(1) - 1) <= _ROUNDING).all()):
        raise InputError(
            "the model's answer has rows that are not probabilities with a sum of 1",
            remedy="give a softmax over the outcomes, in double precision",
        )
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement derived from attention, and the items to hide to test it.

    Attributes:
        window: the items from which ``removed`` could have been chosen.
        beyond: the columns of `attnlens.evidence.trial.Trial.structure` that must not explain the
            effect: their part is subtracted before the test.
        raises: the outcomes (columns) that the items raise, if ``text`` says so.
        lift: the mean weight of the items divided by the mean weight of all items, if the text says
            that a head attended to them. Below `MIN_LIFT`, the claim is not tested.
        first: whether the claim is tested before the others about the model, at its own level.
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
        """The claims with which p is corrected together; empty for a claim without a window."""
        if not self.window:
            return "known"
        return "model" if self.site == MODEL else "head"

    @property
    def pool(self) -> Pool:
        """The control sets: sets of the same size from the claim's window."""
        return Pool(self.window, len(self.removed))

    @property
    def even(self) -> bool:
        """Whether the head attended to the items only slightly more than to others."""
        return self.lift is not None and self.lift < MIN_LIFT


C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, slots=True)
class AblationSite:
    """A place where items can be hidden: the whole model, or one head.

    Attributes:
        items: the items, in the order of the masks' columns.
        translate: converts a claim to these items, if they differ from the items of the model.
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
    """Probabilities ``(outcome,)`` with nothing hidden and without each item, and each effect
    in nats.
    """

    full: Floats
    loo_probs: Mapping[int, Floats]
    effects: Mapping[int, float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClaimTest(Generic[C]):
    """A claim, the effect of hiding its items, its null distribution and its verdict.

    Attributes:
        full: the probabilities with nothing hidden, ``(outcome,)``.
        probabilities: the probabilities with all items of the claim hidden, ``(outcome,)``.
        effect: the effect of hiding the items together, in nats.
        singles: the effect of each item alone, in the order of ``claim.removed``: the decrease of
            the log-odds of the explained outcome when the item is hidden (positive: the item raises
            the outcome), or nats.
        share: the effect at a head divided by the effect of hiding the same items from the whole
            model, at most 1; ``None`` for a claim about the model.
        null_effects: the summed effects of the control sets in nats; empty if the claim is not
            tested.
        statistic: the test statistic: the sum of
            `attnlens.evidence.trial.Trial.item_statistics`.
        null_statistics: the statistic of each control set.
        p: the one-sided p-value for a statistic at least as large; ``None`` if the claim is not
            tested.
        p_low: the one-sided p-value for a statistic at least as small.
        p_best: the p-value of the best set of the same size.
        best_matters: whether hiding the best set has a noticeable effect in the claimed direction.
        untested: the judgement of a claim that is not tested.
        removed: the items as the site numbers them.
        q: p corrected for the number of claims in the family.
        outcomes_replaced: the same claim, tested with the outcomes of its items replaced.
        control_probs: the probabilities with each of ``control_sets`` hidden, ``(set, outcome)``,
            if requested.
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
        """The decrease of the log-odds of these outcomes when the items are hidden.

        A positive value means that the items raise the outcomes.
        """
        return float(log_odds(self.full, outcomes) - log_odds(self.probabilities, outcomes))

    @property
    def family(self) -> str:
        return self.claim.family

    @property
    def removed_from(self) -> Literal["model", "head"]:
        return "model" if self.claim.site == MODEL else "head"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; ``None`` before `attnlens.evidence.trial.judge_tests`, or if nothing is
        claimed.
        """
        return self.judgement.verdict

    @property
    def reason(self) -> str | None:
        return self.judgement.reason
