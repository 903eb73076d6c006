"""Ways to make one statement of a Cricsheet JSON match wrong, for `test_statements.py`.

The rules of the reconciler have no part in it: each change is written from the format and the
playing conditions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
Change = Callable[[Document], None]

OFFICIALS = {
    "match_referees": ["Ada Orr"], "reserve_umpires": ["Ben Pym"], "tv_umpires": ["Cal Quill"],
    "umpires": ["Dee Rook", "Eli Stone"],
}  # fmt: skip


def completed(document: Document) -> Document:
    """The same match with everything that Cricsheet states of one, and nothing wrong."""
    info = document["info"]
    home, away = info["teams"]
    info["officials"] = {role: list(names) for role, names in OFFICIALS.items()}
    names = [name for role in OFFICIALS.values() for name in role]
    info["registry"]["people"] |= {name: f"{number:08x}" for number, name in enumerate(names)}
    info["player_of_match"] = [info["players"][away][0]]
    info["missing"] = ["reviews", {"powerplays": {"1": ["batting"]}}]
    info["supersubs"] = {home: info["players"][home][10]}
    document["meta"]["data_version"] = "1.2.0"
    for innings in document["innings"]:
        over = innings["overs"][5 if len(innings["overs"]) > 5 else 0]
        end = f"{over['over']}.{len(over['deliveries'])}"
        innings["powerplays"] = [{"from": "0.1", "to": end, "type": "mandatory"}]
        for over in innings["overs"]:
            legal = 1
            for ball in over["deliveries"]:
                ball["actual_delivery"] = f"{over['over']}.{legal}"
                legal += not {"wides", "noballs"} & ball.get("extras", {}).keys()
    return document


def unlimited(document: Document) -> Document:
    """The same balls as those of a match without a limit of overs."""
    document["info"]["match_type"] = "MDM"
    del document["info"]["overs"]
    for innings in document["innings"]:
        innings.pop("target", None)
    return document


def node_at(document: Document, path: str) -> tuple[Any, str | int]:
    """The object that holds a path's last step, and that step."""
    steps = [int(step) if step.isdigit() else step for step in path.split("/")]
    node: Any = document
    for step in steps[:-1]:
        node = node[step] if isinstance(step, int) else node.setdefault(step, {})
    return node, steps[-1]


def put(path: str, value: Any) -> Change:
    """Set what is at a path; a function makes it of the document and of what was there."""

    def change(document: Document) -> None:
        node, step = node_at(document, path)
        old = node.get(step) if isinstance(node, dict) else node[step]
        node[step] = value(document, old) if callable(value) else value

    return change


def both(*changes: Change) -> Change:
    def change(document: Document) -> None:
        for each in changes:
            each(document)

    return change


def team(number: int) -> Callable[[Document, Any], str]:
    return lambda document, _: str(document["info"]["teams"][number])


def other_team(document: Document, name: Any) -> str:
    return next(str(team) for team in document["info"]["teams"] if team != name)


def player(side: int, number: int) -> Callable[[Document, Any], str]:
    return lambda document, _: str(squad(document, side)[number])


def squad(document: Document, side: int) -> list[str]:
    names: list[str] = document["info"]["players"][document["info"]["teams"][side]]
    return names


def squads(change: Callable[[list[str], list[str]], Any]) -> Change:
    return lambda document: change(squad(document, 0), squad(document, 1)) and None


def first_batter(document: Document, _: Any) -> list[str]:
    return [document["innings"][0]["overs"][0]["deliveries"][0]["batter"]]


def unnumbered(document: Document) -> None:
    for innings in document["innings"]:
        for over in innings["overs"]:
            for ball in over["deliveries"]:
                del ball["actual_delivery"]


def longer_powerplay(document: Document) -> None:
    over = document["innings"][0]["overs"][8]
    document["innings"][0]["powerplays"][0]["to"] = f"8.{len(over['deliveries'])}"


def seven_balls(_: Document, balls: list[Any]) -> list[Any]:
    legal = [ball for ball in balls if not {"wickets", "extras"} & ball.keys()]
    return [*(legal * 7)[:6], balls[-1]] if "extras" not in balls[-1] else (legal * 7)[:7]


