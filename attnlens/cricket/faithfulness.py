"""Does attention say which past balls mattered? Figures over a sample of balls.

Removed from the model: a past ball that is hidden exists for no scale and no slot; the
scoreboard stays as it was. So what a ball did to the score is not taken away, only what the
model reads of the ball itself.

Scrambled: past outcomes are permuted among the innings' past balls
(`attnlens.cricket.scrambling`), for every ball its own past, anew for each of `SCRAMBLES`
permutations, and the log-loss of what happened is compared with the log-loss before. What the
actual outcomes of a few hundred balls say of so small a change is mostly luck, so the same is
measured on a wider sample of balls; and ``scramble_kl_nats``, the mean
``KL(intact ‖ scrambled)``, is what the cost would be if the model were exactly right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.analysis.faithfulness import (
    CONTROLS,
    CORRELATIONS,
    HIGH_IS_FAITHFUL,
    Removed,
    against_controls,
    group_interval,
    judge_scores,
    partial_spearman,
    removed_alone,
    spearman,
)
from attnlens.analysis.verdicts import divergence
from attnlens.cricket.ablation import under_masks
from attnlens.cricket.attribution import METHODS, attributions
from attnlens.cricket.batch import training_batch, window_batch
from attnlens.cricket.scrambling import under_scrambling
from attnlens.cricket.tensors import Encoded
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import one_thread
from attnlens.models.predictor import FullModel
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]
Report = Callable[[str], None]

BEFORE: Final = SCALES["medium"]
"""A sampled ball has at least this many before it."""

RECENT: Final = SCALES["medium"] - 1
"""The last 36 balls are the current one and this many before it."""

SCRAMBLES: Final = 5
QUICK: Final[tuple[str, ...]] = ("attention", "recency")
RANDOM: Final = "random"
COMPARED: Final[tuple[str, ...]] = ("recency", "uniform")
"""Controls that every other method is compared with ball by ball."""

WINDOWS: Final[tuple[str, ...]] = ("last36", "all")


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredBall:
    """One sampled ball.

    Attributes:
        match_id, innings, index: which ball.
        attention: score of each past ball, oldest first ``(past,)``.
        effects: what hiding each past ball costs, nats ``(past,)``.
        losses: log-loss of what happened, ``intact`` and with all past balls hidden.
        scrambled: the same under each permutation of past outcomes ``(SCRAMBLES,)``.
        scrambled_kl: ``KL(intact ‖ scrambled)`` likewise.
        hidden_kl: ``KL(intact ‖ every past ball hidden)``.
        methods: method to figure to value.
        controls: `removal_figures` of each random ordering.
    """

    match_id: str
    innings: int
    index: int
    attention: Floats
    effects: Floats
    losses: dict[str, float]
    scrambled: Floats
    scrambled_kl: Floats
    hidden_kl: float
    methods: dict[str, dict[str, float]]
    controls: list[dict[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A sample of balls, measured.

    Attributes:
        balls: the sample.
        seed: what it was drawn with.
        wider: log-losses of the wider sample, as `losses_of` gives them; empty where they
            were not asked for.
        wider_matches: the matches of those balls.
    """

    balls: tuple[MeasuredBall, ...]
    seed: int
    wider: dict[str, Floats]
    wider_matches: tuple[str, ...]

    @property
    def matches(self) -> list[str]:
        """Each ball's match."""
        return [ball.match_id for ball in self.balls]

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data, every mean with its 95% interval over matches."""
        found: dict[str, Any] = {
            "balls": len(self.balls),
            "matches": len(set(self.matches)),
            "seed": self.seed,
            **self._told(
                "largest_single_ball_effect_nats",
                [float(ball.effects.max(initial=0.0)) for ball in self.balls],
            ),
            **self._told(
                "scramble_cost_nats",
                [float((b.scrambled - b.losses["intact"]).mean()) for b in self.balls],
            ),
            **self._told("scramble_kl_nats", [float(b.scrambled_kl.mean()) for b in self.balls]),
            **self._told("hide_all_kl_nats", [ball.hidden_kl for ball in self.balls]),
            "log_loss": self._losses(),
            "methods": {name: self._method(name) for name in self.balls[0].methods},
        }
        if self.balls[0].controls:
            found["methods"][RANDOM].update(self._random())
        return found

    def _told(self, name: str, values: Sequence[float]) -> dict[str, Any]:
        """A mean and its interval."""
        low, high = group_interval(values, self.matches, seed=self.seed)
        return {name: float(np.mean(values)), f"{name}_ci": [low, high]}

    def _losses(self) -> dict[str, Any]:
        """Log-loss with and without the past, on the sample and on all balls like it."""
        intact = [ball.losses["intact"] for ball in self.balls]
        hidden = [ball.losses["hide_all"] for ball in self.balls]
        told: dict[str, Any] = {
            **self._told("intact", intact),
            **self._told("hide_all", hidden),
            **self._told(
                "worth_of_past", [far - near for near, far in zip(intact, hidden, strict=True)]
            ),
        }
        if self.wider_matches:
            told["wider_sample"] = self._wider_sample()
        return told

    def _wider_sample(self) -> dict[str, Any]:
        """Log-losses of more balls like those of the sample."""
        told: dict[str, Any] = {"balls": len(self.wider_matches)}
        intact = self.wider["intact"]
        for name, values in (
            ("intact", intact),
            ("hide_all", self.wider["hide_all"]),
            ("worth_of_past", self.wider["hide_all"] - intact),
            ("scramble_cost", self.wider["scrambled"] - intact),
        ):
            low, high = group_interval(values, self.wider_matches, seed=self.seed)
            told |= {name: float(values.mean()), f"{name}_ci": [low, high]}
        return told

    def _method(self, name: str) -> dict[str, Any]:
        """One method's figures, and how far they are from the controls' and from chance."""
        told: dict[str, Any] = {}
        beside: dict[str, dict[str, Any]] = {}
        chance: dict[str, Any] = {}
        for figure in self.balls[0].methods[name]:
            values = [ball.methods[name][figure] for ball in self.balls]
            told.update(self._told(figure, values))
            for control in COMPARED:
                if name in (*COMPARED, RANDOM) or control not in self.balls[0].methods:
                    continue
                gap = [
                    value - ball.methods[control][figure]
                    for value, ball in zip(values, self.balls, strict=True)
                ]
                beside.setdefault(f"minus_{control}", {}).update(self._told(figure, gap))
            if self.balls[0].controls and figure in HIGH_IS_FAITHFUL and name != RANDOM:
                z, p = against_controls(
                    float(np.mean(values)),
                    self._controls(figure),
                    high=HIGH_IS_FAITHFUL[figure],
                )
                chance[figure] = {"z": z, "p": p}
        told.update(beside)
        if chance:
            told["against_random"] = chance
        return told

    def _controls(self, figure: str) -> Floats:
        """The sample's mean under each random ordering ``(control,)``."""
        table = [[control[figure] for control in ball.controls] for ball in self.balls]
        means: Floats = np.array(table).mean(0)
        return means

    def _random(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for figure in HIGH_IS_FAITHFUL:
            told.update(
                self._told(
                    figure,
                    [
                        float(np.mean([control[figure] for control in ball.controls]))
                        for ball in self.balls
                    ],
                )
            )
        return told


def measure(
    predictor: TrainedPredictor | FullModel,
    innings: Sequence[Encoded],
    *,
    balls: int = 500,
    seed: int = 5,
    methods: Sequence[str] = QUICK,
    removal: bool = False,
    wide: int = 0,
    report: Report = lambda _: None,
) -> Measured:
    """Measure a sample of balls.

    Args:
        innings: in an order that does not change, for the sample to be the same; not super
            overs, which are too short to be drawn anyway.
        balls: how many to draw, from all balls with at least 36 before them.
        methods: of `attnlens.cricket.attribution.METHODS`.
        removal: also comprehensiveness, sufficiency, deletion, insertion and sign violations,
            with random orderings beside; the slow part.
        wide: how many balls to draw for the log-losses alone.

    Raises:
        ValueError: no ball has 36 before it, or a method is unknown.
    """
    model = predictor if isinstance(predictor, FullModel) else predictor.model
    model.eval()
    chosen = sample(innings, balls, seed)
    if not chosen:
        raise ValueError(f"no ball has {BEFORE} before it")
    measured = []
    with one_thread():
        for number, (place, position) in enumerate(chosen):
            if number % 10 == 0:
                report(f"ball {number + 1} of {len(chosen)}")
            one = innings[place]
            generator = np.random.default_rng([seed, number])
            measured.append(measure_ball(model, one, position, methods, removal, generator))
        wider, matches = losses_of(model, innings, wide, seed, report)
    return Measured(tuple(measured), seed, wider, matches)


def sample(innings: Sequence[Encoded], balls: int, seed: int) -> list[tuple[int, int]]:
    """Balls with at least `BEFORE` before them, drawn evenly: innings and position, from 0."""
    found = [
        (number, position)
        for number, one in enumerate(innings)
        for position in range(BEFORE, len(one.arrays))
        if one.arrays.outcome[position] >= 0
    ]
    picks = np.random.default_rng(seed).choice(len(found), min(balls, len(found)), replace=False)
    return [found[pick] for pick in sorted(picks)]


def measure_ball(
    model: FullModel,
    one: Encoded,
    position: int,
    methods: Sequence[str],
    removal: bool,
    generator: np.random.Generator,
) -> MeasuredBall:
    """Everything about one ball."""
    batch = window_batch(one.arrays, position)

    def predict(masks: NDArray[np.bool_]) -> Floats:
        return under_masks(model, batch, masks)

    orders = permutations(generator, position)
    alone = removed_alone(predict, position)
    mixed = under_scrambling(model, one.arrays, [position], [orders])[0]
    actual = int(one.arrays.outcome[position])
    wanted = list(dict.fromkeys(("attention", *methods)))
    scores = attributions(model, batch, wanted)
    told = {name: scores[name] for name in methods}
    figures = {name: correlations(score, alone) for name, score in told.items()}
    controls: list[dict[str, float]] = []
    if removal:
        judged = judge_scores(predict, alone, told, generator=generator)
        controls = judged.controls
        for name in told:
            figures[name].update(judged.methods[name])
        luck = [correlations(generator.random(position), alone) for _ in range(CONTROLS)]
        figures[RANDOM] = {
            name: float(np.mean([control[name] for control in luck])) for name in luck[0]
        }
    return MeasuredBall(
        match_id=one.match_id,
        innings=one.innings,
        index=int(one.arrays.index[position]),
        attention=scores["attention"],
        effects=alone.effects,
        losses={
            "intact": -float(np.log(alone.full[actual])),
            "hide_all": -float(np.log(alone.nothing[actual])),
        },
        scrambled=-np.log(mixed[:, actual]),
        scrambled_kl=divergence(alone.full, mixed),
        hidden_kl=float(divergence(alone.full, alone.nothing)),
        methods=figures,
        controls=controls,
    )


def correlations(score: Floats, alone: Removed) -> dict[str, float]:
    """Rank agreement with single-ball effects, over the last 36 balls and over all."""
    effects = alone.effects
    distance = np.arange(len(effects), 0, -1, dtype=float)
    found = {}
    for name, place in zip(WINDOWS, (slice(-RECENT, None), slice(None)), strict=True):
        plain, partial = CORRELATIONS
        found[f"{plain}_{name}"] = spearman(score[place], effects[place])
        found[f"{partial}_{name}"] = partial_spearman(score[place], effects[place], distance[place])
    return found


def losses_of(
    model: FullModel, innings: Sequence[Encoded], balls: int, seed: int, report: Report
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Log-loss of a sample of balls with their past, without it, and scrambled.

    Returns:
        ``intact``, ``hide_all`` and ``scrambled`` (the mean over permutations), each
        ``(ball,)``, and the balls' matches; both empty for no balls.
    """
    drawn: dict[int, list[int]] = {}
    for place, position in sample(innings, balls, seed):
        drawn.setdefault(place, []).append(position)
    losses: dict[str, list[Floats]] = {"intact": [], "hide_all": [], "scrambled": []}
    matches: list[str] = []
    for number, (place, positions) in enumerate(drawn.items()):
        report(f"log-losses with and without the past: innings {number + 1} of {len(drawn)}")
        one = innings[place]
        batch, _ = training_batch([one.arrays])
        sequence = batch["sequence"]
        nothing = {
            **sequence,
            "visible": torch.zeros_like(sequence["visible"]),
            "shared": torch.zeros_like(sequence["shared"]),
        }
        actual = one.arrays.outcome[positions]
        for name, past in (("intact", sequence), ("hide_all", nothing)):
            with torch.no_grad():
                logits = model({"graph_data": batch["graph_data"], "sequence": past})
            told = logits[0].double().log_softmax(-1).numpy()
            losses[name].append(-told[positions, actual])
        generator = np.random.default_rng([seed, place])
        orders = [permutations(generator, position) for position in positions]
        mixed = under_scrambling(model, one.arrays, positions, orders)
        losses["scrambled"].append(-np.log(mixed[np.arange(len(positions)), :, actual]).mean(-1))
        matches += [one.match_id] * len(positions)
    if not matches:
        return {}, ()
    return {name: np.concatenate(parts) for name, parts in losses.items()}, tuple(matches)


def permutations(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    """`SCRAMBLES` random orders of ``count`` past balls, ``(SCRAMBLES, count)``."""
    return np.stack([generator.permutation(count) for _ in range(SCRAMBLES)])


def known_methods(names: Sequence[str]) -> tuple[str, ...]:
    """The methods of that name, in the order of a table.

    Raises:
        ValueError: one is unknown.
    """
    unknown = [name for name in names if name not in (*METHODS, RANDOM)]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no method; use {', '.join((*METHODS, RANDOM))}")
    return tuple(name for name in METHODS if name in names)
