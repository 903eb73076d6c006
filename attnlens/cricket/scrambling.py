"""Past outcomes told in another order: what does the model lose that reads them?

What happened on each past ball (and with it the flags wicket, boundary and dot) is permuted
among all past balls of a query; where each ball stood, who played it, and every scoreboard
stay as they were. A query's permutation moves its own past only, so no later ball's outcome
is ever told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.batch import balls, past_side, query_side, truncate
from attnlens.cricket.tensors import InningsArrays
from attnlens.models.predictor import FullModel
from attnlens.models.relations import Balls

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOLD: Final[tuple[str, ...]] = ("wicket", "boundary", "dot")
"""The flags of a past ball that are part of its outcome."""

ROWS_AT_ONCE: Final = 40


def under_scrambling(
    model: FullModel, arrays: InningsArrays, positions: Sequence[int], orders: Sequence[Integers]
) -> Floats:
    """Outcome probabilities of balls whose past outcomes stand in other orders.

    Args:
        positions: the balls, from 0, each with a past.
        orders: one ``(order, position)`` per ball, as many orders for each: past ball ``j``
            is told the outcome of past ball ``orders[j]``.

    Returns:
        ``(ball, order, outcome)``.
    """
    each = len(orders[0]) if len(orders) else 0
    step = max(1, ROWS_AT_ONCE // max(each, 1))
    found = []
    for start in range(0, len(positions), step):
        some = slice(start, start + step)
        with torch.no_grad():
            logits = model(scrambled(arrays, positions[some], orders[some]))
        found.append(logits[:, 0].double().softmax(-1).numpy().reshape(-1, each, logits.shape[-1]))
    if not found:
        return np.zeros((0, each, model.sizes.outcomes))
    return np.concatenate(found)


def scrambled(
    arrays: InningsArrays, positions: Sequence[int], orders: Sequence[Integers]
) -> dict[str, Any]:
    """The predictor's batch: one row with one query per ball and order, in that order."""
    length = max(positions) + 1
    head = [truncate(arrays, length)]
    who = balls(head, length)
    each = [len(one) for one in orders]
    # Beyond a ball's own past the order does not matter: nothing there is visible to it.
    order = torch.arange(length - 1).repeat(sum(each), 1)
    visible = torch.zeros(sum(each), 1, length - 1, dtype=torch.bool)
    row = 0
    for position, one in zip(positions, orders, strict=True):
        order[row : row + len(one), :position] = torch.from_numpy(one)
        visible[row : row + len(one), :, :position] = True
        row += len(one)
    asked = torch.from_numpy(np.repeat(np.asarray(positions), each))

    def past_rows(value: Tensor) -> Tensor:
        """The past balls, once per row: ``(1, length, ...) -> (row, length - 1, ...)``."""
        return value[:, :-1].expand(row, length - 1, *value.shape[2:])

    def query_rows(value: Tensor) -> Tensor:
        """The balls asked about, a row each: ``(1, length, ...) -> (row, 1, ...)``."""
        return value[0, asked][:, None]

    past = mapped(past_side(head, length), past_rows)
    past["happened"] = past["happened"].gather(
        1, order[..., None].expand(-1, -1, past["happened"].shape[-1])
    )
    before = mapped(who, past_rows)
    flags = {name: getattr(before, name).gather(1, order) for name in TOLD}
    return {
        "graph_data": mapped(query_side(head, length), query_rows),
        "sequence": {
            "now": mapped(who, query_rows),
            "balls": replace(before, **flags),
            "past": past,
            "visible": visible,
            "overs": max(int(who.over.max()) + 1, 1),
        },
    }


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same structure with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(member, change) for key, member in value.items()}
    if isinstance(value, Balls):
        members: dict[str, Any] = {}
        for name in Balls.__slots__:
            member = getattr(value, name)
            members[name] = None if member is None else change(member)
        return Balls(**members)
    return value
