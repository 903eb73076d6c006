"""Real matches: figures recomputed elsewhere, the same match in several formats, speed."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from attnlens.cricket.match import Match
from attnlens.cricket.readers import read_match, read_matches
from attnlens.errors import MatchFileError

CSV2_FORMATS = {"json", "json_1.2.0_synthetic", "csv2_22col", "csv2_27col"}


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
