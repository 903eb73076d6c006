"""Test the claims about one prediction.

The test statistic is the sum of the effects of hiding each item alone. The statistic is compared
with the sums of control sets (`attnlens.evidence.claim`). `gather` works for any model that is
given as a function from masks to probabilities.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Generic, Protocol

import numpy as np

from attnlens.errors import InputError
from attnlens.evidence.claim import (
    MODEL,
    AblationSite,
    C,
    Claim,
    ClaimTest,
    ItemSets,
    LeaveOneOut,
    Pool,
    Predict,
    ReferenceDistribution,
    check_probabilities,
)
from attnlens.evidence.scores import divergence, log_odds
from attnlens.evidence.shapley import Contributions, contributions
from attnlens.evidence.verdict import (
    AMONG,
    CHANCE,
    ELSEWHERE,
    EVEN,
    FIRST_LEVEL,
    ITEMS,
    MIN_SHARE,
    NO_VERDICT,
    Q_LEVEL,
    TOO_FEW_LIKE_IT,
    TOO_SMALL,
    Judgement,
    benjamini_hochberg,
    fixed_sequence,
    judge,
    none_matters,
    noticeable,
    one_against_rest,
    too_few,
)
from attnlens.files import Floats

N_CONTROL_SETS: Final = 39
_TOLERANCE: Final = 1e-6
"""The largest allowed difference between two probabilities of one input in the same batch."""

BATCH_TOLERANCE: Final = 0.01
"""The largest allowed difference between two probabilities of one input in different batches."""

_UNSTEADY: Final = "the model's answer changes from one call to the next"
_EVAL: Final = "call model.eval() first, so that the model is deterministic"

_MODEL_REPEATS: Final = 24
_HEAD_REPEATS: Final = 4
"""The numbers of masks that are evaluated twice to detect a model with random results."""


@dataclass(eq=False)
class Trial(Generic[C]):
    """The claims of one prediction, tested together.

    Args:
        sites: the sites by name, including `MODEL`.
        seed: the seed of the random control sets.
        usual: for each site and item, the mean and the standard deviation of `change`, measured at
            the same position in other inputs. If ``usual`` is given, changes are standardised.
        reference: the distribution of the standardised changes of items in other inputs. Claims
            about a single item of the whole model are tested with this distribution if
            `Claim.raises` is empty. All other claims are tested with control sets.
        structure: for each item, numbers that do not depend on the item's content, such as the
            distance (see `Claim.beyond`).
        outcome: the explained outcome (column); None for the whole distribution.
        lowers: whether the claims say that items decrease the outcome's probability. The default is
            an increase.
        items: the noun for items in reasons, such as ``words``.
        tolerance: the largest allowed difference between two probabilities of one input in the same
            batch.
    """

    sites: Mapping[str, AblationSite]
    _: KW_ONLY
    seed: int
    usual: Mapping[str, Mapping[int, tuple[float, float]]] = field(default_factory=dict)
    reference: ReferenceDistribution | None = None
    structure: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    outcome: int | None = None
    lowers: bool = False
    items: str = ITEMS
    tolerance: float = _TOLERANCE
    n_evaluations: Counter[str] = field(default_factory=Counter, init=False)
    _leave_one_out: dict[str, LeaveOneOut] = field(default_factory=dict, init=False)

    def effect(self, full: Floats, other: Floats) -> Floats:
        """Return the KL divergence in nats, for all outcomes or for the explained outcome."""
        if self.outcome is not None:
            full, other = (one_against_rest(probs, self.outcome) for probs in (full, other))
        return divergence(full, other)

    def probs_without(self, site: str, sets: ItemSets) -> Floats:
        """Return the probabilities with each set hidden at a site, ``(set, outcome)``.

        Raises:
            InputError: the model does not return probabilities, or the results of two runs differ.
        """
        full = self.leave_one_out(site).full
        repeated, *probs = self._evaluate(site, [(), *sets])
        if np.abs(repeated - full).max() > BATCH_TOLERANCE:
            raise InputError(_UNSTEADY, remedy=_EVAL)
        return np.stack(probs) if probs else np.zeros((0, len(full)))

    def _evaluate(self, site: str, sets: ItemSets) -> Floats:
        self.n_evaluations[site] += len(sets)
        return self.sites[site].probs_without(sets)

    def leave_one_out(self, site: str) -> LeaveOneOut:
        """Return the results of hiding each item alone at a site. The results are cached."""
        if site not in self._leave_one_out:
            items = self.sites[site].items
            sets = [(), *((item,) for item in items)]
            repeats = min(_MODEL_REPEATS if site == MODEL else _HEAD_REPEATS, len(sets))
            repeated = np.linspace(0, len(sets) - 1, repeats).astype(int)
            probs = self._evaluate(site, [*sets, *(sets[number] for number in repeated)])
            if np.abs(probs[repeated] - probs[len(sets) :]).max() > self.tolerance:
                raise InputError(_UNSTEADY, remedy=_EVAL)
            full, *rows = probs[: len(sets)]
            effects = self.effect(full, np.stack(rows)) if rows else np.zeros(0)
            self._leave_one_out[site] = LeaveOneOut(
                full,
                dict(zip(items, rows, strict=True)),
                dict(zip(items, effects.tolist(), strict=True)),
            )
        return self._leave_one_out[site]

    def change(self, full: Floats, other: Floats, raises: Sequence[int] = ()) -> Floats:
        """Return how much hiding items changes the prediction, in the claimed direction.

        For the whole distribution, the change is in nats. For ``raises`` or an explained outcome,
        the change is in log-odds and has a sign.

        Args:
            full, other: the probabilities with nothing hidden, and with items hidden.
            raises: the outcomes in `Claim.raises`.
        """
        outcomes = raises or (() if self.outcome is None else (self.outcome,))
        if not outcomes:
            return divergence(full, other)
        delta = log_odds(full, outcomes) - log_odds(other, outcomes)
        return -delta if self.lowers and not raises else delta

    def item_statistics(self, site: str, claim: Claim) -> Mapping[int, float]:
        """Return the statistic of each item: the `change` from hiding the item.

        The change is standardised if ``usual`` contains the site and `Claim.raises` is empty.
        """
        loo = self.leave_one_out(site)
        changes = self.change(loo.full, np.array(list(loo.loo_probs.values())), claim.raises)
        if site in self.usual and not claim.raises and len(changes):
            mean, deviation = np.array([self.usual[site][item] for item in loo.loo_probs]).T
            changes = (changes - mean) / deviation
        statistics = dict(zip(loo.loo_probs, changes.tolist(), strict=True))
        return statistics | self._beyond_structure(claim, statistics)

    def _beyond_structure(self, claim: Claim, statistics: Mapping[int, float]) -> dict[int, float]:
        if not claim.beyond or self._reference_for(claim) is not None:
            return {}
        values = np.array([statistics[item] for item in claim.window])
        columns = [[self.structure[item][at] for at in claim.beyond] for item in claim.window]
        design = np.column_stack([np.ones(len(values)), np.array(columns)])
        fit = design @ np.linalg.lstsq(design, values, rcond=None)[0]
        return dict(zip(claim.window, (values - fit).tolist(), strict=True))

    def _reference_for(self, claim: Claim) -> ReferenceDistribution | None:
        single = len(claim.removed) == 1 and claim.site == MODEL and not claim.raises
        return self.reference if single else None

    def _null_effects(self, claim: Claim, pool: Pool) -> Floats:
        effects = self.leave_one_out(claim.site).effects
        null = pool.null(effects, np.random.default_rng(pool.seed(self.seed)))
        if not null.exhaustive:
            return null.values
        own = sum(effects[item] for item in claim.removed)
        return np.delete(null.values, np.abs(null.values - own).argmin())

    def _singles(self, claim: Claim) -> Floats:
        loo = self.leave_one_out(claim.site)
        outcomes = claim.raises or (() if self.outcome is None else (self.outcome,))
        if not outcomes:
            return np.array([loo.effects[item] for item in claim.removed])
        full = log_odds(loo.full, outcomes)
        return np.array([full - log_odds(loo.loo_probs[item], outcomes) for item in claim.removed])

    def compare(self, claims: Sequence[C]) -> list[ClaimTest[C]]:
        """Test each claim, without q-values and verdicts."""
        site_claims = [
            translate(claim) if (translate := self.sites[claim.site].translate) else claim
            for claim in claims
        ]
        best_sets = [
            claim.pool.best_set(self.item_statistics(claim.site, claim)) for claim in site_claims
        ]
        # The items of a head's claim are also hidden from the whole model, to compute its share.
        heads = [number for number, claim in enumerate(claims) if claim.site != MODEL]
        probs: list[list[Floats]] = [[] for _ in claims]
        for site in dict.fromkeys((MODEL, *(claim.site for claim in claims))):
            numbers = [number for number, claim in enumerate(claims) if claim.site == site]
            sets = [site_claims[number].removed for number in numbers]
            sets += [best_sets[number] for number in numbers]
            numbers *= 2
            if site == MODEL:
                sets += [claims[number].removed for number in heads]
                numbers += heads
            for number, row in zip(numbers, self.probs_without(site, sets), strict=True):
                probs[number].append(row)
        return list(map(self._test, claims, site_claims, probs))

    def _test(self, claim: C, site_claim: Claim, probs: Sequence[Floats]) -> ClaimTest[C]:
        """Test a claim. ``site_claim`` is the claim with the item numbers of its site."""
        *model_probs, own, best = probs
        loo = self.leave_one_out(claim.site)
        statistics = self.item_statistics(claim.site, site_claim)
        effect = float(self.effect(loo.full, own))
        if not np.isfinite([effect, *statistics.values()]).all():
            raise InputError(
                "the effect of hiding an item is not a finite number",
                remedy="make every mean in usual finite and every standard deviation positive",
            )
        pool, reference = site_claim.pool, self._reference_for(site_claim)
        generator = np.random.default_rng(pool.seed(self.seed))
        null = pool.null(statistics, generator)
        against = reference or null
        statistic = sum(statistics[item] for item in site_claim.removed)
        test = ClaimTest(
            claim=claim,
            removed=site_claim.removed,
            full=loo.full,
            probabilities=own,
            effect=effect,
            singles=self._singles(site_claim),
            share=self._share(claim, own, *model_probs) if model_probs else None,
            statistic=statistic,
            p=None,
            untested=self._untested(site_claim, pool),
            control_sets=tuple(pool.sample(generator, N_CONTROL_SETS)),
        )
        if test.untested is not None:
            return test
        return dataclasses.replace(
            test,
            null_effects=self._null_effects(site_claim, pool),
            null_statistics=null.values,
            p=against.p_high(statistic),
            p_low=against.p_low(statistic),
            p_best=against.p_high(sum(statistics[item] for item in pool.best_set(statistics))),
            best_matters=self._best_matters(site_claim, loo.full, best),
        )

    def _best_matters(self, claim: Claim, full: Floats, best: Floats) -> bool:
        points = _points_about(claim, 100 * (best - full), self.outcome)
        along = bool(self.change(full, best, claim.raises) > 0)
        return along and noticeable(float(self.effect(full, best)), points)

    def _share(self, claim: Claim, own: Floats, model_probs: Floats) -> float:
        full, full_own = self.leave_one_out(MODEL).full, self.leave_one_out(claim.site).full
        head_change = self.change(full_own, own, claim.raises)
        same_way = head_change * self.change(full, model_probs, claim.raises) > 0
        effect, total = float(self.effect(full_own, own)), float(self.effect(full, model_probs))
        return min(1.0, effect / total) if same_way and total > 0 else 0.0

    def _untested(self, claim: Claim, pool: Pool) -> Judgement | None:
        level = FIRST_LEVEL if claim.first else Q_LEVEL
        if pool.n_sets * level < 1 and self._reference_for(claim) is None:
            return Judgement("cannot be told", too_few(self.items))
        return Judgement(None, EVEN) if claim.even else None

    def judge(self, tests: Sequence[ClaimTest[C]]) -> list[ClaimTest[C]]:
        """Add q-values and verdicts to the tests."""
        return judge_tests(tests, outcome=self.outcome, lowers=self.lowers, items=self.items)


def judge_tests(
    tests: Sequence[ClaimTest[C]],
    *,
    outcome: int | None = None,
    lowers: bool = False,
    items: str = ITEMS,
) -> list[ClaimTest[C]]:
    """Add q-values and verdicts to the tests. Each family is corrected separately.

    Args:
        outcome, lowers, items: as in `Trial`.
    """
    results = [
        dataclasses.replace(test, judgement=_elsewhere(test) or test.untested or NO_VERDICT)
        for test in tests
    ]
    for numbers, p_values in _families(tests):
        claims = [tests[number] for number in numbers]
        q_values = _q_values(claims, p_values)
        q_low = benjamini_hochberg([test.p_low for test in claims])
        for at, (number, test) in enumerate(zip(numbers, claims, strict=True)):
            judgement = _elsewhere(test) or judge(
                test.effect,
                _points_about(test.claim, test.points, outcome),
                (p_values[at], q_values[at], q_low[at]),
                against=_goes_against(test, outcome, lowers),
                items=items,
            )
            if judgement.reason in (CHANCE, AMONG, TOO_SMALL):
                if not test.best_matters:
                    judgement = Judgement("cannot be told", none_matters(items))
                elif _out_of_reach(claims, p_values, at):
                    reason = too_few(items) if test.claim.window else TOO_FEW_LIKE_IT
                    judgement = Judgement("cannot be told", reason)
            results[number] = dataclasses.replace(test, q=q_values[at], judgement=judgement)
    return results


class HasP(Protocol):
    @property
    def family(self) -> str: ...
    @property
    def p(self) -> float | None: ...


def _families(tests: Sequence[HasP]) -> Iterator[tuple[list[int], list[float]]]:
    families: dict[str, dict[int, float]] = {}
    for number, test in enumerate(tests):
        if test.p is not None:
            families.setdefault(test.family, {})[number] = test.p
    for p_values in families.values():
        yield [*p_values], [*p_values.values()]


def q_over(tests: Sequence[HasP]) -> list[float | None]:
    """Return q-values for claims about many predictions; ``None`` for untested claims.

    Each family is corrected separately.
    """
    q_values: list[float | None] = [None] * len(tests)
    for numbers, p_values in _families(tests):
        for number, q in zip(numbers, benjamini_hochberg(p_values), strict=True):
            q_values[number] = q
    return q_values


def _goes_against(test: ClaimTest[C], outcome: int | None, lowers: bool) -> bool:
    points = _points_about(test.claim, test.points, outcome)
    sign = -1 if lowers and not test.claim.raises else 1
    return len(points) < len(test.points) and sign * float(points.sum()) > 0


def _points_about(claim: Claim, points: Floats, outcome: int | None) -> Floats:
    outcomes = list(claim.raises or (() if outcome is None else (outcome,)))
    return points[outcomes] if outcomes else points


def _elsewhere(test: ClaimTest[C]) -> Judgement | None:
    carries = test.share is None or test.share >= MIN_SHARE
    return None if carries else Judgement(None, ELSEWHERE)


def _q_values(tests: Sequence[ClaimTest[C]], p_values: Sequence[float]) -> list[float]:
    first = next((at for at, test in enumerate(tests) if test.claim.first), None)
    if first is None:
        return benjamini_hochberg(p_values)
    other_p_values = [p for at, p in enumerate(p_values) if at != first]
    own, q_values = fixed_sequence(p_values[first], other_p_values)
    q_values.insert(first, own)
    return q_values


def _out_of_reach(tests: Sequence[ClaimTest[C]], p_values: Sequence[float], at: int) -> bool:
    """Whether no set of this size could be significant."""
    best = [*p_values[:at], tests[at].p_best, *p_values[at + 1 :]]
    return _q_values(tests, best)[at] > Q_LEVEL


# ---- any model

MAX_HEAD_ITEMS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class GatheredEvidence(Generic[C]):
    """The results of every intervention on one input.

    ``n_evaluations`` counts the evaluated masks for each purpose, such as a site. ``rarity`` maps
    each item to the share of reference items with an equal or larger effect.
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
    """Test claims about one input, and split its prediction among groups of items.

    Args:
        predict: the model (see `Predict`).
        groups: the items of each group.
        items: the items, in the order of the masks' columns.
        outcome: the outcome (column) to explain; by default, the whole distribution.
        lowers: as in `Trial`.
        heads: for each head, a function like ``predict`` that hides items only from this head.
            Every head that is the ``site`` of a claim needs such a function.

    Raises:
        InputError: an item is not in exactly one group, there are too many groups, a claim is
            invalid, the model does not return probabilities, or the results of two runs differ.
    """
    if _repeated(items):
        raise InputError(
            f"item {min(_repeated(items))} is listed twice", remedy="list every item once"
        )
    parts = contributions(lambda masks: check_probabilities(predict, masks), groups, items)
    outcomes = range(len(parts.full))
    if outcome not in (None, *outcomes):
        raise InputError(
            f"there is no outcome {outcome}", remedy=f"choose an outcome from 0 to {outcomes[-1]}"
        )
    if MODEL in (heads or {}):
        raise InputError(
            f"a head cannot be called {MODEL!r}, which stands for the whole model",
            remedy="give the head another name",
        )
    sites = {
        name: AblationSite(function, tuple(items), outcomes=len(outcomes))
        for name, function in {**(heads or {}), MODEL: predict}.items()
    }
    for claim in claims:
        _check(claim, sites, outcomes)
    if _repeated([claim.site == MODEL for claim in claims if claim.first]):
        raise InputError(
            "more than one claim has first=True",
            remedy="set first=True for at most one claim about the model and one about heads",
        )
    trial: Trial[C] = Trial(sites, seed=seed, outcome=outcome, lowers=lowers)
    tests = trial.compare(claims)
    for site in dict.fromkeys([MODEL, *(claim.site for claim in claims)]):
        if np.abs(trial.leave_one_out(site).full - parts.full).max() > BATCH_TOLERANCE:
            raise InputError(
                f"with nothing hidden, {site!r} gives a different answer than the model",
                remedy="call model.eval() first, and give the heads and the model the same input",
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
    unknown = "name only items that the model has, and put hidden items in the window"
    faults: list[tuple[Collection[object], str, str]] = [
        (
            (removed | window) - set(sites[MODEL].items),
            "names item {}, which does not exist",
            unknown,
        ),
        (
            _repeated(claim.removed) | _repeated(claim.window),
            "names item {} twice",
            "name every item once",
        ),
        (removed - window, "hides an item that is not in the claim's window", unknown),
        (
            {claim.site} - set(sites),
            "is about the unknown site {!r}",
            f"name one of {', '.join(sites)}",
        ),
        (
            set(claim.raises) - set(outcomes),
            "raises the unknown outcome {}",
            f"choose an outcome from 0 to {outcomes[-1]}",
        ),
        (_repeated(claim.raises), "raises outcome {} twice", "name every outcome once"),
        (lift, "has a lift that is not a number", "leave the lift out"),
    ]
    for culprits, fault, remedy in faults:
        if culprits:
            message = fault.format(next(iter(culprits)))
            raise InputError(f"the claim {claim.text!r} {message}", remedy=remedy)


def _repeated(values: Sequence[int]) -> set[int]:
    return {value for value, count in Counter(values).items() if count > 1}
