"""Match files become the same frozen values, whatever their format."""

from __future__ import annotations

import dataclasses
import datetime
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from match_files import delivery, document

from attnlens.cricket.match import Facts, Match, Player, Wicket
from attnlens.cricket.readers import files, read_match, read_matches
from attnlens.cricket.readers.json_position import line_of
from attnlens.errors import InputError, MatchFileError

CSV2_FORMATS = {"json", "json_1.2.0_synthetic", "csv2_22col", "csv2_27col"}


def written(folder: Path, content: dict[str, Any], name: str = "77.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def problem(path: str | os.PathLike[str]) -> str:
    with pytest.raises(MatchFileError) as caught:
        read_match(path)
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(str(Path(path).parent) + os.sep, "")


def test_a_match_is_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path, document())
    match = read_match(path)
    assert (match.match_id, match.match_type, match.gender) == ("77", "T20", "female")
    assert match.dates == (datetime.date(2024, 5, 1),)
    assert (match.season, match.venue, match.city) == (
        "2024",
        "Harbour Park, North End",
        "Port Amber",
    )
    assert match.event == {"name": "Cup", "match_number": 3}
    assert match.teams == ("Reds", "Blues")
    assert match.toss == {"winner": "Reds", "decision": "bat"}
    assert match.outcome == {"winner": "Reds", "by": {"runs": 13}}
    assert (match.overs, match.balls_per_over, match.source) == (20, 6, str(path))
    assert match.notes == ("no registry id for Eli, Fay: known by name",)
    first, second = match.innings
    assert (first.batting_team, first.bowling_team, first.super_over) == ("Reds", "Blues", False)
    assert (first.total, first.wickets, first.legal_balls, first.extras) == (16, 1, 4, 4)
    assert (first.target, first.target_balls, first.declared) == (None, None, False)
    assert (first.penalty_runs, first.overs_display) == ({"pre": 5, "post": 0}, "0.4")
    assert (second.total, second.wickets, second.target, second.target_balls) == (3, 1, 17, 49)


def test_each_delivery_carries_the_state_before_it(tmp_path: Path) -> None:
    first = read_match(written(tmp_path, document())).innings[0].deliveries
    table = [
        (
            ball.index,
            ball.label,
            ball.actual_delivery,
            ball.is_legal,
            ball.outcome,
            ball.runs_batter,
            ball.runs_extras,
            ball.score_before,
            ball.wickets_before,
            ball.legal_balls_before,
        )
        for ball in first
    ]
    assert table == [
        (1, "0.1", "0.1", True, "4", 4, 0, 5, 0, 0),
        (2, "0.2", "0.2", False, "wd", 0, 1, 9, 0, 1),
        (3, "0.3", "0.2", True, "1", 1, 0, 10, 0, 1),
        (4, "0.4", "0.3", True, "W", 0, 0, 11, 0, 2),
        (5, "0.5", "0.4", False, "nb", 2, 1, 11, 1, 3),
        (6, "0.6", "0.4", True, "bye", 0, 2, 14, 1, 3),
    ]
    assert first[3].wickets == (Wicket("caught", Player("Bea", "bbbbbbbb"), ("Dov",)),)
    assert first[4].extras == Facts(noballs=1)
    assert first[4].batter == Player("Eli", None)


def test_a_delivery_built_by_the_reader_is_like_any_other(tmp_path: Path) -> None:
    ball = read_match(written(tmp_path, document())).innings[0].deliveries[0]
    assert dataclasses.replace(ball) == ball
    with pytest.raises(dataclasses.FrozenInstanceError):
        ball.index = 2  # type: ignore[misc]  # the point of the test


def test_a_four_that_was_all_run_is_no_boundary(tmp_path: Path) -> None:
    content = document()
    content["innings"][0]["overs"][0]["deliveries"][0]["runs"]["non_boundary"] = True
    assert not read_match(written(tmp_path, content)).innings[0].deliveries[0].boundary


def test_a_missing_target_is_worked_out_with_a_note(tmp_path: Path) -> None:
    content = document()
    del content["innings"][1]["target"]
    match = read_match(written(tmp_path, content))
    assert (match.innings[1].target, match.innings[1].target_balls) == (17, 120)
    assert match.notes[-1] == ("innings 2 has no target in the file: 17, one more than innings 1")
    content["info"]["outcome"]["method"] = "D/L"
    match = read_match(written(tmp_path, content))
    assert (match.innings[1].target, match.innings[1].target_balls) == (None, None)
    assert match.notes[-1] == "innings 2 has no target in the file (D/L changed it)"


