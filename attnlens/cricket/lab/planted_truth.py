"""Measure how well the methods find the planted balls, and how often false claims are supported.

A model is trained on simulated matches that follow the rules of `attnlens.cricket.lab.league`. A
past ball that a rule counts is called a planted ball. The planted balls and their effects are
known.

The tests of claims are checked with placebos. A placebo is a list of past balls about which no
claim should be supported. Placebos are tested like the lists of balls in an explanation. A head's
list has the balls to which the head attends most. The placebos are:

- random: as many random balls of the window as a head's list has.
- same distances: each ball of a head's list is replaced by a ball at a similar distance.
- same bowler, same batter: past balls of the current bowler, or of the current batter.
- same outcomes: each ball of a head's list is replaced by a ball with the same outcome.
- another ball: balls at the distances in the heads' lists for another ball.
- shuffled heads: the lists of heads whose query and key matrices were shuffled.
- shuffled heads, matched: the lists of shuffled heads with a built-in player bias.
- shuffled heads, most: the ball with the most attention from all shuffled heads together.

An *oracle* list has the balls with the largest effects, relative to the usual effects. Oracle lists
show how often the test supports a true claim.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import torch

from attnlens.cricket.explain.ablation import ExpectedOutcomes
from attnlens.cricket.explain.claims import BY_STRUCTURE, BallClaim, gather_evidence, trial_of
from attnlens.cricket.explain.reading import (
    ALL,
    MAX_LISTED_BALLS,
    RELATION_HEADS,
    Reading,
    ScaleAttention,
    ranked,
    read_ball,
    subject_of,
)
from attnlens.cricket.lab.attention_faithfulness import (
    METHODS,
    RANDOM,
    STRUCTURE,
    attributions,
    fitted_structure,
    remove_past,
)
from attnlens.cricket.lab.figures import Mean
from attnlens.cricket.lab.fit import (
    Hyperparameters,
    cricket_sizes,
    fit,
    fit_base,
    store_hiding_effects,
)
from attnlens.cricket.lab.held_out import EncodedInnings, sides
from attnlens.cricket.lab.league import RULES, RuledBall
from attnlens.cricket.lab.sampling import log_probabilities, sample
from attnlens.cricket.lab.simulator import Simulated, simulate
from attnlens.cricket.lab.training_loop import TrainingLoop
from attnlens.cricket.match.match import OUTCOME_INDEX
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.relations import Batch, RelationAttention
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.tensors import BaseModel, encode_innings
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow, cut_window, one_thread, window_batch
from attnlens.cricket.readers import Report, silent
from attnlens.evidence.claim import MODEL
from attnlens.evidence.faithfulness import auc, matched_auc
from attnlens.evidence.scores import Interval, divergence
from attnlens.evidence.trial import Trial
from attnlens.files import Flags, Floats, Json
from attnlens.render.page import render_plain

POINTERS: Final[tuple[str, ...]] = (
    *("attention", "hiding", "replacing"),
    *(name for name in METHODS if name not in ("attention", STRUCTURE, "recency", "uniform")),
    *(STRUCTURE, "recency", "uniform", RANDOM),
)
"""The names of all methods, in the order of the table's rows. The last four methods are
controls."""

_MAX_FALSE_ALARMS: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class RuledInnings(EncodedInnings):
    """An innings that follows planted rules, with the true effect of the rules on each ball."""

    ruled: tuple[RuledBall, ...] = ()


def ruled_innings(simulated: Sequence[Simulated], base: BaseModel) -> list[RuledInnings]:
    """Return the innings, except super overs, of matches that follow planted rules.

    All players, grounds and days are alike in these matches, so the ratings are empty.
    """
    ratings = Ratings()
    return [
        RuledInnings(
            played.match,
            side,
            encode_innings(played.match, side, ratings, base),
            ruled=tuple(ball for ball in played.ruled if ball.innings == side.number),
        )
        for played in simulated
        for side in sides(played.match)
    ]


def ruled_sample(innings: Sequence[RuledInnings], balls: int, seed: int) -> list[tuple[int, int]]:
    """Return a `sample` of the balls that truly depend on at least one past ball."""
    return sample(innings, balls, seed, lambda ruled, at: bool(ruled.ruled[at].planted))


def compare_with_truth(
    predictor: TrainedPredictor, innings: Sequence[RuledInnings], seed: int
) -> Json:
    """Compare the model with the process that generated the balls.

    Every loss is the expected log-loss under the true probabilities:

    - ``truth``: the entropy of the true process, which is the lowest possible loss.
    - ``model``: the loss of the model.
    - ``no_past``: the loss of the model with all past balls hidden.
    - ``scoreboard``: the loss of forecasts from the scoreboard alone.

    ``share_learnt`` is ``no_past`` minus ``model``, divided by ``no_past`` minus ``truth``.
    """
    losses: dict[str, list[Floats]] = {"truth": [], "model": [], "no_past": [], "scoreboard": []}
    matches: list[str] = []
    for encoded in innings:
        truth = np.array([ball.probabilities() for ball in encoded.ruled])
        logs = {
            "truth": np.log(truth),
            "model": log_probabilities(predictor.model, encoded.arrays),
            "no_past": log_probabilities(predictor.model, encoded.arrays, past=False),
            "scoreboard": encoded.arrays.base.astype(np.float64),
        }
        for name, values in logs.items():
            losses[name].append(-(truth * values).sum(-1))
        matches += [encoded.match_id] * len(truth)
    columns = {name: np.concatenate(parts) for name, parts in losses.items()}
    worth_of_past = (columns["no_past"] - columns["truth"]).mean()
    return {
        "balls": len(matches),
        "expected_log_loss": {
            name: Mean.of(values, matches, seed) for name, values in columns.items()
        },
        "share_learnt": float(1 - (columns["model"] - columns["truth"]).mean() / worth_of_past),
    }


def point(
    predictor: TrainedPredictor,
    innings: RuledInnings,
    position: int,
    generator: np.random.Generator,
    more: Mapping[str, Floats],
) -> dict[str, dict[str, float]]:
    """Measure, for one ball, how well each method separates planted balls from other past balls.

    Args:
        more: the scores of each fitted method and of ``hiding``, with shape ``(past,)``.

    Returns:
        The area under the ROC curve for each method and column. The column ``all`` covers all past
        balls, and ``last36`` covers the last 35 past balls. ``same_distance`` compares balls at
        similar distances (`matched_auc`). The column with a rule's name compares the rule's planted
        balls with balls that are not planted. With the suffix ``_decoys``, these other balls also
        have the rule's event, such as a dot.
    """
    model, batch = predictor.model, window_batch(innings.arrays, position)
    scores = {
        **attributions(model, batch),
        **more,
        "replacing": replacement_effects(model, batch, position),
        RANDOM: generator.random(position),
    }
    columns = _columns(innings, position)
    areas: dict[str, dict[str, float]] = {}
    for method in filter(scores.__contains__, POINTERS):
        score = scores[method]
        method_areas = {
            name: auc(score[rows], hits[rows]) for name, (rows, hits) in columns.items()
        }
        method_areas["same_distance"] = matched_auc(score, columns["all"][1])
        # The area is undefined if all compared balls are planted, or none of them is.
        areas[method] = {name: area for name, area in method_areas.items() if area is not None}
    return areas


def replacement_effects(model: FullModel, batch: Batch, past: int) -> Floats:
    """Return the effects, in nats, of replacing past outcomes, with shape ``(past,)``.

    For one past ball at a time, the outcome is replaced by the outcome probabilities that were
    expected before that ball (`ExpectedOutcomes`).
    """
    masks = np.concatenate([np.ones((1, past), bool), ~np.eye(past, dtype=bool)])
    full, *replaced = ExpectedOutcomes(model, batch).under_masks(masks)
    effects: Floats = divergence(full, np.array(replaced))
    return effects


def _columns(innings: RuledInnings, position: int) -> dict[str, tuple[Flags, Flags]]:
    """For each column of `point`, return masks of the compared balls and of the balls to find."""
    truth = innings.ruled[position]
    indices = np.arange(1, position + 1)
    planted = np.isin(indices, list(truth.planted))
    columns = {
        "all": (np.ones(position, bool), planted),
        "last36": (indices > position - RECENT, planted),
    }
    for rule in truth.rules:
        hits = np.isin(indices, truth.balls.get(rule.name, ()))
        same_event = np.array([rule.event(ball) for ball in innings.side.deliveries[:position]])
        columns[rule.name] = (hits | ~planted, hits)
        columns[f"{rule.name}_decoys"] = (hits | (~planted & same_event), hits)
    return columns


@one_thread()
def pointing(
    predictor: TrainedPredictor,
    innings: Sequence[RuledInnings],
    *,
    balls: int,
    seed: int,
    report: Report = silent,
) -> Json:
    """Apply `point` to a sample of balls. Return the mean AUC for each method and column."""
    areas: list[dict[str, dict[str, float]]] = []
    chosen = ruled_sample(innings, balls, seed)
    matches = [innings[row].match_id for row, _ in chosen]
    removals = [remove_past(predictor.model, innings[row], at) for row, at in chosen]
    structures, _ = fitted_structure(innings, chosen, removals, seed)
    for number, (row, position) in enumerate(chosen):
        if number % 10 == 0:
            report(f"planted balls: {number + 1}")
        generator = np.random.default_rng([seed, number])
        more = {name: scores[number] for name, scores in structures.items()}
        more["hiding"] = removals[number].effects
        areas.append(point(predictor, innings[row], position, generator, more))
    names = [rule.name for rule in innings[0].ruled[0].rules]
    rules = [f"{name}{suffix}" for name in names for suffix in ("", "_decoys")]

    def mean(method: str, column: str) -> Mean:
        rows = [row for row, ball in enumerate(areas) if column in ball[method]]
        values = [areas[row][method][column] for row in rows]
        return Mean.of(values, [matches[row] for row in rows], seed)

    return {
        "balls": len(areas),
        "matches": len(set(matches)),
        "seed": seed,
        "methods": {
            method: {
                column: mean(method, column)
                for column in ("all", "last36", "same_distance", *rules)
            }
            for method in areas[0]
        },
    }


@dataclass(frozen=True, slots=True)
class FirstClaim:
    """The first claim about a ball, which says that the most attended past ball matters.

    Attributes:
        planted: whether the most attended past ball is planted.
        effect: the divergence, in nats, between the predictions with and without the past ball.
        claimed: whether the past ball moves the explained outcome in the claimed direction.
    """

    match_id: str
    planted: bool
    effect: float
    claimed: bool
    verdict: str | None


@one_thread()
def lists_and_first_claims(
    predictor: TrainedPredictor,
    innings: Sequence[RuledInnings],
    *,
    balls: int,
    seed: int,
    outcome: str | None = ALL,
    report: Report = silent,
) -> tuple[list[TestedList], list[FirstClaim]]:
    """For each ball of a sample, test the lists of `SOURCES` and the first claim.

    Args:
        outcome: as in `gather_evidence`. With ``None``, each ball has its own explained outcome.
    """
    shuffled = replace(predictor, model=with_shuffled_heads(predictor, seed))
    lists: list[TestedList] = []
    firsts: list[FirstClaim] = []
    chosen = ruled_sample(innings, balls, seed)
    another = None
    for number, (row, position) in enumerate(chosen):
        if number % 10 == 0:
            report(f"verdicts: ball {number + 1} of {len(chosen)}")
        encoded = innings[row]
        window = cut_window(encoded.match, encoded.side, encoded.arrays, position + 1)
        generator = np.random.default_rng([seed, number])
        planted = encoded.ruled[position].planted
        lists += [
            replace(tested_list, planted=bool(planted & set(tested_list.removed)))
            for tested_list in tested_lists(
                predictor, window, shuffled, another, generator, outcome=outcome
            )
        ]
        another = window
        reading = read_ball(predictor, window)
        subject, lowers = subject_of(window, reading.probabilities, outcome)
        evidence = gather_evidence(predictor, window, reading, outcome=outcome)
        for tested in evidence.tests:
            if tested.claim.first:
                hit = bool(planted & set(tested.claim.removed))
                effect = float(divergence(evidence.leave_one_out.full, tested.probabilities))
                raised = subject is None or tested.points[OUTCOME_INDEX[subject]] < 0
                claimed = bool(raised != lowers)
                firsts.append(FirstClaim(encoded.match_id, hit, effect, claimed, tested.verdict))
    return lists, firsts


_LARGE_NATS: Final = 0.005
"""The smallest effect, in nats, at which a true claim should be supported."""


def verdict_shares(lists: Sequence[TestedList], firsts: Sequence[FirstClaim], seed: int) -> Json:
    """Return how often placebos and true claims are supported.

    ``most`` is the limit for the share of false claims that are supported. ``sources`` has the
    shares for each source of lists. Placebos that contain a planted ball are left out. ``uniform``
    compares the p-values of all random lists with a uniform distribution. ``first`` has the shares
    for claims about the most attended ball, separately for planted and other balls.
    """
    judged = [tested for tested in lists if tested.source not in PLACEBOS or not tested.planted]
    large = [first for first in firsts if first.planted and first.effect >= _LARGE_NATS]
    first_claims = {
        f"planted, at least {_LARGE_NATS} nats": large,
        "of them, moves what is asked": [first for first in large if first.claimed],
        "not planted": [first for first in firsts if not first.planted],
    }
    return {
        "most": _MAX_FALSE_ALARMS,
        "sources": source_shares(judged, seed),
        "uniform": evenness([tested.p for tested in lists if tested.source == RANDOM]),
        "first": {
            words: share_of(claims, "supported", seed) for words, claims in first_claims.items()
        },
    }


@dataclass(frozen=True, slots=True)
class PlantedPlan:
    """The sizes of the simulation, the training and the evaluation.

    Attributes:
        matches: the number of simulated matches for training.
        checks: the number of simulated matches for choosing the best epoch.
        tests: the number of simulated matches for the evaluation.
        strength: the factor by which the strengths of `RULES` are multiplied.
        balls: the number of balls on which every method is evaluated.
        claims: the number of balls whose claims get verdicts.
        seed: the seed of the first match; each later match has the next seed.
    """

    matches: int = 300
    checks: int = 30
    tests: int = 60
    strength: float = 1.0
    hidden_dim: int = 36
    epochs: int = 8
    innings: int = 8
    learning_rate: float = 3e-3
    balls: int = 200
    claims: int = 50
    seed: int = 5


_HIDDEN_BALLS: Final = 200

FULL: Final = PlantedPlan()
QUICK: Final = PlantedPlan(
    matches=12, checks=2, tests=4, hidden_dim=12, epochs=2, balls=6, claims=2
)
"""A plan for a quick test, too small for meaningful figures."""


def planted(plan: PlantedPlan, *, report: Report = silent) -> Json:
    """Simulate, train and evaluate. Return the JSON result of ``attnlens lab planted``."""
    report("simulating")
    rules = tuple(replace(rule, strength=plan.strength * rule.strength) for rule in RULES)
    matches = plan.matches + plan.checks + plan.tests
    simulated = [simulate(plan.seed + number, rules=rules) for number in range(matches)]
    predictor = train_planted(plan, simulated[: -plan.tests], report)
    innings = ruled_innings(simulated[-plan.tests :], predictor.base)
    balls = [ball for encoded in innings for ball in encoded.ruled]
    report("comparing with the truth")
    seed = plan.seed
    return {
        "plan": asdict(plan),
        "model": {"epochs": predictor.card["epochs"]},
        "rules": [
            {
                "name": rule.name,
                "text": rule.text,
                "moves": list(rule.moves),
                "strength": rule.strength,
                "balls": sum(rule.name in ball.balls for ball in balls) / len(balls),
            }
            for rule in rules
        ],
        "learnt": compare_with_truth(predictor, innings, seed),
        "pointing": pointing(predictor, innings, balls=plan.balls, seed=seed, report=report),
        "verdicts": verdict_shares(
            *lists_and_first_claims(
                predictor, innings, balls=plan.claims, seed=seed, report=report
            ),
            seed,
        ),
    }


def train_planted(
    plan: PlantedPlan, simulated: list[Simulated], report: Report
) -> TrainedPredictor:
    """Train a predictor on the training matches of the plan.

    The best epoch is chosen on ``plan.checks`` other matches.
    """
    report("fitting the predictions from the scoreboard alone")
    base = fit_base([played.match for played in simulated[: plan.matches]], seed=plan.seed)
    train = ruled_innings(simulated[: plan.matches], base)
    checks = ruled_innings(simulated[plan.matches :], base)
    fitted = fit(
        cricket_sizes(plan.hidden_dim),
        base.everything,
        [encoded.arrays for encoded in train],
        [encoded.arrays for encoded in checks],
        Hyperparameters(
            epochs=plan.epochs,
            innings=plan.innings,
            learning_rate=plan.learning_rate,
            patience=plan.epochs,
            average=0.98,
            warm_up=50,
            seed=plan.seed,
        ),
        loop=TrainingLoop(report=report),
    )
    store_hiding_effects(fitted.model, checks, balls=_HIDDEN_BALLS, seed=plan.seed)
    card = {"epochs": fitted.history, "matches": plan.matches}
    return TrainedPredictor("planted", "", fitted.model, base, Ratings(), card)


_LOSSES: Final[dict[str, str]] = {
    "truth": "the process itself (its entropy)",
    "model": "the trained model",
    "no_past": "the same model, every past ball hidden",
    "scoreboard": "a network that sees the scoreboard only",
}


def render_planted(data: Mapping[str, Any]) -> str:
    """Return the result of `planted` as Markdown."""
    rules = [name for rule in data["rules"] for name in (rule["name"], f"{rule['name']}_decoys")]
    return render_plain(
        "cricket/planted.md",
        d=data,
        methods={name: name.replace("_", " ") for name in data["pointing"]["methods"]}
        | {"hiding": "effect of hiding the ball", "replacing": "effect of replacing the ball"},
        losses=_LOSSES,
        rules=rules,
        rule_names=[name.replace("_decoys", ", decoys").replace("_", " ") for name in rules],
        judged=_judged,
    )


def _judged(claims: int, ci: tuple[float, float] | None, limit: float) -> str:
    if not claims or ci is None:
        return "no claim"
    low, high = ci
    return "reached" if high <= limit else "missed" if low > limit else "unclear, too few claims"


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
    """A list of past balls about which a claim was tested.

    Attributes:
        ball: the match, innings and position of the ball to which the claim refers.
        source: the source of the list, one of `SOURCES`.
        removed: the positions of the past balls in the list.
        p: the p-value of the claim, without a correction for other claims.
        verdict: the verdict, after a correction for all claims of the ball from the same source.
        planted: whether the list contains a planted ball, and thus is not a placebo.
    """

    match_id: str
    ball: str
    source: str
    removed: tuple[int, ...]
    p: float
    verdict: str | None
    planted: bool = False


def with_shuffled_heads(predictor: TrainedPredictor, seed: int) -> FullModel:
    """Return a copy of the model with shuffled query and key matrices, and unchanged biases."""
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
    """Return, for each head, the list of the balls to which the head attends most.

    The scale ``long`` is left out, because the keys of this scale are overs. If ``matched`` is
    true, only heads with a built-in bias to a player are included.
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


