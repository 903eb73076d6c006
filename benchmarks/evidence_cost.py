"""What all the evidence for one ball costs, in bare forward passes of one ball.

::

    python benchmarks/evidence_cost.py [--match MATCH] [--ball 47] [--innings 1] [--rounds 7]

Each round times the bare forward pass (a batch of them, for one is soon over) and then all the
evidence for the same ball: contributions, single balls, every claim on the model or on its head,
and the second operator. The ratio is taken within the round; the table gives the median and the
range. CPU of this process, one thread. Exit 1 where the median is over the budget.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attnlens.cricket.explain.evidence import gather_evidence
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.match.naming import find_ball
from attnlens.cricket.model.trained import load_predictor
from attnlens.cricket.model.window import one_thread, window_for
from attnlens.cricket.readers import read_match

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
BUDGET = 20
PASSES = 20


def cpu_seconds(work: Callable[[], Any]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


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
    predictor = load_predictor(options.model)
    match = read_match(options.match)
    window = window_for(match, find_ball(match, options.ball, options.innings), predictor)
    reading = read_ball(predictor, window)

    def bare() -> None:
        with torch.no_grad():
            for _ in range(PASSES):
                predictor.model(window.batch)

    bare()
    ask = partial(gather_evidence, predictor, window, reading, outcome=options.outcome)
    found = ask()
    passes, whole = [], []
    for _ in range(options.rounds):
        passes.append(cpu_seconds(bare) / PASSES)
        whole.append(cpu_seconds(ask))
    ratios = [all_of_it / one for one, all_of_it in zip(passes, whole, strict=True)]
    middle = statistics.median(ratios)
    print(
        f"ball {window.delivery.index} of innings {window.innings.number}, {len(window.past)} past "
        f"balls, {len(found.tested)} claims tested; {options.rounds} rounds, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    for name, taken in (("bare forward", passes), ("all evidence", whole)):
        low, high = 1000 * min(taken), 1000 * max(taken)
        print(f"  {name:<16}{1000 * statistics.median(taken):9.1f} ms CPU ({low:.1f}-{high:.1f})")
    print(f"  masks asked about {sum(found.spent.values())}")
    print(
        f"  {middle:.1f} x the bare forward ({min(ratios):.1f}-{max(ratios):.1f})  budget "
        f"{BUDGET} x  {'pass' if middle <= BUDGET else 'FAIL'}"
    )
    return 0 if middle <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
