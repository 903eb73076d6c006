"""What the rows of a corpus are made of: an innings with its measures, balls that are tested."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.corpus.measures import InningsMeasures
from attnlens.cricket.explain.claims import Claim
from attnlens.cricket.explain.evidence import Tested, gather_evidence
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.match.match import Delivery, Innings, Match
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.match.quota import phase_of, quota_of
from attnlens.cricket.model.heads import SCALES, head_key
from attnlens.cricket.model.kinds import in_training
from attnlens.cricket.model.ratings import PHASES
from attnlens.cricket.model.relation_attention import STARTING_PATTERNS
from attnlens.cricket.model.tensors import InningsArrays, encode_innings
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import cut_window, one_thread

Values = NDArray[Any]


@dataclass(frozen=True, eq=False)
class MatchFacts:
    """A match, and the file that told of it.

    Attributes:
        predictor: with the ratings that the match is to be explained with.
    """

    match: Match
    source: str
    sha256: str
    predictor: TrainedPredictor

    @property
    def competition(self) -> str | None:
        name = self.match.event.get("name")
        return None if name is None else str(name)

    @cached_property
    def in_training(self) -> bool:
        return in_training(self.match, self.predictor) is not None

    def team(self, number: int) -> str | None:
        """The first or the second side, as far as the file names them."""
        return (*self.match.teams, None, None)[number]

    def sides(self) -> list[Side]:
        """Every innings with a ball bowled, super overs too."""
        told = self.predictor
        return [
            Side(self, innings, encode_innings(self.match, innings, told.ratings, told.base))
            for innings in self.match.innings
            if innings.deliveries
        ]


@dataclass(eq=False)
class Side:
    """One innings with a ball bowled, as arrays, and with its measures once they are taken."""

    facts: MatchFacts
    innings: Innings
    arrays: InningsArrays
    taken: InningsMeasures | None = None

    @property
    def measures(self) -> InningsMeasures:
        assert self.taken is not None
        return self.taken

    @property
    def match(self) -> Match:
        return self.facts.match

    @property
    def competition(self) -> str | None:
        return self.facts.competition

    @property
    def in_training(self) -> bool:
        return self.facts.in_training

    @property
    def balls(self) -> tuple[Delivery, ...]:
        return self.innings.deliveries

    def same(self, value: object) -> list[Any]:
        """One value on every row."""
        return [value] * len(self.balls)

    @cached_property
    def quota(self) -> int | None:
        return quota_of(self.match, self.innings)

    @cached_property
    def phases(self) -> list[str]:
        """The phase of every ball."""
        return [PHASES[phase_of(ball.legal_balls_before, self.quota)] for ball in self.balls]

    @cached_property
    def legal(self) -> Values:
        """Legal balls before each."""
        return np.array([ball.legal_balls_before for ball in self.balls])

    @cached_property
    def score(self) -> Values:
        """Runs before each ball."""
        return np.array([ball.score_before for ball in self.balls])

    def short_of(self, whole: int | None, had: Values) -> Values | list[None]:
        """What is left of a whole, where there is one."""
        return self.same(None) if whole is None else np.maximum(whole - had, 0)

    def outcomes(self, numbers: Values) -> Values:
        """Outcomes by their numbers; -1 is none."""
        return np.array([*OUTCOMES, None], object)[numbers]

    @cached_property
    def bits(self) -> Values:
        """Logarithms of the chances, to base 2, ``(ball, 11)``."""
        return np.log2(np.maximum(self.measures.chances, np.finfo(np.float64).tiny))

    @property
    def surprise(self) -> Values:
        """Bits of what happened; NaN where nothing did."""
        happened = self.arrays.outcome
        return np.where(happened >= 0, -self.bits[np.arange(len(happened)), happened], np.nan)

    @cached_property
    def faced_and_made(self) -> tuple[list[int], list[int]]:
        """Balls faced and runs made by the striker before each ball, wides not faced."""
        faced: dict[str, int] = defaultdict(int)
        made: dict[str, int] = defaultdict(int)
        balls, runs = [], []
        for ball in self.balls:
            striker = ball.batter.key
            balls.append(faced[striker])
            runs.append(made[striker])
            faced[striker] += "wides" not in ball.extras
            made[striker] += ball.runs_batter
        return balls, runs


class HeadRows:
    """An innings ball by ball, each scale's heads in order; ``rows`` are balls times heads."""

    def __init__(self, side: Side) -> None:
        self.side = side
        predictor = side.facts.predictor
        names = [
            (scale, number, earned)
            for scale in SCALES
            for number, earned in enumerate(predictor.earned(scale))
        ]
        self.scales = [scale for scale, _, _ in names]
        self.keys = [_key(number) for _, number, _ in names]
        self.earned = [earned for _, _, earned in names]
        self.strongest = self.of("strongest").astype(np.int64)
        self.some = self.strongest >= 0
        is_over = self.each_head(self.scales) == "long"
        self.ball = np.where(self.some & ~is_over, self.strongest, -1)
        over = np.where(self.ball >= 0, side.arrays.over[self.ball], self.strongest)
        self.strongest_over = np.ma.masked_array(over, ~self.some)

    def each_ball(self, values: Values | Sequence[Any]) -> Values:
        """A value of every ball on the rows of all its heads."""
        return np.repeat(np.asarray(values), len(self.scales))

    def each_head(self, values: Sequence[str]) -> Values:
        """A value of every head on its rows."""
        return np.tile(np.array(values, object), len(self.side.balls))

    def of(self, name: str) -> Values:
        """A figure that each head has, ``(rows, ...)``."""
        parts = [getattr(self.side.measures.scales[scale], name) for scale in SCALES]
        by_ball = np.concatenate(parts, axis=1)
        return by_ball.reshape(-1, *by_ball.shape[2:])

    @property
    def visible(self) -> Values:
        """Past balls, or earlier overs, that the head could see."""
        return np.stack([self.side.measures.scales[s].visible for s in self.scales], 1).ravel()

    @property
    def strongest_index(self) -> Values:
        """The index of the past ball with the most weight, where it is a ball's."""
        return np.ma.masked_array(self.ball + 1, self.ball < 0)

    @property
    def strongest_labels(self) -> Values:
        """That ball's label."""
        return np.array([*(ball.label for ball in self.side.balls), None], object)[self.ball]


