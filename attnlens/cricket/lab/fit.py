"""Train the predictor and the encoder-decoder, and measure the usual effects of hiding a ball.

The effect of hiding a ball is compared with the usual effect of hiding a similar ball. Similar
balls form a group, called a place. A place is a range of distances, with or without the current
batter, and with or without the current bowler. The effects at each place are measured after
training.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import chosen_subject
from attnlens.cricket.lab.held_out import EncodedInnings, sides
from attnlens.cricket.lab.sampling import sample
from attnlens.cricket.lab.training_loop import (
    Schedule,
    TrainedModel,
    TrainingLoop,
    TrainingSet,
    run_training,
)
from attnlens.cricket.match.competition import TABLES, table_of
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Innings, Match
from attnlens.cricket.over.encoder_decoder import PAD, OverModel, OverSizes
from attnlens.cricket.over.features import OverArrays, OverRow, over_batch
from attnlens.cricket.predictor.predictor import (
    DISTANCES,
    EFFECT_LEVELS,
    KNOWLEDGE,
    PLACES,
    FullModel,
    Sizes,
    places,
)
from attnlens.cricket.predictor.ratings import Ratings, by_date
from attnlens.cricket.predictor.relations import Batch
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.tensors import (
    BASE_SIZE,
    NODES,
    OVER_CLASSES,
    PAST_NODES,
    PAST_OUTCOME_SIZE,
    SCOREBOARD_NODES,
    BaseModel,
    Encoded,
    InningsArrays,
    base_inputs,
    encode_innings,
    scoreboard,
)
from attnlens.cricket.predictor.window import (
    one_thread,
    stacked,
    to_device,
    training_batch,
    window_batch,
)
from attnlens.cricket.readers import Report, silent
from attnlens.evidence.faithfulness import remove_each
from attnlens.evidence.scores import log_odds
from attnlens.files import Floats, Floats32, Integers

_BASE_WIDTH = 64
_BASE_EPOCHS = 4
_BASE_BATCH = 2048
_TABLE_SMOOTHING = 200.0


def fit_base(matches: Sequence[Match], *, seed: int) -> BaseModel:
    """Fit the model that predicts an outcome from only the scoreboard and the kind of match."""
    inputs: list[Floats32] = []
    outcomes: list[int] = []
    cells: list[Integers] = []
    for match in matches:
        for side in sides(match):
            nodes = scoreboard(match, side)
            inputs.append(base_inputs(match, nodes))
            outcomes.extend(OUTCOME_INDEX[ball.outcome] for ball in side.deliveries)
            over = nodes["phase_state"][:, 6:].argmax(1)
            number = table_of(match) * 2 + (side.number + 1) % 2
            cells.append(number * OVER_CLASSES + over)
    x = torch.from_numpy(np.concatenate(inputs))
    y = torch.tensor(outcomes)
    everything, prior = outcome_tables(np.array(outcomes), np.concatenate(cells))

    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Linear(BASE_SIZE, _BASE_WIDTH),
        nn.Tanh(),
        nn.Linear(_BASE_WIDTH, _BASE_WIDTH),
        nn.Tanh(),
        nn.Linear(_BASE_WIDTH, len(OUTCOMES)),
    )
    optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.02)
    steps = _BASE_EPOCHS * -(-len(y) // _BASE_BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps)
    for _ in range(_BASE_EPOCHS):
        order = torch.randperm(len(y), generator=generator)
        for rows in torch.split(order, _BASE_BATCH):
            loss = nn.functional.cross_entropy(network(x[rows]), y[rows])
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            schedule.step()
    weights: list[Floats32] = []
    for layer in network:
        if isinstance(layer, nn.Linear):
            weights += [layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy()]
    return BaseModel(tuple(weights), prior, everything)


def outcome_tables(outcomes: Integers, cells: Integers) -> tuple[Floats32, Floats32]:
    """Return the logarithms of outcome shares, over all balls and in each cell.

    The shapes are ``(11,)`` and ``(TABLES, 2, 20, 11)``. A cell is one kind of match, innings and
    over. The shares in a cell are smoothed towards the shares over all balls.
    """
    share = np.bincount(outcomes, minlength=len(OUTCOMES)) + 1.0
    share = share / share.sum()
    counts = np.zeros((TABLES * 2 * OVER_CLASSES, len(OUTCOMES)))
    np.add.at(counts, (cells, outcomes), 1)
    table = (counts + _TABLE_SMOOTHING * share) / (counts.sum(1, keepdims=True) + _TABLE_SMOOTHING)
    everything: Floats32 = np.log(share).astype(np.float32)
    prior: Floats32 = np.log(table).astype(np.float32).reshape(TABLES, 2, OVER_CLASSES, -1)
    return everything, prior


E = TypeVar("E", InningsArrays, OverArrays)


def rated(
    matches: Sequence[Match],
    ratings: Ratings,
    encode: Callable[[Match, Innings], E],
    report: Report = silent,
) -> Iterator[tuple[Match, Innings, datetime.date, E]]:
    """Yield the innings of each day, and then update the ratings with the results of this day.

    The innings are encoded with the ratings before the update. ``ratings`` is updated in place. If
    ``ratings`` already includes a day, the innings of this day do not update the ratings.
    """
    for day, played in by_date(matches):
        learnt_until = ratings.complete_until
        updates = []
        for match in played:
            innings = []
            for side in sides(match):
                arrays = encode(match, side)
                yield match, side, day, arrays
                innings.append((side, arrays.base, arrays.outcome))
            if innings:
                updates.append((match, innings))
        if not updates or (learnt_until is not None and day <= learnt_until):
            continue
        ratings.learn_day(day, [ratings.update_of(*update) for update in updates])
        report(f"ratings up to {day}")


def rate_and_encode(
    matches: Sequence[Match], base: BaseModel, ratings: Ratings, *, report: Report = silent
) -> list[EncodedInnings]:
    """Encode every innings for the predictor, using the ratings from before the match day."""
    encode = partial(encode_innings, ratings=ratings, base=base)
    return [
        EncodedInnings(match, side, arrays)
        for match, side, _, arrays in rated(matches, ratings, encode, report)
    ]


@dataclass(frozen=True, slots=True)
class Hyperparameters(Schedule):
    """The hyperparameters of a training run of the predictor.

    Attributes:
        innings: the number of innings per training step.
        hide_some: the share of innings in which past balls are hidden with a random probability.
        hide_all: the share of innings in which all past balls are hidden.
        hide_player: the share of innings in which the past balls of one player are hidden.
        hide_block: the share of innings in which a block of successive past balls is hidden.
        hide_batter: the share of innings in which the past balls of the current batter are hidden.
        hide_bowler: the share of innings in which the past balls of the current bowler are hidden.
        hide_windows: the share of innings in which only the scale ``whole`` sees past balls.
        forget: the share of balls for which some input groups (`KNOWLEDGE`) are hidden. For such a
            ball, each group is hidden with probability one half.
        forget_past: for each player of a past ball, the probability that the rating is hidden.
        teacher: the weight of the teacher's probabilities in the loss, from 0 to 1 (Hinton, Vinyals
            and Dean 2015, "Distilling the Knowledge in a Neural Network", temperature 1).
    """

    innings: int = 16
    hide_some: float = 0.1
    hide_all: float = 0.04
    hide_player: float = 0.05
    hide_block: float = 0.05
    hide_batter: float = 0.06
    hide_bowler: float = 0.04
    hide_windows: float = 0.3
    forget: float = 0.1
    forget_past: float = 0.04
    teacher: float = 0.7


def mask_at_random(batch: Batch, recipe: Hyperparameters, generator: np.random.Generator) -> None:
    """Hide past balls and groups of inputs at random.

    The model must handle hidden inputs, because explanations hide inputs.
    """
    sequence = batch["sequence"]
    players = sequence["balls"]
    rows, length = players.index.shape
    visible = np.ones((rows, length), bool)
    shares = [recipe.hide_some, recipe.hide_all, recipe.hide_player, recipe.hide_block]
    bounds = np.cumsum([*shares, recipe.hide_batter, recipe.hide_bowler])
    own: dict[Literal["batter", "bowler"], NDArray[np.bool_]]
    own = {"batter": np.zeros(rows, bool), "bowler": np.zeros(rows, bool)}
    for row in range(rows):
        lot = generator.random()
        if lot < bounds[0]:
            visible[row] = generator.random(length) >= generator.random()
        elif lot < bounds[1]:
            visible[row] = False
        elif lot < bounds[2]:
            role = players.batter if generator.random() < 0.5 else players.bowler
            ids = role[row].numpy()
            visible[row] = ids != ids[generator.integers(length)]
        elif lot < bounds[3]:
            first = generator.integers(length)
            visible[row, first : first + int(generator.integers(4, 40))] = False
        elif lot < bounds[5]:
            own["batter" if lot < bounds[4] else "bowler"][row] = True
    mask = torch.from_numpy(visible)
    sequence["visible"] = sequence["visible"] & mask[:, None, :]
    sequence["shared"] = sequence["shared"] & mask
    for player, some in own.items():
        if some.any():
            hide_own_balls(batch, player, torch.from_numpy(some))
    sequence["in_windows"] = torch.from_numpy(generator.random(rows) >= recipe.hide_windows)

    loses = generator.random((rows, length)) < recipe.forget
    batch["graph_data"]["known"] = {
        group: torch.from_numpy(~(loses & (generator.random((rows, length)) < 0.5)))
        for group in KNOWLEDGE
    }
    for name in ("striker_known", "bowler_known"):
        sequence["past"][name] = torch.from_numpy(
            generator.random((rows, length)) >= recipe.forget_past
        )


def hide_own_balls(batch: Batch, player: Literal["batter", "bowler"], rows: Tensor) -> None:
    """Hide past balls of the current ``player``, in the innings that the mask ``rows`` marks."""
    sequence = batch["sequence"]
    ids: Tensor = getattr(sequence["balls"], player)
    same = (ids[:, :, None] == ids[:, None, :]) & rows[:, None, None]
    sequence["visible"] = sequence["visible"] & ~same
    # The queries now see different balls, so they cannot share the summaries of overs.
    sequence.pop("shared", None)


def outcome_loss(
    model: FullModel,
    batch: Batch,
    outcome: Tensor,
    taught: Tensor | None = None,
    weight: float = 0.0,
) -> Tensor:
    """Return the cross-entropy, summed over all balls except padding.

    Args:
        outcome: the actual outcomes, with shape ``(innings, ball)`` and -1 for padding.
        taught: the teacher's probabilities, with shape ``(innings, ball, outcome)`` and 0 for
            padding; ``None`` without a teacher.
        weight: the weight of the teacher's probabilities in the loss.
    """
    logits = model(batch)
    loss: Tensor = nn.functional.cross_entropy(
        logits.flatten(0, 1), outcome.flatten(), ignore_index=-1, reduction="sum"
    )
    if taught is None:
        return loss
    soft: Tensor = (taught * logits.log_softmax(-1)).sum()
    return (1 - weight) * loss - weight * soft


_ALONE: Final = TrainingLoop()
InningsWithTeacher = tuple[InningsArrays, NDArray[np.float32] | None]
"""An innings, and the teacher's probabilities (if any) with shape ``(ball, outcome)``."""


