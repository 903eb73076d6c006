"""Scaled dot-product attention as pure functions, with every edge case decided.

`MultiHeadAttention` is the functions with four matrices; `attention_by_hand` the reference model.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.errors import InputError, count
from attnlens.recording.probe import AttentionProbe, step
from attnlens.reference.catalogue import LoadedModel, ModelInput


def hidden_softmax(logits: Tensor, hidden: Tensor | None = None) -> Tensor:
    """Softmax over the last axis in which hidden entries get exactly 0.

    Args:
        logits: ``(..., query, key)``.
        hidden: boolean, broadcastable to ``logits``; true where the key is hidden.

    Returns:
        ``(..., query, key)``; each row sums to 1, or is all 0 when every key is hidden
        (softmax alone would give NaN there).
    """
    if hidden is None:
        return logits.softmax(-1)
    weights = logits.masked_fill(hidden, -math.inf).softmax(-1)
    return weights.masked_fill(hidden, 0.0)


def attention_weights(
    query: Tensor,
    key: Tensor,
    hidden: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """``softmax(query · keyᵀ · scale + bias)`` over the keys that are not hidden.

    Args:
        query: ``(..., query, d_k)``.
        key: ``(..., key, d_k)``.
        hidden: boolean, broadcastable to ``(..., query, key)``; true hides the key.
        bias: added to the logits, broadcastable likewise.
        scale: ``1/√d_k`` unless given.

    Returns:
        ``(..., query, key)``. Each row sums to 1, or is all zero when every key is hidden.

    Reference:
        Vaswani et al. 2017, "Attention Is All You Need", equation 1.
    """
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    logits = torch.matmul(query, key.transpose(-1, -2)) * factor
    return hidden_softmax(logits if bias is None else logits + bias, hidden)


def unflattened(vectors: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    result: Tensor = torch.unflatten(vectors, dim, sizes)
    return result


def split_heads(vectors: Tensor, heads: int) -> Tensor:
    """``(..., length, heads * d) -> (..., heads, length, d)``."""
    return unflattened(vectors, -1, (heads, -1)).transpose(-2, -3)


def join_heads(vectors: Tensor) -> Tensor:
    """``(..., heads, length, d) -> (..., length, heads * d)``."""
    return vectors.transpose(-2, -3).flatten(-2)


class MultiHeadAttention(nn.Module):
    """``concat(softmax(Q Kᵀ / √d_k + bias) V) W_O`` with ``Q = X W_Q, K = C W_K, V = C W_V``.

    Queries come from ``X``, keys and values from the context ``C``. If both are the same, this is
    self-attention. There are no biases. Weights are stored as in the equation, ``(inputs,
    outputs)``.

    Args:
        d: width of ``X`` and of the output.
        heads: the number of heads.
        d_k: width of one head's queries and keys; ``d / heads`` unless given.
        d_v: width of one head's values; ``d_k`` unless given.
        d_context: width of ``C``; ``d`` unless given.
        causal: whether a query sees only the keys up to its own position.
        project: whether to apply ``W_O``; if not, the width of the output is ``heads · d_v``.

    Raises:
        ValueError: ``d_k`` is not given and ``heads`` does not divide ``d``.

    Reference:
        Vaswani et al. 2017, "Attention Is All You Need", section 3.2.
    """

    def __init__(
        self,
        d: int,
        heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        d_context: int | None = None,
        causal: bool = False,
        project: bool = True,
    ) -> None:
        super().__init__()
        if d_k is None and d % heads:
            raise ValueError(f"{heads} heads do not divide a width of {d}; give d_k")
        self.d, self.heads, self.causal = d, heads, causal
        self.d_k = d // heads if d_k is None else d_k
        self.d_v = self.d_k if d_v is None else d_v
        self.d_context = d if d_context is None else d_context
        self.W_Q = matrix(d, heads * self.d_k)
        self.W_K = matrix(self.d_context, heads * self.d_k)
        self.W_V = matrix(self.d_context, heads * self.d_v)
        self.W_O = matrix(heads * self.d_v, d) if project else None
        self.probe = AttentionProbe()

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        hidden: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """``(..., query, d)``; zeros for a query from which every key is hidden.

        Args:
            x: ``(..., query, d)``.
            context: ``(..., key, d_context)``; ``x`` itself unless given.
            hidden: boolean, broadcastable to ``(..., head, query, key)``; true hides the key.
            bias: added to the logits, broadcastable likewise.
        """
        queries = self.queries(x)
        keys, values = self.keys_and_values(x if context is None else context)
        return self.attend(queries, keys, values, hidden=hidden, bias=bias)

    def queries(self, x: Tensor) -> Tensor:
        """``(..., query, d)`` -> ``(..., head, query, d_k)``."""
        return step("Q", split_heads(x @ self.W_Q, self.heads), "queries")

    def keys_and_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """Keys ``(..., head, key, d_k)`` and values ``(..., head, key, d_v)`` of ``(..., key,
        d_context)``.
        """
        keys = step("K", split_heads(context @ self.W_K, self.heads), "keys")
        return keys, step("V", split_heads(context @ self.W_V, self.heads), "values")

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        *,
        hidden: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Compute `forward` from given queries, keys and values ``(..., head, query or key, d)``.

        If the layer is causal, the queries are at the last positions of the keys.
        """
        content = queries @ keys.transpose(-1, -2) / math.sqrt(self.d_k)
        logits = step("S", content if bias is None else content + bias, "logits")
        if self.causal:
            later = _later(queries.shape[-2], keys.shape[-2], queries.device)
            hidden = later if hidden is None else hidden | later
        weights = hidden_softmax(logits, hidden)
        logit_parts = (content, logits - content) if self.probe.watched else ()
        weights = step("A", self.probe(weights, *logit_parts), "attention")
        attended = join_heads(weights @ values)
        return attended if self.W_O is None else attended @ self.W_O

    @property
    def sizes(self) -> dict[str, int]:
        return {"d": self.d, "heads": self.heads, "d_k": self.d_k, "d_v": self.d_v}


