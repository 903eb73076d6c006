"""Do attention, effects and contributions point at the balls that were planted?

Matches played by the rules of `attnlens.cricket.simulated_rules` have a known answer: which
past balls a ball depends on, and by how much. A model trained on them is asked the same, by
every method there is. Two questions come before: has the model learnt the rules at all, and
does hiding a planted ball do to its prediction what it would do to the truth?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.analysis.discrimination import auc
from attnlens.analysis.faithfulness import group_interval, removed_alone, spearman
from attnlens.analysis.verdicts import divergence
from attnlens.cricket.ablation import under_masks
from attnlens.cricket.attribution import METHODS, attributions
from attnlens.cricket.batch import training_batch
from attnlens.cricket.evidence import baseline_and_contributions, groups_of
from attnlens.cricket.held_out import EncodedInnings
from attnlens.cricket.one_head import OneBall
from attnlens.cricket.ratings import Ratings
from attnlens.cricket.replacement import Replacement
from attnlens.cricket.simulate import Simulated
from attnlens.cricket.simulated_rules import RuledBall
from attnlens.cricket.tensors import BaseModel, encode_innings
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import cut_window, one_thread
from attnlens.models.predictor import KNOWLEDGE, FullModel
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]
Report = Callable[[str], None]

BEFORE: Final = SCALES["medium"]
RECENT: Final = SCALES["medium"] - 1

HIDING: Final = "hiding"
REPLACING: Final = "replacing"
CONTRIBUTIONS: Final = "contributions"
RANDOM: Final = "random"
POINTERS: Final[tuple[str, ...]] = (
    "attention",
    HIDING,
    REPLACING,
    CONTRIBUTIONS,
    *(name for name in METHODS if name not in ("attention", "recency", "uniform")),
    "recency",
    "uniform",
    RANDOM,
)
"""Every method that is asked, in the order of a table; the last three are controls."""

DRAWS: Final = 6
"""How often each past ball is replaced by another; the effect is the mean."""

MATTERS: Final = 0.0005
"""Effects below this, in nats, are told apart from larger ones: see `Pointed`."""


@dataclass(frozen=True, slots=True, eq=False)
class RuledInnings(EncodedInnings):
    """An innings played by rules, and the truth about each of its balls."""

    ruled: tuple[RuledBall, ...]


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
            tuple(ball for ball in one.ruled if ball.innings == side.number),
        )
        for one in made
        for side in one.match.innings
        if side.deliveries and not side.super_over
    ]


def told(values: Sequence[float] | Floats, matches: Sequence[str], seed: int) -> dict[str, Any]:
    """A mean, its 95% interval over matches, and of how many."""
    if not len(values):
        return {"mean": None, "ci": None, "balls": 0}
    low, high = group_interval(values, matches, seed=seed)
    return {"mean": float(np.mean(values)), "ci": [low, high], "balls": len(values)}


def learnt(
    predictor: TrainedPredictor, innings: Sequence[RuledInnings], seed: int
) -> dict[str, Any]:
    """How near the model is to the process that drew the balls.

    Every loss is *expected*: over what could have happened, not over what did, which is known
    here. The truth's is its own entropy, the least there can be.
    """
    losses: dict[str, list[Floats]] = {"truth": [], "model": [], "no_past": [], "scoreboard": []}
    matches: list[str] = []
    for one in innings:
        truth = np.array([ball.probabilities() for ball in one.ruled])
        batch, _ = training_batch([one.arrays])
        sequence = batch["sequence"]
        blind = {
            **sequence,
            "visible": torch.zeros_like(sequence["visible"]),
            "shared": torch.zeros_like(sequence["shared"]),
        }
        logs = {"truth": np.log(truth), "scoreboard": one.arrays.base.astype(np.float64)}
        for name, seen in (("model", sequence), ("no_past", blind)):
            with torch.no_grad():
                logits = predictor.model({"graph_data": batch["graph_data"], "sequence": seen})
            logs[name] = logits[0].double().log_softmax(-1).numpy()
        for name, values in logs.items():
            losses[name].append(-(truth * values).sum(-1))
        matches += [one.match_id] * len(truth)
    each = {name: np.concatenate(parts) for name, parts in losses.items()}
    whole = each["no_past"] - each["truth"]
    return {
        "balls": len(matches),
        "expected_log_loss": {name: told(values, matches, seed) for name, values in each.items()},
        "share_learnt": float(1 - (each["model"] - each["truth"]).mean() / whole.mean()),
    }


def sample(innings: Sequence[RuledInnings], balls: int, seed: int) -> list[tuple[int, int]]:
    """Balls with at least `BEFORE` before them and one planted among those: innings, position."""
    found = [
        (number, position)
        for number, one in enumerate(innings)
        for position in range(BEFORE, len(one.arrays))
        if one.ruled[position].planted
    ]
    picks = np.random.default_rng(seed).choice(len(found), min(balls, len(found)), replace=False)
    return [found[pick] for pick in sorted(picks)]


@dataclass(frozen=True, slots=True, eq=False)
class Pointed:
    """One ball, and how well each method tells its planted balls from others.

    Attributes:
        aucs: method to column to area under the ROC curve. Columns: ``all`` (every earlier
            ball), ``last36`` (the last 35), and for each rule the balls it counts against
            those that no rule counts (its name), and against those of them with the same
            event, such as other dots (its name and ``_decoys``).
        true_effects: of each past ball on the truth, nats ``(past,)``.
        effects: of each on the model, likewise.
        group_auc: the same for the six groups of past balls by the size of their
            contribution; ``None`` where all or none hold a planted ball.
        true_groups, groups: what each group's balls do to the probabilities, in points
            ``(group, outcome)``: hidden from the truth, and by contribution.
    """

    match_id: str
    aucs: dict[str, dict[str, float]]
    true_effects: Floats
    effects: Floats
    group_auc: float | None
    true_groups: Floats
    groups: Floats


def point(
    predictor: TrainedPredictor,
    one: RuledInnings,
    position: int,
    generator: np.random.Generator,
) -> Pointed:
    """Ask every method about one ball."""
    window = cut_window(one.match, one.side, one.arrays, position + 1)
    truth = one.ruled[position]
    alone = removed_alone(lambda masks: under_masks(predictor.model, window.batch, masks), position)
    names, parts = baseline_and_contributions(predictor, window)[1:]
    members = groups_of(window)
    rows = {name: part for name, part in zip(names, parts, strict=True) if name not in KNOWLEDGE}
    spread = np.zeros(position)
    for name, places in members.items():
        if places:
            spread[places] = np.abs(rows[name]).sum() / len(places)
    seed = int(generator.integers(2**31))
    scores = {
        **attributions(predictor.model, window.batch),
        HIDING: alone.effects,
        REPLACING: replaced_alone(predictor.model, window.batch, position, seed),
        CONTRIBUTIONS: spread,
        RANDOM: generator.random(position),
    }
    planted = np.zeros(position, bool)
    planted[[ball - 1 for ball in truth.planted]] = True
    kinds = _kinds(one, position, planted)
    aucs: dict[str, dict[str, float]] = {}
    for method in POINTERS:
        found = {
            column: auc(scores[method][rows], hits[rows]) for column, (rows, hits) in kinds.items()
        }
        aucs[method] = {column: value for column, value in found.items() if value is not None}
    filled = [name for name, places in members.items() if places]
    holds = np.array([planted[members[name]].any() for name in filled])
    sizes = np.array([np.abs(rows[name]).sum() for name in filled])
    full = np.array(truth.probabilities())
    away = [
        np.array(truth.probabilities(frozenset(place + 1 for place in members[name])))
        for name in filled
    ]
    each = truth.effects()
    return Pointed(
        match_id=one.match_id,
        aucs=aucs,
        true_effects=np.array([each.get(place + 1, 0.0) for place in range(position)]),
        effects=alone.effects,
        group_auc=auc(sizes, holds),
        true_groups=100 * (full - np.array(away)),
        groups=100 * np.array([rows[name] for name in filled]),
    )


def replaced_alone(model: FullModel, batch: dict[str, Any], past: int, seed: int) -> Floats:
    """What replacing each past ball by another costs, mean over `DRAWS`, nats ``(past,)``."""
    one = OneBall(model, batch)
    sets = [(index,) for index in range(1, past + 1) for _ in range(DRAWS)]
    found = Replacement(one, seed).everywhere(sets)
    full = one.logits.double().softmax(-1).numpy()
    effects: Floats = divergence(full, found).reshape(past, DRAWS).mean(1)
    return effects


def _kinds(
    one: RuledInnings, position: int, planted: NDArray[np.bool_]
) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """By column, which past balls take part and which of them are planted, ``(past,)`` each."""
    truth = one.ruled[position]
    late = np.arange(position) >= position - RECENT
    kinds = {"all": (np.ones(position, bool), planted), "last36": (late, planted)}
    for rule in truth.rules:
        hits = np.zeros(position, bool)
        hits[[ball - 1 for ball in truth.balls.get(rule.name, ())]] = True
        alike = np.array([rule.event(ball) for ball in one.side.deliveries[:position]])
        kinds[rule.name] = (hits | ~planted, hits)
        kinds[f"{rule.name}_decoys"] = (hits | (~planted & alike), hits)
    return kinds


def pointing(
    predictor: TrainedPredictor,
    innings: Sequence[RuledInnings],
    *,
    balls: int,
    seed: int,
    report: Report = lambda _: None,
) -> dict[str, Any]:
    """Ask about a sample of balls, and put the answers together."""
    found = []
    with one_thread():
        chosen = sample(innings, balls, seed)
        for number, (place, position) in enumerate(chosen):
            if number % 10 == 0:
                report(f"planted balls: {number + 1} of {len(chosen)}")
            generator = np.random.default_rng([seed, number])
            found.append(point(predictor, innings[place], position, generator))
    matches = [ball.match_id for ball in found]
    names = [rule.name for rule in innings[0].ruled[0].rules]
    columns = ["all", "last36", *(f"{name}{kind}" for name in names for kind in ("", "_decoys"))]
    methods = {
        method: {
            column: _mean([ball.aucs[method].get(column) for ball in found], matches, seed)
            for column in columns
        }
        for method in POINTERS
    }
    return {
        "balls": len(found),
        "matches": len(set(matches)),
        "seed": seed,
        "methods": methods,
        "effects": _effects(found, matches, seed),
        "groups": {
            "auc": _mean([ball.group_auc for ball in found], matches, seed),
            "correlation": _correlation(
                np.concatenate([ball.groups.ravel() for ball in found]),
                np.concatenate([ball.true_groups.ravel() for ball in found]),
            ),
        },
    }


def _mean(values: Sequence[float | None], matches: Sequence[str], seed: int) -> dict[str, Any]:
    """`told` of the values there are."""
    known = [(value, match) for value, match in zip(values, matches, strict=True)
             if value is not None]  # fmt: skip
    return told([value for value, _ in known], [match for _, match in known], seed)


def _effects(found: Sequence[Pointed], matches: Sequence[str], seed: int) -> dict[str, Any]:
    """What hiding one ball does to the model, beside what it does to the truth.

    ``strong`` are planted balls with a true effect of at least `MATTERS`, ``weak`` the other
    planted ones, ``others`` those whose true effect is 0.
    """
    true = np.concatenate([ball.true_effects for ball in found])
    model = np.concatenate([ball.effects for ball in found])
    owners = np.repeat(matches, [len(ball.effects) for ball in found])
    rows = {
        name: {
            "true_nats": told(true[mask], owners[mask].tolist(), seed),
            "model_nats": told(model[mask], owners[mask].tolist(), seed),
        }
        for name, mask in (
            ("strong", true >= MATTERS),
            ("weak", (true > 0) & (true < MATTERS)),
            ("others", true == 0),
        )
    }
    agreement = [spearman(ball.effects, ball.true_effects) for ball in found]
    return {
        **rows,
        "spearman": told(agreement, matches, seed),
        "correlation": _correlation(model, true),
    }


def _correlation(one: Floats, other: Floats) -> float:
    """Pearson's; 0 where either does not vary."""
    if not one.std() or not other.std():
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
