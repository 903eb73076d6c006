"""What goes wrong when attnlens is used wrongly: one line that has the choices or the remedy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, encoder, module, reference, tensors, told
from refused import refused
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import attnlens
from attnlens import attention
from attnlens.errors import (
    AttnlensError,
    IncompleteRecordingError,
    InterventionError,
    NothingRecordedError,
    RecordingError,
)
from attnlens.recording import Edges, SoftmaxAdapter, intervene, record
from attnlens.recording.probe import AttentionProbe

SITE = "layers.0.self_attn"
X = torch.linspace(-1, 1, 48).sin().view(1, 6, 8)


MODEL = encoder(width=8)


def recording_of(model: Any, *inputs: Tensor, **options: Any) -> attnlens.Recording:
    with record(model, **options) as recording:
        if inputs:
            model(*inputs)
    return recording


def recorded(**options: Any) -> attnlens.Recording:
    return recording_of(MODEL, X, **options)


RECORDING = recorded()
RECORD = RECORDING[SITE]
LINEAR = nn.Linear(8, 8)
CONSTANT = module("Constant", lambda _, x: torch.ones_like(x))
ORIGINAL = F.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def torch_is_as_it_was() -> Any:
    yield
    assert F.scaled_dot_product_attention is torch._C._nn.scaled_dot_product_attention is ORIGINAL


def looked_at_too_early() -> None:
    with record(MODEL) as recording:
        recording[SITE]


def twice_in_one_block() -> None:
    with record(MODEL) as recording:
        MODEL(X)
        MODEL(X)
    recording[SITE]


def two_blocks_one_of_them_empty() -> None:
    with record(MODEL):
        MODEL(X)
        with record(MODEL):
            pass


def outside_the_block() -> None:
    with record(MODEL):
        pass
    MODEL(X)


def of_another_model() -> None:
    with record(encoder()):
        MODEL(X)


MISUSES: dict[str, Callable[..., Any]] = {
    # What is recorded.
    "a tensor for a model": lambda: recording_of(X, X),
    "a class for a model": lambda: recording_of(nn.Transformer, X),
    "a function for a model": lambda: recording_of(MODEL.forward, X),
    "called after the block": outside_the_block,
    "another model": of_another_model,
    "two blocks": two_blocks_one_of_them_empty,
    "an adapter for nothing": lambda: recorded(adapters=SoftmaxAdapter("attention.*")),
    # What is asked of a recording.
    "a site that is misspelt": lambda: RECORDING["layer.1.self_attn"],
    "a site by number": lambda: RECORDING[0],
    "a recording in its block": looked_at_too_early,
    "a site that ran twice": twice_in_one_block,
    "an empty recording saved": lambda: attnlens.Recording().save("x"),
    "a head there is not": lambda: RECORD.sel(head=2),
    "an axis that is misspelt": lambda: RECORD.sel(quary=0),
    "a label there is not": lambda: RECORD.labelled(key=list("ABCDEF")).sel(key="a"),
    "too few labels": lambda: RECORD.labelled(key=["a", "b"]),
    "labels for no axis": lambda: RECORDING.labelled(token=list("ABCDEF")),
    "a recording loaded": lambda: attnlens.load_recording(RECORDING),
    # What is analysed.
    "a recording of several": lambda: attention.entropy(RECORDING),
    "a model analysed": lambda: attention.entropy(MODEL),
    "nothing analysed": lambda: attention.entropy(None),
    "a text for a count": lambda: attention.strongest_keys(RECORD, "3"),
    "a row there is not": lambda: attention.rollout(RECORDING, rows=6),
    "a record rolled out": lambda: attention.rollout(RECORD),
    "layers of other batches": lambda: attention.rollout([RECORD, torch.rand(3, 2, 6, 6)]),
    "rows of the strongest keys": lambda: attention.entropy(recorded(top_k=2)[SITE]),
    # What is changed.
    "sites that match nothing": lambda: edited(MODEL, X, hide=0, sites="decoder.*"),
    "a tensor changed": lambda: edited(X, X, hide=0),
    # What is described.
    "a class described": lambda: attnlens.describe(nn.Linear, X),
    "nothing to run on": lambda: attnlens.describe(MODEL),
    "two names for one tensor": lambda: attnlens.describe(LINEAR, X, names=("a", "b")),
    "an output that is always the same": lambda: attnlens.describe(CONSTANT, X),
    "axes of another input": lambda: attnlens.describe(LINEAR, X, axes={"x": ("token",)}),
    "an array described": lambda: attnlens.describe(LINEAR, X.numpy()),
    "a step there is not": lambda: attnlens.trace(LINEAR, X)["y"],
}


def test_a_misuse_is_told_in_one_line_with_the_choices(snapshot: Any) -> None:
    messages = {name: refused(AttnlensError, misuse) for name, misuse in MISUSES.items()}
    assert messages == snapshot


def test_a_name_that_is_not_there_is_a_key_error_too() -> None:
    with pytest.raises(
        KeyError, match="no attention was recorded at 'typo'; the recorded sites are 'layers"
    ):
        RECORDING["typo"]
    assert RECORDING.get("typo") is None
    assert "typo" not in RECORDING
    assert ["typo"] not in RECORDING


def test_a_recording_stands_for_its_only_record_and_for_its_layers() -> None:
    one = recorded(include="layers.0.*")
    assert np.array_equal(attention.entropy(one), attention.entropy(RECORD))
    layers = [RECORDING[site] for site in RECORDING]
    assert np.array_equal(attention.rollout(RECORDING), attention.rollout(layers))


def test_the_package_lists_what_it_promises() -> None:
    assert dir(attnlens) == sorted(attnlens.__all__)


OPTIONS: list[dict[str, Any]] = [
    {"rows": 1, "top_k": 2}, {"lazy": True, "top_k": 2}, {"top_k": 0}, {"rows": "last"},
    {"rows": [0.5]}, {"dtype": torch.int8}, {"dtype": "half"},
    {"dtype": torch.float16, "lazy": True}, {"include": []}, {"include": 0}, {"include": nn.ReLU()},
    {"expected": 0}, {"adapters": "blocks.*"}, {"adapters": [3]},
]  # fmt: skip
MISFITS: list[dict[str, Any]] = [
    {"rows": 5}, {"rows": [0, -6]}, {"rows": slice(9, 12)}, {"top_k": 6},
]  # fmt: skip


def test_options_that_do_not_go_together(snapshot: Any) -> None:
    assert [refused(RecordingError, recording_of, Calls(), **some) for some in OPTIONS] == snapshot


def test_what_does_not_fit_a_call_is_raised_by_it(snapshot: Any) -> None:
    model, inputs = Calls(), tensors(1, 2, 5, 4, many=3)
    with record(model) as recording:
        work = partial(refused, RecordingError, recording_of, model, *inputs)
        assert [work(**options) for options in MISFITS] == snapshot
        model(*inputs)
    assert len(recording.calls("Calls")) == len(MISFITS) + 1


def test_a_model_that_was_not_run_or_has_no_attention(snapshot: Any) -> None:
    cases: list[tuple[Any, ...]] = [(encoder(),), (nn.Linear(3, 3), torch.zeros(3))]
    assert [refused(NothingRecordedError, recording_of, *case) for case in cases] == snapshot


def test_another_thread() -> None:
    model = nn.ModuleDict({"here": Calls(), "there": Calls()})
    inputs = tensors(1, 2, 3, 4, many=3)

    def both(here: str | None, **options: Any) -> Any:
        with ThreadPoolExecutor(1) as pool, record(model, **options) as recording:
            if here:
                model[here](*inputs)
            pool.submit(model["there"], *inputs).result()
        return recording

    assert "there: attention ran outside the thread" in refused(NothingRecordedError, both, None)
    told = "1 site ran and was not recorded: there: attention ran outside the thread of the block"
    assert told in refused(IncompleteRecordingError, both, "here")
    both("here", include="here")
    # What was recorded here as well is not missed.
    assert len(both("there").calls("there")) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_number_expected() -> None:
    model = encoder()
    (x,) = tensors(1, 3, 12)
    recording_of(model, x, expected=2)
    told = "2 records were made, but expected=3: layers.0.self_attn 1, layers.1.self_attn 1"
    assert told in refused(IncompleteRecordingError, recording_of, model, x, expected=3)
    assert issubclass(IncompleteRecordingError, AttnlensError)


def test_some_sites_only() -> None:
    model = encoder(3)
    (x,) = tensors(1, 3, 12)
    first, last = "layers.0.self_attn", "layers.2.self_attn"
    assert list(recording_of(model, x, include=first)) == [first]
    assert list(recording_of(model, x, include=["*.0.*", "layers.[2-9].*"])) == [first, last]
    assert list(recording_of(model, x, include=lambda site: "2" in site)) == [last]
    told = refused(NothingRecordedError, recording_of, model, x, include="decoder.*")
    assert told.startswith("include= matched no attention of ")
    assert "layers.0" in told
    told = refused(IncompleteRecordingError, recording_of, model, x, include=[first, "head"])
    assert "include='head' matches no site that ran" in told


def test_tensors_without_values() -> None:
    with pytest.raises(RecordingError, match="tensors on the meta device have no values"):
        recording_of(Calls(), *(part.to("meta") for part in tensors(1, 2, 3, 4, many=3)))


@pytest.mark.parametrize("transform", [torch.vmap, torch.func.grad])
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_transforms_of_functions_are_recorded_and_cannot_be_changed(transform: Any) -> None:
    model = Calls()
    (q,) = tensors(2, 1, 2, 3, 4)
    batch = q if transform is torch.vmap else q[0]
    with record(model) as recording:
        transform(lambda x: model(x, x, x).sum())(batch)
    weights = torch.cat([entry.weights for entry in recording.calls("Calls")])
    expected = reference(batch.flatten(0, -4), batch.flatten(0, -4))
    assert abs(weights.numpy() - expected).max() < 2e-5
    text = r"inside a torch.func transform .* be changed"
    with pytest.raises(InterventionError, match=text), intervene(model, hide=0):
        transform(lambda x: model(x, x, x).sum())(batch)


def edited(model: nn.Module, *inputs: Tensor, times: int = 1, **options: Any) -> None:
    with intervene(model, **options):
        for _ in range(times if inputs else 0):
            model(*inputs)


Q = tensors(2, 3, 5, 4, many=3)
(STATES,) = tensors(1, 3, 12)


EDITS: list[dict[str, Any]] = [
    {}, {"hide": 1, "scale": 2}, {"hide": 1, "keys": 2}, {"hide": []}, {"hide": [True, False]},
    {"hide": torch.zeros(2, 5)}, {"hide": torch.zeros(1, 1, 1, 1, 1).bool()},
    {"hide": [Edges(key=1), 3]}, {"hide": Edges(key=1), "heads": 0}, {"hide": {}},
    {"hide": {"a": 1}, "sites": "b"}, {"hide": 1, "sites": []}, {"scale": "half"}, {"replace": 3},
]  # fmt: skip
EDITS_THAT_DO_NOT_FIT: list[dict[str, Any]] = [
    {"hide": 5}, {"hide": slice(7, 9)}, {"hide": 0, "heads": 3}, {"hide": 0, "batch": [0, 2]},
    {"hide": Edges(head=4)}, {"hide": torch.ones(3, 5).bool()}, {"scale": torch.ones(2, 3, 5)},
    {"replace": lambda weights: weights[..., :2]}, {"replace": lambda _: None},
    {"hide": np.ones(4, dtype=bool)}, {"hide": 0, "sites": "head.*"},
    {"hide": {"x": 1, "Calls": 2}}, {"hide": 0, "sites": ["Calls", "x.*"]},
    {"scale": 1, "sites": lambda site: "y" in site},
]  # fmt: skip


def test_options_that_cannot_be(snapshot: Any) -> None:
    assert [refused(InterventionError, edited, Calls(), **some) for some in EDITS] == snapshot


def test_what_does_not_fit_a_call(snapshot: Any) -> None:
    model = Calls()
    plain, messages = model(*Q), []
    for options in EDITS_THAT_DO_NOT_FIT:
        message = refused(InterventionError, edited, model, *Q, times=2, **options)
        messages.append(message.partition("; calls of each site")[0])
        assert torch.equal(model(*Q), plain)
    assert messages == snapshot


def test_a_model_that_did_not_run(snapshot: Any) -> None:
    model = nn.ModuleDict({"a": encoder(1), "b": encoder(1)})
    model.forward = model["a"].forward
    cases: list[tuple[Any, ...]] = [
        (encoder(),),
        (nn.Linear(3, 3), torch.zeros(3)),
        (AttentionProbe(("batch", "node")), torch.ones(2, 3)),
        (lambda x: x,),
    ]
    messages = [refused(InterventionError, edited, *case, hide=0) for case in cases]
    messages.append(refused(InterventionError, edited, model, STATES, hide=0, sites="b.*"))
    assert messages == snapshot


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
    hooks = [[*it._forward_hooks, *it._forward_pre_hooks] for it in model.modules()]
    weights = torch.tensor([[[[0.25, 0.75]]]])

    def fail() -> None:
        with intervene(model, hide=0):
            assert model(weights).flatten().tolist() == [0.0, 1.0]
            raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        fail()
    with told("key 7 is out of range"):
        edited(model, weights, hide=7)
    assert [[*it._forward_hooks, *it._forward_pre_hooks] for it in model.modules()] == hooks
    assert torch.equal(model(weights), weights)
    # A hook that watched before the block sees what the model goes on with.
    assert model.heard[0].flatten().tolist() == [0.0, 1.0]


RUNS: list[tuple[Any, tuple[Tensor, ...], str]] = [
    (Calls(), tuple(Q), "Calls"),
    (Probed(), (torch.tensor([[[[0.25, 0.75]]]]),), "probe"),
]


@pytest.mark.parametrize(("model", "inputs", "site"), RUNS)
def test_threads_do_not_mix(model: Any, inputs: tuple[Tensor, ...], site: str) -> None:
    plain = model(*inputs)
    entered, ran = threading.Barrier(3), threading.Barrier(3)

    def work(key: int) -> Tensor:
        with intervene(model, hide=key) as changed:
            entered.wait(60)
            output = model(*inputs)
            ran.wait(60)
        assert changed == {site: 1}
        return output

    with ThreadPoolExecutor(2) as pool:
        outputs = pool.map(work, (0, 1))
        entered.wait(60)
        assert torch.equal(model(*inputs), plain)
        ran.wait(60)
    first, second = outputs
    for key, output in enumerate((first, second)):
        with intervene(model, hide=key):
            assert torch.equal(model(*inputs), output)
    assert not torch.equal(first, second)
    text = f"{site}: attention ran outside the thread of the block"
    with ThreadPoolExecutor(1) as pool, told(text), intervene(model, hide=0):
        pool.submit(model, *inputs).result()


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointing_is_refused_where_gradients_would_be_wrong(reentrant: bool) -> None:
    model = module(
        "Checkpointed",
        lambda it, x: checkpoint(it.inner, x, use_reentrant=reentrant),
        inner=encoder(1),
    )
    with told(
        "inner.layers.0.self_attn: gradient checkpointing would compute this attention again"
    ):
        edited(model, STATES.clone().requires_grad_(), hide=0)
    if not reentrant:
        with torch.no_grad():
            edited(model, STATES, hide=0)