def last_of_squad(document: Document, _: Any) -> list[str]:
    names: list[str] = document["info"]["players"][document["innings"][1]["team"]]
    return names[-1:]


def another_super_over(document: Document) -> None:
    again = copy.deepcopy(document["innings"][2:])
    for innings in again:
        innings["overs"][0]["deliveries"].pop()
    document["innings"] += again


def cut_short(document: Document) -> None:
    del document["innings"][1]["overs"][12:]


STRANGER = "Nobody Known"
ELEVEN = [f"Player {number}" for number in range(11)]
RESULT = "info/outcome"
POWERPLAY = "innings/0/powerplays/0"

CHANGES: dict[str, list[Change]] = {
    "meta.data_version": [
        put("meta/data_version", "1.1.0"), unnumbered,
        both(unnumbered, put("meta/data_version", "1.0.0"), put("info/toss/uncontested", True)),
    ],
    "meta.created": [put("meta/created", "2023-12-31"), put("meta/created", "2999-01-01")],
    "missing": [put("info/missing", ["player_of_match"]), put("info/missing", ["umpires"])],
    "match_type": [
        put("info/match_type", "T10"), put("info/match_type", "ODI"),
        put("info/match_type", "IT20"), put("info/match_type", "Test"),
        put("info/team_type", "international"),
        both(put("info/team_type", "international"), put("info/match_type", "MDM")),
        both(put("info/match_type_number", 41), put("info/match_type", "ODM")),
    ],
    "match_type_number": [put("info/match_type_number", 41), put("info/match_type_number", 0)],
    "team_type": [
        put("info/team_type", "school"), put("info/event/name", "Kites tour of Otters"),
        both(put("info/event/name", "Indian Premier League"),
             put("info/team_type", "international")),
    ],
    "gender": [
        put("info/gender", "mixed"), put("info/event/name", "Women's Cup"),
        both(put("info/gender", "female"), put("info/event/name", "Big Bash League")),
    ],
    "overs": [put("info/overs", 15), put("info/overs", 25), put("info/match_type", "ODM"),
              both(put("info/match_type", "MDM"), put("info/overs", 20))],
    "balls_per_over": [put("info/balls_per_over", 5), put("info/balls_per_over", 8)],
    "dates": [
        put("info/dates", ["1999-05-01"]), put("info/dates", ["2999-05-01"]),
        put("info/dates", ["2024-01-05", "2024-01-04"]),
        put("info/dates", ["2024-01-01", "2024-01-30"]),
    ],
    "season": [put("info/season", "2023"), put("info/season", "2023/25"),
               put("info/season", "2025/26"), put("info/season", "spring")],
    "event.name": [both(put("info/event/name", "Kites tour of Atlantis"),
                        put("info/team_type", "international"))],
    "teams": [put("info/teams", lambda _, teams: [*teams, "Atlantis"]),
              lambda document: document["info"]["players"].update(Atlantis=["A", "B"])],
    "players.*": [
        squads(lambda home, _: home.append(home[0])),
        lambda document: document["info"]["players"].update(Atlantis=ELEVEN),
        squads(lambda home, away: home.append(away[0])),
        squads(lambda home, _: home.__delitem__(slice(5, None))),
        squads(lambda home, _: home.extend(f"Player {number}" for number in range(9))),
        squads(lambda home, away: home.__setitem__(0, away.pop(0))),
    ],
    "officials.*": [
        put("info/officials/umpires/0", player(0, 0)), put("info/officials/umpires/0", STRANGER),
        put("info/officials/umpires/0", "Eli Stone"), put("info/officials/umpires/0", "Ada Orr"),
        put("info/officials", lambda _, roles: {"umpires": [n for r in roles.values() for n in r]}),
    ],
    "registry.people": [
        lambda document: document["info"]["registry"]["people"].update({STRANGER: "0123abcd"}),
        lambda document: document["info"]["registry"]["people"].pop(squad(document, 0)[0]) and None,
        lambda document: document["info"]["registry"]["people"].update(
            dict.fromkeys(squad(document, 0)[:2], "0123abcd")),
        lambda document: document["info"]["registry"]["people"].update(
            {squad(document, 0)[0]: "x"}),
    ],
    "player_of_match": [put("info/player_of_match", [STRANGER]),
                        put(RESULT, {"result": "no result"}),
                        put("info/player_of_match", lambda document, _: squad(document, 0)[:3])],
    "supersubs.*": [
        lambda document: document["info"]["supersubs"].update(Atlantis=squad(document, 0)[0]),
        put("info/supersubs", lambda document, _: {document["info"]["teams"][0]: STRANGER}),
    ],
    "bowl_out": [put("info/bowl_out", [{"bowler": STRANGER, "outcome": "hit"}])],
    "toss.winner": [put("info/toss/winner", other_team), put("info/toss/winner", "Atlantis"),
                    lambda document: document["info"]["toss"].pop("decision") and None],
    "toss.decision": [put("info/toss/decision", "bat"), put("info/toss/decision", "bowl")],
    "toss.uncontested": [put("info/toss/uncontested", "yes")],
    "outcome.winner": [
        put(f"{RESULT}/winner", other_team), put(f"{RESULT}/winner", "Atlantis"),
        put(RESULT, lambda document, outcome: {"winner": other_team(document, outcome["winner"])}),
        both(cut_short, put(RESULT, lambda _, outcome: outcome | {
            "by": {"wickets": 4}, "method": "D/L"})),
        put(f"{RESULT}/result", "no result"), lambda document: document["innings"].pop() and None,
        lambda document: document["innings"].clear(),
        put(RESULT, lambda document, outcome: outcome | {
            "winner": other_team(document, outcome["winner"]), "method": "D/L"}),
    ],
    "outcome.by.runs": [put(f"{RESULT}/by/runs", 2), put(f"{RESULT}/by/runs", 0),
                        put(f"{RESULT}/method", "Awarded"),
                        put(RESULT, {"by": {"runs": 1}, "result": "tie"})],
    "outcome.by.wickets": [put(f"{RESULT}/by", {"wickets": 4}), put(f"{RESULT}/by/wickets", 4),
                           both(cut_short, put(f"{RESULT}/by", {"wickets": 4}))],
    "outcome.by.innings": [put(f"{RESULT}/by/innings", 1)],
    "outcome.result": [put(RESULT, {"result": result})
                       for result in ("tie", "draw", "no result", "abandoned")],
    "outcome.eliminator": [
        put(RESULT, lambda document, _: {"result": "tie", "eliminator": squad(document, 0)[0]}),
        put(f"{RESULT}/eliminator", team(0)),
    ],
    "outcome.bowl_out": [put(f"{RESULT}/bowl_out", team(0)), put(f"{RESULT}/bowl_out", "Atlantis")],
    "outcome.method": [put(f"{RESULT}/method", "D/L"), put(f"{RESULT}/method", "a coin")],
    "innings.*.target.runs": [
        put("innings/1/target/runs", lambda _, runs: runs + 6),
        put("innings/0/target", {"runs": 9, "overs": 20}),
        both(put("innings/1/target/runs", 30), put(RESULT, lambda document, outcome: {
            "winner": other_team(document, outcome["winner"]), "by": {"wickets": 2},
            "method": "D/L"})),
    ],
    "innings.*.target.overs": [
        *(put("innings/1/target/overs", overs) for overs in (10, 25, "19.3")),
        put("innings/0/target", {"overs": 20}),
    ],
    "innings.*.powerplays": [
        put(f"{POWERPLAY}/type", "silly"), put(f"{POWERPLAY}/from", "6.1"),
        put(f"{POWERPLAY}/from", "0.2"), put(f"{POWERPLAY}/to", "5.12"),
        put(f"{POWERPLAY}/to", "31.6"),
        put(f"{POWERPLAY}/to", "5"), longer_powerplay,
        both(put(f"{POWERPLAY}/from", "3.1"), put(f"{POWERPLAY}/to", "4.6")),
        put("innings/0/powerplays", lambda _, powerplays: powerplays * 2),
    ],
    "innings.*.miscounted_overs": [
        put("innings/0/miscounted_overs", {"3": {"balls": 7}}),
        put("innings/0/miscounted_overs", {"3": {"balls": 6}}),
        put("innings/0/miscounted_overs", {"43": {"balls": 7}}),
        both(put("innings/0/overs/3/deliveries", seven_balls),
             put("innings/0/miscounted_overs", {"3": {"balls": 7, "umpire": STRANGER}})),
    ],
    "innings.*.super_over": [put("innings/1/super_over", True), put("innings/1/super_over", "no")],
    "innings.*.absent_hurt": [
        put("innings/0/absent_hurt", first_batter), put("innings/0/absent_hurt", [STRANGER]),
        both(cut_short, put("innings/1/absent_hurt", last_of_squad)),
    ],
    "innings.*.penalty_runs.pre": [put("innings/0/penalty_runs/pre", 3)],
    "innings.*.penalty_runs.post": [put("innings/0/penalty_runs/post", 3)],
    "innings.*.declared": [put("innings/0/declared", True), put("innings/0/declared", "no")],
    "innings.*.forfeited": [put("innings/0/forfeited", True)],
}  # fmt: skip
"""By the pattern of the statement that is wrong after it."""

