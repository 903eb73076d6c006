"""One ball, ready to be asked about: its tensors and words; and every ball of a match, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch

from attnlens.arrays import Floats
from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import Delivery, Innings, Match
from attnlens.cricket.match.naming import BallReference, innings_numbered
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.batch import training_batch, window_batch
from attnlens.cricket.predictor.heads import SHARES, PastBall
from attnlens.cricket.predictor.relations import RELATIONS, Batch, relate
from attnlens.cricket.predictor.tensors import InningsArrays, encode_innings, free_hits
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.win import WinChances, strength_of, win_chances
from attnlens.reference import one_thread as one_thread


@dataclass(frozen=True, slots=True, eq=False)
class BallWindow:
    """A ball and everything before it in its innings.

    Attributes:
        batch: the predictor's input, one row and one query.
        past: the balls before it, oldest first, in the order of the key axis.
        arrays: the innings the batch was cut from.
    """

    match: Match
    innings: Innings
    delivery: Delivery
    batch: Batch
    past: tuple[PastBall, ...]
    arrays: InningsArrays

    @property
    def labels(self) -> tuple[str, ...]:
        """The past balls' labels, for the key axis."""
        return tuple(ball.label for ball in self.past)


def window_for(match: Match, reference: BallReference, predictor: TrainedPredictor) -> BallWindow:
    """The window of one ball, with ratings as the predictor holds them.

    Raises:
        BallNotFoundError: the ball has not been bowled in this file.
    """
    innings = innings_numbered(match, reference.innings)
    if reference.index > len(innings.deliveries):
        raise BallNotFoundError(
            f"delivery {reference.index} of innings {innings.number} has not been bowled in this "
            "file",
            remedy="name a ball that it has",
        )
    arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
    return cut_window(match, innings, arrays, reference.index)


def cut_window(match: Match, innings: Innings, arrays: InningsArrays, index: int) -> BallWindow:
    """The window of ball ``index`` of an innings that is encoded already."""
    position = index - 1
    batch = window_batch(arrays, position)
    sequence = batch["sequence"]
    table = relate(sequence["now"], sequence["balls"], sequence["visible"])[0, 0]
    past = []
    for ball, row in zip(innings.deliveries[:position], table.tolist(), strict=True):
        held = {name for name, value in zip(RELATIONS, row, strict=True) if value > 0}
        past.append(
            PastBall(
                index=ball.index,
                label=ball.label,
                over=ball.over,
                batter=ball.batter.name,
                bowler=ball.bowler.name,
                outcome=OUTCOMES[OUTCOME_INDEX[ball.outcome]],
                runs=ball.runs_total,
                runs_batter=ball.runs_batter,
                boundary=ball.boundary,
                relations=frozenset(held & set(SHARES)),
            )
        )
    return BallWindow(match, innings, innings.deliveries[position], batch, tuple(past), arrays)


DIGITS: Final = 8
"""So many that the chance before a ball is the mean of those after it to the sixth digit."""

COLUMNS: Final[tuple[str, ...]] = (
    "match_id",
    "innings",
    "index",
    "label",
    "batter",
    "bowler",
    "actual",
    *(f"p_{outcome}" for outcome in OUTCOMES),
    "win_before",
    *(f"win_{outcome}" for outcome in OUTCOMES),
    "free_hit",
)
"""The columns of a prediction, in order."""


Row: TypeAlias = dict[str, str | int | float | None]
"""A delivery by `COLUMNS`; the chances of the batting side are ``None`` where none can be told."""


@dataclass(frozen=True, slots=True, eq=False)
class Foretold:
    """An innings, and what was expected of each of its deliveries before it was bowled.

    Attributes:
        chances: of the outcomes ``(deliveries, 11)``.
        winning: who was winning; ``None`` where no value can be told.
    """

    innings: Innings
    arrays: InningsArrays
    chances: Floats
    winning: WinChances | None


def foretell(match: Match, predictor: TrainedPredictor) -> Iterator[Foretold]:
    """Every innings with a ball bowled, in file order, each in one pass.

    What is expected of a ball follows from the balls before it and what is known before it is
    bowled.
    """
    for innings in match.innings:
        if not innings.deliveries:
            continue
        arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
        batch, _ = training_batch([arrays])
        with one_thread(), torch.no_grad():
            chances = predictor.model(batch)[0].double().softmax(-1).numpy().round(DIGITS)
            strength = strength_of(match, innings, arrays, predictor)
            winning = win_chances(predictor.win, match, innings, strength, chances)
        yield Foretold(innings, arrays, chances, winning)


def predict_match(match: Match, predictor: TrainedPredictor) -> Iterator[Row]:
    """One row per delivery, as `foretell` has them; its own outcome stands in ``actual``."""
    for told in foretell(match, predictor):
        innings, winning = told.innings, told.winning
        free = free_hits(innings.deliveries)
        for row, ball in enumerate(innings.deliveries):
            which = match.match_id, innings.number, ball.index, ball.label
            played = ball.batter.name, ball.bowler.name, ball.outcome
            win: list[float | None] = [None] * (1 + len(OUTCOMES))
            if winning is not None:
                each = (winning.before[row], *winning.after[row])
                win = [round(float(chance), DIGITS) for chance in each]
            expected = *told.chances[row].tolist(), *win, int(free[row])
            yield dict(zip(COLUMNS, (*which, *played, *expected), strict=True))
