"""Measure the time to explain a ball, and how many balls are forecast per second.

    python benchmarks/ball_costs.py evidence [--match MATCH] [--ball 47] [--rounds 7]
    python benchmarks/ball_costs.py maps [--match MATCH]
    python benchmarks/ball_costs.py speed [--model measured] [--matches 32]

`evidence` measures all evidence for one ball: the contributions, the effects of single past balls,
every claim about the model or a head, and the second operator. `maps` measures the recorded pass
that gives the heat maps of all balls of a match, and the packed JSON that the dashboard sends.
These times are divided by the time of a plain forward pass in the same round. The median and the
range of the ratios are printed. `speed` measures forecasts of simulated innings in batches. The
innings are encoded before the clock starts.

All times are CPU times of one thread. The exit status is 1 if a median exceeds its budget.
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
from typing import Any

import torch

from attnlens.cricket.explain.claims import gather_evidence
from attnlens.cricket.explain.innings_data import read_encoded, shown_innings
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.naming import find_ball
from attnlens.cricket.predictor.tensors import encode_innings
from attnlens.cricket.predictor.trained import load_predictor
from attnlens.cricket.predictor.window import one_thread, training_batch, window_for
from attnlens.cricket.readers import read_match

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
BUDGETS = {"evidence": 20.0, "maps": 3.0}
AIM = 20_000
Ways = dict[str, Callable[[], object]]


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def evidence(predictor: Any, options: argparse.Namespace) -> Ways:
    match = read_match(options.match)
    window = window_for(match, find_ball(match, options.ball, options.innings), predictor)
    reading = read_ball(predictor, window)
    found = gather_evidence(predictor, window, reading)
    masks = sum(found.n_evaluations.values())
    print(f"{len(window.past)} past balls, {len(found.tests)} claims tested, {masks} masks")
    return {
        "bare forward": torch.no_grad()(lambda: predictor.model(window.batch)),
        "evidence": lambda: gather_evidence(predictor, window, reading),
    }


def maps(predictor: Any, options: argparse.Namespace) -> Ways:
    match = read_match(options.match)
    sides = [side for side in match.innings if side.deliveries]
    encoded = [encode_innings(match, side, predictor.ratings, predictor.base) for side in sides]
    batches = [training_batch([one])[0] for one in encoded]
    print(f"{sum(len(side.deliveries) for side in sides)} balls")
    return {
        "bare forward": torch.inference_mode()(lambda: [predictor.model(one) for one in batches]),
        "maps": lambda: [read_encoded(one, predictor) for one in encoded],
        "what the dashboard sends": lambda: [
            json.dumps(shown_innings(match, side.number, predictor)) for side in sides
        ],
    }


def beside_forwards(what: str, ways: Ways, rounds: int) -> bool:
    """Time several ways in turn, print their table, and return whether the budget is met."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, work in ways.items():
            seconds = cpu(work)
            if number:  # the first round only warms up
                taken[name].append(seconds)
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f}; median (range)")
    middles = {}
    for name, spent in taken.items():
        ratios = [one / base for one, base in zip(spent, taken["bare forward"], strict=True)]
        middles[name] = statistics.median(ratios)
        print(
            f"  {name:<26}{1000 * statistics.median(spent):8.1f} ms CPU  {middles[name]:6.2f} x "
            f"({min(ratios):.2f}-{max(ratios):.2f})"
        )
    passed = middles[what] <= BUDGETS[what]
    print(f"  {what}: budget {BUDGETS[what]:g} x  {'pass' if passed else 'FAIL'}")
    return passed


def speed(predictor: Any, options: argparse.Namespace) -> None:
    """Print the balls per second in the fastest round. Other programs disturbed it least."""
    matches = [simulate_match(seed) for seed in range(options.matches)]
    innings = sorted(
        (
            encode_innings(match, side, predictor.ratings, predictor.base)
            for match in matches
            for side in match.innings
        ),
        key=len,
    )
    batches = [training_batch(innings[at : at + 32])[0] for at in range(0, len(innings), 32)]
    with torch.inference_mode():
        predictor.model(batches[0])
        seconds = [
            cpu(lambda: [predictor.model(batch) for batch in batches])
            for _ in range(options.rounds)
        ]
    balls = sum(map(len, innings))
    verdict = "reached" if balls / min(seconds) >= AIM else "not reached"
    print(f"{balls:,} balls: {balls / min(seconds):,.0f} a second; aim {AIM:,}: {verdict}")


@one_thread()
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=(*BUDGETS, "speed"))
    parser.add_argument("--match", default=str(SAMPLE), metavar="MATCH")
    parser.add_argument("--ball", default="47", metavar="BALL")
    parser.add_argument("--innings", type=int, default=1, metavar="N")
    parser.add_argument("--model", metavar="PATH")
    parser.add_argument("--matches", type=int, default=32, metavar="N")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    options = parser.parse_args()
    predictor = load_predictor(options.model)
    if options.what == "speed":
        speed(predictor, options)
        return 0
    ways = {"evidence": evidence, "maps": maps}[options.what](predictor, options)
    return 0 if beside_forwards(options.what, ways, options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
