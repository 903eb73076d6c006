"""Does attention point at the step that a forecast depends on? Series whose lag is known.

    python benchmarks/planted_lags.py [--nets 5] [--series 400] [--only 1 2]

Each series is of one of eight kinds, which the network is told; its next value depends on the step
that lies the kind's own lag back, and on noise. Networks train for seconds, each from a seed of its
own. A method scores every known step of new series; a hit is where the true one comes first.
Intervals are over networks and series drawn anew; costs are CPU of one thread, beside a forward.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import attnlens
from attnlens.attention.flow import rollout
from attnlens.recording.time_series import steps
from attnlens.reference.transformer import EncoderBlock, Seq2SeqSizes

STEPS, WIDTH, NOISE = 24, 32, 0.5
LAGS = torch.tensor([1, 2, 4, 7, 11, 14, 18, 23])
TRAINED, BATCH = 600, 128
SIZES = Seq2SeqSizes(1, 1, STEPS + 1, 1, width=WIDTH, heads=2, d_ff=64, dropout=0.0)


@dataclass(frozen=True)
class Setting:
    """Networks, and what their series are like.

    Attributes:
        layers: of attention.
        recurrent: whether a recurrent layer reads the steps first.
        carried: how much of a value the next one keeps.
        steep: the target is tanh of so many times the true value; 0: the value itself.
    """

    name: str
    layers: int = 1
    recurrent: bool = False
    carried: float = 0.9
    steep: float = 4.0


SETTINGS = (
    Setting("one layer; independent values, a linear target", carried=0.0, steep=0.0),
    Setting("one layer; values carried on, a target that saturates"),
    Setting("two layers; the same series", 2),
    Setting("a recurrent layer, then two; the same series", 2, recurrent=True),
)


class Forecaster(nn.Module):
    """Values ``(series, step)`` and kinds ``(series,)`` to the next value ``(series,)``."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.recurrent = nn.GRU(WIDTH, WIDTH, batch_first=True) if setting.recurrent else None
        self.value, self.kind = nn.Linear(1, WIDTH), nn.Embedding(len(LAGS), WIDTH)
        self.place = nn.Parameter(0.5 * torch.randn(STEPS, WIDTH))
        self.layers = nn.ModuleList(EncoderBlock(SIZES) for _ in range(setting.layers))
        self.next = nn.Linear(WIDTH, 1)

    def forward(self, values: Tensor, kinds: Tensor) -> Tensor:
        known = self.value(values[..., None]) + self.place
        if self.recurrent is not None:
            known = known + self.recurrent(known)[0]
        states = torch.cat([known, self.kind(kinds)[:, None]], 1)
        for layer in self.layers:
            states = layer(states, torch.tensor(False))
        return self.next(states[:, -1])[:, 0]


def series(count: int, setting: Setting) -> tuple[Tensor, Tensor, Tensor]:
    """Values, kinds and targets."""
    shocks, kept = torch.randn(count, STEPS), setting.carried
    values = [shocks[:, 0]]
    for step in range(1, STEPS):
        values.append(kept * values[-1] + math.sqrt(1 - kept**2) * shocks[:, step])
    known, kinds = torch.stack(values, 1), torch.randint(len(LAGS), (count,))
    true = known.gather(1, STEPS - LAGS[kinds][:, None])[:, 0]
    target = torch.tanh(setting.steep * true) if setting.steep else true
    return known, kinds, target + NOISE * torch.randn(count)


def trained(setting: Setting, seed: int) -> Forecaster:
    torch.manual_seed(seed)
    net = Forecaster(setting)
    adam = torch.optim.Adam(net.parameters())
    ease = torch.optim.lr_scheduler.OneCycleLR(adam, 5e-3, TRAINED)
    for _ in range(TRAINED):
        values, kinds, target = series(BATCH, setting)
        loss = nn.functional.mse_loss(net(values, kinds), target)
        adam.zero_grad()
        loss.backward()
        adam.step()
        ease.step()
    return net.eval()


def by_attention(net: Forecaster, values: Tensor, kinds: Tensor) -> Tensor:
    """What the forecast looks at in the last layer, mean of the heads."""
    with torch.no_grad(), attnlens.record(net, rows=-1) as recording:
        net(values, kinds)
    names = steps(STEPS)
    last = recording.records()[-1].labelled(key=[*names, "kind"])
    return last.sel(key=list(names)).weights.mean(1)[:, 0]


