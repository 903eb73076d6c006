"""Simulated matches as files: rules of the formats, reading back, truth, and the command."""

from __future__ import annotations

import csv
import dataclasses
import zipfile
from pathlib import Path

import pytest
from command_line import Here
from format_rules import check_json, probabilities_add_up
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match, read_matches
from attnlens.cricket.readers.writers import texts_of
from attnlens.cricket.simulator.causes import CAUSES, PLANTED
from attnlens.cricket.simulator.files import TRUTH_COLUMNS, save_simulated
from attnlens.cricket.simulator.simulate import (
    Coefficients,
    Simulated,
    planted_balls,
    simulate,
    simulate_match,
)
from attnlens.errors import InputError

PENALTIES = "penalty runs outside a delivery are not in this format: taken as 0"
strengths = st.floats(-3, 3, allow_nan=False).map(lambda value: round(value, 3))
coefficients = st.builds(
    Coefficients, **{cause: st.one_of(st.just(0.0), strengths) for cause in CAUSES}
)


def as_read(match: Match, source: str = "", notes: tuple[str, ...] = ()) -> Match:
    return dataclasses.replace(match, source=source, notes=notes)


def json_of(made: Simulated) -> str:
    return texts_of(made.match, "json", "m", elevens=made.elevens)["m.json"]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**40), size=coefficients)
@example(seed=204, size=Coefficients(0, 0, 0, 3, 0, 0, 0, 0, 0, 0))  # an over of 100 deliveries
def test_any_match_keeps_the_rules_of_both_formats_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory, seed: int, size: Coefficients
) -> None:
    made = simulate(seed, coefficients=size)
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


def test_the_checker_sees_what_is_wrong() -> None:
    made = simulate(3)
    text = json_of(made)
    bowler = made.match.innings[0].deliveries[0].bowler.name
    first, second = made.match.innings
    for old, new in (
        (f'"bowler": "{bowler}"', f'"bowler": "{made.elevens[first.batting_team][0]}"'),
        ('"overs": 20,', '"overs": 50,'),
        (f'"runs": {second.target}', f'"runs": {second.target}0'),
        ('"wickets": 4\n' if '"wickets": 4\n' in text else '"by"', '"bye"'),
    ):
        assert old in text
        with pytest.raises((AssertionError, KeyError, StopIteration)):
            check_json(text.replace(old, new))


def test_many_matches_in_a_zip_and_a_folder(tmp_path: Path) -> None:
    seeds = range(5, 9)
    for form in ("csv2", "json"):
        save_simulated(tmp_path / f"{form}.zip", seeds, file_format=form)
        save_simulated(tmp_path / form, seeds, file_format=form)
        expected = [as_read(simulate_match(seed)) for seed in seeds]
        for source in (tmp_path / f"{form}.zip", tmp_path / form):
            assert [as_read(match) for match in read_matches(source)] == expected
        with zipfile.ZipFile(tmp_path / f"{form}.zip") as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        on_disk = {path.name: path.read_bytes() for path in (tmp_path / form).iterdir()}
        readme = members.pop("README.txt")
        assert readme.replace(b"archive", b"folder") == on_disk.pop("README.txt")
        assert members == on_disk
        truth = rows_of(tmp_path / f"{form}_planted.csv")
        assert list(dict.fromkeys(row["match_id"] for row in truth)) == [
            f"simulated-{seed}" for seed in seeds
        ]
    assert (tmp_path / "csv2_planted.csv").read_bytes() == (
        tmp_path / "json_planted.csv"
    ).read_bytes()
    save_simulated(tmp_path / "again.zip", seeds, file_format="json")
    with zipfile.ZipFile(tmp_path / "again.zip") as archive:
        listed = archive.read("README.txt").decode()
    one = simulate_match(5)
    assert f"\n{one.date} - club - T20 - male - simulated-5 - {' vs '.join(one.teams)}\n" in listed


