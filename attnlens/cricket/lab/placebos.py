"""Lists of balls that nobody should be able to say anything of, put to the test of explanations.

A verdict promises to be false at most so often. So lists are made that chance, or a head that has
learnt nothing, would name, and tested as a claim about the whole model is:

- random: as many balls of the window.
- same distances: each ball of a head's list replaced by one as far back.
- same bowler, same batter: balls of the player of the current ball.
- same outcomes: each replaced by one on which the same happened.
- shuffled heads: what the heads look at whose queries and keys are shuffled; *matched* the heads
  that have a built-in lean to a player; *most* the one ball that all of them attend to most.

All are tested as the claim about the balls attended most is, the last as that about the one ball.
Sets that a person would name (this over's balls, a bowler's) choose nothing, so they have no
placebo: their p says how seldom as many other balls do as much.

And power: *oracle* lists hold the balls that do most beside what is usual in their places.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import torch

from attnlens.arrays import Integers
from attnlens.cricket.explain.claims import Claim, trial_of
from attnlens.cricket.explain.reading import (
    LISTED,
    RELATION_HEADS,
    Reading,
    ScaleAttention,
    ranked,
    read_ball,
)
from attnlens.cricket.lab.figures import Interval, Mean
from attnlens.cricket.predictor.heads import RECENT
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.relations import RelationAttention
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow
from attnlens.evidence.claim import MODEL
from attnlens.evidence.trial import Trial

Lists = list[tuple[int, ...]]

MOST: Final = "shuffled heads, most"
_OWN: Final = "own"
_ORACLE: Final = "oracle"
PLACEBOS: Final[tuple[str, ...]] = (
    "random",
    "same distances",
    "same bowler",
    "same batter",
    "same outcomes",
    "shuffled heads",
    "shuffled heads, matched",
    MOST,
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


def lists_of(scales: Mapping[str, ScaleAttention], *, matched: bool | None = None) -> Lists:
    """What each head of the scales whose keys are balls looks at most.

    Where ``matched`` is given, only of heads with a built-in lean to a player, or only of the
    others.
    """
    found = []
    for scale, attention in scales.items():
        for number, pattern in enumerate(attention.patterns):
            if scale == "long" or matched not in (None, pattern in RELATION_HEADS):
                continue
            order = ranked(attention.balls, attention.rows[number])[:LISTED]
            if len(attention.balls) > LISTED and order:
                found.append(tuple(attention.balls[index].index for index in order))
    return found


def placebos(
    window: BallWindow,
    reading: Reading,
    shuffled: Reading,
    generator: np.random.Generator,
) -> dict[str, Lists]:
    """The lists of each of `PLACEBOS`; ``shuffled`` is of the model `with_shuffled_heads`."""
    recent = window.past[-RECENT:]
    inside = np.array([ball.index for ball in recent])
    own = lists_of(reading.scales)
    outcome_of = {ball.index: ball.outcome for ball in recent}

    def like(one: Sequence[int], kinds: Mapping[int, object]) -> tuple[int, ...]:
        """Each ball replaced by another of its kind that is not yet named, where there is one."""
        named: list[int] = []
        for index in one:
            others = [at for at in kinds if kinds[at] == kinds[index] and at not in (*named, *one)]
            named.append(int(generator.choice(others)) if others else index)
        return tuple(named)

    def some(balls: Integers) -> Lists:
        picked = generator.permutation(balls)[:LISTED]
        return [tuple(picked.tolist())] if len(balls) > LISTED else []

    now = window.delivery.index
    bands = {int(index): int(np.log2(now - index) * 2) for index in inside}
    of_player = {
        relation: np.array([ball.index for ball in recent if relation in ball.relations])
        for relation in ("same_bowler", "same_batsman")
    }
    return {
        "random": [tuple(generator.permutation(inside)[: len(one)].tolist()) for one in own],
        "same distances": [like(one, bands) for one in own],
        "same bowler": some(of_player["same_bowler"]),
        "same batter": some(of_player["same_batsman"]),
        "same outcomes": [like(one, outcome_of) for one in own],
        "shuffled heads": lists_of(shuffled.scales),
        "shuffled heads, matched": lists_of(shuffled.scales, matched=True),
        MOST: [(int(inside[shuffled.total[-RECENT:].argmax()]),)],
    }


def tested_lists(
    predictor: TrainedPredictor,
    window: BallWindow,
    shuffled: TrainedPredictor,
    generator: np.random.Generator,
    *,
    outcome: str | None,
) -> Iterator[TestedList]:
    """Every list of one ball, put to the test: each source's lists are a family of claims.

    ``shuffled`` is the predictor `with_shuffled_heads`, ``outcome`` as for `gather_evidence`.
    """
    reading = read_ball(predictor, window)
    trial = trial_of(predictor, window, reading, outcome=outcome)
    lists = placebos(window, reading, read_ball(shuffled, window), generator)
    lists |= {_OWN: lists_of(reading.scales), _ORACLE: [oracle(trial, window)]}
    inside = tuple(ball.index for ball in window.past[-RECENT:])
    for source, some in lists.items():
        claims = [
            Claim(
                text=source,
                kind="attended",
                removed=fromkey,
                window=inside,
                matched=source != MOST,
                first=source == MOST,
            )
            for fromkey in dict.fromkeys(tuple(sorted(fromkey)) for fromkey in some)
        ]
        for tested in trial.verdicts(trial.compare(claims)):
            if tested.p is not None:
                yield TestedList(
                    window.match.match_id,
                    f"{window.match.match_id}/{window.innings.number}/{window.delivery.index}",
                    source,
                    tested.claim.removed,
                    tested.p,
                    tested.verdict,
                )


def oracle(trial: Trial[Claim], window: BallWindow) -> tuple[int, ...]:
    """The balls of the window that do most beside what is usual in their places."""
    inside = tuple(ball.index for ball in window.past[-RECENT:])
    moves = trial.item_statistics(MODEL, Claim(text="", kind="attended", removed=(), window=inside))
    return tuple(sorted(inside, key=lambda index: -moves[index])[:LISTED])


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some claims, and the share with a 95% interval over matches."""

    claims: int
    share: float | None
    ci: Interval | None