TIE_CHANGES: dict[str, list[Change]] = {
    "outcome.eliminator": [put(f"{RESULT}/eliminator", other_team),
                           put(f"{RESULT}/eliminator", "Atlantis"),
                           lambda document: document["innings"].__delitem__(slice(2, None))],
    "outcome.bowl_out": [put(RESULT, lambda document, _: {
        "result": "tie", "bowl_out": document["info"]["teams"][0]})],
    "outcome.result": [put(RESULT, {"result": "tie"}), put(RESULT, {"result": "no result"})],
    "outcome.winner": [
        put(RESULT, lambda document, _: {"winner": document["info"]["teams"][0]}),
        both(lambda document: document["innings"].__delitem__(slice(2, None)),
             put(RESULT, lambda document, _: {"winner": document["info"]["teams"][0]})),
    ],
    "innings.*.super_over": [
        put("innings/0/overs/0/deliveries/0/runs", {"batter": 5, "extras": 0, "total": 5}),
        another_super_over,
    ],
    "innings.*.target.runs": [put("innings/3/target/runs", 3)],
}  # fmt: skip
"""Likewise of a match that a super over decided."""

LONG_CHANGES: dict[str, list[Change]] = {
    "outcome.winner": [put(f"{RESULT}/winner", other_team)],
    "outcome.by.runs": [put(f"{RESULT}/by/runs", 2)],
    "outcome.by.innings": [put(f"{RESULT}/by/innings", 1)],
    "outcome.by.wickets": [put(f"{RESULT}/by", {"wickets": 3})],
    "outcome.result": [put(RESULT, {"result": "tie"})],
    "overs": [put("info/overs", 20)],
    "innings.*.declared": [put("innings/0/declared", "no")],
    "innings.*.forfeited": [put("innings/0/forfeited", True), put("innings/0/forfeited", "no")],
}
"""Likewise of a match in which each side may bat twice."""