def test_the_truth_says_what_each_ball_was_drawn_from(tmp_path: Path) -> None:
    size = Coefficients(bowler_hit=0.6, settled=0)
    save_simulated(tmp_path / "m.json", [82], coefficients=size)
    made = simulate(82, coefficients=size)
    rows = rows_of(tmp_path / "m_planted.csv")
    assert tuple(rows[0]) == TRUTH_COLUMNS
    balls = [(side, ball) for side in made.match.innings for ball in side.deliveries]
    assert len(rows) == len(balls) == len(made.truth)
    for row, (side, ball), true in zip(rows, balls, made.truth, strict=True):
        named = (row["match_id"], row["innings"], row["index"])
        assert named == ("m", str(side.number), str(ball.index))
        assert probabilities_add_up(row)
        planted = planted_balls(made.match, side.number, ball.index, size)
        told = {cause: row[f"{cause}_balls"].split() for cause in PLANTED}
        assert {cause: those for cause, those in told.items() if those} == {
            cause: [str(index) for index in those] for cause, those in planted.items()
        }
        assert true.balls == planted
        assert row["settled_log_odds"] == row["settled_nats"] == "0"
        hits = len(planted.get("bowler_hit", ()))
        assert float(row["bowler_hit_log_odds"]) == pytest.approx(0.6 * hits)
        assert (float(row["bowler_hit_nats"]) > 0) == bool(hits)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--out", "m.txt"), "m.txt: ends in .txt, which is no form of a match; end it in .csv"),
        (("--out", "m.csv", "--matches", "2"), "m.csv: is one file, for 2 matches; name a folder"),
        (("--out", "m.csv", "--format", "json"), "m.csv: ends in .csv, and --format is json; end"),
        (("--out", "full"), "full: is a folder with files in it; name a new folder"),
        (("--out", "full/note"), "full/note: is a file; name a new folder"),
        (("--out", "none/m.csv"), "none/m.csv: its folder does not exist; make the folder first"),
        (("--out", "none/m"), "none/m: its folder does not exist; make the folder first"),
        (("--out", ""), "--out is empty; name a file or a folder"),
        (("--out", "m.csv", "--matches", "0"), "argument --matches: '0' is not a number from 1"),
        (("--out", "m.csv", "--strength", "nan"), "argument --strength: 'nan' is not a number"),
        (("--out", "m.csv", "--plant", "luck=1"), "argument --plant: 'luck' is no cause; use"),
        (("--out", "m.csv", "--plant", "dots"), "argument --plant: 'dots' is not CAUSE=X"),
        (("--out", "m.csv", "--plant", "dots=x"), "argument --plant: dots is 'x', not a number"),
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


def test_strengths_from_the_command_line(
    attnlens_here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    attnlens_here.good("simulate", "--out", "a.csv", "--seed", 4)
    attnlens_here.good("simulate", "--out", "b.csv", "--seed", 4, "--strength", 0)
    attnlens_here.good(
        "simulate", "--out", "c.csv", "--seed", 4, "--strength", 0,
        "--plant", "dots=0.5", "--plant", "bowler_hit=0.6,chase=0",
    )  # fmt: skip
    monkeypatch.setenv("ATTNLENS_PLANT", "dots=1,chase=0")
    attnlens_here.good(
        "simulate", "--out", "d.csv", "--seed", 4, "--strength", 0,
        "--plant", "dots=0.5,bowler_hit=0.6",
    )  # fmt: skip
    present = {
        name: {
            cause
            for row in rows_of(Path(f"{name}_planted.csv"))
            for cause in CAUSES
            if row[f"{cause}_log_odds"] != "0"
        }
        for name in "abcd"
    }
    reach = {"out_of_reach"} & present["b"]
    assert present["a"] >= {"settled", "batter_hit", "bowler_hit", "wicket_fallen", "chase"}
    assert "dots" not in present["a"]
    assert present["b"] == {"chase", "wickets_down"} | reach
    assert present["c"] - {"out_of_reach"} == {"dots", "bowler_hit", "wickets_down"}
    assert Path("c.csv").read_bytes() == Path("d.csv").read_bytes()


def test_no_file_is_left_when_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "m_planted.csv").mkdir()
    for name in ("m.csv", "m.zip", "m"):
        with pytest.raises(InputError, match=r"m_planted\.csv: is a directory"):
            save_simulated(tmp_path / name, [1])
    assert [path.name for path in tmp_path.iterdir()] == ["m_planted.csv"]
