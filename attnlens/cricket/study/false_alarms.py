"""How often is a claim called supported that should not be?

Four kinds of claims go through the whole procedure of `attnlens.cricket.explain.evidence`:

- own: what the model's heads say. In matches played by rules it is known which of their balls
  truly matter.
- random sets: each head's list replaced by one set drawn as the head's controls are drawn, so
  that nothing sets it apart from them. On the long scale, where a list is an over, it is one
  over of those it sees, drawn at random.
- uniform attention: what the heads of the same model say once every query, key and built-in
  bias is zero, so that all of a head's weights are equal and its list is the sorting's.
- random sets, uniform attention: random sets put to that model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np
import torch

from attnlens.claims.controls import draw, pool_for
from attnlens.claims.verdicts import EVEN
from attnlens.cricket.explain.claims import claims_of
from attnlens.cricket.explain.evidence import gather_evidence
from attnlens.cricket.explain.heatmap import RELATION_HEADS, ScaleAttention
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.model.heads import PastBall, head_key
from attnlens.cricket.model.relation_attention import RelationAttention
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import BallWindow, cut_window, one_thread
from attnlens.cricket.study.figures import Interval, Mean
from attnlens.cricket.study.planted import RuledInnings, ruled_sample

Report = Callable[[str], None]

OWN: Final = "own"
RANDOM_SETS: Final = "random_sets"
UNIFORM: Final = "uniform_attention"
RANDOM_UNIFORM: Final = "random_sets_uniform_attention"
SOURCES: Final[tuple[str, ...]] = (OWN, RANDOM_SETS, UNIFORM, RANDOM_UNIFORM)

SUPPORTED: Final = "supported"
MOST: Final = 0.05


@dataclass(frozen=True, slots=True)
class Sentence:
    """One head's claim and its verdict.

    Attributes:
        source: of `SOURCES`.
        planted: whether one of its balls is truly a cause.
        even: whether it was not put to the test, since the head looks at its list hardly more
            than at other balls.
        verdict: ``None`` there, and where there was too little to compare with.
    """

    match_id: str
    source: str
    planted: bool
    even: bool
    verdict: str | None


def frozen_uniform(predictor: TrainedPredictor) -> TrainedPredictor:
    """The same predictor with even attention everywhere: queries, keys and biases are zero."""
    model = copy.deepcopy(predictor.model)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, RelationAttention):
                for name, parameter in module.named_parameters():
                    if not name.startswith(("to_value", "to_output")):
                        parameter.zero_()
    return replace(predictor, name=f"{predictor.name}, uniform", model=model.eval())


def random_focus(
    window: BallWindow, scales: dict[str, ScaleAttention], generator: np.random.Generator
) -> dict[str, ScaleAttention]:
    """Attention with each head's list replaced by a random set like its controls."""
    current = window.delivery.index
    drawn: dict[tuple[str, str], tuple[int, ...]] = {}
    for claim in claims_of(window, scales):
        if claim.scale is None or claim.head is None:
            continue
        distances = {index: current - index for index in claim.window} if claim.matched else None
        pool = pool_for(claim.removed, claim.window, distances)
        drawn[claim.scale, claim.head] = draw(pool, generator, 1)[0]
    found = {}
    for scale, attention in scales.items():
        overs = sorted({ball.over for ball in attention.balls})
        sets = []
        for number, pattern in enumerate(attention.patterns):
            one = drawn.get((scale, head_key(number, pattern)), ())
            if scale == "long" and overs:
                over = overs[generator.integers(len(overs))]
                one = tuple(ball.index for ball in attention.balls if ball.over == over)
            sets.append(one)
        found[scale] = replace(
            attention,
            balls=[_told_as(ball, attention.patterns, sets) for ball in attention.balls],
            rows=[
                [float(ball.index in one) / max(len(one), 1) for ball in attention.balls]
                for one in sets
            ],
        )
    return found


def _told_as(
    ball: PastBall, patterns: Sequence[str | None], sets: Sequence[tuple[int, ...]]
) -> PastBall:
    """The ball as the drawn sets need it: related where its head's set has it, else not."""
    relations = set(ball.relations)
    for pattern, one in zip(patterns, sets, strict=True):
        if pattern in RELATION_HEADS:
            relations.discard(pattern)
            if ball.index in one:
                relations.add(pattern)
    return replace(ball, relations=frozenset(relations))


@one_thread()
def all_sentences(
    predictor: TrainedPredictor,
    innings: Sequence[RuledInnings],
    *,
    balls: int,
    seed: int,
    report: Report = lambda _: None,
) -> list[Sentence]:
    """Every head's claim on a sample of balls, from each of `SOURCES`."""
    uniform = frozen_uniform(predictor)
    found: list[Sentence] = []
    chosen = ruled_sample(innings, balls, seed)
    for number, (place, position) in enumerate(chosen):
        report(f"verdicts: ball {number + 1} of {len(chosen)}")
        one = innings[place]
        planted = one.ruled[position].planted
        window = cut_window(one.match, one.side, one.arrays, position + 1)
        scales = read_ball(predictor, window).scales
        generator = np.random.default_rng([seed, number])
        spread = read_ball(uniform, window).scales
        looks = {
            OWN: (predictor, scales),
            RANDOM_SETS: (predictor, random_focus(window, scales, generator)),
            UNIFORM: (uniform, spread),
            RANDOM_UNIFORM: (uniform, random_focus(window, spread, generator)),
        }
        found += [
            Sentence(
                one.match_id,
                source,
                planted=bool(planted & set(tested.claim.removed)),
                even=tested.judged.reason == EVEN,
                verdict=tested.judged.verdict,
            )
            for source, (model, seen) in looks.items()
            for tested in gather_evidence(model, window, seen).tested
            if tested.claim.scale is not None
        ]
    return found


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some claims are supported; claims about even attention count as claims."""

    claims: int
    even: int
    supported: int
    share: float | None
    ci: Interval | None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How often claims are supported, by source and by what is known of them.

    Attributes:
        most: the largest share of false alarms that the verdict promises.
    """

    most: float
    sources: dict[str, dict[str, Share]]

    MERGED: ClassVar[tuple[str, ...]] = ("sources",)


def verdict_shares(claims: Sequence[Sentence], seed: int) -> Verdicts:
    """Of all sentences that were told or were not worth a test."""
    judged = [one for one in claims if one.even or one.verdict is not None]

    def share(source: str, planted: bool | None = None) -> Share:
        of_source = [one for one in judged if one.source == source]
        return supported_share([one for one in of_source if planted in (None, one.planted)], seed)

    own = {"planted": share(OWN, True), "none_planted": share(OWN, False)}
    return Verdicts(MOST, {OWN: own} | {source: {"all": share(source)} for source in SOURCES[1:]})


def supported_share(claims: Sequence[Sentence], seed: int) -> Share:
    """The share of claims that are supported, with a 95% interval over matches.

    Where none is (or all are) a resample has nothing to vary, and the interval is that of as
    many independent trials as there are matches, one-sided at 97.5%.
    """
    hits = [float(one.verdict == SUPPORTED) for one in claims]
    matches = [one.match_id for one in claims]
    figure = Mean.of(hits, matches, seed)
    count, ci = int(sum(hits)), figure.ci
    if hits and count in (0, len(hits)):
        beyond = 1 - 0.025 ** (1 / len(set(matches)))
        ci = (0.0, beyond) if not count else (1 - beyond, 1.0)
    return Share(len(hits), sum(one.even for one in claims), count, figure.mean, ci)
