"""The ledger and scorecards against raw files and by hand, and that nothing else counts."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import attnlens
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.competition import quota_of
from attnlens.cricket.match.ledger import (
    Batting,
    ball_sign,
    balls_left,
    card_data,
    derived_result,
    innings_length,
    phase_before,
    result_sentence,
    scorebook,
    scorebook_before,
    scorecard,
)
from attnlens.cricket.match.match import BOWLERS_SHARE_OF_WICKETS, Facts, Innings, Match, Player
from attnlens.cricket.pages.match_page import render_scorecard
from attnlens.cricket.readers import read_match, read_matches
from attnlens.render.canvas import display_width
from attnlens.render.numbers import number

NOT_THE_BOWLERS = {
    "run out", "retired hurt", "retired out", "retired not out", "obstructing the field",
    "handled the ball", "hit the ball twice", "timed out",
}  # fmt: skip
ARCHIVE = "t20_2025_male_json.zip"


def raw_deliveries(innings: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return [(over["over"], ball) for over in innings["overs"] for ball in over["deliveries"]]


def figures_before(balls: list[tuple[int, dict[str, Any]]], index: int) -> dict[str, Any]:
    """The scorebook before a ball, each figure by a loop of its own."""
    over, ball = balls[index]
    past = [earlier for _, earlier in balls[:index]]
    faced = [b for b in past if b["batter"] == ball["batter"]]
    bowled = [b for b in past if b["bowler"] == ball["bowler"]]
    wickets_at = [number for number, b in enumerate(past, 1) if b.get("wickets")]
    stand = past[max(wickets_at, default=0) :]
    extras = [b.get("extras", {}) for b in bowled]
    return {
        "batter": (
            sum(b["runs"]["batter"] for b in faced),
            sum("wides" not in b.get("extras", {}) for b in faced),
        ),
        "bowler": (
            sum(b["runs"]["batter"] for b in bowled)
            + sum(kinds.get("wides", 0) + kinds.get("noballs", 0) for kinds in extras),
            sum(not {"wides", "noballs"} & set(kinds) for kinds in extras),
            sum(w["kind"] not in NOT_THE_BOWLERS for b in bowled for w in b.get("wickets", [])),
        ),
        "stand": (
            sum(b["runs"]["total"] for b in stand),
            sum("wides" not in b.get("extras", {}) for b in stand),
        ),
        "over": sum(b["runs"]["total"] for number, b in balls[:index] if number == over),
    }


@pytest.fixture(scope="module")
def raw_matches(shared_data: Path) -> list[tuple[Match, dict[str, Any]]]:
    with zipfile.ZipFile(shared_data / ARCHIVE) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".json"))[::60]
        documents = [json.loads(archive.read(name), parse_float=str) for name in names]
    matches = [read_match(f"{shared_data / ARCHIVE}::{name}") for name in names]
    return list(zip(matches, documents, strict=True))


def test_every_entry_is_what_the_raw_file_counts_to(
    raw_matches: list[tuple[Match, dict[str, Any]]],
) -> None:
    n_entries = 0
    for match, document in raw_matches:
        for innings, raw in zip(match.innings, document["innings"], strict=True):
            balls = raw_deliveries(raw)
            for index, entry in enumerate(scorebook(innings)):
                bowling = entry.bowling
                assert figures_before(balls, index) == {
                    "batter": (entry.batting.runs, entry.batting.balls),
                    "bowler": (bowling.runs, bowling.legal_balls, bowling.wickets),
                    "stand": (entry.partnership_runs, entry.partnership_balls),
                    "over": entry.over_runs,
                }
                assert entry.latest == tuple(map(ball_sign, innings.deliveries[:index][-6:]))
                assert bowling.overs == ".".join(
                    map(str, divmod(bowling.legal_balls, innings.balls_per_over))
                )
                n_entries += 1
            last = innings.deliveries[-1]
            assert scorebook_before(innings, last) == entry
    assert n_entries > 2000


def test_powerplays_are_those_of_the_file(raw_matches: list[tuple[Match, dict[str, Any]]]) -> None:
    """Of the Big Bash a later one too, which the batting side chooses."""
    n_balls = 0
    for match, document in raw_matches:
        for innings, raw in zip(match.innings, document["innings"], strict=True):
            if "powerplays" not in raw or innings.super_over:
                continue
            restricted = set()
            for play in raw["powerplays"]:
                ends = [tuple(map(int, str(play[key]).split("."))) for key in ("from", "to")]
                at = {b.label: tuple(map(int, b.label.split("."))) for b in innings.deliveries}
                restricted |= {label for label in at if ends[0] <= at[label] <= ends[1]}
            for ball in innings.deliveries:
                phase = phase_before(match, innings, ball)
                assert (phase == "powerplay") == (ball.label in restricted)
                n_balls += ball.label in restricted
    assert n_balls > 500


def test_a_surge_is_a_powerplay_and_a_shortened_innings_has_its_own(shared_data: Path) -> None:
    archive = shared_data / "t20_leagues_male_json.zip"
    match = read_match(f"{archive}::1226852.json")
    phases = [phase_before(match, match.innings[0], ball) for ball in match.innings[0].deliveries]
    changes = [phase for phase, after in itertools.pairwise(phases) if phase != after]
    assert changes.count("powerplay") == 2
    # Ten overs were to be bowled: the file has a powerplay of three, and ten in its target.
    short = read_match(f"{shared_data / 't20s_male_json.zip'}::1144989.json")
    first = short.innings[0]
    assert quota_of(short, first) == 60
    assert balls_left(short, first, first.deliveries[0]) == 60


def test_an_over_counts_as_one_whatever_the_umpires_counted(shared_data: Path) -> None:
    """Of an over that the file says had five balls or seven, as many are left."""
    archive, n_miscounted = shared_data / "t20s_male_json.zip", 0
    with zipfile.ZipFile(archive) as file:
        names = [n for n in file.namelist() if b'"miscounted_overs"' in file.read(n)]
    for name in names[:12]:
        match = read_match(f"{archive}::{name}")
        for innings in match.innings:
            quota = quota_of(match, innings)
            for over, length in innings.miscounted:
                balls = [ball for ball in innings.deliveries if ball.over == over]
                lefts = [balls_left(match, innings, ball) for ball in balls if ball.is_legal]
                rest = (quota or 0) - 6 * (over + 1)
                assert lefts == [rest + left for left in range(length, 0, -1)]
                n_miscounted += 1
    assert n_miscounted >= 10


def with_total(innings: Innings, total: int) -> Innings:
    """The innings with as many runs more or less on its first ball."""
    first, *rest = innings.deliveries
    changed = first._replace(runs_total=first.runs_total + total - innings.total)
    return dataclasses.replace(innings, deliveries=(changed, *rest))


def test_a_result_follows_from_the_balls(raw_matches: list[tuple[Match, dict[str, Any]]]) -> None:
    n_results = 0
    for match, document in raw_matches:
        result, outcome = derived_result(match), document["info"]["outcome"]
        if "method" in outcome or result is None:
            continue
        assert result.winner == outcome.get("winner")
        assert result.by == outcome.get("by", {})
        n_results += 1
    assert n_results >= 10


def test_what_the_balls_do_not_decide_has_no_result() -> None:
    match = attnlens.read_match("sample_data/match.csv")
    first, second = match.innings
    second = dataclasses.replace(second, deliveries=second.deliveries[:-6])
    chase = dataclasses.replace(second, target=second.total + 5)
    complete = dataclasses.replace(match, innings=(first, chase))
    left = balls_left(match, second, second.deliveries[-1])
    assert (left or 0) > 1, "the sample's chase ends before its last ball"
    assert derived_result(complete) is None
    assert derived_result(dataclasses.replace(match, innings=(first,))) is None
    late = dataclasses.replace(second, set_later=Facts(runs=44))
    assert derived_result(dataclasses.replace(match, innings=(first, late))) is None
    for total in (second.total + 1, second.total):
        level = with_total(second, (second.target or 0) + total - second.total - 1)
        result = derived_result(dataclasses.replace(match, innings=(first, level)))
        assert (result is None) == (total == second.total)


def test_the_hundred_counts_balls(shared_data: Path) -> None:
    folder = shared_data / "formats" / "json" / "hundred_men"
    match = next(iter(attnlens.read_matches(folder)))
    innings = match.innings[0]
    assert innings_length(innings) == f"{innings.legal_balls} balls"
    entries = list(scorebook(innings))
    assert entries[-1].bowling.spell == str(entries[-1].bowling.legal_balls)


def test_bowlers_have_their_share_of_wickets(shared_data: Path) -> None:
    with zipfile.ZipFile(shared_data / ARCHIVE) as archive:
        documents = [json.loads(archive.read(n)) for n in archive.namelist() if ".json" in n]
    kinds = [
        wicket["kind"]
        for document in documents
        for innings in document["innings"]
        for _, ball in raw_deliveries(innings)
        for wicket in ball.get("wickets", [])
        if wicket["kind"] not in ("retired hurt", "retired not out")
    ]
    share = sum(kind not in NOT_THE_BOWLERS for kind in kinds) / len(kinds)
    assert share == pytest.approx(BOWLERS_SHARE_OF_WICKETS, abs=0.03)


COUNTED = {"legal_balls_before", "is_legal", "charged_runs", "runs_extras"}
"""Names that only somebody who counts for himself has use for."""

SUMS = {"sum", "len", "Counter"}
SUMMED = {"wickets", "extras", "runs_total", "runs_batter"}


def attributes_in(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_no_page_or_sentence_counts_for_itself() -> None:
    root = Path(attnlens.__file__).parent
    rooms = ("pages", "words", "mcp", "story")
    files = [path for room in rooms for path in (root / "cricket" / room).rglob("*.py")]
    files += [root / "cricket" / name for name in ("export.py", "session.py")]
    files += [*(root / "render").rglob("*.py"), *(root / "llm").rglob("*.py")]
    assert len(files) > 20
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not attributes_in(tree) & COUNTED, f"{path}: {attributes_in(tree) & COUNTED}"
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in SUMS:
                over_balls = attributes_in(call) & SUMMED
                assert not over_balls, f"{path}:{call.lineno} counts {over_balls}"


def adds_up(match: Match) -> None:
    """What must hold of any scorecard, whoever played."""
    for innings in match.innings:
        card = scorecard(innings)
        extras = sum(card.extras.values())
        assert sum(line.runs for line in card.batting) + extras == innings.total
        charged = sum(line.runs for line in card.bowling)
        unearned = card.extras["byes"] + card.extras["legbyes"] + card.extras["penalty"]
        assert charged + unearned == innings.total
        assert sum(line.legal_balls for line in card.bowling) == innings.legal_balls
        assert len(card.falls) == innings.wickets
        assert [fall.wicket for fall in card.falls] == list(range(1, innings.wickets + 1))
        wides = sum("wides" in ball.extras for ball in innings.deliveries)
        assert sum(line.balls for line in card.batting) == len(innings.deliveries) - wides


def test_real_scorecards_add_up(shared_data: Path) -> None:
    names = ("json/t20i_women", "json/test_men", "json/hundred_men", "json/misc_torture")
    count = 0
    for name in names:
        for match in read_matches(shared_data / "formats" / name):
            adds_up(match)
            count += 1
    assert count > 20


def test_a_scorecard_as_it_was_printed(shared_data: Path, snapshot: SnapshotAssertion) -> None:
    match = read_match(f"{shared_data / 't20s_male_json.zip'}::1223952.json")
    # India named twelve: a concussion substitute bowled.
    assert card_data(match, scorecard(match.innings[0])) == snapshot
    assert result_sentence(match) == "India won by 11 runs"
    page = render_scorecard(match, width=80, color=False)
    assert "did not bat Mohammed Shami, T Natarajan, YS Chahal" in page


def test_strike_rates_are_rounded_once() -> None:
    for balls in range(1, 90):
        for runs in range(120):
            rate = Batting(Player("A"), 1, runs, balls).strike_rate
            assert abs(float(number(rate, 1)) - 100 * runs / balls) <= 0.05 + 1e-9


def test_results_in_words(shared_data: Path) -> None:
    archive = shared_data / "t20s_male_json.zip"
    sentences = {
        "237242": "tie, the file says New Zealand won a bowl-out",
        "1354799": "the file says no result",
        "412684": "New Zealand won by 7 runs (D/L)",
    }
    for name, expected in sentences.items():
        assert result_sentence(read_match(f"{archive}::{name}.json")) == expected


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_page_fits_its_width(width: int) -> None:
    match = simulate_match(3)
    page = render_scorecard(match, width=width, color=False)
    assert max(map(display_width, page.splitlines())) <= width
    assert "\x1b" not in page
