"""Writes the examples of this folder: ten balls of ten competitions, explained by `measured`.

    python docs/examples/make.py FOLDER

FOLDER holds Cricsheet's archives t20s_male_json.zip, t20_leagues_male_json.zip and
t20s_female_csv2.zip (https://cricsheet.org). The matches are from dates after the checkpoint's
training; this folder contains only the quoted balls. This program writes the index and the
examples.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import attnlens
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.pages.ball_page import render_ball
from attnlens.cricket.pages.parts import presentable
from attnlens.files import write_text
from attnlens.render.safe import markdown
from attnlens.render.text_terminal import VERDICTS

FOLDER = Path(__file__).resolve().parent
LEAGUES = "t20_leagues_male_json.zip::{}.json"
INTERNATIONALS = "t20s_male_json.zip::{}.json"
WOMEN = "t20s_female_csv2.zip::{}.csv"
BALLS: tuple[tuple[str, str, str, str, str | None], ...] = (
    ("big-bash", LEAGUES, "1443079", "2:116", None),
    ("england-in-india", INTERNATIONALS, "1439901", "2:34", None),
    ("women-nepal-tri-series", WOMEN, "1468729", "2:97", None),
    ("ilt20", LEAGUES, "1462188", "2:102", None),
    ("sa20", LEAGUES, "1449650", "2:66", None),
    ("bangladesh-premier-league", LEAGUES, "1459559", "1:6", None),
    ("syed-mushtaq-ali", LEAGUES, "1446104", "2:104", None),
    ("nepal-premier-league", LEAGUES, "1462655", "1:100", "6"),
    ("super-smash", LEAGUES, "1452604", "2:99", None),
    ("world-cup-qualifier", INTERNATIONALS, "1462895", "2:5", None),
)
"""Name of the example, archive, match, ball, and the outcome in question."""

WIDTH = 80


def command(member: str, ball: str, outcome: str | None) -> str:
    asked = "" if outcome is None else f" --outcome {outcome}"
    return f"attnlens explain {member} --ball {ball} --model measured{asked}"


def best_verdict(explanation: Explanation) -> str:
    """The best verdict on any claim about past balls, in the words of the pages."""
    found = {claim.verdict for claim in explanation.evidence if claim.removed}
    order = ("supported", "not better than chance", "contradicted", "cannot be told")
    return VERDICTS[next((verdict for verdict in order if verdict in found), None)][1]


def page(explanation: Explanation, asked: str) -> str:
    """One example: its narrative and its terminal output."""
    match, ball = explanation.match, explanation.ball
    teams, day = " v ".join(match.teams), match.dates[0]
    text = render_ball(explanation, width=WIDTH, color=False)
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
    parser.add_argument("folder", help="with Cricsheet's archives")
    options = parser.parse_args()
    session = attnlens.Session("measured")
    rows = []
    for number, (name, archive, match_id, ball, outcome) in enumerate(BALLS, 1):
        member = archive.format(match_id)
        explanation = session.explain(f"{options.folder}/{member}", ball=ball, outcome=outcome)
        shown = presentable(explanation)
        file = f"{number:02d}-{name}.md"
        write_text(FOLDER / file, page(shown, command(member, ball, outcome)))
        told = shown.ball
        rows.append(
            f"| [{markdown(told.bowler)} to {markdown(told.batter)}]({file}) "
            f"| {markdown(shown.match.event or '')}: {markdown(' v '.join(shown.match.teams))}, "
            f"{shown.match.dates[0]} | {told.score}/{told.wickets} | {best_verdict(explanation)} |"
        )
        print(file, file=sys.stderr)
    head = "| ball | match | score | best verdict |\n|---|---|---|---|\n"
    index = (
        "# Ten balls of ten competitions, explained\n\n"
        "These are real balls of matches that the checkpoint `measured` was not trained on. Each "
        "page has the narrative of `attnlens explain`, then its terminal output. Most of the balls "
        "turned their match. The last column is the best verdict on a claim about past balls (its "
        "effect is larger, or no larger, than that of comparable balls)."
        "\n\n" + head + "\n".join(rows) + "\n\n`python docs/examples/make.py FOLDER` makes these "
        "pages from the data of [Cricsheet](https://cricsheet.org), compiled by Stephen Rushe.\n"
    )
    write_text(FOLDER / "README.md", index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
