"""`lab faithfulness --stability`: what is changed, and how often an explanation stays."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
from command_line import OUTCOMES, Here
from small_predictors import (
    arrays_of,
    probabilities,
    simulated,
    small_model,
    small_predictor,
    with_hidden,
)

from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.lab.stability import (
    AGAINST,
    CHANGES,
    findings,
    render_stability,
    stability,
    swapped_sides,
    without_first_over,
    without_ids,
)
from attnlens.cricket.predictor.trained import save_predictor
from attnlens.cricket.predictor.window import cut_window

FIGURES = {"subject", "top_ball", "verdicts"}


def test_each_change_is_the_one_it_is_called() -> None:
    match = simulated(4)
    unknown = CHANGES["venue unknown"](match)
    assert (unknown.venue, unknown.city) == (None, None)
    assert dataclasses.replace(unknown, venue=match.venue, city=match.city) == match
    for before, after in zip(match.innings, swapped_sides(match).innings, strict=True):
        assert (after.batting_team, after.bowling_team) == (
            before.bowling_team,
            before.batting_team,
        )
        assert after.deliveries == before.deliveries
    assert swapped_sides(swapped_sides(match)) == match
    named = without_ids(match)
    balls = [ball for side in named.innings for ball in side.deliveries]
    wickets = [wicket.player_out for ball in balls for wicket in ball.wickets]
    players = [player for ball in balls for player in (ball.batter, ball.non_striker, ball.bowler)]
    assert wickets
    assert {player.id for player in [*players, *wickets]} == {None}
    for before, after in zip(match.innings, without_first_over(match).innings, strict=True):
        rest = [ball for ball in before.deliveries if ball.over > 0]
        assert [ball.index for ball in after.deliveries] == list(range(1, len(rest) + 1))
        assert [ball._replace(index=0) for ball in after.deliveries] == [
            ball._replace(index=0) for ball in rest
        ]


def test_what_does_not_matter_to_the_model_changes_nothing() -> None:
    predictor = small_predictor()
    held = HeldOut(predictor, (simulated(7), simulated(8)), None, 0, {})
    same = held.by_another(predictor)
    document = stability(held, same, balls=6, claims=2, seed=1)
    assert (document["balls"], document["claims_of"]) == (6, 2)
    assert list(document["changes"]) == [*CHANGES, AGAINST]
    for figures in document["changes"].values():
        assert set(figures) == FIGURES
        assert figures["subject"].balls == figures["top_ball"].balls == 6
        assert figures["verdicts"].balls >= 6
    for figure in document["changes"][AGAINST].values():
        assert (figure.mean, figure.ci) == (1.0, (1.0, 1.0))
    other = dataclasses.replace(predictor, model=small_model(seed=9))
    changed = stability(held, held.by_another(other), balls=12, claims=0, seed=1)["changes"]
    assert changed[AGAINST]["top_ball"].mean < 0.9
    assert changed[AGAINST]["verdicts"].mean is None
    assert "-" in render_stability(
        stability(held, balls=2, claims=0, seed=1), width=80, color=False
    )


def test_the_top_ball_is_the_one_whose_hiding_moves_the_subject_most() -> None:
    predictor, match = small_predictor(), simulated(7)
    window = cut_window(match, match.innings[0], arrays_of(predictor, match), 50)
    found = findings(predictor, window, verdicts=True)
    full = probabilities(predictor.model, window.batch)[0, 0]
    outcome = OUTCOMES.index(found.subject)
    odds = [full[outcome] / (1 - full[outcome])]
    for key in range(len(window.past)):
        hidden = probabilities(predictor.model, with_hidden(window.batch, [key]))[0, 0, outcome]
        odds.append(hidden / (1 - hidden))
    moved = np.abs(np.log(odds[1:]) - np.log(odds[0]))
    assert found.top_ball == window.labels[moved.argmax()]
    assert moved.max() > 1.001 * np.sort(moved)[-2]
    assert {"this over", "this bowler", "last balls"} <= set(found.verdicts)


def test_the_command(season: Path, attnlens_here: Here) -> None:
    save_predictor("other.safetensors", small_predictor(seed=5))
    model = season / "small.safetensors"
    source = season / "later.zip"
    words = ("lab", "faithfulness", source, "--model", model, "--history", source, "--balls", 4)
    more = ("--stability", "--claims", 1, "--against", "other.safetensors")
    data = json.loads(attnlens_here.good(*words, *more, "--json"))
    assert data["against"]["name"] == "other"
    for figures in data["changes"].values():
        for figure in FIGURES:
            low, high = figures[figure]["ci"]
            assert 0 <= low <= figures[figure]["mean"] <= high <= 1
    attnlens_here.patch.setenv("COLUMNS", "80")
    page = attnlens_here.good(*words, *more)
    assert max(map(len, page.splitlines())) <= 80
    assert "ids removed" in page
    refusal = attnlens_here.refused(*words, "--claims", 3)
    assert "--claims works only with --stability" in refusal
