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

from attnlens.analysis.scores import (
    Bootstrap,
    brier_scores,
    calibration_error,
    hits,
    log_losses,
)

OUTCOMES = ("0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye")
COLUMNS = [f"p_{outcome}" for outcome in OUTCOMES]
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


def between(interval: tuple[float, float] | None) -> str:
    """An interval in brackets; one match alone has none."""
    return "[one match: no interval]" if interval is None else "[{:.5f}, {:.5f}]".format(*interval)


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
    bootstrap = Bootstrap(matches, draws=options.draws)
    for name, given in (("model", chances), ("prior", prior)):
        told[name] = {
            "log_loss": log_losses(given, actual),
            "brier": brier_scores(given, actual),
            "accuracy": hits(given, actual),
        }
        parts = []
        for figure, values in told[name].items():
            parts.append(f"{figure} {values.mean():.5f} {between(bootstrap.interval(values))}")
        print(f"{name}: {'  '.join(parts)}  ece {calibration_error(given, actual):.5f}")
    gained = told["prior"]["log_loss"] - told["model"]["log_loss"]
    interval = between(bootstrap.interval(gained))
    print(f"prior minus model: log_loss {gained.mean():.5f} {interval}")
    print(f"{len(actual)} balls of {matches.max() + 1} matches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