class InningsTrainingSet(TrainingSet[FullModel, InningsWithTeacher]):
    """The innings on which the predictor is trained, and the teacher's probabilities (if any)."""

    unit, noise, checked_at_once = "balls", 4, 32

    def __init__(
        self,
        train: Sequence[InningsWithTeacher],
        check: Sequence[InningsWithTeacher],
        recipe: Hyperparameters,
    ) -> None:
        super().__init__(train, check, recipe.innings)
        self.recipe = recipe

    def length(self, row: InningsWithTeacher) -> int:
        return len(row[0])

    def loss(
        self,
        model: FullModel,
        rows: Sequence[InningsWithTeacher],
        device: torch.device,
        generator: np.random.Generator | None = None,
    ) -> Tensor:
        batch, outcome = training_batch([arrays for arrays, _ in rows])
        if generator is not None:
            mask_at_random(batch, self.recipe, generator)
        teacher = [table for _, table in rows if table is not None]
        taught = stacked(teacher, outcome.shape[1]) if teacher else None
        batch, outcome, taught = to_device((batch, outcome, taught), device)
        return outcome_loss(model, batch, outcome, taught, self.recipe.teacher)


def fit(
    sizes: Sizes,
    prior: Floats32,
    train: Sequence[InningsArrays],
    validation: Sequence[InningsArrays],
    recipe: Hyperparameters,
    *,
    teacher: Sequence[Floats32] | None = None,
    loop: TrainingLoop = _ALONE,
) -> TrainedModel[FullModel]:
    """Train a predictor of balls. `run_training` documents the errors.

    Args:
        prior: the logarithms of the overall outcome shares, with shape ``(outcome,)``. An untrained
            model predicts these shares.
        teacher: for each innings of ``train``, probabilities with shape ``(ball, outcome)``.
    """
    tables: Sequence[Floats32 | None] = teacher or [None] * len(train)
    rows = [*zip(train, tables, strict=True)]
    training_set = InningsTrainingSet(rows, [(arrays, None) for arrays in validation], recipe)
    start = torch.from_numpy(prior)
    return run_training(lambda: FullModel(sizes, start), training_set, recipe, loop)