def test_a_super_over_chase_has_a_target(tmp_path: Path) -> None:
    content = document()
    for team, runs in (("Blues", 6), ("Reds", 4)):
        balls = [delivery(runs=runs)]
        content["innings"].append(
            {"team": team, "super_over": True, "overs": [{"over": 0, "deliveries": balls}]}
        )
    third, fourth = read_match(written(tmp_path, content)).innings[2:]
    assert (third.super_over, third.target, third.target_balls) == (True, None, None)
    assert (fourth.super_over, fourth.target, fourth.target_balls) == (True, 7, 6)


def test_a_twenty_over_match_that_says_fifty_is_put_right(tmp_path: Path) -> None:
    content = document()
    content["info"]["overs"] = 50
    match = read_match(written(tmp_path, content))
    assert match.overs == 20
    assert match.notes[-1] == (
        "the file says 50 overs: taken as 20, as its type is a twenty-over match"
    )


def test_an_unlimited_match_has_no_overs_a_side(tmp_path: Path) -> None:
    content = document()
    content["info"]["match_type"] = "Test"
    content["innings"][1].pop("target")
    match = read_match(written(tmp_path, content))
    assert (match.overs, match.innings[1].target, match.innings[1].super_over) == (
        None,
        None,
        False,
    )


@pytest.mark.parametrize(
    ("version", "outcome"),
    [
        ("1.0.0", ()),
        ("1.2.0", ()),
        ("1.9.3", ("data version 1.9.3 is newer than 1.2: read as that",)),
    ],
)
def test_versions_1_are_read(tmp_path: Path, version: str, outcome: tuple[str, ...]) -> None:
    content = document()
    content["meta"]["data_version"] = version
    content["info"]["a_key_of_the_future"] = {"x": 1}
    notes = read_match(written(tmp_path, content)).notes
    assert notes == (*outcome, "no registry id for Eli, Fay: known by name")


def test_version_2_is_refused(tmp_path: Path) -> None:
    content = document()
    content["meta"]["data_version"] = "2.0.0"
    assert problem(written(tmp_path, content)) == (
        "77.json:3: meta.data_version is '2.0.0'; attnlens reads Cricsheet JSON 1.x"
    )


def spoilt(path: list[str | int], value: Any) -> dict[str, Any]:
    content = document()
    node: Any = content
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return content


BALL: list[str | int] = ["innings", 1, "overs", 0, "deliveries", 2]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ([*BALL, "batter"], 5, "delivery 3: batter is 5, not a player's name"),
        ([*BALL, "bowler"], {}, "delivery 3: bowler is an object, not a player's name"),
        ([*BALL, "runs"], [], "delivery 3: runs is a list, not an object"),
        ([*BALL, "runs", "batter"], -4, "delivery 3: runs.batter is -4, not a number of runs"),
        ([*BALL, "runs", "batter"], "4", "delivery 3: runs.batter is '4', not a number of runs"),
        ([*BALL, "runs", "total"], 9, "delivery 3: runs do not add up: 0 + 0 is not 9"),
        ([*BALL, "runs", "batter"], 150, "delivery 3: runs.batter is 150, not a number of runs"),
        ([*BALL, "extras"], {"wides": 1}, "delivery 3: extras do not add up to runs.extras, 0"),
        (
            [*BALL, "wickets"],
            {},
            "delivery 3: wickets are not a list of kind, player_out and fielders",
        ),
        (BALL, None, "delivery 3: is missing, not an object"),
    ],
)
def test_what_is_wrong_in_a_delivery_is_said_with_its_place_and_line(
    tmp_path: Path, path: list[str | int], value: Any, expected: str
) -> None:
    file = written(tmp_path, spoilt(path, value))
    text = problem(file)
    line = int(text.split(":")[1])
    assert text == f"77.json:{line}: innings 2, over 0, {expected}"
    written_line = file.read_text().splitlines()[line - 1]
    field = expected.split(": ")[1].split(" ")[0].split(".")[-1]
    assert written_line.strip().startswith("null" if value is None else f'"{field}":')


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["info", "venue"], 3, "info.venue is 3, not text"),
        (["info", "dates", 0], "1 May", "info.dates.0 is '1 May', not a date (YYYY-MM-DD)"),
        (["info", "overs"], "20", "info.overs is '20', not a whole number from 0"),
        (
            ["info", "registry", "people", "Ana"],
            None,
            "info.registry.people.Ana is missing, not an id",
        ),
        (
            ["innings", 1, "team"],
            "Greens",
            "innings 2: team is 'Greens'; the teams are: Reds, Blues",
        ),
        (["innings", 1, "target", "overs"], 8.5, None),
        (
            ["innings", 1, "target", "overs"],
            [],
            "innings 2: target.overs is a list, not overs such as 20 or 8.1",
        ),
        (["innings"], {}, "innings is an object, not a list"),
    ],
)
def test_what_is_wrong_elsewhere_is_said(
    tmp_path: Path, path: list[str | int], value: Any, expected: str | None
) -> None:
    file = written(tmp_path, spoilt(path, value))
    if expected is None:
        assert read_match(file).innings[1].target_balls == 53
        return
    assert problem(file).split(" ", 1)[1] == expected


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, document())
    text = path.read_text().replace('"total": 4', '"total": 3,\n"total": 4')
    path.write_text(text)
    assert problem(path) == "77.json: an object has the key 'total' twice"


