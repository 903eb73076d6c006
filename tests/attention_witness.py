"""A witness of attention that shares no code with the recorder, and what it says of a record."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlens.errors import AttnlensError
from attnlens.recording import SoftmaxAdapter, record

TOLERANCE = 2e-5
FOLLOWED = frozenset(
    (
        *("view", "_unsafe_view", "expand", "clone", "_to_copy", "permute", "transpose", "t"),
        *("slice", "select", "unsqueeze", "squeeze", "split", "unbind", "detach", "alias"),
        *("masked_fill", "mul", "div", "where", "constant_pad_nd", "as_strided"),
    )
)
"""Operators whose result is still the weights that they are given, laid out or masked."""
WORST_FIRST = ("wrong", "error", "adapter", "exact", "no attention")

Inputs = dict[str, Any]
"""By name; ``args``: those without one."""


class Witness(TorchDispatchMode):
    """Follows the operators of a run.

    Attention is every softmax over the last of three dimensions or more whose result comes to a
    product of matrices, or to a sum of what it was multiplied with; and every fused call, worked
    out in float64. A softmax that is put together of exponentials and sums is not seen.

    Attributes:
        weights: of all attention, in the order in which it is used.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[Tensor] = []
        self._softmaxes: dict[int, Tensor] = {}  # by the id of what was made of it
        self._kept: list[Tensor] = []  # or another tensor could come to have an id

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        found = [self._softmaxes[id(one)] for one in leaves(args) if id(one) in self._softmaxes]
        if name in ("_softmax", "_safe_softmax") and args[1] in (-1, output.dim() - 1):
            if output.dim() > 2:
                self._follow(output, output.clone())
        elif name == "_scaled_dot_product_flash_attention_for_cpu":
            self.weights.append(shares(*args, **(kwargs or {})))
        elif name in FOLLOWED:
            for softmax in found[:1]:
                for part in leaves(output):
                    self._follow(part, softmax)
        elif name in ("mm", "bmm", "baddbmm", "addmm") or (
            name == "sum" and found and args[0].numel() > found[0].numel()
        ):
            self.weights += [one for one in found if not any(one is w for w in self.weights)]
        return output

    def _follow(self, tensor: Tensor, softmax: Tensor) -> None:
        self._softmaxes[id(tensor)] = softmax
        self._kept.append(tensor)


