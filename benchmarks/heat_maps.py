"""What heat maps of every scale and head cost for all balls of a match, beside a bare forward.

    python benchmarks/heat_maps.py [--match MATCH] [--rounds 9]

Each round runs, over every innings of the match, the model alone on innings that are already
encoded; the recorded pass that gives every ball's heat maps of every scale, in two views; and what
the dashboard sends, all of that packed. CPU of one thread; a ratio is taken within its round, the
table gives the median and the range. Exit 1 where the median is over the budget.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from attnlens.cricket.explain.showing import read_encoded, shown_innings
from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.tensors import encode_innings
from attnlens.cricket.model.trained import load_predictor
from attnlens.cricket.readers import read_match

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
BUDGET = 3.0


def cpu(work: Callable[[], object]) -> float:
    """Seconds of this process's CPU."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--match", default=str(SAMPLE), metavar="MATCH")
    parser.add_argument("--rounds", type=int, default=9, metavar="N")
    options = parser.parse_args()
    torch.set_num_threads(1)
    predictor, match = load_predictor(), read_match(options.match)
    sides = [side for side in match.innings if side.deliveries]
    encoded = [encode_innings(match, side, predictor.ratings, predictor.base) for side in sides]
    batches = [training_batch([one])[0] for one in encoded]

    def bare() -> None:
        with torch.inference_mode():
            for batch in batches:
                predictor.model(batch)

    ways: dict[str, Callable[[], object]] = {
        "bare forward": bare,
        "heat maps": lambda: [read_encoded(one, predictor) for one in encoded],
        "what the dashboard sends": lambda: [
            json.dumps(shown_innings(match, side.number, predictor)) for side in sides
        ],
    }
    for work in ways.values():
        work()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, work in ways.items():
            taken[name].append(cpu(work))
    balls = sum(len(side.deliveries) for side in sides)
    load = os.getloadavg()[0]
    print(f"{balls} balls, {options.rounds} rounds, load {load:.1f}; median (range)")
    middle = 0.0
    for name, seconds in taken.items():
        ratios = [one / base for one, base in zip(seconds, taken["bare forward"], strict=True)]
        ratio = statistics.median(ratios)
        if name == "heat maps":
            middle = ratio
        print(
            f"  {name:<26}{1000 * statistics.median(seconds):7.0f} ms CPU  {ratio:5.2f} x "
            f"({min(ratios):.2f}-{max(ratios):.2f})"
        )
    passed = middle <= BUDGET
    print(f"  heat maps: budget {BUDGET:g} x  {'pass' if passed else 'FAIL'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
