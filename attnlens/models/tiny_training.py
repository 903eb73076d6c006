"""Training the reference model ``tiny`` on a task whose answer is known: partners.

Two tokens are *partners* where they make nine: 0 and 9, 1 and 8, and so on. Every token is to be
answered by its partner where that is among the tokens, else by itself::

    python -m attnlens.models.tiny_training --out tiny.safetensors

The task needs no positions, and attention can solve it in one way only that is easy to read:
every token looks for its partner. The same seed gives the same weights on the same machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.models.tiny import TinyTransformer, save_tiny

SUM: Final = 9
"""What partners make."""

SEED: Final = 1
STEPS: Final = 6000
BATCH: Final = 1024
RATE: Final = 0.02


def answers(tokens: Tensor) -> Tensor:
    """What is right for tokens ``(batch, place)``, same shape."""
    return torch.where(partners(tokens).any(-1), SUM - tokens, tokens)


def partners(tokens: Tensor) -> Tensor:
    """``(batch, place, place)``: true where the second is a partner of the first."""
    return tokens[:, None, :] == SUM - tokens[:, :, None]


def every_input(model: TinyTransformer) -> Tensor:
    """All that can come in, ``(vocabulary ** context, context)``."""
    token = torch.arange(model.E.shape[0])
    return torch.cartesian_prod(*[token] * model.context)


def accuracy(model: TinyTransformer) -> tuple[float, float]:
    """Share of right answers over all inputs, and of inputs with five right answers."""
    tokens = every_input(model)
    with torch.no_grad():
        right = model(tokens).argmax(-1) == answers(tokens)
    return float(right.float().mean()), float(right.all(-1).float().mean())


def train_tiny(
    seed: int = SEED, steps: int = STEPS, report: Callable[[str], None] = lambda _: None
) -> TinyTransformer:
    """A model trained on tokens drawn at random, on one thread.

    Args:
        report: is told the loss now and then.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _trained(steps, report)
    finally:
        torch.set_num_threads(threads)


def _trained(steps: int, report: Callable[[str], None]) -> TinyTransformer:
    model = TinyTransformer()
    vocabulary, context = model.E.shape[0], model.context
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, total_steps=steps, pct_start=0.1
    )
    for step in range(1, steps + 1):
        tokens = torch.randint(vocabulary, (BATCH, context))
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), answers(tokens).flatten())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        optimiser.step()
        schedule.step()
        if step % 1000 == 0 or step == steps:
            report(f"step {step}: loss {float(loss.detach()):.5f}")
    return model.eval()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of this module."""
    parser = argparse.ArgumentParser(
        prog="python -m attnlens.models.tiny_training",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--out", metavar="FILE", required=True, help="the checkpoint to write")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"default {SEED}")
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help=f"default {STEPS}")
    options = parser.parse_args(arguments)
    if options.steps < 1 or options.seed < 0:
        parser.error("give 1 step or more, and a seed from 0")
    from attnlens.errors import AttnlensError
    from attnlens.files import check_writable

    try:
        check_writable(options.out)
        model = train_tiny(options.seed, options.steps, lambda text: print(text, file=sys.stderr))
        places, inputs = accuracy(model)
        card = {"task": "partners", "seed": options.seed, "steps": options.steps}
        save_tiny(options.out, model, card | {"accuracy": places, "inputs_right": inputs})
    except AttnlensError as error:
        print(f"attnlens: {error}", file=sys.stderr)
        return 2
    count = len(every_input(model))
    print(f"{places:.2%} of answers right, {inputs:.2%} of all {count:,} inputs without an error")
    print(f"{os.fspath(options.out)} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