def _key(number: int) -> str:
    return head_key(number, STARTING_PATTERNS[number] if number < len(STARTING_PATTERNS) else None)


@dataclass(frozen=True, slots=True, eq=False)
class ClaimRow:
    """A claim about a sampled ball, and what became of it."""

    side: Side
    index: int
    number: int
    tested: Tested

    @property
    def claim(self) -> Claim:
        return self.tested.claim

    @property
    def moved(self) -> int:
        """The number of the outcome that hiding its balls moved most."""
        return int(np.abs(self.tested.points).argmax())


@dataclass(frozen=True, slots=True, eq=False)
class PastRow:
    """A ball before a sampled one: its attention over all paths, and what hiding it alone does."""

    side: Side
    index: int
    past: Delivery
    attention: float
    effect: float


def sampled(sides: Sequence[Side], count: int, seed: int) -> Iterator[tuple[Side, int]]:
    """Some balls of a match's ordinary innings with a ball before them, each at most once.

    Args:
        sides: of one match.
        seed: of the corpus; the match's id makes it the match's own.

    Yields:
        innings and index, in order.
    """
    pool = [
        (side, index)
        for side in sides
        if not side.innings.super_over
        for index in range(2, len(side.arrays) + 1)
    ]
    if pool and count:
        generator = np.random.default_rng([seed, zlib.crc32(sides[0].match.match_id.encode())])
        for place in sorted(generator.permutation(len(pool))[:count].tolist()):
            yield pool[place]


@one_thread()
def tested_rows(side: Side, index: int) -> tuple[list[ClaimRow], list[PastRow]]:
    """A ball's claims, tested, and each of its past balls."""
    predictor = side.facts.predictor
    window = cut_window(side.match, side.innings, side.arrays, index)
    reading = read_ball(predictor, window)
    evidence = gather_evidence(predictor, window, reading.scales)
    claims = [ClaimRow(side, index, *pair) for pair in enumerate(evidence.tested)]
    past = [
        PastRow(side, index, ball, float(reading.total[place]), evidence.effects[ball.index])
        for place, ball in enumerate(side.balls[: index - 1])
    ]
    return claims, past
