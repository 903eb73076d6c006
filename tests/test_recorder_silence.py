"""What was not recorded is an error that says what, why, and what to do."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, encoder, tensors
from torch import Tensor, nn

from attnlens.errors import (
    AttnlensError,
    IncompleteRecordingError,
    InterventionError,
    NothingRecordedError,
    RecordingError,
)
from attnlens.recording import intervene, record


def run(model: nn.Module, *inputs: Tensor, **options: Any) -> Any:
    with record(model, **options) as recording:
        if inputs:
            model(*inputs)
    return recording


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rows": 1, "top_k": 2}, r"rows and top_k exclude each other; choose one of rows="),
        ({"lazy": True, "top_k": 2}, r"top_k and lazy exclude each other"),
        ({"top_k": 0}, r"top_k=0; give a number from 1"),
        ({"rows": "last"}, r"rows='last'; give a position"),
        ({"rows": [0.5]}, r"rows=\[0.5\]; give a position"),
        ({"dtype": torch.int8}, r"dtype=torch.int8; choose one of torch.float16, "),
        ({"dtype": torch.float16, "lazy": True}, r"leave dtype out, or lazy"),
        ({"include": []}, r"include=\[\]; give names, patterns"),
        ({"expected": 0}, r"expected=0; give how many"),
        ({"adapters": "blocks.*"}, r"adapters='blocks.\*'; give an object"),
        ({"adapters": [3]}, r"adapters=3; give an object with matches\(module\)"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], told: str) -> None:
    with pytest.raises(RecordingError, match=told):
        run(Calls(), **options)


def test_a_model_is_needed() -> None:
    with pytest.raises(RecordingError, match=r"needs a torch.nn.Module, not function"):
        run(lambda x: x)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rows": 5}, r"Calls: row 5 is out of range; there are 5 \(0 to 4, or -1"),
        ({"rows": [0, -6]}, r"Calls: row -6 is out of range"),
        ({"rows": slice(9, 12)}, r"Calls: row: slice\(9, 12, None\) chooses none; there are 5"),
        ({"top_k": 6}, r"Calls: top_k=6, and there are 5 keys; give at most 5, or leave top_k"),
    ],
)
def test_what_does_not_fit_a_call_is_raised_by_it(options: dict[str, Any], told: str) -> None:
    model = Calls()
    with record(model) as recording:
        with pytest.raises(RecordingError, match=told), record(model, **options):
            model(*tensors(1, 2, 5, 4, many=3))
        model(*tensors(1, 2, 5, 4, many=3))
    assert len(recording.calls("Calls")) == 2
    assert F.scaled_dot_product_attention is torch._C._nn.scaled_dot_product_attention


def test_a_model_without_attention() -> None:
    with pytest.raises(NothingRecordedError) as caught:
        run(nn.Linear(3, 3), torch.zeros(3))
    text = str(caught.value)
    for word in ("Linear", "MultiheadAttention", "SoftmaxAdapter", "Probe"):
        assert word in text
    assert "\n" not in text


def test_a_model_that_was_not_run() -> None:
    with pytest.raises(NothingRecordedError, match=r"none of the 2 attention modules ran; call"):
        run(encoder())


def test_another_thread() -> None:
    model = nn.ModuleDict({"here": Calls(), "there": Calls()})
    inputs = tensors(1, 2, 3, 4, many=3)

    def elsewhere() -> None:
        thread = threading.Thread(target=model["there"], args=tuple(inputs))
        thread.start()
        thread.join()

    with pytest.raises(NothingRecordedError, match="there: ran in another thread"), record(model):
        elsewhere()

    def both(**options: Any) -> None:
        with record(model, **options):
            model["here"](*inputs)
            elsewhere()

    told = "1 site ran and was not recorded: there: ran in another thread; a block is for"
    with pytest.raises(IncompleteRecordingError, match=told):
        both()
    both(include="here")
    # What was recorded here as well is not missed.
    with record(model) as recording:
        model["there"](*inputs)
        elsewhere()
    assert len(recording.calls("there")) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripts() -> None:
    model = nn.ModuleDict({"plain": Calls()})

    class Plain(nn.Module):
        def forward(self, q: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, q, q)

    model["script"] = torch.jit.script(Plain())
    model["harmless"] = torch.jit.script(nn.Linear(2, 2))
    q, k, v = tensors(1, 2, 3, 4, many=3)

    def every() -> None:
        with record(model):
            model["plain"](q, k, v)
            model["script"](q)
            model["harmless"](torch.zeros(2))

    with pytest.raises(IncompleteRecordingError, match="script: is TorchScript") as caught:
        every()
    assert "harmless" not in str(caught.value)
    with record(model, expected=1):
        model["plain"](q, k, v)


def test_the_number_expected() -> None:
    model = encoder()
    (x,) = tensors(1, 3, 12)
    run(model, x, expected=2)
    with pytest.raises(
        IncompleteRecordingError,
        match=r"3 records expected, 2 made: layers.0.self_attn 1, layers.1.self_attn 1",
    ):
        run(model, x, expected=3)
    assert issubclass(IncompleteRecordingError, AttnlensError)


def test_some_sites_only() -> None:
    model = encoder(3)
    (x,) = tensors(1, 3, 12)
    first, last = "layers.0.self_attn", "layers.2.self_attn"
    assert list(run(model, x, include=first)) == [first]
    assert list(run(model, x, include=["*.0.*", "layers.[2-9].*"])) == [first, last]
    assert list(run(model, x, include=lambda site: "2" in site)) == [last]
    with pytest.raises(NothingRecordedError, match=r"include matched no attention of .*layers\.0"):
        run(model, x, include="decoder.*")
    with pytest.raises(IncompleteRecordingError, match=r"nothing that ran is called 'head'"):
        run(model, x, include=[first, "head"])


def test_tensors_without_values() -> None:
    with pytest.raises(RecordingError, match="tensors on the device meta have no values"):
        run(Calls(), *(part.to("meta") for part in tensors(1, 2, 3, 4, many=3)))


@pytest.mark.parametrize("transform", [torch.vmap, torch.func.grad])
def test_transforms_of_functions_are_refused(transform: Any) -> None:
    model = Calls()
    (q,) = tensors(2, 1, 2, 3, 4)
    with pytest.raises(RecordingError, match=r"inside a torch.func transform"), record(model):
        transform(lambda x: model(x, x, x).sum())(q if transform is torch.vmap else q[0])
    with (
        pytest.raises(InterventionError, match=r"inside a torch.func transform .* be changed"),
        intervene(model, hide=0),
    ):
        transform(lambda x: model(x, x, x).sum())(q if transform is torch.vmap else q[0])
