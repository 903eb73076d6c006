"""Cricsheet's rules for a T20, checked on raw JSON without attnlens's readers and doubts."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import Any

EXTRAS = {"wides", "noballs", "byes", "legbyes", "penalty"}

Ball = dict[str, Any]


def is_legal(ball: Ball) -> bool:
    return not {"wides", "noballs"} & set(ball.get("extras", ()))


def check_overs(overs: list[dict[str, Any]], quota: int, fielders: set[str]) -> None:
    """Six legal balls an over, the last of them legal; one bowler an over, nobody too often."""
    assert [over["over"] for over in overs] == list(range(len(overs)))
    assert len(overs) <= quota
    bowlers = []
    for over in overs:
        balls = over["deliveries"]
        count = sum(map(is_legal, balls))
        assert count == 6 or (over is overs[-1] and count < 6)
        assert count < 6 or is_legal(balls[-1])
        (bowler,) = {ball["bowler"] for ball in balls}
        bowlers.append(bowler)
    assert all(before != after for before, after in pairwise(bowlers))
    assert max(Counter(bowlers).values()) <= max(quota // 5, 1)
    assert set(bowlers) <= fielders


def check_balls(balls: list[Ball], batters: set[str], fielders: set[str]) -> None:
    """Runs add up; those who bat are in the side and not out; each wicket can be."""
    out: set[str] = set()
    for ball in balls:
        runs, extras = ball["runs"], ball.get("extras", {})
        assert runs["total"] == runs["batter"] + runs["extras"]
        assert runs["extras"] == sum(extras.values())
        assert set(extras) <= EXTRAS
        assert not (extras.get("wides") and runs["batter"])
        pair = {ball["batter"], ball["non_striker"]}
        assert len(pair) == 2
        assert pair <= batters - out
        for wicket in ball.get("wickets", ()):
            kind, player = wicket["kind"], wicket["player_out"]
            assert player in pair
            assert kind == "run out" or player == ball["batter"]
            assert not extras.get("noballs") or kind == "run out"
            assert not extras.get("wides") or kind in ("run out", "stumped")
            assert {fielder["name"] for fielder in wicket.get("fielders", ())} <= fielders
            out.add(player)


def check_end(balls: list[Ball], quota: int, target: int | None) -> tuple[int, int]:
    """Nothing is bowled after the innings has ended, and it has; its runs and wickets."""
    score = lost = 0
    wickets_to_fall = 10 if quota == 20 else 2
    for ball in balls:
        assert lost < wickets_to_fall
        assert target is None or score < target
        score += ball["runs"]["total"]
        lost += len(ball.get("wickets", ()))
    ended = sum(map(is_legal, balls)) == 6 * quota or lost == wickets_to_fall
    assert ended or (target is not None and score >= target)
    return score, lost


def result_of(teams: list[str], scores: list[tuple[int, int]]) -> dict[str, Any]:
    """The outcome that follows from the balls, by the side of each innings."""
    (first, _), (second, lost), *_ = scores
    if second > first:
        return {"winner": teams[1], "by": {"wickets": 10 - lost}}
    if second < first:
        return {"winner": teams[0], "by": {"runs": first - second}}
    assert len(scores) > 2
    assert len(scores) % 2 == 0
    runs = [score for score, _ in scores[-2:]]
    assert runs[0] != runs[1]
    return {"result": "tie", "eliminator": teams[-2 if runs[0] > runs[1] else -1]}


def check_json(text: str) -> None:
    """A whole T20 in JSON 1.1.0, of which nothing is missing."""
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
    scores: list[tuple[int, int]] = []
    for number, innings in enumerate(document["innings"], 1):
        assert innings.get("super_over", False) == (number > 2)
        quota = 20 if number < 3 else 1
        target = None if number % 2 else scores[-1][0] + 1
        assert innings.get("target") == (target and {"overs": quota, "runs": target})
        squads = {team == innings["team"]: set(names) for team, names in info["players"].items()}
        balls = [ball for over in innings["overs"] for ball in over["deliveries"]]
        check_overs(innings["overs"], quota, squads[False])
        check_balls(balls, squads[True], squads[False])
        scores.append(check_end(balls, quota, target))
    assert info["outcome"] == result_of([side["team"] for side in document["innings"]], scores)
    assert (len(scores) > 2) == (info["outcome"].get("result") == "tie")


def check_names(document: dict[str, Any]) -> None:
    """Two elevens, everyone registered under an id of eight hexadecimal digits."""
    info = document["info"]
    elevens, people = info["players"], info["registry"]["people"]
    assert set(elevens) == set(info["teams"]) == {side["team"] for side in document["innings"]}
    assert [len(set(names)) for names in elevens.values()] == [11, 11]
    assert set(people) == {name for names in elevens.values() for name in names}
    assert len(set(people.values())) == len(people)
    assert all(re.fullmatch(r"[0-9a-f]{8}", identity) for identity in people.values())
