"""The ratings of the day before each match, small enough to be handed to another process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from attnlens.corpus.plan import Entry, Part
from attnlens.corpus.shard import PartWork
from attnlens.cricket.match import Match
from attnlens.cricket.ratings import KINDS, Ratings, Table, phase_of, quota_of, team_key
from attnlens.cricket.readers import MatchShelf
from attnlens.cricket.timeline import Timeline
from attnlens.cricket.trained import TrainedPredictor
from attnlens.errors import MatchFileError


class DatedWork:
    """Parts with the ratings of each match's date.

    Args:
        timeline: what earlier matches say; ``None`` for the checkpoint's own ratings, which
            need not be handed out.
    """

    def __init__(self, timeline: Timeline[TrainedPredictor] | None) -> None:
        self._timeline = timeline

    def __call__(self, parts: Iterable[Part]) -> Iterator[PartWork]:
        """Every part, in order; parts come in order of date."""
        shelf = MatchShelf()
        try:
            for part in parts:
                yield PartWork(part, self._ratings(part, self._timeline, shelf))
        finally:
            shelf.close()

    def _ratings(
        self, part: Part, timeline: Timeline[TrainedPredictor] | None, shelf: MatchShelf
    ) -> dict[str, Ratings]:
        if timeline is None:
            return {}
        found = {}
        for entry in part.entries:
            try:
                match = shelf.match(entry.file, entry.match_id if entry.several else None)
            except MatchFileError:
                continue  # whoever works the part out will say so
            found[match.match_id] = _handed(entry, match, timeline.predictor_for(match))
        return found


def _handed(entry: Entry, match: Match, predictor: TrainedPredictor) -> Ratings:
    """All ratings where claims will be tested, which need other players' too."""
    return predictor.ratings if entry.tested else ratings_of(match, predictor.ratings)


def ratings_of(match: Match, ratings: Ratings) -> Ratings:
    """The ratings of a match's players, teams and ground only; for that match they are the same.

    Encoding the match with them gives the same arrays as with all.
    """
    wanted: dict[str, set[int]] = {kind.name: set() for kind in KINDS}
    for innings in match.innings:
        quota = quota_of(match, innings)
        phases = [phase_of(ball.legal_balls_before, quota) for ball in innings.deliveries]
        rows = ratings.entities(match, innings, phases)
        for column, kind in enumerate(KINDS):
            wanted[kind.name].update(np.unique(rows[:, column]).tolist())
    for team in {*match.teams, *(side.batting_team for side in match.innings)}:
        for name in ("batting_team", "bowling_team"):
            wanted[name].add(ratings.tables[name].row(team_key(match, team)))
    names = {
        player.name
        for innings in match.innings
        for ball in innings.deliveries
        for player in (ball.batter, ball.non_striker, ball.bowler)
    }
    return replace(
        ratings,
        tables={name: _rows_of(ratings.tables[name], rows - {-1}) for name, rows in wanted.items()},
        aliases={name: key for name, key in ratings.aliases.items() if name in names},
    )


def _rows_of(table: Table, rows: set[int]) -> Table:
    kept = {key: row for key, row in table.keys.items() if row in rows}
    order = list(kept.values())
    return Table(
        table.kind,
        {key: place for place, key in enumerate(kept)},
        table.rating[order],
        table.precision[order],
        table.balls[order],
    )
