"""What a language model is told of an explanation: small tables, the most telling rows first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.model.heads import UNNAMED
from attnlens.cricket.pages.parts import focus, moves
from attnlens.show.safe import visible_all, visible_name

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Evidence, Explanation
    from attnlens.show.prompt_template import Json

DECIMALS: Final = 3

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


def tables_of(explanation: Explanation) -> Json:
    """An explanation as columnar tables with three decimals, names fit to be shown.

    Returns:
        ``ball``, ``match``, ``prediction``, ``such_calls`` (where the checkpoint knows how often
        they came true), ``contributions``, ``claims``, ``past_balls``, ``attention``, ``weights``,
        ``flags`` and ``left_out`` (rows by table that are not there).
    """
    ranked = claims_in_order(explanation)
    moved = focus(explanation)
    groups = [[group, _round(points)] for group, _, points in moves(explanation, moved)]
    tables = {
        "ball": _ball(explanation),
        "match": _match(explanation),
        "prediction": _prediction(explanation),
        "such_calls": _such_calls(explanation, moved),
        "contributions": {"to_outcome": moved, "cols": ["group", "points"], "rows": groups},
        "claims": _claims(explanation, ranked),
        "past_balls": _past_balls(explanation, ranked),
        "attention": _attention(explanation),
        "weights": {name: _round(value) for name, value in explanation.fusion_weights},
        "flags": [flag.text for flag in explanation.flags],
        "left_out": {},
    }
    shown: Json = visible_all(tables)
    if not _rows(shown, "such_calls"):
        del shown["such_calls"]
    for name, most in MOST.items():
        _keep(shown, name, most)
    return shown


def fitted(tables: Json, fits: Callable[[Json], bool]) -> Json:
    """The tables with as few rows left out as it takes to fit, in the order of `CUTS`.

    What is left out is counted in ``left_out``. Names are cut short only where that is not enough.
    """
    kept: Json = json.loads(json.dumps(tables))
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


def claims_in_order(explanation: Explanation) -> list[Evidence]:
    """The claims, the most telling first.

    What was hidden from the whole model goes before what one head lost, and in each the
    supported claims before the contradicted, before the others, before those without a verdict;
    of equals the larger effect goes first. Claims that are only a picture come last of all: they
    tell less than what one head lost.
    """

    def rank(claim: Evidence) -> tuple[bool, bool, int, float]:
        place = _VERDICTS.index(claim.verdict)
        untested = claim.verdict is None
        return untested, claim.removed_from == "head", place, -abs(claim.effect_nats)

    return sorted(explanation.evidence, key=rank)


def _rows(tables: Json, name: str) -> list[Any]:
    table = tables[name]
    rows: list[Any] = table if isinstance(table, list) else table["rows"]
    return rows


def _keep(tables: Json, name: str, count: int) -> None:
    rows = _rows(tables, name)
    lost = len(rows) - count
    if lost > 0:
        del rows[count:]
        tables["left_out"][name] = tables["left_out"].get(name, 0) + lost


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def _known(facts: Json) -> Json:
    """What there is to tell."""
    return {name: value for name, value in facts.items() if value is not None}


def _ball(explanation: Explanation) -> Json:
    ball = explanation.ball
    return _known(
        {
            "innings": ball.innings,
            "delivery": ball.index,
            "label": ball.label,
            "bowler": visible_name(ball.bowler),
            "batter": visible_name(ball.batter),
            "non_striker": visible_name(ball.non_striker),
            "score": f"{ball.score}/{ball.wickets}",
            "target": ball.target,
            "runs_required": ball.runs_required,
            "balls_left": ball.balls_left,
            "run_rate": _round(ball.run_rate),
            "required_rate": _round(ball.required_rate),
            "super_over": ball.super_over or None,
            "free_hit": ball.free_hit or None,
        }
    )


def _match(explanation: Explanation) -> Json:
    match = explanation.match
    return _known(
        {
            "batting": visible_name(match.batting_team),
            "bowling": visible_name(match.bowling_team),
            "venue": None if match.venue is None else visible_name(match.venue),
            "date": match.dates[0] if match.dates else None,
        }
    )


def _prediction(explanation: Explanation) -> Json:
    prediction = explanation.prediction
    told: Json = {"likeliest": prediction.top}
    if prediction.explained is not None:
        told["asked_about"] = prediction.explained
    if prediction.actual is not None:
        told["happened"] = prediction.actual
        told["surprise_bits"] = _round(prediction.surprise_bits)
    told["cols"] = ["outcome", "probability", "baseline"]
    told["rows"] = [
        [entry.outcome, _round(entry.probability), _round(entry.baseline)]
        for entry in prediction.outcomes
    ]
    return told


def _such_calls(explanation: Explanation, moved: str) -> Json:
    """How often calls like the likeliest outcome's, and the one that stands out, came true."""
    calibration = explanation.prediction.calibration
    rows = [
        [entry.outcome, _round(entry.predicted), _round(entry.happened), entry.balls]
        for entry in (calibration.outcomes if calibration else ())
        if entry.outcome in (explanation.prediction.top, moved)
    ]
    return {"cols": ["outcome", "mean probability", "came true", "balls"], "rows": rows}


def _claims(explanation: Explanation, ranked: Sequence[Evidence]) -> Json:
    history = {past.index: past for past in explanation.history}
    rows = []
    for claim in ranked:
        change = claim.top_change
        balls = [history[ball] for ball in claim.removed]
        rows.append(
            [
                _what(explanation, claim),
                [ball.label for ball in balls],
                sum(ball.boundary for ball in balls),
                sum(ball.wicket for ball in balls),
                claim.removed_from,
                change.outcome,
                _round(change.before),
                _round(change.after),
                _round(claim.q),
                claim.verdict,
                claim.reason,
            ]
        )
    balls_cols = ["looked at", "balls", "boundaries", "wickets", "hidden from"]
    cols = [*balls_cols, "outcome", "before", "after", "q", "verdict", "reason"]
    return {"cols": cols, "rows": rows}


def _what(explanation: Explanation, claim: Evidence) -> str:
    """``medium same-bowler head``, or the kind of a claim that no head made."""
    if claim.kind != "head" or claim.scale is None or claim.head is None:
        return claim.kind
    heads = getattr(explanation.across_balls, claim.scale).attention_by_head
    pattern = UNNAMED if claim.head not in heads else heads[claim.head].pattern
    if pattern == UNNAMED:
        return f"{claim.scale} head {claim.head.split('_')[1]}"
    return f"{claim.scale} {pattern.replace('_', '-')} head"


def _past_balls(explanation: Explanation, ranked: Sequence[Evidence]) -> Json:
    """Balls of the claims in their order, then the others by attention."""
    history = {past.index: past for past in explanation.history}
    order = [ball for claim in ranked for ball in claim.removed]
    order += sorted(history, key=lambda index: (-history[index].attention, -index))
    rows = []
    for index in dict.fromkeys(order):
        past = history.get(index)
        if past is not None:
            players = [visible_name(past.bowler), visible_name(past.batter)]
            rows.append([past.label, *players, past.outcome, _round(past.attention)])
    return {"cols": ["ball", "bowler", "batter", "outcome", "attention"], "rows": rows}


def _attention(explanation: Explanation) -> Json:
    shares = sorted(explanation.across_balls.medium.shares, key=lambda share: -share.share)
    return {
        "scale": "medium",
        "cols": ["past balls", "share", "even attention"],
        "rows": [
            [share.relation.replace("_", " "), _round(share.share), _round(share.uniform)]
            for share in shares
        ],
    }
