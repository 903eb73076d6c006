"""Cricsheet CSV2, and collections of match files: folders and zips."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path

import pytest
from match_files import problem

from attnlens.cricket.readers import files, read_match


def sample_rows(sample: Path) -> list[str]:
    return sample.read_text(encoding="utf-8").splitlines(keepends=True)


def test_csv2_names_the_line_of_a_bad_row(sample_match_path: Path) -> None:
    path = sample_match_path.with_name("malformed.csv")
    assert problem(path) == ("malformed.csv:61: runs_off_bat is 'four', not a number of runs")


def test_csv2_cut_short_is_refused(tmp_path: Path, sample_match_path: Path) -> None:
    path = tmp_path / "cut.csv"
    text = "".join(sample_rows(sample_match_path)[:50])
    path.write_text(text[:-40], encoding="utf-8")
    assert problem(path).startswith("cut.csv:50: this row has ")
    path.write_text(sample_rows(sample_match_path)[0], encoding="utf-8")
    assert problem(path) == "cut.csv: has a header and no deliveries"


def test_csv2_without_its_info_says_what_is_not_known(
    tmp_path: Path, sample_match_path: Path
) -> None:
    path = tmp_path / "alone.csv"
    path.write_bytes(sample_match_path.read_bytes())
    match = read_match(path)
    whole = read_match(sample_match_path)
    # The type can be told only where an innings ran its full length.
    full = any(innings.overs_display == "20.0" for innings in whole.innings)
    told = (match.match_type, match.overs, match.balls_per_over)
    assert told == (("T20", 20, 6) if full else (None, None, 6))
    assert [innings.total for innings in match.innings] == [
        innings.total for innings in whole.innings
    ]
    assert match.innings[1].target == whole.innings[1].target
    assert match.innings[0].deliveries[0].batter.id is None
    assert match.notes[0] == ("there is no _info.csv beside it: result, toss and ids are not known")


def test_csv2_is_read_by_column_name(tmp_path: Path, sample_match_path: Path) -> None:
    rows = [line.rstrip("\n").split(",") for line in sample_rows(sample_match_path)]
    if any(len(row) != len(rows[0]) for row in rows):
        pytest.fail("the sample has quoted fields, which this test splits")
    path = tmp_path / "match.csv"
    turned = "\r\n".join(",".join(["new", *reversed(row)]) for row in rows)
    path.write_bytes(b"\xef\xbb\xbf" + turned.encode())
    info = sample_match_path.with_name("match_info.csv")
    (tmp_path / "match_info.csv").write_bytes(info.read_bytes())
    assert dataclasses.replace(read_match(path), source="") == dataclasses.replace(
        read_match(sample_match_path), source=""
    )


def changed_row(sample: Path, line: int, column: str, value: str) -> str:
    rows = sample_rows(sample)
    position = rows[0].rstrip("\n").split(",").index(column)
    fields = rows[line - 1].rstrip("\n").split(",")
    fields[position] = value
    rows[line - 1] = ",".join(fields) + "\n"
    return "".join(rows)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("innings", "0", "innings is '0', not a number from 1 to 20"),
        ("ball", "7", "ball is '7', not over and ball such as 7.4"),
        ("wides", "-1", "wides is '-1', not a number of runs"),
        ("extras", "9", "extras is 9, but wides, noballs, byes, legbyes and penalty add up to 0"),
        ("runs_off_bat", "400", "runs_off_bat is 400, more than a ball can bring"),
        ("start_date", "05-10-2023", None),
        ("wicket_type", "bowled", "wicket_type is 'bowled', and no one is out"),
        (
            "batting_team",
            "Greens",
            "Greens bats against {bowling} inside the innings of {batting}",
        ),
    ],
)
def test_csv2_names_what_is_wrong(
    tmp_path: Path, sample_match_path: Path, column: str, value: str, expected: str | None
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(changed_row(sample_match_path, 3, column, value), encoding="utf-8")
    if expected is None:
        # The date of a match is on its first row.
        assert read_match(path).dates == read_match(sample_match_path).dates
        return
    first = read_match(sample_match_path).innings[0]
    said = expected.format(batting=first.batting_team, bowling=first.bowling_team)
    assert problem(path) == f"bad.csv:3: {said}"


def test_csv2_in_a_zip_finds_its_info(tmp_path: Path, sample_match_path: Path) -> None:
    archive = tmp_path / "one.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for name in ("match.csv", "match_info.csv"):
            stream.write(sample_match_path.with_name(name), f"deep/{name}")
    match = read_match(archive)
    whole = read_match(sample_match_path)
    assert dataclasses.replace(match, source="") == dataclasses.replace(whole, source="")


def test_a_file_too_large_to_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b"{" + b" " * 2**20)
    monkeypatch.setattr(files, "_MAX_BYTES", 2**20)
    assert "larger than 1 MB, which no match is" in problem(large)
