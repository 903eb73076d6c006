"""Cricsheet CSV2, also through a spreadsheet, and the original CSV."""

from __future__ import annotations

import dataclasses
import datetime
import zipfile
from pathlib import Path

import pytest
from match_files import problem
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.match.match import Player, Wicket
from attnlens.cricket.readers import files, read_match, read_matches
from attnlens.cricket.readers.text import date_from


def sample_rows(sample: Path) -> list[str]:
    return sample.read_text(encoding="utf-8").splitlines(keepends=True)


def assert_same(path: Path, other: Path) -> None:
    first, second = (dataclasses.replace(read_match(place), source="") for place in (path, other))
    assert first == second


def test_csv2_cut_short_is_refused(tmp_path: Path, sample_match_path: Path) -> None:
    path = tmp_path / "cut.csv"
    text = "".join(sample_rows(sample_match_path)[:50])
    path.write_text(text[:-40], encoding="utf-8")
    assert problem(path).startswith("cut.csv:50: this row has ")
    path.write_text(sample_rows(sample_match_path)[0], encoding="utf-8")
    assert problem(path) == "cut.csv: has a header but no deliveries"


def test_csv2_without_its_info_says_what_is_not_known(
    tmp_path: Path, sample_match_path: Path
) -> None:
    path = tmp_path / "alone.csv"
    path.write_bytes(sample_match_path.read_bytes())
    match = read_match(path)
    whole = read_match(sample_match_path)
    # The type is known only where an innings ran its full length.
    full = any(innings.overs_display == "20.0" for innings in whole.innings)
    kind = (match.match_type, match.overs, match.balls_per_over)
    assert kind == (("T20", 20, 6) if full else (None, None, 6))
    assert [innings.total for innings in match.innings] == [
        innings.total for innings in whole.innings
    ]
    assert match.innings[1].target == whole.innings[1].target
    assert match.innings[0].deliveries[0].batter.id is None
    assert match.notes[0] == (
        "there is no _info.csv file for the match, so result, toss and ids are unknown"
    )


def test_csv2_is_read_by_column_name(tmp_path: Path, sample_match_path: Path) -> None:
    rows = [line.rstrip("\n").split(",") for line in sample_rows(sample_match_path)]
    if any(len(row) != len(rows[0]) for row in rows):
        pytest.fail("the sample has quoted fields, which this test splits")
    path = tmp_path / "match.csv"
    turned = "\r\n".join(",".join(["new", *reversed(row)]) for row in rows)
    path.write_bytes(b"\xef\xbb\xbf" + turned.encode())
    info = sample_match_path.with_name("match_info.csv")
    (tmp_path / "match_info.csv").write_bytes(info.read_bytes())
    assert_same(path, sample_match_path)


def test_csv2_names_what_is_wrong(
    tmp_path: Path, sample_match_path: Path, snapshot: SnapshotAssertion
) -> None:
    header, *rows = [line.split(",") for line in sample_rows(sample_match_path)]
    path, problems = tmp_path / "bad.csv", []
    for column, value in (
        ("innings", "0"), ("ball", "7"), ("wides", "-1"), ("extras", "9"), ("runs_off_bat", "400"),
        ("wicket_type", "bowled"), ("batting_team", "Greens"), ("start_date", "05-10-2023"),
    ):  # fmt: skip
        fields = [
            value if name == column else old for name, old in zip(header, rows[1], strict=True)
        ]
        table = [header, rows[0], fields, *rows[2:]]
        path.write_text("".join(map(",".join, table)), encoding="utf-8")
        if column != "start_date":
            problems.append(problem(path))
    problems.append(problem(sample_match_path.with_name("malformed.csv")))
    assert problems == snapshot
    # The date of a match is on its first row.
    assert read_match(path).dates == read_match(sample_match_path).dates


def test_csv2_in_a_zip_finds_its_info(tmp_path: Path, sample_match_path: Path) -> None:
    archive = tmp_path / "one.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for name in ("match.csv", "match_info.csv"):
            stream.write(sample_match_path.with_name(name), f"deep/{name}")
    assert_same(archive, sample_match_path)


