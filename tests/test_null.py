"""The null distribution: sets of items, their sums, p, and the seed of the draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from claim_cases import ITEMS, Floats, additive
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlens.evidence.claim import Claim
from attnlens.evidence.gather import gather
from attnlens.evidence.null import MAX_ENUMERATED_SETS, N_DRAWS, Pool, pool_for


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]), min_size=6, max_size=9), st.integers(1, 3))
def test_p_is_exact_whatever_the_effects(effects: list[float], size: int) -> None:
    """Were the items drawn at random, p would be at most any level no oftener than the level."""
    window = range(len(effects))
    told = dict(enumerate(effects))
    pool = pool_for((0,) * size, window)
    sums = pool.null(told, np.random.default_rng(0))
    every = [
        math.fsum(told[item] for item in some) for some in itertools.combinations(window, size)
    ]
    for tail in (sums.p_high, sums.p_low):
        p_values = np.array([tail(value) for value in every])
        for level in p_values:
            assert np.mean(p_values <= level) <= level + 1e-12


def test_drawn_sets_tell_what_listed_ones_would() -> None:
    effects = dict(enumerate(np.random.default_rng(1).exponential(size=40)))
    pool = Pool((2, 1), (tuple(range(30)), tuple(range(30, 40))))
    assert pool.n_sets == math.comb(30, 2) * 10 > MAX_ENUMERATED_SETS
    drawn = pool.null(effects, np.random.default_rng(2))
    every = [
        effects[a] + effects[b] + effects[c]
        for a, b in itertools.combinations(range(30), 2)
        for c in range(30, 40)
    ]
    for value in np.quantile(every, [0.5, 0.9, 0.99]):
        listed = float(np.mean(np.array(every) >= value))
        assert drawn.p_high(value) == pytest.approx(listed, abs=4 * math.sqrt(listed / N_DRAWS))
    assert drawn.p_high(1e9) == 1 / (N_DRAWS + 1)
    assert sum(effects[item] for item in pool.best_set(effects)) == pytest.approx(max(every))
    for one in pool.sample(np.random.default_rng(3), 50):
        assert len(set(one)) == 3
        assert sum(item >= 30 for item in one) == 1


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(3, 5), matched=st.booleans())
def test_p_depends_on_no_integer_type_and_on_no_name(seed: int, size: int, matched: bool) -> None:
    generator = np.random.default_rng(seed)
    predict = additive(0.3 * generator.normal(size=(len(ITEMS), 3)))
    chosen = generator.choice(ITEMS, size, replace=False)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Renamed(Claim):
        """The same claim under another class name."""

    def p_values(make: type[Claim], integer: Callable[[Any], int]) -> list[Floats | float | None]:
        items = [integer(item) for item in ITEMS]
        claims = [
            make(
                text="x",
                removed=tuple(integer(item) for item in chosen),
                window=tuple(items),
                matched=matched,
                raises=raises,
                site=place,
            )
            for place in ("model", "head")
            for raises in ((), (integer(1),))
        ]
        result = gather(
            predict,
            claims,
            {"all": items},
            items=items,
            distances={item: integer(13 + item % 2 * 20) for item in items},
            seed=integer(seed),
            heads={"head": predict},
        )
        return [one.p for one in result.tests]

    expected = p_values(Claim, int)
    for integer in (np.int64, np.int32):
        assert p_values(Claim, integer) == expected
    assert p_values(Renamed, int) == expected


def test_the_seed_of_a_null_distribution_is_of_integers_alone() -> None:
    class Renamed(Pool):
        """The same pool under another class name."""

    pool = pool_for((3, 5), range(8), {item: item // 4 for item in range(8)})
    arguments = (np.int32(1), True), (np.arange(4), range(4, 8))
    assert pool.seed(7) == Renamed(*arguments).seed(np.int64(7)) == (7, 3_194_334_867)
    seeds = {
        pool_for(removed, window, kinds).seed(0)
        for removed, window, kinds in (
            ((3,), range(8), None),
            ((3, 5), range(8), None),
            ((3, 5), range(9), None),
            ((3, 5), range(8), {item: item // 4 for item in range(8)}),
            ((3, 5), range(8), {item: item // 5 for item in range(8)}),
        )
    }
    assert len(seeds) == 5, "other pools are drawn from by other seeds"