def test_labels_keep_ten_apart_from_one(tmp_path: Path) -> None:
    content = document()
    wides = [delivery(extras={"wides": 1}) for _ in range(9)]
    content["innings"][0]["overs"][0]["deliveries"] = [*wides, delivery(runs=6)]
    last = read_match(written(tmp_path, content)).innings[0].deliveries[-1]
    assert (last.label, last.actual_delivery) == ("0.10", "0.1")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "x: the file is empty"),
        (b" \n\n", "x: the file is empty"),
        (b"[1]", "x: a JSON list, not a Cricsheet match; give one match per file"),
        (
            b'{"a": 1}',
            "x: JSON, but not a cricket match: it has 'a' where a Cricsheet match has "
            "meta, info and innings",
        ),
        (
            b'{"info": {},\n "innings": [',
            "x:2: the JSON ends too early; the file may be cut short; get it again",
        ),
        (b'{"info": {"overs": NaN}}', "x: this is not valid JSON: NaN is not a number"),
        (b'{"info": {}}', "x: innings are missing; this may be only part of a match"),
        (
            b"\xff\xfe{\0",
            "x: looks like UTF-16 text, not a match file; give Cricsheet JSON or CSV2",
        ),
        (b"{}\n\n\xe9", "x:3: not UTF-8 text (byte 0xe9); save it as UTF-8"),
        (
            b"<!DOCTYPE html>\n<html>",
            "x: looks like an HTML page, not a match file; give Cricsheet JSON or CSV2",
        ),
        (
            b"PAR1\0\0",
            "x: looks like a Parquet table, not a match file; give Cricsheet JSON or CSV2",
        ),
        (
            b"version,2.1.0\ninfo,team,A\n",
            "x: looks like the _info.csv that stands beside a match, "
            "not a match file; give Cricsheet JSON or CSV2",
        ),
        (
            b"name,price,stock\na,1,2\n",
            "x: looks like a table that begins with 'name,price,stock', "
            "not a match file; give Cricsheet JSON or CSV2",
        ),
        (b'{"meta": ' + b"[" * 100_000, "x: nested far deeper than a match"),
        (b'{"info": {"season": ' + b"9" * 5000 + b"}}", None),
        (
            b'{"info": {"venue": "\\ud800"}, "innings": []}',
            "x: a \\u escape in it is half a character",
        ),
    ],
)
def test_a_file_that_is_no_match_says_what_it_looks_like(
    tmp_path: Path, content: bytes, expected: str | None
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    text = problem(path)
    assert text == expected if expected else text.startswith("x: this is not valid JSON")


def test_places_that_hold_no_file_are_refused(tmp_path: Path) -> None:
    assert problem(tmp_path / "no.json") == "no.json: no such file; check the path"
    (tmp_path / "folder").mkdir()
    assert problem(tmp_path / "folder") == (
        "folder: this is a folder, not a match file; "
        "name a file in it, or read them all with read_matches"
    )
    os.mkfifo(tmp_path / "pipe")
    assert problem(tmp_path / "pipe") == "pipe: not a regular file"
    assert problem("a\0b").endswith("is not a file name")


# CSV2


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
    assert (match.match_type, match.overs, match.balls_per_over) == ("T20", 20, 6)
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
        ("innings", "0", "innings is '0', not a number from 1"),
        ("ball", "7", "ball is '7', not over and ball such as 7.4"),
        ("striker", " ", "striker is blank"),
        ("wides", "-1", "wides is '-1', not a number of runs"),
        ("extras", "9", "extras is 9, but wides, noballs, byes, legbyes and penalty add up to 0"),
        ("runs_off_bat", "400", "runs_off_bat is 400, more than a ball can bring"),
        ("start_date", "05-10-2023", None),
        ("wicket_type", "bowled", "wicket_type is 'bowled', and no one is out"),
        (
            "batting_team",
            "Greens",
            "Greens bats against Copperfield Comets inside the innings of Saltmarsh Herons",
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
    assert problem(path) == f"bad.csv:3: {expected}"


def test_labels_that_a_spreadsheet_merged_are_kept_with_a_note(
    tmp_path: Path, sample_match_path: Path
) -> None:
    path = tmp_path / "merged.csv"
    path.write_text(changed_row(sample_match_path, 3, "ball", "0.1"), encoding="utf-8")
    match = read_match(path)
    assert [ball.label for ball in match.innings[0].deliveries[:3]] == ["0.1", "0.1", "0.3"]
    assert match.notes[-1] == (
        "innings 1 uses a label for several balls (0.1): a spreadsheet may have changed 0.10 to 0.1"
    )


def test_a_table_of_several_matches_is_iterated(tmp_path: Path, sample_match_path: Path) -> None:
    rows = sample_rows(sample_match_path)
    path = tmp_path / "all.csv"
    second = "".join(rows[1:]).replace("simulated-82", "other")
    path.write_text("".join(rows) + second, encoding="utf-8")
    assert [match.match_id for match in read_matches(path)] == ["simulated-82", "other"]
    assert problem(path) == (
        "all.csv: holds several matches ('simulated-82', 'other', ...); read them with read_matches"
    )
    path.write_text("".join(rows) + second + rows[5], encoding="utf-8")
    with pytest.raises(MatchFileError, match="come back after another's"):
        list(read_matches(path))


# Collections


def collection(folder: Path) -> Path:
    folder.mkdir()
    written(folder, document(), "b.json")
    written(folder, document(), "a.json")
    (folder / "c.json").write_text("{", encoding="utf-8")
    (folder / "README.txt").write_text("one line per match", encoding="utf-8")
    (folder / "notes.md").write_text("# not a match", encoding="utf-8")
    (folder / "d_info.csv").write_text("version,2.1.0", encoding="utf-8")
    (folder / "all_matches.csv").write_text("match_id", encoding="utf-8")
    (folder / "e").write_text(json.dumps(document()), encoding="utf-8")
    return folder


def zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    return path


def test_folders_and_zips_are_read_in_order(tmp_path: Path) -> None:
    folder = collection(tmp_path / "f")
    archive = zipped(folder, tmp_path / "z.zip")
    for source in (folder, archive):
        skipped: list[MatchFileError] = []
        matches = list(read_matches(source, on_error="skip", skipped=skipped))
        assert [match.match_id for match in matches] == ["a", "b", "e"]
        assert [Path(str(error.path)).name.split("::")[-1] for error in skipped] == ["c.json"]
        with pytest.raises(MatchFileError, match="ends too early"):
            list(read_matches(source))
    assert read_match(f"{archive}::a.json").innings == matches[0].innings
    assert (
        problem(archive)
        == f"z.zip: this zip holds 3 match files; name one, such as {archive}".replace(
            str(tmp_path) + os.sep, ""
        )
        + "::a.json"
    )
    assert problem(f"{archive}::x.json").endswith(
        "the zip has no such member; list it with unzip -l"
    )


def test_an_unknown_way_to_meet_errors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="on_error is 'ignore'; it is stop or skip"):
        read_matches(tmp_path, on_error="ignore")  # type: ignore[arg-type]  # the point


def test_an_empty_folder_and_a_missing_source_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MatchFileError, match="there are no match files in it"):
        list(read_matches(tmp_path))
    with pytest.raises(MatchFileError, match="no such file"):
        read_matches(tmp_path / "none", on_error="skip")