@dataclass(frozen=True, slots=True)
class SourceShares:
    """What came of a source's lists.

    Attributes:
        any_of_a_ball: of the balls, those of whose lists some are supported.
        surely: p at most `_SURELY` by itself.
    """

    supported: Share
    any_of_a_ball: Share
    contradicted: Share
    surely: Share


class Told(Protocol):
    """A claim of a match, and its verdict."""

    @property
    def match_id(self) -> str: ...

    @property
    def verdict(self) -> str | None: ...


def share_of(claims: Sequence[Told], verdict: str, seed: int) -> Share:
    """The share of claims with a verdict."""
    return _share(
        [claim.match_id for claim in claims], [claim.verdict == verdict for claim in claims], seed
    )


def _share(matches: Sequence[str], hits: Sequence[bool], seed: int) -> Share:
    """With its interval over matches.

    Where none is (or all are) a resample has nothing to vary, and the interval is that of as
    many independent trials as there are matches, one-sided at 97.5%.
    """
    figure = Mean.of([float(hit) for hit in hits], list(matches), seed)
    ci = figure.ci
    if hits and sum(hits) in (0, len(hits)):
        beyond = 1 - 0.025 ** (1 / len(set(matches)))
        ci = (0.0, beyond) if not any(hits) else (1 - beyond, 1.0)
    return Share(len(hits), figure.mean, ci)


def source_shares(lists: Sequence[TestedList], seed: int) -> dict[str, SourceShares]:
    """By source, in the order of `SOURCES`."""
    found = {}
    for source in SOURCES:
        some = [one for one in lists if one.source == source]
        matches, surely = [one.match_id for one in some], [one.p <= _SURELY for one in some]
        balls: dict[tuple[str, str], bool] = defaultdict(bool)
        for one in some:
            balls[one.match_id, one.ball] |= one.verdict == "supported"
        found[source] = SourceShares(
            share_of(some, "supported", seed),
            _share([match for match, _ in balls], list(balls.values()), seed),
            share_of(some, "contradicted", seed),
            _share(matches, surely, seed),
        )
    return found


def evenness(p_values: Sequence[float]) -> dict[str, float]:
    """How far p-values lie from even ones: the distance, and how likely one as large is by chance.

    Reference:
        Kolmogorov 1933; the series that the distribution goes to for many values.
    """
    ranked = np.sort(p_values)
    steps = np.arange(len(ranked) + 1) / len(ranked)
    distance = float(max((steps[1:] - ranked).max(), (ranked - steps[:-1]).max()))
    terms = np.arange(1, 101)
    series = (-1.0) ** (terms - 1) * np.exp(-2 * terms**2 * len(ranked) * distance**2)
    return {"distance": distance, "p": float(min(1.0, 2 * series.sum()))}
