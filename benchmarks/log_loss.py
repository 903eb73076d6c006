"""How well a file of predictions fits what happened, with intervals over matches.

::

    attnlens predict matches.zip --from 2024-10-24 --out test.parquet
    attnlens predict matches.zip --until 2024-05-10 --out train.parquet
    python benchmarks/log_loss.py test.parquet --prior-from train.parquet

Log-loss is in nats, the mean over balls of minus the log of the probability given to what
happened. Brier is the sum over the outcomes of squared differences. ECE is the expected
calibration error of the likeliest outcome: balls fall into fifteen equally wide bins of its
probability; the distance between its mean probability and how often it came, weighted by the
balls in each bin (Guo et al. 2017). Intervals are 95%, from resampling whole matches. The prior
gives every ball the same class shares: those of ``--prior-from``, else of the file itself
(which flatters it).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas

OUTCOMES = ("0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye")
COLUMNS = [f"p_{outcome}" for outcome in OUTCOMES]
BINS = 15
SMALLEST = 1e-12
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def read(path: str) -> pandas.DataFrame:
    """A file that ``attnlens predict`` wrote."""
    if not Path(path).is_file():
        raise SystemExit(f"log_loss: {path}: no such file; write one with attnlens predict")
    if path.endswith(".parquet"):
        table = pandas.read_parquet(path)
    else:
        table = pandas.read_csv(path, dtype={"match_id": str, "label": str, "actual": str})
    missing = [name for name in ["match_id", "actual", *COLUMNS] if name not in table.columns]
    if missing:
        raise SystemExit(
            f"log_loss: {path}: no column {missing[0]}; write it with attnlens predict"
        )
    if table.empty:
        raise SystemExit(f"log_loss: {path}: holds no ball; predict other dates")
    return table


def happened(table: pandas.DataFrame) -> Integers:
    """The place of each ball's outcome among the eleven. Shape (balls,)."""
    place = {outcome: index for index, outcome in enumerate(OUTCOMES)}
    return np.asarray([place[outcome] for outcome in table["actual"]], dtype=np.int64)


def figures(chances: Floats, actual: Integers) -> dict[str, Floats]:
    """Log-loss, Brier and accuracy of each ball. ``chances`` is (balls, outcomes)."""
    rows = np.arange(len(actual))
    hit = np.zeros_like(chances)
    hit[rows, actual] = 1
    return {
        "log_loss": -np.log(np.maximum(chances[rows, actual], SMALLEST)),
        "brier": ((chances - hit) ** 2).sum(1),
        "accuracy": (chances.argmax(1) == actual).astype(np.float64),
    }


def calibration_error(chances: Floats, actual: Integers) -> float:
    """The expected calibration error, as the module's docstring defines it."""
    confidence = chances.max(1)
    right = (chances.argmax(1) == actual).astype(np.float64)
    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    distance = np.bincount(place, right - confidence, BINS)
    return float(np.abs(distance).sum() / len(actual))


def interval(values: Floats, matches: Integers, draws: int) -> tuple[float, float]:
    """The 95% interval of the mean of ``values``, resampling whole matches."""
    count = int(matches.max()) + 1
    sums = np.bincount(matches, values, count)
    balls = np.bincount(matches, minlength=count).astype(np.float64)
    generator = np.random.default_rng(5)
    means = np.empty(draws)
    for draw in range(draws):
        chosen = generator.integers(count, size=count)
        means[draw] = sums[chosen].sum() / balls[chosen].sum()
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("predictions", metavar="PREDICTIONS", help=".csv or .parquet")
    parser.add_argument("--prior-from", metavar="FILE", help="predictions to take class shares of")
    parser.add_argument("--draws", type=int, default=2000, metavar="N", help="of the bootstrap")
    options = parser.parse_args()

    table = read(options.predictions)
    actual = happened(table)
    matches = np.asarray(pandas.factorize(table["match_id"])[0], dtype=np.int64)
    chances = table[COLUMNS].to_numpy(dtype=np.float64)
    seen = actual if options.prior_from is None else happened(read(options.prior_from))
    shares = np.bincount(seen, minlength=len(OUTCOMES)).astype(np.float64)
    prior = np.tile(shares / shares.sum(), (len(actual), 1))

    told = {}
    for name, given in (("model", chances), ("prior", prior)):
        told[name] = figures(given, actual)
        parts = []
        for figure, values in told[name].items():
            low, high = interval(values, matches, options.draws)
            parts.append(f"{figure} {values.mean():.5f} [{low:.5f}, {high:.5f}]")
        print(f"{name}: {'  '.join(parts)}  ece {calibration_error(given, actual):.5f}")
    gained = told["prior"]["log_loss"] - told["model"]["log_loss"]
    low, high = interval(gained, matches, options.draws)
    print(f"prior minus model: log_loss {gained.mean():.5f} [{low:.5f}, {high:.5f}]")
    print(f"{len(actual)} balls of {matches.max() + 1} matches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
