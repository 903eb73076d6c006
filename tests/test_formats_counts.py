"""Totals, wickets and legal balls equal to a count from the raw files that is not ours.

A spread sample of the real matches is counted; with ATTNLENS_FULL=1 every one is. The counts use
json and csv only. A ball is legal without a wide and a no-ball; retired hurt and retired not out
are no wickets; penalty runs outside a ball count where the file has them.
"""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match, read_matches

Counts = list[tuple[str, int, int, int]]
"""For each innings: the side that bats, runs, wickets, legal balls."""

NOT_OUT = {"retired hurt", "retired not out"}
LEGAL = {"", "0", "NA", "byes", "legbyes", "penalty"}
"""What stands in columns of wides and no-balls, or of the kind of extra, on a legal ball."""

LAYOUTS = {
    "runs_off_bat": (["runs_off_bat", "extras"], ["wicket_type", "other_wicket_type"],
                     ["wides", "noballs"]),
    "wide_runs": (["total_runs"], ["dismissal_kind"], ["wide_runs", "noball_runs"]),
    "extras_type": (["total_runs"], ["dismissal_kind"], ["extras_type"]),
    "match_no": (["runs_of_bat", "extras"], ["wicket_type"], ["wide", "noballs"]),
}  # fmt: skip
"""By a column that only it has: the columns of runs, of dismissals and of what is not legal."""

FROM_2018 = 7000
"""Ids of the 21-column IPL table from here on have the extras in the batter's runs."""


def files_of(source: Path) -> Iterator[tuple[str, bytes]]:
    """Names as attnlens reports them and bytes of the match files of a folder, zip or file."""
    if source.suffix == ".zip":
        with zipfile.ZipFile(source) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith((".json", ".csv")) and not name.endswith("_info.csv"):
                    yield f"{source}::{name}", archive.read(name)
        return
    paths = [source] if source.is_file() else sorted(source.rglob("*.*"))
    for path in paths:
        if path.suffix in (".json", ".csv") and not path.name.endswith("_info.csv"):
            yield str(path), path.read_bytes()


def counts_of(name: str, data: bytes) -> dict[str, Counts]:
    """The innings of every match in a file, by match id."""
    stem = name.split("::")[-1].split("/")[-1].rsplit(".", 1)[0]
    if name.endswith(".json"):
        return {stem: from_json(json.loads(data))}
    text = data.decode("utf-8-sig")
    if text.startswith("version,"):
        return {stem: from_original(list(csv.reader(io.StringIO(text, newline=""))))}
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    layout = next((columns for known, columns in LAYOUTS.items() if known in rows[0]), None)
    return {} if layout is None else from_table(rows, *layout)


def from_json(document: dict[str, Any]) -> Counts:
    counts = []
    for innings in document["innings"]:
        runs = sum(innings.get("penalty_runs", {}).values())
        wickets = legal = 0
        for over in innings.get("overs", []):
            for ball in over["deliveries"]:
                runs += ball["runs"]["total"]
                wickets += sum(w["kind"] not in NOT_OUT for w in ball.get("wickets", []))
                legal += not {"wides", "noballs"} & set(ball.get("extras", {}))
        counts.append((innings["team"], runs, wickets, legal))
    return counts


def from_original(rows: list[list[str]]) -> Counts:
    innings: dict[str, list[Any]] = {}
    for row in rows:
        if row and row[0] == "ball":
            entry = innings.setdefault(row[1], [row[3], 0, 0, 0])
            entry[1] += int(row[7]) + int(row[8])
            entry[2] += row[14] != "" and row[14] not in NOT_OUT
            entry[3] += row[9] in ("", "0") and row[10] in ("", "0")
    return [tuple(entry) for entry in innings.values()]


def from_table(
    rows: list[dict[str, str]], runs: list[str], kinds: list[str], illegal: list[str]
) -> dict[str, Counts]:
    matches: dict[str, dict[str, list[Any]]] = {}
    for row in rows:
        match_id = row["match_no"] if "match_no" in row else row["match_id"]
        number = row["inning"] if "inning" in row else row["innings"]
        entry = matches.setdefault(match_id, {}).setdefault(number, [row["batting_team"], 0, 0, 0])
        entry[1] += sum(int(row[column]) for column in runs)
        if "wide_runs" in row and int(match_id) > FROM_2018:
            entry[1] -= int(row["extra_runs"])
        entry[2] += sum(row[column] not in ("", "NA", *NOT_OUT) for column in kinds)
        entry[3] += all(row[column] in LEGAL for column in illegal)
    return {
        match_id: [tuple(entry) for entry in innings.values()]
        for match_id, innings in matches.items()
    }


FULL = os.environ.get("ATTNLENS_FULL") == "1"
SOURCES = {
    "t20s_male_json.zip": (2588, 41),
    "formats/json_zip/ipl_male_json.zip": (1095, 23),
    "formats/json": (136, 5),
    "formats/json_1.2.0_SYNTHETIC": (6, 2),
    "formats/csv2_27col": (48, 3),
    "formats/csv2_22col": (48, 3),
    "formats/csv_original_1.6_1.7": (20, 2),
    "formats/csv_original_1.8": (12, 2),
    # Twenty files, and the same twenty matches in all_matches.csv.
    "formats/t20i_csv2_27col_20.zip": (40, 3),
    "formats/ipl_csv2_22col_20.zip": (40, 3),
    "formats/ipl_csv_original_20.zip": (20, 3),
    "formats/spreadsheet_damaged": (7, 1),
    "formats/kaggle_ipl/deliveries_2008_2019_excerpt.csv": (49, 1),
    "formats/kaggle_ipl/deliveries_2008_2024_excerpt.csv": (77, 1),
    "formats/kaggle_ipl/deliveries_2025.csv": (73, 1),
}
EXCHANGED = {"32"}
"""The super over of this match of 2025 names the two sides the wrong way round."""


def ours(match: Match) -> Counts:
    return [
        (innings.batting_team, innings.total, innings.wickets, innings.legal_balls)
        for innings in match.innings
    ]


@pytest.mark.parametrize("name", SOURCES)
def test_the_counts_are_those_of_the_raw_files(shared_data: Path, name: str) -> None:
    source = shared_data / name
    holds, step = SOURCES[name]
    step = 1 if FULL else step
    compared = 0
    for number, (place, data) in enumerate(files_of(source)):
        if number % step:
            continue
        expected = counts_of(place, data)
        found = {}
        for match in read_matches(place) if len(expected) > 1 else [read_match(place)]:
            found[match.match_id] = ours(match)
            if "2025" in name and match.match_id in EXCHANGED:
                swap = dict(zip(match.teams, match.teams[::-1], strict=True))
                super_over = found[match.match_id][2:]
                found[match.match_id][2:] = [(swap[c[0]], c[1], c[2], c[3]) for c in super_over]
        assert found == expected, place
        compared += len(expected)
    assert compared == holds if FULL else compared >= 1
