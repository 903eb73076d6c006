"""Which known pattern a head follows.

A relation is a table of flags ``(query, key)``: true where the key stands in it to the query.
The standard ones are made here; any other can be given. A score is a description of where
attention goes, not a proof that the model uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.focus import Numbers, as_flags, as_floats
from attnlens.arrays import Flags, Floats
from attnlens.errors import InputError
from attnlens.recording.record import AttentionRecord


def earlier_token(length: int, back: int = 1) -> Flags:
    """The key ``back`` places before the query, ``(query, key)``; 1 is the previous token."""
    flags: Flags = np.eye(length, k=-back, dtype=np.bool_)
    return flags


def first_token(length: int) -> Flags:
    """The first key, for every query but the first itself, ``(query, key)``."""
    flags = np.zeros((length, length), np.bool_)
    flags[1:, :1] = True
    return flags


def duplicate_token(tokens: Sequence[object]) -> Flags:
    """Earlier keys that hold the query's token, ``(query, key)``."""
    flags: Flags = np.tril(_equal(tokens), -1)
    return flags


def induction(tokens: Sequence[object]) -> Flags:
    """Keys that follow an earlier one with the query's token, ``(query, key)``.

    Where the sequence reads ``A B ... A``, the last ``A`` stands so to ``B``.

    Reference:
        Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    flags = np.zeros((len(tokens), len(tokens)), np.bool_)
    flags[:, 1:] = duplicate_token(tokens)[:, :-1]
    return flags


def _equal(tokens: Sequence[object]) -> Flags:
    numbers: dict[object, int] = {}
    codes = np.array([numbers.setdefault(_plain(one), len(numbers)) for one in tokens], np.int64)
    flags: Flags = codes[:, None] == codes[None, :]
    return flags


def _plain(token: object) -> object:
    # The elements of a tensor are tensors, which are equal only to themselves in a dict.
    item = getattr(token, "item", None)
    return token if item is None else item()


@dataclass(frozen=True, slots=True, eq=False)
class RelationScores:
    """How much attention goes to the keys that stand in a relation.

    Means over the queries that have such a key; NaN where none has.

    Attributes:
        share: of the attention, 0 to 1, ``(..., head)`` for weights ``(..., head, query, key)``.
        even: what attention spread evenly over the visible keys would pay, likewise.
        queries: how many queries were counted, likewise.
    """

    share: Floats
    even: Floats
    queries: NDArray[np.int64]

    @property
    def lift(self) -> Floats:
        """``share / even``: 1 is no preference."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.share / self.even


def relation_scores(
    weights: Numbers, relation: Numbers, visible: Numbers | None = None
) -> RelationScores:
    """How far each head follows a relation.

    Args:
        weights: ``(..., query, key)``, usually ``(batch, head, query, key)``. Of a record that
            kept some queries only, the rows of these are taken from flags for all queries.
        relation: flags that broadcast to ``weights``, such as ``(query, key)`` or, where every
            sequence has its own, ``(batch, 1, query, key)``.
        visible: the keys each query can see, likewise; without it, those that any head or
            sequence pays at that query.

    Raises:
        InputError: shapes that do not broadcast.
    """
    shares = as_floats(weights)
    rows = weights.rows if isinstance(weights, AttentionRecord) else None
    seen = _visible(shares, None if visible is None else _of_rows(as_flags(visible), rows))
    held = _broadcast(_of_rows(as_flags(relation), rows), shares, "relation") & seen
    paid = shares.sum(-1) > 0
    counted = held.any(-1) & paid
    number = counted.sum(-1)
    to_them = np.where(counted, np.where(held, shares, 0.0).sum(-1), 0.0).sum(-1)
    evenly = np.where(counted, held.sum(-1) / np.maximum(seen.sum(-1), 1), 0.0).sum(-1)
    some = np.maximum(number, 1)
    none = number == 0
    return RelationScores(
        np.where(none, np.nan, to_them / some),
        np.where(none, np.nan, evenly / some),
        np.asarray(number, np.int64),
    )


def _of_rows(flags: Flags, rows: tuple[int, ...] | None) -> Flags:
    if rows is None or flags.ndim < 2 or not max(rows, default=0) < flags.shape[-2] > len(rows):
        return flags
    return flags[..., list(rows), :]


def _visible(shares: Floats, visible: Numbers | None) -> Flags:
    if visible is not None:
        return _broadcast(as_flags(visible), shares, "visible")
    lead = tuple(range(shares.ndim - 2))
    found: Flags = np.broadcast_to((shares > 0).any(lead, keepdims=True), shares.shape)
    return found


def _broadcast(flags: Flags, shares: Floats, name: str) -> Flags:
    try:
        found: Flags = np.broadcast_to(flags, shares.shape)
    except ValueError as error:
        raise InputError(
            f"{name} has shape {flags.shape}, which does not fit weights {shares.shape}"
        ) from error
    return found
