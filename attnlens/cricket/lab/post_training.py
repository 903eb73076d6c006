"""What is fitted after the network and beside it: the value of states, and two corrections.

A gate says how much of a path reaches the prediction, not how much the balls on it change. So a
sum over paths counts each by a number under which the sum orders the past balls most as hiding each
of them alone does (`path_counts`). And hiding a ball says something of the ball only beside what
hiding a ball in its place does usually (`usual_effects`). Both are no part of the forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import paths_of
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.lab.sampling import sample
from attnlens.cricket.predictor.predictor import DISTANCES, PATHS, PLACES, FullModel, places
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.tensors import Encoded
from attnlens.cricket.predictor.win import WinModel, contest_of, states_before, won
from attnlens.cricket.predictor.window import one_thread, window_batch
from attnlens.cricket.readers.history import Report, silent
from attnlens.evidence.faithfulness import ranks, remove_each
from attnlens.files import Floats, Integers

_EPOCHS: Final = 10
_AT_ONCE: Final = 8192
_LEARNING_RATE: Final = 0.1
_TOTAL_WEIGHT: Final = 0.02
"""Weight of the totals that first innings came to, beside who won."""


WinRows = dict[str, Floats]
"""States before every ball of decided matches, columns ``(rows,)`` by name; nothing of none.