def matrix(inputs: int, outputs: int) -> nn.Parameter:
    """Random weights, laid out as in equations, ``(inputs, outputs)``."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, outputs)))


def _later(queries: int, keys: int, device: torch.device) -> Tensor:
    """``(query, key)``: true where the key comes after the query, the last of both together."""
    places = torch.arange(keys, device=device)
    return places > places[keys - queries :, None]


_WIDTH: Final = 4
_HEADS: Final = 2
_SHARPNESS: Final = 3.0
"""The factor for queries; without it a row would prefer similar rows only slightly."""

_MAX_ROWS: Final = 512
_REMEDY: Final = f"give at most {_MAX_ROWS} rows of {_WIDTH} numbers, such as 1,0,0,1;0,1,0,1"


def attention_by_hand(path: Path | None = None) -> LoadedModel:
    """The reference model ``attention``: two heads of width two, weights set by hand.

    Queries are three times the input; keys, values and output are the input itself. So a row
    attends to rows with a similar direction, and its output is close to their mean. There are no
    checkpoints of it.
    """
    del path
    module = MultiHeadAttention(_WIDTH, _HEADS)
    with torch.no_grad():
        for weights in module.parameters():
            weights.copy_(torch.eye(_WIDTH))
        module.W_Q.mul_(_SHARPNESS)
    return LoadedModel(module.eval())


def read_rows(model: LoadedModel, text: str) -> ModelInput:
    """Rows written as ``1,0,0,1;0,1,0,1``.

    Raises:
        InputError: not numbers, or rows of another width.
    """
    assert isinstance(model.module, MultiHeadAttention)
    rows = _written(text, model.module.d)
    return ModelInput(
        inputs=(rows[None],),
        names=("X",),
        axes={"X": ("batch", "token", None)},
        labels={"token": tuple(f"row {index}" for index in range(1, len(rows) + 1))},
        caption=count(len(rows), "row"),
    )


def _written(text: str, width: int) -> torch.Tensor:
    rows = []
    for index, line in enumerate(text.split(";"), 1):
        try:
            row = [float(word) for word in line.split(",")]
        except ValueError:
            row = [math.nan]
        if not all(math.isfinite(value) and abs(value) < 1e6 for value in row):
            problem = f"row {index} ({line.strip()[:40]!r}) is no row of numbers"
            raise InputError(problem, remedy=_REMEDY)
        if len(row) != width:
            raise InputError(
                f"row {index} has {count(len(row), 'number')}, not {width}", remedy=_REMEDY
            )
        rows.append(row)
    if len(rows) > _MAX_ROWS:
        raise InputError(f"{len(rows)} rows are too many", remedy=_REMEDY)
    return torch.tensor(rows)
