"""Past balls replaced by others like them: the second way of taking a ball away.

A hidden ball is not there. A replaced one is, but tells of something else: what happened on it
(its outcome, runs, and the flags wicket, boundary and dot; hence its surprise too) is drawn
from the balls of all training matches that were bowled in the same over of the same innings.
Where it stood, who played it and every scoreboard stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Floats
from attnlens.cricket.explain.one_head import OneBall
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.model.relations import Balls, Batch, mapped, relate
from attnlens.cricket.model.tensors import PAST_OUTCOME_SIZE

Sets = Sequence[tuple[int, ...]]

RUNS: Final = {"W": 0, "wd": 1, "nb": 1, "bye": 1}
"""What a drawn outcome is taken to have brought; a digit is its own runs."""

ROWS_AT_ONCE: Final = 96


def told_of(outcome: str) -> NDArray[np.float32]:
    """What a past ball with this outcome tells of it, as `encode_innings` would write it."""
    happened = np.zeros(PAST_OUTCOME_SIZE, np.float32)
    happened[OUTCOMES.index(outcome)] = 1
    runs = RUNS[outcome] if outcome in RUNS else int(outcome)
    happened[len(OUTCOMES) :] = runs / 4, outcome in ("4", "6"), 0
    return happened


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Replaced pasts, a row each.

    Attributes:
        key: vectors of the past balls ``(row, past, hidden_dim)``.
        balls: who they are, ``(row, past)``.
    """

    key: Tensor
    balls: Balls


class Replacement:
    """Replaces past balls of one ball.

    Args:
        seed: of the draws. A set's first draw is the same whatever else is asked for.
    """

    def __init__(self, ball: OneBall, seed: int) -> None:
        self.ball = ball
        self.seed = seed
        sequence = ball.batch["sequence"]
        past = sequence["past"]
        self._chances = past["prior"][0].double().softmax(-1).cumsum(-1).numpy()
        self._flags = {
            "wicket": torch.tensor([outcome == "W" for outcome in OUTCOMES]),
            "boundary": torch.tensor([outcome in ("4", "6") for outcome in OUTCOMES]),
            "dot": torch.tensor([outcome == "0" for outcome in OUTCOMES]),
        }

    @cached_property
    def _own(self) -> Tensor:
        """The past balls as they were, ``(1, past, hidden_dim)``."""
        with torch.no_grad():
            return self.ball.model.past(self.ball.batch["sequence"])

    @cached_property
    def _bank(self) -> Tensor:
        """The past balls with each outcome instead of their own, ``(11, past, hidden_dim)``."""
        past = self.ball.batch["sequence"]["past"]
        count = past["happened"].shape[1]
        classes = torch.from_numpy(np.stack([told_of(outcome) for outcome in OUTCOMES]))
        told = mapped(past, lambda value: value.expand(len(OUTCOMES), *value.shape[1:]))
        told["happened"] = classes[:, None].expand(len(OUTCOMES), count, -1)
        with torch.no_grad():
            return self.ball.model.past({"past": told})

    def drawn(self, places: Sequence[int], draw: int) -> NDArray[np.int64]:
        """An outcome for each of these past balls (positions on the key axis)."""
        generator = np.random.default_rng([self.seed, draw, *places])
        chance = generator.random(len(places))
        classes = (chance[:, None] > self._chances[list(places)]).sum(1)
        kept: NDArray[np.int64] = np.minimum(classes, len(OUTCOMES) - 1)
        return kept

    def rows(self, sets: Sets) -> Rows:
        """The past with each set of balls (indices from 1) replaced; a set again, drawn again."""
        before: Balls = self.ball.batch["sequence"]["balls"]
        count = len(sets)
        key = self._own.repeat(count, 1, 1)
        flags = {name: getattr(before, name).repeat(count, 1) for name in self._flags}
        times: Counter[tuple[int, ...]] = Counter()
        for row, one in enumerate(sets):
            places = [index - 1 for index in sorted(one)]
            classes = torch.from_numpy(self.drawn(places, times[one]))
            times[one] += 1
            key[row, places] = self._bank[classes, places]
            for name, table in self._flags.items():
                flags[name][row, places] = table[classes]
        who = mapped(before, lambda value: value.expand(count, *value.shape[1:]))
        return Rows(key, replace(who, **flags))

    def everywhere(self, sets: Sets) -> Floats:
        """Probabilities with balls replaced for the whole model, ``(set, outcome)``."""
        rows = self.rows(sets)
        found = [np.zeros((0, len(OUTCOMES)))]
        for start in range(0, len(sets), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            key = rows.key[some]
            batch = self._batch(len(key), mapped(rows.balls, itemgetter(some)))
            with torch.no_grad():
                logits = self.ball.model.predict(batch, key=key).logits
            found.append(logits[:, 0].double().softmax(-1).numpy())
        return np.concatenate(found)

    def for_head(self, scale: str, head: int, sets: Sets) -> Floats:
        """The same with balls replaced for one head's keys and values only.

        Not for the long scale, whose keys are overs.
        """
        rows = self.rows(sets)
        count = len(sets)
        sequence = self._batch(count, rows.balls)["sequence"]
        table = relate(sequence["now"], rows.balls, sequence["visible"])
        encoder = self.ball.model.temporal.encoder(scale)
        with torch.no_grad():
            placed = encoder.place(rows.key, rows.balls.over, rows.balls.ball_in_over)
        first = placed.shape[1] - self.ball.scales[scale].keys
        read = self.ball.read_by(scale, head, placed[:, first:], table[:, :, first:])
        return self.ball.with_head(scale, head, read)

    def _batch(self, count: int, balls: Balls) -> Batch:
        """The ball asked about, ``count`` times, over these pasts."""

        def again(value: Tensor) -> Tensor:
            return value.expand(count, *value.shape[1:])

        sequence = self.ball.batch["sequence"]
        return {
            "graph_data": mapped(self.ball.batch["graph_data"], again),
            "sequence": {
                "now": mapped(sequence["now"], again),
                "balls": balls,
                "visible": again(sequence["visible"]),
                "overs": sequence["overs"],
            },
        }
