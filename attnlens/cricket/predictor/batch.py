"""From arrays to the tensors the predictor takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlens.arrays import Floats32
from attnlens.cricket.predictor.predictor import RATINGS
from attnlens.cricket.predictor.relations import Balls, Batch, mapped, take
from attnlens.cricket.predictor.tensors import PAST_NODES, InningsArrays


def owned(array: np.ndarray[Any, Any]) -> Tensor:
    """A copy of an array in torch's own memory.

    That always begins at a multiple of 64 bytes, numpy's anywhere. The order in which a matrix
    product is added up may follow from it, and on one machine the same innings should give the
    same bits.
    """
    return torch.tensor(array)


def stacked(arrays: Sequence[np.ndarray[Any, Any]], length: int, fill: float = 0) -> Tensor:
    """Arrays of one kind as ``(batch, length, ...)``, padded at the end."""
    first = arrays[0]
    if len(arrays) == 1 and len(first) == length:
        return owned(first)[None]
    out = np.full((len(arrays), length, *first.shape[1:]), fill, first.dtype)
    for row, array in enumerate(arrays):
        out[row, : len(array)] = array
    return owned(out)


def query_side(innings: Sequence[InningsArrays], length: int) -> Batch:
    """``graph_data`` for every ball of each innings, ``(innings, length, ...)``."""
    return {
        "nodes": _tables([one.nodes for one in innings], innings[0].nodes, length),
        "base": stacked([one.base for one in innings], length),
        "ratings": _tables([one.ratings for one in innings], RATINGS, length),
    }


def past_side(innings: Sequence[InningsArrays], length: int) -> Batch:
    """What each ball tells later ones, ``(innings, length, ...)``."""
    told = [{**one.nodes, "phase_state": one.place} for one in innings]
    return {
        "nodes": _tables(told, PAST_NODES, length),
        "happened": stacked([one.happened for one in innings], length),
        "prior": stacked([one.prior for one in innings], length),
        "ratings": _tables([one.ratings for one in innings], ("striker", "bowler", "era"), length),
    }


def _tables(
    each: Sequence[Mapping[str, Floats32]], names: Iterable[str], length: int
) -> dict[str, Tensor]:
    """Some of the arrays of every innings, by name."""
    return {name: stacked([one[name] for one in each], length) for name in names}


def balls(innings: Sequence[InningsArrays], length: int) -> Balls:
    """Who and what every ball is, padded with ball 1 of over -1 that nothing can see."""
    fills = {"over": -1, "ball_in_over": 1}
    kinds = {
        name: stacked([getattr(one, name) for one in innings], length, fills.get(name, 0))
        for name in Balls.__slots__
        if name != "last_in_over"
    }
    ends = [np.append(one.over[1:] != one.over[:-1], False)[: len(one)] for one in innings]
    return Balls(**kinds, last_in_over=stacked(ends, length))


def training_batch(innings: Sequence[InningsArrays]) -> tuple[Batch, Tensor]:
    """Every ball of every innings as a query over the balls before it.

    Returns:
        the predictor's batch, with ``shared`` all true, and the outcomes
        ``(innings, length)``, -1 for padding.
    """
    length = max(len(one) for one in innings)
    who = balls(innings, length)
    real = stacked([np.ones(len(one), bool) for one in innings], length)
    order = torch.ones(length, length, dtype=torch.bool).tril(-1)
    visible = order & real[:, None, :]
    # Padding queries stand in over 0, so that over distances stay small.
    batch = {
        "graph_data": query_side(innings, length),
        "sequence": {
            "now": who,
            "balls": who,
            "past": past_side(innings, length),
            "visible": visible,
            "shared": real,
            "overs": max(int(who.over.max()) + 1, 1),
        },
    }
    return batch, stacked([one.outcome for one in innings], length, fill=-1)


def window_batch(innings: InningsArrays, position: int) -> Batch:
    """One ball as the query over all balls before it.

    Args:
        innings: arrays that reach at least to the ball.
        position: the ball, from 0.

    Returns:
        the predictor's batch: one row, one query, ``position`` keys.
    """
    length = position + 1
    head = [truncate(innings, length)]
    who = balls(head, length)
    query, past = slice(position, length), slice(0, position)
    before = take(who, past)
    return {
        "graph_data": take(query_side(head, length), query),
        "sequence": {
            "now": take(who, query),
            "balls": before,
            "past": take(past_side(head, length), past),
            "visible": torch.ones(1, 1, position, dtype=torch.bool),
            "overs": max(int(who.over.max()) + 1, 1),
        },
    }


def truncate(innings: InningsArrays, length: int) -> InningsArrays:
    """The first ``length`` balls."""

    def head(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: array[:length] for key, array in value.items()}
        return value[:length]

    return InningsArrays(**{name: head(getattr(innings, name)) for name in InningsArrays.__slots__})


def moved(value: Any, device: torch.device) -> Any:
    """The same structure with every tensor on ``device``."""
    return mapped(value, lambda tensor: tensor.to(device))
