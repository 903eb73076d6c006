"""A claim: that some items mattered to a prediction, or that a head's look at them did.

An item is a key of attention: a word, a frame. Items are hidden from the whole model, or from one
head alone.
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
"""Masks ``(mask, item)``, true where an item is visible, to probabilities ``(mask, outcome)``."""

MODEL: Final = "model"
"""The site of claims about the whole model; every other site is a head."""

_ROUNDING: Final = 1e-3


def check_probabilities(
    predict: Predict, masks: NDArray[np.bool_], outcomes: int | None = None
) -> Floats:
    """The model's probabilities for each mask, ``(mask, outcome)``.

    Raises:
        InputError: the answer is not one row of probabilities for each mask.
    """
    answer = predict(masks)
    try:
        table = np.asarray(answer, dtype=float)
    except (TypeError, ValueError, RuntimeError):  # ragged, on another device, with a gradient
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
    """Something the attention says, and the items to hide to test it.

    Attributes:
        window: the items that could have been named instead of ``removed``.
        beyond: which numbers of `attnlens.evidence.trial.Trial.structure` explain no part of the
            effect that the claim states.
        raises: outcomes (columns) that the items raise, if ``text`` says so.
        lift: the mean weight of the items over the mean weight of all, where the text says that a
            head looked at them; below `MIN_LIFT` there is nothing to test.
        first: whether the claim is tested before the others of the model, at its own level.
        site: where its items are hidden: `MODEL`, or the name of a head.
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
        """The claims that it is corrected with; without a window it is about no items."""
        if not self.window:
            return "known"
        return "model" if self.site == MODEL else "head"

    @property
    def pool(self) -> Pool:
        """The sets that it is compared with: as many items of its window."""
        return Pool(self.window, len(self.removed))

    @property
    def even(self) -> bool:
        """Whether a head looked at the items not much more than at others."""
        return self.lift is not None and self.lift < MIN_LIFT


C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, slots=True)
class AblationSite:
    """Where items can be hidden: the whole model, or one head's edges alone.

    Attributes:
        items: the items, in the order of the masks' columns.
        translate: a claim in these items, where they are not the model's own.
    """

    predict: Predict
    items: tuple[int, ...]
    translate: Callable[[Claim], Claim] | None = None
    outcomes: int | None = None

    def probs_without(self, sets: ItemSets) -> Floats:
        """Probabilities with each set of items hidden, ``(set, outcome)``."""
        column = {item: number for number, item in enumerate(self.items)}
        masks = np.ones((len(sets), len(self.items)), bool)
        rows = np.repeat(np.arange(len(sets)), [len(items) for items in sets])
        masks[rows, [column[item] for item in itertools.chain.from_iterable(sets)]] = False
        return check_probabilities(self.predict, masks, self.outcomes)


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """Probabilities ``(outcome,)`` with nothing hidden and without each item; its effect, nats."""

    full: Floats
    loo_probs: Mapping[int, Floats]
    effects: Mapping[int, float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClaimTest(Generic[C]):
    """A claim, the effect of hiding its items, its null distribution and its verdict.

    Attributes:
        full: probabilities with nothing hidden ``(outcome,)``.
        probabilities: with all of the items hidden ``(outcome,)``.
        effect: of hiding them together, nats.
        singles: what each item does alone, in the order of ``claim.removed``: the log-odds of the
            explained outcome that hiding it takes away (positive: it raises it), or nats.
        share: a head's effect over that of hiding the same items from the whole model, at most 1;
            ``None`` for a claim about the model.
        null_effects: the summed effects of the control sets, nats; empty where the claim is not
            tested.
        statistic: what p compares: the sum of `attnlens.evidence.trial.Trial.item_statistics`.
        null_statistics: the statistic of each control set.
        p: one-sided, of a statistic as large; ``None`` where the claim is not tested.
        p_low: one-sided, of a statistic as small.
        p_best: p of the best set of as many items.
        best_matters: whether hiding that set is noticeable, and goes the way that is claimed.
        untested: the judgement of a claim that is not tested.
        removed: the items as the site has them.
        q: p corrected over the family.
        outcomes_replaced: the same claim tested with what happened on its items replaced.
        control_probs: probabilities with each of ``control_sets`` hidden ``(set, outcome)``, where
            that was asked.
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
        """The change of each outcome, percentage points ``(outcome,)``."""
        return 100 * (self.probabilities - self.full)

    def log_odds_change(self, outcomes: Sequence[int]) -> float:
        """The log-odds of these outcomes that hiding the items takes away: positive, they raise."""
        return float(log_odds(self.full, outcomes) - log_odds(self.probabilities, outcomes))

    @property
    def family(self) -> str:
        return self.claim.family

    @property
    def removed_from(self) -> Literal["model", "head"]:
        return "model" if self.claim.site == MODEL else "head"

    @property
    def verdict(self) -> Verdict | None:
        """``None`` before `attnlens.evidence.trial.judge_tests`, and where nothing is claimed."""
        return self.judgement.verdict

    @property
    def reason(self) -> str | None:
        return self.judgement.reason
