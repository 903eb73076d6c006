"""Real matches: figures recomputed elsewhere, the same match in several formats, speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.match.naming import find_ball
from attnlens.cricket.readers import read_match

PARTLY_NAMED = {"1439814", "930573", "1184263"}
"""Some of their names are missing from the registry rows of the CSV, or were revised."""


FIGURES = ("batting_team", "legal_balls", "extras", "wickets", "total", "overs_display")
PROBED = (
    "index", "label", "actual_delivery", "is_legal", "legal_balls_before", "runs_batter",
    "runs_extras",
)  # fmt: skip
OF_A_MATCH = (
    "match_id", "match_type", "gender", "dates", "season", "venue", "teams", "toss", "outcome",
    "overs", "balls_per_over",
)  # fmt: skip
OF_AN_INNINGS = (
    "number", "batting_team", "bowling_team", "super_over", "target", "target_balls",
    "penalty_runs", "declared", "total",
)  # fmt: skip
OF_A_BALL = (
    "index", "over", "label", "actual_delivery", "is_legal", "runs_batter", "runs_extras",
    "extras", "outcome", "score_before", "wickets_before", "legal_balls_before",
)  # fmt: skip


def probed(innings: Innings, index: int) -> dict[str, Any]:
    """A ball, in the words of the torture list."""
    ball = innings.deliveries[index - 1]
    return {
        **{name: getattr(ball, name) for name in PROBED},
        **{name: getattr(ball, name).name for name in ("batter", "non_striker", "bowler")},
        "wickets": [[wicket.kind, wicket.player_out.name] for wicket in ball.wickets],
        "score_before": [ball.score_before, ball.wickets_before],
    }


def check_figures(match: Match, entry: dict[str, Any]) -> None:
    """Every figure of the torture list, and the state before three balls of each innings."""
    for innings, expected in zip(match.innings, entry["innings"], strict=True):
        if entry["format"] == "json":
            penalties = {when: expected[f"penalty_{when}"] for when in ("pre", "post")}
            assert innings.penalty_runs == penalties
            kind = innings.super_over, bool(innings.declared)
            assert kind == (expected["super_over"], expected["declared"])
            target = expected["target"] or {}
            assert target in ({}, {"runs": innings.target} | target)
        for name in FIGURES:
            assert expected.get(name, getattr(innings, name)) == getattr(innings, name)
        assert len(innings.deliveries) == expected["deliveries"]
        assert innings.deliveries[-1].label == expected["last_delivery_label"]
        for probe in expected["probes"]:
            assert probed(innings, probe["index"]) == probe, entry["title"]


def comparable(match: Match, other: Match) -> list[Any]:
    """A match without what names, formats and revisions may change."""
    pairs: list[Any] = [(match, other, OF_A_MATCH)]
    sides = zip(match.innings, other.innings, strict=True)
    pairs += [(innings, its, OF_AN_INNINGS) for innings, its in sides]
    values: list[Any] = [
        (name, getattr(one, name))
        for one, another, names in pairs
        for name in names
        if getattr(one, name) is not None and getattr(another, name) is not None
    ]
    for innings in match.innings:
        for ball in innings.deliveries:
            values += [getattr(ball, name) for name in OF_A_BALL]
            values.append([wicket.kind for wicket in ball.wickets])
    return values


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


def entries(shared_data: Path) -> list[dict[str, Any]]:
    content = json.loads((shared_data / "torture.json").read_text(encoding="utf-8"))
    assert content["count"] == len(content["matches"]) == 32
    matches: list[dict[str, Any]] = content["matches"]
    return matches


def place_of(shared_data: Path, entry: dict[str, Any]) -> str:
    """The file, and the match in it where it holds several."""
    place = str(shared_data / entry["file"])
    one_match = entry["format"] == "json" or entry["format"].startswith("csv2_")
    return place if one_match else f"{place}::{entry['match_id'].split()[0]}"


def test_every_match_that_breaks_naive_readers_is_read_right(shared_data: Path) -> None:
    for entry in entries(shared_data):
        match = read_match(place_of(shared_data, entry))
        assert match.match_id == entry["match_id"].split()[0]
        if entry["format"] == "json":
            assert match.outcome == entry["outcome"], entry["title"]
            assert (match.match_type, match.gender) == (entry["match_type"], entry["gender"])
        if "probes" in (entry.get("innings") or [{}])[0]:
            check_figures(match, entry)
            continue
        for innings, expected in zip(match.innings, entry.get("innings", []), strict=False):
            assert len(innings.deliveries) == expected["deliveries"], entry["title"]
            assert innings.legal_balls == expected["legal_balls_naive"], entry["title"]
            assert innings.wickets == expected["dismissals"], entry["title"]
        totals = [innings.total for innings in match.innings[:2]]
        if "true_totals" in entry:
            assert totals == entry["true_totals"]
        elif "innings" in entry:
            assert totals == [innings["total"] for innings in entry["innings"]]


def test_the_five_of_other_layouts_say_what_was_done(
    shared_data: Path, snapshot: SnapshotAssertion
) -> None:
    by_id = {entry["match_id"].split()[0]: entry for entry in entries(shared_data)}

    names = ("1216500", "16", "7894", "18", "1")
    read = {name: read_match(place_of(shared_data, by_id[name])) for name in names}
    assert {name: match.notes for name, match in read.items()} == snapshot
    assert [b.label for b in read["16"].innings[1].deliveries if b.over == 2][-1] == "2.10"
    labels = [ball.label for ball in read["18"].innings[1].deliveries[:11]]
    assert (labels[0], labels[9], len(set(labels))) == ("0.1", "0.10", 11)
    assert str(read["18"].date) == "2023-10-20"
    repeats = [
        len(innings.deliveries) - len({ball.label for ball in innings.deliveries})
        for innings in read["1"].innings
    ]
    assert sum(repeats) == by_id["1"]["duplicates"] == 5


def test_a_label_that_repeats_is_refused_with_its_candidates(shared_data: Path) -> None:
    match = read_match(f"{shared_data}/formats/kaggle_ipl/deliveries_2025.csv::1")
    innings = match.innings[0]
    labels = [ball.label for ball in innings.deliveries]
    twice = next(label for label in labels if labels.count(label) > 1)
    where = [ball for ball in innings.deliveries if ball.label == twice]
    with pytest.raises(BallNotFoundError) as caught:
        find_ball(match, twice)
    text = str(caught.value)
    assert f"label {twice} belongs to {len(where)} deliveries" in text
    for ball in where:
        assert f"{ball.index} ({twice}, {ball.bowler} to {ball.batter}" in text
    # The legal ball of that number is one ball, and can be named.
    assert find_ball(match, f"legal:{twice}").index in [ball.index for ball in where]


def test_a_match_reads_the_same_from_all_its_formats(shared_data: Path) -> None:
    content = json.loads((shared_data / "pairs.json").read_text(encoding="utf-8"))
    assert content["count"] == len(content["pairs"]) == 33
    compared = 0
    for pair in content["pairs"]:
        first, *others = (read_match(shared_data / path) for path in pair["paths"].values())
        for other in others:
            assert comparable(first, other) == comparable(other, first), pair["match_id"]
            unresolved = {
                key
                for ours, theirs in zip(people(first, set()), people(other, set()), strict=True)
                for a, b in zip(ours, theirs, strict=True)
                if a != b and (len(a) != 8 or len(b) != 8)
                for key in (a, b)
            }
            assert len(unresolved) <= (2 if pair["match_id"] in PARTLY_NAMED else 0)
            assert people(first, unresolved) == people(other, unresolved), pair["match_id"]
            compared += 1
    assert compared == sum(len(pair["paths"]) - 1 for pair in content["pairs"]) == 38
