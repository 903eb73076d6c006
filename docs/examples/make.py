"""Writes the examples of this folder: ten real balls, explained by the checkpoint `measured`.

    python docs/examples/make.py t20s_male_json.zip

The matches are Cricsheet's (https://cricsheet.org), from dates after the checkpoint's training;
nothing of them is kept here but the balls that are quoted. Index and examples are all written by
this program.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import attnlens
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.pages.parts import presentable
from attnlens.cricket.pages.story import render_story
from attnlens.files import write_text
from attnlens.show.safe import markdown

FOLDER = Path(__file__).resolve().parent
BALLS: tuple[tuple[str, str, str, str | None], ...] = (
    ("rashid-to-abhishek", "1439899", "2:47", None),
    ("pandya-to-miller", "1449303", "2:95", None),
    ("a-new-match", "1439899", "1:3", None),
    ("archer-to-lewis", "1433374", "1:20", None),
    ("asalanka-to-hay", "1443545", "2:89", None),
    ("ngarava-to-abbas", "1444654", "1:117", None),
    ("motie-to-bethell", "1433373", "2:92", None),
    ("a-six-asked-about", "1432212", "2:79", "6"),
    ("hardie-to-shaheen", "1426554", "1:101", None),
    ("archer-to-pandya", "1439901", "2:112", None),
)
"""Name of the example, match, ball, and the outcome that is asked about."""

WIDTH = 100


def command(match_id: str, ball: str, outcome: str | None) -> str:
    asked = "" if outcome is None else f" --outcome {outcome}"
    member = f"t20s_male_json.zip::{match_id}.json"
    return f"attnlens explain {member} --ball {ball} --model measured{asked}"


def best_verdict(explanation: Explanation) -> str:
    """The best that any claim about past balls came to."""
    found = {claim.verdict for claim in explanation.evidence if claim.removed}
    order = ("supported", "not better than chance", "contradicted")
    return next((verdict for verdict in order if verdict in found), "a picture only")


def page(explanation: Explanation, asked: str) -> str:
    """One example: its narrative, and the page of a terminal."""
    match, ball = explanation.match, explanation.ball
    teams, day = " v ".join(match.teams), match.dates[0]
    text = render_story(explanation, width=WIDTH, color=False)
    words = "\n\n".join(markdown(sentence.text) for sentence in explanation.narrative)
    return (
        f"# {markdown(ball.bowler)} to {markdown(ball.batter)}\n\n"
        f"{markdown(teams)}, {markdown(match.venue or '')}, {day} · {markdown(ball.echo)}\n\n"
        f"{words}\n\n"
        f"```text\n$ {asked}\n\n{text}\n```\n\n"
        "Data: [Cricsheet](https://cricsheet.org). [All examples](README.md).\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", help="Cricsheet's t20s_male_json.zip")
    options = parser.parse_args()
    session = attnlens.Session("measured")
    rows = []
    for number, (name, match_id, ball, outcome) in enumerate(BALLS, 1):
        match = f"{options.archive}::{match_id}.json"
        explanation = session.explain(match, ball=ball, outcome=outcome)
        shown = presentable(explanation)
        file = f"{number:02d}-{name}.md"
        write_text(FOLDER / file, page(shown, command(match_id, ball, outcome)))
        told = shown.ball
        rows.append(
            f"| [{markdown(told.bowler)} to {markdown(told.batter)}]({file}) "
            f"| {markdown(' v '.join(shown.match.teams))}, {shown.match.dates[0]} "
            f"| {told.score}/{told.wickets} | {best_verdict(explanation)} |"
        )
        print(file, file=sys.stderr)
    head = (
        "| ball | match | score | best verdict of a claim about past balls |\n|---|---|---|---|\n"
    )
    index = (
        "# Ten balls, explained\n\n"
        "Real balls of matches that the checkpoint `measured` had not seen, as `attnlens explain` "
        "tells them: the narrative first, then the page of a terminal (without its strip of all "
        "recent balls). Where no claim about past balls was better than chance, the words say so."
        "\n\n"
        + head
        + "\n".join(rows)
        + "\n\nMade by `python docs/examples/make.py t20s_male_json.zip` from "
        "[Cricsheet](https://cricsheet.org)'s data, compiled by Stephen Rushe.\n"
    )
    write_text(FOLDER / "README.md", index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
