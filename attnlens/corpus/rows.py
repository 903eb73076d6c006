"""A match as rows of a corpus: what happened on every ball, what was expected, where it looked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from attnlens.corpus.measures import InningsMeasures
from attnlens.corpus.schema import Coded, Columns
from attnlens.cricket.flags import in_training
from attnlens.cricket.match import Innings, Match
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.ratings import phase_of, quota_of
from attnlens.cricket.ratings_update import PHASES
from attnlens.cricket.results import result_sentence
from attnlens.cricket.tensors import InningsArrays, encode_innings
from attnlens.cricket.trained import TrainedPredictor
from attnlens.explanation.heatmap import SHARES, head_key
from attnlens.models.predictor import FUSED
from attnlens.models.relation_attention import STARTING_PATTERNS
from attnlens.models.temporal import SCALES


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One innings with a ball bowled, ready for the model.

    Attributes:
        predictor: with the ratings that the match is to be explained with.
    """

    match: Match
    innings: Innings
    predictor: TrainedPredictor
    arrays: InningsArrays

    @property
    def phases(self) -> list[str]:
        """The phase of every ball."""
        quota = quota_of(self.match, self.innings)
        return [PHASES[phase_of(b.legal_balls_before, quota)] for b in self.innings.deliveries]


def sides_of(match: Match, predictor: TrainedPredictor) -> Iterator[Side]:
    """Every innings with a ball bowled, super overs too."""
    for innings in match.innings:
        if innings.deliveries:
            arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
            yield Side(match, innings, predictor, arrays)


def match_row(match: Match, source: str, sha256: str, predictor: TrainedPredictor) -> Columns:
    """The match's row of ``matches``."""
    teams = [*match.teams, None, None]
    return {
        "match_id": [match.match_id],
        "source": [source],
        "sha256": [sha256],
        "date": [match.date],
        "competition": [_competition(match)],
        "season": [match.season],
        "match_type": [match.match_type],
        "gender": [match.gender],
        "team_1": teams[:1],
        "team_2": teams[1:2],
        "venue": [match.venue],
        "city": [match.city],
        "result": [result_sentence(match)],
        "balls": [sum(len(innings.deliveries) for innings in match.innings)],
        "in_training": [in_training(match, predictor) is not None],
    }


def _competition(match: Match) -> str | None:
    name = match.event.get("name")
    return None if name is None else str(name)


def _identity(side: Side) -> Columns:
    count = len(side.arrays)
    return {
        "match_id": Coded.same(side.match.match_id, count),
        "innings": np.full(count, side.innings.number, np.int32),
        "index": side.arrays.index,
    }


def ball_rows(side: Side, told: InningsMeasures) -> Columns:
    """The innings' rows of ``balls``."""
    match, innings, balls = side.match, side.innings, side.innings.deliveries
    count = len(balls)
    chances = told.chances
    logs = np.log2(np.maximum(chances, np.finfo(np.float64).tiny))
    quota, target = quota_of(match, innings), innings.target
    legal = np.array([ball.legal_balls_before for ball in balls])
    score = np.array([ball.score_before for ball in balls])
    faced, made = _so_far(innings)

    def same(value: str | None) -> Coded:
        return Coded.same(value, count)

    return {
        **_identity(side),
        "label": Coded.of([ball.label for ball in balls]),
        "batter": Coded.of([ball.batter.name for ball in balls]),
        "bowler": Coded.of([ball.bowler.name for ball in balls]),
        "actual": Coded(side.arrays.outcome, OUTCOMES),
        **{f"p_{outcome}": chances[:, place] for place, outcome in enumerate(OUTCOMES)},
        "top": Coded(chances.argmax(1), OUTCOMES),
        "surprise_bits": np.where(
            side.arrays.outcome >= 0, -logs[np.arange(count), side.arrays.outcome], np.nan
        ),
        "entropy_bits": -(chances * logs).sum(1),
        "date": [match.date] * count,
        "competition": same(_competition(match)),
        "match_type": same(match.match_type),
        "gender": same(match.gender),
        "venue": same(match.venue),
        "batting_team": same(innings.batting_team),
        "bowling_team": same(innings.bowling_team),
        "super_over": [innings.super_over] * count,
        "in_training": [in_training(match, side.predictor) is not None] * count,
        "phase": Coded.of(side.phases),
        "over": side.arrays.over,
        "legal_balls": legal,
        "balls_left": [None] * count if quota is None else np.maximum(quota - legal, 0),
        "score": score,
        "wickets": [ball.wickets_before for ball in balls],
        "target": [target] * count,
        "runs_required": [None] * count if target is None else np.maximum(target - score, 0),
        "batter_id": Coded.of([ball.batter.id for ball in balls]),
        "non_striker": Coded.of([ball.non_striker.name for ball in balls]),
        "bowler_id": Coded.of([ball.bowler.id for ball in balls]),
        "batter_balls": faced,
        "batter_runs": made,
        "runs": [ball.runs_total for ball in balls],
        "runs_batter": [ball.runs_batter for ball in balls],
        **{f"fusion_{source}": told.gates[:, place] for place, source in enumerate(FUSED)},
        **{f"{scale}_own": rows.own.mean(0) for scale, rows in told.scales.items()},
        **{
            f"{scale}_{relation}": rows.mean[:, place]
            for scale, rows in told.scales.items()
            for place, relation in enumerate(SHARES)
        },
        **{
            f"{scale}_{relation}_uniform": rows.uniform[:, place]
            for scale, rows in told.scales.items()
            for place, relation in enumerate(SHARES)
        },
    }


