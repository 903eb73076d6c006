"""Does attention say which past balls mattered? Figures over a sample of balls.

Removed from the model: a past ball that is hidden exists for no scale and no slot; the
scoreboard stays as it was. So what a ball did to the score is not taken away, only what the
model reads of the ball itself.

Scrambled: the past balls' outcomes (what happened, and with it the flags wicket, boundary and
dot) are permuted among all past balls of the same innings; where each ball stood, who played
it, and every scoreboard stay. For every sampled ball its own past is permuted, anew for each
of `SCRAMBLES` seeds, so no later ball's outcome is told, and the log-loss of what happened is
compared with the log-loss before. What the actual outcomes of a sample say of so small a
change is mostly luck; ``scramble_kl_nats``, the mean ``KL(intact ‖ scrambled)``, is the same
cost for a model that is calibrated, and far steadier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

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
from attnlens.cricket.tensors import InningsArrays
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import one_thread
from attnlens.models.predictor import FullModel
from attnlens.models.relations import Balls
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Report = Callable[[str], None]

BEFORE: Final = SCALES["medium"]
"""A sampled ball has at least this many before it."""

RECENT: Final = SCALES["medium"] - 1
"""The last 36 balls are the current one and this many before it."""

SCRAMBLES: Final = 5
QUICK: Final[tuple[str, ...]] = ("attention", "recency")
RANDOM: Final = "random"
WINDOWS: Final[tuple[str, ...]] = ("last36", "all")
INNINGS_AT_ONCE: Final = 16


class Encoded(Protocol):
    """One innings as arrays, and which match it is from."""

    @property
    def match_id(self) -> str: ...
    @property
    def innings(self) -> int: ...
    @property
    def arrays(self) -> InningsArrays: ...


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
        whole: log-loss ``intact`` and ``hide_all`` of every ball that could have been drawn,
            each ``(ball,)``, and their matches; empty where it was not asked for.
    """

    balls: tuple[MeasuredBall, ...]
    seed: int
    whole: dict[str, Floats]
    whole_matches: tuple[str, ...]

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
        if len(self.whole_matches):
            worth = self.whole["hide_all"] - self.whole["intact"]
            low, high = group_interval(worth, self.whole_matches, seed=self.seed)
            told["every_ball"] = {
                "balls": len(self.whole_matches),
                "intact": float(self.whole["intact"].mean()),
                "hide_all": float(self.whole["hide_all"].mean()),
                "worth_of_past": float(worth.mean()),
                "worth_of_past_ci": [low, high],
            }
        return told

    def _method(self, name: str) -> dict[str, Any]:
        """One method's figures, and how far they are from recency's and from chance."""
        told: dict[str, Any] = {}
        above: dict[str, Any] = {}
        chance: dict[str, Any] = {}
        for figure in self.balls[0].methods[name]:
            values = [ball.methods[name][figure] for ball in self.balls]
            told.update(self._told(figure, values))
            if "recency" in self.balls[0].methods and name not in ("recency", RANDOM):
                recency = [ball.methods["recency"][figure] for ball in self.balls]
                gap = [one - other for one, other in zip(values, recency, strict=True)]
                above.update(self._told(figure, gap))
            if self.balls[0].controls and figure in HIGH_IS_FAITHFUL and name != RANDOM:
                z, p = against_controls(
                    float(np.mean(values)),
                    self._controls(figure),
                    high=HIGH_IS_FAITHFUL[figure],
                )
                chance[figure] = {"z": z, "p": p}
        if above:
            told["minus_recency"] = above
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
    report: Report = lambda _: None,
) -> Measured:
    """Measure a sample of balls.

    Args:
        innings: in an order that does not change, for the sample to be the same; not super
            overs, which are too short to be drawn anyway.
        balls: how many to draw, from all balls with at least 36 before them.
        methods: of `attnlens.cricket.attribution.METHODS`.
        removal: also comprehensiveness, sufficiency, deletion, insertion and sign violations,
            with random orderings beside, and the log-loss of every ball that could have been
            drawn; the slow part.

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
        whole, matches = every_loss(model, innings, report) if removal else ({}, ())
    return Measured(tuple(measured), seed, whole, matches)


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

    orders = np.stack([generator.permutation(position) for _ in range(SCRAMBLES)])
    alone = removed_alone(predict, position)
    mixed = under_scrambling(model, batch, orders)
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


def scrambled(batch: dict[str, Any], orders: Integers) -> dict[str, Any]:
    """The batch with past outcomes in other orders, one row each.

    Args:
        batch: `window_batch`'s, one row and one query.
        orders: ``(row, past)``: ball ``j`` of row ``r`` is told the outcome of ball
            ``orders[r, j]``.
    """
    rows = len(orders)
    order = torch.from_numpy(orders)
    sequence = _rows(batch["sequence"], rows)
    who: Balls = sequence["balls"]
    flags = {name: getattr(who, name).gather(1, order) for name in ("wicket", "boundary", "dot")}
    happened = sequence["past"]["happened"]
    sequence["past"]["happened"] = happened.gather(
        1, order[..., None].expand(-1, -1, happened.shape[-1])
    )
    sequence["balls"] = replace(who, **flags)
    return {"graph_data": _rows(batch["graph_data"], rows), "sequence": sequence}


def _rows(value: Any, rows: int) -> Any:
    """The same structure with the one row of every tensor repeated."""
    if isinstance(value, torch.Tensor):
        return value.expand(rows, *value.shape[1:])
    if isinstance(value, dict):
        return {key: _rows(member, rows) for key, member in value.items()}
    if isinstance(value, Balls):
        members: dict[str, Any] = {}
        for name in Balls.__slots__:
            member = getattr(value, name)
            members[name] = None if member is None else _rows(member, rows)
        return Balls(**members)
    return value


def under_scrambling(model: FullModel, batch: dict[str, Any], orders: Integers) -> Floats:
    """Outcome probabilities with past outcomes in other orders, ``(order, outcome)``."""
    with torch.no_grad():
        logits = model(scrambled(batch, orders))
    result: Floats = logits[:, 0].double().softmax(-1).numpy()
    return result


def every_loss(
    model: FullModel, innings: Sequence[Encoded], report: Report
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Log-loss with the past and without, of every ball with `BEFORE` before it."""
    order = sorted(
        (number for number, one in enumerate(innings) if len(one.arrays) > BEFORE),
        key=lambda number: len(innings[number].arrays),
    )
    losses: dict[str, list[Floats]] = {"intact": [], "hide_all": []}
    matches: list[str] = []
    for start in range(0, len(order), INNINGS_AT_ONCE):
        report(f"every ball with and without its past: innings {start + 1} of {len(order)}")
        group = [innings[number] for number in order[start : start + INNINGS_AT_ONCE]]
        batch, outcome = training_batch([one.arrays for one in group])
        sequence = batch["sequence"]
        nothing = {
            **sequence,
            "visible": torch.zeros_like(sequence["visible"]),
            "shared": torch.zeros_like(sequence["shared"]),
        }
        counted = outcome >= 0
        counted[:, :BEFORE] = False
        for name, past in (("intact", sequence), ("hide_all", nothing)):
            with torch.no_grad():
                logits = model({"graph_data": batch["graph_data"], "sequence": past})
            told = logits.double().log_softmax(-1)[counted]
            losses[name].append(-told.gather(-1, outcome[counted][:, None])[:, 0].numpy())
        for one, flags in zip(group, counted, strict=True):
            matches += [one.match_id] * int(flags.sum())
    return {name: np.concatenate(parts) for name, parts in losses.items()}, tuple(matches)


def known_methods(names: Sequence[str]) -> tuple[str, ...]:
    """The methods of that name, in the order of a table.

    Raises:
        ValueError: one is unknown.
    """
    unknown = [name for name in names if name not in (*METHODS, RANDOM)]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no method; use {', '.join((*METHODS, RANDOM))}")
    return tuple(name for name in METHODS if name in names)
