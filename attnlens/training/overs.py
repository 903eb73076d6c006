"""``attnlens train --model cricket``: from match files to an encoder-decoder of overs."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.batch import moved
from attnlens.cricket.match import Innings, Match
from attnlens.cricket.over_batch import Place, over_batch
from attnlens.cricket.over_features import RATED, OverArrays, encode_overs
from attnlens.cricket.over_tokens import TOKEN_INDEX, TOKENS, token_of
from attnlens.cricket.ratings import Ratings
from attnlens.cricket.seen import identities
from attnlens.cricket.trained_overs import MOST_RUNS, TrainedOvers, save_overs
from attnlens.models.cricket import PAD, OverModel, OverSizes
from attnlens.training.dataset import fit_base, ordinary, rated
from attnlens.training.loop import Loss, Steps, follow
from attnlens.training.processes import ALONE, Processes
from attnlens.training.run import Plan, Report, read_dated, split_matches, tell_written
from attnlens.training.running import Running, check_state

CHECKED_AT_ONCE = 256

SMALL: Mapping[str, int] = MappingProxyType(
    {"d": 64, "heads": 4, "d_k": 16, "ff": 256, "length": 14}
)
"""What the bundled model's sizes are where they differ from the reference configuration."""


@dataclass(frozen=True, slots=True)
class OverRecipe:
    """How to train. Every number that shapes a run is here.

    Attributes:
        overs: overs per step.
        warm_up: steps of rising learning rate, then a cosine down to ``final``.
        average: decay of the moving average of the weights that is kept.
        smoothing: share of each token's weight that is spread over all tokens.
        hide_some, hide_all: share of overs of which a random share of past balls, or all of
            them, are hidden, so that the model knows the lack of them.
        patience: epochs without a better validation log-loss before the run stops.
    """

    epochs: int = 8
    overs: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warm_up: int = 200
    final: float = 0.02
    clip: float = 1.0
    average: float = 0.998
    smoothing: float = 0.0
    hide_some: float = 0.1
    hide_all: float = 0.04
    patience: int = 3
    seed: int = 5


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """Overs to train and to check on.

    Attributes:
        train, check: each over as its innings' arrays and its row there.
    """

    train: list[Place] = field(default_factory=list)
    check: list[Place] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """What tells this material from another."""
        mark = hashlib.sha256()
        for part in (self.train, self.check):
            mark.update(repr([arrays.tokens[row] for arrays, row in part]).encode())
        return mark.hexdigest()


def train_overs(
    sources: Sequence[str],
    out: str | os.PathLike[str],
    plan: Plan,
    recipe: OverRecipe,
    *,
    state: Path | None = None,
    report: Report = lambda _: None,
    among: Processes = ALONE,
) -> TrainedOvers:
    """Read, rate, train and write a checkpoint to ``out``.

    Args:
        plan: its sizes are those that differ from `SMALL`; teachers and heads' names are not
            for this model.
        state: where to keep what a run needs to go on after it was stopped.
        among: the processes of the run; only the first one writes and reports.

    Raises:
        InputError: no matches, or none on one side of the split.
        CheckpointError: ``state`` belongs to another run.
    """
    if not among.first:
        report = _silent
    sizes = OverSizes(**{**SMALL, **plan.sizes})
    if state is not None:
        check_state(state, OverModel(sizes), recipe, {})
    matches = read_dated(sources, report)
    split = split_matches(matches, plan, sources[0])
    train_until, training, used = split.train_until, split.training, split.used
    asked = {"matches": split.mark}
    if state is not None:
        check_state(state, OverModel(sizes), recipe, asked)
    report(f"{len(training)} matches to train on; fitting what the scoreboard alone expects")
    base = fit_base(training, seed=recipe.seed)
    ratings = Ratings(kinds=RATED)
    material = material_of(
        used, lambda match, side: encode_overs(match, side, ratings, base), ratings, train_until
    )
    report(f"{len(material.train)} overs to train on, {len(material.check)} to check")
    run = fit_overs(sizes, material, recipe, state=state, asked=asked, report=report, among=among)
    card: dict[str, Any] = {
        **split.card,
        "overs_trained_on": len(material.train),
        "recipe": asdict(recipe),
        "epochs": run.history,
        "token_runs": token_runs(training).round(9).tolist(),
    }
    trained = TrainedOvers(Path(out).stem, "", run.kept, base, ratings, card, seen=identities(used))
    if among.first:
        save_overs(out, trained)
        tell_written(out, report)
    return trained


def material_of(
    matches: Sequence[Match],
    encode: Callable[[Match, Innings], OverArrays],
    ratings: Ratings,
    train_until: datetime.date,
) -> Material:
    """Every over of the matches, each with the ratings of the day before its match."""
    material = Material()
    for _, _, day, arrays in rated(matches, ratings, encode):
        part = material.train if day <= train_until else material.check
        part += [(arrays, row) for row in range(len(arrays))]
    return material