def placebos(
    window: BallWindow,
    reading: Reading,
    shuffled: Reading,
    back: Lists,
    generator: np.random.Generator,
) -> dict[str, Lists]:
    """Return the placebo lists of one ball. The keys are the names in `PLACEBOS`.

    Args:
        reading: the predictor's `Reading` of this ball.
        shuffled: the `Reading` of this ball with the model from `with_shuffled_heads`.
        back: the heads' lists for another ball, as distances from that ball.
    """
    recent = window.past[-RECENT:]
    inside = np.array([ball.index for ball in recent])
    own = lists_of(reading.scales)

    def same_kind(indices: Sequence[int], kind_of: Mapping[int, object]) -> tuple[int, ...]:
        """Replace each ball by an unlisted ball of the same kind, if there is one."""
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
    from_here = [tuple(current - distance for distance in balls) for balls in back]
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
    """Test every list of one ball. Lists from the same source share a multiple-testing correction.

    Args:
        shuffled: the predictor with the model from `with_shuffled_heads`.
        another: the window for the placebo ``another ball``, or ``None`` to leave this placebo out.
        outcome: as in `gather_evidence`.
    """
    reading = read_ball(predictor, window)
    trial = trial_of(predictor, window, reading, outcome=outcome)
    back: Lists = []
    if another:
        same_lists = lists_of(read_ball(predictor, another).scales)
        back = [tuple(another.delivery.index - index for index in balls) for balls in same_lists]
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


