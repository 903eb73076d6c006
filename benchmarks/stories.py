"""Count the lines, the words of the narrative and the supported claims on pages of random balls.

    python benchmarks/stories.py MATCHES... [--model measured] [--balls 200]

The balls are sampled with a fixed seed from matches that were played after the training dates of
the checkpoint.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from statistics import median

from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.pages.ball_page import render_ball
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session

WIDTH = 80
SEED = 11


def sample(matches: list[Match], balls: int) -> Iterator[tuple[Match, BallReference]]:
    """Yield random balls. Each match in turn gives one ball."""
    generator = random.Random(SEED)
    generator.shuffle(matches)
    for number in range(balls):
        match = matches[number % len(matches)]
        places = [
            BallReference(innings.number, ball.index)
            for innings in match.innings
            for ball in innings.deliveries
        ]
        yield match, generator.choice(places)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matches", nargs="+")
    parser.add_argument("--model", default="measured")
    parser.add_argument("--balls", type=int, default=200)
    options = parser.parse_args()
    session = Session(options.model)
    until = session.predictor.card["trained_until"]
    every = [match for source in options.matches for match in read_matches(source)]
    matches = [match for match in every if match.dates and match.dates[0].isoformat() > until]
    if not matches:
        print(f"no match after {until}", file=sys.stderr)
        return 1
    lines: list[int] = []
    words: list[int] = []
    supported = 0
    subjects: Counter[str] = Counter()
    for match, ball in sample(matches, options.balls):
        explanation = session.explain(match, ball=ball)
        lines.append(len(render_ball(explanation, width=WIDTH, color=False).splitlines()))
        words.append(sum(len(sentence.text.split()) for sentence in explanation.narrative))
        supported += any(claim.verdict == "supported" for claim in explanation.evidence)
        subjects[str(explanation.prediction.subject)] += 1
    print(f"{options.balls} balls of {len(matches)} matches after {until}, {options.model}\n")
    print("| | |\n|---|---|")
    for name, counts in (("lines of the default page", lines), ("words of the narrative", words)):
        print(f"| {name}: min, median, max | {min(counts)}, {median(counts):g}, {max(counts)} |")
    print(f"| pages with a supported claim | {supported / options.balls:.0%} |")
    for subject, count in subjects.most_common():
        print(f"| subject {subject} | {count / options.balls:.0%} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
