"""Is hiding fair? What a model says with balls hidden, beside one that never saw such balls.

    python benchmarks/retraining.py t20s_male_json.zip --model base.safetensors \
        --never all=never_any.safetensors --never batter=never_batter.safetensors

Each of the others was trained as the first was, but for `--set hide_all=1`, `hide_batter=1` or
`hide_bowler=1`: it knows all that a model can know without those balls. Where the first one, with
the same balls hidden, forecasts as well, hiding took away what the balls tell and broke nothing
else. Printed are log-losses on all matches after the training, with 95% intervals over matches.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import torch

from attnlens.arrays import Floats
from attnlens.cricket.lab.evaluate import AT_ONCE, SEED
from attnlens.cricket.lab.figures import Figure
from attnlens.cricket.lab.fit import hide_own
from attnlens.cricket.lab.held_out import EncodedInnings, held_out
from attnlens.cricket.predictor.relations import Batch
from attnlens.cricket.predictor.trained import load_predictor
from attnlens.cricket.predictor.window import one_thread, training_batch

LOST = ("all", "batter", "bowler")


def lose(batch: Batch, lost: str) -> None:
    """Hide past balls from every ball of every innings."""
    if lost == "all":
        for name in ("visible", "shared"):
            batch["sequence"][name] = torch.zeros_like(batch["sequence"][name])
    else:
        hide_own(batch, "batter" if lost == "batter" else "bowler")


def log_losses(name: str, sources: Sequence[str], lost: str | None) -> tuple[Floats, list[str]]:
    """Of every ball ``(ball,)``, and its match."""
    held = held_out(load_predictor(name), sources)
    judged: list[EncodedInnings] = list(held.innings())
    losses = []
    for start in range(0, len(judged), AT_ONCE):
        some = [one.arrays for one in judged[start : start + AT_ONCE]]
        with one_thread(), torch.no_grad():
            batch, outcome = training_batch(some)
            if lost is not None:
                lose(batch, lost)
            said = held.predictor.model(batch).double().log_softmax(-1)
        real = outcome >= 0
        losses.append(-said[real].gather(-1, outcome[real][:, None])[:, 0].numpy())
    return np.concatenate(losses), [one.match_id for one in judged for _ in range(len(one.arrays))]


def with_interval(figure: Figure) -> str:
    """A mean difference and its interval."""
    low, high = figure.ci or (float("nan"), float("nan"))
    return f"{figure.value:+.4f} [{low:+.4f}, {high:+.4f}]"


def main() -> None:
    """Print a row for every kind of ball that was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--model", required=True)
    parser.add_argument("--never", action="append", required=True, metavar="LOST=CHECKPOINT")
    options = parser.parse_args()
    others = [one.partition("=")[::2] for one in options.never]
    if not {lost for lost, _ in others} <= set(LOST):
        sys.exit(f"retraining.py: --never takes one of {', '.join(LOST)}, =, and a checkpoint")
    intact, matches = log_losses(options.model, options.sources, None)
    print(f"{len(intact):,} balls, {len(set(matches))} matches, intact {intact.mean():.4f}\n")
    print("| without | hidden costs | never seen costs | hidden minus never seen |")
    print("|---|---|---|---|")
    for lost, name in others:
        hidden, _ = log_losses(options.model, options.sources, lost)
        never, _ = log_losses(name, options.sources, lost)
        rows = (hidden - intact, never - intact, hidden - never)
        what = "all balls" if lost == "all" else f"the {lost}'s balls"
        cells = [with_interval(Figure.mean(row, matches, SEED)) for row in rows]
        print(f"| {what} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
