"""Scorecards: counted by hand on a small match, and held to account on real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.ledger import Batting, card_data, result_sentence, scorecard
from attnlens.cricket.match.match import Match, Player
from attnlens.cricket.pages.match_page import render_scorecard
from attnlens.cricket.readers import read_match, read_matches
from attnlens.render.canvas import display_width
from attnlens.render.numbers import number


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
