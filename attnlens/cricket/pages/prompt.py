"""An explanation as a prompt for a language model: instructions, and data it cannot mistake.

Players' names are input. The data is JSON in which no ``<``, ``>`` or ``&`` is left as such, inside
a tag whose name nobody could know beforehand; the instructions stand outside it, before and after.
It is small tables, the most telling rows first, with three decimals.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.pages.parts import (
    TURNING,
    claims_in_order,
    focus,
    head_name,
    moves,
    verdict_of,
)
from attnlens.files import Json
from attnlens.show.numbers import rounded_all
from attnlens.show.page import inert
from attnlens.show.prompt_template import (
    MOST_TOKENS,
    Prompt,
    render_default,
    render_file,
    token_bound,
)
from attnlens.show.safe import visible_all, visible_name

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Evidence, Explanation

DEFAULT: Final = "cricket/prompt.j2"
"""The template that comes along, in `attnlens.templates`."""

DECIMALS: Final = 3

MOST: Final = {"past_balls": 14, "claims": 12}
"""Rows that a table starts with; the others are left out of every prompt."""

CUTS: Final = (
    ("past_balls", 8),
    ("claims", 8),
    ("past_balls", 4),
    ("claims", 5),
    ("contributions", 6),
    ("flags", 2),
    ("claims", 1),
    ("past_balls", 0),
    ("contributions", 3),
    ("flags", 0),
)
"""The order in which rows are left out where a prompt would be too long, and how many stay."""

_SHORTEST_NAME: Final = 12


def prompt_of(
    explanation: Explanation, *, template: str | Path | None = None, nonce: str | None = None
) -> Prompt:
    """The prompt for an explanation; at most `MOST_TOKENS` with the template that comes along.

    Args:
        template: a Jinja file in place of the one that comes along.
        nonce: the part of the fence's name that is random otherwise.

    Raises:
        InputError: the template cannot be read or rendered; one line says where.
    """
    tag = f"data-{nonce or secrets.token_hex(8)}"
    tables = tables_of(explanation)

    def made(chosen: Json) -> Prompt:
        context = {
            "data": _fenced(chosen, tag),
            "tag": tag,
            "tables": chosen,
            "ball": f"innings {explanation.ball.innings}, delivery {explanation.ball.index}",
            "tested": bool(explanation.evidence),
            "happened": explanation.prediction.actual is not None,
            "asked": explanation.prediction.explained,
        }
        if template is None:
            return render_default(DEFAULT, context)
        return render_file(template, context)

    whole = made(tables)
    if whole.tokens <= MOST_TOKENS:
        return whole
    # The words do not change with the data, so its length alone decides.
    words = len(whole.text) + 1 - len(_fenced(tables, tag))
    return made(
        fitted(tables, lambda cut: token_bound(words + len(_fenced(cut, tag))) <= MOST_TOKENS)
    )


def _winning(explanation: Explanation) -> Json | None:
    """Its chance before the ball, after what may turn the match, and after what happened."""
    win = explanation.win_probability
    if win is None:
        return None
    after = {outcome: win.after[outcome] for outcome in TURNING}
    return {"before": win.before, "after": after, "happened": win.happened}


def _fenced(tables: Json, tag: str) -> str:
    return f"<{tag}>\n{inert(tables, ascii_only=False)}\n</{tag}>"


def tables_of(explanation: Explanation) -> Json:
    """An explanation as columnar tables with three decimals, names fit to be shown.

    Returns:
        ``ball``, ``match``, ``prediction``, ``batting_side_wins``, ``contributions``, ``claims``,
        ``past_balls``, ``weights``, ``flags`` and ``left_out`` (rows by table that are not there).
    """
    ranked = list(filter(_told, claims_in_order(explanation)))
    moved = focus(explanation)
    groups = [[group, points] for group, _, points in moves(explanation, moved)]
    tables = {
        "ball": _ball(explanation),
        "match": _match(explanation),
        "prediction": _prediction(explanation),
        "batting_side_wins": _winning(explanation),
        "contributions": {"to_outcome": moved, "cols": ["group", "points"], "rows": groups},
        "claims": _claims(explanation, ranked),
        "past_balls": _past_balls(explanation, ranked),
        "weights": dict(explanation.fusion_weights),
        "flags": [flag.text for flag in explanation.flags],
        "left_out": {},
    }
    shown: Json = rounded_all(visible_all(tables), DECIMALS)
    for name, most in MOST.items():
        _keep(shown, name, most)
    return shown


def fitted(tables: Json, fits: Callable[[Json], bool]) -> Json:
    """The tables with as few rows left out as it takes to fit, in the order of `CUTS`.

    What is left out is counted in ``left_out``. Names are cut short only where that is not enough.
    """
    kept: Json = copy.deepcopy(tables)
    for name, least in CUTS:
        while len(_rows(kept, name)) > least and not fits(kept):
            _keep(kept, name, len(_rows(kept, name)) - 1)
    if not fits(kept):
        for name in ("ball", "match", "past_balls"):
            kept[name] = visible_all(kept[name], _SHORTEST_NAME)
    return kept


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


def _known(**facts: object) -> Json:
    """What there is to tell."""
    return {name: value for name, value in facts.items() if value is not None}


def _ball(explanation: Explanation) -> Json:
    ball = explanation.ball
    return _known(
        innings=ball.innings,
        delivery=ball.index,
        label=ball.label,
        bowler=visible_name(ball.bowler),
        batter=visible_name(ball.batter),
        non_striker=visible_name(ball.non_striker),
        score=f"{ball.score}/{ball.wickets}",
        target=ball.target,
        runs_required=ball.runs_required,
        balls_left=ball.balls_left,
        run_rate=ball.run_rate,
        required_rate=ball.required_rate,
        super_over=ball.super_over or None,
        free_hit=ball.free_hit or None,
    )


def _match(explanation: Explanation) -> Json:
    match = explanation.match
    return _known(
        batting=visible_name(match.batting_team),
        bowling=visible_name(match.bowling_team),
        venue=None if match.venue is None else visible_name(match.venue),
        date=match.dates[0] if match.dates else None,
    )


def _prediction(explanation: Explanation) -> Json:
    prediction = explanation.prediction
    told = _known(
        likeliest=prediction.top,
        asked_about=prediction.explained,
        happened=prediction.actual,
        surprise_bits=prediction.surprise_bits,
    )
    rows = [[one.outcome, one.probability, one.baseline] for one in prediction.outcomes]
    return {**told, "cols": ["outcome", "probability", "baseline"], "rows": rows}


def _told(claim: Evidence) -> bool:
    """Whether a claim is worth telling: of heads and of what was known, only what was tested."""
    if claim.removed_from == "head":
        return claim.verdict == "supported"
    return bool(claim.removed) or claim.q is not None


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
                claim.share,
                change.outcome,
                change.before,
                change.after,
                None if claim.reference else claim.q,
                verdict_of(claim)[1],
                None if claim.reference else claim.reason,
            ]
        )
    balls_cols = ["claim", "balls", "boundaries", "wickets", "hidden from", "share"]
    cols = [*balls_cols, "outcome", "before", "after", "q", "verdict", "reason"]
    return {"cols": cols, "rows": rows}


def _what(explanation: Explanation, claim: Evidence) -> str:
    """``medium scale, head 1 (same bowler)``, or the kind of a claim that no head made."""
    if claim.scale is None or claim.head is None:
        return claim.kind
    heads = getattr(explanation.across_balls, claim.scale).attention_by_head
    return f"{claim.scale} scale, {head_name(claim.head, heads[claim.head])}"


def _past_balls(explanation: Explanation, ranked: Sequence[Evidence]) -> Json:
    """Balls of the claims in their order, then the others by attention."""
    history = {past.index: past for past in explanation.history}
    order = [ball for claim in ranked for ball in claim.removed]
    order += sorted(history, key=lambda index: (-history[index].attention, -index))
    rows = [
        [past.label, visible_name(past.bowler), visible_name(past.batter), past.outcome,
         past.attention]
        for past in map(history.get, dict.fromkeys(order))
        if past is not None
    ]  # fmt: skip
    return {"cols": ["ball", "bowler", "batter", "outcome", "attention"], "rows": rows}
