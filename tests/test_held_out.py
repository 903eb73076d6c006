"""Which matches a predictor is judged on, and with which ratings."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from small_predictors import simulated, small_predictor

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.lab.fit import rate_and_encode
from attnlens.cricket.lab.held_out import held_out, last_day
from attnlens.cricket.lab.simulator import write_match
from attnlens.cricket.lab.training import read_dated
from attnlens.cricket.match.match import Match
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.trained import Timeline, TrainedPredictor, distinct_matches
from attnlens.cricket.readers import read_matches
from attnlens.errors import InputError


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("season")
    for seed in range(40, 46):
        write_match(match := simulated(seed), folder / f"{match.match_id}.csv")
    return folder


@pytest.fixture(scope="module")
def matches(source: Path) -> list[Match]:
    """Six matches as files tell them, oldest first, each on a day of its own."""
    found = sorted(read_matches(source), key=lambda match: match.dates)
    assert len({match.dates for match in found}) == 6
    return found


def day(match: Match) -> datetime.date:
    found = last_day(match)
    assert found is not None
    return found


FAR = {"first": datetime.date(2090, 1, 1)}


@pytest.fixture
def predictor(matches: list[Match]) -> TrainedPredictor:
    """Trained on the second and the third; its ratings know the first three."""
    made = small_predictor(matches=2)
    made.ratings = Ratings()
    rate_and_encode(matches[:3], made.base, made.ratings)
    made.card["trained_from"] = day(matches[1]).isoformat()
    made.card["trained_until"] = day(matches[2]).isoformat()
    return made


def ids(matches: Iterable[Match]) -> list[str]:
    return [match.match_id for match in matches]


def test_matches_after_the_training_are_judged(
    predictor: TrainedPredictor, matches: list[Match], source: Path
) -> None:
    found = held_out(predictor, [source])
    assert ids(found.matches) == ids(matches[3:])
    assert found.notes == ()
    assert found.dates == (day(matches[3]).isoformat(), day(matches[5]).isoformat())
    later = held_out(predictor, [source, source], first=day(matches[4]))
    assert ids(later.matches) == ids(matches[4:])
    earlier = held_out(predictor, [source], last=day(matches[4]))
    assert ids(earlier.matches) == ids(matches[3:5])
    predictor.ratings = Ratings()
    before = held_out(predictor, [source], first=day(matches[0]), last=day(matches[0]))
    assert ids(before.matches) == ids(matches[:1])


def test_matches_inside_the_training_are_refused_unless_asked_for(
    predictor: TrainedPredictor, matches: list[Match], source: Path
) -> None:
    message = "1 of the 4 chosen matches are inside.*--allow-in-sample"
    with pytest.raises(InputError, match=message):
        held_out(predictor, [source], first=day(matches[2]))
    found = held_out(predictor, [source], first=day(matches[2]), allow_in_sample=True)
    assert ids(found.matches) == ids(matches[2:])
    assert found.in_sample == 1
    assert "1 of 4 matches" in found.notes[0]
    everything = held_out(predictor, [source], allow_in_sample=True)
    assert (len(everything.matches), everything.in_sample) == (6, 2)


def test_nothing_to_judge_on_is_said(
    predictor: TrainedPredictor, matches: list[Match], source: Path
) -> None:
    old = source / f"{matches[0].match_id}.csv"
    with pytest.raises(InputError, match=r"no match was played from .* after the model's training"):
        held_out(predictor, [old])
    damaged = source.parent / "damaged.csv"
    damaged.write_text(old.read_text(encoding="utf-8").replace(",1,0.3,", ",1,x,", 1), "utf-8")
    with pytest.raises(MatchFileError, match=r"damaged\.csv:\d+: .*'x"):
        held_out(predictor, [damaged])
    with pytest.raises(InputError, match="no match was played between --from and --until"):
        held_out(predictor, [source], **FAR)
    with pytest.raises(InputError, match="swap --from and --until"):
        held_out(predictor, [source], **FAR, last=datetime.date(2080, 1, 1))


def test_ratings_are_those_of_the_day_before(
    predictor: TrainedPredictor, matches: list[Match], source: Path
) -> None:
    """As if the ratings had gone on from match to match, as they do in training."""
    ratings = Ratings()
    expected = rate_and_encode(matches, predictor.base, ratings)[6:]
    for mine, other in zip(held_out(predictor, [source]).innings(), expected, strict=True):
        assert (mine.match_id, mine.innings) == (other.match_id, other.innings)
        assert mine.match.dates == other.match.dates
        for name, value in mine.arrays.ratings.items():
            np.testing.assert_allclose(value, other.arrays.ratings[name], atol=1e-5)
        np.testing.assert_array_equal(mine.arrays.outcome, other.arrays.outcome)
    alone = source / f"{matches[5].match_id}.csv"
    dated, plain = (
        next(held_out(predictor, [alone], **history).innings()).arrays.ratings["striker"]
        for history in ({"history": [source]}, {})
    )
    due = expected[-2].arrays.ratings["striker"]
    np.testing.assert_allclose(dated, due, atol=1e-5)
    assert np.abs(plain - due).max() > 1e-3


def test_ratings_of_later_days_are_told(
    predictor: TrainedPredictor, matches: list[Match], source: Path
) -> None:
    alone = source / f"{matches[1].match_id}.csv"
    found = held_out(predictor, [alone], allow_in_sample=True)
    assert found.timeline is None
    assert "ratings are those of the checkpoint" in found.notes[1]
    dated = held_out(predictor, [alone], history=[source], allow_in_sample=True)
    assert len(dated.notes) == 1
    due = rate_and_encode(matches, predictor.base, Ratings())[2].arrays.ratings["bowler"]
    np.testing.assert_allclose(next(dated.innings()).arrays.ratings["bowler"], due, atol=1e-5)


def test_matches_that_only_the_ratings_know_are_refused(
    predictor: TrainedPredictor, matches: list[Match], source: Path
) -> None:
    del predictor.card["trained_from"], predictor.card["trained_until"]
    alone = source / f"{matches[1].match_id}.csv"
    message = "1 of the 1 chosen matches are already included in the.*--model measured.*--history"
    with pytest.raises(InputError, match=message):
        held_out(predictor, [alone])
    assert held_out(predictor, [alone], allow_in_sample=True).timeline is None
    assert held_out(predictor, [alone], history=[source]).timeline is not None


def test_a_copy_under_another_name_counts_once(
    predictor: TrainedPredictor, matches: list[Match], source: Path, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        copy = dataclasses.replace(matches[4], match_id=name)
        write_match(copy, tmp_path / f"{name}.csv")
    corrected = dataclasses.replace(matches[5], innings=matches[5].innings[:1] * 2)
    assert ids(distinct_matches([*matches, corrected]))[6:] == [corrected.match_id]
    found = held_out(predictor, [source, tmp_path])
    assert ids(found.matches) == ids(matches[3:])
    # Nor is it learnt twice.
    alone, again = (
        Timeline(predictor, history).predictor_for(matches[5]).ratings.tables["striker"].balls
        for history in (matches[4:5], read_matches(tmp_path))
    )
    np.testing.assert_array_equal(alone, again)
    assert len(read_dated([str(source), str(tmp_path)], lambda _: None)) == len(matches)


def test_files_that_cannot_be_read_are_passed_over(
    predictor: TrainedPredictor, tmp_path: Path
) -> None:
    write_match(simulated(45), tmp_path / "good.csv")
    write_match(simulated(44), tmp_path / "bad.csv")
    bad = tmp_path / "bad.csv"
    bad.write_text(bad.read_text(encoding="utf-8").replace(",", ";", 300), encoding="utf-8")
    predictor.card["trained_until"] = "2000-01-01"
    skipped: list[MatchFileError] = []
    found = held_out(predictor, [tmp_path], skipped=skipped)
    assert len(found.matches) == len(skipped) == 1
