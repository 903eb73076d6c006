"""What a language model is told of an explanation: small tables, the most telling rows first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from attnlens.explanation.heatmap import UNNAMED
from attnlens.explanation.visible import visible_all, visible_name

DECIMALS: Final = 3

Tables = dict[str, Any]

CUTS: Final = (
    ("past_balls", 8),
    ("claims", 8),
    ("attention", 2),
    ("past_balls", 4),
    ("claims", 5),
    ("attention", 0),
    ("contributions", 6),
    ("flags", 4),
    ("claims", 3),
    ("past_balls", 0),
    ("flags", 2),
    ("contributions", 3),
    ("claims", 1),
    ("such_calls", 0),
    ("flags", 0),
)
"""The order in which rows are left out where a prompt would be too long, and how many stay."""

MOST: Final = {"past_balls": 14, "claims": 12, "attention": 4}
"""Rows that a table starts with; the others are left out of every prompt."""

_VERDICTS: Final = ("supported", "contradicted", "not better than chance", None)
_SHORTEST_NAME: Final = 12


def tables_of(data: Mapping[str, Any]) -> Tables:
    """An explanation as columnar tables with three decimals, names fit to be shown.

    Args:
        data: an explanation as plain data.

    Returns:
        ``ball``, ``match``, ``prediction``, ``such_calls`` (where the checkpoint knows how often
        they came true), ``contributions``, ``claims``, ``past_balls``, ``attention``, ``weights``,
        ``flags`` and ``left_out`` (rows by table that are not there).
    """
    ranked = claims_in_order(data)
    moved = data["prediction"]["explained"] or _most_moved(data)
    tables = {
        "ball": _ball(data),
        "match": _match(data),
        "prediction": _prediction(data),
        "such_calls": _such_calls(data, moved),
        "contributions": _contributions(data, moved),
        "claims": _claims(data, ranked),
        "past_balls": _past_balls(data, ranked),
        "attention": _attention(data),
        "weights": {name: _round(value) for name, value in data["fusion_weights"].items()},
        "flags": [flag["text"] for flag in data["flags"]],
        "left_out": {},
    }
    shown: Tables = visible_all(tables)
    if not _rows(shown, "such_calls"):
        del shown["such_calls"]
    for name, most in MOST.items():
        _keep(shown, name, most)
    return shown


def fitted(tables: Tables, fits: Callable[[Tables], bool]) -> Tables:
    """The tables with as few rows left out as it takes to fit, in the order of `CUTS`.

    What is left out is counted in ``left_out``. Names are cut short only where that is not enough.
    """
    kept: Tables = json.loads(json.dumps(tables))
    for name, least in CUTS:
        while name in kept and not fits(kept):
            count = len(_rows(kept, name))
            if count <= least:
                break
            _keep(kept, name, count - 1)
    if fits(kept):
        return kept
    for name in ("ball", "match"):
        kept[name] = visible_all(kept[name], _SHORTEST_NAME)
    kept["past_balls"]["rows"] = visible_all(kept["past_balls"]["rows"], _SHORTEST_NAME)
    return kept


def claims_in_order(data: Mapping[str, Any]) -> list[int]:
    """Places in ``evidence``, the most telling first.

    What was hidden from the whole model goes before what one head lost, and in each the
    supported claims before the contradicted, before the others, before those without a verdict;
    of equals the larger effect goes first.
    """
    evidence = data["evidence"]

    def rank(at: int) -> tuple[bool, int, float]:
        claim = evidence[at]
        told = _VERDICTS.index(claim["verdict"])
        return claim["removed_from"] == "head", told, -abs(claim["effect_nats"])

    # Claims that are only a picture tell less than what one head lost.
    tested = [at for at, claim in enumerate(evidence) if claim["verdict"] is not None]
    pictures = [at for at, claim in enumerate(evidence) if claim["verdict"] is None]
    return sorted(tested, key=rank) + sorted(pictures, key=rank)


def _rows(tables: Tables, name: str) -> list[Any]:
    table = tables[name]
    rows: list[Any] = table if isinstance(table, list) else table["rows"]
    return rows


def _keep(tables: Tables, name: str, count: int) -> None:
    rows = _rows(tables, name)
    lost = len(rows) - count
    if lost > 0:
        del rows[count:]
        tables["left_out"][name] = tables["left_out"].get(name, 0) + lost


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def _most_moved(data: Mapping[str, Any]) -> str:
    entries = data["prediction"]["outcomes"]
    moved = max(entries, key=lambda entry: abs(entry["probability"] - entry["baseline"]))
    outcome: str = moved["outcome"]
    return outcome


def _ball(data: Mapping[str, Any]) -> dict[str, Any]:
    ball = data["ball"]
    told = {
        "innings": ball["innings"],
        "delivery": ball["index"],
        "label": ball["label"],
        "bowler": visible_name(ball["bowler"]),
        "batter": visible_name(ball["batter"]),
        "non_striker": visible_name(ball["non_striker"]),
        "score": f"{ball['score']}/{ball['wickets']}",
        "target": ball["target"],
        "runs_required": ball["runs_required"],
        "balls_left": ball["balls_left"],
        "run_rate": _round(ball["run_rate"]),
        "required_rate": _round(ball["required_rate"]),
        "super_over": ball["super_over"] or None,
        "free_hit": ball["free_hit"] or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _match(data: Mapping[str, Any]) -> dict[str, Any]:
    match = data["match"]
    told = {
        "batting": visible_name(match["batting_team"]),
        "bowling": visible_name(match["bowling_team"]),
        "venue": None if match["venue"] is None else visible_name(match["venue"]),
        "date": match["dates"][0] if match["dates"] else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _prediction(data: Mapping[str, Any]) -> dict[str, Any]:
    prediction = data["prediction"]
    told: dict[str, Any] = {"likeliest": prediction["top"]}
    if prediction["explained"] is not None:
        told["asked_about"] = prediction["explained"]
    if prediction["actual"] is not None:
        told["happened"] = prediction["actual"]
        told["surprise_bits"] = _round(prediction["surprise_bits"])
    told["cols"] = ["outcome", "probability", "baseline"]
    told["rows"] = [
        [entry["outcome"], _round(entry["probability"]), _round(entry["baseline"])]
        for entry in prediction["outcomes"]
    ]
    return told


def _such_calls(data: Mapping[str, Any], moved: str) -> dict[str, Any]:
    """How often calls like the likeliest outcome's, and the one that stands out, came true."""
    calibration = data["prediction"].get("calibration")
    told = dict.fromkeys((data["prediction"]["top"], moved))
    rows = []
    for entry in calibration["outcomes"] if calibration else ():
        if entry["outcome"] in told:
            shares = _round(entry["predicted"]), _round(entry["happened"])
            rows.append([entry["outcome"], *shares, entry["balls"]])
    return {"cols": ["outcome", "mean probability", "came true", "balls"], "rows": rows}


