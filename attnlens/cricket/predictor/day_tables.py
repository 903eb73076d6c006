"""Tables beside the ratings that learn from each day's matches and are saved with a checkpoint."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match.competition import (
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
from attnlens.files import Floats32, Integers


@dataclass(frozen=True, slots=True, eq=False)
class InningsSummary:
    """One innings, without its balls.

    Attributes:
        batting, bowling: the sides, as `team_key` names them.
        balls: legal balls bowled; ``quota``: legal balls the side may face.
        observed: how often each outcome came in each of `PHASES`, ``(3, 11)``.
        expected: how often it was to come by the scoreboard alone, ``(3, 11)``.
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
    """What day tables learn of one match.

    Attributes:
        kind: the number of its kind of cricket in `attnlens.cricket.match.competition.KINDS`.
        competition, event: see `competition_of` and `event_of`.
        winner: the side, as `team_key` names it; ``None`` without one.
        method: how the result was adjusted, such as ``D/L``; ``None`` for a result by play.
        innings: those that have a ball, super overs left out.
        players: for each role of a player the rows of the rating table, ``(n,)``, and how often
            each outcome came, ``(n, 11)``.
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
    """The summary of a match.

    Args:
        innings: each with the log-probabilities of the scoreboard alone ``(n, 11)`` and the
            class numbers of what happened ``(n,)``.
        players: as `MatchSummary.players`.
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
    """A table that learns from the matches of one day after another.

    ``until`` is the last day learnt. A table made without arguments has learnt nothing: a
    checkpoint that lacks its tensors has that one.
    """

    until: datetime.date | None

    def __init__(self) -> None: ...

    def learn_day(self, day: datetime.date, matches: Sequence[MatchSummary]) -> None:
        """Learn all matches of a day, which is later than ``until``, and set ``until``."""

    def copy(self) -> Self:
        """A copy that later days do not change."""

    def to_tensors(self) -> dict[str, Tensor]:
        """Everything but ``until``, by name; not of a table that has learnt nothing."""

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Self:
        """The table of `to_tensors`; ``until`` is the ordinal of its day.

        Raises:
            KeyError, ValueError: they are damaged.
        """


def saved_table(table: DayTable) -> dict[str, Tensor]:
    """The tensors of a table and of its date; none of a table that has learnt nothing."""
    if table.until is None:
        return {}
    return {"until": torch.tensor(table.until.toordinal()), **table.to_tensors()}


def loaded_table(kind: type[DayTable], tensors: Mapping[str, Tensor]) -> DayTable:
    """The table of `saved_table`.

    Raises:
        KeyError, ValueError: the tensors are damaged.
    """
    return kind.from_tensors(tensors) if tensors else kind()


def text_tensor(words: Sequence[str]) -> Tensor:
    """Words as the bytes of lines."""
    data = "\n".join(word.replace("\n", " ") for word in words).encode()
    return torch.tensor(list(data), dtype=torch.uint8)


def words_of(data: Tensor) -> list[str]:
    """The words of `text_tensor`."""
    text = data.numpy().tobytes().decode()
    return text.split("\n") if text else []
