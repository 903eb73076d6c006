"""The story of a match: its figures, what it may say, and matches that are not as usual."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import save_hostile
from small_predictors import simulated, small_predictor

import attnlens
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Facts, Innings, Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.match.outcomes import Outcome
from attnlens.cricket.pages.match_story import (
    SCREEN_LINES,
    columns_of,
    render_card,
    render_match_story,
    render_story_html,
    render_story_markdown,
    story_prompt,
    story_tables,
)
from attnlens.cricket.predictor.window import forecast_innings
from attnlens.cricket.readers import read_match
from attnlens.cricket.story.story_types import MatchStory
from attnlens.cricket.story.tell import LARGE_SWING, MIN_SWING, TURNS, tell
from attnlens.cricket.words.narrative import supported
from attnlens.evidence.verdict import Q_LEVEL
from attnlens.render.canvas import display_width
from attnlens.render.prompt_template import MAX_PROMPT_TOKENS

MATCH = simulated(40)
PREDICTOR = small_predictor()
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def story_of(match: Match, *, evidence: bool = False) -> MatchStory:
    """The story by a small predictor."""

    def explain(ball: BallReference, outcome: Outcome) -> Explanation:
        return explain_ball(match, ball, PREDICTOR, evidence=evidence, outcome=outcome)

    return tell(match, PREDICTOR, explain)


change = dataclasses.replace
PLACE = attrgetter("innings", "index")


def forms_of(story: MatchStory) -> dict[str, str]:
    """Every form of a story, made; each is short enough, and the data survives."""
    assert MatchStory.from_json(story.to_json()) == story
    screen = render_match_story(story, width=80, color=False)
    assert screen.count("\n") < SCREEN_LINES
    assert max(map(display_width, screen.splitlines())) <= 80
    card = render_card(story)
    ElementTree.fromstring(card)
    prompt = story_prompt(story)
    assert prompt.tokens <= MAX_PROMPT_TOKENS
    return {
        "screen": screen,
        "html": render_story_html(story),
        "markdown": render_story_markdown(story),
        "card": card,
        "prompt": prompt.text,
    }


@pytest.fixture(scope="module")
def tested() -> MatchStory:
    return story_of(MATCH, evidence=True)


@pytest.fixture(scope="module")
def sample(sample_match_path: Path) -> MatchStory:
    """The sample match by the shipped model."""
    return attnlens.story(sample_match_path)


# ---- figures


def test_a_swing_is_what_the_ball_did_and_nothing_is_lost_between(tested: MatchStory) -> None:
    for side in forecast_innings(MATCH, PREDICTOR):
        points = [one for one in tested.win_probability if one.innings == side.innings.number]
        assert [one.index for one in points] == list(range(1, len(side.innings.deliveries) + 1))
        assert side.winning is not None
        ours = side.innings.batting_team == tested.team
        before = np.array([one.before if ours else 1 - one.before for one in points])
        after = np.array([one.after if ours else 1 - one.after for one in points])
        # Before a ball: the mean of what may come of it. So on average no ball swings anything.
        may = side.chances * (side.winning.after - before[:, None])
        assert np.abs(may.sum(-1)).max() < 1e-6
        assert after == pytest.approx(side.winning.actual, abs=1e-6)
        # And what became known between two balls is all that the swings do not hold.
        between = (before[1:] - after[:-1]).sum()
        swings = (after - before).sum()
        assert swings + between == pytest.approx(after[-1] - before[0], abs=1e-6)


def test_turning_points_are_the_largest_swings_in_order(tested: MatchStory) -> None:
    by_ball = {PLACE(one): one.after - one.before for one in tested.win_probability}
    for moment in tested.turning_points + tested.surprises:
        assert moment.swing == pytest.approx(by_ball[PLACE(moment)], abs=1e-6)
    swings = sorted(map(abs, by_ball.values()), reverse=True)
    chosen = [abs(one.swing or 0) for one in tested.turning_points]
    assert sorted(chosen, reverse=True) == pytest.approx(swings[: len(chosen)], abs=1e-6)
    assert len(chosen) == min(max(TURNS[0], sum(one >= LARGE_SWING for one in swings)), TURNS[1])
    assert min(chosen) >= MIN_SWING
    places = [PLACE(one) for one in tested.turning_points]
    assert places == sorted(places)


def test_it_ends_with_the_result(tested: MatchStory) -> None:
    assert tested.team == MATCH.outcome["winner"]
    assert tested.win_probability[-1].after == 1
    other = next(name for name in MATCH.teams if name != tested.team)
    lost = story_of(change(MATCH, outcome=Facts(winner=other, by={"runs": 1})))
    assert lost.team == other
    for one, beside in zip(lost.win_probability, tested.win_probability, strict=True):
        assert one.after == pytest.approx(1 - beside.after, abs=1e-7)


def test_what_was_expected_adds_up(tested: MatchStory) -> None:
    expected = tested.expected
    sides = list(forecast_innings(MATCH, PREDICTOR))
    every = [ball for side in sides for ball in side.innings.deliveries]
    for rows in (expected.batters, expected.bowlers, expected.overs):
        assert sum(row.deliveries for row in rows) == len(every)
        wickets = sum(row.expected_wickets for row in rows)
        assert wickets == pytest.approx(sum(side.chances[:, 7].sum() for side in sides), abs=1e-3)
        assert sum(row.wickets for row in rows) == sum(ball.outcome == "W" for ball in every)
    worth = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1, 1, 1])
    for side in sides:
        balls, number = side.innings.deliveries, side.innings.number
        overs = [row for row in expected.overs if row.innings == number]
        batters = [row for row in expected.batters if row.innings == number]
        assert sum(row.runs for row in overs) == sum(ball.runs_total for ball in balls)
        assert sum(row.runs for row in batters) == sum(ball.runs_batter for ball in balls)
        total = float((side.chances @ worth).sum())
        assert sum(row.expected_runs for row in overs) == pytest.approx(total, abs=1e-3)


def numbers_of(value: Any) -> set[str]:
    """Every way in which a page may write the numbers of a document."""
    if isinstance(value, dict):
        return numbers_of([*value.values()])
    if isinstance(value, list):
        return {str(len(value))}.union(*map(numbers_of, value))
    if isinstance(value, str):
        return set(NUMBER.findall(value))
    part = abs(value or 0)
    forms = {f"{part * size:.{digits}f}" for size in (1, 100) for digits in (0, 1)}
    return {str(part), f"{part:.2g}", *forms}


def test_every_number_that_is_printed_is_in_the_data(sample: MatchStory) -> None:
    lines = forms_of(sample)["screen"].splitlines()
    marks = next(at for at, line in enumerate(lines) if line.endswith("to win, %")) + 1
    printed = {one for at, line in enumerate(lines) if at != marks for one in NUMBER.findall(line)}
    # Beside the data: the chart's scale, and the turning points' own numbers.
    known = numbers_of(sample.to_dict()) | {"25", "50", "75", "100", *"12345678"}
    assert printed <= known
    assert lines[marks].replace(" ", "") == "".join(
        str(n + 1) for n in range(len(sample.turning_points))
    )


# ---- what it may say


def test_a_reason_is_told_only_where_its_test_held(sample: MatchStory, tested: MatchStory) -> None:
    for story in (sample, tested):
        moments = story.turning_points + story.surprises
        assert all((one.finding is not None) == (one.verdict == "supported") for one in moments)
        assert story.tested.balls <= len({(one.innings, one.index) for one in moments})
        assert len(story.claims) <= story.tested.supported <= story.tested.claims
        assert all(claim.q_match <= Q_LEVEL for claim in story.claims)
        for text in forms_of(story).values():
            assert not re.search("because|due to|thanks to", text.split("The data ends here")[0])


def test_its_verdicts_and_chances_are_those_of_the_explained_ball(
    sample: MatchStory, sample_match_path: Path
) -> None:
    before = {PLACE(one): one.before for one in sample.win_probability}
    for moment in sample.turning_points[:2]:
        ball = f"{moment.innings}:{moment.index}"
        one = attnlens.explain(sample_match_path, ball=ball, outcome=moment.outcome)
        assert (moment.verdict == "supported") == bool(supported(one))
        entry = next(e for e in one.prediction.outcomes if e.outcome == moment.outcome)
        assert (moment.probability, moment.usual) == (entry.probability, entry.usual)
        win = one.win_probability
        assert win is not None
        ours = win.before if win.team == sample.team else 1 - win.before
        assert before[PLACE(moment)] == pytest.approx(ours, abs=1e-5)


def test_where_nothing_was_tested_nothing_is_said() -> None:
    story = story_of(MATCH)
    assert (story.tested.claims, story.claims) == (0, ())
    moments = story.turning_points + story.surprises
    assert {(moment.verdict, moment.finding) for moment in moments} == {(None, None)}
    forms = forms_of(story)
    assert all("Nothing was tested" in forms[name] for name in ("screen", "html", "markdown"))
    assert 'never "because"' in forms["prompt"]


# ---- matches that are not as they should be


def cut(side: Innings, balls: int) -> Innings:
    return change(side, deliveries=side.deliveries[:balls])


def odd_matches() -> dict[str, tuple[Match, str | None]]:
    """Matches without an end, without a beginning, and of other kinds, with the flag of each."""
    first, second = MATCH.innings
    none, drawn = Facts(), Facts(result="no result")
    bare = {"target": None, "target_balls": None}
    last = change(cut(first, 6), number=3, super_over=True, **bare)
    tie = Facts(result="tie", eliminator=second.batting_team)
    rain, target = Facts(runs=30, balls=50), first.total + 1
    later = change(cut(second, 50), set_later=rain, target=target)
    long = change(MATCH, match_type="ODI", overs=50, innings=(change(first, **bare),))
    test = change(MATCH, match_type="Test", overs=None)
    test = change(test, innings=tuple(change(side, **bare) for side in MATCH.innings))
    by_method = Facts(winner=MATCH.teams[0], method="D/L")
    return {
        "empty": (change(MATCH, innings=(), outcome=drawn), "no_ball"),
        "no ball": (change(MATCH, innings=(cut(first, 0),), outcome=drawn), "no_ball"),
        "two balls": (change(MATCH, innings=(cut(first, 2),), outcome=drawn), None),
        "first only": (change(MATCH, innings=(first,), outcome=none), None),
        "unfinished": (change(MATCH, innings=(first, cut(second, 40)), outcome=none), None),
        "super over": (change(MATCH, innings=(first, second, last), outcome=tie), "super_over"),
        "set later": (change(MATCH, innings=(first, later)), "target_set_later"),
        "rain": (change(MATCH, outcome=by_method), "method"),
        "one day": (long, "no_win_probability"),
        "test": (test, "no_win_probability"),
    }


@pytest.mark.parametrize("kind", list(odd_matches()))
def test_odd_matches_have_a_page_that_makes_sense(kind: str) -> None:
    match, flag = odd_matches()[kind]
    story = story_of(match)
    forms = forms_of(story)
    assert all(story.result in forms[name] for name in ("screen", "html", "markdown", "card"))
    no_curve = kind in ("empty", "no ball", "one day", "test")
    assert bool(story.win_probability) == (not no_curve) == bool(story.team)
    assert flag is None or flag in {note.flag for note in story.notes}
    assert (kind in ("one day", "test")) == ("up to 20 overs" in forms["screen"])
    if kind in ("one day", "test"):
        assert len(story.surprises) == 8
        assert not story.expected.batters
    if kind == "set later":
        assert {one.innings for one in story.win_probability} == {1}
        assert not any("wanted" in one.sentence for one in story.surprises if one.innings == 2)
    if kind == "super over":
        assert story.team == match.outcome["eliminator"]
        assert "won the super over" in story.result
        assert {row.innings for row in story.expected.overs} == {1, 2}


def test_names_that_would_do_harm_are_made_safe(tmp_path: Path) -> None:
    save_hostile(tmp_path / "hostile.json")
    forms = forms_of(story_of(read_match(tmp_path / "hostile.json")))
    assert "\x1b" not in forms["screen"]
    for page in (forms["html"], forms["card"]):
        assert not any(words in page for words in ("<script>alert", "<img", "o" * 100))
    assert "<script>" not in forms["markdown"]
    assert forms["prompt"].count("</data-") == 1


def test_names_of_any_length_stay_on_the_card_and_both_sides_are_named() -> None:
    names = {MATCH.teams[0]: "Q" * 300, MATCH.teams[1]: MATCH.teams[1]}
    sides = tuple(
        change(one, batting_team=names[one.batting_team], bowling_team=names[one.bowling_team])
        for one in MATCH.innings
    )
    story = story_of(change(MATCH, teams=tuple(names.values()), innings=sides))
    assert "Q" * 61 not in render_card(story)
    for innings in (MATCH.innings[:1], ()):
        forms = forms_of(story_of(change(MATCH, innings=innings)))
        for name in ("card", "markdown", "html"):
            assert all(team in forms[name] for team in MATCH.teams)


def test_where_there_is_little_room_the_smallest_swings_are_left_out(tested: MatchStory) -> None:
    for room in (3, 8, 95):
        sides = list(columns_of(tested, room))
        assert sum(len(chances) for _, chances, _ in sides) + len(sides) - 1 <= room
    small = story_tables(tested, lambda data: len(data["turning_points"]) <= 2)
    largest = sorted(abs(one.swing or 0) for one in tested.turning_points)[-2:]
    kept = sorted(abs(row["swing"]) for row in small["turning_points"])
    assert kept == pytest.approx(largest, abs=1e-3)


@pytest.mark.parametrize(
    ("file", "curve"),
    [
        ("test_men/1140386", False),
        ("odi_women/1123204", False),
        ("hundred_women/1252728", True),
        ("ipl/1216517", True),  # two super overs
        ("wbbl/1188429", True),
        ("test_men/225258", False),  # awarded
    ],
)
def test_real_matches_of_every_kind(shared_data: Path, file: str, curve: bool) -> None:
    story = story_of(read_match(shared_data / "formats" / "json" / f"{file}.json"))
    assert bool(story.win_probability) == curve
    forms_of(story)
