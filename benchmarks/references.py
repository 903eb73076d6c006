"""Whether sentences with references are kept where true, and dropped where a fault is planted.

    python benchmarks/references.py [match.csv ... or explanations.jsonl] --balls 20

Ten sentences a ball, in turn from references.txt: STORY is the outcome that the ball is about, and
of [likelier|less likely] the one that its figures bear out is taken. Then the same with one fault
planted in each way of `FAULTS` that a sentence has room for. Exit status 1 where fewer than 99% of
the faults are caught or more than 2% of the true sentences refused.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.session import Session
from attnlens.cricket.words.references import THINGS, references_of

SENTENCES = 10
TRUE = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
ELSEWHERE = {"six": "dot ball", "dot": "six", "single": "wicket", "wicket": "four", "four": "six"}
PHASES = ("death overs", "powerplay")
Plant = Callable[[str, dict[str, str], Explanation], str | None]


def filled(sentence: str, story: str, texts: dict[str, str]) -> str | None:
    """A sentence for a ball, or nothing where the ball lacks an id of it."""
    spoken = re.sub(r"\b([Aa]) STORY", rf"\1 {story.replace('_', '-')}", sentence)
    told = spoken.replace("STORY", story)

    def chosen(match: re.Match[str]) -> str:
        up, _, name = match[1].partition(":")
        pair = (f"{name}.before", f"{name}.after") if name else (f"p.{story}.usual", f"p.{story}")
        figures = (
            ["0", texts[f"{name}.points"]] if name[:1] == "g" else [texts[one] for one in pair]
        )
        first, second = (float(re.search(r"[-+]?[\d.]+", one)[0]) for one in figures)
        return "" if first == second else up if second > first else match[2].partition(":")[0]

    known = all(name in texts for name in re.findall(r"\{([^}]+)\}", told))
    told = re.sub(r"\[([^|]*)\|([^\]]*)\]", chosen, told) if known else ""
    return told if told and "  " not in told else None


def put(sentence: str, old: str, new: str) -> str | None:
    return sentence.replace(old, new, 1) if old in sentence else None


def before_end(words: str) -> Plant:
    return lambda sentence, *_: f"{sentence[:-1]}{words}{sentence[-1]}"


FAULTS: dict[str, Plant] = {
    "a figure in digits": lambda s, t, _: (
        (name := re.search(r"\{(p\.\w+|score|c\d\.after|\w+\.runs)\}", s))
        and s.replace(name[0], f"{{batter}} {t[name[1]]}")
    ),
    "a number in words": before_end(" for the third time"),
    "a name of the match": lambda s, t, _: put(s, "{batter}", t["batter"].split()[-1]),
    "another of its players": lambda s, _, e: put(s, "{bowler}", e.ball.non_striker),
    "a name from elsewhere": lambda s, *_: f"Kohli knows that {s[0].lower()}{s[1:]}",
    "a name in the middle": before_end(", as Stokes would say"),
    "a verdict": before_end(", which is supported"),
    "a claim without its verdict": lambda s, *_: put(s, "{c2.verdict}", "worth a mention"),
    "another verdict": lambda s, *_: put(s, "{c1.verdict}", "well confirmed"),
    "a cause": before_end(", because {g1.what} counts"),
    "a cause by another word": before_end(" thanks to {c1.what}"),
    "a direction": lambda s, *_: next(
        (s.replace(a, b) for a, b in (("less likely", "likelier"), ("likelier", "less likely"),
         ("rises", "falls"), ("falls", "rises"), ("adds", "takes away"), ("takes away", "adds"))
         if a in s), None),
    "an unknown id": lambda s, *_: re.sub(r"\{(\w+)", r"{no_\1", s, count=1),
    "another outcome": lambda s, *_: next(
        (re.sub(rf"\ba {one}\b", f"a {two}", s, flags=re.I) for one, two in ELSEWHERE.items()
         if re.search(rf"\ba {one}\b", s, re.I)), None),
    "no reference at all": lambda s, *_: re.sub(r"\{[^}]+\}", "it", s),
    "another phase": lambda s, _, e: f"{s[:-1]} in the {PHASES[e.ball.over > 7]}.",
}  # fmt: skip


def balls_of(sources: list[str], count: int) -> Iterator[Explanation]:
    if sources[0].endswith(".jsonl"):
        lines = Path(sources[0]).read_text("utf-8").splitlines()
        yield from map(Explanation.from_json, lines[:count])
        return
    session = Session(None)
    matches = [session.read(source) for source in sources]
    sides = [(match, side) for match in matches for side in match.innings[:2]]
    for at in range(count):
        match, side = sides[at % len(sides)]
        index = 1 + (at * 37) % len(side.deliveries)
        yield session.explain(match, ball=BallReference(side.number, index))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matches", nargs="*", default=["sample_data/match.csv"])
    parser.add_argument("--balls", type=int, default=20)
    options = parser.parse_args()
    true, refused = 0, []
    planted, caught, missed = Counter[str](), Counter[str](), []
    for number, explanation in enumerate(balls_of(options.matches, options.balls)):
        references, texts = references_of(explanation), dict(explanation.references())
        story = THINGS[explanation.prediction.story_outcome or explanation.prediction.top]
        turn = number * 11 % len(TRUE)
        told = (filled(one, story, texts) for one in TRUE[turn:] + TRUE[:turn])
        for sentence in [one for one in told if one][:SENTENCES]:
            true += 1
            told_back = references.told(sentence)
            refused += [told_back] if told_back.faults else []
            for kind, plant in FAULTS.items():
                wrong = plant(sentence, texts, explanation)
                true_too = "supported" in texts.values() and re.search("cause|claim", kind)
                if wrong and wrong != sentence and not true_too:
                    planted[kind] += 1
                    found = references.told(wrong).faults
                    caught[kind] += bool(found)
                    missed += [] if found else [(kind, wrong)]
    for kind in FAULTS:
        print(f"{kind:26} {caught[kind]:5} of {planted[kind]:5}")
    all_caught, all_planted = sum(caught.values()), sum(planted.values())
    print(f"{'faults caught':26} {all_caught:5} of {all_planted:5}  {all_caught / all_planted:.1%}")
    print(f"{'true sentences refused':26} {len(refused):5} of {true:5}  {len(refused) / true:.1%}")
    for one in refused[:20]:
        print("refused:", one.written, "|", "; ".join(one.faults), file=sys.stderr)
    for kind, wrong in missed[:20]:
        print(f"missed ({kind}):", wrong, file=sys.stderr)
    return int(all_caught < 0.99 * all_planted or len(refused) > 0.02 * true)


if __name__ == "__main__":
    sys.exit(main())
