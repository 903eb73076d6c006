"""A witness of attention that shares no code with the recorder, and what it says of a record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlens.errors import AttnlensError
from attnlens.recording import record

TOLERANCE = 2e-5
FOLLOWED = frozenset(
    (
        *("view", "_unsafe_view", "expand", "clone", "_to_copy", "permute", "transpose", "t"),
        *("slice", "select", "unsqueeze", "squeeze", "split", "unbind", "detach", "alias", "cat"),
        *("masked_fill", "mul", "div", "where", "constant_pad_nd", "as_strided", "add", "sub"),
        *("masked_fill_", "mul_", "div_", "add_", "sub_", "index_select", "convolution"),
    )
)
"""Operators whose result is still weights if they are given some: laid out, masked or mixed."""
WORST_FIRST = ("wrong", "error", "exact", "no attention")

Inputs = dict[str, Any]
"""By name; ``args``: those without one."""


class Witness(TorchDispatchMode):
    """Follows the operators of a run, from every softmax to what it is multiplied with.

    Attention is the operand of a product of matrices, or of a sum of what it was multiplied with,
    that a softmax over one of three dimensions or more led to; a product with a parameter only
    mixes it. Fused calls are worked out in float64. Weights that no softmax made are not seen.

    Attributes:
        weights: of all attention, in the order in which it is used, as the product has it.
        factors: of every product of two tensors that are no parameters, what may be weights.
    """

    def __init__(self, model: nn.Module | None = None) -> None:
        super().__init__()
        self.weights: list[Tensor] = []
        self.factors: list[Tensor] = []
        self._operands: dict[int, Tensor] = {}  # by the id of what was made of it
        self._used: list[Tensor] = []
        self._kept: list[Tensor] = []  # or another tensor could come to have an id
        parameters = [] if model is None else model.parameters()
        self._parameters = {one.untyped_storage().data_ptr() for one in parameters}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in ("mm", "bmm", "baddbmm", "addmm", "mul"):
            pair = leaves(args)[-2:]
            if len(pair) == 2 and not any(map(self._is_parameter, pair)):
                self.factors += [one.clone() for one in pair if is_share(one)]
        found = [one for one in leaves(args) if id(one) in self._operands]
        if name in ("_softmax", "_safe_softmax"):
            if output.dim() > 2:
                self._follow(output, output)
        elif name == "_scaled_dot_product_flash_attention_for_cpu":
            self.weights.append(shares(*args, **(kwargs or {})))
        elif not found:
            pass
        elif name in ("mm", "bmm", "baddbmm", "addmm"):
            if any(self._is_parameter(one) for one in leaves(args)):
                self._follow(output, output)
            else:
                self._use(found[0])
        elif name == "sum" and self._operands[id(found[0])].numel() < found[0].numel():
            self._use(self._operands[id(found[0])])
        elif name in FOLLOWED:
            for part in leaves(output):
                grown = name == "mul" and part.numel() > found[0].numel()
                self._follow(part, self._operands[id(found[0])] if grown else part)
        return output

    def _is_parameter(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage().data_ptr() in self._parameters

    def _follow(self, tensor: Tensor, operand: Tensor) -> None:
        self._operands[id(tensor)] = operand
        self._kept.append(tensor)

    def _use(self, operand: Tensor) -> None:
        if not any(operand is one for one in self._used):
            self.weights.append(operand.clone())
            self._used.append(operand)


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
    """Weights of which there is no record, and records that are of none.

    Values are compared in order of size, so that any layout will do. Rows of NaN count as 0.
    """
    left, missing = list(records), []
    for one in weights:
        for place, other in enumerate(left):
            if other.numel() == one.numel() and torch.allclose(
                in_order(other), in_order(one), atol=TOLERANCE, rtol=0
            ):
                del left[place]
                break
        else:
            missing.append(one)
    return missing, left


def is_share(factor: Tensor) -> bool:
    """Whether all values of a factor lie between 0 and 1."""
    if not factor.is_floating_point() or factor.dim() < 2 or not factor.numel():
        return False
    factor = factor.detach().double().nan_to_num(0.0)
    return bool(factor.min() >= 0) and bool(factor.max() <= 1 + TOLERANCE)


def in_order(weights: Tensor) -> Tensor:
    return weights.double().flatten().nan_to_num(0.0).sort().values


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
    with Witness(model) as witness:
        answer(model, inputs)
    torch.backends.mha.set_fastpath_enabled(True)
    row: dict[str, Any] = {"state": "exact", "told": "", "records": 0, "returned": ""}
    try:
        with record(model, rows=slice(None)) as recording:
            output = answer(model, inputs)
    except AttnlensError as error:
        row["told"] = str(error)
        none = row["told"].startswith("no attention of") and not witness.weights
        return row | {"state": "no attention" if none else "error"}
    except Exception as error:
        return row | {"state": "wrong", "told": line_of(error)}
    records = [one.weights for one in recording.records()]
    missing, left = unmatched(witness.weights, records)
    # Weights that no softmax made are weights too, where a product has them.
    _, left = unmatched(witness.factors, left)
    # What a note tells of is not missing in silence.
    notes = " ".join(recording.notes)
    missing = [one for one in missing if f"weights of shape {tuple(one.shape)}" not in notes]
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
        others, _ = unmatched(returned, records)
        row["returned"] = f"{len(returned) - len(others)} of {len(returned)}"
    return row | {"state": "exact", "records": len(records)}
