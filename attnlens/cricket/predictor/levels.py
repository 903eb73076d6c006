"""How often each outcome comes in a competition of late, beside what the scoreboard expects.

The scoreboard's network knows the kind of cricket, but neither the competition nor the season. Four
`STAGES` correct it one after another. Each holds counts of every outcome, observed and expected by
the stages before it, which fade with time. Their ratio is shrunk to 1, as if `Stage.prior_events`
more of the outcome had been observed and expected (a gamma-Poisson model).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match.competition import KINDS, PHASES
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.predictor.day_tables import MatchSummary, text_tensor, words_of
from attnlens.files import Floats, Floats32, Integers

_T20: Final = (None, "T20", "IT20")


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """Counts on a day, ``(2, phases, 11)``: observed and expected."""

    day: datetime.date
    values: Floats

    def on(self, day: datetime.date, half_life: float) -> Floats:
        """What is left of them on a later day."""
        faded: Floats = self.values * 0.5 ** ((day - self.day).days / half_life)
        return faded


@dataclass(frozen=True, slots=True)
class Stage:
    """One correction.

    Attributes:
        key: what has counts of its own.
        half_life: days in which counts fade by half.
        prior_events: occurrences of an outcome that draw the ratio to 1.
        by_phase: whether each phase of an innings has its own ratio.
    """

    key: Literal["kind", "competition", "event"]
    half_life: float
    prior_events: float
    by_phase: bool = False

    @property
    def phases(self) -> int:
        return len(PHASES) if self.by_phase else 1

    def key_of(self, match: MatchSummary) -> str:
        """What a match counts under; empty where the file does not tell."""
        name = KINDS[match.kind] if self.key == "kind" else getattr(match, self.key)
        # A one-day match or a Test has levels of its own: a T20 scoreboard expects something else.
        return name if not name or match.match_type in _T20 else f"{name} ({match.match_type})"

    def ratio(self, counts: _Counts | None, day: datetime.date) -> Floats:
        """Observed over expected on a day, shrunk, ``(1 or 3, 11)``; ones without counts."""
        if counts is None:
            return np.ones((1, len(OUTCOMES)))
        observed, expected = counts.on(day, self.half_life) + self.prior_events
        ratio: Floats = observed / expected
        return ratio


STAGES: Final = (
    Stage("kind", half_life=365, prior_events=40),
    Stage("competition", half_life=365, prior_events=40),
    Stage("event", half_life=30, prior_events=20),
    Stage("competition", half_life=365, prior_events=160, by_phase=True),
)
"""From the kind of cricket to the competition, its present season or series, and its phases.

Chosen on matches of 11 May to 23 October 2024.
"""

_ONE_BALL: Final = 1.0
"""A key whose counts have faded below this is not saved."""


class OutcomeLevels:
    """Counts of every stage; see `attnlens.cricket.predictor.day_tables.DayTable`."""

    def __init__(self) -> None:
        self.until: datetime.date | None = None
        self._counts: tuple[dict[str, _Counts], ...] = tuple({} for _ in STAGES)

    def learn_day(self, day: datetime.date, matches: Sequence[MatchSummary]) -> None:
        observed = [_sum([innings.observed for innings in match.innings]) for match in matches]
        expected = [_sum([innings.expected for innings in match.innings]) for match in matches]
        for stage, counts in zip(STAGES, self._counts, strict=True):
            for match, came, due in zip(matches, observed, expected, strict=True):
                key = stage.key_of(match)
                if key:
                    new = np.stack([came, due])
                    new = new if stage.by_phase else new.sum(1, keepdims=True)
                    old = counts.get(key)
                    total = new if old is None else new + old.on(day, stage.half_life)
                    counts[key] = _Counts(day, total)
            # What a stage has learnt today, the next ones need not learn once more.
            ratios = [stage.ratio(counts.get(stage.key_of(match)), day) for match in matches]
            expected = list(map(_corrected, expected, ratios))
        self.until = day

    def log_ratios(self, match: MatchSummary) -> Floats:
        """Logs of the ratios of all stages together in the phases of a match, ``(3, 11)``.

        They are those of the day ``until``: zeros before anything was learnt.
        """
        total = np.zeros((len(PHASES), len(OUTCOMES)))
        for stage, counts in zip(STAGES, self._counts, strict=True):
            if self.until is not None:
                total += np.log(stage.ratio(counts.get(stage.key_of(match)), self.until))
        return total

    def copy(self) -> Self:
        other = type(self)()
        other.until, other._counts = self.until, tuple(map(dict, self._counts))
        return other

    def to_tensors(self) -> dict[str, Tensor]:
        tensors = {}
        for number, (stage, counts) in enumerate(zip(STAGES, self._counts, strict=True)):
            rows = {
                key: values
                for key, entry in counts.items()
                if self.until is not None
                and (values := entry.on(self.until, stage.half_life))[1].sum() >= _ONE_BALL
            }
            stacked = np.array([*rows.values()]).reshape(-1, 2, stage.phases, len(OUTCOMES))
            tensors[f"{number}.keys"] = text_tensor(list(rows))
            tensors[f"{number}.counts"] = torch.from_numpy(stacked).float()
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Self:
        table = cls()
        table.until = datetime.date.fromordinal(int(tensors["until"]))
        for number, stage in enumerate(STAGES):
            keys = words_of(tensors[f"{number}.keys"])
            counts = tensors[f"{number}.counts"].numpy().astype(np.float64)
            if counts.shape != (len(keys), 2, stage.phases, len(OUTCOMES)):
                raise ValueError("its levels of competitions do not fit each other")
            if (counts < 0).any():
                raise ValueError("its levels of competitions hold negative counts")
            table._counts[number].update(
                (key, _Counts(table.until, values))
                for key, values in zip(keys, counts, strict=True)
            )
        return table


def _sum(counts: Sequence[Integers | Floats32]) -> Floats:
    """Counts of all innings, ``(3, 11)``."""
    total: Floats = np.sum(counts, axis=0, dtype=np.float64)
    return total


def _corrected(expected: Floats, ratio: Floats) -> Floats:
    """Expected counts ``(3, 11)`` times a ratio, of as many balls in each phase as before."""
    corrected = expected * ratio
    balls, sums = (counts.sum(1, keepdims=True) for counts in (expected, corrected))
    result: Floats = corrected * np.divide(balls, sums, out=np.ones_like(sums), where=sums > 0)
    return result
