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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.parquet
import torch
from numpy.typing import NDArray
from pyarrow import compute

from attnlens.corpus.database import damaged
from attnlens.corpus.folder import Corpus
from attnlens.corpus.intervals import ratio_interval, wilson
from attnlens.corpus.measures import measure
from attnlens.corpus.rows import Side, ball_rows, sides_of
from attnlens.corpus.schema import BALLS, SCHEMA_VERSION, record_batch
from attnlens.cricket.match import Match
from attnlens.cricket.naming import BallReference, echo
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import one_thread
from attnlens.errors import InputError
from attnlens.explanation.heatmap import SHARES, rounded
from attnlens.models.predictor import FUSED
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]

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
    "bowler", "actual", "score", "wickets", "balls_left", "runs_required", "runs",
)  # fmt: skip
NEEDED: Final = tuple(
    dict.fromkeys((*ABOUT, "batter_balls", "super_over", *CHANCES, *GATES, *LOOKED))
)


@dataclass(frozen=True, slots=True)
class Nearest:
    """One ball of the corpus.

    Attributes:
        chances: what was expected of it ``(11,)``.
        then: what happened, from the ball itself on.
        runs, wickets: over those balls.
    """

    distance: float
    row: dict[str, Any]
    chances: tuple[float, ...]
    then: tuple[str | None, ...]
    runs: int
    wickets: int


@one_thread()
def similar(
    match: Match,
    reference: BallReference,
    predictor: TrainedPredictor,
    corpus: Corpus,
    *,
    count: int = SITUATIONS,
) -> dict[str, Any]:
    """The nearest situations and what happened in them, beside what was expected.

    Args:
        match: with the ball, also where it is not yet bowled.
        predictor: of the same weights as the corpus's.
        count: how many situations.

    Raises:
        InputError: the corpus was made with other weights, is empty, or the ball is in a super
            over.
    """
    manifest = corpus.manifest
    if manifest["model"]["sha256"] != predictor.sha256:
        raise InputError(
            f"was made with other weights ({manifest['model']['name']}) than {predictor.name}",
            path=corpus.folder,
            remedy="give --model the checkpoint that it was made with",
        )
    sides = list(sides_of(match, predictor))
    side = next(one for one in sides if one.innings.number == reference.innings)
    if side.innings.super_over:
        raise InputError(
            "a super over has nothing like it in a corpus", remedy="ask about another innings"
        )
    asked = _asked(side, reference.index)
    best: list[Nearest] = []
    balls = 0
    for path in corpus.files().get("balls", ()):
        table = _balls_of(corpus, path)
        balls += len(table)
        table = table.filter(_other_match(table, match))
        farthest = best[-1].distance if len(best) == count else math.inf
        best += _nearest_of(table, asked, count, farthest)
        best.sort(key=lambda one: one.distance)
        del best[count:]
    if not best:
        raise InputError(
            "holds no situation to compare with", path=corpus.folder, remedy="explain more matches"
        )
    return {
        "kind": "attnlens similar",
        "schema_version": SCHEMA_VERSION,
        "model": {"name": predictor.name, "sha256": predictor.sha256},
        "ball": {
            "match_id": match.match_id,
            "innings": reference.innings,
            "index": reference.index,
            "echo": echo(match, reference),
        },
        "units": dict(UNITS),
        "corpus_balls": balls,
        "situations": len(best),
        "nearest_distance": rounded(best[0].distance),
        "farthest_distance": rounded(best[-1].distance),
        "outcomes": _outcomes(asked, best),
        "next_balls": _next(best),
        "nearest": [_listed(one) for one in _of_each_innings(best)[:LISTED]],
    }


def _balls_of(corpus: Corpus, path: Path) -> pyarrow.Table:
    """The columns of a part's balls that are needed.

    Raises:
        InputError: the file is damaged.
    """
    try:
        return pyarrow.parquet.read_table(path, columns=list(NEEDED), partitioning=None)
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged(corpus, error) from None


def _asked(side: Side, index: int) -> dict[str, Any]:
    """The ball's row of a corpus, as it would stand there."""
    [told] = measure(side.predictor.model, [side.arrays], torch.device("cpu"))
    batch = record_batch(BALLS, ball_rows(side, told)).slice(index - 1, 1)
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows[0]


def _columns(table: pyarrow.Table, names: Sequence[str]) -> Floats:
    """``(row, name)``, null as 0."""
    parts = [table[name].to_numpy().astype(np.float64) for name in names]
    result: Floats = np.nan_to_num(np.stack(parts, axis=1))
    return result


def _values(row: Mapping[str, Any], names: Sequence[str]) -> Floats:
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