def cricket_sizes(hidden_dim: int = 60, **kwargs: Any) -> Sizes:
    """Return the sizes of a predictor for cricket. ``kwargs`` are further fields of `Sizes`."""
    return Sizes(
        graph=NODES,
        past_nodes=PAST_NODES,
        outcomes=len(OUTCOMES),
        happened=PAST_OUTCOME_SIZE,
        scoreboard=SCOREBOARD_NODES,
        hidden_dim=hidden_dim,
        **kwargs,
    )


SMALL: Final[Mapping[str, int]] = {"d": 64, "heads": 4, "d_k": 16, "ff": 256, "length": 14}
"""The model sizes of the bundled encoder-decoder that differ from the reference configuration."""


@dataclass(frozen=True, slots=True)
class OverHyperparameters(Schedule):
    """The hyperparameters of a training run of the encoder-decoder.

    Attributes:
        overs: the number of overs per training step.
        smoothing: the amount of label smoothing, from 0 to 1.
        hide_some: the share of overs in which past balls are hidden with a random probability.
        hide_all: the share of overs in which all past balls are hidden.
    """

    warm_up: int = 200
    average: float = 0.998
    overs: int = 64
    smoothing: float = 0.0
    hide_some: float = 0.1
    hide_all: float = 0.04


class OverTrainingSet(TrainingSet[OverModel, OverRow]):
    """The overs on which the encoder-decoder is trained."""

    unit, noise, checked_at_once = "tokens", 8, 256

    def __init__(
        self,
        train: Sequence[OverRow],
        check: Sequence[OverRow],
        sizes: OverSizes,
        recipe: OverHyperparameters,
    ) -> None:
        super().__init__(train, check, recipe.overs)
        self.sizes, self.recipe = sizes, recipe

    def length(self, row: OverRow) -> int:
        """Return the number of past balls that the model sees before an over."""
        arrays, number = row
        return min(int(arrays.start[number]), self.sizes.history)

    def weight(self, row: OverRow) -> int:
        """Return the number of tokens in an over, including ``<end>``."""
        arrays, number = row
        return min(len(arrays.tokens[number]) + 1, self.sizes.length)

    def loss(
        self,
        model: OverModel,
        rows: Sequence[OverRow],
        device: torch.device,
        generator: np.random.Generator | None = None,
    ) -> Tensor:
        batch = over_batch(rows, self.sizes)
        hidden, smoothing = batch.padded, 0.0
        if generator is not None:
            hidden = hidden_at_random(hidden, self.recipe, generator)
            smoothing = self.recipe.smoothing
        parts = (batch.history, hidden, batch.context, batch.inputs, batch.targets)
        history, hidden, context, inputs, targets = to_device(parts, device)
        return nn.functional.cross_entropy(
            model(history, hidden, context, inputs).flatten(0, 1),
            targets.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=smoothing,
        )


