"""Are planted balls pointed at, and how often is a claim called supported that should not be?

Matches played by the rules of `attnlens.cricket.lab.planted_rules` have a known answer: which
past balls a ball depends on, and by how much. A model trained on them is asked the same, by
every method there is. One question comes before: has the model learnt the rules at all?

And lists of balls that nothing is true of are put to the test of explanations
(`attnlens.cricket.lab.placebos`), beside claims of which it is known whether they are true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from attnlens.arrays import Flags, Floats
from attnlens.cricket.explain.ablation import OneBall, Replacement, under_masks
from attnlens.cricket.explain.claims import gather_evidence
from attnlens.cricket.explain.reading import ALL, asked, read_ball
from attnlens.cricket.lab.attention_faithfulness import METHODS, attributions
from attnlens.cricket.lab.figures import Mean
from attnlens.cricket.lab.fit import Hyperparameters, cricket_sizes, fit, fit_base
from attnlens.cricket.lab.held_out import EncodedInnings, sides
from attnlens.cricket.lab.placebos import (
    PLACEBOS,
    Share,
    SourceShares,
    TestedList,
    evenness,
    share_of,
    source_shares,
    tested_lists,
    with_shuffled_heads,
)
from attnlens.cricket.lab.planted_rules import RuledBall, rules_times
from attnlens.cricket.lab.post_training import store_hiding_effects
from attnlens.cricket.lab.sampling import log_chances, sample
from attnlens.cricket.lab.simulator import Simulated, simulate
from attnlens.cricket.lab.training_loop import Epoch, TrainingLoop
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.predictor.heads import RECENT
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.relations import Batch
from attnlens.cricket.predictor.tensors import BaseModel, encode_innings
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import cut_window, one_thread, window_batch
from attnlens.cricket.readers.history import Report, silent
from attnlens.evidence.faithfulness import auc, matched_auc, removed_alone
from attnlens.evidence.scores import divergence
from attnlens.render.page import render_plain

_HIDING: Final = "hiding"
_REPLACING: Final = "replacing"
_RANDOM: Final = "random"
_SAME_DISTANCE: Final = "same_distance"
_POINTERS: Final[tuple[str, ...]] = (
    "attention",
    _HIDING,
    _REPLACING,
    *(name for name in METHODS if name not in ("attention", "recency", "uniform")),
    "recency",
    "uniform",
    _RANDOM,
)
"""Every method that is asked, in the order of a table; the last three are controls."""

_DRAWS: Final = 6
"""How often each past ball is replaced by another; the effect is the mean."""

_SUPPORTED: Final = "supported"
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
class DistanceToTruth:
    """How near the model is to the process that drew the balls.

    Every loss is *expected*: over what could have happened, not over what did, which is known here.
    The truth's is its own entropy, the least there can be. Beside it stand those of the ``model``,
    of the model with ``no_past``, and of the ``scoreboard`` alone. ``share_learnt`` is of what past
    balls tell.
    """

    balls: int
    expected_log_loss: dict[str, Mean]
    share_learnt: float


def learnt(
    predictor: TrainedPredictor, innings: Sequence[RuledInnings], seed: int
) -> DistanceToTruth:
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
    return DistanceToTruth(
        len(matches),
        {name: Mean.of(values, matches, seed) for name, values in each.items()},
        float(1 - (each["model"] - each["truth"]).mean() / whole.mean()),
    )


def point(
    predictor: TrainedPredictor,
    innings: RuledInnings,
    position: int,
    generator: np.random.Generator,
) -> dict[str, dict[str, float]]:
    """How well each method tells the planted balls of one ball's past from the others.

    Returns:
        by method and column the area under the ROC curve. Columns: ``all`` (every earlier
        ball), ``last36`` (the last 35), ``same_distance`` (`matched_auc`: recency gets 0.5),
        and for each rule the balls it counts against those that no rule counts (its name), and
        against those of them with the same event, such as other dots (its name and ``_decoys``).
    """
    model, batch = predictor.model, window_batch(innings.arrays, position)
    alone = removed_alone(lambda masks: under_masks(model, batch, masks), position)
    seed = int(generator.integers(2**31))
    scores = {
        **attributions(model, batch),
        _HIDING: alone.effects,
        _REPLACING: replaced_alone(model, batch, position, seed),
        _RANDOM: generator.random(position),
    }
    kinds = _kinds(innings, position)
    areas: dict[str, dict[str, float]] = {}
    for method in _POINTERS:
        score = scores[method]
        found = {column: auc(score[rows], hits[rows]) for column, (rows, hits) in kinds.items()}
        found[_SAME_DISTANCE] = matched_auc(score, kinds["all"][1])
        # Where all balls are planted, or none is, there is no area.
        areas[method] = {column: area for column, area in found.items() if area is not None}
    return areas


def replaced_alone(model: FullModel, batch: Batch, past: int, seed: int) -> Floats:
    """What replacing each past ball by another costs, mean over `_DRAWS`, nats ``(past,)``."""
    one = OneBall(model, batch)
    sets = [(index,) for index in range(1, past + 1) for _ in range(_DRAWS)]
    full = one.logits.double().softmax(-1).numpy()
    replaced = Replacement(one, seed).everywhere(sets)
    effects: Floats = divergence(full, replaced).reshape(past, _DRAWS).mean(1)
    return effects


def _kinds(innings: RuledInnings, position: int) -> dict[str, tuple[Flags, Flags]]:
    """By column, which past balls take part and which of them are planted, ``(past,)`` each."""
    truth = innings.ruled[position]
    planted = np.zeros(position, bool)
    planted[[ball - 1 for ball in truth.planted]] = True
    late = np.arange(position) >= position - RECENT
    kinds = {"all": (np.ones(position, bool), planted), "last36": (late, planted)}
    for rule in truth.rules:
        hits = np.zeros(position, bool)
        hits[[ball - 1 for ball in truth.balls.get(rule.name, ())]] = True
        alike = np.array([rule.event(ball) for ball in innings.side.deliveries[:position]])
        kinds[rule.name] = (hits | ~planted, hits)
        kinds[f"{rule.name}_decoys"] = (hits | (~planted & alike), hits)
    return kinds


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
    report: Report = silent,
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
    rules = [f"{name}{kind}" for name in names for kind in ("", "_decoys")]
    columns = ["all", "last36", _SAME_DISTANCE, *rules]

    def mean(method: str, column: str) -> Mean:
        """Of the balls that have the column."""
        told = {at: ball[method][column] for at, ball in enumerate(areas) if column in ball[method]}
        return Mean.of(list(told.values()), [matches[at] for at in told], seed)

    return Pointing(
        balls=len(areas),
        matches=len(set(matches)),
        seed=seed,
        methods={
            method: {column: mean(method, column) for column in columns} for method in _POINTERS
        },
    )


@dataclass(frozen=True, slots=True)
class FirstClaim:
    """The claim that is tested first, of the ball attended most: is it true, is it told?

    ``effect`` is of hiding the ball on the whole distribution, nats; ``claimed``: whether the ball
    moves what is asked about, and the way that is asked.
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
    """Placebos on a sample of balls, and the claim of each that is tested first.

    ``outcome`` is as for `gather_evidence`; ``None``: each ball's story.
    """
    shuffled = replace(predictor, model=with_shuffled_heads(predictor, seed))
    lists: list[TestedList] = []
    firsts: list[FirstClaim] = []
    chosen = ruled_sample(innings, balls, seed)
    for number, (place, position) in enumerate(chosen):
        if number % 10 == 0:
            report(f"verdicts: ball {number + 1} of {len(chosen)}")
        one = innings[place]
        window = cut_window(one.match, one.side, one.arrays, position + 1)
        generator = np.random.default_rng([seed, number])
        planted = one.ruled[position].planted
        lists += [
            replace(tested_list, planted=bool(planted & set(tested_list.removed)))
            for tested_list in tested_lists(predictor, window, shuffled, generator, outcome=outcome)
        ]
        reading = read_ball(predictor, window)
        about, lowers = asked(window, reading.probabilities, outcome)
        evidence = gather_evidence(predictor, window, reading, outcome=outcome)
        for tested in evidence.tests:
            if tested.claim.first:
                hit = bool(planted & set(tested.claim.removed))
                effect = float(divergence(evidence.leave_one_out.full, tested.probabilities))
                raised = about is None or tested.points[OUTCOME_INDEX[about]] < 0
                claimed = bool(raised != lowers)
                firsts.append(FirstClaim(one.match_id, hit, effect, claimed, tested.verdict))
    return lists, firsts


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How often lists that nothing is true of are told as true, and true ones are.

    Attributes:
        most: the largest share of false alarms that a verdict promises.
        uniform: as `evenness`, of the p of random lists.
        first: of claims about the ball attended most, by what is true of that ball.
    """

    most: float
    sources: dict[str, SourceShares]
    uniform: dict[str, float]
    first: dict[str, Share]


_LARGE: Final = 0.005
"""Nats: a planted ball that does so much should be found."""


def verdict_shares(
    lists: Sequence[TestedList], firsts: Sequence[FirstClaim], seed: int
) -> Verdicts:
    """Of all lists of each source, and of the claims tested first.

    Lists that hold a planted ball are no placebos, and are left out; but for p of random lists,
    which is even over all of them.
    """
    judged = [one for one in lists if one.source not in PLACEBOS or not one.planted]
    large = [first for first in firsts if first.planted and first.effect >= _LARGE]
    so_moved = [one for one in large if one.claimed]
    none = [first for first in firsts if not first.planted]
    return Verdicts(
        MOST,
        source_shares(judged, seed),
        evenness([one.p for one in lists if one.source == _RANDOM]),
        {
            f"planted, at least {_LARGE} nats": share_of(large, _SUPPORTED, seed),
            "of them, moves what is asked": share_of(so_moved, _SUPPORTED, seed),
            "not planted": share_of(none, _SUPPORTED, seed),
        },
    )


@dataclass(frozen=True, slots=True)
class PlantedPlan:
    """What to simulate, train and ask.

    The seeds of matches to train on, to choose the epoch by (``checks``) and to ask about
    (``tests``) follow one another from ``seed``; ``strength`` is how many times as strong the rules
    are as `RULES`. Every method is asked about ``balls``; verdicts, the slow part, are passed on
    ``claims`` of them.
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


