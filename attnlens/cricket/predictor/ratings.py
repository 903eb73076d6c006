"""Ratings of players, venues and teams, learnt from earlier matches.

The outcome logits of a ball are ``base(scoreboard) + r[striker] + r[bowler] + r[venue] + ...``,
where ``r`` are the ratings. After each date, one damped Newton step updates the ratings of each
entity (online empirical Bayes). Let ``G = Σ (y - p)`` and ``F = Σ p(1 - p)`` over the entity's
balls on that date. The step is ``precision ← 1 / (1 / precision + drift) + F``,
``r ← r + step · G / precision``.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.match.competition import (
    competition_of,
    era_of,
    phase_of,
    quota_of,
    team_key,
    venue_key,
)
from attnlens.cricket.match.match import OUTCOMES, Innings, Match, Player
from attnlens.cricket.predictor.day_tables import (
    ROLES,
    DayTable,
    MatchSummary,
    OutcomeLevels,
    PlayerCounts,
    PlayerRecords,
    summary_of,
)
from attnlens.cricket.predictor.form import Form
from attnlens.files import Floats32, Integers

STEP: Final = 0.45


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity: a rating's prior standard deviation, and the variance added per update."""

    name: str
    deviation: float
    drift: float


KINDS: Final[tuple[Kind, ...]] = (
    Kind("striker", 0.25, 5e-4),
    Kind("striker_phase", 0.12, 0.0),
    Kind("bowler", 0.25, 5e-4),
    Kind("bowler_phase", 0.12, 0.0),
    Kind("competition_phase", 0.07, 0.0),
    Kind("competition", 0.20, 5e-4),
    Kind("venue", 0.15, 5e-4),
    Kind("venue_innings", 0.07, 0.0),
    Kind("batting_team", 0.30, 5e-4),
    Kind("bowling_team", 0.30, 5e-4),
    Kind("era", 0.10, 5e-5),
)
"""The kinds of entity, in the column order of `Ratings.entities`."""

ALL_KINDS: Final[tuple[str, ...]] = tuple(kind.name for kind in KINDS)


@dataclass
class RatingTable:
    """The ratings of one kind of entity: a row for each entity, and a column for each outcome."""

    kind: Kind
    keys: dict[str, int] = field(default_factory=dict)
    rating: Floats32 = field(default_factory=lambda: np.zeros((0, len(OUTCOMES)), np.float32))
    precision: Floats32 = field(default_factory=lambda: np.zeros((0, len(OUTCOMES)), np.float32))
    balls: Floats32 = field(default_factory=lambda: np.zeros(0, np.float32))

    def row(self, key: str, *, create: bool = False) -> int:
        """Return the row of ``key``, or -1. If ``create`` is true, an unknown key gets a row."""
        if key in self.keys or not create:
            return self.keys.get(key, -1)
        number = len(self.keys)
        self.keys[key] = number
        if number >= len(self.balls):
            more = max(64, len(self.balls))
            blank = np.zeros((more, len(OUTCOMES)), np.float32)
            self.rating = np.concatenate([self.rating, blank])
            self.precision = np.concatenate(
                [self.precision, np.full_like(blank, self.kind.deviation**-2)]
            )
            self.balls = np.concatenate([self.balls, np.zeros(more, np.float32)])
        return number

    def look_up(self, rows: NDArray[np.int64]) -> tuple[Floats32, Floats32]:
        """Return ratings, shape ``(n, 11)``, and ball counts, shape ``(n,)``; zeros for row -1."""
        if not len(self.balls):
            return np.zeros((len(rows), len(OUTCOMES)), np.float32), np.zeros(len(rows), np.float32)
        met = rows >= 0
        rating = np.where(met[:, None], self.rating[rows], np.float32(0))
        return rating, np.where(met, self.balls[rows], np.float32(0))

    def learn(self, rows: NDArray[np.int64], surprise: Floats32, information: Floats32) -> None:
        """Update the ratings with the balls of one date.

        Args:
            rows: the row of each ball's entity, shape ``(n,)``.
            surprise, information: ``y - p`` and ``p(1 - p)`` of each ball, shape ``(n, 11)``.
        """
        entities, positions = np.unique(rows, return_inverse=True)
        gradient = np.zeros((len(entities), len(OUTCOMES)), np.float32)
        fisher = np.zeros_like(gradient)
        np.add.at(gradient, positions, surprise)
        np.add.at(fisher, positions, information)
        variance = 1 / self.precision[entities] + np.float32(self.kind.drift)
        precision: Floats32 = (1 / variance + fisher).astype(np.float32)
        self.precision[entities] = precision
        self.rating[entities] += np.float32(STEP) * gradient / precision
        self.balls[entities] += np.bincount(positions, minlength=len(entities)).astype(np.float32)


