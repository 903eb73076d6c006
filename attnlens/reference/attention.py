"""Scaled dot-product attention: pure functions, a layer, and the reference model ``attention``.

If every key is hidden from a query, all attention weights of the query are 0 instead of NaN.
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
    """Return the softmax over the last axis, with a weight of exactly 0 for hidden keys.

    Args:
        logits: the logits, ``(..., query, key)``.
        hidden: a boolean mask, broadcastable to ``logits``; true if the key is hidden.

    Returns:
        Attention weights, ``(..., query, key)``. Each row sums to 1, or is all 0 if every key is
        hidden.
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
    """Return ``softmax(query · keyᵀ · scale + bias)`` over the keys that are not hidden.

    Args:
        query: the queries, ``(..., query, d_k)``.
        key: the keys, ``(..., key, d_k)``.
        hidden: a boolean mask, broadcastable to ``(..., query, key)``; true if the key is hidden.
        bias: a term added to the logits, broadcastable to ``(..., query, key)``.
        scale: the factor of the dot products; ``1/√d_k`` by default.

    Returns:
        Attention weights, ``(..., query, key)``. Each row sums to 1, or is all 0 if every key is
        hidden.

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
    """Split the last axis: ``(..., length, heads * d) -> (..., heads, length, d)``."""
    return unflattened(vectors, -1, (heads, -1)).transpose(-2, -3)


def join_heads(vectors: Tensor) -> Tensor:
    """Concatenate the heads: ``(..., heads, length, d) -> (..., length, heads * d)``."""
    return vectors.transpose(-2, -3).flatten(-2)


class MultiHeadAttention(nn.Module):
    """A multi-head attention layer: ``concat(softmax(Q Kᵀ / √d_k + bias) V) W_O``.

    The queries are ``Q = X W_Q``, the keys ``K = C W_K`` and the values ``V = C W_V``. In
    self-attention, the context ``C`` is the input ``X``. Each weight matrix has the shape
    ``(inputs, outputs)``. There are no bias vectors.

    Args:
        d: the width of ``X`` and of the output.
        d_k: the width of one head's queries and keys; ``d / heads`` by default.
        d_v: the width of one head's values; ``d_k`` by default.
        d_context: the width of ``C``; ``d`` by default.
        causal: whether to hide the keys that come after a query.
        project: whether to apply ``W_O``; if not, the output width is ``heads · d_v``.

    Raises:
        ValueError: ``d_k`` is not given, and ``d`` is not divisible by ``heads``.

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
            raise ValueError(f"a width of {d} is not divisible by {heads} heads; give d_k")
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
        """Return the output of the layer, ``(..., query, d)``.

        Args:
            x: the input, ``(..., query, d)``.
            context: the context, ``(..., key, d_context)``; ``x`` by default.
            hidden: a boolean mask, broadcastable to ``(..., head, query, key)``; true hides keys.
            bias: a term added to the logits, broadcastable to ``(..., head, query, key)``.
        """
        queries = self.queries(x)
        keys, values = self.keys_and_values(x if context is None else context)
        return self.attend(queries, keys, values, hidden=hidden, bias=bias)

    def queries(self, x: Tensor) -> Tensor:
        """Project the input ``(..., query, d)`` to the queries ``(..., head, query, d_k)``."""
        return step("Q", split_heads(x @ self.W_Q, self.heads), "queries")

    def keys_and_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """Project the context ``(..., key, d_context)`` to the keys and the values.

        Returns:
            Keys ``(..., head, key, d_k)`` and values ``(..., head, key, d_v)``.
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
        """Compute the output of `forward` from queries, keys and values.

        In a causal layer, the last query and the last key have the same position.

        Args:
            queries: ``(..., head, query, d_k)``.
            keys: ``(..., head, key, d_k)``.
            values: ``(..., head, key, d_v)``.
            hidden, bias: as in `forward`.
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
    """Return a random weight matrix ``(inputs, outputs)``."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, outputs)))


def _later(queries: int, keys: int, device: torch.device) -> Tensor:
    places = torch.arange(keys, device=device)
    return places > places[keys - queries :, None]


_WIDTH: Final = 4
_HEADS: Final = 2
_SHARPNESS: Final = 3.0
"""The factor in ``W_Q``; a large factor makes a row attend mainly to similar rows."""

_MAX_ROWS: Final = 512
_REMEDY: Final = (
    f"give at most {_MAX_ROWS} rows with {_WIDTH} numbers each, such as 1,0,0,1;0,1,0,1"
)


def attention_by_hand(path: Path | None = None) -> LoadedModel:
    """Return the reference model ``attention``: two heads of width 2, with weights set by hand.

    ``W_Q`` is three times the identity matrix; ``W_K``, ``W_V`` and ``W_O`` are identity matrices.
    A row therefore attends mainly to rows with a similar direction. ``path`` is ignored.
    """
    del path
    module = MultiHeadAttention(_WIDTH, _HEADS)
    with torch.no_grad():
        for weights in module.parameters():
            weights.copy_(torch.eye(_WIDTH))
        module.W_Q.mul_(_SHARPNESS)
    return LoadedModel(module.eval())


def read_rows(model: LoadedModel, text: str) -> ModelInput:
    """Read rows of numbers such as ``1,0,0,1;0,1,0,1``.

    Raises:
        InputError: a value is not a number between -1e6 and 1e6, a row has the wrong width, or
            there are too many rows.
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
            problem = f"row {index} ({line.strip()[:40]!r}) is not a row of numbers"
            raise InputError(problem, remedy=_REMEDY)
        if len(row) != width:
            raise InputError(
                f"row {index} has {count(len(row), 'number')} instead of {width}", remedy=_REMEDY
            )
        rows.append(row)
    if len(rows) > _MAX_ROWS:
        raise InputError(f"{len(rows)} rows are too many to print", remedy=_REMEDY)
    return torch.tensor(rows)
