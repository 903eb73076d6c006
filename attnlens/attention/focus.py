"""How attention is distributed: entropy, the strongest keys and attention sinks.

The functions accept a record, a recording with a single record, a tensor or an array. The last axis
contains the keys. Results are float64 numpy arrays, with NaN for a row of zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.errors import InputError, choices
from attnlens.files import Flags, Floats, Integers
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.recording import Recording

AttentionValues = Tensor | NDArray[np.generic] | AttentionRecord

Numbers = AttentionValues | Recording

_BLOCK_CELLS: Final = 1 << 22
"""The maximum number of weights in a block of a lazy record."""


def attention_of(values: Any) -> AttentionValues:
    """Return the only record of a recording, or convert a list to an array.

    Records, tensors and arrays are returned unchanged.

    Raises:
        InputError: the recording does not have exactly one record, or the value has no numbers.
    """
    if isinstance(values, Recording):
        records = values.records()
        if len(records) == 1:
            return records[0]
        if not records:
            raise InputError("the recording is empty", remedy="call the model inside the block")
        first = records[0].site
        raise InputError(
            f"the recording has {len(records)} records, but this function needs exactly one",
            remedy=f"choose one, such as recording.calls({first!r})[0]; the sites are "
            f"{choices(first, values)}",
        )
    if isinstance(values, Tensor | np.ndarray | AttentionRecord):
        return values
    if isinstance(values, Sequence):
        with suppress(TypeError, ValueError):
            return np.asarray(values, np.float64)
    message = f"an object of type {type(values).__name__} contains no attention weights"
    raise InputError(message, remedy="give a record, a tensor or an array")


def weights_of(values: Numbers) -> Tensor | NDArray[np.generic]:
    """Return the weights of a record; other values are returned unchanged.

    Raises:
        InputError: as in `attention_of`, or the record has only the strongest keys of each row.
    """
    values = attention_of(values)
    if not isinstance(values, AttentionRecord):
        return values
    if values.keys is not None:
        raise InputError(
            f"{values.site}: only the {values.keys.shape[-1]} largest weights of each "
            "row were recorded, but the whole rows are needed",
            remedy="record with top_k=None or lazy=True, call entropy_bounds, or use the "
            "record's attributes weights and keys",
        )
    return values.weights


def query_blocks(values: Numbers) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of queries, each as a slice and its weights, ``(..., query, key)``."""
    values = attention_of(values)
    lazy = values.lazy if isinstance(values, AttentionRecord) else None
    if lazy is None:
        yield slice(None), as_floats(values)
        return
    batch, heads, queries, keys = lazy.shape
    step = max(1, _BLOCK_CELLS // max(1, batch * heads * keys))
    for start in range(0, queries, step):
        rows = range(start, min(start + step, queries))
        yield slice(rows.start, rows.stop), as_floats(lazy.weights(list(rows)))


def as_floats(values: Numbers) -> Floats:
    """Convert numbers to a float64 numpy array, without gradients."""
    values = weights_of(values)
    if isinstance(values, Tensor):
        array: Floats = values.detach().to("cpu", torch.float64).numpy()
        return array
    return np.asarray(values, dtype=np.float64)


def entropy(weights: Numbers) -> Floats:
    """Compute the Shannon entropy over keys, in nats, ``(..., key) -> (...)``."""
    parts = []
    for _, shares in query_blocks(weights):
        nats = np.maximum(nats_of(shares).sum(-1), 0.0)
        parts.append(np.where(shares.sum(-1) > 0, nats, np.nan))
    return join_blocks(parts)


def nats_of(shares: Floats) -> Floats:
    """Return ``-p log p`` of every weight; 0 for a weight of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        nats: Floats = -np.where(shares > 0, shares * np.log(shares), 0.0)
    return nats


def join_blocks(parts: list[NDArray[Any]], axis: int = -1) -> NDArray[Any]:
    """Concatenate the results of blocks of queries."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def entropy_bounds(numbers: Numbers, residual: Numbers, keys: int) -> tuple[Floats, Floats]:
    """Compute bounds on the entropy of rows from the largest weights of each row.

    The bounds assume that no other weight exceeds the smallest given weight.

    Args:
        numbers: the weights of the strongest keys, ``(..., k)``.
        residual: the sum of the other weights, ``(...)``.
        keys: the total number of keys.

    Returns:
        the lower and the upper bound in nats, both ``(...)``.

    Raises:
        InputError: ``keys`` is less than ``k``.
    """
    shares, rest = as_floats(numbers), np.maximum(as_floats(residual), 0.0)
    left = keys - shares.shape[-1]
    if left < 0:
        raise InputError(f"{shares.shape[-1]} weights were given for {keys} keys")

    kept_nats = nats_of(shares).sum(-1)
    weakest = shares.min(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.floor(np.where(weakest > 0, rest / weakest, 0.0))
    over = np.maximum(rest - full * weakest, 0.0)
    low = kept_nats + full * nats_of(weakest) + nats_of(over)
    high = kept_nats + left * nats_of(rest / left) if left else kept_nats
    # Rounding of the residual can make the upper bound slightly smaller.
    high = np.maximum(high, low)
    nothing = shares.sum(-1) + rest <= 0
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The keys with the largest weights in each row, in arrays ``(..., count)``.

    Keys are sorted by decreasing weight, then by position. ``labels`` may be ``None``.
    """

    positions: Integers
    weights: Floats
    labels: NDArray[np.object_] | None


def strongest_keys(weights: Numbers, count: int) -> Strongest:
    """Return the keys with the largest weights in every row of ``weights``, ``(..., key)``.

    If a row has fewer than ``count`` keys, all keys are returned.

    Raises:
        InputError: ``count`` is not an integer of at least 1.
    """
    if not isinstance(count, int | np.integer) or count < 1:
        raise InputError(f"count={count!r} is not a number of keys", remedy="give 1 or more")
    weights = attention_of(weights)
    labels = weights.axes[-1].labels if isinstance(weights, AttentionRecord) else None
    orders, paid = [], []
    for _, shares in query_blocks(weights):
        order = np.argsort(-shares, axis=-1, kind="stable")[..., :count].astype(np.int64)
        orders.append(order)
        paid.append(np.take_along_axis(shares, order, axis=-1))
    order = join_blocks(orders, -2)
    names = None
    if labels is not None:
        table = np.empty(len(labels), dtype=np.object_)
        table[:] = list(labels)
        names = table[order]
    return Strongest(order, join_blocks(paid, -2), names)


_SINK_SHARE: Final = 0.3
_SINK_LIFT: Final = 2.0
_SINK_QUERIES: Final = 4
_SINK_HEADS: Final = 0.25
SINK: Final = (
    f"a $ that gets at least {_SINK_SHARE:.0%} of a head's attention on average, "
    f"and at least {_SINK_LIFT:g} times as much as under uniform attention"
)
"""The definition of a sink in words, with ``$`` for the name of the key axis."""


def looked_at(weights: NDArray[np.floating[Any]], *, every_key: bool = False) -> Floats:
    """Compute the arguments of `sinks`, stacked in one array, from weights ``(..., query, key)``.

    Args:
        every_key: whether a query that attends to any key is assumed to see every key. By default,
            a query sees only the keys to which the query attends in at least one head.
    """
    visible = (weights > 0).any(tuple(range(weights.ndim - 2)), keepdims=True)
    if every_key:
        visible = visible.any(-1, keepdims=True)
    visible = np.broadcast_to(visible, weights.shape)
    many = visible.sum(-1, keepdims=True)
    counted = visible & (many > 1)
    paid = np.where(counted, weights, 0.0).sum(-2)
    return np.stack([paid, (counted / np.maximum(many, 1)).sum(-2), counted.sum(-2)])


def sinks(paid: Floats, even: Floats, queries: Floats) -> Flags:
    """Return which keys are attention sinks of a head.

    On average, a sink gets at least a share `_SINK_SHARE` of the attention, and at least
    `_SINK_LIFT` times the uniform share. At least `_SINK_QUERIES` queries see a sink. Compared with
    the most widely visible key, at least half as many queries see a sink.

    Args:
        paid: the summed weight of each key, ``(..., key)``. The sum includes only queries that see
            the key and at least one other key.
        even: the value of ``paid`` under uniform attention.
        queries: the number of queries in each sum.

    Reference:
        Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks"; `_SINK_SHARE`
        follows Gu et al. 2024, "When Attention Sink Emerges in Language Models", section 3.
    """
    threshold = np.maximum(_SINK_SHARE * queries, _SINK_LIFT * even)
    enough = np.maximum(queries.max(-1, keepdims=True) / 2, _SINK_QUERIES)
    flags: Flags = (queries >= enough) & (paid >= threshold)
    return flags


def sink_items(
    attention: Iterable[Numbers], labels: Sequence[object] | None, special: Iterable[int] = ()
) -> tuple[int, ...]:
    """Return the positions of special tokens, and of keys that are sinks of many heads.

    A key must be a sink in at least the fraction `_SINK_HEADS` of the heads. The key must also be
    the first item or a separator, which has no letter and no digit in its label.

    Args:
        attention: the weights of each site, ``(batch, head, query, key)``, with the same keys.
        labels: the labels of the keys, if any.
        special: the positions of special tokens.
    """
    none: Floats = np.zeros(())
    paid = [sum((looked_at(rows) for _, rows in query_blocks(layer)), none) for layer in attention]
    flags = [sinks(*sums).reshape(-1, sums.shape[-1]) for sums in paid]
    many = np.concatenate(flags).mean(0) >= _SINK_HEADS
    words = [""] * len(many) if labels is None else list(map(str, labels))
    separators = {
        at for at, word in enumerate(words) if word and not any(sign.isalnum() for sign in word)
    }
    return tuple(sorted({*special, *(at for at in {0, *separators} if many[at])}))