def test_a_file_too_large_to_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b"{" + b" " * 2**20)
    monkeypatch.setattr(files, "_MAX_BYTES", 2**20)
    assert "larger than 1 MB, which is too large for a match" in problem(large)


HEAD = """version,1.3.0
info,team,Reds
info,team,Blues
info,gender,female
info,season,2011/12
info,date,2012/03/18
info,competition,Harbour Cup
info,match_number,7
info,venue,"Harbour Park, North End"
info,toss_winner,Blues
info,toss_decision,field
info,winner,Reds
info,winner_runs,5
"""
BALLS = """ball,1,0.1,Reds,Ana,Bea,Cem,4,0,,,,,,"",""
ball,1,0.2,Reds,Ana,Bea,Cem,0,1,1,,,,,"",""
ball,1,0.3,Reds,Ana,Bea,Cem,0,0,,,,,,"caught","Ana"
ball,1,0.4,Reds,Eli,Bea,Cem,2,1,,1,,,,"",""
ball,2,0.1,Blues,Cem,Dov,Ana,3,0,,,,,,"run out","Dov"
ball,2,0.2,Blues,Cem,Fay,Ana,0,0,,,,,,"retired hurt","Cem"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "99.csv"
    path.write_text(HEAD + BALLS, encoding="utf-8")
    return path


def test_sixteen_fields_are_read(path: Path) -> None:
    match = read_match(path)
    assert (match.match_id, match.gender, match.season) == ("99", "female", "2011/12")
    assert (str(match.date), match.venue) == ("2012-03-18", "Harbour Park, North End")
    # Before 1.6 the event was called competition, and balls per over were not there.
    assert match.event == {"name": "Harbour Cup", "match_number": 7}
    assert match.balls_per_over == 6
    assert match.outcome == {"winner": "Reds", "by": {"runs": 5}}
    assert match.toss == {"winner": "Blues", "decision": "field"}
    first, second = match.innings
    assert (first.batting_team, first.bowling_team) == ("Reds", "Blues")
    assert (first.total, first.wickets, first.legal_balls, first.extras) == (8, 1, 2, 2)
    assert (second.total, second.wickets, second.legal_balls, second.target) == (3, 1, 2, 9)
    table = [
        (ball.label, ball.actual_delivery, ball.is_legal, ball.outcome, ball.score_before)
        for ball in first.deliveries
    ]
    assert table == [
        ("0.1", "0.1", True, "4", 0),
        ("0.2", "0.2", False, "wd", 4),
        ("0.3", "0.2", True, "W", 5),
        ("0.4", "0.3", False, "nb", 5),
    ]
    assert second.deliveries[0].wickets == (Wicket("run out", Player("Dov")),)
    assert "this format can contain only one wicket per ball" in match.notes
    assert "this version of the format does not contain fielders" in match.notes


def test_twenty_one_fields_are_read(tmp_path: Path) -> None:
    path = tmp_path / "5.csv"
    head = HEAD.replace("1.3.0", "1.8.0").replace("info,gender", "info,match_id,wi_5\ninfo,gender")
    tails = ["0.1,true,,,", "0.2,,,,", "0.2,,Dov,Fay,", "0.3,,,,", "0.1,,,,", "0.2,,,,"]
    rows = [f"{row},{tail}" for row, tail in zip(BALLS.splitlines(), tails, strict=True)]
    path.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    match = read_match(path)
    balls = match.innings[0].deliveries
    assert match.match_id == "wi_5"
    assert (balls[0].non_boundary, balls[0].boundary) == (True, False)
    assert balls[2].wickets == (Wicket("caught", Player("Ana"), ("Dov", "Fay")),)
    assert "this version of the format does not contain fielders" not in match.notes
    assert match.innings[1].super_over is False


def test_what_is_wrong_is_said_with_its_line(path: Path, snapshot: SnapshotAssertion) -> None:
    text, problems = path.read_text(encoding="utf-8"), []
    for old, new in (
        ("ball,1,0.3,Reds", "ball,1,0.3,Greens"),
        ("ball,2,0.1", "penalty_runs,2,0.1"),
        ("ball,2,0.1", "bowl,2,0.1"),
        (',"retired hurt","Cem"', ""),
        ("version,1.3.0", "version,2.0.0"),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        problems.append(problem(path))
    assert problems == snapshot


HEADER = (
    "match_id,season,start_date,venue,innings,ball,batting_team,bowling_team,striker,"
    "non_striker,bowler,runs_off_bat,extras,wides,noballs,byes,legbyes,penalty,wicket_type,"
    "player_dismissed,other_wicket_type,other_player_dismissed"
)


def row(match_id: str, date: str, label: str, wide: bool = False) -> str:
    extras = "1,1" if wide else "0,"
    return f"{match_id},2023,{date},Park,1,{label},Reds,Blues,Ana,Bea,Cem,0,{extras},,,,,,,,"


def saved(path: Path, rows: list[str]) -> Path:
    """As a spreadsheet writes it: with a byte order mark and two characters at a line's end."""
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([HEADER, *rows, ""]).encode())
    return path


