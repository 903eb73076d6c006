"""What contradicts itself in a file is told, and told only where it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from match_files import delivery, document, written

from attnlens.cricket.readers import read_match, read_matches


def notes_of(folder: Path, content: dict[str, Any]) -> tuple[str, ...]:
    notes = read_match(written(folder, content)).notes
    kept = (note for note in notes if not note.startswith("no registry id"))
    # It is so small that every innings ends early.
    return tuple(note for note in kept if not note.endswith("and nothing says why"))


STATED = "does not follow from the balls (Reds 16/1, Blues 3/1); both are told as the file has them"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            {"winner": "Reds", "by": {"runs": 12}},
            f"the stated result (Reds won by 12 runs) {STATED}",
        ),
        (
            {"winner": "Blues", "by": {"wickets": 9}},
            f"the stated result (Blues won by 9 wickets) {STATED}",
        ),
        ({"result": "tie"}, f"the stated result (tie) {STATED}"),
        ({"result": "no result"}, None),
        ({"winner": "Blues", "method": "Awarded"}, None),
        ({"winner": "Reds", "by": {"runs": 13}, "method": "D/L"}, None),
        ({"winner": "Blues", "by": {"runs": 2}, "method": "D/L"}, None),
        (
            {"winner": "Reds", "by": {"runs": 2}, "method": "D/L"},
            f"the stated result (Reds won by 2 runs) {STATED}",
        ),
    ],
)
def test_a_result_that_the_balls_contradict_is_told(
    tmp_path: Path, outcome: dict[str, Any], expected: str | None
) -> None:
    content = document()
    content["info"]["outcome"] = outcome
    assert notes_of(tmp_path, content) == (() if expected is None else (expected,))


def with_target(content: dict[str, Any]) -> None:
    content["innings"][1]["target"]["runs"] = 9


def with_a_long_over(content: dict[str, Any]) -> None:
    balls = content["innings"][0]["overs"][0]["deliveries"]
    balls += [delivery("Eli", "Ana") for _ in range(3)]
    content["innings"][0]["overs"].append(
        {"over": 1, "deliveries": [delivery("Eli", "Ana", "Fay")]}
    )
    content["innings"][0]["miscounted_overs"] = {"0": {"balls": "7"}}


def with_someone_absent(content: dict[str, Any]) -> None:
    content["innings"][1]["absent_hurt"] = ["Dov"]


def with_a_forfeit(content: dict[str, Any]) -> None:
    content["info"]["match_type"] = "MDM"
    content["info"]["outcome"] = {"result": "draw"}
    content["innings"].append({"team": "Reds", "forfeited": True})


def with_replacements(content: dict[str, Any]) -> None:
    content["innings"][0]["overs"][0]["deliveries"][3]["replacements"] = {
        "match": [{"in": "Fay", "out": "Dov", "team": "Blues", "reason": "impact_player"}],
        "role": [{"in": "Ana", "role": "bowler", "reason": "injury"}, {"in": 3}, None],
    }


def with_eleven_wickets(content: dict[str, Any]) -> None:
    names = [f"Red {number}" for number in range(1, 12)]
    balls = [
        delivery(name, "Bea", wickets=[{"kind": "bowled", "player_out": name}]) for name in names
    ]
    for ball in balls[6:]:
        ball["bowler"] = "Dov"
    content["innings"][0]["overs"] = [
        {"over": 0, "deliveries": balls[:6]},
        {"over": 1, "deliveries": balls[6:]},
    ]
    content["info"]["outcome"] = {"result": "no result"}
    content["innings"][1]["target"]["runs"] = 6


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            with_target,
            "innings 2: the target is 9 in the file, and innings 1 made 16: it was revised, "
            "and the file does not say how",
        ),
        (
            with_a_long_over,
            "innings 1: the umpires miscounted over 0, as the file says",
        ),
        (with_someone_absent, "innings 2: Dov was absent hurt"),
        (with_a_forfeit, "innings 3 was forfeited"),
        (
            with_replacements,
            "innings 1, before ball 0.4: Fay came in for Dov (impact player)\n"
            "innings 1, before ball 0.4: Ana became bowler (injury)",
        ),
        (with_eleven_wickets, "innings 1: has 11 wickets"),
    ],
)
def test_what_a_file_tells_is_a_sentence(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], expected: str
) -> None:
    content = document()
    change(content)
    assert "\n".join(notes_of(tmp_path, content)) == expected


KNOWN_ERRORS = {"1207736", "1252723", "1318396"}


def test_only_the_known_errors_of_real_files_contradict_the_balls(shared_data: Path) -> None:
    found = {
        match.match_id
        for match in read_matches(shared_data / "formats" / "json")
        if any("stated result" in note for note in match.notes)
    }
    assert found == KNOWN_ERRORS
