"""What a page says of a player's record is what his earlier balls were."""

from __future__ import annotations

import dataclasses
import datetime
import json
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch
from small_predictors import simulated, small_predictor

from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.match.match import Match, Player
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.day_tables import PlayerRecords, saved_table
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.trained import Timeline
from attnlens.cricket.readers import read_match
from attnlens.cricket.words.narrative import in_words
from attnlens.render.numbers import percent

PREDICTOR = dataclasses.replace(small_predictor(matches=2), ratings=Ratings())
LEAGUE = "formats/json_zip/ipl_male_json.zip"
SEASON = "2024"


def raw_season(source: Path) -> dict[str, Any]:
    """The season's matches as JSON, oldest first, by member of the archive."""
    with zipfile.ZipFile(source) as archive:
        names = (name for name in archive.namelist() if name.endswith(".json"))
        matches = {name: json.loads(archive.read(name)) for name in names}
    chosen = {k: v for k, v in matches.items() if v["info"]["dates"][0].startswith(SEASON)}
    return dict(sorted(chosen.items(), key=lambda entry: entry[1]["info"]["dates"][0]))


def raw_outcome(ball: dict[str, Any]) -> str:
    """One of the eleven outcomes by the rules of the docs: a wicket first, then extras, runs."""
    out = [wicket["kind"] for wicket in ball.get("wickets", [])]
    if any(kind not in ("retired hurt", "retired not out") for kind in out):
        return "W"
    extras = ball.get("extras", {})
    for name, outcome in (("wides", "wd"), ("noballs", "nb")):
        if extras.get(name):
            return outcome
    if ball["runs"]["batter"]:
        return str(min(ball["runs"]["batter"], 6))
    return "bye" if extras.get("byes") or extras.get("legbyes") else "0"


def counted(raw: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[Counter[str], str]]:
    """By role and registry id: outcomes of all deliveries, and the day of the last."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    last: dict[tuple[str, str], str] = {}
    for match in raw:
        people = match["info"]["registry"]["people"]
        for innings in match["innings"]:
            for over in innings["overs"] if not innings.get("super_over") else ():
                for ball in over["deliveries"]:
                    for role in ("batter", "bowler"):
                        key = role, people[ball[role]]
                        counts[key][raw_outcome(ball)] += 1
                        last[key] = match["info"]["dates"][-1]
    return {key: (counts[key], last[key]) for key in counts}


def test_records_equal_a_count_of_the_raw_file(shared_data: Path) -> None:
    raw = raw_season(shared_data / LEAGUE)
    matches = [read_match(f"{shared_data / LEAGUE}::{name}") for name in raw]
    assert len(matches) > 60
    match = matches[-1]
    earlier = [m for m in raw.values() if m["info"]["dates"][-1] < str(match.date)]
    expected = counted(earlier)
    dated = Timeline(PREDICTOR, matches).predictor_for(match)
    shown = 0
    for index in (8, 60, 100):
        ball = match.innings[0].deliveries[index - 1]
        explanation = in_words(explain_ball(match, BallReference(1, index), dated))
        assert [record.player for record in explanation.records] == [
            ball.batter.name,
            ball.bowler.name,
        ]
        for record, player in zip(explanation.records, (ball.batter, ball.bowler), strict=True):
            outcomes, last = expected[record.role, player.key]
            assert record.deliveries == outcomes.total()
            assert record.last_day == last
            assert {entry.outcome: entry.count for entry in record.outcomes} == {
                entry.outcome: outcomes[entry.outcome] for entry in record.outcomes
            }
            share = percent(outcomes[explanation.prediction.subject] / outcomes.total(), 1)
            note = f"on {share} of {outcomes.total():,} balls to {last})"
            for clause in explanation.clauses():
                if f"for {player.name}'s record" in clause.text:
                    assert note in clause.text
                    shown += 1
    assert shown


def test_a_record_of_which_the_table_knows_a_part_is_not_shown() -> None:
    """A checkpoint written before there were records, and taught later matches since."""
    matches = [simulated(seed) for seed in range(6)]
    player = matches[0].innings[0].deliveries[0].batter
    whole = Timeline(PREDICTOR, matches).predictor_for(simulated(7)).ratings
    record = whole.record_of("striker", player)
    assert record is not None
    assert (
        record.deliveries == whole.tables["striker"].balls[whole.tables["striker"].row(player.key)]
    )
    half = Timeline(PREDICTOR, matches[:3]).predictor_for(simulated(7)).ratings
    half.records = PlayerRecords()
    later = Timeline(dataclasses.replace(PREDICTOR, ratings=half), matches[3:])
    part = later.predictor_for(simulated(7)).ratings
    assert part.records.until == matches[5].date
    assert part.record_of("striker", player) is None
    assert whole.record_of("striker", Player("Nobody", "nobody-1")) is None


def test_damaged_records_are_refused() -> None:
    matches: list[Match] = [simulated(seed) for seed in range(2)]
    records = Timeline(PREDICTOR, matches).predictor_for(simulated(7)).ratings.records
    tensors = saved_table(records)
    back = PlayerRecords.from_tensors(tensors)
    assert saved_table(back).keys() == tensors.keys()
    for name, tensor in saved_table(back).items():
        assert torch.equal(tensor, tensors[name])
    assert tensors["striker.counts"].dtype == torch.int16
    late = datetime.date(2100, 1, 1).toordinal()
    for name, damaged in (
        ("striker.counts", tensors["striker.counts"][:-1]),
        ("bowler.counts", -tensors["bowler.counts"]),
        ("bowler.last", torch.full_like(tensors["bowler.last"], late)),
    ):
        with pytest.raises(ValueError, match="the tables of players"):
            PlayerRecords.from_tensors(tensors | {name: damaged})
