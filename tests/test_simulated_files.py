"""Simulated matches as files: rules of the formats, reading back, truth, and the command."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import pytest
from command_line import Here
from format_rules import check_json, probabilities_add_up
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnlens.cricket.lab.causes import CAUSES, PLANTED
from attnlens.cricket.lab.files import TRUTH_COLUMNS, save_simulated
from attnlens.cricket.lab.simulate import (
    Simulated,
    simulate,
    simulate_match,
)
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match, read_matches
from attnlens.cricket.readers.writers import texts_of
from attnlens.errors import InputError

PENALTIES = "penalty runs outside a delivery are not in this format: taken as 0"


def as_read(match: Match, source: str = "", notes: tuple[str, ...] = ()) -> Match:
    return dataclasses.replace(match, source=source, notes=notes)


def json_of(made: Simulated) -> str:
    return texts_of(made.match, "json", "m", elevens=made.elevens)["m.json"]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**40), strength=st.floats(0, 10))
def test_any_match_keeps_the_rules_of_both_formats_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory, seed: int, strength: float
) -> None:
    made = simulate(seed, strength=strength)
    assert check_json(json_of(made))
    folder = tmp_path_factory.mktemp("match")
    name = made.match.match_id
    for form in ("csv2", "json"):
        for file, text in texts_of(made.match, form, name, elevens=made.elevens).items():
            (folder / file).write_text(text, encoding="utf-8")
    from_json, from_csv = (read_match(folder / f"{name}.{end}") for end in ("json", "csv"))
    assert from_json.notes == ()
    assert from_csv.notes == (PENALTIES,)
    assert as_read(from_json) == as_read(from_csv) == as_read(made.match)


def test_a_tie_goes_to_super_overs_in_both_formats() -> None:
    ties = [seed for seed in range(400) if len(simulate_match(seed).innings) > 2]
    assert ties
    for seed in ties:
        made = simulate(seed)
        super_overs = made.match.innings[2:]
        assert all(innings.super_over and innings.legal_balls <= 6 for innings in super_overs)
        assert super_overs[0].batting_team == made.match.innings[1].batting_team
        assert check_json(json_of(made))
        truth = {(ball.innings, ball.index) for ball in made.truth}
        assert truth >= {(3, ball.index) for ball in super_overs[0].deliveries}


def test_many_matches_in_a_zip(tmp_path: Path) -> None:
    seeds = range(5, 9)
    for form in ("csv2", "json"):
        save_simulated(tmp_path / f"{form}.zip", seeds, file_format=form)
        found = [as_read(match) for match in read_matches(tmp_path / f"{form}.zip")]
        assert found == [as_read(simulate_match(seed)) for seed in seeds]
        truth = rows_of(tmp_path / f"{form}_planted.csv")
        assert list(dict.fromkeys(row["match_id"] for row in truth)) == [
            f"simulated-{seed}" for seed in seeds
        ]
    texts = [(tmp_path / f"{form}_planted.csv").read_bytes() for form in ("csv2", "json")]
    assert texts[0] == texts[1]
    save_simulated(tmp_path / "again.zip", seeds)
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "csv2.zip").read_bytes()


def test_the_truth_says_what_each_ball_was_drawn_from(tmp_path: Path) -> None:
    save_simulated(tmp_path / "m.json", [82])
    made = simulate(82)
    rows = rows_of(tmp_path / "m_planted.csv")
    assert tuple(rows[0]) == TRUTH_COLUMNS
    for row, true in zip(rows, made.truth, strict=True):
        named = (row["match_id"], row["innings"], row["index"])
        assert named == ("m", str(true.innings), str(true.index))
        assert probabilities_add_up(row)
        for cause in CAUSES:
            assert float(row[f"{cause}_nats"]) == pytest.approx(true.nats.get(cause, 0), abs=1e-6)
            told = float(row[f"{cause}_log_odds"])
            assert told == pytest.approx(true.log_odds.get(cause, 0), abs=1e-4)
        for cause in PLANTED:
            assert row[f"{cause}_balls"] == " ".join(map(str, true.balls.get(cause, ())))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--out", "m.txt"), "m.txt: ends in .txt, which is no form of a match; end it in .csv"),
        (("--out", "full"), "full: ends in no suffix, which is no form of a match; end it in"),
        (("--out", "m.csv", "--matches", "2"), "m.csv: is one file, for 2 matches; end it in .zip"),
        (
            ("--out", "m.csv", "--format", "json"),
            "m.csv: ends in .csv, and --format is json; leave",
        ),
        (("--out", "none/m.csv"), "none/m.csv: its folder does not exist; make the folder first"),
        (("--out", ""), "--out is empty; name a file"),
        (("--out", "m.csv", "--matches", "0"), "argument --matches: '0' is not a number from 1"),
        (("--out", "m.csv", "--strength", "nan"), "argument --strength: 'nan' is not a number"),
    ],
)
def test_bad_values_are_one_clear_line(
    attnlens_here: Here, words: tuple[str, ...], told: str
) -> None:
    Path("full").mkdir()
    Path("full/note").write_text("x", encoding="utf-8")
    answer = attnlens_here("simulate", *words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"attnlens: {told}")
    assert answer.err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["full"]


def test_strengths_from_the_command_line(attnlens_here: Here) -> None:
    attnlens_here.good("simulate", "--out", "a.csv", "--seed", 4)
    attnlens_here.good("simulate", "--out", "b.csv", "--seed", 4, "--strength", 0)
    present = {
        name: {
            cause
            for row in rows_of(Path(f"{name}_planted.csv"))
            for cause in CAUSES
            if row[f"{cause}_log_odds"] != "0"
        }
        for name in "ab"
    }
    assert present["a"] >= {"settled", "batter_hit", "bowler_hit", "wicket_fallen", "chase"}
    assert present["b"] - {"out_of_reach"} == {"chase", "wickets_down"}


def test_no_file_is_left_when_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "m_planted.csv").mkdir()
    for name in ("m.csv", "m.zip"):
        with pytest.raises(InputError, match=r"m_planted\.csv: is a directory"):
            save_simulated(tmp_path / name, [1])
    assert [path.name for path in tmp_path.iterdir()] == ["m_planted.csv"]