def test_csv2_in_a_zip_finds_its_info(tmp_path: Path, sample_match_path: Path) -> None:
    archive = tmp_path / "one.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for name in ("match.csv", "match_info.csv"):
            stream.write(sample_match_path.with_name(name), f"deep/{name}")
    match = read_match(archive)
    whole = read_match(sample_match_path)
    assert dataclasses.replace(match, source="") == dataclasses.replace(whole, source="")


def test_zip_tricks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "t.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.writestr("bomb.json", b" " * (8 * 2**20))
        stream.writestr("../up.json", json.dumps(document()))
        stream.writestr("/root.json", json.dumps(document()))
    assert "unpacks to more than 300 times its size" in problem(f"{archive}::bomb.json")
    for name in ("../up.json", "/root.json"):
        with pytest.raises(MatchFileError, match="leads out of the zip"):
            read_match(f"{archive}::{name}")
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    assert "larger than 1 MB, which no match is" in problem(f"{archive}::bomb.json")
    broken = tmp_path / "b.zip"
    broken.write_bytes(archive.read_bytes()[:100])
    assert problem(broken).startswith("b.zip: not a zip that can be opened")


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as stream:
        stream.writestr("m.json", json.dumps(document()))
    data = bytearray(buffer.getvalue())
    data[60] ^= 0xFF
    path = tmp_path / "d.zip"
    path.write_bytes(bytes(data))
    assert "is damaged in the zip" in problem(path)