def shares(
    q: Tensor, k: Tensor, _: Tensor, dropout: float = 0.0, causal: bool = False, **named: Any
) -> Tensor:
    """softmax(scale * QK^T + mask) in float64."""
    assert not dropout
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1).double()
    logits = q.double() @ k.transpose(-1, -2) * (named.get("scale") or q.shape[-1] ** -0.5)
    mask = named.get("attn_mask")
    if causal:
        mask = torch.ones(logits.shape[-2:], dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        logits = logits.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        logits = logits + mask
    return logits.softmax(-1)


def unmatched(weights: list[Tensor], records: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Weights of which there is no record, and records that are of none. Rows of NaN count as 0."""
    left, missing = list(records), []
    for one in weights:
        flat = one.double().flatten().nan_to_num(0.0)
        for place, other in enumerate(left):
            if other.numel() == len(flat) and torch.allclose(
                other.double().flatten(), flat, atol=TOLERANCE, rtol=0
            ):
                del left[place]
                break
        else:
            missing.append(one)
    return missing, left


def leaves(output: Any) -> list[Tensor]:
    return [one for one in tree_leaves(output) if isinstance(one, Tensor)]


def same(one: Any, other: Any) -> bool:
    """Whether outputs are the same to the last bit."""
    pairs = list(zip(leaves(one), leaves(other), strict=False))
    return bool(pairs) and all(torch.equal(a, b) for a, b in pairs)


def answer(model: nn.Module, inputs: Inputs) -> Any:
    """The output of a model, each time from the same seed."""
    torch.manual_seed(0)
    named = {name: value for name, value in inputs.items() if name != "args"}
    with torch.no_grad():
        return model(*inputs.get("args", ()), **named)


def fault(model: nn.Module, inputs: Inputs) -> str:
    """Why a model cannot be run on inputs; nothing if it can."""
    try:
        output = answer(model, inputs)
    except Exception as error:
        return line_of(error)
    if any(one.isnan().any() for one in leaves(output) if one.is_floating_point()):
        return "the small model answers with NaN"
    return ""


def line_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def row_of(models: Iterable[tuple[nn.Module, Iterable[Inputs]]]) -> dict[str, Any]:
    """What `record` makes of the first of some models that runs and has attention."""
    row: dict[str, Any] = {"state": "not run", "told": ""}
    try:
        for model, choices in models:
            model.eval()
            for inputs in choices:
                problem = fault(model, inputs)
                row["told"] = row["told"] or problem
                if problem:
                    continue
                row = in_all_ways(model, inputs)
                if row["state"] != "no attention":
                    return row
                break
    except Exception as error:
        row["told"] = row["told"] or line_of(error)
    return row


def in_all_ways(model: Any, inputs: Inputs) -> dict[str, Any]:
    """The worst of the rows of a model as it is, and eager where that can be asked for."""
    way = getattr(getattr(model, "config", None), "_attn_implementation", None) or "as it is"
    rows = {way: judged(model, inputs)}
    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation("eager")
        for eager in (inputs | {"output_attentions": True}, inputs):
            if not fault(model, eager):
                rows["eager"] = judged(model, eager)
                break
    worst = min(rows.values(), key=lambda row: WORST_FIRST.index(row["state"]))
    returned = list(rows.values())[-1]["returned"]
    return worst | {"ways": ", ".join(rows), "returned": returned}


def judged(model: nn.Module, inputs: Inputs) -> dict[str, Any]:
    """What `record` makes of one run, beside the witness and what the library returns itself."""
    plain, again = answer(model, inputs), answer(model, inputs)
    torch.backends.mha.set_fastpath_enabled(False)  # one operator for a layer tells nothing
    with Witness() as witness:
        answer(model, inputs)
    torch.backends.mha.set_fastpath_enabled(True)
    row: dict[str, Any] = {"state": "exact", "told": "", "records": 0, "returned": ""}
    adapter = None
    while True:
        try:
            with record(model, rows=slice(None), adapters=adapter) as recording:
                output = answer(model, inputs)
            break
        except AttnlensError as error:
            row["told"] = row["told"] or str(error)
            advice = re.search(r"adapters=SoftmaxAdapter\((.+?)\) to have", str(error))
            # The remedy is for attention; where the witness saw none, it is left.
            if adapter or not advice or not witness.weights:
                none = row["told"].startswith("no attention of") and not witness.weights
                return row | {"state": "no attention" if none else "error"}
            adapter = SoftmaxAdapter(ast.literal_eval(advice[1]))
        except Exception as error:
            return row | {"state": "wrong", "told": line_of(error)}
    records = [one.weights for one in recording.records()]
    missing, left = unmatched(witness.weights, records)
    faults = []
    if missing:
        shape = tuple(missing[0].shape)
        faults.append(f"{len(missing)} of {len(witness.weights)} missing or not so: {shape}")
    if left:
        shape = tuple(left[0].shape)
        faults.append(f"{len(left)} of {len(records)} records of what is no attention: {shape}")
    if same(plain, again) and not same(plain, output):
        faults.append("the output changed")
    if faults:
        return row | {"state": "wrong", "told": "; ".join(faults)}
    held = output if isinstance(output, dict) else {}
    returned = leaves([value for key, value in held.items() if key.endswith("attentions")])
    if returned:
        # Of a sink, which no token is, libraries return nothing.
        others, _ = unmatched(returned, records + [one[..., :-1] for one in records])
        row["returned"] = f"{len(returned) - len(others)} of {len(returned)}"
    return row | {"state": "adapter" if adapter else "exact", "records": len(records)}
