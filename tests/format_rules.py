"""Cricsheet's rules for a T20, checked on raw JSON, without attnlens's readers."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

UNCOUNTED = {"retired hurt", "retired not out"}
EXTRAS = ("wides", "noballs", "byes", "legbyes", "penalty")


def innings_rows(document: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Each delivery of a JSON match as a flat row."""
    innings_found = []
    for innings in document["innings"]:
        rows: list[dict[str, Any]] = []
        for position, over in enumerate(innings["overs"]):
            assert over["over"] == position
            for ball, delivery in enumerate(over["deliveries"], 1):
                wickets = delivery.get("wickets", [])
                runs = delivery["runs"]
                assert runs["total"] == runs["batter"] + runs["extras"]
                assert set(delivery.get("extras", {})) <= set(EXTRAS)
                rows.append(
                    {
                        "ball": f"{over['over']}.{ball}",
                        "batting_team": innings["team"],
                        "striker": delivery["batter"],
                        "non_striker": delivery["non_striker"],
                        "bowler": delivery["bowler"],
                        "bat": runs["batter"],
                        "extras": runs["extras"],
                        **{kind: delivery.get("extras", {}).get(kind, 0) for kind in EXTRAS},
                        "wickets": [(w["kind"], w["player_out"]) for w in wickets],
                        "fielders": [f["name"] for w in wickets for f in w.get("fielders", [])],
                    }
                )
        innings_found.append(rows)
    return innings_found


def total(rows: list[dict[str, Any]]) -> int:
    return sum(row["bat"] + row["extras"] for row in rows)


def fallen(rows: list[dict[str, Any]]) -> int:
    return sum(kind not in UNCOUNTED for row in rows for kind, _ in row["wickets"])


def is_legal(row: dict[str, Any]) -> bool:
    return not (row["wides"] or row["noballs"])


def check_innings(
    rows: list[dict[str, Any]], elevens: dict[str, list[str]], overs: int, target: int | None
) -> None:
    """One innings of six-ball overs against the rules."""
    team = rows[0]["batting_team"]
    others = next(names for name, names in elevens.items() if name != team)
    wickets_to_fall = 10 if overs == 20 else 2
    by_over: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_over[int(row["ball"].partition(".")[0])].append(row)
    assert list(by_over) == list(range(len(by_over)))
    assert len(by_over) <= overs
    bowlers = []
    for over, balls in by_over.items():
        # Labels count every delivery, as text: 3.10 follows 3.9.
        assert [ball["ball"] for ball in balls] == [f"{over}.{n}" for n in range(1, len(balls) + 1)]
        count = sum(map(is_legal, balls))
        assert count == 6 or (over == len(by_over) - 1 and count < 6)
        assert count < 6 or is_legal(balls[-1])
        bowlers.append({ball["bowler"] for ball in balls})
    assert all(len(names) == 1 for names in bowlers)
    assert all(one != two for one, two in pairwise(bowlers))
    quota = Counter(name for names in bowlers for name in names)
    assert max(quota.values()) <= max(overs // 5, 1)
    assert set(quota) <= set(others)
    out: set[str] = set()
    score = lost = 0
    for row in rows:
        # Nothing is bowled after the innings has ended.
        assert lost < wickets_to_fall
        assert target is None or score < target
        assert row["extras"] == sum(row[kind] for kind in EXTRAS)
        assert not (row["wides"] and row["bat"])
        pair = {row["striker"], row["non_striker"]}
        assert len(pair) == 2
        assert pair <= set(elevens[team])
        assert not pair & out
        for kind, player in row["wickets"]:
            assert player in pair
            assert kind == "run out" or player == row["striker"]
            assert not row["noballs"] or kind == "run out"
            assert not row["wides"] or kind in ("run out", "stumped")
            assert set(row["fielders"]) <= set(others)
            out.add(player)
        score += row["bat"] + row["extras"]
        lost += len(row["wickets"])
    ended = sum(map(is_legal, rows)) == 6 * overs or lost == wickets_to_fall
    assert ended or (target is not None and score >= target)


def check_result(innings: list[list[dict[str, Any]]], outcome: dict[str, Any]) -> None:
    """The stated outcome follows from the balls."""
    first, second = innings[0], innings[1]
    expected: dict[str, Any]
    if total(second) > total(first):
        expected = {"winner": second[0]["batting_team"], "by": {"wickets": 10 - fallen(second)}}
    elif total(second) < total(first):
        expected = {
            "winner": first[0]["batting_team"],
            "by": {"runs": total(first) - total(second)},
        }
    else:
        one, two = max(innings[-2:], key=total), min(innings[-2:], key=total)
        assert total(one) > total(two)
        assert len(innings) % 2 == 0
        assert len(innings) > 2
        expected = {"result": "tie", "eliminator": one[0]["batting_team"]}
    assert outcome == expected
    assert (len(innings) > 2) == (outcome.get("result") == "tie")


def check_json(text: str) -> list[list[dict[str, Any]]]:
    """A T20 in JSON 1.1.0; returns its deliveries."""
    document = json.loads(text, parse_float=str)
    assert document["meta"]["data_version"] == "1.1.0"
    assert type(document["meta"]["revision"]) is int
    info = document["info"]
    required = "balls_per_over dates gender match_type outcome players registry season team_type"
    assert {*required.split(), "teams", "toss"} <= set(info)
    assert (info["balls_per_over"], info["overs"], info["match_type"]) == (6, 20, "T20")
    assert info["toss"]["winner"] in info["teams"]
    assert info["toss"]["decision"] in ("bat", "field")
    innings = innings_rows(document)
    check_names(innings, info["players"], info["registry"]["people"], info["teams"])
    for number, (raw, rows) in enumerate(zip(document["innings"], innings, strict=True), 1):
        assert raw.get("super_over", False) == (number > 2)
        overs = 20 if number < 3 else 1
        target = None if number % 2 else total(innings[number - 2]) + 1
        assert raw.get("target") == (target and {"overs": overs, "runs": target})
        check_innings(rows, info["players"], overs, target)
    check_result(innings, info["outcome"])
    return innings


def check_names(
    innings: list[list[dict[str, Any]]],
    elevens: dict[str, list[str]],
    people: dict[str, str],
    teams: list[str],
) -> None:
    """Two elevens, everyone registered under an id of eight hexadecimal digits."""
    assert set(elevens) == set(teams) == {rows[0]["batting_team"] for rows in innings}
    assert [len(set(names)) for names in elevens.values()] == [11, 11]
    assert set(people) == {name for names in elevens.values() for name in names}
    assert len(set(people.values())) == len(people)
    assert all(re.fullmatch(r"[0-9a-f]{8}", identity) for identity in people.values())
