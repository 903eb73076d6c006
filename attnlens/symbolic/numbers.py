"""Equations worked out again, in numpy, from the values they are written with.

Where the result is not what the model computed, the equation says something else than the code
does. That is the test of every equation that `attnlens.symbolic` derives.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from attnlens.symbolic.graph import Expression, Named
from attnlens.symbolic.operations import OPERATIONS, Array


class Unknown(Exception):
    """An operation that is written by torch's name only."""


def as_array(value: Tensor) -> Array:
    """Numbers in double precision; whole numbers and booleans stay what they are."""
    if value.is_floating_point() or value.is_complex():
        value = value.to(torch.complex128 if value.is_complex() else torch.double)
    array: Array = value.numpy(force=True)
    return array


def evaluated(expression: Expression) -> Array:
    """The value of a right-hand side.

    Raises:
        Unknown: an operation of it has no meaning here.
    """
    known: dict[int, Array] = {}
    waiting = [expression]
    while waiting:
        one = waiting[-1]
        if id(one) in known:
            waiting.pop()
            continue
        value = one.value if one.named is None or one is expression else one.named.value
        missing = [part for part in one.parts if id(part) not in known]
        if value is not None:
            known[id(one)] = as_array(value)
        elif missing:
            waiting.extend(missing)
        else:
            known[id(one)] = _applied(one, [known[id(part)] for part in one.parts])
    return known[id(expression)]


def _applied(one: Expression, parts: list[Array]) -> Array:
    function = OPERATIONS[one.kind].numpy if one.kind in OPERATIONS else None
    if function is None:
        raise Unknown
    with np.errstate(all="ignore"):
        return np.asarray(function(*parts, **one.options))


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
