"""Evidence on models that know no cricket: a text classifier, and functions with known truths."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnlens.analysis.scores import divergence
from attnlens.analysis.shapley import contributions
from attnlens.claims.claims import (
    CONTROLS_REPLACED,
    DRAWS,
    IN_DOUBT,
    ROUNDS,
    Claim,
    Place,
)
from attnlens.claims.evidence import Evidence, gather, head_claims
from attnlens.claims.verdicts import (
    CHANCE,
    DISAGREE,
    EVEN,
    OPPOSITE,
    p_value,
    too_few,
)
from attnlens.errors import InputError
from attnlens.recording.axes import Axis
from attnlens.recording.record import AttentionRecord

Floats = NDArray[np.float64]
GUIDE = Path(__file__).resolve().parent.parent / "docs" / "evidence_generic.md"
ITEMS = tuple(range(100, 130))
EVERY = {"all": list(ITEMS)}


def softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    result: Floats = powers / powers.sum(-1, keepdims=True)
    return result


def additive(weights: Floats) -> Callable[[NDArray[np.bool_]], Floats]:
    """A model whose logits are sums over the items that are kept: ``weights (item, outcome)``."""
    return lambda masks: softmax(masks.astype(float) @ weights)


def weights_with(strong: Sequence[int], size: float = 0.8, seed: int = 0) -> Floats:
    """Small random weights on every item, and large ones on some for outcome 1."""
    table = 0.02 * np.random.default_rng(seed).normal(size=(len(ITEMS), 3))
    table[[ITEMS.index(item) for item in strong], 1] += size
    return table


def claim(*removed: int, **more: Any) -> Claim:
    return Claim(text=f"it looked at {removed}", removed=removed, window=ITEMS, **more)


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
    found: Evidence[Claim] = names["found"]
    text = names["text"]
    great = text.index("great")
    heads = [one for one in found.tested if one.claim.text.startswith("head")]
    assert any(great in one.claim.removed for one in heads)
    for one in heads:
        expected = "supported" if great in one.claim.removed else "not better than chance"
        assert one.judged.verdict == expected, one.claim.text
    assert found.tested[-1].judged.verdict != "supported"
    assert max(found.effects, key=lambda item: found.effects[item]) == great
    np.testing.assert_allclose(found.contributions.sum(0), found.full - found.baseline, atol=1e-9)
    assert found.contributions[0, 1] > 0.3
    assert sum("supported (q " in line for line in printed) >= 1
    assert sum("points of P(good)" in line for line in printed) == 2


def test_what_truly_matters_is_supported_and_what_does_not_is_chance() -> None:
    strong = (103, 117, 121)
    found = gather(
        additive(weights_with(strong)), [claim(*strong), claim(101, 105, 110)], EVERY, items=ITEMS
    )
    real, idle = found.tested
    assert (real.judged.verdict, real.p) == ("supported", 1 / 1000)
    assert len(real.controls) == 999
    assert (idle.judged.verdict, idle.judged.reason) == ("not better than chance", CHANCE)
    assert len(idle.controls) in (199, 999)
    assert [real.removed_from, idle.removed_from] == ["model", "model"]
    # What hiding an item alone does.
    predict = additive(weights_with(strong))
    for at, item in enumerate(ITEMS):
        mask = np.ones((1, len(ITEMS)), bool)
        mask[0, at] = False
        np.testing.assert_allclose(found.singles[item], predict(mask)[0])
        assert found.effects[item] == pytest.approx(float(divergence(found.full, predict(mask)[0])))


def test_claims_drawn_like_their_controls_are_seldom_supported() -> None:
    generator = np.random.default_rng(3)
    hits = total = 0
    for seed in range(60):
        predict = additive(0.3 * np.random.default_rng(seed).normal(size=(len(ITEMS), 3)))
        asked = [
            claim(*(int(item) for item in generator.choice(ITEMS, 3, replace=False)))
            for _ in range(4)
        ]
        found = gather(predict, asked, EVERY, items=ITEMS, seed=seed)
        hits += sum(one.judged.verdict == "supported" for one in found.tested)
        total += len(found.tested)
    assert total == 240
    assert hits / total <= 0.05


def test_a_sentence_with_the_wrong_direction_is_contradicted() -> None:
    predict = additive(weights_with((103, 117)))
    asked = [claim(103, 117, raises=(1,)), claim(103, 117, raises=(0, 2)), claim(103, 117)]
    right, wrong, silent = gather(predict, asked, EVERY, items=ITEMS).tested
    assert right.points[1] < 0 < wrong.points[[0, 2]].sum()
    assert (right.judged.verdict, right.judged.reason) == ("supported", None)
    assert (wrong.judged.verdict, wrong.judged.reason) == ("contradicted", OPPOSITE)
    assert silent.judged.verdict == "supported"
    # What chance does as well has no direction to be wrong in.
    idle = gather(predict, [claim(101, 105, raises=(0,))], EVERY, items=ITEMS).tested[0]
    assert idle.judged.verdict == "not better than chance"


def test_operators_that_disagree_leave_no_support() -> None:
    strong = (103, 117)
    predict = additive(weights_with(strong))
    full = predict(np.ones((1, len(ITEMS)), bool))[0]
    asked: list[tuple[int, ...]] = []

    def nothing(sets: Sequence[tuple[int, ...]]) -> Floats:
        asked.extend(sets)
        return np.tile(full, (len(sets), 1))

    def as_hiding(sets: Sequence[tuple[int, ...]]) -> Floats:
        return Place(predict, ITEMS).without(sets)

    both = [claim(*strong), claim(101, 105)]
    for replace, verdict, reason in (
        (nothing, "not better than chance", DISAGREE),
        (as_hiding, "supported", None),
    ):
        one, idle = gather(predict, both, EVERY, items=ITEMS, replace=replace).tested
        assert (one.judged.verdict, one.judged.reason) == (verdict, reason)
        assert one.replaced is not None
        assert one.replaced_controls is not None
        assert (len(one.replaced), len(one.replaced_controls)) == (DRAWS, CONTROLS_REPLACED)
        assert idle.replaced is None
    # The claim's own set is drawn many times, its controls once each, and nothing else.
    assert asked.count(strong) == DRAWS
    assert len(asked) == DRAWS + CONTROLS_REPLACED
    assert all(len(one) == 2 for one in asked)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 4), matched=st.booleans())
def test_p_is_what_counting_by_hand_gives(seed: int, size: int, matched: bool) -> None:
    generator = np.random.default_rng(seed)
    items = tuple(range(12))
    predict = additive(generator.normal(size=(12, 3)))
    removed = tuple(int(one) for one in generator.choice(12, size, replace=False))
    asked = Claim(text="x", removed=removed, window=items, matched=matched)
    distances = {item: 3 * (12 - item) for item in items}
    found = gather(predict, [asked], {"all": items}, items=items, distances=distances)
    one = found.tested[0]

    def stratum(item: int) -> int:
        return sum(distances[item] > end for end in (3, 6, 12, 24))

    alike = [
        other
        for other in itertools.combinations(items, size)
        if set(other) != set(removed)
        and (not matched or sorted(map(stratum, other)) == sorted(map(stratum, removed)))
    ]
    if len(alike) < 40:
        assert (one.p, one.q, one.judged.verdict) == (None, None, None)
        assert one.judged.reason == too_few("items")
        return
    every = divergence(found.full, Place(predict, items).without(alike))
    if len(one.controls) == len(alike):
        np.testing.assert_allclose(np.sort(one.controls), np.sort(every))
        assert one.p == pytest.approx(p_value(one.effect, every))
    else:  # stopped after the first round, for there was no doubt
        assert len(one.controls) in (ROUNDS - 1, ROUNDS)
        assert one.p == p_value(one.effect, one.controls) > IN_DOUBT
    assert one.q == one.p


def test_heads_list_what_they_gave_most_weight() -> None:
    weights = np.array([[0.1, 0.5, 0.0, 0.4], [0.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
    found = head_claims(weights, labels=["a", "b", "c", "d"], listed=3)
    assert [(one.removed, one.text) for one in found] == [
        ((1, 3, 0), "head 0 looked at a, b, d"),
        ((0, 1, 2), "head 2 looked at a, b, c"),
    ]
    # The mean of what was listed over the mean of every item that could be seen.
    assert [one.lift for one in found] == pytest.approx([1.0, 1.0])
    assert head_claims(weights, listed=1)[0].lift == pytest.approx(0.5 * 3)
    axes = tuple(Axis(name) for name in ("batch", "head", "query", "key"))
    record = AttentionRecord("a", 0, torch.tensor(weights)[None, :, None], axes)
    assert [one.removed for one in head_claims(record, listed=3)] == [one.removed for one in found]
    assert head_claims(record, listed=1)[0].text == "head 0 looked at 1"
    flat = AttentionRecord("gate", 0, torch.ones(1, 2), axes[:1] + axes[3:])
    with pytest.raises(InputError, match=r"gate has the axes batch, key; give weights"):
        head_claims(flat)
    with pytest.raises(InputError, match="2 labels for 4 keys; name every key once"):
        head_claims(weights, labels=["a", "b"])
    with pytest.raises(InputError, match="weights have 3 dimensions"):
        head_claims(weights[None])


def test_a_head_that_looks_at_everything_alike_is_not_said_to_look_at_anything() -> None:
    strong, items = weights_with(ITEMS[:3]), range(len(ITEMS))
    rows = np.array([np.full(len(items), 1 / 30), [(1.0 + (n < 3)) / 33 for n in items]])
    even, claimed = head_claims(rows, listed=3)
    assert even.removed == claimed.removed == (0, 1, 2)
    assert (even.lift, claimed.lift) == (pytest.approx(1), pytest.approx(60 / 33))
    found = gather(additive(strong), [even, claimed], {"all": list(items)}, items=items)
    untold, told = found.tested
    assert (untold.judged.verdict, untold.judged.reason) == (None, EVEN)
    assert (untold.p, untold.q, len(untold.controls)) == (None, None, 0)
    # The same balls: hiding them does as much, whoever looked at them.
    assert untold.effect == told.effect
    assert told.judged.verdict == "supported"
    assert told.q == told.p, "what was not tested counts in no family"


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ({"a": [0, 1], "b": [1, 2]}, "item 1 is in groups twice; put every item in one"),
        ({"a": [0], "b": [2]}, "item 1 is in no group; put every item in one group"),
        ({"a": [0, 1, 2, 9]}, "item 9 does not exist; put every"),
    ],
)
def test_groups_must_cover_every_item_once(groups: dict[str, list[int]], told: str) -> None:
    for ask in (
        lambda: contributions(additive(np.zeros((3, 2))), groups, range(3)),
        lambda: gather(additive(np.zeros((3, 2))), [], groups, items=range(3)),
    ):
        with pytest.raises(InputError) as error:
            ask()
        assert str(error.value).startswith(told)
        assert "\n" not in str(error.value)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(0, 8), parts=st.integers(1, 5))
def test_contributions_sum_to_full_minus_baseline(seed: int, size: int, parts: int) -> None:
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(size, size, 4))

    def predict(masks: NDArray[np.bool_]) -> Floats:
        kept = masks.astype(float)
        return softmax(np.einsum("mi,mj,ijo->mo", kept, kept, mixing))

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
        theirs = captum.ShapleyValues(forward).attribute(
            torch.ones(1, 7), target=outcome, feature_mask=mask
        )
        firsts = [members[0] for members in groups.values()]
        found = captum.FeatureAblation(forward).attribute(torch.ones(1, 7), target=outcome)
        np.testing.assert_allclose(theirs[0, firsts].numpy(), ours.table[:, outcome], atol=1e-6)
        alone = Place(predict, tuple(range(7))).without([(item,) for item in range(7)])
        np.testing.assert_allclose(
            found[0].numpy(), ours.full[outcome] - alone[:, outcome], atol=1e-6
        )
