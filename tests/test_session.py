"""The one flow: a history is read once, ratings are dated once, and nobody goes beside it."""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from command_line import Here

import attnlens
from attnlens.cricket.lab.simulator import save_simulated, simulate_match
from attnlens.cricket.match.match import Match
from attnlens.errors import InputError

PACKAGE = Path(attnlens.__file__).parent
FLOW = {"explain_ball", "load_predictor", "Timeline", "what_if"}
"""What only a session puts together."""

OWN_FLOW = ("cricket/lab/", "cricket/predictor/")
"""Rooms that go through many matches, or in which the parts are made."""


class Counted:
    """Matches that can be read often, and how often they were."""

    def __init__(self, matches: list[Match]) -> None:
        self.matches = matches
        self.times = 0

    def __iter__(self) -> Iterator[Match]:
        self.times += 1
        return iter(self.matches)


@pytest.fixture(scope="module")
def earlier() -> list[Match]:
    """Matches of the players of the sample, before it."""
    return [simulate_match(seed) for seed in (11, 12, 13)]


@pytest.fixture(scope="module")
def expected(sample_match_path: Path, earlier: list[Match]) -> list[attnlens.Explanation]:
    """Two balls with a history, each by a session of its own."""
    return [
        attnlens.Session(history=earlier).explain(sample_match_path, ball=ball, evidence=False)
        for ball in (9, 10)
    ]


def explained(match: Path, ball: int, history: Iterable[Match] | None) -> attnlens.Explanation:
    return attnlens.explain(match, ball=ball, evidence=False, history=history)


def test_a_history_is_read_once_for_every_question(
    sample_match_path: Path, earlier: list[Match], expected: list[attnlens.Explanation]
) -> None:
    history = Counted(earlier)
    assert [explained(sample_match_path, ball, history) for ball in (9, 10)] == expected
    attnlens.what_if(sample_match_path, ball=9, changes={"last": "W"}, history=history)
    assert history.times == 1


def test_a_history_that_can_be_read_only_once_serves_every_call(
    sample_match_path: Path, earlier: list[Match], expected: list[attnlens.Explanation]
) -> None:
    history = (match for match in earlier)
    assert [explained(sample_match_path, ball, history) for ball in (9, 10)] == expected
    assert explained(sample_match_path, 9, None) != expected[0]
    # The other model reads the same matches again.
    over = attnlens.next_over(sample_match_path, over=3, evidence=False, history=history)
    alone = attnlens.Session(history=earlier).over(sample_match_path, over=3, evidence=False)
    assert over == alone.to_dict()
    with pytest.raises(InputError, match="contains no match, or is an exhausted iterator"):
        explained(sample_match_path, 9, iter(()))


def test_a_list_that_has_changed_is_another_history(
    sample_match_path: Path, earlier: list[Match], expected: list[attnlens.Explanation]
) -> None:
    growing = earlier[:1]
    first = explained(sample_match_path, 9, growing)
    growing += earlier[1:]
    assert first != explained(sample_match_path, 9, growing) == expected[0]


def test_each_day_has_its_ratings_in_whatever_order_matches_come(earlier: list[Match]) -> None:
    asked = [simulate_match(seed) for seed in (21, 22)]
    session = attnlens.Session(history=earlier)
    told = [session.explain(match, ball=9, evidence=False) for match in (*asked, *asked[::-1])]
    anew = [
        attnlens.Session(history=earlier).explain(match, ball=9, evidence=False) for match in asked
    ]
    assert told == [*anew, *anew[::-1]]


def test_only_the_session_puts_the_flow_together() -> None:
    beside = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place == "cricket/session.py" or place.startswith(OWN_FLOW):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "attnlens.cricket."
            ):
                found = FLOW.intersection(alias.name for alias in node.names)
                beside += [f"{place}: {name} of {node.module}" for name in sorted(found)]
    # The page of an answer and the front door's list have the same name as what answers.
    assert beside == ["__init__.py: what_if of attnlens.cricket.session"]


def test_damaged_files_of_a_history_are_counted_and_told_every_time(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    save_simulated("past.zip", range(3), file_format="json")
    with zipfile.ZipFile("past.zip", "a") as archive:
        whole = archive.read(archive.namelist()[0]).decode()
        archive.writestr("cut.json", whole[: len(whole) // 2])
        archive.writestr("swapped.json", whole.replace('"runs"', '"runz"'))
    said = (
        "2 files of the history could not be read and did not update the ratings; first error: "
        "past.zip"
    )
    attnlens_here.patch.setenv("XDG_CACHE_HOME", str(attnlens_here.folder / "kept"))
    asked = (sample_match_path, "--ball", 9, "--no-evidence", "--history", "past.zip")
    for _ in range(2):
        answer = attnlens_here("explain", *asked)
        assert (answer.status, answer.err.count("\n")) == (0, 1)
        assert answer.err.startswith(f"attnlens: {said}")
    assert not Path("kept").exists()
    with pytest.warns(UserWarning, match=said):
        attnlens.Session(history="past.zip").explain(sample_match_path, ball=9, evidence=False)
