"""Tables that learn day by day: what they see, and how they come back from disk."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file
from small_predictors import simulated, small_predictor

from attnlens.cricket.lab.fit import rate_and_encode
from attnlens.cricket.match.competition import PHASES, phase_of, quota_of
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.day_tables import saved_table
from attnlens.cricket.predictor.levels import HALF_LIFE, OutcomeLevels
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.trained import (
    Timeline,
    load_predictor,
    save_predictor,
    update_ratings,
)
from attnlens.reference.checkpoint import read_checkpoint, write_checkpoint

PREDICTOR = small_predictor(matches=4)
MATCHES = [simulated(seed) for seed in range(8)]


def outcomes_moved(match: Match) -> Match:
    """The match with every ball's outcome that of the ball after it."""
    sides = []
    for side in match.innings:
        balls = side.deliveries
        moved = [ball.outcome for ball in (*balls[40:], *balls[:40])]
        pairs = zip(balls, moved, strict=True)
        deliveries = tuple(ball._replace(outcome=outcome) for ball, outcome in pairs)
        sides.append(dataclasses.replace(side, deliveries=deliveries))
    return dataclasses.replace(match, innings=tuple(sides))


def contents(ratings: Ratings) -> dict[str, list[float]]:
    """Every number of every day table."""
    return {
        f"{name}.{part}": tensor.flatten().tolist()
        for name, table in ratings.day_tables.items()
        for part, tensor in saved_table(table).items()
    }


def learnt_from(matches: Sequence[Match]) -> Ratings:
    ratings = Ratings()
    rate_and_encode(matches, PREDICTOR.base, ratings)
    return ratings


@pytest.mark.parametrize("history", [MATCHES, [*MATCHES[:5], *map(outcomes_moved, MATCHES[5:])]])
@pytest.mark.parametrize("known", [0, 4, 8])
def test_a_table_sees_no_match_of_its_own_day_or_later(known: int, history: list[Match]) -> None:
    ratings = learnt_from(MATCHES[:known])
    line = Timeline(dataclasses.replace(PREDICTOR, ratings=ratings), history)
    before = line.predictor_for(MATCHES[5]).ratings
    assert contents(before) == contents(learnt_from(MATCHES[:5]))
    assert {table.until for table in before.day_tables.values()} == {MATCHES[4].date}
    # Later days do not change what was handed out.
    line.at_the_end()
    line.predictor_for(MATCHES[7])
    assert contents(before) == contents(learnt_from(MATCHES[:5]))


def test_matches_of_one_day_do_not_teach_each_other() -> None:
    twin = dataclasses.replace(MATCHES[5], dates=MATCHES[4].dates)
    both = learnt_from([*MATCHES[:4], MATCHES[4], twin])
    line = Timeline(dataclasses.replace(PREDICTOR, ratings=Ratings()), [*MATCHES[:5], twin])
    assert contents(line.predictor_for(twin).ratings) == contents(learnt_from(MATCHES[:4]))
    assert contents(line.predictor_for(MATCHES[7]).ratings) == contents(both)


def test_levels_are_faded_counts_of_the_balls() -> None:
    last = MATCHES[3].date
    assert last is not None
    observed = np.zeros((len(PHASES), len(OUTCOMES)))
    for match in MATCHES[:4]:
        assert match.date is not None
        weight = 0.5 ** ((last - match.date).days / HALF_LIFE)
        for side in match.innings:
            for ball in side.deliveries if not side.super_over else ():
                phase = phase_of(ball.legal_balls_before, quota_of(match, side))
                observed[phase, OUTCOMES.index(ball.outcome)] += weight
    levels = learnt_from(MATCHES[:4]).levels
    rows = [row for row in range(len(levels.keys)) if levels.observed[row].any()]
    assert rows
    for row in rows:
        np.testing.assert_allclose(levels.observed[row], observed, rtol=1e-12)
        np.testing.assert_allclose(levels.expected[row].sum(-1), observed.sum(-1), rtol=1e-5)


def test_a_checkpoint_keeps_the_tables(tmp_path: Path) -> None:
    save_predictor(tmp_path / "new.safetensors", PREDICTOR)
    back = load_predictor(tmp_path / "new.safetensors")
    assert contents(back.ratings) == contents(PREDICTOR.ratings)
    assert contents(back.ratings)
    assert back.ratings.complete_until == PREDICTOR.ratings.until


def test_a_checkpoint_without_tables_has_empty_ones_and_can_be_completed(tmp_path: Path) -> None:
    new, old = tmp_path / "new.safetensors", tmp_path / "old.safetensors"
    save_predictor(new, PREDICTOR)
    checkpoint = read_checkpoint(new, "temporal")
    tables = tuple(f"ratings.{name}." for name in PREDICTOR.ratings.day_tables)
    tensors = {k: v for k, v in checkpoint.tensors.items() if not k.startswith(tables)}
    write_checkpoint(old, tensors, checkpoint.metadata)
    predictor = load_predictor(old)
    assert contents(predictor.ratings) == {}
    assert predictor.ratings.until == PREDICTOR.ratings.until
    assert predictor.ratings.complete_until is None

    until = PREDICTOR.ratings.until
    completed, added = update_ratings(predictor, reversed(MATCHES), last=until)
    assert (added.matches, added.completed) == (0, 4)
    assert completed.card == predictor.card
    save_predictor(old, completed)
    before, after = load_file(new), load_file(old)
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert np.array_equal(tensor.numpy(), after[name].numpy()), name


def test_damaged_tables_are_refused() -> None:
    levels = learnt_from(MATCHES[:2]).levels
    for name, value in (("observed", -1.0), ("expected", -1.0)):
        tensors = levels.to_tensors()
        tensors[name] = tensors[name] * value
        with pytest.raises(ValueError, match="negative"):
            OutcomeLevels.from_tensors(tensors)
    tensors = levels.to_tensors()
    with pytest.raises(ValueError, match="fit"):
        OutcomeLevels.from_tensors({**tensors, "observed": tensors["observed"][:-1]})


def test_the_oldest_table_says_until_when_all_have_learnt() -> None:
    ratings = learnt_from(MATCHES[:3])
    assert ratings.complete_until == ratings.until == MATCHES[2].date
    ratings.levels.until = datetime.date(2020, 1, 1)
    assert ratings.complete_until == datetime.date(2020, 1, 1)
