"""Equations worked out again, by numpy alone, from the values that they are written with.

Where the result is not what the model computed, the equation says something else than the code
does. That is the test of every equation that `attnlens.symbolic` derives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from attnlens.symbolic.expressions import Expression, Named
from attnlens.symbolic.numbers import OPERATIONS, Array


class Unknown(Exception):
    """An operation that is written by torch's name only."""


def as_array(value: Tensor) -> Array:
    """Numbers in double precision; booleans stay what they are."""
    if value.is_floating_point():
        return value.double().numpy(force=True)
    if value.is_complex():
        raise Unknown
    array: Array = value.numpy(force=True)
    return array


def evaluated(expression: Expression, leaves: Mapping[int, Array] | None = None) -> Array:
    """The value of a right-hand side.

    Args:
        leaves: values to take for named results and leaves, by identity, where they are at hand.

    Raises:
        Unknown: an operation of it has no meaning here.
    """
    known: dict[int, Array] = dict(leaves or {})

    def leaf(one: Expression) -> Array | None:
        if one.named is not None and one is not expression:
            return as_array(one.named.value)
        return as_array(one.value) if one.value is not None else None

    waiting = [expression]
    while waiting:
        one = waiting[-1]
        if id(one) in known:
            waiting.pop()
            continue
        value = leaf(one)
        if value is None:
            missing = [part for part in one.parts if id(part) not in known]
            if missing:
                waiting.extend(missing)
                continue
            value = _applied(one, [known[id(part)] for part in one.parts])
        known[id(one)] = value
        waiting.pop()
    return known[id(expression)]


def _applied(one: Expression, parts: list[Array]) -> Array:
    operation = OPERATIONS.get(one.kind)
    if operation is None:
        raise Unknown
    options: dict[str, Any] = dict(one.options)
    with np.errstate(all="ignore"):
        return np.asarray(operation(*parts, **options))


def difference(named: Named) -> float | None:
    """The largest difference between what an equation gives and what the model computed.

    ``None`` where the equation cannot be worked out: it is given, or holds an opaque operation.
    """
    if named.given:
        return None
    try:
        again = evaluated(named.expression)
    except Unknown:
        return None
    computed = as_array(named.value)
    if again.shape != computed.shape:
        return float("inf")
    if again.dtype == bool or computed.dtype == bool:
        return float((again.astype(bool) != computed.astype(bool)).max(initial=0))
    with np.errstate(invalid="ignore"):
        gap = np.atleast_1d(np.abs(again - computed))
    same = (again == computed) | (np.isnan(again) & np.isnan(computed))
    gap[np.atleast_1d(same)] = 0.0  # also where both are infinite
    return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))
