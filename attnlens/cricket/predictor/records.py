"""What came of every ball that a player has faced or bowled: the counts beneath a rating."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.predictor.day_tables import MatchSummary
from attnlens.files import Integers

ROLES: Final = ("striker", "bowler")
"""The kinds of rating that are a player's."""

_MAX_SIXTEEN_BITS: Final = 2**15 - 1


@dataclass(frozen=True, slots=True, eq=False)
class PlayerRecord:
    """Deliveries of one player in one role, by outcome ``(11,)``, and the day of the last."""

    counts: Integers
    last_day: datetime.date

    @property
    def deliveries(self) -> int:
        return int(self.counts.sum())


class PlayerRecords:
    """Counts by the rows of the rating tables; see `DayTable`.

    Attributes:
        counts: deliveries by role and outcome, ``(rows, 11)``.
        last: by role the ordinal of each player's last day, ``(rows,)``.
    """

    def __init__(self) -> None:
        self.until: datetime.date | None = None
        self.counts: dict[str, Integers] = {
            role: np.zeros((0, len(OUTCOMES)), np.int64) for role in ROLES
        }
        self.last: dict[str, Integers] = {role: np.zeros(0, np.int64) for role in ROLES}

    def learn_day(self, day: datetime.date, matches: Sequence[MatchSummary]) -> None:
        for role in ROLES:
            played = [match.players[role] for match in matches]
            rows = np.concatenate([rows for rows, _ in played])
            missing = rows.max(initial=-1) + 1 - len(self.last[role])
            if missing > 0:
                # Space for as many again: most days bring somebody new.
                more = max(missing, len(self.last[role]))
                self.counts[role] = np.pad(self.counts[role], ((0, more), (0, 0)))
                self.last[role] = np.pad(self.last[role], (0, more))
            np.add.at(self.counts[role], rows, np.concatenate([counts for _, counts in played]))
            self.last[role][rows] = day.toordinal()
        self.until = day

    def of(self, role: str, row: int) -> PlayerRecord | None:
        """The record of a row of the rating table; ``None`` of one that has no ball."""
        if not 0 <= row < len(self.last[role]) or not self.counts[role][row].any():
            return None
        last_day = datetime.date.fromordinal(int(self.last[role][row]))
        return PlayerRecord(self.counts[role][row].copy(), last_day)

    def copy(self) -> Self:
        other = type(self)()
        other.until = self.until
        other.counts = {role: counts.copy() for role, counts in self.counts.items()}
        other.last = {role: last.copy() for role, last in self.last.items()}
        return other

    def to_tensors(self) -> dict[str, Tensor]:
        tensors = {}
        for role, counts in self.counts.items():
            rows = 1 + int(np.flatnonzero(self.last[role]).max(initial=-1))
            stored = torch.from_numpy(counts[:rows])
            small = counts.max(initial=0) <= _MAX_SIXTEEN_BITS
            tensors[f"{role}.counts"] = stored.to(torch.int16 if small else torch.int32)
            tensors[f"{role}.last"] = torch.from_numpy(self.last[role][:rows]).int()
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Self:
        table = cls()
        table.until = datetime.date.fromordinal(int(tensors["until"]))
        for role in ROLES:
            counts, last = (
                tensors[f"{role}.{name}"].numpy().astype(np.int64) for name in ("counts", "last")
            )
            if counts.shape != (len(last), len(OUTCOMES)):
                raise ValueError("its records of players do not fit each other")
            if (counts < 0).any() or (last > table.until.toordinal()).any():
                raise ValueError("its records of players hold impossible counts or days")
            table.counts[role], table.last[role] = counts, last
        return table