TABLE_CHANGES: dict[str, list[tuple[str, str, str]]] = {
    "dates": [("info", "date,", "date,2023/01/04\ninfo,note,"),
              ("table", "2024-01-04", "2023-05-05")],
    "season": [("info", "info,season,2024", "info,season,2024/25"), ("table", ",2024,", ",2023,")],
    "venue": [("info", "info,venue,", "info,venue,New "), ("table", "Ground", "Park")],
    "match_id": [("info", "info,match_id,", "info,match_id,9")],
    "outcome.winner": [("info", "info,winner,", "info,winner,Atlantis\ninfo,winner,")],
    "registry.people": [("info", "info,registry,people,", "info,registry,people,Ann,0123abcd\n"
                         "info,registry,people,Ann,0123abce\ninfo,registry,people,")],
    "innings.*.target.runs": [("info", "info,target_runs,2,", "info,target_runs,2,9"),
                              ("info", "info,target_runs,2,", "info,target_runs,7,")],
    "innings.*.super_over": [("info", "info,team_type", "info,super_over,2\ninfo,team_type")],
    "officials.*": [("info", "info,team_type", "info,umpire,Nobody Known\ninfo,team_type")],
    "player_of_match": [("info", "info,team_type", "info,player_of_match,Nobody\ninfo,team_type")],
}  # fmt: skip
"""By pattern, what is replaced once in the ``_info.csv`` or in the last row of a table."""
