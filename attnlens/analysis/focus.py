"""How attention is spread: entropy, the strongest keys, what groups of keys are paid.

Every function takes attention as torch tensors or numpy arrays whose last axis is the keys,
shares that sum to 1 along it or are all 0, and gives numpy in double precision. A row that
pays nothing has no focus: its figures are NaN, not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Numbers = Tensor | NDArray[np.generic]
"""What the functions take: a tensor of any kind and device, or an array."""


def as_floats(values: Numbers) -> Floats:
    """The same numbers as a numpy array in double precision; no gradient is kept."""
    if isinstance(values, Tensor):
        found: Floats = values.detach().to("cpu", torch.float64).numpy()
        return found
    return np.asarray(values, dtype=np.float64)


def as_flags(values: Numbers) -> Flags:
    """The same flags as a numpy array."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=np.bool_)


def entropy(weights: Numbers, visible: Numbers | None = None) -> Floats:
    """Shannon entropy over keys, ``(..., key) -> (...)``.

    In nats: 0 where one key is paid everything, ``log n`` where ``n`` keys are paid alike.
    With ``visible``, flags that broadcast to ``weights``, it is divided by the logarithm of
    the number of keys that could be paid: 0 to 1, and 0 where there is only one.
    """
    shares = as_floats(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        nats = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(-1)
    nats = np.maximum(nats, 0.0)
    if visible is not None:
        most = np.log(np.maximum(np.broadcast_to(as_flags(visible), shares.shape).sum(-1), 1))
        nats = np.divide(nats, most, out=np.zeros_like(nats), where=most > 0)
    return np.where(shares.sum(-1) > 0, nats, np.nan)


def entropy_bounds(kept: Numbers, residual: Numbers, keys: int) -> tuple[Floats, Floats]:
    """The least and the greatest entropy that rows known only by their strongest keys can have.

    No key that was left out is paid more than the weakest that was kept. So the entropy is
    greatest where the rest is spread evenly, and least where as few keys as can be hold it.

    Args:
        kept: the weights of the strongest keys, ``(..., k)``.
        residual: what the others are paid together, ``(...)``.
        keys: how many keys there are in all.

    Returns:
        nats, both ``(...)``.

    Raises:
        InputError: fewer keys than weights.
    """
    shares, rest = as_floats(kept), np.maximum(as_floats(residual), 0.0)
    left = keys - shares.shape[-1]
    if left < 0:
        raise InputError(f"{shares.shape[-1]} weights were kept of {keys} keys")

    def nats(values: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            result: Floats = -np.where(values > 0, values * np.log(values), 0.0)
        return result

    known = nats(shares).sum(-1)
    weakest = shares.min(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.floor(np.where(weakest > 0, rest / weakest, 0.0))
    over = np.maximum(rest - full * weakest, 0.0)
    low = known + full * nats(weakest) + nats(over)
    high = known + left * nats(rest / left) if left else known
    high = np.maximum(high, low)  # rounding of the residual can put them a hair apart
    nothing = shares.sum(-1) + rest <= 0
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)


def effective_keys(weights: Numbers) -> Floats:
    """How many keys share the attention, ``exp(entropy)``: ``n`` where ``n`` are paid alike."""
    return np.exp(entropy(weights))


def highest_weight(weights: Numbers) -> Floats:
    """The weight of the strongest key, ``(..., key) -> (...)``."""
    shares = as_floats(weights)
    return np.where(shares.sum(-1) > 0, shares.max(-1), np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The keys that are paid most, from the most to the least; ties by position.

    Attributes:
        positions: of the keys, ``(..., count)``.
        weights: theirs, ``(..., count)``.
        labels: the label of each position, where labels were given, ``(..., count)`` of str.
    """

    positions: Integers
    weights: Floats
    labels: NDArray[np.object_] | None


def strongest_keys(weights: Numbers, count: int, labels: Sequence[str] | None = None) -> Strongest:
    """The ``count`` keys of every row that are paid most, all of them where there are fewer.

    Args:
        weights: ``(..., key)``.
        labels: one per key.

    Raises:
        InputError: no count from 1, or not as many labels as keys.
    """
    shares = as_floats(weights)
    if count < 1:
        raise InputError(f"the {count} strongest keys are none", remedy="ask for 1 or more")
    if labels is not None and len(labels) != shares.shape[-1]:
        raise InputError(f"{len(labels)} labels for {shares.shape[-1]} keys")
    order = np.argsort(-shares, axis=-1, kind="stable")[..., :count].astype(np.int64)
    names = None
    if labels is not None:
        table = np.empty(len(labels), dtype=np.object_)
        table[:] = list(labels)
        names = table[order]
    return Strongest(order, np.take_along_axis(shares, order, axis=-1), names)


@dataclass(frozen=True, slots=True, eq=False)
class GroupShares:
    """What each group of keys is paid.

    Attributes:
        names: of the groups, in the order in which they first stand among the keys.
        shares: ``(..., group)``; sums to what the keys of all groups are paid.
    """

    names: tuple[str, ...]
    shares: Floats

    def of(self, name: str) -> Floats:
        """The shares of one group, ``(...)``.

        Raises:
            InputError: no such group.
        """
        if name not in self.names:
            raise InputError(f"no group {name!r}; groups: {', '.join(self.names)}")
        return self.shares[..., self.names.index(name)]


def group_shares(weights: Numbers, groups: Sequence[str | None]) -> GroupShares:
    """How much of the attention goes to the keys of each group.

    Args:
        weights: ``(..., key)``.
        groups: the group of each key, such as the kind of token; ``None`` for no group.

    Raises:
        InputError: not one group per key.
    """
    shares = as_floats(weights)
    if len(groups) != shares.shape[-1]:
        raise InputError(f"{len(groups)} groups for {shares.shape[-1]} keys")
    names = tuple(dict.fromkeys(name for name in groups if name is not None))
    member = np.array([[group == name for name in names] for group in groups], dtype=np.float64)
    return GroupShares(names, shares @ member.reshape(len(groups), len(names)))
