"""How often each outcome comes in a competition of late, beside what the scoreboard expects.

The scoreboard's network knows the kind of cricket and not the competition or the season. For each
competition, the table holds observed and expected counts of every outcome, which fade by half in
`HALF_LIFE` days. Their ratio is shrunk to that of the competition's kind of cricket, as if
`PRIOR_EVENTS` of the outcome had been expected at the kind's ratio (a gamma-Poisson model).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Final, Self

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match.competition import KINDS, PHASES
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.day_tables import MatchSummary, text_tensor, words_of
from attnlens.files import Floats

HALF_LIFE: Final = 180.0
PRIOR_EVENTS: Final = 40.0

_SHAPE: Final = (len(PHASES), len(OUTCOMES))


class OutcomeLevels:
    """Counts by competition, and by kind of cricket; see `DayTable`.

    Attributes:
        keys: the row of each kind of cricket and of each competition.
        observed, expected: faded counts on the day ``until``, ``(rows, 3, 11)``.
    """

    def __init__(self) -> None:
        self.until: datetime.date | None = None
        self.keys: dict[str, int] = {name: row for row, name in enumerate(KINDS)}
        self.observed: Floats = np.zeros((len(KINDS), *_SHAPE))
        self.expected: Floats = np.zeros((len(KINDS), *_SHAPE))

    def learn_day(self, day: datetime.date, matches: Sequence[MatchSummary]) -> None:
        if self.until is not None:
            fading = 0.5 ** ((day - self.until).days / HALF_LIFE)
            self.observed *= fading
            self.expected *= fading
        for match in matches:
            for row in {match.kind, self._row(match.competition)} - {-1}:
                for innings in match.innings:
                    self.observed[row] += innings.observed
                    self.expected[row] += innings.expected
        self.until = day

    def _row(self, competition: str) -> int:
        if competition and competition not in self.keys:
            self.keys[competition] = len(self.keys)
            blank = np.zeros((1, *_SHAPE))
            self.observed = np.concatenate([self.observed, blank])
            self.expected = np.concatenate([self.expected, blank])
        return self.keys.get(competition, -1)

    def log_ratios(self, kind: int, competition: str) -> Floats:
        """Log of observed over expected, shrunk, ``(11,)``; zeros before anything was learnt."""
        ratio = np.ones(len(OUTCOMES))
        for row in (kind, self.keys.get(competition, -1)):
            if row >= 0:
                observed, expected = self.observed[row].sum(0), self.expected[row].sum(0)
                ratio = (observed + PRIOR_EVENTS * ratio) / (expected + PRIOR_EVENTS)
        result: Floats = np.log(ratio)
        return result

    def copy(self) -> Self:
        other = type(self)()
        other.until, other.keys = self.until, dict(self.keys)
        other.observed, other.expected = self.observed.copy(), self.expected.copy()
        return other

    def to_tensors(self) -> dict[str, Tensor]:
        return {
            "keys": text_tensor(list(self.keys)),
            "observed": torch.from_numpy(self.observed).float(),
            "expected": torch.from_numpy(self.expected).float(),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Self:
        table = cls()
        keys = words_of(tensors["keys"])
        table.keys = {key: row for row, key in enumerate(keys)}
        table.observed = tensors["observed"].numpy().astype(np.float64)
        table.expected = tensors["expected"].numpy().astype(np.float64)
        shapes = {table.observed.shape, table.expected.shape}
        if shapes != {(len(keys), *_SHAPE)} or tuple(keys[: len(KINDS)]) != KINDS:
            raise ValueError("its levels of competitions do not fit each other")
        if (table.observed < 0).any() or (table.expected < 0).any():
            raise ValueError("its levels of competitions hold negative counts")
        return table
