"""Tables that are updated after each day of matches and saved in a checkpoint.

`OutcomeLevels` compares the outcomes in a competition with the outcomes that `BaseModel` expects.
`BaseModel` uses only the scoreboard and the kind of cricket. The four `STAGES` correct the expected
counts in sequence. A correction is the observed count divided by the expected count. Both counts
decay with time. `Stage.prior_events` is added to both counts and shrinks the correction towards 1
(a gamma-Poisson model).

`PlayerRecords` counts the outcomes of all balls that a player has faced or bowled.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match.competition import (
    KINDS,
    PHASES,
    competition_of,
    event_of,
    phase_of,
    quota_of,
    table_of,
    team_key,
    venue_key,
)
from attnlens.cricket.match.ledger import outcome_of
from attnlens.cricket.match.match import OUTCOMES, Innings, Match
from attnlens.files import Floats, Floats32, Integers


@dataclass(frozen=True, slots=True, eq=False)
class InningsSummary:
    """The totals of one innings.

    Attributes:
        batting, bowling: the `team_key` of each side.
        balls: the number of legal balls bowled.
        quota: the maximum number of legal balls.
        observed: the count of each outcome in each of `PHASES`, shape ``(3, 11)``.
        expected: the counts that `BaseModel` expects, shape ``(3, 11)``.
    """

    number: int
    batting: str
    bowling: str
    runs: int
    wickets: int
    balls: int
    quota: int | None
    target: int | None
    observed: Integers
    expected: Floats32


@dataclass(frozen=True, slots=True, eq=False)
class MatchSummary:
    """The data of one match for `DayTable.learn_day`.

    Attributes:
        kind: the index of the kind of cricket in `attnlens.cricket.match.competition.KINDS`.
        competition, event: see `competition_of` and `event_of`.
        winner: the `team_key` of the winning side; ``None`` if no side won.
        method: the rule that adjusted the result, such as ``D/L``; otherwise ``None``.
        innings: all innings with at least one ball, except super overs.
        players: for each role, the players' rows in the rating table, shape ``(n,)``, and their
            outcome counts, shape ``(n, 11)``.
    """

    match_id: str
    match_type: str | None
    kind: int
    competition: str
    event: str
    venue: str
    winner: str | None
    tie: bool
    method: str | None
    innings: tuple[InningsSummary, ...]
    players: Mapping[str, tuple[Integers, Integers]]


def summary_of(
    match: Match,
    innings: Iterable[tuple[Innings, Floats32, Integers]],
    players: Mapping[str, tuple[Integers, Integers]] = MappingProxyType({}),
) -> MatchSummary:
    """Return the summary of a match.

    Args:
        innings: for each innings, the `Innings`, the log-probabilities of `BaseModel`, shape
            ``(n, 11)``, and the class numbers of the outcomes, shape ``(n,)``.
        players: see `MatchSummary`.
    """

    outcome = outcome_of(match)
    winner = outcome.get("winner")
    return MatchSummary(
        match_id=match.match_id,
        match_type=match.match_type,
        kind=table_of(match),
        competition=competition_of(match),
        event=event_of(match),
        venue=venue_key(match),
        winner=None if winner is None else team_key(match, winner),
        tie=outcome.get("result") == "tie",
        method=outcome.get("method"),
        innings=tuple(_innings_summary(match, *entry) for entry in innings),
        players=players,
    )


def _innings_summary(
    match: Match, innings: Innings, base: Floats32, outcomes: Integers
) -> InningsSummary:
    quota = quota_of(match, innings)
    phases = np.array([phase_of(ball.legal_balls_before, quota) for ball in innings.deliveries])
    observed = np.zeros((len(PHASES), len(OUTCOMES)), np.int64)
    expected = np.zeros(observed.shape, np.float32)
    np.add.at(observed, (phases, outcomes), 1)
    np.add.at(expected, phases, np.exp(base))
    return InningsSummary(
        number=innings.number,
        batting=team_key(match, innings.batting_team),
        bowling=team_key(match, innings.bowling_team),
        runs=innings.total,
        wickets=innings.wickets,
        balls=innings.legal_balls,
        quota=quota,
        target=innings.target,
        observed=observed,
        expected=expected,
    )


class DayTable(Protocol):
    """A table that is updated day by day. ``until`` is the last day; ``None`` for a new table."""

    until: datetime.date | None

    def __init__(self) -> None: ...

    def learn_day(self, day: datetime.date, matches: Sequence[MatchSummary]) -> None:
        """Add all matches of ``day``, and set ``until`` to ``day``. Days must be added in order."""

    def copy(self) -> Self:
        """Return an independent copy."""

    def to_tensors(self) -> dict[str, Tensor]:
        """Return the table's tensors without ``until``. The table must include at least one day."""

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Self:
        """Build a table from the result of `saved_table`.

        Raises:
            KeyError, ValueError: the tensors are damaged.
        """


def saved_table(table: DayTable) -> dict[str, Tensor]:
    """Return a table's tensors, including ``until``. A new table has no tensors."""
    if table.until is None:
        return {}
    return {"until": torch.tensor(table.until.toordinal()), **table.to_tensors()}


