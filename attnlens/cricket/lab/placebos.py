"""Placebos: lists of balls that no claim should be supported of, put to the test of explanations.

- random: as many balls of the window.
- same distances: each ball of a head's list replaced by one as far back.
- same bowler, same batter: balls of the player of the current ball.
- same outcomes: each replaced by one on which the same happened.
- another ball: what the heads looked at from another ball, as far back from this one.
- shuffled heads: what the heads look at whose queries and keys are shuffled; *matched* the heads
  that have a built-in lean to a player; *most* the one ball that all of them attend to most.

And power: *oracle* lists hold the balls that do most beside what is usual in their places.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

import numpy as np
import torch

from attnlens.cricket.explain.claims import BY_STRUCTURE, BallClaim, trial_of
from attnlens.cricket.explain.reading import (
    MAX_LISTED_BALLS,
    RELATION_HEADS,
    Reading,
    ScaleAttention,
    ranked,
    read_ball,
)
from attnlens.cricket.lab.figures import Interval, Mean
from attnlens.cricket.lab.sampling import scrambled
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.relations import RelationAttention
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow
from attnlens.evidence.claim import MODEL
from attnlens.evidence.trial import Trial

Lists = list[tuple[int, ...]]

_SHUFFLED_TOP: Final = "shuffled heads, most"
_OWN: Final = "own"
_ORACLE: Final = "oracle"
PLACEBOS: Final[tuple[str, ...]] = (
    "random",
    "same distances",
    "same bowler",
    "same batter",
    "same outcomes",
    "another ball",
    "shuffled heads",
    "shuffled heads, matched",
    _SHUFFLED_TOP,
)
_SURELY: Final = 0.005

SOURCES: Final[tuple[str, ...]] = (*PLACEBOS, _OWN, _ORACLE)


@dataclass(frozen=True, slots=True)
class TestedList:
    """A list of balls, ``removed``, and what came of it.

    Attributes:
        ball: whose past it is of.
        source: of `SOURCES`.
        p, verdict: by itself, against chance; as one of its kind's claims about the ball.
        planted: whether it holds a ball that is known to matter, and so is no placebo.
    """

    match_id: str
    ball: str
    source: str
    removed: tuple[int, ...]
    p: float
    verdict: str | None
    planted: bool = False


def with_shuffled_heads(predictor: TrainedPredictor, seed: int) -> FullModel:
    """The model with the queries and keys of its scales' heads shuffled; biases stay."""
    model = copy.deepcopy(predictor.model)
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for module in model.temporal.modules():
            if isinstance(module, RelationAttention):
                for layer in (module.to_query, module.to_key):
                    order = torch.from_numpy(generator.permutation(layer.weight.numel()))
                    layer.weight.copy_(layer.weight.flatten()[order].view_as(layer.weight))
    return model


def lists_of(scales: Mapping[str, ScaleAttention], *, matched: bool = False) -> Lists:
    """What each head of the scales whose keys are balls looks at most.

    Where ``matched``, only of heads with a built-in lean to a player.
    """
    lists = []
    for scale, attention in scales.items():
        for number, pattern in enumerate(attention.patterns):
            if scale == "long" or (matched and pattern not in RELATION_HEADS):
                continue
            recent = attention.balls[-RECENT:]
            order = ranked(recent, attention.rows[number][-RECENT:])[:MAX_LISTED_BALLS]
            if len(recent) > MAX_LISTED_BALLS and order:
                lists.append(tuple(recent[index].index for index in order))
    return lists


def balls_back(window: BallWindow, reading: Reading) -> Lists:
    """How many balls back the balls are that each head looks at most."""
    return [
        tuple(window.delivery.index - index for index in balls)
        for balls in lists_of(reading.scales)
    ]


def placebos(
    window: BallWindow,
    reading: Reading,
    shuffled: Reading,
    another: Lists,
    generator: np.random.Generator,
) -> dict[str, Lists]:
    """The lists of each of `PLACEBOS`.

    ``shuffled`` is of the model `with_shuffled_heads`, ``another`` another ball's `balls_back`.
    """
    recent = window.past[-RECENT:]
    inside = np.array([ball.index for ball in recent])
    own = lists_of(reading.scales)
    from_here = [tuple(window.delivery.index - back for back in balls) for balls in another]

    def same_kind(indices: Sequence[int], kind_of: Mapping[int, object]) -> tuple[int, ...]:
        """Each ball replaced by another of its kind that is in no list, where there is one."""
        chosen: list[int] = []
        for index in indices:
            pool = [
                candidate
                for candidate, kind in kind_of.items()
                if kind == kind_of[index] and candidate not in (*chosen, *indices)
            ]
            chosen.append(int(generator.choice(pool)) if pool else index)
        return tuple(chosen)

    def of_player(relation: str) -> Lists:
        balls = np.array([ball.index for ball in recent if relation in ball.relations])
        picked = generator.permutation(balls)[:MAX_LISTED_BALLS]
        return [tuple(picked.tolist())] if len(balls) > MAX_LISTED_BALLS else []

    current = window.delivery.index
    distances = {int(index): int(np.log2(current - index) * 2) for index in inside}
    outcomes = {ball.index: ball.outcome for ball in recent}
    return {
        "random": [tuple(generator.permutation(inside)[: len(balls)].tolist()) for balls in own],
        "same distances": [same_kind(balls, distances) for balls in own],
        "same bowler": of_player("same_bowler"),
        "same batter": of_player("same_batsman"),
        "same outcomes": [same_kind(balls, outcomes) for balls in own],
        "another ball": [balls for balls in from_here if set(balls) <= set(inside.tolist())],
        "shuffled heads": lists_of(shuffled.scales),
        "shuffled heads, matched": lists_of(shuffled.scales, matched=True),
        _SHUFFLED_TOP: [(int(inside[shuffled.total[-RECENT:].argmax()]),)],
    }