def test_lines_of_values_are_found() -> None:
    text = '{"a": [1,\n {"b": 2,\n "c": {"d":\n 4}}],\n "a2": 1, "a": [0,\n 7]}'
    assert line_of(text, ("a2",)) == 5
    assert line_of(text, ("a", 1)) == 6
    assert line_of(text.replace('"a": [0', '"z": [0'), ("a", 1, "c", "d")) == 4


# Real matches


def expected_figures(entry: dict[str, Any]) -> list[Any]:
    return [
        [
            innings["batting_team"],
            innings["deliveries"],
            innings["legal_balls"],
            innings["extras"],
            innings["wickets"],
            innings.get("total"),
            innings.get("overs_display"),
            innings["last_delivery_label"],
            innings["probes"],
        ]
        for innings in entry["innings"]
    ]


def figures(match: Match, entry: dict[str, Any]) -> list[Any]:
    table = []
    for innings, expected in zip(match.innings, entry["innings"], strict=True):
        probes = []
        for probe in expected["probes"]:
            ball = innings.deliveries[probe["index"] - 1]
            probes.append(
                {
                    "index": ball.index,
                    "label": ball.label,
                    "actual_delivery": ball.actual_delivery,
                    "is_legal": ball.is_legal,
                    "legal_balls_before": ball.legal_balls_before,
                    "batter": ball.batter.name,
                    "non_striker": ball.non_striker.name,
                    "bowler": ball.bowler.name,
                    "runs_batter": ball.runs_batter,
                    "runs_extras": ball.runs_extras,
                    "wickets": [[wicket.kind, wicket.player_out.name] for wicket in ball.wickets],
                    "score_before": [ball.score_before, ball.wickets_before],
                }
            )
        table.append(
            [
                innings.batting_team,
                len(innings.deliveries),
                innings.legal_balls,
                innings.extras,
                innings.wickets,
                innings.total if "total" in expected else None,
                innings.overs_display if "overs_display" in expected else None,
                innings.deliveries[-1].label,
                probes,
            ]
        )
    return table


def test_matches_that_break_naive_readers(shared_data: Path) -> None:
    entries = json.loads((shared_data / "torture.json").read_text(encoding="utf-8"))["matches"]
    ours = [e for e in entries if e["format"] == "json" or e["format"].startswith("csv2_")]
    assert len(ours) == 27
    for entry in ours:
        match = read_match(shared_data / entry["file"])
        assert figures(match, entry) == expected_figures(entry), entry["title"]
        assert match.match_id == entry["match_id"]
        assert match.balls_per_over == entry["balls_per_over"]
        if entry["format"] == "json":
            assert match.outcome == entry["outcome"]
            for innings, expected in zip(match.innings, entry["innings"], strict=True):
                assert innings.super_over == expected["super_over"]
                if expected["target"] is not None:
                    assert innings.target == expected["target"]["runs"]


