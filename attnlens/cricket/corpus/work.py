"""One part of a corpus, from its matches to the bytes of its files: the same wherever it runs.

A `PartWorker` is made once in each process, or Ray actor; a `PartWork` goes in and a `PartDone`
comes out, both small. Nothing is written here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow
import torch

from attnlens.cricket.corpus.measures import measure
from attnlens.cricket.corpus.plan import Entry, Part, Skipped
from attnlens.cricket.corpus.sides import HeadRows, MatchFacts, Side, sampled, tested_rows
from attnlens.cricket.corpus.tables import TABLES, TESTED, batch_of, batch_of_rows, parquet_of
from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.model.ratings import Ratings, Table, team_key, venue_key
from attnlens.cricket.model.trained import TrainedPredictor, load_predictor
from attnlens.cricket.model.window import one_thread
from attnlens.cricket.readers import MatchShelf
from attnlens.cricket.session import Session
from attnlens.errors import InputError

Batches = dict[str, list[pyarrow.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Task:
    """What every part of a corpus is worked out with.

    Attributes:
        model: a checkpoint, or the name of a shipped one.
        sha256: of the checkpoint: other weights are refused.
        tested: whether balls are sampled for evidence.
        seed: of that sample.
        device: ``cpu`` or ``cuda``.
    """

    model: str | None
    sha256: str
    tested: bool = False
    seed: int = 5
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class PartWork:
    """A part to work out.

    Attributes:
        ratings: by match id, the ratings of the day before it; for a match that is not in it,
            the checkpoint's own.
    """

    part: Part
    ratings: Mapping[str, Ratings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartDone:
    """A part worked out.

    Attributes:
        tables: the bytes of each table's file.
        matches, balls, tested: how many it holds.
        skipped: its matches that could not be read.
    """

    part: Part
    tables: dict[str, bytes]
    matches: int
    balls: int
    tested: int
    skipped: tuple[Skipped, ...]


def check_device(device: str) -> None:
    """Whether this machine has a device.

    Raises:
        InputError: it has none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here", remedy="use --device cpu")


class PartWorker:
    """Works out parts, one after the other, on one thread.

    Args:
        predictor: the task's, where it is at hand.

    Raises:
        InputError: the checkpoint is another than the task's, or there is no such device.
    """

    def __init__(self, task: Task, predictor: TrainedPredictor | None = None) -> None:
        check_device(task.device)
        self.task = task
        self.predictor = load_predictor(task.model) if predictor is None else predictor
        if self.predictor.sha256 != task.sha256:
            raise InputError(
                "is another checkpoint than the corpus was begun with",
                path=task.model or self.predictor.name,
                remedy="give that one to every machine",
            )
        self.device = torch.device(task.device)
        # Evidence is many small passes, which a GPU has no use for: the predictor stays.
        model = self.predictor.model
        self._model = copy.deepcopy(model).to(self.device) if self.device.type == "cuda" else model
        self._shelf = MatchShelf()

    def close(self) -> None:
        """Close the files that are open."""
        self._shelf.close()

    @one_thread()
    def __call__(self, work: PartWork) -> PartDone:
        """The part's tables."""
        skipped: list[Skipped] = []
        read = list(self._read(work, skipped))
        sides = [facts.sides() for facts, _ in read]
        every = list(chain.from_iterable(sides))
        for side, measures in zip(
            every, measure(self._model, [side.arrays for side in every], self.device), strict=True
        ):
            side.taken = measures
        batches: Batches = {
            "balls": [batch_of(TABLES["balls"], side) for side in every],
            "heads": [batch_of(TABLES["heads"], HeadRows(side)) for side in every],
            "matches": [batch_of_rows(TABLES["matches"], [facts for facts, _ in read])],
        }
        tested = 0
        if self.task.tested:
            batches |= {name: [] for name in TESTED}
            for (_, entry), of_match in zip(read, sides, strict=True):
                tested += self._test(of_match, entry.tested, batches)
        return PartDone(
            work.part,
            {name: parquet_of(name, some) for name, some in batches.items()},
            len(read),
            sum(len(side.arrays) for side in every),
            tested,
            tuple(skipped),
        )

    def _read(self, work: PartWork, skipped: list[Skipped]) -> Iterator[tuple[MatchFacts, Entry]]:
        """The part's matches that can be read, each with the ratings it is explained with."""
        for entry in work.part.entries:
            try:
                match = entry.read(self._shelf)
            except MatchFileError as error:
                skipped.append(Skipped.by(error))
                continue
            ratings = work.ratings.get(match.match_id)
            own = self.predictor
            predictor = own if ratings is None else replace(own, ratings=ratings)
            yield MatchFacts(match, entry.file, entry.sha256, predictor), entry

    def _test(self, sides: list[Side], count: int, batches: Batches) -> int:
        """Add the rows of a match's sampled balls; how many balls they were."""
        balls = list(sampled(sides, count, self.task.seed))
        for side, index in balls:
            claims, past = tested_rows(side, index)
            batches["evidence"].append(batch_of_rows(TABLES["evidence"], claims))
            batches["effects"].append(batch_of_rows(TABLES["effects"], past))
        return len(balls)


def works_of(session: Session, parts: Iterable[Part]) -> Iterator[PartWork]:
    """Every part, in order, with the ratings of each match's date.

    Parts come in order of date. Without a history nothing need be handed out: everybody has the
    checkpoint's own ratings.
    """
    with closing(MatchShelf()) as shelf:
        for part in parts:
            ratings: dict[str, Ratings] = {}
            for entry in part.entries if session.history is not None else ():
                try:
                    match = entry.read(shelf)
                except MatchFileError:
                    continue  # whoever works the part out will say so
                dated = session.dated(match).ratings
                # Testing claims needs other players' ratings too.
                ratings[match.match_id] = dated if entry.tested else ratings_of(match, dated)
            yield PartWork(part, ratings)


def ratings_of(match: Match, ratings: Ratings) -> Ratings:
    """The ratings of a match's players, teams and ground only; for that match they are the same.

    Encoding the match with them gives the same arrays as with all.
    """
    players = [
        player
        for innings in match.innings
        for ball in innings.deliveries
        for player in (ball.batter, ball.non_striker, ball.bowler)
    ]
    sides = {*match.teams, *(innings.batting_team for innings in match.innings)}
    wanted = {
        *map(ratings.player_key, players),
        *(team_key(match, team) for team in sides),
        venue_key(match),
        "all",  # the era's
    }
    names = {player.name for player in players}
    return replace(
        ratings,
        tables={name: _rows_of(table, wanted) for name, table in ratings.tables.items()},
        aliases={name: key for name, key in ratings.aliases.items() if name in names},
    )


def _rows_of(table: Table, wanted: set[str]) -> Table:
    """The rows of some keys, and of what they are in a phase or an innings: ``key#number``."""
    kept = {
        key: row
        for key, row in table.keys.items()
        if key in wanted or key.rpartition("#")[0] in wanted
    }
    order = list(kept.values())
    return replace(
        table,
        keys={key: place for place, key in enumerate(kept)},
        rating=table.rating[order],
        precision=table.precision[order],
        balls=table.balls[order],
    )