RatingUpdate: TypeAlias = tuple[NDArray[np.int64], Floats32, NDArray[np.int64]]
"""The arguments of `Ratings.learn` for one innings."""

DAY_TABLES: Final[dict[str, type[DayTable]]] = {
    "levels": OutcomeLevels,
    "form": Form,
    "records": PlayerRecords,
}
"""The `DayTable` attributes of `Ratings`, with the type of each."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchUpdate:
    """The data of one match for `Ratings.learn_day`."""

    innings: tuple[RatingUpdate, ...]
    summary: MatchSummary


@dataclass
class Ratings:
    """The rating tables of all kinds of entity, and one `DayTable` of each type.

    Attributes:
        aliases: for each player name, the id of the last player with this name.
        until: the last day in the rating tables. A `DayTable` may end earlier.
        kinds: the kinds of entity that are rated. The tables of other kinds stay empty.
    """

    tables: dict[str, RatingTable] = field(
        default_factory=lambda: {kind.name: RatingTable(kind) for kind in KINDS}
    )
    aliases: dict[str, str] = field(default_factory=dict)
    until: datetime.date | None = None
    kinds: tuple[str, ...] = ALL_KINDS
    levels: OutcomeLevels = field(default_factory=OutcomeLevels)
    form: Form = field(default_factory=Form)
    records: PlayerRecords = field(default_factory=PlayerRecords)

    @property
    def day_tables(self) -> dict[str, DayTable]:
        return {name: getattr(self, name) for name in DAY_TABLES}

    @property
    def complete_until(self) -> datetime.date | None:
        """The last day that the ratings and every `DayTable` include."""
        days = [self.until, *(table.until for table in self.day_tables.values())]
        learnt = [day for day in days if day is not None]
        return min(learnt) if len(learnt) == len(days) else None

    def copy(self, *, blank: bool = False) -> Ratings:
        """Return an independent copy. If ``blank`` is true, reset all ratings but keep names."""
        tables = {}
        for name, table in self.tables.items():
            arrays = {
                each: getattr(table, each).copy() for each in ("rating", "precision", "balls")
            }
            if blank:
                arrays["rating"][:] = arrays["balls"][:] = 0
                arrays["precision"][:] = table.kind.deviation**-2
            tables[name] = replace(table, keys=dict(table.keys), **arrays)
        return replace(
            self,
            tables=tables,
            aliases=dict(self.aliases),
            until=None if blank else self.until,
            levels=OutcomeLevels() if blank else self.levels.copy(),
            form=Form() if blank else self.form.copy(),
            records=PlayerRecords() if blank else self.records.copy(),
        )

    def player_key(self, player: Player) -> str:
        """Return the player's id. Without an id, use the alias of the name, or the name."""
        return player.id or self.aliases.get(player.name, player.name)

    def entities(
        self, match: Match, innings: Innings, *, create: bool = False
    ) -> NDArray[np.int64]:
        """Return each delivery's row in every rating table, shape ``(deliveries, len(KINDS))``.

        An unknown entity has the row -1, or gets a new row if ``create`` is true.
        """
        tables, quota = self.tables, quota_of(match, innings)
        venue, competition = venue_key(match), competition_of(match)
        side = f"{venue}#{min(innings.number, 2)}"
        keys = {
            "venue": venue,
            "venue_innings": side if venue else "",
            "batting_team": team_key(match, innings.batting_team),
            "bowling_team": team_key(match, innings.bowling_team),
            "era": era_of(match),
            "competition": competition,
        }
        shared = {
            name: tables[name].row(key, create=create) if key else -1
            for name, key in keys.items()
            if name in self.kinds
        }
        rows = np.full((len(innings.deliveries), len(KINDS)), -1, np.int64)
        for column, kind in enumerate(KINDS):
            rows[:, column] = shared.get(kind.name, -1)
        for number, ball in enumerate(innings.deliveries):
            striker, bowler = self.player_key(ball.batter), self.player_key(ball.bowler)
            phase = phase_of(ball.legal_balls_before, quota)
            level = f"{competition}#{phase}" if competition else ""
            keys_of_ball = (striker, f"{striker}#{phase}", bowler, f"{bowler}#{phase}", level)
            for column, key in enumerate(keys_of_ball):
                name = KINDS[column].name
                if name in self.kinds and key:
                    rows[number, column] = tables[name].row(key, create=create)
        players = [player for ball in innings.deliveries for player in (ball.batter, ball.bowler)]
        if create:
            self.aliases |= {player.name: player.id for player in players if player.id}
        return rows

    def of(self, kind: str, key: str) -> Floats32:
        """Return the rating of one entity, shape ``(11,)``. An unknown entity has the rating 0."""
        table = self.tables[kind]
        vector: Floats32 = table.look_up(np.array([table.row(key) if key else -1]))[0][0]
        return vector

    def of_sides(self, match: Match, batting: str, bowling: str) -> Floats32:
        """Sum the ratings of the ground, competition, era and both sides, shape ``(11,)``."""
        keys = {
            "venue": venue_key(match),
            "batting_team": team_key(match, batting),
            "bowling_team": team_key(match, bowling),
            "era": era_of(match),
            "competition": competition_of(match),
        }
        total: Floats32 = np.sum([self.of(kind, key) for kind, key in keys.items()], axis=0)
        return total

    def parts(self, rows: NDArray[np.int64]) -> dict[str, Floats32]:
        """Map each kind of entity to the ratings of each ball, shape ``(n, 11)``.

        The entry ``<kind>_balls`` has the number of balls behind each rating, shape ``(n,)``.
        """
        vectors: dict[str, Floats32] = {}
        for column, kind in enumerate(KINDS):
            rating, balls = self.tables[kind.name].look_up(rows[:, column])
            vectors[kind.name] = rating
            vectors[f"{kind.name}_balls"] = balls
        return vectors

    def learn(self, rows: NDArray[np.int64], base: Floats32, outcomes: NDArray[np.int64]) -> None:
        """Update every rating table with the balls of one date.

        Args:
            rows: the result of `entities`, shape ``(n, kinds)``. The row -1 is ignored.
            base: the log-probabilities of `BaseModel`, shape ``(n, 11)``.
            outcomes: the class numbers of the actual outcomes, shape ``(n,)``.
        """
        parts = self.parts(rows)
        logits = base + sum(parts[kind.name] for kind in KINDS)
        probability = softmax(logits)
        surprise = -probability
        surprise[np.arange(len(outcomes)), outcomes] += 1
        information = probability * (1 - probability)
        for column, kind in enumerate(KINDS):
            met = rows[:, column] >= 0
            if met.any():
                self.tables[kind.name].learn(rows[met, column], surprise[met], information[met])

    def update_of(
        self,
        match: Match,
        innings: Iterable[tuple[Innings, Floats32, NDArray[np.int64]]],
        *,
        create: bool = True,
    ) -> MatchUpdate:
        """Return the data of a match for `learn_day`.

        Args:
            innings: see `summary_of`.
            create: whether new entities get a table row.
        """
        entries = list(innings)
        lessons = tuple(
            (self.entities(match, side, create=create), base, outcomes)
            for side, base, outcomes in entries
        )
        players = {role: _counts_by_row(lessons, ALL_KINDS.index(role)) for role in ROLES}
        return MatchUpdate(lessons, summary_of(match, entries, players))

    def record_of(self, role: str, player: Player) -> PlayerCounts | None:
        """Return a player's outcome counts in one of `ROLES`; ``None`` if unknown or incomplete."""
        row = self.tables[role].row(self.player_key(player))
        record = self.records.of(role, row)
        if record is None or record.deliveries < self.tables[role].balls[row]:
            return None
        return record

    def learn_day(self, day: datetime.date, updates: Sequence[MatchUpdate]) -> None:
        """Add the matches of ``day`` to every table that does not include ``day`` yet."""
        if self.until is None or day > self.until:
            lessons = [lesson for update in updates for lesson in update.innings]
            rows, base, outcomes = zip(*lessons, strict=True)
            self.learn(np.concatenate(rows), np.concatenate(base), np.concatenate(outcomes))
            self.until = day
        for table in self.day_tables.values():
            if table.until is None or day > table.until:
                table.learn_day(day, [update.summary for update in updates])


def _counts_by_row(lessons: Iterable[RatingUpdate], column: int) -> tuple[Integers, Integers]:
    """Unknown entities (row -1) are left out."""
    pairs = [(rows[:, column], outcomes) for rows, _, outcomes in lessons]
    rows, outcomes = (np.concatenate(part) for part in zip(*pairs, strict=True))
    entities, positions = np.unique(rows, return_inverse=True)
    counts = np.zeros((len(entities), len(OUTCOMES)), np.int64)
    np.add.at(counts, (positions, outcomes), 1)
    return entities[entities >= 0], counts[entities >= 0]


def softmax(logits: Floats32) -> Floats32:
    """Return the softmax along the last axis."""
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    result: Floats32 = (shifted / shifted.sum(-1, keepdims=True)).astype(np.float32)
    return result


def by_date(matches: Iterable[Match]) -> Iterable[tuple[datetime.date, list[Match]]]:
    """Group matches by their last day, in order of date. Omit matches without a date."""
    days: dict[datetime.date, list[Match]] = {}
    for match in matches:
        if match.dates:
            days.setdefault(max(match.dates), []).append(match)
    for day in sorted(days):
        yield day, sorted(days[day], key=lambda match: match.match_id)
