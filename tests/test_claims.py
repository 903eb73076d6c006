"""Claims on models that know no cricket: a text classifier, and functions with known truths."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from claim_cases import EVERY, ITEMS, Floats, Predict, additive, claim
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from refused import refused
from scipy.special import softmax
from scipy.stats import entropy, false_discovery_control

from attnlens.errors import InputError
from attnlens.evidence.claim import MAX_ENUMERATED_SETS, MODEL, N_DRAWS, AblationSite, Claim, Pool
from attnlens.evidence.scores import divergence
from attnlens.evidence.shapley import contributions
from attnlens.evidence.trial import N_CONTROL_SETS, GatheredEvidence, Trial, gather
from attnlens.evidence.verdict import (
    CHANCE,
    ELSEWHERE,
    benjamini_hochberg,
    fixed_sequence,
    too_few,
)

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "evidence.md"


def weights_with(strong: Sequence[int], size: float = 0.8, seed: int = 0) -> Floats:
    """Small random weights on every item, and large ones on some for outcome 1."""
    table = 0.02 * np.random.default_rng(seed).normal(size=(len(ITEMS), 3))
    table[[ITEMS.index(item) for item in strong], 1] += size
    return table


def test_the_guide_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    state = torch.random.get_rng_state()
    try:
        for block in blocks:
            exec(compile(block, str(GUIDE), "exec"), names)
    finally:
        torch.random.set_rng_state(state)
    printed = capsys.readouterr().out.splitlines()
    found: GatheredEvidence[Claim] = names["found"]
    text = names["text"]
    great = text.index("great")
    heads = [one for one in found.tests if one.claim.text.startswith("head")]
    assert len(heads) == 2
    assert any(great in one.claim.removed for one in heads)
    for one in heads:
        expected = "supported" if great in one.claim.removed else "cannot be told"
        assert one.verdict == expected, one.claim.text
    assert found.tests[-1].verdict != "supported"
    effects = found.leave_one_out.effects
    assert max(effects, key=lambda item: effects[item]) == great
    total = found.leave_one_out.full - found.contributions.baseline
    np.testing.assert_allclose(found.contributions.table.sum(0), total, atol=1e-9)
    assert found.contributions.table[0, 1] > 0.3
    assert sum("supported (q " in line for line in printed) >= 1
    assert sum("points of P(good)" in line for line in printed) == 2
    # What was not tested is printed too.
    names["found"] = gather(additive(weights_with(())), [claim(103, lift=1.0)], EVERY, items=ITEMS)
    exec(blocks[3][blocks[3].index("for tested in") :], names)
    assert "None (not tested): it looked at (103,)" in capsys.readouterr().out


def singles(predict: Callable[[NDArray[np.bool_]], Floats], items: int) -> Floats:
    """What hiding each item alone costs, asked one by one, nats ``(item,)``."""
    full = predict(np.ones((1, items), bool))[0]
    alone = [predict((np.arange(items) != item)[None])[0] for item in range(items)]
    return np.array([float(divergence(full, one)) for one in alone])


def test_what_truly_matters_is_supported_and_what_does_not_is_chance() -> None:
    strong = (103, 117, 121)
    predict = additive(weights_with(strong))
    found = gather(predict, [claim(*strong), claim(101, 105, 110)], EVERY, items=ITEMS)
    real, idle = found.tests
    # There are 4,060 sets of three: too many to list, so they are drawn.
    assert real.verdict == "supported"
    assert real.p <= 4 / (N_DRAWS + 1), "the set itself may be drawn"
    assert (idle.verdict, idle.reason) == ("not better than chance", CHANCE)
    effects = singles(predict, len(ITEMS))
    np.testing.assert_allclose(list(found.leave_one_out.effects.values()), effects)
    np.testing.assert_allclose(real.singles, effects[[ITEMS.index(item) for item in strong]])
    without = np.array([item not in strong for item in ITEMS])[None]
    expected = float(divergence(found.leave_one_out.full, predict(without)[0]))
    assert real.effect == pytest.approx(expected)
    for one in found.tests:
        assert (one.removed_from, one.share, len(one.null_effects)) == ("model", None, N_DRAWS)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 4))
def test_p_is_what_counting_every_set_gives(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    items = tuple(range(12))
    predict = additive(generator.normal(size=(12, 3)))
    removed = tuple(int(one) for one in generator.choice(12, size, replace=False))
    asked = Claim(text="x", removed=removed, window=items)
    one = gather(predict, [asked], {"all": items}, items=items).tests[0]
    effects = singles(predict, 12)
    own = effects[list(removed)].sum()
    alike = [effects[list(other)].sum() for other in itertools.combinations(items, size)]
    as_much = np.mean(np.array(alike) >= own - 1e-9)
    if len(alike) * 0.05 < 1:
        assert (one.p, one.q, len(one.null_effects)) == (None, None, 0)
        assert (one.verdict, one.reason) == ("cannot be told", too_few("items"))
        return
    np.testing.assert_allclose(np.sort([own, *one.null_effects]), np.sort(alike))
    assert one.p == one.q == pytest.approx(as_much)


def test_claims_drawn_like_their_controls_are_seldom_supported() -> None:
    generator = np.random.default_rng(3)
    hits = total = 0
    for seed in range(60):
        predict = additive(0.3 * np.random.default_rng(seed).normal(size=(len(ITEMS), 3)))
        asked = [claim(*generator.choice(ITEMS, 3, replace=False).tolist()) for _ in range(4)]
        found = gather(predict, asked, EVERY, items=ITEMS, seed=seed)
        hits += sum(one.verdict == "supported" for one in found.tests)
        total += len(found.tests)
    assert total == 240
    assert hits / total <= 0.05


@settings(max_examples=50)
@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=12), st.floats(1e-6, 1))
@example([0.01], 0.03)
def test_q_is_of_the_whole_family(p_values: list[float], first: float) -> None:
    assert benjamini_hochberg(p_values) == pytest.approx(false_discovery_control(p_values))
    own, others = fixed_sequence(first, p_values)
    left = 0.05 if first <= 0.03 else 0.02
    assert (own <= 0.05) == (first <= 0.03)
    expected = np.minimum(1, false_discovery_control(p_values) * 0.05 / left)
    assert others == pytest.approx(expected)


def two_heads(weights: Floats, shares: tuple[float, float]) -> dict[str, Any]:
    """A model whose logits come by two ways, and each way alone."""

    def through(way: int) -> Callable[[NDArray[np.bool_]], Floats]:
        kept = weights.sum(0) * (1 - shares[way])
        return lambda masks: softmax(kept + shares[way] * (masks @ weights), -1)

    return {"left": through(0), "right": through(1)}


def test_a_head_is_told_with_its_share_and_not_where_it_carries_little() -> None:
    strong = (103, 117, 121)
    table = weights_with(strong)
    heads = two_heads(table, (0.9, 0.1))
    asked = [claim(*strong, site=place) for place in ("left", "right", "model")]
    asked += [claim(101, 105, 110, site="left")]
    found = gather(additive(table), asked, EVERY, items=ITEMS, heads=heads)
    left, right, whole, idle = found.tests
    mask = np.array([item not in strong for item in ITEMS])[None]
    for one, predict in ((left, heads["left"]), (right, heads["right"])):
        alone = float(divergence(found.leave_one_out.full, predict(mask)[0]))
        assert one.effect == pytest.approx(alone)
        assert one.share == pytest.approx(alone / whole.effect)
        assert one.removed_from == "head"
    assert left.verdict == "supported"
    assert right.share < 0.1
    assert (right.verdict, right.reason) == (None, ELSEWHERE)
    assert whole.verdict == "supported"
    assert whole.share is None
    assert idle.verdict == "not better than chance"
    # Heads are a family of their own: the model's only claim has the q of one.
    assert whole.q == whole.p


def test_a_head_that_moves_the_other_way_carries_nothing() -> None:
    strong = (103, 117, 121)
    table = weights_with(strong)

    def against(masks: NDArray[np.bool_]) -> Floats:
        return softmax(table.sum(0) + ~masks @ table, -1)

    heads = {"against": against, "along": additive(table)}
    asked = [claim(*strong, site=place) for place in heads]
    found = gather(additive(table), asked, EVERY, items=ITEMS, heads=heads, outcome=1).tests
    assert [one.share for one in found] == [0.0, 1.0]
    assert found[0].effect > 0.01, "the head does much, and the opposite of what the model does"
    assert (found[0].verdict, found[0].reason) == (None, ELSEWHERE)
    assert found[1].verdict == "supported"


def test_little_to_compare_with_and_nothing_to_tell_apart() -> None:
    same = additive(np.ones((30, 3)) * np.array([0.1, 0.2, -0.3]))
    for asked in (claim(103, 117), claim(*ITEMS[:15])):
        one = gather(same, [asked], EVERY, items=ITEMS).tests[0]
        assert (one.p, one.verdict) == (1.0, "cannot be told")
    alone = Claim(text="x", removed=(5,), window=(5,))
    found = gather(additive(np.ones((1, 3))), [alone], {"all": [5]}, items=(5,))
    assert found.tests[0].verdict == "cannot be told"
    everything = gather(same, [claim(*ITEMS)], EVERY, items=ITEMS).tests[0]
    assert everything.verdict == "cannot be told"
    assert gather(same, [], EVERY, items=ITEMS).tests == []


def test_groups_must_cover_every_item_once() -> None:
    predict = additive(np.zeros((3, 2)))
    for groups, told in (
        (
            {"a": [0, 1], "b": [1, 2]},
            "item 1 is listed twice in the groups; put every item into exactly one",
        ),
        ({"a": [0], "b": [2]}, "item 1 is in no group; put every item into exactly one group"),
        ({"a": [0, 1, 2, 9]}, "item 9 is not an item of the model; put every"),
    ):
        assert refused(InputError, contributions, predict, groups, range(3)).startswith(told)
        message = refused(InputError, gather, predict, [], groups, items=range(3))
        assert message.startswith(told)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), size=st.integers(0, 8), parts=st.integers(1, 5))
def test_contributions_sum_to_full_minus_baseline(seed: int, size: int, parts: int) -> None:
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(size, size, 4))

    def predict(masks: NDArray[np.bool_]) -> Floats:
        kept = masks.astype(float)
        return softmax(np.einsum("mi,mj,ijo->mo", kept, kept, mixing), -1)

    home = generator.integers(parts, size=size)
    groups = {f"g{part}": np.flatnonzero(home == part).tolist() for part in range(parts)}
    found = contributions(predict, groups, range(size))
    np.testing.assert_allclose(found.table.sum(0), found.full - found.baseline, atol=1e-9)
    everything = np.ones((1, size), bool)
    np.testing.assert_allclose(found.full, predict(everything)[0])
    np.testing.assert_allclose(found.baseline, predict(~everything)[0])


def test_shapley_values_and_ablations_are_captums() -> None:
    captum = pytest.importorskip("captum.attr", reason="captum is not installed")
    predict = additive(np.random.default_rng(6).normal(size=(7, 3)))
    groups = {"a": [0, 3], "b": [1], "c": [2, 4, 5], "d": [6]}
    mask = torch.tensor([[0, 1, 2, 0, 2, 2, 3]])

    def forward(kept: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(predict(kept.numpy() > 0.5))

    ours = contributions(predict, groups, range(7))
    for outcome in range(3):
        asked = {"inputs": torch.ones(1, 7), "target": outcome}
        theirs = captum.ShapleyValues(forward).attribute(**asked, feature_mask=mask)[0].numpy()
        firsts = [members[0] for members in groups.values()]
        np.testing.assert_allclose(theirs[firsts], ours.table[:, outcome], atol=1e-6)
        ablated = captum.FeatureAblation(forward).attribute(**asked)[0].numpy()
        alone = AblationSite(predict, tuple(range(7))).probs_without([(item,) for item in range(7)])
        np.testing.assert_allclose(ablated, ours.full[outcome] - alone[:, outcome], atol=1e-6)


WEIGHTS = 0.02 * np.random.default_rng(0).normal(size=(len(ITEMS), 3))
WEIGHTS[3, 1] += 0.8


def model(size: float) -> Predict:
    """Item 103 counts most."""
    return additive(size * WEIGHTS)


GOOD = model(1)
STATES = itertools.cycle([1.0, 1.3])
NOISE = np.random.default_rng(5)


def rare_noise(masks: NDArray[np.bool_]) -> Floats:
    """Dropout of a few units: one row of five is another, and never that with everything."""
    told = GOOD(masks)
    dropped = (NOISE.random(len(masks)) < 0.2) & ~masks.all(1)
    told[dropped] = told[dropped][:, ::-1]
    return told


UNFIT: dict[str, Any] = {
    "no number": lambda masks: np.full((len(masks), 3), np.nan),
    "draws": lambda masks: np.random.default_rng().dirichlet(np.ones(3), len(masks)),
    "rare noise": rare_noise,
    "two states": lambda masks: model(next(STATES))(masks),
    "too large": lambda masks: 3 * GOOD(masks),
    "logarithms": lambda masks: np.log(GOOD(masks)),
    "one column": lambda masks: GOOD(masks)[:, 1],
    "one row": lambda masks: GOOD(masks)[:1],
    "ragged": lambda _: [[1.0], [0.5, 0.5]],
    "with gradients": lambda _: torch.ones(4, 1, requires_grad=True),
}


def test_noise_and_what_is_no_distribution_get_no_verdict(snapshot: Any) -> None:
    asked, groups = [claim(103), claim(104, 110)], {"one": ITEMS[:1], "others": ITEMS[1:]}
    assert {
        name: refused(InputError, gather, answer, asked, groups, items=ITEMS)
        for name, answer in UNFIT.items()
    } == snapshot


def test_an_outcome_without_a_chance_adds_nothing() -> None:
    def saturated(masks: NDArray[np.bool_]) -> Floats:
        return np.hstack([GOOD(masks), np.zeros((len(masks), 1))])

    asked = [claim(103), claim(107)]
    wide, plain = (gather(one, asked, EVERY, items=ITEMS).tests for one in (saturated, GOOD))
    for ours, theirs in zip(wide, plain, strict=True):
        assert (ours.effect, ours.p) == (pytest.approx(theirs.effect), theirs.p)
        assert ours.judgement == theirs.judgement
    p, q = np.array([0.25, 0.75, 0.0]), np.array([0.5, 0.4, 0.1])
    assert divergence(p, q) == pytest.approx(entropy(p, q))
    # An outcome that hiding leaves no chance at all: large, and a number.
    assert 0.1 * 700 < divergence(q, p) < 0.1 * 710
    listed = gather(lambda masks: GOOD(masks).tolist(), asked, EVERY, items=ITEMS).tests
    assert listed[0].p == plain[0].p


WRONG: list[tuple[Claim, dict[str, Any]]] = [
    (Claim(text="x", removed=ITEMS[:2], window=ITEMS[:1]), {}),
    (Claim(text="x", removed=(1,), window=(1, 2)), {}),
    (Claim(text="x", removed=(103,), window=(103, 104, 104)), {}),
    (claim(103, 103), {}),
    (claim(103), {"items": (*ITEMS, 103)}),
    (claim(103, raises=(7,)), {}),
    (claim(103, raises=(-1,)), {}),
    (claim(103, raises=(1, 1)), {}),
    (claim(103), {"outcome": 5}),
    (claim(103), {"outcome": -1}),
    (claim(103, site="head 9"), {"heads": {"head 1": GOOD}}),
    (claim(103, site="head 1"), {"heads": {"head 1": model(2)}}),
    (claim(103, lift=math.nan), {}),
]


def test_what_is_asked_wrongly_is_told_in_one_line(snapshot: Any) -> None:
    assert [
        refused(InputError, gather, GOOD, [asked], EVERY, **{"items": ITEMS, **more})
        for asked, more in WRONG
    ] == snapshot


def test_no_p_comes_out_of_what_is_no_number() -> None:
    usual = {MODEL: dict.fromkeys(ITEMS, (math.nan, 1.0))}
    trial: Trial[Claim] = Trial({MODEL: AblationSite(GOOD, ITEMS)}, seed=0, usual=usual)
    message = refused(InputError, trial.compare, [claim(103)])
    remedy = "make every mean in usual finite and every standard deviation positive"
    assert f"is not a finite number; {remedy}" in message


def test_one_claim_of_a_family_is_first() -> None:
    both = [claim(103, first=True), claim(104, first=True)]
    message = refused(InputError, gather, GOOD, both, EVERY, items=ITEMS)
    assert "more than one claim has first=True; set first=True for at most one claim" in message
    both[1] = claim(103, first=True, site="head")
    assert len(gather(GOOD, both, EVERY, items=ITEMS, heads={"head": GOOD}).tests) == 2


@settings(max_examples=20)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]), min_size=6, max_size=9), st.integers(1, 3))
def test_p_is_exact_whatever_the_effects(effects: list[float], size: int) -> None:
    """Were the items drawn at random, p would be at most any level no oftener than the level."""
    window = range(len(effects))
    told = dict(enumerate(effects))
    pool = Pool(tuple(window), size)
    sums = pool.null(told, np.random.default_rng(0))
    every = [
        math.fsum(told[item] for item in some) for some in itertools.combinations(window, size)
    ]
    for tail in (sums.p_high, sums.p_low):
        p_values = np.array([tail(value) for value in every])
        for level in p_values:
            assert np.mean(p_values <= level) <= level + 1e-12


def test_drawn_sets_tell_what_listed_ones_would() -> None:
    effects = dict(enumerate(np.random.default_rng(1).exponential(size=30)))
    pool = Pool(tuple(range(30)), 3)
    assert pool.n_sets == math.comb(30, 3) > MAX_ENUMERATED_SETS
    drawn = pool.null(effects, np.random.default_rng(2))
    every = [sum(map(effects.__getitem__, some)) for some in itertools.combinations(range(30), 3)]
    for value in np.quantile(every, [0.5, 0.9, 0.99]):
        listed = float(np.mean(np.array(every) >= value))
        assert drawn.p_high(value) == pytest.approx(listed, abs=4 * math.sqrt(listed / N_DRAWS))
    assert drawn.p_high(1e9) == 1 / (N_DRAWS + 1)
    assert sum(effects[item] for item in pool.best_set(effects)) == pytest.approx(max(every))
    sets = pool.sample(np.random.default_rng(3), N_CONTROL_SETS)
    assert {(len(items), len(set(items))) for items in sets} == {(3, 3)}
    assert len(set(sets)) > 30


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), size=st.integers(3, 5))
def test_p_depends_on_no_integer_type_and_on_no_name(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    predict = additive(0.3 * generator.normal(size=(len(ITEMS), 3)))
    chosen = generator.choice(ITEMS, size, replace=False)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Renamed(Claim):
        """The same claim under another class name."""

    def p_values(make: type[Claim], integer: Callable[[Any], int]) -> list[Floats | float | None]:
        items = [integer(item) for item in ITEMS]
        removed = tuple(integer(item) for item in chosen)
        same = {"text": "x", "removed": removed, "window": tuple(items)}
        claims = [
            make(**same, raises=raises, site=place)
            for place in ("model", "head")
            for raises in ((), (integer(1),))
        ]
        options = {"seed": integer(seed), "heads": {"head": predict}}
        tests = gather(predict, claims, {"all": items}, items=items, **options).tests
        return [one.p for one in tests]

    expected = p_values(Claim, int)
    for integer in (np.int64, np.int32):
        assert p_values(Claim, integer) == expected
    assert p_values(Renamed, int) == expected


def test_the_seed_of_a_null_distribution_is_of_integers_alone() -> None:
    class Renamed(Pool):
        """The same pool under another class name."""

    pool = Pool(tuple(range(8)), 2)
    renamed = Renamed(tuple(np.arange(8)), np.int32(2)).seed(np.int64(7))
    assert pool.seed(7) == renamed == (7, 1_181_453_021)
    pools = [pool, Pool(tuple(range(8)), 1), Pool(tuple(range(9)), 2), Pool(tuple(range(1, 9)), 2)]
    assert len({pool.seed(0) for pool in pools}) == 4, "other pools are drawn from by other seeds"
