"""Explanations of balls drawn from many matches, one JSON line each.

    python benchmarks/sample_explanations.py t20s_male_json.zip --from 2024-10-24 \
        --model measured --balls 500 --out sampled.jsonl

Every ball of every innings can be drawn, first balls and super overs too; each match's last
ball is followed by the ball not yet bowled where the file tells who plays it. One ball in ten is
asked about one outcome. The seed is fixed, and lines are written as they are worked out, so an
interrupted run can be read. Other benchmarks read the file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session
from attnlens.errors import AttnlensError


def shuffled(matches: list[Match], seed: int) -> list[tuple[Match, BallReference]]:
    """Every ball once, those after the last ones included, in an order that the seed gives."""
    found = [
        (match, BallReference(side.number, index))
        for match in matches
        for side in match.innings
        for index in range(1, len(side.deliveries) + 2)
    ]
    random.Random(seed).shuffle(found)
    return found


def explained(
    matches: list[Match], *, model: str | None, balls: int, seed: int
) -> Iterator[dict[str, Any]]:
    """So many balls' explanations; a ball of which nobody can tell who plays it is passed over."""
    session = Session(model)
    number = 0
    for match, reference in shuffled(matches, seed):
        if number == balls:
            return
        try:
            match, reference = session.ball(match, reference)
        except AttnlensError as error:
            print(
                f"passed over: {match.match_id}, the ball after the last: {error}",
                file=sys.stderr,
            )
            continue
        outcome = OUTCOMES[number // 10 % len(OUTCOMES)] if number % 10 == 9 else None
        number += 1
        yield session.explain(match, ball=reference, outcome=outcome).to_dict()


def read_sample(path: str | Path) -> Iterator[dict[str, Any]]:
    """The explanations of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--from", dest="first", type=datetime.date.fromisoformat)
    parser.add_argument("--model")
    parser.add_argument("--balls", type=int, default=500)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    matches = [
        match
        for match in read_matches(options.source, on_error="skip")
        if options.first is None or (match.date is not None and match.date >= options.first)
    ]
    count = 0
    with open(options.out, "w", encoding="utf-8") as file:
        for data in explained(matches, model=options.model, balls=options.balls, seed=options.seed):
            file.write(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")
            file.flush()
            count += 1
    print(f"{count} explanations of balls of {len(matches)} matches: {options.out}")


if __name__ == "__main__":
    sys.exit(main())
