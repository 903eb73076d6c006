"""Tables that learn day by day: what they see, and how they come back from disk."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from small_predictors import simulated, small_predictor

from attnlens.cricket.lab.fit import rate_and_encode
from attnlens.cricket.match.competition import KINDS, PHASES, phase_of, quota_of
from attnlens.cricket.match.match import OUTCOMES, Match, Player
from attnlens.cricket.predictor.day_tables import (
    STAGES,
    MatchSummary,
    OutcomeLevels,
    saved_table,
    summary_of,
    words_of,
)
from attnlens.cricket.predictor.form import Form
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.tensors import encode_innings
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
    line.predictor_for(MATCHES[7])
    assert contents(before) == contents(learnt_from(MATCHES[:5]))


def test_matches_of_one_day_do_not_teach_each_other() -> None:
    twin = dataclasses.replace(MATCHES[5], dates=MATCHES[4].dates)
    both = learnt_from([*MATCHES[:4], MATCHES[4], twin])
    line = Timeline(dataclasses.replace(PREDICTOR, ratings=Ratings()), [*MATCHES[:5], twin])
    assert contents(line.predictor_for(twin).ratings) == contents(learnt_from(MATCHES[:4]))
    assert contents(line.predictor_for(MATCHES[7]).ratings) == contents(both)


def counts_of(levels: OutcomeLevels, stage: int) -> dict[str, np.ndarray[Any, Any]]:
    """Observed and expected counts of a stage by key, ``(2, phases, 11)``."""
    tensors = levels.to_tensors()
    keys = words_of(tensors[f"{stage}.keys"])
    return dict(zip(keys, tensors[f"{stage}.counts"].double().numpy(), strict=True))


def test_levels_are_faded_counts_of_the_balls() -> None:
    last, stage = MATCHES[3].date, STAGES[3]
    assert last is not None
    assert stage.by_phase
    observed = np.zeros((len(PHASES), len(OUTCOMES)))
    for match in MATCHES[:4]:
        assert match.date is not None
        weight = 0.5 ** ((last - match.date).days / stage.half_life)
        for side in match.innings:
            for ball in side.deliveries if not side.super_over else ():
                phase = phase_of(ball.legal_balls_before, quota_of(match, side))
                observed[phase, OUTCOMES.index(ball.outcome)] += weight
    levels = learnt_from(MATCHES[:4]).levels
    [(observed_by_phase, expected_by_phase)] = counts_of(levels, 3).values()
    np.testing.assert_allclose(observed_by_phase, observed, rtol=1e-6)
    # Whatever the other stages make of it, as many balls are expected as came.
    np.testing.assert_allclose(expected_by_phase.sum(1), observed.sum(1), rtol=1e-6)


def test_two_stages_by_hand() -> None:
    """The kind of cricket learns beside the scoreboard, its competition beside the kind."""
    stage, levels = STAGES[0], OutcomeLevels()
    seen = np.zeros((2, len(OUTCOMES)))
    due_by_kind = np.zeros((len(PHASES), len(OUTCOMES)))
    for match, before in zip(MATCHES[:3], (None, *MATCHES), strict=False):
        summary = update_of(match)
        by_phase = [sum(getattr(i, name) for i in summary.innings) for name in COUNTS]
        fade = 0.5 ** ((match.dates[-1] - before.dates[-1]).days / 365) if before else 1.0
        seen = fade * seen + np.sum(by_phase, axis=1)
        ratio = (seen[0] + stage.prior_events) / (seen[1] + stage.prior_events)
        corrected = by_phase[1] * ratio
        corrected *= by_phase[1].sum(1, keepdims=True) / corrected.sum(1, keepdims=True)
        due_by_kind = fade * due_by_kind + corrected
        levels.learn_day(match.dates[-1], [summary])
    kind, competition = (counts_of(levels, number) for number in (0, 1))
    np.testing.assert_allclose(kind[KINDS[summary.kind]][:, 0], seen, rtol=1e-6)
    own = competition[summary.competition][:, 0]
    np.testing.assert_allclose(own, [seen[0], due_by_kind.sum(0)], rtol=1e-6)


COUNTS = ("observed", "expected")


def update_of(match: Match) -> MatchSummary:
    innings = [
        (
            side,
            PREDICTOR.base.of_innings(match, side),
            np.array([OUTCOMES.index(ball.outcome) for ball in side.deliveries]),
        )
        for side in match.innings
        if not side.super_over
    ]
    return summary_of(match, innings)


def test_usual_sums_to_one_and_follows_the_levels() -> None:
    match = MATCHES[6]
    plain = dataclasses.replace(PREDICTOR, ratings=Ratings())
    taught = dataclasses.replace(PREDICTOR, ratings=learnt_from(MATCHES[:6]))
    for predictor in (plain, taught):
        for side in match.innings:
            arrays = encode_innings(match, side, predictor.ratings, predictor.base)
            np.testing.assert_allclose(np.exp(arrays.usual.astype(float)).sum(1), 1, atol=1e-6)
    side = match.innings[0]
    base = PREDICTOR.base.of_innings(match, side)
    same = encode_innings(match, side, plain.ratings, plain.base).usual
    np.testing.assert_allclose(same, base, atol=1e-6)
    # Very many balls of which each phase has twice as many sixes as the scoreboard expects.
    summary, six = update_of(MATCHES[0]), OUTCOMES.index("6")
    expected = np.full(summary.innings[0].expected.shape, 1e6, np.float32)
    observed = np.where(np.arange(len(OUTCOMES)) == six, 2, 1) * 10**6
    innings = dataclasses.replace(
        summary.innings[0], expected=expected, observed=np.tile(observed, (len(PHASES), 1))
    )
    levels = OutcomeLevels()
    levels.learn_day(MATCHES[0].dates[-1], [dataclasses.replace(summary, innings=(innings,))])
    ratings = Ratings(levels=levels)
    ratios = levels.log_ratios(summary_of(match, ()))
    change = encode_innings(match, side, ratings, PREDICTOR.base).usual - base
    change -= change[:, :1]
    np.testing.assert_allclose(np.diff(ratios[:, [0, six]]), np.log(2), atol=0.01)
    np.testing.assert_allclose(change[:, six], np.log(2), atol=0.01)
    np.testing.assert_allclose(np.delete(change, six, axis=1), 0, atol=0.01)


def test_another_format_has_levels_of_its_own() -> None:
    match = MATCHES[0]
    one_day = dataclasses.replace(match, match_type="ODI")
    levels = learnt_from([one_day]).levels
    assert levels.log_ratios(summary_of(one_day, ())).any()
    assert not levels.log_ratios(summary_of(match, ())).any()


def test_a_checkpoint_keeps_the_tables(tmp_path: Path) -> None:
    save_predictor(tmp_path / "new.safetensors", PREDICTOR)
    back = load_predictor(tmp_path / "new.safetensors")
    assert contents(back.ratings) == contents(PREDICTOR.ratings)
    assert contents(back.ratings)
    assert back.ratings.complete_until == PREDICTOR.ratings.until


@pytest.mark.parametrize("missing", [tuple(PREDICTOR.ratings.day_tables), ("records",)])
def test_a_checkpoint_without_tables_has_empty_ones_and_can_be_completed(
    missing: tuple[str, ...], tmp_path: Path
) -> None:
    """Nothing is learnt twice, and nobody is taken in whom the ratings have not met."""
    new, old = tmp_path / "new.safetensors", tmp_path / "old.safetensors"
    save_predictor(new, PREDICTOR)
    checkpoint = read_checkpoint(new, "temporal")
    prefixes = tuple(f"ratings.{name}." for name in missing)
    tensors = {k: v for k, v in checkpoint.tensors.items() if not k.startswith(prefixes)}
    write_checkpoint(old, tensors, checkpoint.metadata)
    predictor = load_predictor(old)
    assert not any(name.startswith(missing) for name in contents(predictor.ratings))
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

    side = MATCHES[3].innings[0]
    stranger = side.deliveries[0]._replace(batter=Player("A Stranger", "nobody-1"))
    innings = dataclasses.replace(side, deliveries=(stranger, *side.deliveries[1:]))
    other = dataclasses.replace(MATCHES[3], match_id="other", innings=(innings,))
    again, _ = update_ratings(predictor, [*MATCHES[:4], other], last=until)
    assert again.ratings.tables["striker"].keys == predictor.ratings.tables["striker"].keys
    assert again.ratings.aliases == predictor.ratings.aliases


def test_completing_a_table_teaches_the_ratings_no_names() -> None:
    """A match that the ratings never learnt, of a day that they know, teaches the tables alone."""
    stranger = dataclasses.replace(simulated(21), dates=MATCHES[1].dates)
    known = set(PREDICTOR.ratings.tables["striker"].keys)
    met = {ball.batter.key for side in stranger.innings for ball in side.deliveries}
    assert met - known
    ratings = dataclasses.replace(PREDICTOR.ratings.copy(), form=Form())
    predictor = dataclasses.replace(PREDICTOR, ratings=ratings)
    until = PREDICTOR.ratings.until
    completed, added = update_ratings(predictor, [*MATCHES[:4], stranger], last=until)
    assert added.completed == 5
    assert completed.ratings.form.until == until
    for name, table in completed.ratings.tables.items():
        assert table.keys == PREDICTOR.ratings.tables[name].keys
    assert completed.ratings.aliases == PREDICTOR.ratings.aliases


def test_damaged_tables_are_refused() -> None:
    tensors = saved_table(learnt_from(MATCHES[:2]).levels)
    with pytest.raises(ValueError, match="negative"):
        OutcomeLevels.from_tensors(tensors | {"0.counts": -tensors["0.counts"]})
    with pytest.raises(ValueError, match="fit"):
        OutcomeLevels.from_tensors(tensors | {"3.counts": tensors["3.counts"][:-1]})
    with pytest.raises(KeyError):
        OutcomeLevels.from_tensors({"until": tensors["until"]})


def test_the_oldest_table_says_until_when_all_have_learnt() -> None:
    ratings = learnt_from(MATCHES[:3])
    assert ratings.complete_until == ratings.until == MATCHES[2].date
    ratings.levels.until = datetime.date(2020, 1, 1)
    assert ratings.complete_until == datetime.date(2020, 1, 1)
