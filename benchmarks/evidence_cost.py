"""What evidence and heat maps cost, in bare forward passes of the same model.

    python benchmarks/evidence_cost.py [--match MATCH] [--ball 47] [--innings 1] [--rounds 7]

All the evidence for one ball (contributions, single balls, every claim on the model or on its head,
the second operator) beside the bare forward pass of that ball, a batch of them, for one is soon
over; and the recorded pass that gives every ball's heat maps of every scale, and what the dashboard
sends of them, beside the bare pass over every innings. Ratios are taken within a round; the table
gives medians and ranges. CPU of this process, one thread. Exit 1 where one is over its budget.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import torch

from attnlens.cricket.explain.evidence import gather_evidence
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.explain.showing import read_encoded, shown_innings
from attnlens.cricket.match.naming import find_ball
from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.tensors import encode_innings
from attnlens.cricket.model.trained import load_predictor
from attnlens.cricket.model.window import one_thread, window_for
from attnlens.cricket.readers import read_match

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
BUDGETS = {"all evidence of a ball": 20.0, "heat maps of every ball": 3.0}
PASSES = 20


def cpu_seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def measured(ways: Mapping[str, Callable[[], object]], rounds: int, passes: int) -> bool:
    """Print each way's time and its ratio to the first, which does ``passes``; whether all hold."""
    for work in ways.values():
        work()
    taken = [[cpu_seconds(work) for work in ways.values()] for _ in range(rounds)]
    passed = True
    for at, name in enumerate(ways):
        seconds = [row[at] / (1 if at else passes) for row in taken]
        ratios = [one / (row[0] / passes) for one, row in zip(seconds, taken, strict=True)]
        told = f"{median(ratios):6.2f} x ({min(ratios):.2f}-{max(ratios):.2f})"
        if name in BUDGETS:
            held = median(ratios) <= BUDGETS[name]
            passed &= held
            told += f"  budget {BUDGETS[name]:g} x  {'pass' if held else 'FAIL'}"
        print(f"  {name:<26}{1000 * median(seconds):9.1f} ms CPU {told}")
    return passed


@one_thread()
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--match", default=str(SAMPLE), metavar="MATCH")
    parser.add_argument("--ball", default="47", metavar="BALL")
    parser.add_argument("--innings", type=int, default=1, metavar="N")
    parser.add_argument("--model", default=None, metavar="PATH")
    parser.add_argument("--outcome", default=None, metavar="OUTCOME")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    options = parser.parse_args()
    predictor, match = load_predictor(options.model), read_match(options.match)
    window = window_for(match, find_ball(match, options.ball, options.innings), predictor)
    reading = read_ball(predictor, window)
    sides = [side for side in match.innings if side.deliveries]
    encoded = [encode_innings(match, side, predictor.ratings, predictor.base) for side in sides]
    batches = [training_batch([one])[0] for one in encoded]

    def bare(some: list[object]) -> None:
        with torch.no_grad():
            for batch in some:
                predictor.model(batch)

    print(f"{len(window.past)} past balls; {options.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    of_a_ball: dict[str, Callable[[], object]] = {
        "bare forward of a ball": lambda: bare([window.batch] * PASSES),
        "all evidence of a ball": lambda: gather_evidence(
            predictor, window, reading, outcome=options.outcome
        ),
    }
    of_all: dict[str, Callable[[], object]] = {
        "bare forward of all": lambda: bare(list(batches)),
        "heat maps of every ball": lambda: [read_encoded(one, predictor) for one in encoded],
        "what the dashboard sends": lambda: [
            json.dumps(shown_innings(match, side.number, predictor)) for side in sides
        ],
    }
    passed = [measured(of_a_ball, options.rounds, PASSES), measured(of_all, options.rounds, 1)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
