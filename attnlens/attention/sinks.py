"""Which keys are attention sinks: one rule for audits, tables and pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.attention.focus import Numbers, query_blocks
from attnlens.files import Flags, Floats

_SINK_SHARE: Final = 0.3
_SINK_LIFT: Final = 2.0
_SINK_QUERIES: Final = 4
_SINK_HEADS: Final = 0.25
SINK: Final = (
    f"a $ that is paid at least {_SINK_SHARE:.0%} of a head's attention, averaged over queries, "
    f"and {_SINK_LIFT:g} times its even share"
)
"""A head's sink in words; $ stands for what a key is called."""


def looked_at(weights: NDArray[np.floating[Any]], *, every_key: bool = False) -> Floats:
    """The arguments of `sinks` for weights ``(..., query, key)``, ``(3, ..., key)``.

    Args:
        every_key: a query that pays anything sees every key; else those that any head pays there.
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
    """Which keys are sinks of a head: they take much of its attention whatever the query is.

    That is `_SINK_SHARE` of it on average, and `_SINK_LIFT` times their even share. A key seen by
    fewer than `_SINK_QUERIES` queries, or than half as many as the key seen most, is no sink.

    Args:
        paid: the sum of each key's weights, ``(..., key)``, of queries that see it and another.
        even: the same if attention were spread evenly.
        queries: how many queries these are.

    Reference:
        Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks"; the share
        is that of Gu et al. 2024, "When Attention Sink Emerges in Language Models", s. 3.
    """
    threshold = np.maximum(_SINK_SHARE * queries, _SINK_LIFT * even)
    enough = np.maximum(queries.max(-1, keepdims=True) / 2, _SINK_QUERIES)
    flags: Flags = (queries >= enough) & (paid >= threshold)
    return flags


def sink_items(
    attention: Iterable[Numbers], labels: Sequence[object] | None, special: Iterable[int] = ()
) -> tuple[int, ...]:
    """The positions of items that are sinks: special ones, and sinks of at least `_SINK_HEADS`.

    Of the latter only the first item and separators (labels without a letter or a digit): a word
    may be looked at for what it says.

    Args:
        attention: ``(batch, head, query, key)`` of each site, over the same keys.
        special: positions of special tokens.
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