def tested_lists(
    predictor: TrainedPredictor,
    window: BallWindow,
    shuffled: TrainedPredictor,
    another: BallWindow | None,
    generator: np.random.Generator,
    *,
    outcome: str | None,
) -> Iterator[TestedList]:
    """Every list of one ball, put to the test: each source's lists are a family of claims.

    ``shuffled`` is the predictor `with_shuffled_heads`, ``another`` another ball, ``outcome`` as
    for `gather_evidence`.
    """
    reading = read_ball(predictor, window)
    trial = trial_of(predictor, window, reading, outcome=outcome)
    back = balls_back(another, read_ball(predictor, another)) if another else []
    lists = placebos(window, reading, read_ball(shuffled, window), back, generator)
    inside = tuple(ball.index for ball in window.past[-RECENT:])
    lists |= {_OWN: lists_of(reading.scales), _ORACLE: [_oracle(trial, inside)]}
    ball = f"{window.match.match_id}/{window.innings.number}/{window.delivery.index}"
    for source, source_lists in lists.items():
        claims = [
            BallClaim(
                text=source,
                kind="attended",
                removed=balls,
                window=inside,
                beyond=BY_STRUCTURE,
                first=source == _SHUFFLED_TOP,
            )
            for balls in dict.fromkeys(tuple(sorted(balls)) for balls in source_lists)
        ]
        for tested in trial.judge(trial.compare(claims)):
            if tested.p is not None:
                balls = tested.claim.removed
                yield TestedList(
                    window.match.match_id, ball, source, balls, tested.p, tested.verdict
                )


def with_shuffled_outcomes(window: BallWindow, generator: np.random.Generator) -> BallWindow:
    """The same ball after the same balls, what happened on them in another order."""
    order = generator.permutation(len(window.past))
    past = tuple(
        ball._replace(
            outcome=window.past[source].outcome,
            runs=window.past[source].runs,
            runs_batter=window.past[source].runs_batter,
            boundary=window.past[source].boundary,
        )
        for ball, source in zip(window.past, order.tolist(), strict=True)
    )
    batch = scrambled(window.arrays, [len(window.past)], [order[None]])
    return replace(window, batch=batch, past=past)


def _oracle(trial: Trial[BallClaim], inside: tuple[int, ...]) -> tuple[int, ...]:
    """The balls of the window that do most beside what is usual in their places."""
    claim = BallClaim(text="", kind="attended", removed=(), window=inside, beyond=BY_STRUCTURE)
    effects = trial.item_statistics(MODEL, claim)
    return tuple(sorted(inside, key=lambda index: -effects[index])[:MAX_LISTED_BALLS])


class Share(NamedTuple):
    """How many of some claims, and the share with a 95% interval over matches."""

    claims: int
    share: float | None
    ci: Interval | None

    @classmethod
    def of(cls, matches: Sequence[str], hits: Sequence[bool], seed: int) -> Share:
        """With its interval over matches.

        Where none is (or all are) a resample has nothing to vary, and the interval is that of as
        many independent trials as there are matches, one-sided at 97.5%.
        """
        figure = Mean.of([float(hit) for hit in hits], matches, seed)
        ci = figure.ci
        if hits and sum(hits) in (0, len(hits)):
            beyond = 1 - 0.025 ** (1 / len(set(matches)))
            ci = (0.0, beyond) if not any(hits) else (1 - beyond, 1.0)
        return cls(len(hits), figure.mean, ci)


class JudgedClaim(Protocol):
    """A claim of a match, and its verdict."""

    @property
    def match_id(self) -> str: ...

    @property
    def verdict(self) -> str | None: ...


def share_of(claims: Sequence[JudgedClaim], verdict: str, seed: int) -> Share:
    """The share of claims with a verdict."""
    matches = [claim.match_id for claim in claims]
    return Share.of(matches, [claim.verdict == verdict for claim in claims], seed)


def source_shares(lists: Sequence[TestedList], seed: int) -> dict[str, dict[str, Share]]:
    """What came of each source's lists, in the order of `SOURCES`.

    ``any_of_a_ball``: of the balls, those of whose lists some are supported; ``surely``: of the
    lists, those whose p is at most `_SURELY` by itself.
    """
    shares = {}
    for source in SOURCES:
        own = [tested for tested in lists if tested.source == source]
        balls: dict[tuple[str, str], bool] = defaultdict(bool)
        for tested in own:
            balls[tested.match_id, tested.ball] |= tested.verdict == "supported"
        matches = [tested.match_id for tested in own]
        shares[source] = {
            "supported": share_of(own, "supported", seed),
            "any_of_a_ball": Share.of([match for match, _ in balls], [*balls.values()], seed),
            "contradicted": share_of(own, "contradicted", seed),
            "surely": Share.of(matches, [tested.p <= _SURELY for tested in own], seed),
        }
    return shares


def evenness(p_values: Sequence[float]) -> dict[str, float]:
    """Kolmogorov's test of p-values against even ones: the distance, and its asymptotic p."""
    ordered = np.sort(p_values)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    distance = float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))
    terms = np.arange(1, 101)
    series = (-1.0) ** (terms - 1) * np.exp(-2 * terms**2 * len(ordered) * distance**2)
    return {"distance": distance, "p": float(min(1.0, 2 * series.sum()))}