def distances(table: pyarrow.Table, asked: Mapping[str, Any]) -> Floats:
    """How far each row is from the ball asked about; infinite for one of another kind.

    Args:
        table: rows of ``balls`` with the columns `NEEDED`.
        asked: such a row.
    """
    chasing = asked["runs_required"] is not None
    runs = "runs_required" if chasing else "score"
    of_kind = ~table["super_over"].to_numpy().astype(bool)
    of_kind &= table["runs_required"].is_valid().to_numpy() == chasing
    limited = asked["balls_left"] is not None
    of_kind &= table["balls_left"].is_valid().to_numpy() == limited
    state = _columns(table, ("balls_left", "wickets", runs))
    gates, own_gates = _columns(table, GATES), _values(asked, GATES)
    faced = np.log1p(_columns(table, ("batter_balls",)))[:, 0]
    differ = {
        **dict(
            zip(
                ("balls left", "wickets", "runs"),
                (state - _values(asked, ("balls_left", "wickets", runs))).T,
                strict=True,
            )
        ),
        "batter's balls": faced - math.log1p(asked["batter_balls"]),
        "prediction": _hellinger(_columns(table, CHANCES), _values(asked, CHANCES)),
        "fusion": _hellinger(gates, own_gates),
        "attention": np.linalg.norm(
            _looked(gates, _columns(table, LOOKED)) - _looked(own_gates, _values(asked, LOOKED)),
            axis=-1,
        ),
    }
    squares = np.stack([(differ[name] / unit) ** 2 for name, unit in UNITS.items()])
    result: Floats = np.where(of_kind, np.sqrt(squares.sum(0)), np.inf)
    return result


def _nearest_of(
    table: pyarrow.Table, asked: Mapping[str, Any], count: int, farthest: float
) -> Iterator[Nearest]:
    """The nearest balls of a part, nearer than ``farthest``."""
    far = distances(table, asked)
    ends = _ends(table)
    table = table.select([*ABOUT, *CHANCES])
    for place in np.argsort(far, kind="stable")[:count].tolist():
        if not far[place] < farthest:
            return
        ahead = table.slice(place, min(int(ends[place]) - place, NEXT))
        row = ahead.slice(0, 1).select(list(ABOUT)).to_pylist()[0]
        outcomes = ahead["actual"].to_pylist()
        yield Nearest(
            float(far[place]),
            row,
            tuple(_columns(ahead.slice(0, 1), CHANCES)[0].tolist()),
            tuple(outcomes),
            sum(ahead["runs"].to_pylist()),
            outcomes.count("W"),
        )


def _ends(table: pyarrow.Table) -> NDArray[np.int64]:
    """For every row, where its innings ends."""
    ids = table["match_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    number = table["innings"].to_numpy()
    last = np.flatnonzero((np.diff(ids) != 0) | (np.diff(number) != 0)) + 1
    ends = np.append(last, len(table))
    result: NDArray[np.int64] = ends[np.searchsorted(ends, np.arange(len(table)), side="right")]
    return result


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


def _outcomes(asked: Mapping[str, Any], best: Sequence[Nearest]) -> list[dict[str, Any]]:
    told = []
    for place, outcome in enumerate(OUTCOMES):
        count = sum(one.then[0] == outcome for one in best)
        low, high = wilson(count, len(best))
        told.append(
            {
                "outcome": outcome,
                "expected": rounded(asked[f"p_{outcome}"]),
                "expected_there": rounded(sum(one.chances[place] for one in best) / len(best)),
                "happened": rounded(count / len(best)),
                "low": rounded(low),
                "high": rounded(high),
                "count": count,
            }
        )
    return told


def _next(best: Sequence[Nearest]) -> dict[str, Any]:
    """Mean runs and wickets over the next balls, or as many as the innings had left.

    Windows overlap, so whole matches are taken as independent.
    """
    matches: dict[str, list[Nearest]] = {}
    for one in best:
        matches.setdefault(one.row["match_id"], []).append(one)
    counts = np.array([len(found) for found in matches.values()], np.float64)

    def mean(name: str) -> dict[str, float | None]:
        sums = np.array([sum(getattr(one, name) for one in found) for found in matches.values()])
        value, low, high = ratio_interval(sums, counts)
        ends = (None, None) if math.isnan(low) else (rounded(max(low, 0.0)), rounded(high))
        return {"value": rounded(value), "low": ends[0], "high": ends[1]}

    return {
        "balls": NEXT,
        "matches": len(matches),
        "runs": mean("runs"),
        "wickets": mean("wickets"),
    }


def _of_each_innings(best: Sequence[Nearest]) -> list[Nearest]:
    """The nearest of each innings, to be shown: its neighbours tell the same story."""
    first: dict[tuple[str, int], Nearest] = {}
    for one in best:
        first.setdefault((one.row["match_id"], one.row["innings"]), one)
    return list(first.values())


def _listed(one: Nearest) -> dict[str, Any]:
    row = {name: value for name, value in one.row.items() if name not in ("actual", "runs")}
    date = row["date"]
    return {
        **row,
        "date": None if date is None else date.isoformat(),
        "distance": rounded(one.distance),
        "then": list(one.then),
    }
