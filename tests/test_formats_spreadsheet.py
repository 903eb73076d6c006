"""CSV2 that went through a spreadsheet: what was lost is put right from the rows, and said."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from match_files import problem

from attnlens.cricket.readers import read_match, read_matches
from attnlens.cricket.readers.text import date_from

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
        (["05-10-2023", "07-10-2023"], [(2023, 10, 5), (2023, 10, 7)], "read day first, a guess"),
        (["05/10/23"], [(2023, 10, 5)], "read day first, a guess"),
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
    assert "columns; its line may not end" in problem(path)


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
