"""Recording leaves the model, torch and other threads as they are."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from attention_cases import Calls, encoder, module, reference, tensors, told
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as bound_here
from torch.utils.checkpoint import checkpoint

from attnlens.errors import RecordingError
from attnlens.recording import intervene, record

MODES: list[dict[str, Any]] = [{}, {"rows": -1}, {"top_k": 2}, {"lazy": True}]


class Two(nn.Module):
    """Two attention calls with weights to learn, by a name bound on import."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second = nn.Linear(8, 24), nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.first, self.second):
            q, k, v = layer(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
            x = x + bound_here(q, k, v, None, 0.1, True).transpose(1, 2).flatten(2)
        return x


def trained(model: nn.Module, *inputs: Tensor) -> list[Tensor]:
    """A training step's output, gradients and the random numbers after it."""
    torch.manual_seed(4)
    model.zero_grad()
    output = model(*inputs)
    torch.autograd.backward((output * torch.arange(output.numel()).view_as(output)).sum())
    found = [output.detach().clone()]
    found += [part.grad.clone() for part in model.parameters() if part.grad is not None]
    return [*found, torch.rand(5)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "make", [Two, lambda: encoder(dropout=0.2).train(), lambda: nn.Transformer(12, 2, 1, 1, 8)]
)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_outputs_gradients_and_random_numbers_are_the_same_bits(
    make: Callable[[], nn.Module], mode: dict[str, Any]
) -> None:
    model = make()
    (x,) = tensors(3, 5, 8 if isinstance(model, Two) else 12)
    inputs = (x, x) if isinstance(model, nn.Transformer) else (x,)
    plain = trained(model, *inputs)
    assert len(plain) > 3
    with record(model, **mode):
        seen = trained(model, *inputs)
    assert all(map(torch.equal, plain, seen))


def test_a_flash_kernel_asked_for_its_log_sums_gives_the_same_gradients() -> None:
    q, k, v = (part.requires_grad_() for part in tensors(2, 3, 40, 16, many=3))
    model = Calls()

    def run() -> list[Tensor]:
        output = model(q, k, v, is_causal=True)
        return [output.detach(), *torch.autograd.grad(output.square().sum(), (q, k, v))]

    plain = run()
    with record(model, lazy=True) as recording:
        seen = run()
    assert all(map(torch.equal, plain, seen))
    lazy = recording["Calls"].lazy
    torch.testing.assert_close(lazy.lse, lazy.logits().logsumexp(-1), atol=1e-5, rtol=0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_operators_exported_modules_and_scripts_are_seen_and_not_changed() -> None:
    (q,) = tensors(2, 3, 5, 8)
    operator = module(
        "Operator", lambda _, *qkv: torch.ops.aten.scaled_dot_product_attention.default(*qkv)
    )
    exported = torch.export.export(Calls(), (q, q, q)).module()
    script = torch.jit.script(Script())
    for model in (operator, exported, script):
        with record(model, expected=1) as recording:
            model(q, q, q)
        (entry,) = recording.records()
        assert abs(entry.weights.numpy() - reference(q, q)).max() < 2e-5
    with told("no Python function of torch computes the attention"), intervene(script, hide=1):
        script(q, q, q)
    with intervene(exported, hide=1) as changed:
        exported(q, q, q)
    assert len(changed) == 1


class Script(nn.Module):
    """Attention that TorchScript can run."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / q.shape[-1] ** 0.5, -1)
        return torch.matmul(weights, v)


def test_a_checkpointed_module_is_recorded_once() -> None:
    model = module(
        "Checkpointed", lambda it, x: checkpoint(it.inner, x, use_reentrant=False), inner=Two()
    )
    (x,) = tensors(2, 5, 8)
    plain = trained(model, x)
    with record(model, expected=2):
        seen = trained(model, x)
    assert all(map(torch.equal, plain, seen))


def state_of(model: nn.Module) -> list[Any]:
    parts = list(model.modules())
    hooks = [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in parts]
    return [*hooks, *(dict(part.__dict__) for part in parts)]


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_flex_attention_is_refused_with_a_way_out() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    model = module("Flexes", lambda _, q: flex_attention(q, q, q))
    (q,) = tensors(2, 4, 6, 8)
    with (
        pytest.raises(RecordingError, match="Flexes: the attention of flex_attention cannot be"),
        record(model),
    ):
        model(q)
    assert model(q).shape == q.shape


def test_the_model_is_as_it_was_after_an_exception_too() -> None:
    class Fails(Two):
        def forward(self, x: Tensor) -> Tensor:
            super().forward(x)
            raise KeyError("ours")

    model = Fails()
    before = state_of(model)
    for mode in MODES:
        with pytest.raises(KeyError, match="ours"), record(model, **mode):
            model(*tensors(1, 3, 8))
        assert state_of(model) == before


def test_blocks_nest_and_each_sees_its_own() -> None:
    outer_model = nn.ModuleDict({"a": Two(), "b": Two()})
    (x,) = tensors(1, 3, 8)
    with record(outer_model) as outer:
        outer_model["a"](x)
        with record(outer_model["b"], rows=-1) as inner:
            outer_model["a"](x)
            outer_model["b"](x)
        outer_model["b"](x)
    assert [len(outer.calls(site)) for site in ("a", "b")] == [4, 4]
    assert [entry.rows for entry in inner.calls("Two")] == [(2,), (2,)]
    assert torch.equal(inner.calls("Two")[0].weights, outer.calls("b")[0].weights[:, :, -1:])


def test_threads_do_not_mix() -> None:
    models = [Two() for _ in range(4)]
    barrier = threading.Barrier(len(models) + 1)

    def run(number: int) -> list[Any]:
        (x,) = tensors(1, 3 + number, 8, seed=number)
        with record(models[number]) as recording:
            barrier.wait(30)
            for _ in range(10):
                models[number](x)
            barrier.wait(30)
        return [entry.shape for entry in recording.records()]

    with ThreadPoolExecutor(len(models)) as pool:
        shapes = pool.map(run, range(len(models)))
        barrier.wait(30)
        # This thread has no block: its own call is in nobody's recording.
        models[0](*tensors(1, 20, 8))
        barrier.wait(30)
        assert list(shapes) == [[(1, 2, 3 + n, 3 + n)] * 20 for n in range(len(models))]


def test_nothing_but_the_recording_stays_alive() -> None:
    model = Two()
    q, k, v = tensors(1, 2, 3, 4, many=3)
    calls = Calls()
    with record(model) as recording, record(calls) as other:
        output = model(*tensors(1, 3, 8))
        calls(q, k, v)
    gone = [weakref.ref(thing) for thing in (model, calls, output, q, k, v)]
    del model, calls, output, q, k, v
    gc.collect()
    assert [ref() for ref in gone] == [None] * 6
    assert len(recording.calls("Two")) == 2
    assert other["Calls"].weights.shape == (1, 2, 3, 3)


def test_a_tensor_changed_later_does_not_change_the_record() -> None:
    q, k, v = tensors(1, 2, 3, 4, many=3)
    expected = torch.from_numpy(reference(q, k)).float()
    for mode in ({}, {"lazy": True}):
        first = [part.clone() for part in (q, k, v)]
        model = Calls()
        with record(model, **mode) as recording:
            model(*first)
        for part in first:
            part.zero_()
        torch.testing.assert_close(recording["Calls"].weights, expected)


def test_compiled_modules_are_seen() -> None:
    model = encoder()
    (x,) = tensors(2, 5, 12)
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        plain = compiled(x)
        with record(compiled, expected=2) as recording:
            output = compiled(x)
        with record(model) as same:
            model(x)
    assert list(recording) == list(same) == ["layers.0.self_attn", "layers.1.self_attn"]
    torch.testing.assert_close(plain, output, atol=1e-6, rtol=0)
    assert any("uncompiled" in note for note in recording.notes)
    assert torch._dynamo.eval_frame._stance.stance == "default"