def _oracle(trial: Trial[BallClaim], inside: tuple[int, ...]) -> tuple[int, ...]:
    claim = BallClaim(text="", kind="attended", removed=(), window=inside, beyond=BY_STRUCTURE)
    effects = trial.item_statistics(MODEL, claim)
    return tuple(sorted(inside, key=lambda index: -effects[index])[:MAX_LISTED_BALLS])


class Share(NamedTuple):
    """The number of claims, and the share that meets a condition, with a 95% interval."""

    claims: int
    share: float | None
    ci: Interval | None

    @classmethod
    def of(cls, matches: Sequence[str], hits: Sequence[bool], seed: int) -> Share:
        """Return the share of true values in ``hits``, and the share's 95% interval.

        The interval comes from resampled matches. A share of 0 or 1 has the one-sided 97.5%
        interval of a proportion instead, with one trial per match.
        """
        figure = Mean.of([float(hit) for hit in hits], matches, seed)
        ci = figure.ci
        if hits and sum(hits) in (0, len(hits)):
            beyond = 1 - 0.025 ** (1 / len(set(matches)))
            ci = (0.0, beyond) if not any(hits) else (1 - beyond, 1.0)
        return cls(len(hits), figure.mean, ci)


def share_of(claims: Sequence[TestedList | FirstClaim], verdict: str, seed: int) -> Share:
    """Return the share of the claims that have the given verdict."""
    matches = [claim.match_id for claim in claims]
    return Share.of(matches, [claim.verdict == verdict for claim in claims], seed)


def source_shares(lists: Sequence[TestedList], seed: int) -> dict[str, dict[str, Share]]:
    """Return four shares for each of `SOURCES`.

    ``supported`` and ``contradicted`` are the shares of claims with these verdicts.
    ``any_of_a_ball`` is the share of balls with at least one supported claim. ``surely`` is the
    share of claims whose uncorrected p-value is at most `_SURELY`.
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
    """Test p-values for uniformity. Return the Kolmogorov–Smirnov statistic and the p-value."""
    ordered = np.sort(p_values)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    distance = float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))
    terms = np.arange(1, 101)
    series = (-1.0) ** (terms - 1) * np.exp(-2 * terms**2 * len(ordered) * distance**2)
    return {"distance": distance, "p": float(min(1.0, 2 * series.sum()))}
