"""Every statement of a match file has a status, and a statement that cannot be true is noticed."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from wrong_statements import (
    CHANGES,
    LONG_CHANGES,
    TABLE_CHANGES,
    TIE_CHANGES,
    Change,
    Document,
    completed,
    other_team,
    put,
    unlimited,
)

from attnlens.cli import main
from attnlens.cricket.lab.simulator import simulate, texts_of
from attnlens.cricket.match.doubts import BALL_FIELDS
from attnlens.cricket.match.ledger import outcome_of, result_sentence
from attnlens.cricket.match.match import (
    AGREES,
    CONTRADICTS,
    DERIVED,
    UNWITNESSED,
    Match,
    StatedField,
)
from attnlens.cricket.match.scan import NO_CLAIM
from attnlens.cricket.match.witnesses import RESULT, WITNESSES
from attnlens.cricket.pages.match_page import render_scorecard
from attnlens.cricket.predictor.win import won
from attnlens.cricket.readers import cricsheet_csv, cricsheet_json, kaggle, read_match, read_matches

STATUSES = {DERIVED, AGREES, CONTRADICTS, UNWITNESSED}
NEVER = {"venue", "city", "event.match_number", "event.group", "event.stage", "event.sub_name"}
"""Fields that nothing else in a JSON file speaks of."""


def pattern_of(field: str) -> str:
    """The pattern of a witness for a field: innings' numbers, teams and roles are ``*``."""
    field = re.sub(r"^innings\.\d+", "innings.*", field)
    return re.sub(r"^(players|officials|supersubs)\..*", r"\1.*", field)


def document_of(seed: int) -> Document:
    made = simulate(seed)
    texts = texts_of(made.match, "json", "m", elevens=made.elevens)
    return completed(json.loads(texts["m.json"]))


def read(folder: Path, document: Document) -> Match:
    path = folder / "m.json"
    path.write_text(json.dumps(document))
    return read_match(path)


def contradicted(match: Match) -> set[str]:
    return {pattern_of(s.field) for s in match.statements if s.status == CONTRADICTS}


def cases(changes: dict[str, list[Any]], *more: Any) -> list[Any]:
    return [
        pytest.param(*more, pattern, change, id=f"{pattern} {number} {more[0] if more else ''}")
        for pattern, group in changes.items()
        for number, change in enumerate(group, 1)
    ]


@pytest.mark.parametrize(
    ("seed", "pattern", "change"),
    # Seed 38 has a super over; the last changes are of a match in which each side may bat twice.
    [*cases(CHANGES, 3), *cases(TIE_CHANGES, 38), *cases(LONG_CHANGES, -3)],
)
def test_a_statement_that_cannot_be_true_contradicts(
    tmp_path: Path, seed: int, pattern: str, change: Change
) -> None:
    document = document_of(seed) if seed > 0 else unlimited(document_of(-seed))
    assert (sound := read(tmp_path, document)).doubts == ()
    assert not contradicted(sound)
    wrong = copy.deepcopy(document)
    change(wrong)
    match = read(tmp_path, wrong)
    assert pattern in contradicted(match), [str(doubt) for doubt in match.doubts]
    assert match.notes[len(match.notes) - len(match.doubts) :] == tuple(map(str, match.doubts))
    assert match.doubts


@pytest.mark.parametrize(("pattern", "change"), cases(TABLE_CHANGES))
def test_a_table_and_its_info_that_differ_contradict(
    tmp_path: Path, pattern: str, change: tuple[str, str, str]
) -> None:
    made = simulate(3)
    files = texts_of(made.match, "csv2", "m", elevens=made.elevens)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert not contradicted(read_match(tmp_path / "m.csv"))
    where, old, new = change
    name = "m.csv" if where == "table" else "m_info.csv"
    start = files[name].rstrip().rfind("\n") if where == "table" else 0
    assert old in files[name][start:]
    (tmp_path / name).write_text(files[name][:start] + files[name][start:].replace(old, new, 1))
    assert pattern in contradicted(read_match(tmp_path / "m.csv"))


