"""Testing what attention says, on any model, and sharing a prediction out over groups.

The model is a function from masks ``(mask, item)``, true where an item (a key of attention: a
word, a frame) is visible, to probabilities ``(mask, outcome)``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

import numpy as np

from attnlens.errors import InputError
from attnlens.evidence.claim import (
    MODEL,
    AblationSite,
    C,
    Claim,
    ClaimTest,
    LeaveOneOut,
    Predict,
    check_probabilities,
)
from attnlens.evidence.shapley import Contributions, contributions
from attnlens.evidence.trial import BATCH_TOLERANCE, Trial

MAX_HEAD_ITEMS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class GatheredEvidence(Generic[C]):
    """The results of every intervention on one input; masks evaluated, by purpose.

    ``rarity`` is by item, as of `attnlens.evidence.trial.Trial.rarity`.
    """

    leave_one_out: LeaveOneOut
    contributions: Contributions
    tests: list[ClaimTest[C]] = field(default_factory=list)
    rarity: Mapping[int, float | None] = field(default_factory=dict)
    n_evaluations: dict[str, int] = field(default_factory=dict)


def gather(
    predict: Predict,
    claims: Sequence[C],
    groups: Mapping[str, Sequence[int]],
    *,
    items: Sequence[int],
    outcome: int | None = None,
    lowers: bool = False,
    seed: int = 0,
    heads: Mapping[str, Predict] | None = None,
) -> GatheredEvidence[C]:
    """Test claims about one input and share its prediction out over groups of items.

    Args:
        predict: masks over ``items``, true where visible, to probabilities.
        groups: name to items; every item in exactly one group.
        items: the items, in the order of the masks' columns.
        outcome: the outcome (column) to explain; without, the whole distribution.
        lowers: whether claims say that their items lower its probability; else that they raise it.
        heads: by the names that claims have as their `Claim.site`, the model's probabilities with
            items hidden from that head alone.

    Raises:
        InputError: groups that share an item or miss one, too many groups, a claim about what
            does not exist or that names an item twice, answers that are no probabilities or
            differ each time.
    """
    if _repeated(items):
        raise InputError(f"item {min(_repeated(items))} is listed twice", remedy="list items once")
    parts = contributions(lambda masks: check_probabilities(predict, masks), groups, items)
    outcomes = range(len(parts.full))
    if outcome not in (None, *outcomes):
        raise InputError(f"there is no outcome {outcome}", remedy=f"the last is {outcomes[-1]}")
    if MODEL in (heads or {}):
        raise InputError(f"no head can be called {MODEL!r}", remedy="give it another name")
    sites = {
        name: AblationSite(function, tuple(items), outcomes=len(outcomes))
        for name, function in {**(heads or {}), MODEL: predict}.items()
    }
    for claim in claims:
        _check(claim, sites, outcomes)
    if _repeated([claim.site == MODEL for claim in claims if claim.first]):
        raise InputError("more than one claim is first", remedy="test one of them first")
    trial: Trial[C] = Trial(sites, seed=seed, outcome=outcome, lowers=lowers)
    tests = trial.compare(claims)
    for site in dict.fromkeys([MODEL, *(claim.site for claim in claims)]):
        if np.abs(trial.leave_one_out(site).full - parts.full).max() > BATCH_TOLERANCE:
            raise InputError(
                f"with nothing hidden, {site!r} gives a different answer than the model",
                remedy="call model.eval() first, and ask heads about the same input",
            )
    return GatheredEvidence(
        leave_one_out=trial.leave_one_out(MODEL),
        contributions=parts,
        tests=trial.judge(tests),
        n_evaluations={"contributions": parts.masks, **trial.n_evaluations},
    )


def _check(claim: Claim, sites: Mapping[str, AblationSite], outcomes: range) -> None:
    removed, window = set(claim.removed), set(claim.window)
    lift = {claim.lift} if math.isnan(claim.lift or 0) else set()
    unknown = "name items that the masks have"
    faults: list[tuple[Collection[object], str, str]] = [
        ((removed | window) - set(sites[MODEL].items), "names {}", unknown),
        (
            _repeated(claim.removed) | _repeated(claim.window),
            "names {} twice",
            "name every item once",
        ),
        (removed - window, "removes what its window has not", unknown),
        ({claim.site} - set(sites), "is about {!r}", f"name one of {', '.join(sites)}"),
        (set(claim.raises) - set(outcomes), "raises outcome {}", f"the last is {outcomes[-1]}"),
        (_repeated(claim.raises), "raises outcome {} twice", "name every outcome once"),
        (lift, "has a lift that is not a number", "leave it out"),
    ]
    for culprits, fault, remedy in faults:
        if culprits:
            message = fault.format(next(iter(culprits)))
            raise InputError(f"the claim {claim.text!r} {message}", remedy=remedy)


def _repeated(values: Sequence[int]) -> set[int]:
    return {value for value, count in Counter(values).items() if count > 1}