def hidden_at_random(
    padded: Tensor, recipe: OverHyperparameters, generator: np.random.Generator
) -> Tensor:
    """Return a mask that hides the padding and some randomly chosen past balls.

    ``padded`` is the mask of the padding. In each over, no past balls, a random share, or all are
    hidden.
    """
    rows, balls = padded.shape
    lot = generator.random(rows)
    share = np.where(lot < recipe.hide_some, generator.random(rows), 0.0)
    share[(lot >= recipe.hide_some) & (lot < recipe.hide_some + recipe.hide_all)] = 1.0
    return padded | torch.from_numpy(generator.random((rows, balls)) < share[:, None])


_LEAST_VARIANCE: Final = 1e-18
_SHRINKAGE: Final = 30.0
"""The number of imaginary balls that shrink the moments in `_standardised`."""


@dataclass(frozen=True, slots=True, eq=False)
class HidingEffects:
    """The effects of hiding recent past balls one at a time, for a sample of balls.

    Attributes:
        changes: the effects of hiding each past ball, with shape ``(outcome + 1, ball, past)``. The
            row of an outcome has the decrease of the log-odds. The last row has the divergence in
            nats.
        places: the place numbers of the past balls, as returned by
            `attnlens.cricket.predictor.predictor.places`. The shape is ``(ball, past)``.
        subjects: the class of each ball's explained outcome, with shape ``(ball,)``.
        signs: the claimed effect of past balls on the explained outcome's probability: 1 to raise,
            -1 to lower. The shape is ``(ball,)``.
    """

    changes: Floats
    places: Integers
    subjects: Integers
    signs: Floats


