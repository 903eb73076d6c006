"""What earlier days and this match say of striker, bowler, ground and meeting, for the trees.

Three kinds of column: the ratings that the predictor has too; sums over everything an entity
did on earlier days, against what the scoreboard alone expected of those balls; and sums over
this match so far, against what the scoreboard and the ratings expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.match import Match
from attnlens.cricket.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.ratings import softmax
from attnlens.cricket.tensors import Encoded
from attnlens.training.aggregates import Columns, Doubles, Groups, state_columns
from attnlens.training.ball_table import RATED, BallTable, Floats, Integers, ball_table

SHRINKAGE: Final[dict[str, float]] = {"striker": 80.0, "bowler": 80.0, "venue": 150.0, "pair": 60.0}
"""Balls of the expectation that an entity's record is mixed with."""

FADING: Final = 365.0
"""Days in which what happened comes to count half, for recent form."""

COUNTED: Final = ("0", "1", "2", "4", "6", "W", "wd")
"""Outcomes frequent enough for a sum over one match to tell anything."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """What the baselines know of each ball.

    Attributes:
        names: of the columns.
        values: ``(balls, columns)``; outcomes of single earlier balls as class numbers,
            -1 for none.
        outcome: class number of what happened ``(balls,)``.
        match: number of the match ``(balls,)``.
    """

    names: tuple[str, ...]
    values: Floats
    outcome: Integers
    match: Integers

    def __len__(self) -> int:
        return len(self.outcome)

    def column(self, name: str) -> Floats:
        found: Floats = self.values[:, self.names.index(name)]
        return found

    def rows(self, chosen: NDArray[Any] | slice) -> FeatureTable:
        """Some of the balls."""
        return FeatureTable(
            self.names, self.values[chosen], self.outcome[chosen], self.match[chosen]
        )


def feature_table(matches: Iterable[Match], encoded: Sequence[Encoded]) -> FeatureTable:
    """Features of every ball of ``encoded``, in order.

    Args:
        matches: those the innings are of.
        encoded: innings in order of date, with all that is known of earlier days: each
            ball's row uses the balls before it in its match and the matches that ended
            before its match began.
    """
    balls = ball_table(matches, encoded)
    names: list[str] = []
    columns: list[Floats] = []
    for part in (state_columns, rating_columns, record_columns, match_columns):
        for name, values in part(balls):
            table = values if values.ndim == 2 else values[:, None]
            of = COUNTED if table.shape[1] == len(COUNTED) else OUTCOMES
            names += [name] if values.ndim == 1 else [f"{name} {outcome}" for outcome in of]
            columns.append(table.astype(np.float32))
    values = np.concatenate(columns, axis=1)
    return FeatureTable(tuple(names), values, balls.outcome, balls.match)


def rating_columns(balls: BallTable) -> Columns:
    """The ratings, their joint expectation, and how much they rest on."""
    yield "expected", np.log(np.maximum(_expected(balls), 1e-9))
    for name in RATED:
        yield f"rating {name}", balls.ratings[name]
    for name, count in balls.met.items():
        yield f"met {name}", count


class Ledger:
    """What entities did on earlier days.

    Args:
        key: the entity of each ball ``(n,)``.
        began, ended: days of its match. A ball counts for matches that began after its
            match had ended.
    """

    def __init__(self, key: Integers, began: Integers, ended: Integers) -> None:
        first = int(min(began.min(), ended.min()))
        span = int(max(began.max(), ended.max())) - first + 1
        known = key * span + (ended - first)
        self._order = np.argsort(known, kind="stable")
        ordered = known[self._order]
        self._low = np.searchsorted(ordered, key * span)
        self._high = np.searchsorted(ordered, key * span + (began - first))

    def sums(self, values: NDArray[Any]) -> Doubles:
        """Sums over the entity's balls of earlier days, ``(n,)`` or ``(n, columns)``."""
        running = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values[self._order], axis=0, out=running[1:])
        return running[self._high] - running[self._low]


def record_columns(balls: BallTable) -> Columns:
    """Records of earlier days: outcomes against expectation, runs and wickets per ball."""
    happened = np.zeros((len(balls), len(OUTCOMES)), np.float32)
    happened[np.arange(len(balls)), balls.outcome] = 1
    expected = softmax(balls.base)
    keys = {
        "striker": balls.batter,
        "bowler": balls.bowler,
        "venue": balls.venue,
        "pair": balls.batter * (int(balls.bowler.max()) + 1) + balls.bowler,
    }
    # Recent form: weights halve every year. They grow with the day here; only ratios are used.
    age = (balls.ended - balls.ended.min()) / FADING
    weight = np.exp2(age).astype(np.float64)
    now = np.exp2((balls.began - balls.ended.min()) / FADING)
    for name, key in keys.items():
        shrink = SHRINKAGE[name]
        ledger = Ledger(key, balls.began, balls.ended)
        count = ledger.sums(np.ones(len(balls)))
        actual, due = ledger.sums(happened), ledger.sums(expected)
        yield f"record {name}", _log_ratio(actual, due, count, shrink)
        if name == "pair":
            yield "met pair", np.log1p(count)
            continue
        yield (
            f"{name} runs per ball",
            (ledger.sums(balls.runs_total) + 1.2 * shrink) / (count + shrink),
        )
        yield (
            f"{name} wickets per ball",
            (ledger.sums(balls.was("W")) + 0.05 * shrink) / (count + shrink),
        )
        if name == "venue":
            continue
        late = ledger.sums(weight[:, None] * happened) / now[:, None]
        late_due = ledger.sums(weight[:, None] * expected) / now[:, None]
        yield f"form {name}", _log_ratio(late, late_due, ledger.sums(weight) / now, shrink / 2)


def match_columns(balls: BallTable) -> Columns:
    """Outcomes minus expectation, summed over the balls before this one in the match."""
    counted = [OUTCOME_INDEX[outcome] for outcome in COUNTED]
    surprise = -_expected(balls)
    surprise[np.arange(len(balls)), balls.outcome] += 1
    surprise = surprise[:, counted].astype(np.float64)
    people = int(max(balls.batter.max(), balls.bowler.max())) + 1
    innings, match = Groups(balls.innings), Groups(balls.match)
    for last, shrink in ((12, 12), (36, 30)):
        number = np.minimum(innings.count(), last)[:, None]
        yield f"surprise last {last}", innings.sums(surprise, last) / (number + shrink)
    sums: dict[str, tuple[Groups, int]] = {
        "innings": (innings, 60),
        "match": (match, 120),
        "striker": (Groups(balls.innings * people + balls.batter), 20),
        "bowler": (Groups(balls.innings * people + balls.bowler), 20),
    }
    for name, (groups, shrink) in sums.items():
        yield f"surprise {name}", groups.sums(surprise) / (groups.count() + shrink)[:, None]
    before = match.count() - innings.count()
    yield (
        "surprise earlier innings",
        (match.sums(surprise) - innings.sums(surprise)) / (before + 60)[:, None],
    )


def _expected(balls: BallTable) -> Floats:
    """Probabilities from scoreboard and ratings, ``(balls, 11)``."""
    return softmax(balls.base + sum(balls.ratings[name] for name in RATED))


def _log_ratio(actual: Doubles, due: Doubles, count: Doubles, shrink: float) -> Doubles:
    """Log of actual over expected, each mixed with ``shrink`` balls of the expectation."""
    rate = actual / np.maximum(due, 1e-9)
    number = count[:, None]
    result: Doubles = np.log((number * rate + shrink) / (number + shrink))
    return result