def _contributions(data: Mapping[str, Any], outcome: str) -> dict[str, Any]:
    rows = []
    for group in data["contributions"]:
        points = next(one["points"] for one in group["points"] if one["outcome"] == outcome)
        rows.append([group["group"], _round(points)])
    rows.sort(key=lambda row: -abs(row[1]))
    return {"to_outcome": outcome, "cols": ["group", "points"], "rows": rows}


def _claims(data: Mapping[str, Any], ranked: list[int]) -> dict[str, Any]:
    history = {row["index"]: row for row in data["history"]}
    rows = []
    for at in ranked:
        claim = data["evidence"][at]
        change = claim["top_change"]
        balls = [history[ball] for ball in claim["removed"]]
        rows.append(
            [
                _what(data, claim),
                [ball["label"] for ball in balls],
                sum(ball["boundary"] for ball in balls),
                sum(ball["wicket"] for ball in balls),
                claim["removed_from"],
                change["outcome"],
                _round(change["before"]),
                _round(change["after"]),
                _round(claim["q"]),
                claim["verdict"],
                claim["reason"],
            ]
        )
    balls_cols = ["looked at", "balls", "boundaries", "wickets", "hidden from"]
    cols = [*balls_cols, "outcome", "before", "after", "q", "verdict", "reason"]
    return {"cols": cols, "rows": rows}


def _what(data: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    """``medium same-bowler head``, or the kind of a claim that no head made."""
    if claim["kind"] != "head" or claim["scale"] is None or claim["head"] is None:
        return str(claim["kind"])
    heads = data["across_balls"][claim["scale"]]["attention_by_head"]
    head = heads.get(claim["head"])
    pattern = UNNAMED if head is None else head["pattern"]
    if pattern == UNNAMED:
        return f"{claim['scale']} head {claim['head'].split('_')[1]}"
    return f"{claim['scale']} {pattern.replace('_', '-')} head"


def _past_balls(data: Mapping[str, Any], ranked: list[int]) -> dict[str, Any]:
    """Balls of the claims in their order, then the others by attention."""
    history = {row["index"]: row for row in data["history"]}
    order = [ball for at in ranked for ball in data["evidence"][at]["removed"]]
    order += sorted(history, key=lambda index: (-history[index]["attention"], -index))
    rows = []
    for index in dict.fromkeys(order):
        row = history.get(index)
        if row is not None:
            players = [visible_name(row["bowler"]), visible_name(row["batter"])]
            rows.append([row["label"], *players, row["outcome"], _round(row["attention"])])
    return {"cols": ["ball", "bowler", "batter", "outcome", "attention"], "rows": rows}


def _attention(data: Mapping[str, Any]) -> dict[str, Any]:
    shares = sorted(data["across_balls"]["medium"]["shares"], key=lambda share: -share["share"])
    return {
        "scale": "medium",
        "cols": ["past balls", "share", "even attention"],
        "rows": [
            [share["relation"].replace("_", " "), _round(share["share"]), _round(share["uniform"])]
            for share in shares
        ],
    }