``chase``: whether the side bats second; ``needed``: runs to win then, else 0; ``left`` and
``bowled``: legal balls; ``runs`` to ``wickets_other``: `attnlens.cricket.predictor.win.Strength`;
``more``: runs that the innings still brought; ``won``: by the batting side, a half for a tie.
"""


def win_rows(encoded: Sequence[EncodedInnings]) -> WinRows:
    """The rows of innings that have a winner; others are left out."""
    parts: list[WinRows] = []
    for innings in encoded:
        match, side, strength = innings.match, innings.side, innings.strength
        contest, label = contest_of(match, side), won(match, side.batting_team)
        if contest is None or label is None:
            continue
        states = states_before(side, contest.quota)
        same = {
            "chase": float(contest.chase),
            "runs": strength.runs,
            "wicket_rate": strength.wickets,
            "runs_other": strength.runs_other,
            "wickets_other": strength.wickets_other,
            "won": label,
        }
        parts.append(
            {
                **{name: np.full(len(states.score), value) for name, value in same.items()},
                "needed": np.maximum(contest.target - states.score, 0),
                "score": states.score,
                "left": states.left,
                "bowled": contest.quota - states.left,
                "wickets": states.wickets,
                "more": float(side.total) - states.score,
            }
        )
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def fit_win(rows: WinRows, *, seed: int, report: Report = silent) -> WinModel:
    """A value network fitted on all rows."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = WinModel()
    columns = {name: torch.from_numpy(values.astype(np.float32)) for name, values in rows.items()}
    n_rows = len(rows["won"])
    optimiser = torch.optim.Adam(model.parameters(), lr=_LEARNING_RATE)
    steps = _EPOCHS * -(-n_rows // _AT_ONCE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _LEARNING_RATE, total_steps=steps)
    for epoch in range(_EPOCHS):
        total = 0.0
        for chosen in torch.split(torch.randperm(n_rows, generator=generator), _AT_ONCE):
            loss = win_loss(model, {name: value[chosen] for name, value in columns.items()})
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            schedule.step()
            total += float(loss.detach()) * len(chosen)
        report(f"value of states, pass {epoch + 1}/{_EPOCHS}: loss {total / n_rows:.4f}")
    return model.eval()


def win_loss(model: WinModel, rows: dict[str, Tensor]) -> Tensor:
    """Cross-entropy of who won, and of first innings the misfit of their totals besides."""
    second = rows["chase"] > 0

    def columns(chosen: Tensor, *names: str) -> list[Tensor]:
        return [rows[name][chosen] for name in names]

    state_names = ("score", "left", "bowled", "wickets", "runs", "wicket_rate")
    losses = nn.functional.binary_cross_entropy_with_logits(
        model.chasing(*columns(second, "needed", *state_names)),
        rows["won"][second],
        reduction="sum",
    )
    state = columns(~second, *state_names)
    winning = model.setting(*state, *columns(~second, "runs_other", "wickets_other"))
    losses = losses + nn.functional.binary_cross_entropy(
        winning.clamp(1e-5, 1 - 1e-5), rows["won"][~second], reduction="sum"
    )
    mean, deviation = model.remaining(*state)
    misfit = nn.functional.gaussian_nll_loss(
        mean, rows["more"][~second], deviation**2, reduction="sum", eps=1.0
    )
    loss: Tensor = (losses + _TOTAL_WEIGHT * misfit) / len(second)
    return loss


_COUNT_STEPS: Final = 300
_COUNT_RATE: Final = 0.05
_MIN_ATTENTION: Final = 1e-5
"""Attention below this is as good as none."""

_SHRINKAGE: Final = 30.0
"""Balls at a distance, whoever played them, that each place's mean is mixed with."""


@dataclass(frozen=True, slots=True, eq=False)
class HidingEffects:
    """The last balls before each of a sample ``(ball, past)``.

    ``ways`` is each path's attention to them ``(ball, path, past)``, ``effects`` the nats that
    hiding each alone costs, ``places`` where each stands.
    """

    ways: Floats
    effects: Floats
    places: Integers


@one_thread()
def hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> HidingEffects | None:
    """Hide every past ball of a sample, one at a time; ``None`` where no innings is long enough."""
    ways: list[Floats] = []
    effects: list[Floats] = []
    where: list[Integers] = []
    for number, position in sample(innings, balls, seed):
        arrays = innings[number].arrays
        batch = window_batch(arrays, position)
        with torch.no_grad():
            paths = paths_of(model, batch, model.predict(batch))
        removed = remove_each(partial(under_masks, model, batch), position)
        ways.append(paths.attention_each()[:, -RECENT:])
        effects.append(removed.effects[-RECENT:])
        past = slice(position - RECENT, position)
        where.append(
            places(
                np.arange(RECENT, 0, -1),
                arrays.batter[past] == arrays.batter[position],
                arrays.bowler[past] == arrays.bowler[position],
            )
        )
    if not ways:
        return None
    return HidingEffects(np.stack(ways), np.stack(effects), np.stack(where))


def store_hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> None:
    """Put what hiding the balls before a sample of ``balls`` shows into the model's buffers."""
    hidden = hiding_effects(model, innings, balls=balls, seed=seed)
    model.path_counts.copy_(path_counts(hidden))
    model.usual_effects.copy_(usual_effects(hidden))


def path_counts(hidden: HidingEffects | None) -> Tensor:
    """How much each path's attention counts ``(path,)``: their mean is 1; all are 1 for none."""
    if hidden is None:
        return torch.ones(len(PATHS))
    ways = torch.from_numpy(hidden.ways)
    target = _unit(torch.from_numpy(np.stack([ranks(row) for row in hidden.effects])))
    logs = torch.zeros(len(PATHS), dtype=torch.double, requires_grad=True)
    optimiser = torch.optim.Adam([logs], lr=_COUNT_RATE)
    for _ in range(_COUNT_STEPS):
        scores = torch.log(torch.einsum("p,bpk->bk", logs.exp(), ways) + _MIN_ATTENTION)
        agreement = (_unit(scores) * target).sum(-1).mean()
        optimiser.zero_grad()
        torch.autograd.backward(-agreement)
        optimiser.step()
    counts = logs.detach().exp()
    return (counts / counts.mean()).float()


def _unit(rows: Tensor) -> Tensor:
    """Rows about their mean, of length 1."""
    centred = rows - rows.mean(-1, keepdim=True)
    return torch.nn.functional.normalize(centred, dim=-1)


def usual_effects(hidden: HidingEffects | None) -> Tensor:
    """The mean effect by place, nats ``(place,)``; all are 1 for none.

    Places with few balls lean to the mean of their distance.
    """
    if hidden is None:
        return torch.ones(PLACES)
    where, effects = hidden.places.ravel(), hidden.effects.ravel()
    count = np.bincount(where, minlength=PLACES).reshape(len(DISTANCES), -1)
    total = np.bincount(where, effects, minlength=PLACES).reshape(count.shape)
    by_distance = total.sum(1, keepdims=True) / np.maximum(count.sum(1, keepdims=True), 1)
    by_distance[count.sum(1) == 0] = effects.mean()
    means = (total + _SHRINKAGE * by_distance) / (count + _SHRINKAGE)
    return torch.from_numpy(means.ravel()).float()
