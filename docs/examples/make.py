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
from typing import Any

from attnlens.cricket.explain import explain_ball
from attnlens.cricket.naming import find_ball
from attnlens.cricket.readers import read_match
from attnlens.cricket.trained import load_predictor
from attnlens.files import write_text
from attnlens.render.markdown import escape
from attnlens.render.parts import presentable
from attnlens.render.plain import render_summary
from attnlens.render.terminal import render_terminal

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


def best_verdict(data: dict[str, Any]) -> str:
    """The best that any claim about past balls came to."""
    found = {claim["verdict"] for claim in data["evidence"] if claim["removed"]}
    order = ("supported", "not better than chance", "contradicted")
    return next((verdict for verdict in order if verdict in found), "a picture only")


def page(data: dict[str, Any], asked: str) -> str:
    """One example: its narrative, its summary, and the page of a terminal."""
    match, ball = data["match"], data["ball"]
    teams, day = " v ".join(match["teams"]), match["dates"][0]
    text = render_terminal(data, width=WIDTH, color=False, outcome=data["prediction"]["explained"])
    # The strip tells every ball of the window; here only the balls that are spoken of are kept.
    blocks = [block for block in text.split("\n\n") if "ball by ball" not in block.split("\n")[0]]
    text = "\n\n".join(blocks)
    words = "\n\n".join(escape(sentence["text"]) for sentence in data["narrative"])
    return (
        f"# {escape(ball['bowler'])} to {escape(ball['batter'])}\n\n"
        f"{escape(teams)}, {escape(match['venue'] or '')}, {day} · {escape(ball['echo'])}\n\n"
        f"{words}\n\n"
        f"**Summary.** {escape(render_summary(data))}\n\n"
        f"```text\n$ {asked}\n\n{text}\n```\n\n"
        "Data: [Cricsheet](https://cricsheet.org). [All examples](README.md).\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", help="Cricsheet's t20s_male_json.zip")
    options = parser.parse_args()
    predictor = load_predictor("measured")
    rows = []
    for number, (name, match_id, ball, outcome) in enumerate(BALLS, 1):
        match = read_match(f"{options.archive}::{match_id}.json")
        data = explain_ball(match, find_ball(match, ball), predictor, outcome=outcome)
        shown = presentable(data)
        file = f"{number:02d}-{name}.md"
        write_text(FOLDER / file, page(shown, command(match_id, ball, outcome)))
        told = shown["ball"]
        rows.append(
            f"| [{escape(told['bowler'])} to {escape(told['batter'])}]({file}) "
            f"| {escape(' v '.join(shown['match']['teams']))}, {shown['match']['dates'][0]} "
            f"| {told['score']}/{told['wickets']} | {best_verdict(data)} |"
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
