"""A simulated T20 against the rules: no reader doubts it, and its raw JSON is complete."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from attnlens.cricket.readers import read_match


def check_json(text: str) -> None:
    """A whole T20 in JSON 1.1.0, of which nothing is missing and nothing hard to believe."""
    document = json.loads(text, parse_float=str)
    assert document["meta"]["data_version"] == "1.1.0"
    assert type(document["meta"]["revision"]) is int
    info = document["info"]
    required = "balls_per_over dates gender match_type outcome players registry season team_type"
    assert {*required.split(), "teams", "toss"} <= set(info)
    assert (info["balls_per_over"], info["overs"], info["match_type"]) == (6, 20, "T20")
    assert info["toss"]["winner"] in info["teams"]
    assert info["toss"]["decision"] in ("bat", "field")
    check_names(document)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.json"
        path.write_text(text, encoding="utf-8")
        assert read_match(path).notes == ()
    totals: list[int] = []
    for number, innings in enumerate(document["innings"], 1):
        assert innings.get("super_over", False) == (number > 2)
        overs = 20 if number < 3 else 1
        target = None if number % 2 else totals[-1] + 1
        assert innings.get("target") == (target and {"overs": overs, "runs": target})
        balls = [ball for over in innings["overs"] for ball in over["deliveries"]]
        totals.append(sum(ball["runs"]["total"] for ball in balls))
        # Nothing is bowled after the target is reached, nor while the innings could go on.
        reached = target is not None and totals[-1] >= target
        assert not reached or totals[-1] - balls[-1]["runs"]["total"] < target
        legal = sum(not {"wides", "noballs"} & set(ball.get("extras", ())) for ball in balls)
        out = sum(len(ball.get("wickets", ())) for ball in balls)
        assert reached or legal == 6 * overs or out == (10 if number < 3 else 2)
    assert (len(totals) > 2) == (info["outcome"].get("result") == "tie")


def check_names(document: dict[str, Any]) -> None:
    """Two elevens, everyone registered under an id of eight hexadecimal digits."""
    info = document["info"]
    elevens, people = info["players"], info["registry"]["people"]
    assert set(elevens) == set(info["teams"]) == {side["team"] for side in document["innings"]}
    assert [len(set(names)) for names in elevens.values()] == [11, 11]
    assert set(people) == {name for names in elevens.values() for name in names}
    assert len(set(people.values())) == len(people)
    assert all(re.fullmatch(r"[0-9a-f]{8}", identity) for identity in people.values())