def test_a_label_that_is_wrong_in_another_way_stays(tmp_path: Path) -> None:
    rows = [row("1", "2023-10-05", label) for label in ("0.1", "0.1", "0.3")]
    match = read_match(saved(tmp_path / "m.csv", rows))
    assert [ball.label for ball in match.innings[0].deliveries] == ["0.1", "0.1", "0.3"]
    assert any("uses a label for several balls (0.1)" in note for note in match.notes)


@pytest.mark.parametrize(
    ("dates", "expected", "words"),
    [
        # Only the last match shows which of the two comes first.
        (["05-10-2023", "20-10-2023"], [(2023, 10, 5), (2023, 10, 20)], "read day first, as other"),
        (["10/05/2023", "10/20/2023"], [(2023, 10, 5), (2023, 10, 20)], "read month first, as oth"),
        (
            ["05-10-2023", "07-10-2023"],
            [(2023, 10, 5), (2023, 10, 7)],
            "read day first, which is a guess",
        ),
        (["05/10/23"], [(2023, 10, 5)], "read day first, which is a guess"),
    ],
)
def test_dates_with_the_year_last(
    tmp_path: Path, dates: list[str], expected: list[tuple[int, int, int]], words: str
) -> None:
    rows = [row(str(number), date, "0.1") for number, date in enumerate(dates)]
    path = saved(tmp_path / "m.csv", rows)
    matches = list(read_matches(path))
    assert [match.date for match in matches] == [datetime.date(*date) for date in expected]
    assert all(any(words in note for note in match.notes) for match in matches)


def test_a_date_that_is_none_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.csv", [row("1", "45204", "0.1")])
    assert problem(path) == "m.csv:2: start_date is '45204', not YYYY-MM-DD"


def test_a_table_without_line_ends_is_refused_quickly(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(HEADER + row("1", "2023-10-05", "0.1") * 5000, encoding="utf-8")
    assert "columns; the line may lack a line break" in problem(path)


@pytest.mark.parametrize(
    ("text", "day_first", "expected"),
    [
        ("2023-10-05", True, "2023-10-05"), ("2023/10/05", False, "2023-10-05"),
        ("05-10-2023", True, "2023-10-05"), ("05-10-2023", False, "2023-05-10"),
        ("07/04/18", True, "2018-04-07"), ("17.2.05", True, "2005-02-17"),
        ("Mar 22, 2025", True, "2025-03-22"), ("31-02-2023", True, "None"),
        ("1-1-0005", True, "None"), ("", True, "None"),
    ],
)  # fmt: skip
def test_dates_as_they_are_written(text: str, day_first: bool, expected: str) -> None:
    assert str(date_from(text, day_first=day_first)) == expected
