"""A claim: that some items mattered to a prediction, or that a head's look at them did.

An item is a key of attention: a word, a frame. Claims are of two kinds that are never mixed. *These
items mattered* names no head: the items are hidden from the whole model. *This head's look
mattered* hides them from that head alone, and with it goes the share: the head's effect over that
of hiding the same items from the whole model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Floats
from attnlens.errors import InputError
from attnlens.evidence.verdict import LEAST_LIFT, Judged

Sets = Sequence[tuple[int, ...]]
Predict = Callable[[NDArray[np.bool_]], Floats]
"""Masks ``(mask, item)``, true where an item is kept, to probabilities ``(mask, outcome)``."""

Replace = Callable[[Sets], Floats]
"""Sets of items, each replaced by items drawn from similar situations, to probabilities
``(set, outcome)``; a set that is listed again is another draw."""

MODEL: Final = "model"
"""The place of claims about the whole model; every other place is a head."""

ROUNDING: Final = 1e-3
"""Probabilities sum to 1, and none is below 0, by no more than this."""

A = TypeVar("A", bound=Sequence[object] | NDArray[np.bool_])


def answers(ask: Callable[[A], Floats], asked: A, outcomes: int | None = None) -> Floats:
    """What a model says to each question, ``(question, outcome)``; refused if no probabilities.

    Args:
        outcomes: how many there are, where that is known.

    Raises:
        InputError: the answer is not one row of probabilities for each question.
    """
    told = ask(asked)
    try:
        found = np.asarray(told, dtype=float)
    except (TypeError, ValueError, RuntimeError):  # ragged, on another device, with a gradient
        found = np.zeros(0)
    if found.ndim != 2 or found.shape != (len(asked), outcomes or found.shape[1]):
        raise InputError(
            f"the model's answer to {len(asked)} masks is no table of as many rows",
            remedy=f"give an array (mask, outcome), of {outcomes or 'as many'} outcomes each time",
        )
    if not ((found >= -ROUNDING).all() and (np.abs(found.sum(1) - 1) <= ROUNDING).all()):
        raise InputError(
            "the model answers with what is no number, is below 0 or does not sum to 1",
            remedy="give a softmax over the outcomes, in double precision",
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something the attention says, and the items to hide to test it.

    Attributes:
        removed: the items, a subset of ``window``.
        window: the items that could have been named instead.
        matched: whether the sets to compare with must have as many items of each kind as the
            claim's: as many as far back, say.
        raises: outcomes (columns) that the items raise, as ``text`` has it; empty where it
            gives no direction.
        lift: how many times the weight of even attention a head gave the items, where it is
            said that a head looked at them. Under `LEAST_LIFT` it did not, and there is
            nothing to test: of a head that looks at everything alike, the items it gave most
            weight are chance's or the sorting's.
        first: whether it is tested before the others of the model, at a level of its own.
        place: where its items are hidden: `MODEL`, or the name of a head.
    """

    text: str
    removed: tuple[int, ...]
    window: tuple[int, ...]
    matched: bool = False
    raises: tuple[int, ...] = ()
    lift: float | None = None
    first: bool = False
    place: str = MODEL

    @property
    def family(self) -> str:
        """The claims that it is corrected with: those of its kind.

        One without a window is about what was known beside the items.
        """
        if not self.window:
            return "known"
        return "model" if self.place == MODEL else "head"

    @property
    def even(self) -> bool:
        """Whether it says that a head looked at what it looked at no more than at others."""
        return self.lift is not None and self.lift < LEAST_LIFT


C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, slots=True)
class Place:
    """Where items can be taken away from: the whole model, or one head's edges alone.

    Attributes:
        predict: what the model says with items hidden there.
        items: the items, in the order of the masks' columns.
        replace: the second operator, if there is one.
        inside: a claim in these items, where they are not the model's own.
        outcomes: how many there are, where that is known.
    """

    predict: Predict
    items: tuple[int, ...]
    replace: Replace | None = None
    inside: Callable[[Claim], Claim] | None = None
    outcomes: int | None = None

    def within(self, claim: Claim) -> Claim:
        """The claim in the items of this place."""
        return claim if self.inside is None else self.inside(claim)

    def without(self, sets: Sets) -> Floats:
        """Probabilities with each set of items hidden, ``(set, outcome)``."""
        column = {item: number for number, item in enumerate(self.items)}
        masks = np.ones((len(sets), len(self.items)), bool)
        rows = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
        masks[rows, [column[item] for item in itertools.chain.from_iterable(sets)]] = False
        return answers(self.predict, masks, self.outcomes)


@dataclass(frozen=True, slots=True, eq=False)
class Hidden:
    """A place with nothing, and with each item hidden alone.

    Attributes:
        full: probabilities with everything, ``(outcome,)``.
        alone: item to probabilities without it.
        effects: item to what hiding it alone costs, nats.
    """

    full: Floats
    alone: Mapping[int, Floats]
    effects: Mapping[int, float]


QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""What is told of what chance would have named."""


def quantiles(values: Floats) -> tuple[float, ...] | None:
    """`QUANTILES` of some values; ``None`` of none."""
    return tuple(np.quantile(values, QUANTILES).tolist()) if len(values) else None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tested(Generic[C]):
    """A claim, what hiding its items did, and what chance would have done.

    Attributes:
        probabilities: without all of them ``(outcome,)``.
        effect: of that, nats.
        points: change of each outcome, percentage points ``(outcome,)``.
        singles: effect of each of them hidden alone, nats, in the order of ``claim.removed``.
        share: a head's effect over that of hiding the same items from the whole model, 1 where
            the head alone does as much or more; ``None`` for a claim about the model.
        chance: what each other set that chance would have named costs, its effects summed as they
            would be in the places of these items, nats; none where the claim is not tested.
        statistic: what is compared, see `attnlens.evidence.trial.Trial.moves`.
        statistics: the same of what chance would have named; none where the claim is not tested.
        p, q: ``None`` where the claim is not tested.
        replaced: nats of each draw of the second operator; ``None`` where it was not tried.
        replaced_controls: the same for sets that chance would have named.
    """

    claim: C
    probabilities: Floats
    effect: float
    points: Floats
    singles: Floats
    share: float | None
    chance: Floats
    statistic: float
    statistics: Floats
    p: float | None
    q: float | None
    judged: Judged
    replaced: Floats | None = None
    replaced_controls: Floats | None = None

    @property
    def family(self) -> str:
        """As `Claim.family`."""
        return self.claim.family

    @property
    def removed_from(self) -> Literal["model", "head"]:
        """``model`` or ``head``."""
        return "model" if self.claim.place == MODEL else "head"