def text_tensor(words: Sequence[str]) -> Tensor:
    """Encode words as a tensor of bytes. Line breaks separate the words."""
    data = "\n".join(word.replace("\n", " ") for word in words).encode()
    return torch.tensor(list(data), dtype=torch.uint8)


def words_of(data: Tensor) -> list[str]:
    """Return the words that `text_tensor` encoded."""
    text = data.numpy().tobytes().decode()
    return text.split("\n") if text else []


_T20: Final = (None, "T20", "IT20")


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """Observed and expected outcome counts, decayed up to ``day``; shape ``(2, phases, 11)``."""

    day: datetime.date
    values: Floats

    def on(self, day: datetime.date, half_life: float) -> Floats:
        faded: Floats = self.values * 0.5 ** ((day - self.day).days / half_life)
        return faded


@dataclass(frozen=True, slots=True)
class Stage:
    """One correction of the expected outcome counts.

    Attributes:
        key: the property that groups the matches.
        half_life: the half-life of the counts, in days.
        prior_events: the number that is added to every observed and every expected count.
        by_phase: whether each phase of an innings has its own correction.
    """

    key: Literal["kind", "competition", "event"]
    half_life: float
    prior_events: float
    by_phase: bool = False

    @property
    def phases(self) -> int:
        return len(PHASES) if self.by_phase else 1

    def key_of(self, match: MatchSummary) -> str:
        """Return the name of a match's group; empty if the group is unknown."""
        name = KINDS[match.kind] if self.key == "kind" else getattr(match, self.key)
        # One-day matches and Tests get their own groups, because the base model was trained on T20.
        return name if not name or match.match_type in _T20 else f"{name} ({match.match_type})"

    def ratio(self, counts: _Counts | None, day: datetime.date) -> Floats:
        """Return the corrections, shape ``(1, 11)`` or ``(3, 11)``. Without counts, all are 1."""
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
"""Corrections, in order. The parameters were tuned on matches from 11 May to 23 October 2024."""

_ONE_BALL: Final = 1.0
"""The smallest sum of expected counts with which a group is saved."""


class OutcomeLevels:
    """The `DayTable` of outcome counts for every stage in `STAGES`."""

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
            # The next stage starts from the expectations that this stage has corrected.
            ratios = [stage.ratio(counts.get(stage.key_of(match)), day) for match in matches]
            expected = list(map(_corrected, expected, ratios))
        self.until = day

    def log_ratios(self, match: MatchSummary) -> Floats:
        """Return the summed logarithms of all corrections, shape ``(3, 11)``; 0 for a new table."""
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
                raise ValueError(
                    "the tables of competition levels have shapes that do not fit together"
                )
            if (counts < 0).any():
                raise ValueError("the tables of competition levels contain negative counts")
            table._counts[number].update(
                (key, _Counts(table.until, values))
                for key, values in zip(keys, counts, strict=True)
            )
        return table


def _sum(counts: Sequence[Integers | Floats32]) -> Floats:
    total: Floats = np.sum(counts, axis=0, dtype=np.float64)
    return total


def _corrected(expected: Floats, ratio: Floats) -> Floats:
    """The sum of each row does not change."""
    corrected = expected * ratio
    balls, sums = (counts.sum(1, keepdims=True) for counts in (expected, corrected))
    result: Floats = corrected * np.divide(balls, sums, out=np.ones_like(sums), where=sums > 0)
    return result


ROLES: Final = ("striker", "bowler")
"""The two roles of a player. Each role has its own ratings."""

_MAX_SIXTEEN_BITS: Final = 2**15 - 1


@dataclass(frozen=True, slots=True, eq=False)
class PlayerCounts:
    """A player's outcome counts in one role, and the day of the last delivery."""

    counts: Integers
    last_day: datetime.date

    @property
    def deliveries(self) -> int:
        return int(self.counts.sum())


class PlayerRecords:
    """The `DayTable` of every player's outcome counts. Rows are numbered as in the rating tables.

    Attributes:
        counts: for each role, the count of each outcome, shape ``(rows, 11)``.
        last: for each role, the ordinal date of the last delivery, shape ``(rows,)``.
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
                # The arrays grow by doubling, because most days have new players.
                more = max(missing, len(self.last[role]))
                self.counts[role] = np.pad(self.counts[role], ((0, more), (0, 0)))
                self.last[role] = np.pad(self.last[role], (0, more))
            np.add.at(self.counts[role], rows, np.concatenate([counts for _, counts in played]))
            self.last[role][rows] = day.toordinal()
        self.until = day

    def of(self, role: str, row: int) -> PlayerCounts | None:
        """Return a player's record, or ``None`` if the player has no deliveries."""
        if not 0 <= row < len(self.last[role]) or not self.counts[role][row].any():
            return None
        last_day = datetime.date.fromordinal(int(self.last[role][row]))
        return PlayerCounts(self.counts[role][row].copy(), last_day)

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
                raise ValueError("the tables of players have shapes that do not fit together")
            if (counts < 0).any() or (last > table.until.toordinal()).any():
                raise ValueError("the tables of players contain impossible counts or days")
            table.counts[role], table.last[role] = counts, last
        return table
