"""What is asked wrongly, and models that cannot be asked: one line, and no verdict."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from claim_cases import EVERY, ITEMS, Floats, Predict, additive, claim
from numpy.typing import NDArray
from scipy.stats import entropy

from attnlens.errors import InputError
from attnlens.evidence.claim import MODEL, AblationSite, Claim
from attnlens.evidence.gather import gather
from attnlens.evidence.scores import divergence
from attnlens.evidence.trial import Trial

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


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (rare_noise, "another answer each time it is asked; call model.eval() first"),
        (lambda masks: model(next(STATES))(masks), "another answer each time it is asked"),
        (lambda masks: 3 * GOOD(masks), "does not sum to 1; give a softmax"),
        (lambda masks: np.log(GOOD(masks)), "is below 0"),
        (lambda masks: GOOD(masks)[:, 1], "4 masks is no table of as many rows; give an array"),
        (lambda masks: GOOD(masks)[:1], "no table of as many rows"),
        (lambda _: [[1.0], [0.5, 0.5]], "no table of as many rows"),
        (lambda _: torch.ones(4, 1, requires_grad=True), "no table of as many rows"),
    ],
)
def test_noise_and_what_is_no_distribution_get_no_verdict(answer: Any, told: str) -> None:
    groups = {"one": ITEMS[:1], "others": ITEMS[1:]}
    with pytest.raises(InputError, match=re.escape(told)) as error:
        gather(answer, [claim(103), claim(104, 110)], groups, items=ITEMS)
    assert "\n" not in str(error.value)


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
    assert gather(lambda masks: GOOD(masks).tolist(), asked, EVERY, items=ITEMS).tests[0].p == (
        plain[0].p
    )


@pytest.mark.parametrize(
    ("asked", "more", "told"),
    [
        (claim(103, 103), {}, "names 103 twice; name every item once"),
        (Claim(text="x", removed=(103,), window=(103, 104, 104)), {}, "names 104 twice"),
        (claim(103), {"items": (*ITEMS, 103)}, "item 103 is listed twice; list items once"),
        (claim(103, raises=(7,)), {}, "raises outcome 7; the last is 2"),
        (claim(103, raises=(-1,)), {}, "raises outcome -1"),
        (claim(103, raises=(1, 1)), {}, "raises outcome 1 twice"),
        (claim(103), {"outcome": 5}, "no outcome 5; the last is 2"),
        (claim(103), {"outcome": -1}, "no outcome -1"),
        (claim(103, site="head 9"), {"heads": {"head 1": GOOD}}, "'head 9'; name one of head 1,"),
        (
            claim(103, site="head 1"),
            {"heads": {"head 1": model(2)}},
            "with nothing hidden, 'head 1' answers otherwise than the model",
        ),
        (claim(103, matched=True), {"distances": {103: 1}}, "give distances of all its window"),
        (claim(103, lift=math.nan), {}, "has a lift that is no number"),
        (claim(103), {"replace": lambda sets: np.full((len(sets), 3), np.nan)}, "is no number"),
    ],
)
def test_what_is_asked_wrongly_is_told_in_one_line(
    asked: Claim, more: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        gather(GOOD, [asked], EVERY, **{"items": ITEMS, **more})


def test_no_p_comes_out_of_what_is_no_number() -> None:
    trial: Trial[Claim] = Trial(
        {MODEL: AblationSite(GOOD, ITEMS)}, seed=0, usual=dict.fromkeys(ITEMS, math.nan)
    )
    with pytest.raises(InputError, match="is no number; give usual effects above 0"):
        trial.compare([claim(103)])


def test_one_claim_of_a_family_is_first() -> None:
    both = [claim(103, first=True), claim(104, first=True)]
    with pytest.raises(InputError, match="more than one claim is first; test one of them first"):
        gather(GOOD, both, EVERY, items=ITEMS)
    both[1] = claim(103, first=True, site="head")
    assert len(gather(GOOD, both, EVERY, items=ITEMS, heads={"head": GOOD}).tests) == 2
