"""The situations of a corpus that are most like a ball, and what happened in them.

Two balls of one kind (setting a total, or chasing; never super overs) are as far apart as the root
of the sum of squares of these differences, each over its unit in `UNITS`:

- the state: legal balls left, wickets down, the score (or, chasing, the runs still required), and
  the logarithm of one plus the balls the batter has faced;
- what the model made of it: its probabilities and its fusion weights (each a Hellinger distance,
  from 0 to 1), and where it looked, the shares of past attention by relation, each scale's
  weighed by its fusion weight (a Euclidean distance).

So a distance of 1 is twelve balls, or one wicket, or predictions that far apart. No ball of the
same match counts.

Whether a ball counts depends on what was known before it was bowled and on nothing after it. So if
the model is calibrated, what happened agrees with what it expected there. To take only the nearest
ball of each innings would not do: a state is left when a wicket falls, so the last ball in it, the
nearest one, is a wicket more often than others (12% for 5% expected, when we tried).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow
import pyarrow.parquet
import torch
from numpy.typing import NDArray
from pyarrow import compute

from attnlens.analysis.scores import ratio_interval, wilson
from attnlens.arrays import Floats
from attnlens.cricket.corpus.folder import Corpus
from attnlens.cricket.corpus.measures import measure
from attnlens.cricket.corpus.questions import Row, damaged, day_of
from attnlens.cricket.corpus.sides import MatchFacts
from attnlens.cricket.corpus.tables import BALLS, SCHEMA_VERSION, batch_of
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference, echo
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.model.heads import SCALES, SHARES
from attnlens.cricket.model.predictor import FUSED
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import one_thread
from attnlens.errors import InputError
from attnlens.show.numbers import rounded_all

UNITS: Final[Mapping[str, float]] = {
    "balls left": 12.0,
    "wickets": 1.0,
    "runs": 12.0,
    "batter's balls": 0.7,
    "prediction": 0.05,
    "fusion": 0.05,
    "attention": 0.1,
}
"""What counts as a distance of 1, by what differs."""

SITUATIONS: Final = 200
LISTED: Final = 8
NEXT: Final = 6
"""Deliveries, from the ball itself on, over which runs and wickets are counted."""

CHANCES: Final = tuple(f"p_{outcome}" for outcome in OUTCOMES)
GATES: Final = tuple(f"fusion_{source}" for source in FUSED)
LOOKED: Final = tuple(f"{scale}_{relation}" for scale in SCALES for relation in SHARES)
ABOUT: Final = (
    "match_id", "innings", "index", "label", "date", "batting_team", "bowling_team", "batter",
    "bowler", "score", "wickets", "balls_left", "runs_required",
)  # fmt: skip
"""What is told of a situation."""

NEEDED: Final = (*ABOUT, "actual", "runs", "batter_balls", "super_over", *CHANCES, *GATES, *LOOKED)


@dataclass(frozen=True, slots=True)
class Nearest:
    """One ball of the corpus.

    Attributes:
        row: the columns `ABOUT`.
        chances: what was expected of it ``(11,)``.
        then: what happened, from the ball itself on.
        runs, wickets: over those balls.
    """

    distance: float
    row: Row
    chances: Floats
    then: list[str | None]
    runs: int
    wickets: int

    def to_dict(self) -> Row:
        """As it is listed."""
        date = day_of(self.row["date"])
        return {**self.row, "date": date, "distance": self.distance, "then": self.then}


@dataclass(frozen=True, slots=True)
class Likelihood:
    """An outcome: expected of the ball, expected of those like it, and how often it came there.

    Attributes:
        low, high: Wilson's interval of ``happened``.
    """

    outcome: str
    expected: float
    expected_there: float
    happened: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its interval; no ends where one match tells all."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class NextBalls:
    """What the next balls brought, or as many as the innings had left, by whole matches."""

    balls: int
    matches: int
    runs: Estimate
    wickets: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """The nearest situations and what happened in them, beside what was expected."""

    predictor: TrainedPredictor
    match: Match
    reference: BallReference
    corpus_balls: int
    best: Sequence[Nearest]
    outcomes: Sequence[Likelihood]
    next_balls: NextBalls

    @property
    def listed(self) -> list[Nearest]:
        """The nearest of each innings: its neighbours tell the same story."""
        first: dict[tuple[str, int], Nearest] = {}
        for near in self.best:
            first.setdefault((near.row["match_id"], near.row["innings"]), near)
        return list(first.values())[:LISTED]

    def to_dict(self) -> Row:
        """The document of ``attnlens similar --json``."""
        data: Row = rounded_all(
            {
                "kind": "attnlens similar",
                "schema_version": SCHEMA_VERSION,
                "model": {"name": self.predictor.name, "sha256": self.predictor.sha256},
                "ball": {
                    "match_id": self.match.match_id,
                    "innings": self.reference.innings,
                    "index": self.reference.index,
                    "echo": echo(self.match, self.reference),
                },
                "units": dict(UNITS),
                "corpus_balls": self.corpus_balls,
                "situations": len(self.best),
                "nearest_distance": self.best[0].distance,
                "farthest_distance": self.best[-1].distance,
                "outcomes": [asdict(outcome) for outcome in self.outcomes],
                "next_balls": asdict(self.next_balls),
                "nearest": [near.to_dict() for near in self.listed],
            }
        )
        return data


@one_thread()
def similar(
    match: Match,
    reference: BallReference,
    predictor: TrainedPredictor,
    corpus: Corpus,
    *,
    count: int = SITUATIONS,
) -> Similar:
    """The situations of a corpus that are nearest to a ball.

    Args:
        match: with the ball, also where it is not yet bowled.
        predictor: of the same weights as the corpus's.
        count: how many situations.

    Raises:
        InputError: the corpus was made with other weights, is empty, or the ball is in a super
            over.
    """
    model = corpus.manifest.settings.model
    if model["sha256"] != predictor.sha256:
        raise InputError(
            f"was made with other weights ({model['name']}) than {predictor.name}",
            path=corpus.folder,
            remedy="give --model the checkpoint that it was made with",
        )
    asked = _row_of(MatchFacts(match, "", "", predictor), reference)
    if asked["super_over"]:
        raise InputError(
            "a super over has nothing like it in a corpus", remedy="ask about another innings"
        )
    best: list[Nearest] = []
    balls = 0
    for path in corpus.files().get("balls", ()):
        table = _balls_of(corpus, path)
        balls += len(table)
        table = table.filter(_other_match(table, match))
        farthest = best[-1].distance if len(best) == count else math.inf
        best += _nearest_of(table, asked, count, farthest)
        best.sort(key=lambda near: near.distance)
        del best[count:]
    if not best:
        raise InputError(
            "holds no situation to compare with", path=corpus.folder, remedy="explain more matches"
        )
    return Similar(
        predictor=predictor,
        match=match,
        reference=reference,
        corpus_balls=balls,
        best=best,
        outcomes=[_likelihood(place, asked, best) for place in range(len(OUTCOMES))],
        next_balls=_next(best),
    )


def _row_of(facts: MatchFacts, reference: BallReference) -> Row:
    """The ball's row of a corpus, as it would stand there."""
    side = next(side for side in facts.sides() if side.innings.number == reference.innings)
    [side.taken] = measure(facts.predictor.model, [side.arrays], torch.device("cpu"))
    [row] = batch_of(BALLS, side).slice(reference.index - 1, 1).to_pylist()
    return dict(row)


