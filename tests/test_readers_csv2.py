"""Cricsheet CSV2, and collections of match files: folders and zips."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path

import pytest
from match_files import problem
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.readers import files, read_match


def sample_rows(sample: Path) -> list[str]:
    return sample.read_text(encoding="utf-8").splitlines(keepends=True)


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
    # The type is known only where an innings ran its full length.
    full = any(innings.overs_display == "20.0" for innings in whole.innings)
    kind = (match.match_type, match.overs, match.balls_per_over)
    assert kind == (("T20", 20, 6) if full else (None, None, 6))
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
