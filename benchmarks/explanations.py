"""How long the prompts of sampled balls are.

    python benchmarks/explanations.py sampled.jsonl --draw t20s_male_json.zip --from 2024-10-24 \
        --model measured --balls 500
    python benchmarks/explanations.py sampled.jsonl

Drawn are balls of many matches, first balls, super overs and balls not yet bowled too, one in ten
asked about one outcome; the seed is fixed, lines are written as they are worked out. Told is how
long their prompts are, by attnlens's own bound (`prompt_tokens.py` counts by tokenizers). Exit
status 1 where one is too long.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import statistics
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.pages.prompt import prompt_of
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session
from attnlens.errors import AttnlensError
from attnlens.render.prompt_template import MOST_TOKENS


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sample", help="explanations, one JSON line each")
    parser.add_argument("--draw", metavar="SRC", help="write the sample, of these matches")
    parser.add_argument("--from", dest="first", type=datetime.date.fromisoformat)
    parser.add_argument("--model")
    parser.add_argument("--balls", type=int, default=500)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    return draw(options) if options.draw else prompts(read_sample(options.sample))


def draw(options: argparse.Namespace) -> int:
    """Write a sample."""
    matches = [
        match
        for match in read_matches(options.draw, on_error="skip")
        if options.first is None or (match.date is not None and match.date >= options.first)
    ]
    balls = explained(matches, model=options.model, balls=options.balls, seed=options.seed)
    with open(options.sample, "w", encoding="utf-8") as file:
        for data in balls:
            print(json.dumps(data, ensure_ascii=False), file=file, flush=True)
    print(f"drawn from {len(matches)} matches: {options.sample}")
    return 0


def prompts(sample: Iterable[dict[str, Any]]) -> int:
    """How long prompts are; 1 where one is too long."""
    tokens: list[int] = []
    for data in sample:
        tokens.append(prompt_of(Explanation.from_dict(data)).tokens)
    over = sum(count > MOST_TOKENS for count in tokens)
    print(f"prompts {len(tokens)}, longer than {MOST_TOKENS:,} tokens by the bound: {over}")
    print(f"tokens by the bound: median {statistics.median(tokens):,.0f}, most {max(tokens):,}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