def _balls_of(corpus: Corpus, path: Path) -> pyarrow.Table:
    """The columns of a part's balls that are needed.

    Raises:
        InputError: the file is damaged.
    """
    try:
        return pyarrow.parquet.read_table(path, columns=list(NEEDED), partitioning=None)
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged(corpus, error) from None


def _columns(table: pyarrow.Table, names: Sequence[str]) -> Floats:
    """``(row, name)``, null as 0."""
    parts = [table[name].to_numpy().astype(np.float64) for name in names]
    result: Floats = np.nan_to_num(np.stack(parts, axis=1))
    return result


def _values(row: Row, names: Sequence[str]) -> Floats:
    return np.array([row[name] or 0.0 for name in names], np.float64)


def _looked(gates: Floats, shares: Floats) -> Floats:
    """Shares by relation, each scale's weighed by its fusion weight, ``(..., 8)``."""
    by_scale = shares.reshape(*shares.shape[:-1], len(SCALES), len(SHARES))
    weights = gates[..., 1:] / gates[..., 1:].sum(-1, keepdims=True)
    result: Floats = (by_scale * weights[..., None]).sum(-2)
    return result


def _hellinger(one: Floats, other: Floats) -> Floats:
    gap = np.sqrt(np.maximum(one, 0)) - np.sqrt(np.maximum(other, 0))
    result: Floats = np.sqrt((gap**2).sum(-1) / 2)
    return result


