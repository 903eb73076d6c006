"""Whether sentences with references are kept where true, and dropped where a fault is planted.

    python benchmarks/references.py [match.csv ...] --balls 20

Ten sentences a ball, in turn from `TRUE`, words of direction chosen by the ball's own figures; then
the same with one fault planted in each way of `FAULTS` that the sentence has room for. Exit status
1 where fewer than 99% of the faults are caught or more than 2% of the true sentences refused.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.session import Session
from attnlens.cricket.words.references import THINGS, references_of

SENTENCES = 10
TRUE = (
    "{bowler} runs in to {batter} with {batting_team} on {score}.",
    "{batter} has {batter.runs} from {batter.balls}, and {non_striker} watches from the other end.",
    "A STORY comes up in {p.STORY} of forecasts for this delivery; the usual figure for such a "
    "scoreboard is {p.STORY.usual}.",
    "That makes {outcome} [likelier|less likely] than usual: {p.STORY} against {p.STORY.usual}.",
    "The model still thinks {likeliest} the most likely result of {ball}.",
    "Compared with what is usual, {g1.what} [adds:g1|takes away:g1] {g1.points}, the largest share "
    "of the difference.",
    "Hide {c1.balls} and the chance of {outcome} {c1.move}; the test's answer is {c1.verdict}.",
    "Take {c2.what} away and the figure goes from {c2.before} to {c2.after}, a finding that is "
    "{c2.verdict}.",
    "With {c1.what} out of sight the chance [rises:c1|falls:c1] to {c1.after} from {c1.before}, "
    "which is {c1.verdict}.",
    "In the end it was {happened}, which had been given {p.happened}.",
    "{batting_team} went from {win.before} to {win.after} to win the match.",
    "Before this, {bowler} had figures of {bowler.figures} and the over had gone for {over_runs}.",
    "It is {over} of {innings}, at {venue}, and the {phase} are where both sides must take stock.",
    "Nobody should read too much into it, but {g2.what} moves the chance by {g2.points}.",
    "The partnership stands at {partnership}, the last few balls having gone {latest}.",
    "{bowling_team} would settle for {happened} here, and {happened} is what they got.",
    "Wickets are rarely far away, though: the forecast has one falling with a chance of "
    "{p.wicket}.",
    "Sixes are at {p.six} and fours at {p.four}, while a dot ball is at {p.dot}.",
    "What would a single be worth a bet at? {p.single}, says the forecast.",
    "There are {balls_left} balls left in the innings for {batter} and {non_striker}.",
)
ELSEWHERE = {"six": "dot ball", "dot": "six", "single": "wicket", "wicket": "four", "four": "six"}
Plant = Callable[[str, dict[str, str], Explanation], str | None]


def filled(sentence: str, story: str, texts: dict[str, str]) -> str | None:
    """A sentence of `TRUE` for a ball, or nothing where the ball lacks an id of it."""
    sentence = sentence.replace("STORY", story).replace("{p.no_ball", "{p.no_ball")

    def chosen(match: re.Match[str]) -> str:
        up, name = (match[1].partition(":")[0], match[1].partition(":")[2])
        down = match[2].partition(":")[0]
        if name.startswith("g"):
            return up if texts[f"{name}.points"].startswith("+") else down
        ends = (
            (f"p.{story}.usual", f"p.{story}") if not name else (f"{name}.before", f"{name}.after")
        )
        first, second = (float(texts[one].rstrip("%")) for one in ends)
        return up if second > first else down if second < first else "stays"

    try:
        told = re.sub(r"\[([^|]*)\|([^\]]*)\]", chosen, sentence)
    except KeyError:
        return None
    known = all(name in texts for name in re.findall(r"\{([^}]+)\}", told))
    return told.replace("no_ball", "no-ball", 1) if known and "stays" not in told else None


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
    "another of its players": lambda s, _, e: put(s, "{bowler}", e.history[0].bowler if e.history else "Ali"),
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
    "another phase": lambda s, _, e: f"{s[:-1]} in the {'powerplay' if e.ball.over > 7 else 'death overs'}.",
}  # fmt: skip


def balls_of(sources: list[str], count: int) -> Iterator[Explanation]:
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
        turn = number * 7 % len(TRUE)
        told = (filled(one, story, texts) for one in (*TRUE[turn:], *TRUE[:turn]))
        for sentence in [one for one in told if one][:SENTENCES]:
            true += 1
            told_back = references.told(sentence)
            refused += [told_back] if told_back.faults else []
            for kind, plant in FAULTS.items():
                wrong = plant(sentence, texts, explanation)
                unfit = "{c1." in (wrong or "") and texts.get("c1.verdict") == "supported"
                if wrong and wrong != sentence and not (unfit and "cause" in kind):
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
