"""What an intervention did not reach is an error, and everything is left as it was found."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, encoder, tensors, told
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from attnlens import intervene
from attnlens.errors import AttnlensError, InterventionError
from attnlens.recording import Edges
from attnlens.recording.probe import AttentionProbe

ORIGINAL = F.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def torch_is_as_it_was() -> Any:
    yield
    assert F.scaled_dot_product_attention is ORIGINAL
    assert torch._C._nn.scaled_dot_product_attention is ORIGINAL


def run(model: nn.Module, *inputs: Tensor, times: int = 1, **options: Any) -> None:
    with intervene(model, **options):
        for _ in range(times if inputs else 0):
            model(*inputs)


Q = tensors(2, 3, 5, 4, many=3)
(X,) = tensors(1, 3, 12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "nothing is given to do; give one of hide=, scale=, replace=, "),
        ({"hide": 1, "scale": 2}, "hide and scale are given; give one of"),
        ({"hide": 1, "keys": 2}, "hide= says which keys; leave keys= out"),
        ({"hide": []}, "hide=[]; give a position (0, 1, ... or -1 for the last), a list"),
        ({"hide": [True, False]}, "hide=[True, False]; give a position"),
        ({"hide": torch.zeros(2, 5)}, "hide= has torch.float32; give booleans, true where hidden"),
        ({"hide": torch.zeros(1, 1, 1, 1, 1).bool()}, "shape (1, 1, 1, 1, 1); tensors are (key), "),
        ({"hide": [Edges(key=1), 3]}, "hide= mixes Edges with positions"),
        ({"hide": Edges(key=1), "heads": 0}, "hide=Edges(...) says which cells; leave"),
        ({"hide": {}}, "hide= names no site"),
        ({"hide": {"a": 1}, "sites": "b"}, "hide= names its sites; leave sites out"),
        ({"hide": 1, "sites": []}, "sites=[]; give names, patterns such as 'encoder.*'"),
        ({"scale": "half"}, "scale='half'; give a number"),
        ({"replace": 3}, "replace=int; give a tensor, or a function of weights"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], text: str) -> None:
    with told(text):
        run(Calls(), **options)


def test_a_model_is_needed() -> None:
    with told("intervene needs a torch.nn.Module, not function"):
        run(lambda x: x, hide=1)  # type: ignore[arg-type]
    assert issubclass(InterventionError, AttnlensError)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"hide": 5}, "Calls: key 5 is out of range; there are 5 (0 to 4, or -1 for the last)"),
        ({"hide": slice(7, 9)}, "Calls: key: slice(7, 9, None) chooses none; there are 5"),
        ({"hide": 0, "heads": 3}, "Calls: head 3 is out of range; there are 3"),
        ({"hide": 0, "batch": [0, 2]}, "Calls: batch 2 is out of range; there are 2"),
        ({"hide": Edges(head=4)}, "Calls: head 4 is out of range"),
        (
            {"hide": torch.ones(3, 5).bool()},
            "Calls: hide= has shape (3, 5), read as (batch, key); the weights are "
            "(batch, head, query, key) = (2, 3, 5, 5)",
        ),
        ({"scale": torch.ones(2, 3, 5)}, "scale= has shape (2, 3, 5), read as (batch, query, key)"),
        ({"replace": lambda weights: weights[..., :2]}, "replace= gave shape (2, 3, 5, 2)"),
        ({"replace": lambda weights: None}, "replace= gave NoneType for (batch, head, query, key)"),  # noqa: ARG005
    ],
)
def test_what_does_not_fit_a_call_is_raised_by_it(options: dict[str, Any], text: str) -> None:
    model = Calls()
    plain = model(*Q)
    with told(text):
        run(model, *Q, **options)
    assert torch.equal(model(*Q), plain)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"hide": np.ones(4, dtype=bool)},
            "hide= touched nothing: it has 4 keys, and Calls has 5",
        ),
        (
            {"hide": 0, "sites": "head.*"},
            "hide= touched nothing: no such site ran, or none over keys",
        ),
        ({"hide": {"x": 1, "Calls": 2}}, "hide= touched nothing: no such site ran"),
        ({"hide": 0, "sites": ["Calls", "x.*"]}, "hide= touched nothing called 'x.*'; calls"),
        (
            {"scale": 1, "sites": lambda site: "y" in site},
            "scale= touched nothing: no such site ran",
        ),
    ],
)
def test_an_edit_that_touched_nothing(options: dict[str, Any], text: str) -> None:
    with told(text):
        run(Calls(), *Q, times=2, **options)


def test_a_model_that_did_not_run() -> None:
    with told(
        "hide= touched nothing: the model did not run in the block; it has: layers.0.self_attn"
    ):
        run(encoder(), hide=0)
    with told("touched nothing: no attention of Linear ran in the block; looked for: attnlens"):
        run(nn.Linear(3, 3), torch.zeros(3), hide=0)
    model = nn.ModuleDict({"a": encoder(1), "b": encoder(1)})
    with (
        told("a.layers.0.self_attn 1; known but not run: b.layers.0.self_attn"),
        intervene(model, hide=0, sites="b.*"),
    ):
        model["a"](X)
    probe = AttentionProbe(("batch", "node"))
    with told("none over keys; calls of each site: AttentionProbe 1"):
        run(probe, torch.ones(2, 3), hide=0)


def hooks(model: nn.Module) -> list[int]:
    return [
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()
    ]


class Probed(nn.Module):
    """A probe, and a hook of the model's own on it."""

    def __init__(self) -> None:
        super().__init__()
        self.probe = AttentionProbe(("batch", "head", "query", "key"))
        self.heard: list[Tensor] = []
        self.probe.register_forward_hook(lambda _, __, weights: self.heard.append(weights))

    def forward(self, weights: Tensor) -> Any:
        return self.probe(weights)


