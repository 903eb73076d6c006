"""Attention written by hand is recorded as it multiplied the values, and nothing else is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from hand_written import ATTENTION, B, E, N, Parts
from look_alikes import OTHERS
from torch import Tensor

from attnlens import intervene, record
from attnlens.errors import AttnlensError, InterventionError, NothingRecordedError
from attnlens.recording import SoftmaxAdapter

X = torch.randn(B, N, E, generator=torch.Generator().manual_seed(1))
UNSURE = ("cosine", "retention")
"""Forms without any normalisation: a module that is not called attention is doubted."""
OWN_VALUES = ("edge", "gather_topk", "unfoldw")
"""Forms whose queries have values of their own."""
ROUNDED = ("half", "autoc")
HIDDEN = ("vmapped",)
"""Forms that cannot show their weights."""


def shown(model: Parts) -> tuple[Tensor, list[Tensor]]:
    model.weights = []
    output = model(X)
    weights, model.weights = model.weights, None
    return output, weights


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("name", ATTENTION)
def test_the_record_is_what_multiplied_the_values(
    name: str, mode: type[AbstractContextManager[Any]]
) -> None:
    model = Parts(ATTENTION[name]).eval()
    adapters = SoftmaxAdapter("*") if name in UNSURE else None
    with mode():
        plain, weights = shown(model)
        for _ in range(2):  # the second time by the plan of the first
            with record(model, adapters=adapters) as recording:
                output = model(X)
            assert torch.equal(output, plain)
            found = [entry.weights for entry in recording.records()]
            if name in HIDDEN:
                assert len(found) == 1
                continue
            assert [one.shape for one in found] == [one.shape for one in weights]
            for one, other in zip(found, weights, strict=True):
                torch.testing.assert_close(one, other, atol=1e-5, rtol=0, check_dtype=False)


@pytest.mark.parametrize("name", ATTENTION)
@torch.no_grad()
def test_the_same_operand_is_changed(name: str) -> None:
    model = Parts(ATTENTION[name]).eval()
    options = {"adapters": SoftmaxAdapter("*")} if name in UNSURE else {}
    if name in (*OWN_VALUES, *HIDDEN, "mapped_over_heads"):
        with pytest.raises(InterventionError), intervene(model, scale=0.0, **options):
            model(X)
        return
    plain = model(X)
    with intervene(model, scale=0.0, **options), record(model, **options) as recording:
        model(X)
    assert not any(entry.weights.any() for entry in recording.records())
    with intervene(model, replace=lambda weights: weights, **options):
        same = model(X)
    torch.testing.assert_close(same, plain, atol=2e-2 if name in ROUNDED else 1e-5, rtol=0)


@pytest.mark.parametrize("name", UNSURE)
def test_products_without_a_normalisation_are_doubted(name: str) -> None:
    model = Parts(ATTENTION[name]).eval()
    doubted = pytest.raises(
        NothingRecordedError, match="were multiplied with another tensor and may be attention"
    )
    with doubted, record(model):
        model(X)


@pytest.mark.parametrize("name", OTHERS)
@torch.no_grad()
def test_nothing_is_recorded_of_what_only_looks_like_attention(name: str) -> None:
    model = Parts(OTHERS[name]).eval()
    model(X)
    with pytest.raises(AttnlensError, match=r"nothing was recorded|no attention of"), record(model):
        model(X)