def comparable(match: Match, other: Match) -> list[Any]:
    """A match without what names, formats and revisions may change."""
    told = [
        (name, getattr(match, name))
        for name in (
            "match_id",
            "match_type",
            "gender",
            "dates",
            "season",
            "venue",
            "teams",
            "toss",
            "outcome",
            "overs",
            "balls_per_over",
        )
        if getattr(match, name) is not None and getattr(other, name) is not None
    ]
    for innings, its in zip(match.innings, other.innings, strict=True):
        told += [
            (name, getattr(innings, name))
            for name in (
                "number",
                "batting_team",
                "bowling_team",
                "super_over",
                "target",
                "target_balls",
                "penalty_runs",
                "declared",
                "total",
            )
            if getattr(innings, name) is not None and getattr(its, name) is not None
        ]
        told += [
            (
                ball.index, ball.over, ball.label, ball.actual_delivery, ball.is_legal,
                ball.runs_batter, ball.runs_extras, ball.extras, ball.outcome,
                ball.score_before, ball.wickets_before, ball.legal_balls_before,
                [wicket.kind for wicket in ball.wickets],
            )
            for ball in innings.deliveries
        ]  # fmt: skip
    return told


def people(match: Match, unresolved: set[str]) -> list[tuple[str, ...]]:
    return [
        tuple(
            "" if player.key in unresolved else player.key
            for player in (ball.batter, ball.non_striker, ball.bowler,
                           *(wicket.player_out for wicket in ball.wickets))
        )
        for innings in match.innings
        for ball in innings.deliveries
    ]  # fmt: skip


def test_a_match_reads_the_same_from_every_format(shared_data: Path) -> None:
    pairs = json.loads((shared_data / "pairs.json").read_text(encoding="utf-8"))["pairs"]
    compared = 0
    for pair in pairs:
        matches = [
            read_match(shared_data / path)
            for form, path in pair["paths"].items()
            if form in CSV2_FORMATS
        ]
        for other in matches[1:]:
            one = matches[0]
            assert comparable(one, other) == comparable(other, one), pair["match_id"]
            # Registry rows are missing for a handful of players in some CSV files.
            unresolved = {
                key
                for ours, theirs in zip(people(one, set()), people(other, set()), strict=True)
                for a, b in zip(ours, theirs, strict=True)
                if a != b and (len(a) != 8 or len(b) != 8)
                for key in (a, b)
            }
            assert len(unresolved) <= 2, pair["match_id"]
            assert people(one, unresolved) == people(other, unresolved), pair["match_id"]
            compared += 1
    assert compared == 32


def test_every_real_file_is_read(shared_data: Path) -> None:
    skipped: list[MatchFileError] = []
    counts = [
        sum(1 for _ in read_matches(shared_data / name, on_error="skip", skipped=skipped))
        for name in ("formats/json", "formats/csv2_27col", "formats/csv2_22col",
                     "formats/t20i_csv2_27col_20.zip", "formats/ipl_csv2_22col_20.zip")
    ]  # fmt: skip
    assert skipped == []
    assert counts == [136, 48, 48, 20, 20]


def test_reading_json_costs_little_more_than_parsing_it(shared_data: Path, tmp_path: Path) -> None:
    orjson = pytest.importorskip("orjson")
    with zipfile.ZipFile(shared_data / "t20s_male_json.zip") as archive:
        data = archive.read("1223952.json")
    path = tmp_path / "m.json"
    path.write_bytes(data)

    def best(work: Any) -> float:
        times = []
        for _ in range(40):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        return min(times)

    ratios = [best(lambda: read_match(path)) / best(lambda: orjson.loads(data)) for _ in range(3)]
    assert min(ratios) <= 12, ratios


def test_readers_import_nothing_heavy() -> None:
    code = "import sys, attnlens.cricket.readers; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "numpy", "pandas", "pyarrow", "pydantic"} & set(loaded)