_HIDDEN: Final = 200
"""Balls of the checks to find out on what hiding a ball does usually."""

FULL: Final = PlantedPlan()
QUICK: Final = PlantedPlan(
    matches=12, checks=2, tests=4, hidden_dim=12, epochs=2, balls=6, claims=2
)
"""Large enough to run every part, too small to find anything."""


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """One of the rules; ``balls`` is the share of balls that it counts for."""

    name: str
    text: str
    moves: list[str]
    strength: float
    balls: float


@dataclass(frozen=True, slots=True)
class PlantedDocument:
    """The document of ``attnlens lab planted``; ``model`` is how the tested model was trained."""

    plan: PlantedPlan
    model: dict[str, list[Epoch]]
    rules: list[RuleSummary]
    learnt: DistanceToTruth
    pointing: Pointing
    verdicts: Verdicts


def planted(plan: PlantedPlan, *, report: Report = silent) -> PlantedDocument:
    """Simulate, train, ask."""
    report("simulating")
    rules = rules_times(plan.strength)
    count = plan.matches + plan.checks + plan.tests
    made = [simulate(plan.seed + number, rules=rules) for number in range(count)]
    predictor = train_planted(plan, made[: -plan.tests], report)
    innings = ruled_innings(made[-plan.tests :], predictor.base)
    balls = [ball for one in innings for ball in one.ruled]
    report("comparing with the truth")
    return PlantedDocument(
        plan,
        {"epochs": predictor.card["epochs"]},
        [
            RuleSummary(
                rule.name,
                rule.text,
                list(rule.moves),
                rule.strength,
                sum(rule.name in ball.balls for ball in balls) / len(balls),
            )
            for rule in rules
        ],
        learnt(predictor, innings, plan.seed),
        pointing(predictor, innings, balls=plan.balls, seed=plan.seed, report=report),
        verdict_shares(
            *lists_and_first_claims(
                predictor, innings, balls=plan.claims, seed=plan.seed, report=report
            ),
            plan.seed,
        ),
    )


