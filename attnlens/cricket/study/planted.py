"""Are planted balls pointed at, and how often is a claim called supported that should not be?

Matches played by the rules of `attnlens.cricket.simulator.rules` have a known answer: which
past balls a ball depends on, and by how much. A model trained on them is asked the same, by
every method there is. One question comes before: has the model learnt the rules at all?

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np
import torch

from attnlens.analysis.faithfulness import auc, removed_alone
from attnlens.analysis.scores import divergence
from attnlens.arrays import Flags, Floats
from attnlens.claims.verdicts import EVEN, draw, pool_for
from attnlens.cricket.explain.ablation import OneBall, Replacement, under_masks
from attnlens.cricket.explain.claims import claims_of
from attnlens.cricket.explain.evidence import gather_evidence
from attnlens.cricket.explain.heatmap import RELATION_HEADS, ScaleAttention
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.model.batch import window_batch
from attnlens.cricket.model.heads import RECENT, PastBall, head_key
from attnlens.cricket.model.predictor import FullModel
from attnlens.cricket.model.ratings import Ratings
from attnlens.cricket.model.relation_attention import RelationAttention
from attnlens.cricket.model.relations import Batch
from attnlens.cricket.model.tensors import BaseModel, encode_innings
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import BallWindow, cut_window, one_thread
from attnlens.cricket.simulator.rules import RuledBall
from attnlens.cricket.simulator.simulate import Simulated
from attnlens.cricket.study.faithfulness import METHODS, attributions
from attnlens.cricket.study.figures import Interval, Mean
from attnlens.cricket.study.held_out import EncodedInnings, sides
from attnlens.cricket.study.sampling import log_chances, sample

Report = Callable[[str], None]

HIDING: Final = "hiding"
REPLACING: Final = "replacing"
RANDOM: Final = "random"
POINTERS: Final[tuple[str, ...]] = (
    "attention",
    HIDING,
    REPLACING,
    *(name for name in METHODS if name not in ("attention", "recency", "uniform")),
    "recency",
    "uniform",
    RANDOM,
)
"""Every method that is asked, in the order of a table; the last three are controls."""

DRAWS: Final = 6
"""How often each past ball is replaced by another; the effect is the mean."""

OWN: Final = "own"
RANDOM_SETS: Final = "random_sets"
UNIFORM: Final = "uniform_attention"
RANDOM_UNIFORM: Final = "random_sets_uniform_attention"
SOURCES: Final[tuple[str, ...]] = (OWN, RANDOM_SETS, UNIFORM, RANDOM_UNIFORM)

SUPPORTED: Final = "supported"
MOST: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class RuledInnings(EncodedInnings):
    """An innings played by rules, and the truth about each of its balls."""

    ruled: tuple[RuledBall, ...] = ()


def ruled_innings(made: Sequence[Simulated], base: BaseModel) -> list[RuledInnings]:
    """The innings of matches played by rules; super overs are left out.

    Players, grounds and days are alike in them, so there is nothing to rate.
    """
    nothing = Ratings()
    return [
        RuledInnings(
            one.match,
            side,
            encode_innings(one.match, side, nothing, base),
            ruled=tuple(ball for ball in one.ruled if ball.innings == side.number),
        )
        for one in made
        for side in sides(one.match)
    ]


def ruled_sample(innings: Sequence[RuledInnings], balls: int, seed: int) -> list[tuple[int, int]]:
    """As `sample`, of balls with one planted among those before them."""
    return sample(innings, balls, seed, lambda one, at: bool(one.ruled[at].planted))


@dataclass(frozen=True, slots=True)
class Learnt:
    """How near the model is to the process that drew the balls.

    Every loss is *expected*: over what could have happened, not over what did, which is known
    here. The truth's is its own entropy, the least there can be.

    Attributes:
        expected_log_loss: of ``truth``, ``model``, ``no_past`` (the model without any past ball)
            and ``scoreboard`` (what the scoreboard alone expects).
        share_learnt: of what past balls tell.
    """

    balls: int
    expected_log_loss: dict[str, Mean]
    share_learnt: float


def learnt(predictor: TrainedPredictor, innings: Sequence[RuledInnings], seed: int) -> Learnt:
    """Compare the model with the truth on every ball."""
    losses: dict[str, list[Floats]] = {"truth": [], "model": [], "no_past": [], "scoreboard": []}
    matches: list[str] = []
    for one in innings:
        truth = np.array([ball.probabilities() for ball in one.ruled])
        logs = {
            "truth": np.log(truth),
            "model": log_chances(predictor.model, one.arrays),
            "no_past": log_chances(predictor.model, one.arrays, past=False),
            "scoreboard": one.arrays.base.astype(np.float64),
        }
        for name, values in logs.items():
            losses[name].append(-(truth * values).sum(-1))
        matches += [one.match_id] * len(truth)
    each = {name: np.concatenate(parts) for name, parts in losses.items()}
    whole = each["no_past"] - each["truth"]
    return Learnt(
        len(matches),
        {name: Mean.of(values, matches, seed) for name, values in each.items()},
        float(1 - (each["model"] - each["truth"]).mean() / whole.mean()),
    )


def point(
    predictor: TrainedPredictor, one: RuledInnings, position: int, generator: np.random.Generator
) -> dict[str, dict[str, float]]:
    """How well each method tells the planted balls of one ball's past from the others.

    Returns:
        by method and column the area under the ROC curve. Columns: ``all`` (every earlier
        ball), ``last36`` (the last 35), and for each rule the balls it counts against those
        that no rule counts (its name), and against those of them with the same event, such
        as other dots (its name and ``_decoys``).
    """
    model, batch = predictor.model, window_batch(one.arrays, position)
    alone = removed_alone(lambda masks: under_masks(model, batch, masks), position)
    seed = int(generator.integers(2**31))
    scores = {
        **attributions(model, batch),
        HIDING: alone.effects,
        REPLACING: replaced_alone(model, batch, position, seed),
        RANDOM: generator.random(position),
    }
    kinds = _kinds(one, position)
    return {method: _areas(scores[method], kinds) for method in POINTERS}


def replaced_alone(model: FullModel, batch: Batch, past: int, seed: int) -> Floats:
    """What replacing each past ball by another costs, mean over `DRAWS`, nats ``(past,)``."""
    one = OneBall(model, batch)
    sets = [(index,) for index in range(1, past + 1) for _ in range(DRAWS)]
    replaced = Replacement(one, seed).everywhere(sets)
    full = one.logits.double().softmax(-1).numpy()
    effects: Floats = divergence(full, replaced).reshape(past, DRAWS).mean(1)
    return effects


def _kinds(one: RuledInnings, position: int) -> dict[str, tuple[Flags, Flags]]:
    """By column, which past balls take part and which of them are planted, ``(past,)`` each."""
    truth = one.ruled[position]
    planted = np.zeros(position, bool)
    planted[[ball - 1 for ball in truth.planted]] = True
    late = np.arange(position) >= position - RECENT
    kinds = {"all": (np.ones(position, bool), planted), "last36": (late, planted)}
    for rule in truth.rules:
        hits = np.zeros(position, bool)
        hits[[ball - 1 for ball in truth.balls.get(rule.name, ())]] = True
        alike = np.array([rule.event(ball) for ball in one.side.deliveries[:position]])
        kinds[rule.name] = (hits | ~planted, hits)
        kinds[f"{rule.name}_decoys"] = (hits | (~planted & alike), hits)
    return kinds


def _areas(scores: Floats, kinds: Mapping[str, tuple[Flags, Flags]]) -> dict[str, float]:
    """The area by column, where some balls are planted and some are not."""
    areas = {column: auc(scores[rows], hits[rows]) for column, (rows, hits) in kinds.items()}
    return {column: area for column, area in areas.items() if area is not None}


@dataclass(frozen=True, slots=True)
class Pointing:
    """How well every method points at planted balls; ``methods`` by method and column."""

    balls: int
    matches: int
    seed: int
    methods: dict[str, dict[str, Mean]]


@one_thread()
def pointing(
    predictor: TrainedPredictor,
    innings: Sequence[RuledInnings],
    *,
    balls: int,
    seed: int,
    report: Report = lambda _: None,
) -> Pointing:
    """Ask about a sample of balls, and put the answers together."""
    areas: list[dict[str, dict[str, float]]] = []
    matches: list[str] = []
    for number, (place, position) in enumerate(ruled_sample(innings, balls, seed)):
        if number % 10 == 0:
            report(f"planted balls: {number + 1}")
        one, generator = innings[place], np.random.default_rng([seed, number])
        areas.append(point(predictor, one, position, generator))
        matches.append(one.match_id)
    names = [rule.name for rule in innings[0].ruled[0].rules]
    columns = ["all", "last36", *(f"{name}{kind}" for name in names for kind in ("", "_decoys"))]

    def mean(method: str, column: str) -> Mean:
        """Of the balls that have the column."""
        told = {at: ball[method][column] for at, ball in enumerate(areas) if column in ball[method]}
        return Mean.of(list(told.values()), [matches[at] for at in told], seed)

    return Pointing(
        balls=len(areas),
        matches=len(set(matches)),
        seed=seed,
        methods={
            method: {column: mean(method, column) for column in columns} for method in POINTERS
        },
    )


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
