"""Build the network's input tensors for training or for one ball, and forecast whole matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.ledger import free_hits
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Delivery, Innings, Match
from attnlens.cricket.match.naming import BallReference, innings_numbered
from attnlens.cricket.predictor.predictor import RATINGS
from attnlens.cricket.predictor.relations import RELATIONS, Balls, Batch, mapped, relate, take
from attnlens.cricket.predictor.scales import SHARES, WindowBall
from attnlens.cricket.predictor.tensors import PAST_NODES, InningsArrays, encode_innings
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.win import WinChances, win_chances
from attnlens.files import Floats, Floats32
from attnlens.reference import one_thread as one_thread


def to_tensor(array: np.ndarray[Any, Any]) -> Tensor:
    """Copy an array to memory that torch aligns to 64 bytes.

    Other alignments can change the last digits of matrix products.
    """
    return torch.tensor(array)


def stacked(arrays: Sequence[np.ndarray[Any, Any]], length: int, fill: float = 0) -> Tensor:
    """Pad each array at the end, and stack the arrays, shape ``(batch, length, ...)``."""
    first = arrays[0]
    if len(arrays) == 1 and len(first) == length:
        return to_tensor(first)[None]
    out = np.full((len(arrays), length, *first.shape[1:]), fill, first.dtype)
    for row, array in enumerate(arrays):
        out[row, : len(array)] = array
    return to_tensor(out)


def query_side(innings: Sequence[InningsArrays], length: int) -> Batch:
    """Return ``graph_data`` with every ball as a query, shape ``(innings, length, ...)``."""
    return {
        "nodes": _tables([arrays.nodes for arrays in innings], innings[0].nodes, length),
        "base": stacked([arrays.base for arrays in innings], length),
        "ratings": _tables([arrays.ratings for arrays in innings], RATINGS, length),
    }


def past_side(innings: Sequence[InningsArrays], length: int) -> Batch:
    """Return the past-side features of every ball, shape ``(innings, length, ...)``."""
    nodes = [{**arrays.nodes, "phase_state": arrays.phase} for arrays in innings]
    return {
        "nodes": _tables(nodes, PAST_NODES, length),
        "happened": stacked([arrays.past_outcome for arrays in innings], length),
        "prior": stacked([arrays.prior for arrays in innings], length),
        "ratings": _tables(
            [arrays.ratings for arrays in innings], ("striker", "bowler", "era"), length
        ),
    }


def _tables(
    each: Sequence[Mapping[str, Floats32]], names: Iterable[str], length: int
) -> dict[str, Tensor]:
    return {name: stacked([table[name] for table in each], length) for name in names}


def balls(innings: Sequence[InningsArrays], length: int) -> Balls:
    """Return the `Balls` of every innings. Padding has the over number -1 and is never visible."""
    fills = {"over": -1, "ball_in_over": 1}
    kinds = {
        name: stacked([getattr(arrays, name) for arrays in innings], length, fills.get(name, 0))
        for name in Balls.__slots__
        if name != "last_in_over"
    }
    ends = [
        np.append(arrays.over[1:] != arrays.over[:-1], False)[: len(arrays)] for arrays in innings
    ]
    return Balls(**kinds, last_in_over=stacked(ends, length))


def training_batch(innings: Sequence[InningsArrays]) -> tuple[Batch, Tensor]:
    """Return a batch in which every ball is a query, and the class numbers of the outcomes.

    The class numbers have the shape ``(innings, length)``; padding is -1.
    """
    length = max(len(arrays) for arrays in innings)
    identity = balls(innings, length)
    real = stacked([np.ones(len(arrays), bool) for arrays in innings], length)
    order = torch.ones(length, length, dtype=torch.bool).tril(-1)
    visible = order & real[:, None, :]
    batch = {
        "graph_data": query_side(innings, length),
        "sequence": {
            "now": identity,
            "balls": identity,
            "past": past_side(innings, length),
            "visible": visible,
            "shared": real,
            "overs": max(int(identity.over.max()) + 1, 1),
        },
    }
    return batch, stacked([arrays.outcome for arrays in innings], length, fill=-1)


def window_batch(innings: InningsArrays, position: int) -> Batch:
    """Build a batch whose only query is the ball at ``position``, counted from 0."""
    length = position + 1
    head = [truncate(innings, length)]
    identity = balls(head, length)
    query, past = slice(position, length), slice(0, position)
    before = take(identity, past)
    return {
        "graph_data": take(query_side(head, length), query),
        "sequence": {
            "now": take(identity, query),
            "balls": before,
            "past": take(past_side(head, length), past),
            "visible": torch.ones(1, 1, position, dtype=torch.bool),
            "overs": max(int(identity.over.max()) + 1, 1),
        },
    }


def truncate(innings: InningsArrays, length: int) -> InningsArrays:
    """Return the arrays of the first ``length`` balls."""

    def head(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: array[:length] for key, array in value.items()}
        return value[:length]

    return InningsArrays(**{name: head(getattr(innings, name)) for name in InningsArrays.__slots__})


def to_device(value: Any, device: torch.device) -> Any:
    return mapped(value, lambda tensor: tensor.to(device))


@dataclass(frozen=True, slots=True, eq=False)
class BallWindow:
    """A ball and its past balls, oldest first (the order of the attention keys)."""

    match: Match
    innings: Innings
    delivery: Delivery
    batch: Batch
    past: tuple[WindowBall, ...]
    arrays: InningsArrays

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(ball.label for ball in self.past)


def window_for(match: Match, reference: BallReference, predictor: TrainedPredictor) -> BallWindow:
    """Return the `BallWindow` of one ball.

    Raises:
        BallNotFoundError: the match does not have the innings, or the file does not have the ball.
    """
    innings = innings_numbered(match, reference.innings)
    if reference.index > len(innings.deliveries):
        raise BallNotFoundError(
            f"delivery {reference.index} of innings {innings.number} has not been bowled in this "
            "file",
            remedy="name a ball that was bowled",
        )
    arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
    return cut_window(match, innings, arrays, reference.index)


def cut_window(match: Match, innings: Innings, arrays: InningsArrays, index: int) -> BallWindow:
    """Return the `BallWindow` of the ball ``index``, counted from 1."""
    position = index - 1
    batch = window_batch(arrays, position)
    sequence = batch["sequence"]
    table = relate(sequence["now"], sequence["balls"], sequence["visible"])[0, 0]
    past = tuple(
        WindowBall(
            index=ball.index,
            label=ball.label,
            over=ball.over,
            batter=ball.batter.name,
            bowler=ball.bowler.name,
            outcome=OUTCOMES[OUTCOME_INDEX[ball.outcome]],
            runs=ball.runs_total,
            runs_batter=ball.runs_batter,
            boundary=ball.boundary,
            relations=frozenset(
                name for name, value in zip(RELATIONS, row, strict=True) if value > 0
            ).intersection(SHARES),
        )
        for ball, row in zip(innings.deliveries[:position], table.tolist(), strict=True)
    )
    return BallWindow(match, innings, innings.deliveries[position], batch, past, arrays)


DIGITS: Final = 8
"""Decimals of probabilities. ``win_*`` and ``p_*`` reproduce ``win_expected`` to six digits."""

COLUMNS: Final[tuple[str, ...]] = (
    *("match_id", "innings", "index", "label", "batter", "bowler", "actual"),
    *(f"p_{outcome}" for outcome in OUTCOMES),
    *("win_before", "win_expected"),
    *(f"win_{outcome}" for outcome in OUTCOMES),
    "free_hit",
)
"""The columns of a forecast, in order."""

Row: TypeAlias = dict[str, str | int | float | None]
"""Maps each column to the delivery's value. Undefined win probabilities are ``None``."""