def train_planted(plan: PlantedPlan, made: list[Simulated], report: Report) -> TrainedPredictor:
    """The predictor of the plan, from its matches to train on and to choose the epoch by."""
    report("fitting what the scoreboard alone expects")
    base = fit_base([one.match for one in made[: plan.matches]], seed=plan.seed)
    learn = ruled_innings(made[: plan.matches], base)
    check = ruled_innings(made[plan.matches :], base)
    fitted = fit(
        cricket_sizes(plan.hidden_dim),
        base.everything,
        [one.arrays for one in learn],
        [one.arrays for one in check],
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
    store_hiding_effects(fitted.model, check, balls=_HIDDEN, seed=plan.seed)
    card = {"epochs": fitted.history, "matches": plan.matches}
    return TrainedPredictor("planted", "", fitted.model, base, Ratings(), card)


_METHOD_NAMES: Final[dict[str, str]] = {
    "hiding": "effect of hiding the ball",
    "replacing": "effect of replacing the ball",
}
"""What to call methods whose name does not say it."""

_LOSSES: Final[dict[str, str]] = {
    "truth": "the process itself (its entropy)",
    "model": "the trained model",
    "no_past": "the same model, no past ball shown",
    "scoreboard": "a network that sees the scoreboard only",
}


def render_planted(data: Mapping[str, Any]) -> str:
    """Every table, with a line above each that says what it holds; ``data`` as JSON has it."""
    rules = [name for rule in data["rules"] for name in (rule["name"], f"{rule['name']}_decoys")]
    return render_plain(
        "cricket/planted.md",
        d=data,
        methods={name: name.replace("_", " ") for name in data["pointing"]["methods"]}
        | _METHOD_NAMES,
        losses=_LOSSES,
        rules=rules,
        rule_names=[name.replace("_decoys", ", decoys").replace("_", " ") for name in rules],
        judged=_judged,
    )


def _judged(claims: int, ci: tuple[float, float] | None, most: float) -> str:
    if not claims or ci is None:
        return "none was made"
    low, high = ci
    return "kept" if high <= most else "broken" if low > most else "not clear from so few"