def test_every_witness_that_can_contradict_does_so_in_a_test() -> None:
    tested = CHANGES.keys() | TIE_CHANGES.keys() | TABLE_CHANGES.keys()
    # Batting teams are checked by the squads; a total is stated by a table of results alone.
    assert WITNESSES.keys() - tested == (NEVER - tested) | {"innings.*.team", "innings.*.total"}


BALL_KEYS = (
    "runs", "batter", "bowler", "non_striker", "runs.batter", "runs.extras", "runs.total",
    "runs.non_boundary", "extras", "wickets", "replacements", "review", "actual_delivery",
)  # fmt: skip
"""Keys of a delivery in JSON of which a field speaks."""


def test_every_key_of_every_real_json_file_has_a_status(shared_data: Path) -> None:
    fields, keys = set[str](), set[str]()
    for path in sorted((shared_data / "formats").glob("json*/*/*.json")):
        match, document = read_match(path), json.loads(path.read_text(encoding="utf-8"))
        assert {s.status for s in match.statements} <= STATUSES
        fields |= {pattern_of(s.field) for s in match.statements}
        keys |= set(document["info"]) | {
            f"innings.*.{key}" for i in document["innings"] for key in i
        }
        for innings in document["innings"]:
            for over in innings.get("overs", ()):
                for ball in over["deliveries"]:
                    keys |= {
                        f"deliveries.{key}" for key in (*ball, *map("runs.{}".format, ball["runs"]))
                    }
    known = WITNESSES.keys() | NO_CLAIM | {f"deliveries.{name}" for name in BALL_FIELDS}
    assert fields <= known, fields - known
    roots = {re.sub(r"^(innings\.\*\.[^.]*|[^.]*).*", r"\1", field) for field in fields}
    balls = {f"deliveries.{key}" for key in BALL_KEYS}
    assert keys - balls - {"innings.*.overs"} <= roots, keys - roots


COLUMNS = {
    "innings": "innings.*.team", "batting_team": "innings.*.team",
    "bowling_team": "innings.*.team", "ball": "deliveries.label", "over": "deliveries.label",
    "striker": "deliveries.batter", "batter": "deliveries.batter",
    "runs_off_bat": "deliveries.runs.batter", "runs": "deliveries.runs.batter",
    "total": "deliveries.runs.total", "non_striker": "deliveries.non_striker",
    "bowler": "deliveries.bowler", "actual_delivery": "deliveries.actual_delivery",
    "non_boundary": "deliveries.runs.non_boundary", "kind": "deliveries.wickets.kind",
    "is_wicket": "deliveries.wickets.kind", "player_out": "deliveries.wickets.player_out",
    "fielder": "deliveries.wickets.fielders", "start_date": "dates", "date": "dates",
    "season": "season", "venue": "venue", "city": "city", "stage": "event.stage",
    "match_id": "match_id", "id": "match_id", "team1": "teams", "team2": "teams",
    "toss_winner": "toss.winner", "toss_decision": "toss.decision", "winner": "outcome.winner",
    "result": "outcome.result", "method": "outcome.method", "dl_applied": "outcome.method",
    "by_runs": "outcome.by.runs", "by_wickets": "outcome.by.wickets",
    "margin": "outcome.by.runs", "is_super_over": "innings.*.super_over",
    "target_runs": "innings.*.target.runs", "target_overs": "innings.*.target.overs",
    **dict.fromkeys(("runs1", "runs2", "wickets1", "wickets2"), "innings.*.total"),
}  # fmt: skip
"""Columns of tables, and the fields that they state."""


def field_of_column(column: str) -> str:
    """The field that a column states."""
    extras = ("extra", "extras", "extras_type", "wides", "noballs", "byes", "legbyes", "penalty")
    if column in extras:
        return "deliveries.extras"
    column = re.sub("^other_|_[0-9]$", "", column)
    names = {"wicket_type": "kind", "player_dismissed": "player_out"}
    return COLUMNS[names.get(column, column)]