def _so_far(innings: Innings) -> tuple[list[int], list[int]]:
    """Balls faced and runs made by the striker before each ball, wides not faced."""
    faced: dict[str, int] = defaultdict(int)
    made: dict[str, int] = defaultdict(int)
    balls, runs = [], []
    for ball in innings.deliveries:
        striker = ball.batter.key
        balls.append(faced[striker])
        runs.append(made[striker])
        faced[striker] += "wides" not in ball.extras
        made[striker] += ball.runs_batter
    return balls, runs


def head_rows(side: Side, told: InningsMeasures) -> Columns:
    """The innings' rows of ``heads``: ball by ball, each scale's heads in order."""
    count = len(side.arrays)
    names = [
        (scale, number, earned)
        for scale in SCALES
        for number, earned in enumerate(side.predictor.earned(scale))
    ]
    heads = len(names)

    def over_heads(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """``(ball · head, ...)`` of a figure that each head has."""
        parts = [getattr(told.scales[scale], name) for scale in SCALES]
        whole = np.concatenate(parts).swapaxes(0, 1)
        return np.ascontiguousarray(whole).reshape(count * heads, *whole.shape[2:])

    def each_head(words: Sequence[str]) -> Coded:
        coded = Coded.of(words)
        return Coded(np.tile(coded.codes, count), coded.words)

    shares = over_heads("shares")
    strongest = over_heads("strongest").astype(np.int64)
    is_over = np.tile([scale == "long" for scale, _, _ in names], count)
    some = strongest >= 0
    ball = np.where(some & ~is_over, strongest, -1)
    labels = Coded.of([delivery.label for delivery in side.innings.deliveries])
    over = np.where(is_over, strongest, np.where(ball >= 0, side.arrays.over[ball], -1))
    identity = _identity(side)
    return {
        "match_id": identity["match_id"].repeated(heads),
        "innings": np.repeat(identity["innings"], heads),
        "index": np.repeat(identity["index"], heads),
        "phase": Coded.of(side.phases).repeated(heads),
        "scale": each_head([scale for scale, _, _ in names]),
        "head": each_head([_key(number) for _, number, _ in names]),
        "earned": each_head([earned for _, _, earned in names]),
        **{relation: shares[:, place] for place, relation in enumerate(SHARES)},
        "own": over_heads("own"),
        "entropy": np.where(some, over_heads("entropy"), np.nan),
        "visible": np.stack([told.scales[scale].visible for scale, _, _ in names], axis=1).ravel(),
        "strongest_index": np.ma.masked_array(ball + 1, ball < 0),
        "strongest_label": Coded(np.where(ball >= 0, labels.codes[ball], -1), labels.words),
        "strongest_over": np.ma.masked_array(over, ~some),
        "strongest_weight": np.where(some, over_heads("most"), np.nan),
    }


def _key(number: int) -> str:
    return head_key(number, STARTING_PATTERNS[number] if number < len(STARTING_PATTERNS) else None)
