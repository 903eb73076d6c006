"""Fitting the value of states (`attnlens.cricket.model.win`) on how matches ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.arrays import Floats
from attnlens.cricket.model.match_states import contest_of, states_before, won
from attnlens.cricket.model.win import WinModel
from attnlens.cricket.study.held_out import EncodedInnings

EPOCHS: Final = 10
AT_ONCE: Final = 8192
LEARNING_RATE: Final = 0.1
TOTAL_WEIGHT: Final = 0.02
"""Weight of the totals that first innings came to, beside who won."""


CHASE: Final = ("needed", "score", "left", "bowled", "wickets", "runs", "wicket_rate")
"""What `WinModel.chasing` is told, in its order."""


@dataclass(frozen=True, slots=True, eq=False)
class WinRows:
    """States before every ball of decided matches, arrays ``(rows,)``.

    Attributes:
        chase: whether the side bats second.
        needed: runs to win in a chase, 0 in a first innings.
        score, left, bowled, wickets: the state; ``left`` and ``bowled`` are legal balls.
        runs, wicket_rate, runs_other, wickets_other: `attnlens.cricket.model.win.Strength`.
        more: runs that the innings still brought.
        won: whether the batting side won the match, a half for a tie.
        match: number of the match.
    """

    chase: Floats
    needed: Floats
    score: Floats
    left: Floats
    bowled: Floats
    wickets: Floats
    runs: Floats
    wicket_rate: Floats
    runs_other: Floats
    wickets_other: Floats
    more: Floats
    won: Floats
    match: Floats

    def __len__(self) -> int:
        return len(self.won)

    def rows(self, chosen: Floats) -> WinRows:
        """Some of the rows."""
        return WinRows(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


def win_rows(encoded: Sequence[EncodedInnings]) -> WinRows:
    """The rows of innings that have a winner; others are left out."""
    parts: list[list[Floats]] = []
    numbers: dict[str, int] = {}
    for one in encoded:
        contest, label = contest_of(one.match, one.side), won(one.match, one.side.batting_team)
        if contest is None or label is None:
            continue
        states = states_before(one.side, contest.quota)
        strength, total = one.strength, float(one.side.total)
        number = numbers.setdefault(one.match_id, len(numbers))
        told = (*(strength.runs, strength.wickets, strength.runs_other, strength.wickets_other),)
        count = len(states.score)
        parts.append(
            [
                np.full(count, float(contest.chase)),
                np.maximum(contest.target - states.score, 0),
                states.score,
                states.left,
                contest.quota - states.left,
                states.wickets,
                *(np.full(count, value) for value in told),
                total - states.score,
                np.full(count, label),
                np.full(count, float(number)),
            ]
        )
    if not parts:
        return WinRows(*(np.zeros(0) for _ in fields(WinRows)))
    return WinRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def fit_win(
    rows: WinRows, *, seed: int, report: Callable[[str], None] = lambda _: None
) -> WinModel:
    """A value network fitted on all rows."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = WinModel()
    columns = {
        field.name: torch.from_numpy(getattr(rows, field.name).astype(np.float32))
        for field in fields(rows)
    }
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    steps = EPOCHS * -(-len(rows) // AT_ONCE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    for epoch in range(EPOCHS):
        total = 0.0
        for chosen in torch.split(torch.randperm(len(rows), generator=generator), AT_ONCE):
            loss = win_loss(model, {name: value[chosen] for name, value in columns.items()})
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            schedule.step()
            total += float(loss.detach()) * len(chosen)
        report(f"value of states, pass {epoch + 1}/{EPOCHS}: loss {total / len(rows):.4f}")
    return model.eval()


def win_loss(model: WinModel, rows: dict[str, Tensor]) -> Tensor:
    """Cross-entropy of who won, and of first innings the misfit of their totals besides."""
    second = rows["chase"] > 0

    def of(some: Tensor, *names: str) -> list[Tensor]:
        return [rows[name][some] for name in names]

    chased = of(second, *CHASE)
    losses = nn.functional.binary_cross_entropy_with_logits(
        model.chasing(*chased), rows["won"][second], reduction="sum"
    )
    state = of(~second, "score", "left", "bowled", "wickets", "runs", "wicket_rate")
    chances = model.setting(*state, *of(~second, "runs_other", "wickets_other"))
    losses = losses + nn.functional.binary_cross_entropy(
        chances.clamp(1e-5, 1 - 1e-5), rows["won"][~second], reduction="sum"
    )
    mean, deviation = model.remaining(*state)
    misfit = nn.functional.gaussian_nll_loss(
        mean, rows["more"][~second], deviation**2, reduction="sum", eps=1.0
    )
    loss: Tensor = (losses + TOTAL_WEIGHT * misfit) / len(second)
    return loss