def test_every_column_and_row_of_every_table_has_a_status() -> None:
    known = WITNESSES.keys() | {f"deliveries.{name}" for name in BALL_FIELDS}
    columns = (*cricsheet_csv._OF_A_BALL, *cricsheet_csv._PARTICULARS, "match_id")
    assert {field_of_column(column) for column in columns} <= known
    rows = {pattern_of(".".join(path)) for path in cricsheet_json.INFO_PATHS.values()}
    rows |= {f"officials.{role}" for role in cricsheet_json._OFFICIALS.values()}
    assert {pattern_of(row) for row in rows} <= known
    assert {
        f"innings.*.{key.replace('_', '.', 1)}" for key in cricsheet_json._OF_AN_INNINGS
    } <= known | {"innings.*.super.over"}
    for layout in kaggle._LAYOUTS:
        for field in (*layout.columns, *layout.results):
            assert field_of_column(field) in known, field


def test_statements_of_real_matches_are_derived_from_their_balls(shared_data: Path) -> None:
    """The derived result and target equal what the file states, in matches without a doubt."""
    derived = 0
    for match in read_matches(shared_data / "formats" / "json"):
        values: dict[str, StatedField] = {s.field: s for s in match.statements}
        for name in ("outcome.winner", "outcome.by.runs", "outcome.by.wickets"):
            if name in values and values[name].status == DERIVED:
                assert values[name].derived == values[name].stated
                derived += 1
    assert derived > 150


RESULTS: dict[str, Change] = {
    "as it was": lambda _: None,
    "the second innings is gone": lambda document: document["innings"].pop() and None,
    "no innings": lambda document: document["innings"].clear(),
    "the other side won": put(
        "info/outcome", lambda document, old: {"winner": other_team(document, old["winner"])}
    ),
    "no result": put("info/outcome", {"result": "no result"}),
    "awarded": put("info/outcome", lambda _, old: {"winner": old["winner"], "method": "Awarded"}),
    "nothing is stated": put("info/outcome", {}),
    "the toss was not followed": put("info/toss/decision", "bat"),
}


def test_only_what_the_balls_bear_is_stated_plainly(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    """The sentence of the result, who won, the chance to have won, and the page's first lines."""
    results = {}
    for name, change in RESULTS.items():
        document = document_of(3)
        change(document)
        match = read(tmp_path, document)
        home = document["info"]["teams"][0]
        page = render_scorecard(match, width=100, color=False).splitlines()
        results[name] = {
            "sentence": result_sentence(match),
            "outcome": outcome_of(match).plain(),
            f"{home} won": won(match, home),
            "left out of training": any(doubt.kind == RESULT for doubt in match.doubts),
            "page": [line for line in page[:6] if " won" in line or "result" in line],
        }
    assert results == snapshot


def test_the_check_names_statements_and_what_nothing_confirms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = document_of(3)
    document["info"]["outcome"] = {
        "winner": other_team(document, document["info"]["outcome"]["winner"])
    }
    read(tmp_path, document)
    assert main(["match", "--check", str(tmp_path / "m.json")]) == 0
    contradiction, unwitnessed = capsys.readouterr().out.splitlines()
    assert ": outcome.winner contradicts: the stated result, " in contradiction
    fields = "meta.created, city, event.name, event.match_number, gender, team_type, venue"
    assert unwitnessed.endswith(f": not confirmed by anything in the file: {fields}")
    assert main(["match", "--check", "--json", str(tmp_path / "m.json")]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["field"], row["status"], row["kind"]) == ("outcome.winner", CONTRADICTS, RESULT)
    assert {row["stated"], row["derived"]} == set(document["info"]["teams"])
    assert main(["match", "--json", str(tmp_path / "m.json")]) == 0
    statements = json.loads(capsys.readouterr().out)["statements"]
    keys = {"field", "stated", "derived", "status"}
    assert all(statement.keys() == keys for statement in statements)
    assert {s["status"] for s in statements} == STATUSES


def test_a_chase_has_the_overs_of_the_match_where_its_own_cannot_be(tmp_path: Path) -> None:
    document = document_of(3)
    document["innings"][1]["target"]["overs"] = 10
    assert read(tmp_path, document).innings[1].target_balls == 120
