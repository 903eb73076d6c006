"""How ball stories read: length, outcomes, evidence, sentence frames, over balls of later matches.

    python benchmarks/stories.py MATCHES... [--model measured] [--balls 200]

The balls are drawn evenly, with a fixed seed, from matches after the checkpoint's dates. A frame is
a sentence of the narrative with its facts taken out.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.pages.ball_page import render_ball
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session

WIDTH = 80
SEED = 11
DULL, BOUNDARY = frozenset({"0", "1"}), frozenset({"4", "6", "W"})
CAUSES = ("because", "due to", "thanks to", "caused", "led to", "driven by", "momentum")


def drawn(matches: list[Match], balls: int) -> Iterator[tuple[Match, BallReference]]:
    """Balls of as many matches as there are, one of each in turn."""
    generator = random.Random(SEED)
    generator.shuffle(matches)
    for at in range(balls):
        match = matches[at % len(matches)]
        places = [
            BallReference(innings.number, ball.index)
            for innings in match.innings
            for ball in innings.deliveries
        ]
        yield match, generator.choice(places)


def frame(text: str, facts: list[str]) -> str:
    """A sentence with its facts taken out, in the order of reading."""
    told, rest = "", text
    for fact in facts:
        before, _, rest = rest.partition(fact)
        told += f"{before}_"
    return told + rest


def unfounded(explanation: Explanation) -> list[str]:
    """Sentences that name a cause; none of ours may."""
    return [
        sentence.text
        for sentence in explanation.narrative
        if any(word in sentence.text.lower() for word in CAUSES)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matches", nargs="+")
    parser.add_argument("--model", default="measured")
    parser.add_argument("--balls", type=int, default=200)
    options = parser.parse_args()
    session = Session(options.model)
    until = session.predictor.card["trained_until"]
    every = [match for source in options.matches for match in read_matches(source)]
    matches = [one for one in every if one.dates and one.dates[0].isoformat() > until]
    if not matches:
        print(f"no match after {until}", file=sys.stderr)
        return 1
    lines: list[int] = []
    widest = about = tested = claims = causes = silent = attentive = 0
    words: list[int] = []
    outcomes: Counter[str] = Counter()
    frames: Counter[str] = Counter()
    for match, ball in drawn(matches, options.balls):
        told = session.explain(match, ball=ball)
        page = render_ball(told, width=WIDTH, color=False).splitlines()
        lines.append(len(page))
        widest = max(widest, *map(len, page))
        silent += not told.summary
        attentive += any(line.startswith(("  all heads", "Attention: no ball")) for line in page)
        story = told.prediction.subject
        outcomes[str(story)] += 1
        claims += len(told.evidence)
        about += sum(one.outcome == story for one in told.evidence)
        tested += any(one.verdict == "supported" for one in told.evidence)
        causes += len(unfounded(told))
        words.append(sum(len(one.text.split()) for one in told.narrative))
        frames.update({frame(one.text, [f.text for f in one.facts]) for one in told.narrative})
    count = options.balls
    share = {
        kind: sum(outcomes[name] for name in names) / count
        for kind, names in (("dull", DULL), ("boundary", BOUNDARY))
    }
    words.sort()
    commonest, times = frames.most_common(1)[0]
    print(f"{count} balls of {len(matches)} matches after {until}, {session.predictor.name}\n")
    print("| | |\n|---|---|")
    print(
        f"| lines of the default page, {WIDTH} columns: median, most | "
        f"{sorted(lines)[count // 2]}, {max(lines)} |"
    )
    print(f"| widest line | {widest} |")
    print(f"| pages with attention | {attentive / count:.0%} |")
    print(f"| empty summaries | {silent} |")
    print(f"| claims about the story's outcome | {about / claims:.0%} of {claims} |")
    print(f"| sentences that name a cause | {causes} |")
    print(f"| stories about dots and singles | {share['dull']:.0%} |")
    print(f"| about a boundary or a wicket | {share['boundary']:.0%} |")
    print(f"| with a supported claim | {tested / count:.0%} |")
    print(
        f"| words of the narrative: least, median, most | {words[0]}, {words[count // 2]}, "
        f"{words[-1]} |"
    )
    print(f"| most frequent frame | {times / count:.0%}: {commonest} |")
    for text, times in frames.most_common(6)[1:]:
        print(f"| next | {times / count:.0%}: {text} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