@one_thread()
def hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> HidingEffects | None:
    """Measure the effect of hiding each past ball alone, for a sample of balls.

    Returns:
        The effects, or ``None`` if no ball has enough earlier balls in its innings.
    """
    changes: list[Floats] = []
    where: list[Integers] = []
    subjects: list[int] = []
    signs: list[float] = []
    for number, position in sample(innings, balls, seed):
        arrays = innings[number].arrays
        batch = window_batch(arrays, position)
        removed = remove_each(partial(under_masks, model, batch), position)
        full, singles = removed.full, removed.singles[-RECENT:]
        odds = [
            log_odds(full, [outcome]) - log_odds(singles, [outcome]) for outcome in range(len(full))
        ]
        changes.append(np.stack([*odds, removed.effects[-RECENT:]]))
        usual = np.exp(arrays.usual[position].astype(float))
        outcome = int(arrays.outcome[position])
        subject, lowers = chosen_subject(full, usual, OUTCOMES[outcome] if outcome >= 0 else None)
        subjects.append(OUTCOME_INDEX[subject])
        signs.append(-1.0 if lowers else 1.0)
        past = slice(position - RECENT, position)
        where.append(
            places(
                np.arange(RECENT, 0, -1),
                arrays.batter[past] == arrays.batter[position],
                arrays.bowler[past] == arrays.bowler[position],
            )
        )
    if not changes:
        return None
    return HidingEffects(np.stack(changes, 1), np.stack(where), np.array(subjects), np.array(signs))


def store_hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> None:
    """Call `hiding_effects`, and store the result of `effect_tables` in the model's buffers."""
    hidden = hiding_effects(model, innings, balls=balls, seed=seed)
    if hidden is None:
        return
    usual, quantiles = effect_tables(hidden)
    model.usual_effects.copy_(torch.from_numpy(usual))
    model.effect_quantiles.copy_(torch.from_numpy(quantiles))


def effect_tables(hidden: HidingEffects) -> tuple[Floats, Floats]:
    """Return the content of `FullModel`'s buffers ``usual_effects`` and ``effect_quantiles``."""
    usual, standardised = _standardised(hidden.changes, hidden.places)
    # The change of the explained outcome in the claimed direction, in standard deviations of that
    # outcome's changes at the place.
    rows = np.arange(len(hidden.subjects))
    deviation = usual[hidden.subjects[:, None], hidden.places, 1]
    claimed = hidden.signs[:, None] * hidden.changes[hidden.subjects, rows] / deviation
    usual_claimed, of_claimed = _standardised(claimed[None], hidden.places)
    quantiles = np.quantile(np.concatenate([standardised, of_claimed]), EFFECT_LEVELS, axis=1).T
    return np.concatenate([usual, usual_claimed]), quantiles


def _standardised(changes: Floats, places_of: Integers) -> tuple[Floats, Floats]:
    """Standardise each change by the mean and standard deviation at the ball's place.

    Moments at a place are shrunk towards moments at the distance. Moments at a distance are shrunk
    towards moments over all balls.

    Args:
        changes: the changes, with shape ``(kind, ball, past)``.
        places_of: the place number of each past ball, with shape ``(ball, past)``.

    Returns:
        The means and standard deviations, with shape ``(kind, place, 2)``. The standardised changes
        have shape ``(kind, ball * past)``.
    """
    where = places_of.ravel()
    kinds = len(changes)
    values = changes.reshape(kinds, -1)
    count = np.bincount(where, minlength=PLACES)
    moments = []
    for power in (values, values**2):
        total = np.stack([np.bincount(where, row, minlength=PLACES) for row in power])
        everywhere = power.mean(1)[:, None, None]
        by_distance, balls = (
            part.reshape(*part.shape[:-1], len(DISTANCES), -1).sum(-1, keepdims=True)
            for part in (total, count)
        )
        by_distance = (by_distance + _SHRINKAGE * everywhere) / (balls + _SHRINKAGE)
        each = total.reshape(kinds, len(DISTANCES), -1) + _SHRINKAGE * by_distance
        moments.append((each / (count.reshape(len(DISTANCES), -1) + _SHRINKAGE)).reshape(kinds, -1))
    mean, square = moments
    deviation = np.sqrt(np.maximum(square - mean**2, _LEAST_VARIANCE))
    return np.stack([mean, deviation], -1), (values - mean[:, where]) / deviation[:, where]
