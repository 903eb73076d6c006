"""Totals, wickets and legal balls equal to a count from the raw files that is not ours.

A spread sample of the real matches is counted; with ATTNLENS_FULL=1 every one is.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from raw_counts import Counts, counts_of, files_of

from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match, read_matches

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
                first, second = match.teams
                swap = {first: second, second: first}
                found[match.match_id][2:] = [
                    (swap[team], *rest) for team, *rest in found[match.match_id][2:]
                ]
        assert found == expected, place
        compared += len(expected)
    assert compared == holds if FULL else compared >= 1
