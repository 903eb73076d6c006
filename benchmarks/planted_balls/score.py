"""Score methods on PlantedBalls, and print one row for each Parquet file.

::

    python benchmarks/planted_balls/score.py mine.parquet [more.parquet ...]

A file has the scores of one method. It has a row for every past ball of every example, and three
columns. ``example`` is the id of the example. ``past`` is the index of the past ball in the
innings, from 1. ``score`` is higher if the method says that the past ball mattered more. The README
defines the printed figures. They are means over examples, with 95% intervals over matches.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from make import TRUTH

from attnlens.cricket.lab.figures import Mean
from attnlens.errors import AttnlensError, InputError
from attnlens.evidence.faithfulness import auc, matched_auc, ranks

SEED: Final = 5
ALIKE: Final[dict[str, list[str]]] = {
    "same distance": [],
    "same players": ["same_batter", "same_bowler"],
    "same event": ["event"],
}
"""The comparisons of a planted ball with decoys at similar distances. In each comparison, the
decoys also have the values of the planted ball in the listed columns."""

FIGURES: Final = (*ALIKE, "less recency", "any ball", "top ball", "rank")


def example_figures(past: pd.DataFrame, scores: np.ndarray[Any, Any]) -> dict[str, float]:
    """Return the figures of one example, by name. Figures for which it has no decoys are left out.

    Args:
        past: the rows of the example in the truth, oldest ball first.
        scores: the score of each past ball, ``(past,)``.
    """
    planted = past["planted"].to_numpy()
    recency = -past["distance"].to_numpy(float)
    found: dict[str, float | None] = {"any ball": auc(scores, planted)}
    for name, alike in ALIKE.items():
        groups = past.groupby(alike).ngroup().to_numpy() if alike else None
        found[name] = matched_auc(scores, planted, groups)
    if (same := found["same distance"]) is not None:
        found["less recency"] = same - (matched_auc(recency, planted) or 0.0)
    top = scores == scores.max()
    found["top ball"] = float(planted[top].mean())
    found["rank"] = float(ranks(-scores)[past["nats"].to_numpy().argmax()])
    return {name: value for name, value in found.items() if value is not None}


def figures(truth: pd.DataFrame, scores: pd.DataFrame) -> dict[str, Mean]:
    """Return the `FIGURES` of a method.

    Args:
        truth: the content of ``truth.parquet``.
        scores: the result of `read_scores`.
    """
    whole = truth.merge(scores, on=["example", "past"], how="left", sort=False)
    each, matches = [], []
    for example, past in whole.groupby("example", sort=False):
        each.append(example_figures(past, past["score"].to_numpy(float)))
        matches.append(str(example).split("/")[1])
    rows = {name: [at for at, one in enumerate(each) if name in one] for name in FIGURES}
    return {
        name: Mean.of([each[at][name] for at in some], [matches[at] for at in some], SEED)
        for name, some in rows.items()
    }


def read_scores(path: str | Path, truth: pd.DataFrame) -> pd.DataFrame:
    """Read the file of a method. It must have one finite score for every past ball.

    Raises:
        InputError: the file cannot be read, or scores are missing, repeated or not finite.
    """
    try:
        scores = pd.read_parquet(path)
    except Exception as error:  # the errors of pyarrow have no common base class
        raise InputError(
            f"is no Parquet file that can be read ({type(error).__name__})", path=path
        ) from error
    keys = ["example", "past"]
    for name in (*keys, "score"):
        if name not in scores:
            raise InputError(f"has no column {name!r}", path=path, remedy=f"it has {[*scores]}")
        if name != "example" and not pd.api.types.is_numeric_dtype(scores[name]):
            raise InputError(f"has a {name} that is no number", path=path)
    scores = scores[[*keys, "score"]]
    wanted, given = (pd.MultiIndex.from_frame(one[keys]) for one in (truth, scores))
    wrongs = {
        "has a ball twice": given[given.duplicated()],
        "has a ball that is not asked about": given.difference(wanted, sort=False),
        "lacks a score": wanted.difference(given, sort=False),
        "has a score that is not finite": given[~np.isfinite(scores["score"].to_numpy(float))],
    }
    for what, balls in wrongs.items():
        if len(balls):
            example, past = balls[0]
            raise InputError(
                f"{what}: {example}, past {past}, and {len(balls) - 1} more", path=path
            )
    return scores


def header(found: dict[str, Mean]) -> str:
    """Return the heading of the table. It includes the number of examples for each figure."""
    names = [f"{name} ({one.balls})" for name, one in found.items()]
    return f"| method | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}"


def line(name: str, found: dict[str, Mean]) -> str:
    """Return the table row of one method."""
    cells = []
    for figure, one in found.items():
        sign, digits = ("+", 3) if figure == "less recency" else ("", 1 if figure == "rank" else 3)
        if one.mean is None or one.ci is None:
            cells.append("–")
            continue
        value, low, high = (f"{end:{sign}.{digits}f}" for end in (one.mean, *one.ci))
        cells.append(f"{value} [{low}, {high}]")
    return f"| {name} | " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="a method's scores, as Parquet")
    options = parser.parse_args(arguments)
    truth = pd.read_parquet(TRUTH)
    try:
        given = {Path(path).stem: read_scores(path, truth) for path in options.files}
    except AttnlensError as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    for number, (name, scores) in enumerate(given.items()):
        found = figures(truth, scores)
        print(line(name, found) if number else f"{header(found)}\n{line(name, found)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
