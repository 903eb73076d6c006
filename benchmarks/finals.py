"""Ten known finals as stories: who was winning, where it turned, and how what is remembered ranks.

    python benchmarks/finals.py t20s_male_json.zip t20_leagues_male_json.zip [--page FILE]

The archives hold the finals and are the history: each is told with the ratings of its day.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attnlens.cricket.pages.match_story import chart
from attnlens.cricket.pages.parts import occasion
from attnlens.cricket.pages.win_curve import points_of, score_of
from attnlens.cricket.readers import read_matches
from attnlens.cricket.session import Session
from attnlens.cricket.story.types import MatchStory
from attnlens.render.canvas import Page, terminal_page
from attnlens.render.safe import markdown

WIDTH: Final = 96
COMMAND: Final = (
    "python benchmarks/finals.py t20s_male_json.zip t20_leagues_male_json.zip --page docs/finals.md"
)
ABOUT: Final = (
    "Who was winning, ball by ball, and where it turned. The chance is the winner's; "
    "[how it is found](win.md), [what a story says](story.md). Ratings of players, sides and "
    "grounds are those of the day; the model itself was fitted on nine of these finals, among "
    "9,480 matches, and the length of its training was chosen on the tenth (2024). What is "
    "remembered was written by hand, not taken from the stories."
)


@dataclass(frozen=True)
class Known:
    """A final, and what followers of the game remember of it, written by hand.

    Attributes:
        balls: ``innings:label`` of the balls that it is about.
    """

    remembered: str
    balls: tuple[str, ...]


FINALS: Final = {
    "287879": Known(
        "Misbah takes Pakistan to within a hit, and scoops Joginder to short fine leg",
        ("2:19.3", "2:19.4"),
    ),
    "412703": Known(
        "Three Australian wickets in no time; Kieswetter and Pietersen see to the rest",
        ("1:0.3",),
    ),
    "533298": Known(
        "Samuels hits Malinga, the best there was, for three sixes in an over",
        ("1:12.2", "1:12.3", "1:12.6"),
    ),
    "682965": Known("Yuvraj's 11 from 21 balls; Sangakkara's 52 in his last match", ("1:18.1",)),
    "951373": Known(
        "Brathwaite hits Stokes for four sixes, 19 wanted from the last over",
        ("2:19.1", "2:19.2", "2:19.3"),
    ),
    "1273756": Known("Warner and Marsh make 173 look small", ("2:12.2",)),
    "1298179": Known(
        "Afridi walks off after one ball of an over; Stokes takes 4 and 6 from the rest of it",
        ("2:15.5", "2:15.6"),
    ),
    "1415755": Known(
        "30 wanted from 30; Klaasen caught behind; Suryakumar's catch on the rope",
        ("2:16.1", "2:19.1"),
    ),
    "1082650": Known(
        "11 wanted from Johnson's over: Tiwary, Smith, and a run out on the last ball",
        ("2:19.2", "2:19.3", "2:19.6"),
    ),
    "1181768": Known(
        "Watson run out two balls from the end; Malinga's slow yorker to Thakur",
        ("2:19.4", "2:19.6"),
    ),
}


@terminal_page(least=60)
def picture(page: Page, story: MatchStory) -> None:
    chart(page, story)


def ranks(story: MatchStory) -> dict[str, tuple[int, float]]:
    """The rank of every ball by how far it swung the match, 1 the furthest, and its swing."""
    points = {f"{one.innings}:{one.label}": one.after - one.before for one in story.win_probability}
    order = sorted(points, key=lambda ball: -abs(points[ball]))
    return {ball: (number, points[ball]) for number, ball in enumerate(order, 1)}


def section(story: MatchStory, known: Known) -> Iterator[str]:
    """A final as Markdown."""
    what, place, when = occasion(story.match)
    yield f"## {when[:4]}, {markdown(story.match.event or what)}: {markdown(story.result)}"
    yield f"{' · '.join(map(score_of, story.match.innings))} · {markdown(place)}, {when}"
    yield f"```text\n{picture(story, width=WIDTH, color=False).rstrip()}\n```"
    rows = []
    for number, one in enumerate(story.turning_points, 1):
        place = f"**{one.innings}:{one.label}**, {points_of(one)}"
        rows.append(f"{number}. {place}: {markdown(one.sentence)}")
    yield "\n".join(rows)
    swings = ranks(story)
    found = []
    for ball in known.balls:
        rank, swing = swings[ball]
        found.append(f"{ball} {100 * swing:+.0f} points, number {rank}".replace("-", "−"))
    yield f"Remembered: {known.remembered}. By swing: {'; '.join(found)} of {len(swings)} balls."


def page_of(stories: dict[str, MatchStory]) -> Iterator[str]:
    """All of it as Markdown."""
    yield "# Ten finals"
    turned, named = 0, 0
    for name, story in stories.items():
        points = {f"{one.innings}:{one.label}" for one in story.turning_points}
        turned += sum(ball in points for ball in FINALS[name].balls)
        named += len(FINALS[name].balls)
    yield f"{ABOUT} Of {named} balls that are remembered {turned} are among the turning points."
    yield f"```sh\n{COMMAND}\n```"
    for name, story in stories.items():
        yield from section(story, FINALS[name])
    yield "Matches: [Cricsheet](https://cricsheet.org), compiled by Stephen Rushe."


def finals_in(sources: list[str], folder: Path) -> Iterator[Path]:
    """The finals of archives as files of their own."""
    for source in sources:
        with zipfile.ZipFile(source) as archive:
            for name in {f"{number}.json" for number in FINALS} & set(archive.namelist()):
                yield Path(archive.extract(name, folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="+", metavar="ZIP")
    parser.add_argument("--page", type=Path, help="write the page there, not on the screen")
    options = parser.parse_args()
    history = (match for one in options.sources for match in read_matches(one, on_error="skip"))
    session = Session(None, history)
    with tempfile.TemporaryDirectory() as folder:
        matches = [session.read(path) for path in finals_in(options.sources, Path(folder))]
        matches.sort(key=lambda match: str(match.date))
        stories = {one.match_id: session.story(one, evidence=False) for one in matches}
    text = "\n\n".join(page_of(stories)) + "\n"
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text)
    missing = sorted(FINALS.keys() - stories.keys())
    if missing:
        print(f"not in these archives: {', '.join(missing)}", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