def fit_overs(
    sizes: OverSizes,
    material: Material,
    recipe: OverRecipe,
    *,
    state: Path | None = None,
    asked: Mapping[str, str] = MappingProxyType({}),
    report: Callable[[str], None] | None = None,
    among: Processes = ALONE,
) -> Running[OverModel]:
    """Train an encoder-decoder; what comes back is at the end of its run.

    Raises:
        CheckpointError: ``state`` is no run of this recipe, these sizes and overs.
        InputError: the loss became infinite or no number.
    """
    torch.manual_seed(recipe.seed)
    model = OverModel(sizes).to(among.device)
    per_epoch = -(-len(material.train) // recipe.overs)
    run = Running.new(model, recipe, recipe.epochs * per_epoch)
    mark = hashlib.sha256(repr((sizes, material.mark)).encode()).hexdigest()
    if state is not None and state.exists():
        run.go_on(state, recipe, asked, mark)

    def loss_on(rows: list[int], generator: np.random.Generator) -> Tensor:
        batch = over_batch([material.train[row] for row in rows], sizes)
        hidden = hidden_at_random(batch.padded, recipe, generator)
        told = (batch.history, hidden, batch.context, batch.given, batch.wanted)
        history, hidden, context, given, wanted = moved(told, among.device)
        return _loss(model(history, hidden, context, given), wanted, recipe.smoothing)

    def batches(epoch: int) -> Iterator[tuple[int, Loss | None]]:
        generator = np.random.default_rng([recipe.seed, epoch])
        order = _batches(material.train, recipe.overs, sizes, generator)
        if among.count > 1:
            generator = np.random.default_rng([recipe.seed, epoch, among.rank])
        for rows in order:
            mine = among.share(rows)
            tokens = sum(_length(material.train[row], sizes) for row in rows)
            yield tokens, partial(loss_on, mine, generator) if mine else None

    def measure(averaged: nn.Module) -> float:
        assert isinstance(averaged, OverModel)
        return token_log_loss(averaged, material.check, among=among)

    follow(
        run,
        recipe,
        Steps(per_epoch, batches, measure if material.check else None, unit="tokens"),
        state=state,
        mark=mark,
        asked=asked,
        report=report,
        among=among,
    )
    return run


def token_log_loss(model: OverModel, overs: Sequence[Place], *, among: Processes = ALONE) -> float:
    """Mean negative log-probability of the next token, ``<end>`` included, in nats."""
    model.eval()
    sums = torch.zeros(2, dtype=torch.float64, device=among.device)
    order = sorted(range(len(overs)), key=lambda number: _past(overs[number]))
    with torch.no_grad():
        for start in range(0, len(order), CHECKED_AT_ONCE):
            rows = among.share(order[start : start + CHECKED_AT_ONCE])
            if rows:
                batch = over_batch([overs[row] for row in rows], model.sizes)
                told = (batch.history, batch.padded, batch.context, batch.given, batch.wanted)
                history, padded, context, given, wanted = moved(told, among.device)
                sums[0] += _loss(model(history, padded, context, given), wanted, 0.0)
                sums[1] += (wanted != PAD).sum()
    total, count = among.add_up(sums).tolist()
    return float(total / max(count, 1))


def token_runs(matches: Sequence[Match]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How often the delivery of each token brought 0, 1, ... runs, ``(24, 9)``; rows sum to 1.

    A token that never came brings nothing.
    """
    counts = np.zeros((len(TOKENS), MOST_RUNS + 1))
    for match in matches:
        for side in ordinary(match):
            for ball in side.deliveries:
                counts[TOKEN_INDEX[token_of(ball)], min(ball.runs_total, MOST_RUNS)] += 1
    counts[counts.sum(1) == 0, 0] = 1
    shares: np.ndarray[Any, np.dtype[np.float64]] = counts / counts.sum(1, keepdims=True)
    return shares


def hidden_at_random(padded: Tensor, recipe: OverRecipe, generator: np.random.Generator) -> Tensor:
    """``padded``, and of some overs a random share of past balls, or all of them, hidden too."""
    rows, balls = padded.shape
    lot = generator.random(rows)
    share = np.where(lot < recipe.hide_some, generator.random(rows), 0.0)
    share[(lot >= recipe.hide_some) & (lot < recipe.hide_some + recipe.hide_all)] = 1.0
    return padded | torch.from_numpy(generator.random((rows, balls)) < share[:, None])


def _loss(logits: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
    return nn.functional.cross_entropy(
        logits.flatten(0, 1),
        wanted.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def _past(place: Place) -> int:
    return int(place[0].start[place[1]])


def _length(place: Place, sizes: OverSizes) -> int:
    return min(len(place[0].tokens[place[1]]) + 1, sizes.length)


def _batches(
    overs: Sequence[Place], size: int, sizes: OverSizes, generator: np.random.Generator
) -> list[list[int]]:
    """Batches of overs with pasts of similar length, in random order."""
    pasts = np.array([min(_past(one), sizes.history) for one in overs])
    order = np.argsort(pasts + 8 * generator.random(len(overs)))
    batches = [order[start : start + size].tolist() for start in range(0, len(order), size)]
    generator.shuffle(batches)
    return batches


def _silent(_: str) -> None:
    """For all processes but the first."""
