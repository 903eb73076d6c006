"""The rules between a p-value and a verdict, each at its exact boundary."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from claim_cases import Floats, Predict
from claim_cases import claim as claim_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from attnlens.evidence.claim import (
    MAX_ENUMERATED_SETS,
    MODEL,
    AblationSite,
    Claim,
    ClaimTest,
    NullDistribution,
    Pool,
    ReferenceDistribution,
)
from attnlens.evidence.trial import Trial, judge_tests, q_over
from attnlens.evidence.verdict import (
    AMONG,
    CHANCE,
    ELSEWHERE,
    EVEN,
    OPPOSITE,
    TOO_FEW_LIKE_IT,
    TOO_SMALL,
    none_matters,
    noticeable,
    others_do_more,
    too_few,
)

NO_BETTER, UNCLEAR = "not better than chance", "cannot be told"
WINDOW = tuple(range(20))


def result(
    p: float,
    about: Claim | None = None,
    *,
    points: Sequence[float] = (-9.0, 9.0, 0.0),
    effect: float = 0.1,
    **fields: Any,
) -> ClaimTest[Claim]:
    """A test with this p, large and along its sentence unless it is said otherwise."""
    return ClaimTest(
        claim=about or claim(3),
        removed=(3,),
        full=np.ones(3) / 3,
        probabilities=1 / 3 + np.array(points) / 100,
        effect=effect,
        singles=np.zeros(1),
        p=p,
        **fields,
    )


def verdict_of(*tests: ClaimTest[Claim], **options: Any) -> tuple[str | None, str | None]:
    """Verdict and reason of the first of these tests."""
    first = judge_tests(tests, **options)[0]
    return first.verdict, first.reason


claim = partial(claim_of, window=WINDOW)


def undecided(weights: Floats) -> Predict:
    """Even with everything; hidden items take ``weights (item, outcome)`` from the logits."""
    return lambda masks: softmax(-(~masks @ weights), -1)


def outcome_weights(*log_odds: float) -> Floats:
    """Weights ``(item, 3)`` that change the log-odds of outcome 1 alone, all else equal."""
    table = np.zeros((len(log_odds), 3))
    table[:, 1] = log_odds
    return table


def trial_of(weights: Floats, heads: dict[str, Any] | None = None, **options: Any) -> Trial[Claim]:
    items = tuple(range(len(weights)))
    sites = {MODEL: AblationSite(undecided(weights), items)}
    for name, predict in (heads or {}).items():
        sites[name] = AblationSite(predict, items)
    return Trial(sites, seed=1, **options)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (result(0.05), ("supported", None)),
        (result(0.0501), (NO_BETTER, CHANCE)),
        (result(0.04, effect=0.0004, points=(0.49, -0.49, 0)), (NO_BETTER, TOO_SMALL)),
        (result(0.04, effect=0.0005, points=(0.49, -0.49, 0)), ("supported", None)),
        (result(0.04, effect=0.0, points=(0.1, -0.5, 0)), ("supported", None)),
        # A head that carries a tenth is said to carry the effect; one that carries less is not.
        (result(0.01, claim(3, site="a"), share=0.1), ("supported", None)),
        (result(0.01, claim(3, site="a"), share=0.0999), (None, ELSEWHERE)),
        # An effect as small as few control sets have.
        (result(0.99, p_low=0.01), ("contradicted", others_do_more("items"))),
        (result(0.99, p_low=0.0101), (NO_BETTER, CHANCE)),
        (
            result(0.99, p_low=0.01, effect=0.0, points=(0, 0, 0)),
            ("contradicted", others_do_more("items")),
        ),
        # Against the sentence: only what is noticeable contradicts it.
        (result(0.01, claim(3, raises=(1,))), ("contradicted", OPPOSITE)),
        (result(0.99, claim(3, raises=(1,)), p_low=0.01), ("contradicted", OPPOSITE)),
        (
            result(0.99, claim(3, raises=(1,)), p_low=0.01, effect=0.0, points=(0, 0.2, 0)),
            (NO_BETTER, CHANCE),
        ),
        (result(0.01, claim(3, raises=(0,))), ("supported", None)),
        (result(0.01, claim(3, raises=(0, 1)), points=(-9, 8, 1)), ("supported", None)),
        # What no set could have reached, or no set does, is inconclusive.
        (result(0.9, p_best=0.05), (NO_BETTER, CHANCE)),
        (result(0.9, p_best=0.0501), (UNCLEAR, too_few("items"))),
        (result(0.9, claim(window=()), p_best=0.0501), (UNCLEAR, TOO_FEW_LIKE_IT)),
        (result(0.9, best_matters=False), (UNCLEAR, none_matters("items"))),
        (
            result(0.04, effect=0, points=(0, 0, 0), best_matters=False),
            (UNCLEAR, none_matters("items")),
        ),
        (result(0.04, best_matters=False), ("supported", None)),
    ],
)
def test_the_verdict_on_one_claim(
    test: ClaimTest[Claim], expected: tuple[str | None, str | None]
) -> None:
    assert verdict_of(test) == expected


def test_among_many_claims_p_alone_is_not_enough() -> None:
    others = [result(0.9)]
    assert verdict_of(result(0.04), *others) == (NO_BETTER, AMONG)
    assert verdict_of(result(0.05), *others) == (NO_BETTER, AMONG)
    assert verdict_of(result(0.06), *others) == (NO_BETTER, CHANCE)
    assert verdict_of(result(0.025), *others) == ("supported", None)
    # Reachable is what the best set would have had among the same claims.
    assert verdict_of(result(0.9, p_best=0.025), result(0.9)) == (NO_BETTER, CHANCE)
    assert verdict_of(result(0.9, p_best=0.026), result(0.9)) == (UNCLEAR, too_few("items"))
    # The small tail is corrected for itself, too.
    assert verdict_of(result(0.9, p_low=0.006), *others) == (NO_BETTER, CHANCE)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_outcome_that_claims_raise_or_lower(sign: int) -> None:
    options = {"outcome": 1, "lowers": sign < 0}
    falls, rises = [(0.0, -sign * 9.0, sign * 9.0), (0.0, sign * 9.0, -sign * 9.0)]
    assert verdict_of(result(0.01, points=falls), **options) == ("supported", None)
    assert verdict_of(result(0.01, points=rises), **options) == ("contradicted", OPPOSITE)
    # A claim that names its outcomes says that its items raise them, whatever the trial explains.
    own = claim(3, raises=(2,))
    assert verdict_of(result(0.01, own, points=(9, 0, -9)), **options) == ("supported", None)
    assert verdict_of(result(0.01, own, points=(-9, 0, 9)), **options) == ("contradicted", OPPOSITE)
    # What happens to other outcomes makes an effect no larger.
    small = result(0.01, points=(9, 0.4, -9.4), effect=0.0)
    assert verdict_of(small, **options) == (NO_BETTER, TOO_SMALL)


def test_each_family_has_its_own_q_and_the_first_claim_its_own_level() -> None:
    head, known = claim(3, site="a"), claim(window=())
    tests = [
        result(0.5),
        result(0.012, head, share=0.5),
        result(0.018, claim(3, first=True)),
        result(0.01),
        result(0.04, known),
        result(0.03, head, share=0.5),
    ]
    found = judge_tests(tests)
    assert [test.q for test in found] == pytest.approx([0.5, 0.024, 0.03, 0.02, 0.04, 0.03])
    assert [test.p for test in found] == [test.p for test in tests]
    assert q_over(tests) == pytest.approx([0.5, 0.024, 0.027, 0.027, 0.04, 0.03])


@pytest.mark.parametrize(
    ("items", "first", "tested"), [(20, 0, 1), (19, 0, 0), (33, 1, 0), (34, 1, 1)]
)
def test_a_claim_is_tested_if_the_best_of_its_sets_could_reach_its_level(
    items: int, first: int, tested: int
) -> None:
    window = tuple(range(items))
    trial = trial_of(outcome_weights(*np.linspace(0.1, 2, items)))
    claims = [
        claim(items - 1, window=window, first=bool(first)),
        claim(2, window=window),
    ]
    best, other = trial.judge(trial.compare(claims))
    assert (best.p, len(best.null_effects)) == ((1 / items, items - 1) if tested else (None, 0))
    if not tested:
        assert (best.verdict, best.reason) == (UNCLEAR, too_few("items"))
        # It takes nothing of the level of the claims that are tested.
        assert other.q == other.p


def test_a_look_is_even_below_a_quarter_more_than_the_mean() -> None:
    trial = trial_of(outcome_weights(*np.linspace(0.1, 2, 20)))
    even, uneven = trial.judge(trial.compare([claim(19, lift=1.2499), claim(19, lift=1.25)]))
    assert (even.verdict, even.reason, even.p, even.q) == (None, EVEN, None, None)
    assert len(even.null_effects) == 0
    assert even.effect == uneven.effect
    assert uneven.p == uneven.q == 0.05, "what was not tested counts in no family"


@pytest.mark.parametrize(
    ("size", "options", "matters"),
    [
        (0.3, {}, True),
        (0.0001, {}, False),
        (0.3, {"outcome": 1}, True),
        (-0.3, {"outcome": 1}, False),
        (-0.3, {"outcome": 1, "lowers": True}, True),
        (0.3, {"outcome": 1, "lowers": True}, False),
        (0.0001, {"outcome": 1}, False),
    ],
)
def test_the_best_set_is_noticeable_and_goes_the_way_that_is_claimed(
    size: float, options: dict[str, Any], matters: bool
) -> None:
    trial = trial_of(outcome_weights(*(size * np.linspace(1, 2, 24))), **options)
    [test] = trial.judge(trial.compare([claim(12, window=tuple(range(24)))]))
    assert test.best_matters == matters
    assert test.reason == (CHANCE if matters else none_matters("items"))


def test_what_items_do_is_signed_as_it_is_claimed() -> None:
    raised, lowered = np.array([0.2, 0.5, 0.3]), np.array([0.2, 0.3, 0.5])
    gap = np.log(0.5 / 0.5) - np.log(0.3 / 0.7)
    weights = np.zeros((3, 3))
    raising, lowering = (trial_of(weights, outcome=1, lowers=lowers) for lowers in (False, True))
    assert float(raising.change(raised, lowered)) == pytest.approx(gap)
    assert float(lowering.change(raised, lowered)) == pytest.approx(-gap)
    for trial in (raising, lowering):  # a claim that names its outcomes says that they rise
        assert float(trial.change(raised, lowered, (1,))) == pytest.approx(gap)
    kl = 0.5 * np.log(0.5 / 0.3) + 0.3 * np.log(0.3 / 0.5)
    assert float(trial_of(weights).change(raised, lowered)) == pytest.approx(kl)


def test_a_head_has_at_most_the_whole_effect() -> None:
    weights = outcome_weights(*[0.1] * 19, 1.0)
    heads = {str(part): undecided(part * weights) for part in (2.0, 0.5)}
    trial = trial_of(weights, heads)
    double, half = trial.compare([claim(19, site=name) for name in heads])
    assert double.share == 1.0
    assert half.share == pytest.approx(half.effect / trial.compare([claim(19)])[0].effect)
    assert half.share < 1


@pytest.mark.parametrize("outcome", [None, 1])
def test_effects_are_deviations_from_what_is_usual_for_the_position(outcome: int | None) -> None:
    items = range(8)
    usual = {item: (0.02 * item, 0.01 * (1 + item)) for item in items}
    weights = outcome_weights(*np.random.default_rng(2).normal(0.5, 0.2, 8))
    sites = {"a": undecided(weights)}
    trial = trial_of(weights, sites, usual={MODEL: usual}, outcome=outcome)
    loo = trial.leave_one_out(MODEL)
    about = claim(1, 4, window=tuple(items))
    changes = {item: float(trial.change(loo.full, loo.loo_probs[item])) for item in items}
    statistics = trial.item_statistics(MODEL, about)
    deviations = {item: (changes[item] - usual[item][0]) / usual[item][1] for item in items}
    assert statistics == pytest.approx(deviations)
    assert trial.item_statistics("a", about) == pytest.approx(changes), "a head has no usual effect"
    signed = trial.change(loo.full, np.array(list(loo.loo_probs.values())), (1,))
    named = trial.item_statistics(MODEL, claim(1, 4, window=tuple(items), raises=(1,)))
    assert list(named.values()) == pytest.approx(signed), "nor has a claim with its own outcomes"

    [test] = trial.compare([about])
    pairs = list(itertools.combinations(items, 2))
    expected = {pair: sum(loo.effects[item] for item in pair) for pair in pairs if pair != (1, 4)}
    np.testing.assert_allclose(np.sort(test.null_effects), np.sort(list(expected.values())))
    sums = [sum(statistics[item] for item in pair) for pair in pairs]
    assert test.statistic == pytest.approx(statistics[1] + statistics[4])
    assert test.p == np.mean(np.array(sums) >= test.statistic - 1e-9)
    assert test.p_low == np.mean(np.array(sums) <= test.statistic + 1e-9)
    assert test.p_best == 1 / 28


@given(seed=st.integers(0, 10_000), size=st.integers(1, 4))
@settings(max_examples=30)
def test_what_structure_explains_is_no_part_of_a_claim(seed: int, size: int) -> None:
    """Effects that are a sum of what is known of the items beside their content leave nothing."""
    generator = np.random.default_rng(seed)
    items = range(12)
    structure = {item: tuple(generator.normal(size=2)) for item in items}
    effects = np.array([0.3 + 0.2 * a - 0.1 * b for a, b in structure.values()])
    usual = {MODEL: dict.fromkeys(items, (0.0, 1.0))}
    own = outcome_weights(*effects)
    trial = trial_of(own, usual=usual, structure=structure, outcome=1)
    removed = tuple(sorted(generator.permutation(12)[:size].tolist()))
    asked = dataclasses.replace(claim(*removed, window=tuple(items)), beyond=(0, 1))
    plain = trial.item_statistics(MODEL, dataclasses.replace(asked, beyond=()))
    left = trial.item_statistics(MODEL, asked)
    design = np.column_stack([np.ones(12), np.array(list(structure.values()))])
    values = np.array(list(plain.values()))
    expected = values - design @ np.linalg.pinv(design) @ values
    np.testing.assert_allclose(list(left.values()), expected, atol=1e-9)
    np.testing.assert_allclose(design.T @ np.array(list(left.values())), 0, atol=1e-8)
    assert sum(value**2 for value in left.values()) < 0.1 * np.var(values) * 12


def test_one_item_is_tested_against_such_items_of_other_inputs() -> None:
    levels = np.array([0.001, 0.5, 0.9, 0.99])
    reference = ReferenceDistribution(np.array([-3.0, 0.0, 1.0, 2.0]), levels)
    assert reference.p_high(0.5) == pytest.approx(0.3)
    assert reference.p_high(7) == pytest.approx(0.01), "no rarer than the table tells"
    assert reference.p_low(-1.5) == pytest.approx(0.2505)
    assert reference.rarity(-1.0) == pytest.approx(0.1 + 0.001 + 2 / 3 * 0.499)
    assert reference.mirrored().p_high(1.5) == pytest.approx(reference.p_low(-1.5))
    weights = outcome_weights(*[0.1] * 3, 0.6)
    usual = {MODEL: dict.fromkeys(range(4), (0.0, 0.2))}
    trial = trial_of(weights, usual=usual, reference=reference, outcome=1)
    asked = [claim(3, window=range(4)), claim(2, 3, window=range(4))]
    one, two = trial.compare(asked)
    assert one.p == pytest.approx(reference.p_high(one.statistic))
    assert one.p_low == pytest.approx(reference.p_low(one.statistic))
    assert two.p is None, "six pairs are too few to compare with"


@pytest.mark.parametrize(
    ("effect", "points", "expected"),
    [
        (0.0005, 0.0, True),
        (0.00049, 0.49, False),
        (0.0, 0.5, True),
        (0.0, -0.5, True),
    ],
)
def test_what_is_noticeable(effect: float, points: float, expected: bool) -> None:
    assert noticeable(effect, np.array([0.0, points])) == expected


def test_p_of_drawn_and_of_enumerated_sets() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0])
    listed, drawn = NullDistribution(values, True), NullDistribution(values, False)
    assert [listed.p_high(2), listed.p_low(2), listed.p_high(3)] == [0.75, 0.75, 0.25]
    assert listed.p_high(4) == 0.25, "the claim's own set is one of them"
    assert [drawn.p_high(2), drawn.p_low(2), drawn.p_high(4)] == [0.8, 0.8, 0.2]
    # A sum that differs by the order of adding is the same sum.
    assert listed.p_high(2 * (1 + 1e-10)) == listed.p_low(2 * (1 - 1e-10)) == 0.75
    for items, exhaustive in ((MAX_ENUMERATED_SETS, True), (MAX_ENUMERATED_SETS + 1, False)):
        pool = Pool(tuple(range(items)), 1)
        null = pool.null(dict.fromkeys(range(items), 1.0), np.random.default_rng(0))
        assert null.exhaustive == exhaustive