def distances(table: pyarrow.Table, asked: Row) -> Floats:
    """How far each row is from the ball asked about; infinite for one of another kind.

    Args:
        table: rows of ``balls`` with the columns `NEEDED`.
        asked: such a row.
    """
    of_kind = ~table["super_over"].to_numpy().astype(bool)
    for name in ("runs_required", "balls_left"):  # chasing or not, limited or not
        of_kind &= table[name].is_valid().to_numpy() == (asked[name] is not None)
    state = (
        "balls_left",
        "wickets",
        "score" if asked["runs_required"] is None else "runs_required",
    )
    left, wickets, runs = (_columns(table, state) - _values(asked, state)).T
    gates, own_gates = _columns(table, GATES), _values(asked, GATES)
    looked = _looked(gates, _columns(table, LOOKED))
    differ = {
        "balls left": left,
        "wickets": wickets,
        "runs": runs,
        "batter's balls": np.log1p(_columns(table, ("batter_balls",)))[:, 0]
        - math.log1p(asked["batter_balls"]),
        "prediction": _hellinger(_columns(table, CHANCES), _values(asked, CHANCES)),
        "fusion": _hellinger(gates, own_gates),
        "attention": np.linalg.norm(looked - _looked(own_gates, _values(asked, LOOKED)), axis=-1),
    }
    squares = np.stack([(differ[name] / unit) ** 2 for name, unit in UNITS.items()])
    result: Floats = np.where(of_kind, np.sqrt(squares.sum(0)), np.inf)
    return result


def _nearest_of(table: pyarrow.Table, asked: Row, count: int, farthest: float) -> Iterator[Nearest]:
    """The nearest balls of a part, nearer than ``farthest``."""
    far = distances(table, asked)
    for place in np.argsort(far, kind="stable")[:count].tolist():
        if not far[place] < farthest:
            return
        ahead = table.slice(place, NEXT)
        [row, *_] = ahead.select(ABOUT).to_pylist()
        same = compute.and_(
            compute.equal(ahead["match_id"], row["match_id"]),
            compute.equal(ahead["innings"], row["innings"]),
        )
        ahead = ahead.filter(same)
        outcomes = ahead["actual"].to_pylist()
        yield Nearest(
            float(far[place]),
            row,
            _columns(ahead.slice(0, 1), CHANCES)[0],
            outcomes,
            sum(ahead["runs"].to_pylist()),
            outcomes.count("W"),
        )


def _other_match(table: pyarrow.Table, match: Match) -> NDArray[np.bool_]:
    """Whether each row is of another match: another id, and not the same sides on the same day."""
    other: NDArray[np.bool_] = compute.not_equal(table["match_id"], match.match_id).to_numpy()
    if match.date is None or not match.teams:
        return other
    sides = pyarrow.array(list(match.teams), pyarrow.string())
    same = compute.fill_null(compute.equal(table["date"], pyarrow.scalar(match.date)), False)
    for column in ("batting_team", "bowling_team"):
        same = compute.and_(same, compute.is_in(table[column], value_set=sides))
    result: NDArray[np.bool_] = other & ~same.to_numpy()
    return result


def _likelihood(place: int, asked: Row, best: Sequence[Nearest]) -> Likelihood:
    """The outcome of a number."""
    outcome = OUTCOMES[place]
    came = sum(near.then[0] == outcome for near in best)
    there = sum(float(near.chances[place]) for near in best) / len(best)
    low, high = wilson(came, len(best))
    return Likelihood(outcome, asked[CHANCES[place]], there, came / len(best), low, high, came)


def _next(best: Sequence[Nearest]) -> NextBalls:
    """Mean runs and wickets over the next balls.

    Windows overlap, so whole matches are taken as independent.
    """
    by_match = sorted(best, key=lambda near: str(near.row["match_id"]))
    matches = [list(some) for _, some in groupby(by_match, key=lambda near: near.row["match_id"])]
    counts = np.array([len(some) for some in matches], np.float64)

    def mean(sums: Sequence[int]) -> Estimate:
        value, low, high = ratio_interval(np.array(sums, np.float64), counts)
        return Estimate(value, *((None, None) if math.isnan(low) else (max(low, 0.0), high)))

    return NextBalls(
        NEXT,
        len(matches),
        mean([sum(near.runs for near in some) for some in matches]),
        mean([sum(near.wickets for near in some) for some in matches]),
    )