def test_hooks_go_when_the_block_fails() -> None:
    model = Probed()
    before = hooks(model), list(model.probe._forward_hooks)
    weights = torch.tensor([[[[0.25, 0.75]]]])

    def fail() -> None:
        with intervene(model, hide=0):
            assert model(weights).flatten().tolist() == [0.0, 1.0]
            raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        fail()
    with told("key 7 is out of range"):
        run(model, weights, hide=7)
    assert (hooks(model), list(model.probe._forward_hooks)) == before
    assert torch.equal(model(weights), weights)
    # A hook that watched before the block sees what the model goes on with.
    assert model.heard[0].flatten().tolist() == [0.0, 1.0]


RUNS: list[tuple[Any, tuple[Tensor, ...], str]] = [
    (Calls(), tuple(Q), "Calls"),
    (Probed(), (torch.tensor([[[[0.25, 0.75]]]]),), "probe"),
]


@pytest.mark.parametrize(("model", "inputs", "site"), RUNS)
def test_other_threads_run_the_model_as_it_is(
    model: Any, inputs: tuple[Tensor, ...], site: str
) -> None:
    plain = model(*inputs)
    found: dict[int, Tensor] = {}
    entered, ran = threading.Barrier(3), threading.Barrier(3)

    def work(key: int) -> None:
        with intervene(model, hide=key) as changed:
            entered.wait(60)
            found[key] = model(*inputs)
            ran.wait(60)
        assert changed == {site: 1}

    threads = [threading.Thread(target=work, args=(key,)) for key in (0, 1)]
    for thread in threads:
        thread.start()
    entered.wait(60)
    assert torch.equal(model(*inputs), plain)
    ran.wait(60)
    for thread in threads:
        thread.join()
    for key in (0, 1):
        with intervene(model, hide=key):
            assert torch.equal(model(*inputs), found[key])
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize(("model", "inputs", "site"), RUNS)
def test_a_model_that_ran_in_another_thread_only(
    model: Any, inputs: tuple[Tensor, ...], site: str
) -> None:
    with (
        told(f"{site}: ran in another thread; a block is for the thread it is in"),
        intervene(model, hide=0),
    ):
        thread = threading.Thread(target=model, args=inputs)
        thread.start()
        thread.join()


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointing_is_refused_where_gradients_would_be_wrong(reentrant: bool) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = encoder(1)

        def forward(self, x: Tensor) -> Any:
            return checkpoint(self.inner, x, use_reentrant=reentrant)

    model = Checkpointed()
    with told("inner.layers.0.self_attn: gradient checkpointing computes it again"):
        run(model, X.clone().requires_grad_(), hide=0)
    if not reentrant:
        with torch.no_grad():
            run(model, X, hide=0)
