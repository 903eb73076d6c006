"""Which keys are sinks: what a head has left goes there. One rule for audits, tables and pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Flags, Floats
from attnlens.attention.focus import Numbers, query_blocks

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
    """What `sinks` is asked, sums over queries: paid, evenly paid and queries, ``(3, ..., key)``.

    Args:
        weights: ``(..., query, key)``.
        every_key: every query that pays anything sees every key. Otherwise those that any head
            or sequence pays there.
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

    That is `_SINK_SHARE` of it on average, and `_SINK_LIFT` times what they would take were every
    query's spread evenly: of the first token of a sentence that is much.

    Args:
        paid: the sum of what each key is paid, ``(..., key)``, by the queries that see it and
            another.
        even: the sum of what they would pay, were it spread evenly.
        queries: how many they are. Where they are fewer than `_SINK_QUERIES`, or than half of those
            that see the key seen most, nothing is said.

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
    """The places of items that are sinks: special ones, and what many heads pay so.

    The first item and separators (labels without a letter or a digit) are, where they are sinks
    of at least `_SINK_HEADS` of all heads. A word is none: it may be looked at for what it says.

    Args:
        attention: ``(batch, head, query, key)`` of each site, over the same keys.
        special: places of special tokens.
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
