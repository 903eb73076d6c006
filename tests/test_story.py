"""The story of a match: its figures, what it may say, and matches that are not as usual."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import save_hostile
from small_predictors import simulated, small_predictor

import attnlens
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.explain.story_types import MatchStory
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import (
    BOWLERS_SHARE_OF_WICKETS,
    NOT_THE_BOWLERS,
    Facts,
    Innings,
    Match,
    Outcome,
)
from attnlens.cricket.match.naming import BallReference
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
from attnlens.cricket.story import MAX_TURNS, MIN_SWING, decisive_ball, tell
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
        assert before == pytest.approx(side.winning.before, abs=1e-6)
        assert after == pytest.approx(side.winning.actual, abs=1e-6)
    # Nothing moves between balls, nor between the innings.
    ends = [point.after for point in tested.win_probability]
    assert [point.before for point in tested.win_probability[1:]] == ends[:-1]
    swings = {(one.innings, one.index): one.after - one.before for one in tested.win_probability}
    for moment in tested.turning_points + tested.surprises:
        assert moment.swing == pytest.approx(swings[moment.innings, moment.index], abs=1e-6)


def test_it_ends_with_the_result(tested: MatchStory) -> None:
    assert tested.team == MATCH.outcome["winner"]
    assert tested.win_probability[-1].after == 1
    other = next(name for name in MATCH.teams if name != tested.team)
    lost = story_of(dataclasses.replace(MATCH, outcome=Facts(winner=other, by={"runs": 1})))
    assert lost.team == other
    for one, beside in zip(lost.win_probability, tested.win_probability, strict=True):
        assert one.after == pytest.approx(1 - beside.after, abs=1e-7)


def test_turning_points_are_the_largest_swings_in_order(tested: MatchStory) -> None:
    swings = sorted((abs(one.after - one.before) for one in tested.win_probability), reverse=True)
    chosen = [abs(one.swing or 0) for one in tested.turning_points]
    assert sorted(chosen, reverse=True) == pytest.approx(swings[: len(chosen)], abs=1e-6)
    assert len(chosen) == min(sum(one >= MIN_SWING for one in swings), MAX_TURNS)
    places = [(one.innings, one.index) for one in tested.turning_points]
    assert places == sorted(places)


@pytest.mark.parametrize("number", [40, 41, 42])
def test_the_ledger_sums_to_the_result_and_belongs_to_players(number: int) -> None:
    match = simulated(number)
    story = story_of(match)
    first, last = story.win_probability[0], story.win_probability[-1]
    assert last.after in (0, 0.5, 1)
    total = 100 * first.before + sum(entry.points for entry in story.ledger)
    assert total == pytest.approx(100 * last.after, abs=1e-6)
    assert [(entry.innings, entry.index) for entry in story.ledger] == [
        (ball.innings, ball.index) for ball in story.win_probability
    ]
    for side in match.teams:
        added = sum(row.added for row in story.players if row.side == side)
        sign = 1 if side == story.team else -1
        assert added == pytest.approx(sign * (total - 100 * first.before), abs=1e-3)
    page = render_match_story(story, width=80, color=False)
    assert f"{story.players[0].name} {story.players[0].added:+.0f}" in page


def test_what_moved_a_ball_sums_to_the_expectation_beyond_usual(tested: MatchStory) -> None:
    signs = set()
    for moment in tested.turning_points + tested.surprises:
        reference = BallReference(moment.innings, moment.index)
        explanation = explain_ball(MATCH, reference, PREDICTOR, outcome=moment.outcome)
        win = explanation.win_probability
        assert win is not None
        assert win.expected is not None
        beyond = sum(
            (entry.probability - entry.usual) * win.after[entry.outcome]
            for entry in explanation.prediction.outcomes
        )
        sign = 1 if explanation.match.batting_team == tested.team else -1
        signs.add(sign)
        expected = 100 * sign * (win.expected - win.before)
        assert moment.expected == pytest.approx(expected, abs=1e-4)
        listed = sum(part.points for part in moment.moved_by)
        groups = {group.group: group.from_usual for group in explanation.contributions}
        for part in moment.moved_by:
            points = sum(row.points * win.after[row.outcome] for row in groups[part.group])
            assert part.points == pytest.approx(sign * points, abs=1e-4)
        left_out = len(explanation.contributions) - len(moment.moved_by)
        assert listed == pytest.approx(100 * sign * beyond, abs=0.05 * left_out + 1e-3)
        assert [abs(part.points) for part in moment.moved_by] == sorted(
            (abs(part.points) for part in moment.moved_by), reverse=True
        )
    assert signs == {1, -1}


def test_a_reason_is_stated_only_if_it_accounts_for_a_part_of_the_swing(
    tested: MatchStory,
) -> None:
    for moment in tested.turning_points:
        reference = BallReference(moment.innings, moment.index)
        explanation = explain_ball(MATCH, reference, PREDICTOR, outcome=moment.outcome)
        changes = [abs(explanation.evidence[at].top_change.points) for at in supported(explanation)]
        assert (moment.finding is not None) == any(points >= 5 for points in changes)


def test_what_was_expected_adds_up(tested: MatchStory) -> None:
    expected = tested.expected
    sides = list(forecast_innings(MATCH, PREDICTOR))
    for rows in (expected.batters, expected.bowlers, expected.overs):
        assert sum(row.deliveries for row in rows) == sum(len(s.innings.deliveries) for s in sides)
        share = BOWLERS_SHARE_OF_WICKETS if rows is expected.bowlers else 1
        likely = share * sum(side.chances[:, 7].sum() for side in sides)
        assert sum(row.expected_wickets for row in rows) == pytest.approx(likely, abs=1e-3)
        fell = [
            wicket for side in sides for ball in side.innings.deliveries for wicket in ball.wickets
        ]
        if rows is expected.bowlers:
            fell = [wicket for wicket in fell if wicket.kind not in NOT_THE_BOWLERS]
            assert len(fell) < sum(row.wickets for row in expected.overs), "nobody was run out"
        if rows is expected.batters:
            assert {row.name for row in rows if row.wickets} <= {w.player_out.name for w in fell}
            assert max(row.wickets for row in rows) == 1
        assert sum(row.wickets for row in rows) == len(fell)
    for side in sides:
        balls = side.innings.deliveries
        overs = [row for row in expected.overs if row.innings == side.innings.number]
        assert sum(row.runs for row in overs) == sum(ball.runs_total for ball in balls)
        mine = [row for row in expected.batters if row.innings == side.innings.number]
        assert sum(row.runs for row in mine) == sum(ball.runs_batter for ball in balls)
        worth = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1, 1, 1])
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
    marks = next(at for at, line in enumerate(lines) if "to win, %" in line) + 1
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
        # A supported reason that hardly moved the match has a verdict and no finding.
        assert all(one.verdict == "supported" for one in moments if one.finding is not None)
        assert story.tested.balls <= len({(one.innings, one.index) for one in moments})
        assert len(story.claims) <= story.tested.supported <= story.tested.claims
        assert all(claim.q_match <= Q_LEVEL for claim in story.claims)
        for text in forms_of(story).values():
            assert not re.search("because|due to|thanks to", text.split("The data ends here")[0])


def test_its_verdicts_and_chances_are_those_of_the_explained_ball(
    sample: MatchStory, sample_match_path: Path
) -> None:
    points = {(one.innings, one.index): one for one in sample.win_probability}
    for moment in sample.turning_points[:2]:
        ball = f"{moment.innings}:{moment.index}"
        one = attnlens.explain(sample_match_path, ball=ball, outcome=moment.outcome)
        assert (moment.verdict == "supported") == bool(supported(one))
        entry = next(e for e in one.prediction.outcomes if e.outcome == moment.outcome)
        assert (moment.probability, moment.usual) == (entry.probability, entry.usual)
        win = one.win_probability
        assert win is not None
        before = win.before if win.team == sample.team else 1 - win.before
        assert points[moment.innings, moment.index].before == pytest.approx(before, abs=1e-5)


def test_where_nothing_was_tested_nothing_is_said() -> None:
    story = story_of(MATCH)
    assert (story.tested.claims, story.claims) == (0, ())
    for moment in story.turning_points + story.surprises:
        assert (moment.verdict, moment.finding) == (None, None)
    forms = forms_of(story)
    for name in ("screen", "html", "markdown"):
        assert "Nothing was tested" in forms[name]
    assert 'never say "because"' in forms["prompt"]


# ---- matches that are not as they should be


def cut(side: Innings, balls: int) -> Innings:
    return dataclasses.replace(side, deliveries=side.deliveries[:balls])


def flags_of(story: MatchStory) -> set[str]:
    return {note.flag for note in story.notes}


def odd_matches() -> dict[str, Match]:
    """Matches without an end, without a beginning, and of other kinds."""
    first, second = MATCH.innings
    none, drawn = Facts(), Facts(result="no result")
    bare = {"target": None, "target_balls": None}
    last = dataclasses.replace(cut(first, 6), number=3, super_over=True, **bare)
    tie = Facts(result="tie", eliminator=second.batting_team)
    later = dataclasses.replace(
        cut(second, 50), set_later=Facts(runs=30, balls=50), target=first.total + 1
    )
    test = dataclasses.replace(MATCH, match_type="Test", overs=None)
    change = dataclasses.replace
    return {
        "empty": change(MATCH, innings=(), outcome=drawn),
        "no ball": change(MATCH, innings=(cut(first, 0),), outcome=drawn),
        "two balls": change(MATCH, innings=(cut(first, 2),), outcome=drawn),
        "first only": change(MATCH, innings=(first,), outcome=none),
        "unfinished": change(MATCH, innings=(first, cut(second, 40)), outcome=none),
        "super over": change(MATCH, innings=(first, second, last), outcome=tie),
        "set later": change(MATCH, innings=(first, later)),
        "rain": change(MATCH, outcome=Facts(winner=MATCH.teams[0], method="D/L")),
        "one day": change(MATCH, match_type="ODI", overs=50, innings=(change(first, **bare),)),
        "test": change(test, innings=tuple(change(s, **bare) for s in MATCH.innings)),
    }


def test_without_win_probabilities_the_least_expected_ball_is_chosen() -> None:
    match = odd_matches()["test"]
    _, text = decisive_ball(match, PREDICTOR)
    assert "was the least expected ball" in text
    side = match.innings[0]
    two = next(ball for ball in side.deliveries if ball.runs_batter == 2 and not ball.wickets)
    side = dataclasses.replace(side, deliveries=(two._replace(index=1),))
    chosen, _ = decisive_ball(dataclasses.replace(match, innings=(side,)), PREDICTOR)
    assert chosen == BallReference(1, 1)


@pytest.mark.parametrize("kind", list(odd_matches()))
def test_odd_matches_have_a_page_that_makes_sense(kind: str) -> None:
    match = odd_matches()[kind]
    story = story_of(match)
    forms = forms_of(story)
    assert all(story.result in forms[name] for name in ("screen", "html", "markdown", "card"))
    told = bool(story.win_probability)
    assert told == (kind not in ("empty", "no ball", "one day", "test")) == bool(story.team)
    expected = {
        "empty": "no_ball", "no ball": "no_ball", "super over": "super_over", "rain": "method",
        "set later": "target_set_later", "one day": "no_win_probability",
        "test": "no_win_probability",
    }  # fmt: skip
    assert kind not in expected or expected[kind] in flags_of(story)
    screen = " ".join(forms["screen"].split())
    assert (kind in ("one day", "test")) == ("up to 20 overs" in screen)
    if kind in ("one day", "test"):
        assert len(story.surprises) == 8
        assert not story.expected.batters
    if kind == "set later":
        assert {one.innings for one in story.win_probability} == {1}
        chase = [m for m in story.surprises if m.innings == 2]
        assert not any("wanted" in moment.sentence for moment in chase)
    if kind == "super over":
        assert story.team == match.outcome["eliminator"]
        assert "won the super over" in story.result
        assert {row.innings for row in story.expected.overs} == {1, 2}


def test_names_that_would_do_harm_are_made_safe(tmp_path: Path) -> None:
    save_hostile(tmp_path / "hostile.json")
    story = story_of(read_match(tmp_path / "hostile.json"))
    screen = render_match_story(story, width=80, color=False)
    assert screen.count("\n") < SCREEN_LINES
    assert "\x1b" not in screen
    for page in (render_story_html(story), render_card(story)):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "o" * 100 not in page
    ElementTree.fromstring(render_card(story))
    assert "<script>" not in render_story_markdown(story)
    assert story_prompt(story).text.count("</data-") == 1


def test_names_of_any_length_stay_on_the_card_and_both_sides_are_named() -> None:
    first = MATCH.teams[0]

    def called(name: str) -> str:
        return "Q" * 300 if name == first else name

    sides = tuple(
        dataclasses.replace(
            one, batting_team=called(one.batting_team), bowling_team=called(one.bowling_team)
        )
        for one in MATCH.innings
    )
    teams = tuple(map(called, MATCH.teams))
    story = story_of(dataclasses.replace(MATCH, teams=teams, innings=sides))
    assert "Q" * 61 not in render_card(story)
    short = dataclasses.replace(MATCH, innings=MATCH.innings[:1])
    for match in (short, dataclasses.replace(MATCH, innings=())):
        told = story_of(match)
        for form in (render_card(told), render_story_markdown(told), render_story_html(told)):
            assert all(team in form for team in MATCH.teams)


def test_where_there_is_little_room_the_smallest_swings_are_left_out(tested: MatchStory) -> None:
    for room in (3, 8, 95):
        sides = list(columns_of(tested, room))
        assert sum(len(chances) for _, chances, _ in sides) + len(sides) - 1 <= room
    small = story_tables(tested, lambda data: len(data["turning_points"]) <= 2)
    largest = sorted(abs(one.swing or 0) for one in tested.turning_points)[-2:]
    kept = sorted(abs(row["swing"]) for row in small["turning_points"])
    assert kept == pytest.approx(largest, abs=1e-3)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("test_men/1140386", False),
        ("odi_women/1123204", False),
        ("hundred_women/1252728", True),
        ("ipl/1216517", True),  # two super overs
        ("wbbl/1188429", True),
        ("test_men/225258", False),  # awarded
    ],
)
def test_real_matches_of_every_kind(shared_data: Path, file: str, told: bool) -> None:
    story = story_of(read_match(shared_data / "formats" / "json" / f"{file}.json"))
    assert bool(story.win_probability) == told
    forms_of(story)
