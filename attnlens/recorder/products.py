"""The product of weights and values, where a model forms its weights itself.

After a softmax that is attention, or a probe, the model multiplies its weights with values. Where
someone follows that, products of matrices lead here, and the one whose first factor is those
weights tells the values and what heads give: ``matmul``, ``bmm``, ``@``, or ``einsum``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeGuard

import torch
from torch import Tensor

from attnlens.recorder.interception import AttentionCall, Listener, TorchCall, here, untold

_CLOSE: Final = 1e-2
"""Weights cast to half precision differ by less."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A product whose first factor may be weights.

    Attributes:
        left: ``(..., query, key)``.
        right: ``(..., key, width)``, leading dimensions as those of ``left``.
        order: in which dimensions of the result are ``(..., query, width)``.
    """

    left: Tensor
    right: Tensor
    order: list[int]


def product(made: TorchCall) -> Any:
    """A product of matrices; of weights and values it is told to those who follow them."""
    following = [one for one in here.listeners if one.follows and one.awaited]
    again = torch._C._current_graph_task_id() != -1  # for gradients
    transformed = torch._C._functorch.peek_interpreter_stack() is not None
    if not following or again or transformed or "out" in made.named:
        return made.run()
    with untold():
        output = made.run()
        following.sort(key=lambda listener: not listener.changes)
        for one in _products(made):
            found = [(listener, _awaited(listener, one.left)) for listener in following]
            told = [(listener, call) for listener, call in found if call is not None]
            if told:
                return _told(told, one, output)
    return output


def _told(told: list[tuple[Listener, AttentionCall]], one: _Product, output: Tensor) -> Tensor:
    """Tell of a product; what the model goes on with."""
    laid = output.permute(one.order)
    changed: AttentionCall | None = None
    for listener, awaited in told:
        call = awaited
        assert call.weights is not None
        four = (*call.weights.shape[:2], -1)
        weights, v, heads = (
            part.reshape(*four, part.shape[-1]) for part in (one.left, one.right, laid)
        )
        # These weights are what dropout left.
        call = call.with_changes(weights=weights, v=v, output=heads, dropout=0.0)
        if changed is not None:
            call = call.with_changes(v=changed.v, output=changed.output, notes=changed.notes)
        answer = listener.outcome(call)
        listener.follow(awaited)
        changed = changed if answer is None else answer
    if changed is None or changed.output is None:
        return output
    undo = [one.order.index(place) for place in range(len(one.order))]
    return changed.output.to(output.dtype).reshape(laid.shape).permute(undo)


def _awaited(listener: Listener, left: Tensor) -> AttentionCall | None:
    """The call whose weights a factor is; the last one of several."""
    # Under training some are dropped, which the model need not tell.
    loose = listener.sites.modules[listener.sites.root].training
    for call in reversed(listener.awaited):
        assert call.weights is not None
        weights = call.weights
        lead, (queries, keys) = weights.shape[:2].numel(), weights.shape[2:]
        # A sink, the last key, has no value.
        fits = left.shape[-2] == queries and keys - left.shape[-1] in (0, 1)
        if not fits or left.shape[:-2].numel() != lead:
            continue
        whole = weights[..., : left.shape[-1]]
        near = left.detach().reshape(whole.shape).to(whole)
        if loose or call.dropout or torch.allclose(near, whole, atol=_CLOSE, equal_nan=True):
            return call
    return None


def _products(made: TorchCall) -> list[_Product]:
    """What a call multiplies, each way it can be read; none where that cannot be told."""
    first, *others = made.args
    if isinstance(first, str):
        listed = len(others) == 1 and isinstance(others[0], list | tuple)
        factors = list(others[0] if listed else others)
        written, _, result = first.replace(" ", "").partition("->")
        letters = written.split(",")
        plain = len(factors) == 2 and all(_is_plain(factor) for factor in factors)
        if len(letters) != 2 or not plain or "." in first or not result:
            return []
        both = list(zip(letters, factors, strict=True))
        read = [_einsum(*one, *other, result) for one, other in (both, both[::-1])]
        return [one for one in read if one is not None]
    right = others[0] if others else made.named.get("other", made.named.get("mat2"))
    if not _is_plain(first) or not _is_plain(right) or right.dim() > first.dim():
        return []
    right = right.expand(*first.shape[:-2], *right.shape[-2:])
    return [_Product(first, right, list(range(first.dim())))]


def _is_plain(factor: Any) -> TypeGuard[Tensor]:
    """Whether a factor is a tensor of two dimensions or more, neither sparse nor nested."""
    whole = isinstance(factor, Tensor) and factor.layout == torch.strided and not factor.is_nested
    return whole and factor.dim() > 1


def _einsum(of: str, left: Tensor, of_right: str, right: Tensor, result: str) -> _Product | None:
    """Two factors of an ``einsum``, if the first can be weights: ``ij,jd->id``, and heads."""
    lead, (query, key) = of[:-2], list(of[-2:].rjust(2))
    new = [letter for letter in result if letter not in of]
    width = new[0] if len(new) == 1 else ""
    summed = key not in result and {*lead, query} <= {*result}
    if not width or not summed or not {key, width} <= {*of_right} <= {*lead, key, width}:
        return None
    right = right.permute([of_right.index(one) for one in (*lead, key, width) if one in of_right])
    for place, letter in enumerate(lead):
        if letter not in of_right:
            right = right.unsqueeze(place)
    order = [result.index(letter) for letter in (*lead, query, width)]
    return _Product(left, right.expand(*left.shape[:-2], *right.shape[-2:]), order)
