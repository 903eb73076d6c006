"""How many balls a second the predictor expects, on one core: whole innings, many at a time.

    python benchmarks/inference.py
    python benchmarks/inference.py --model measured --matches 32 --runs 5

The innings are invented, rated and encoded before the clock starts. CPU time of one thread; the
best of the runs, since other work on the machine only adds.
"""

from __future__ import annotations

import argparse
import time

import torch

from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.tensors import encode_innings
from attnlens.cricket.model.trained import load_predictor
from attnlens.cricket.simulator.simulate import simulate_match

AIM = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a checkpoint, or `bundled` (default) or `measured`")
    parser.add_argument("--matches", type=int, default=32)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32, help="innings at a time")
    options = parser.parse_args()
    torch.set_num_threads(1)
    predictor = load_predictor(options.model)
    matches = [simulate_match(seed) for seed in range(options.matches)]
    innings = sorted(
        (
            encode_innings(match, side, predictor.ratings, predictor.base)
            for match in matches
            for side in match.innings
        ),
        key=len,
    )
    balls = sum(map(len, innings))
    batches = [
        training_batch(innings[start : start + options.batch])[0]
        for start in range(0, len(innings), options.batch)
    ]
    seconds = []
    with torch.inference_mode():
        predictor.model(batches[0])
        for _ in range(options.runs):
            started = time.process_time()
            for batch in batches:
                predictor.model(batch)
            seconds.append(time.process_time() - started)
    speed = balls / min(seconds)
    verdict = "reached" if speed >= AIM else "not reached"
    print(f"{balls:,} balls: {speed:,.0f} balls/s on one core; aim {AIM:,}: {verdict}")


if __name__ == "__main__":
    main()