@dataclass(frozen=True, slots=True, eq=False)
class InningsForecast:
    """An innings, and a forecast for each delivery. A forecast uses only earlier balls.

    Attributes:
        chances: the outcome probabilities, shape ``(deliveries, 11)``.
        winning: the win probabilities of the batting side; ``None`` if undefined.
    """

    innings: Innings
    arrays: InningsArrays
    chances: Floats
    winning: WinChances | None


def forecast_innings(match: Match, predictor: TrainedPredictor) -> Iterator[InningsForecast]:
    """Forecast every innings with at least one ball, in file order."""
    for innings in match.innings:
        if not innings.deliveries:
            continue
        arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
        batch, _ = training_batch([arrays])
        with one_thread(), torch.no_grad():
            chances = predictor.model(batch)[0].double().softmax(-1).numpy().round(DIGITS)
            form = predictor.ratings.form
            winning = win_chances(predictor.win, form, match, innings, chances)
        yield InningsForecast(innings, arrays, chances, winning)


def predict_match(match: Match, predictor: TrainedPredictor) -> Iterator[Row]:
    """Yield a row with the keys `COLUMNS` for each delivery of a match."""
    for forecast in forecast_innings(match, predictor):
        innings, winning = forecast.innings, forecast.winning
        free = free_hits(innings.deliveries)
        for row, ball in enumerate(innings.deliveries):
            which = match.match_id, innings.number, ball.index, ball.label
            played = ball.batter.name, ball.bowler.name, ball.outcome
            win: list[float | None] = [None] * (2 + len(OUTCOMES))
            if winning is not None:
                each = (winning.before[row], winning.expected[row], *winning.after[row])
                win = [round(float(chance), DIGITS) for chance in each]
            expected = *forecast.chances[row].tolist(), *win, int(free[row])
            yield dict(zip(COLUMNS, (*which, *played, *expected), strict=True))