def by_rollout(net: Forecaster, values: Tensor, kinds: Tensor) -> Tensor:
    """Attention of all layers, and the ways past them (Abnar & Zuidema 2020)."""
    with torch.no_grad(), attnlens.record(net) as recording:
        net(values, kinds)
    layers = [one.weights.numpy() for one in recording.records()]
    return torch.from_numpy(rollout(layers, rows=[-1]))[:, 0, :STEPS]


def by_hiding(net: Forecaster, values: Tensor, kinds: Tensor) -> Tensor:
    """How far the forecast moves where a step is put to 0, the mean of all series."""
    with torch.no_grad():
        plain = net(values, kinds)
        moved = [(net(values * kept, kinds) - plain).abs() for kept in 1 - torch.eye(STEPS)]
    return torch.stack(moved, 1)


def by_gradient(net: Forecaster, values: Tensor, kinds: Tensor) -> Tensor:
    """How fast the forecast moves with a step."""
    given = values.clone().requires_grad_()
    return torch.autograd.grad(net(given, kinds).sum(), given)[0].abs()


def by_gradient_times_attention(net: Forecaster, values: Tensor, kinds: Tensor) -> Tensor:
    """Each weight of the last layer times what the forecast gains by it (Chefer et al. 2021)."""
    kept: list[Tensor] = []
    probe: Any = net.layers[-1].get_submodule("self_attention.probe")
    hook = probe.register_forward_hook(lambda *told: kept.append(told[-1]))
    forecast = net(values, kinds).sum()
    hook.remove()
    gain = torch.autograd.grad(forecast, kept[0])[0]
    return (gain * kept[0]).detach()[:, :, -1, :STEPS].sum(1).abs()


METHODS = {
    "attention, last layer": (by_attention, "1"),
    "attention rollout": (by_rollout, "1"),
    "hiding each step": (by_hiding, f"{STEPS + 1}"),
    "gradient": (by_gradient, "1, and back"),
    "gradient × attention": (by_gradient_times_attention, "1, and back"),
}


def interval(hits: Any) -> tuple[float, float]:
    """95% of the mean of ``(network, series)``, networks and series drawn anew."""
    draws, (nets, count) = np.random.default_rng(0), hits.shape
    chosen = (
        (draws.integers(nets, size=nets), draws.integers(count, size=count)) for _ in range(2000)
    )
    low, high = np.quantile([hits[np.ix_(*one)].mean() for one in chosen], (0.025, 0.975))
    return float(low), float(high)


def cost(score: Any, net: Forecaster, values: Tensor, kinds: Tensor) -> float:
    """CPU of a method in forwards of the same series, the median of rounds."""
    ratios = []
    for _ in range(9):
        times = [time.process_time()]
        for way in (lambda: net(values, kinds), lambda: score(net, values, kinds)):
            for _ in range(5):
                way()
            times.append(time.process_time())
        ratios.append((times[2] - times[1]) / (times[1] - times[0]))
    return statistics.median(ratios)


def told(setting: Setting, nets: int, count: int) -> None:
    """Train networks of a setting, put every method to their series, print the table."""
    hits: dict[str, list[Any]] = {name: [] for name in METHODS}
    errors, start = [], time.process_time()
    for seed in range(nets):
        net = trained(setting, seed)
        values, kinds, target = series(count, setting)
        with torch.no_grad():
            errors.append(float(((net(values, kinds) - target) ** 2).mean()) / NOISE**2)
        for name, (score, _) in METHODS.items():
            first = score(net, values, kinds).argmax(1) == STEPS - LAGS[kinds]
            hits[name].append(first.numpy())
    print(
        f"\n{setting.name}: error {min(errors):.2f} to {max(errors):.2f}, "
        f"{(time.process_time() - start) / nets:.0f} s CPU a network\n\n"
        f"| | hits, % | worst, best network | forwards | CPU of {count} series | of one |\n"
        "|---|---:|---:|---:|---:|---:|"
    )
    for name, (score, forwards) in METHODS.items():
        rates = 100 * np.array(hits[name])
        low, high = interval(rates)
        many, one = (cost(score, net, values[:n], kinds[:n]) for n in (count, 1))
        print(
            f"| {name} | {rates.mean():.1f} [{low:.1f}, {high:.1f}] | {rates.mean(1).min():.0f}, "
            f"{rates.mean(1).max():.0f} | {forwards} | {many:.1f} | {one:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nets", type=int, default=5)
    parser.add_argument("--series", type=int, default=400)
    parser.add_argument("--only", type=int, nargs="+", default=range(1, len(SETTINGS) + 1))
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"a hit by chance: {100 / STEPS:.1f}%; an error of 1.00 is all noise")
    for place in options.only:
        told(SETTINGS[place - 1], options.nets, options.series)


if __name__ == "__main__":
    main()
