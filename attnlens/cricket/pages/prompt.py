"""Render an explanation as a prompt for a language model, with instructions and tables of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from attnlens.cricket.explain.types import Evidence, Explanation, PastBall
from attnlens.cricket.pages.parts import (
    cautions_of,
    contributions_to,
    head_name,
    of,
    presentable,
    short_names,
)
from attnlens.cricket.words.facts import claims_in_order
from attnlens.cricket.words.narrative import group_note
from attnlens.files import Json
from attnlens.render.numbers import rounded_all
from attnlens.render.prompt_template import (
    MAX_PROMPT_TOKENS,
    Prompt,
    fence,
    new_nonce,
    render,
    token_bound,
)
from attnlens.render.safe import each_text, visible, visible_all

_DEFAULT_TEMPLATE: Final = "cricket/prompt.j2"
_DECIMALS: Final = 3

_SCOREBOARD: Final = {
    *("innings", "index", "label", "batter", "non_striker", "bowler", "score", "wickets", "target"),
    *("balls_left", "runs_required", "required_rate", "free_hit", "super_over"),
}
_SIDES: Final = {"batting_team", "bowling_team", "venue", "event", "dates"}
_FIGURES: Final = {
    *("phase", "batter_runs", "batter_balls", "bowler_overs", "bowler_runs", "bowler_wickets"),
    *("partnership_runs", "hat_trick"),
}

LATEST: Final = 6
"""The number of previous balls that are added to a prompt first."""

MAX_BALL_TOKENS: Final = 1600
_MIN_PROBABILITY, _MIN_POINTS = 0.01, 0.2

_MAX_LABELS: Final = 6
"""A larger set of balls is written as its size and its last ball."""

_ROOM: Final = (
    ("claims", 3),
    ("contributions", 4),
    ("past_balls", 8),
    ("claims", 5),
    ("past_balls", 10),
    ("claims", 8),
    ("contributions", 10),
    ("past_balls", 12),
    ("claims", 99),
    ("past_balls", 99),
)
"""The order in which tables get rows, with the maximum number of rows of the table."""

_MOST_OF_A_NAME: Final = 40
_LONGEST_NONCE: Final = "0a" * 8
"""A nonce with the most tokens, so that the number of rows does not depend on the nonce."""


def prompt_of(
    explanation: Explanation, *, template: str | Path | None = None, nonce: str | None = None
) -> Prompt:
    """Return the prompt for an explanation, with at most about `MAX_BALL_TOKENS` tokens.

    Args:
        template: the path of your own Jinja template; the prompt can then be longer.
        nonce: the random part of the tag around the data; by default, a new nonce.

    Raises:
        InputError: the template cannot be read or rendered. The message says where the error is.
    """

    def context(tables: Json, nonce: str) -> Json:
        return {
            **fence(tables, nonce),
            "tables": tables,
            "ball": f"innings {explanation.ball.innings}, delivery {explanation.ball.index}",
            "tested": bool(explanation.evidence),
            "happened": explanation.prediction.actual is not None,
            "asked": explanation.prediction.explained,
        }

    def tokens(tables: Json) -> int:
        return render(_DEFAULT_TEMPLATE, context(tables, _LONGEST_NONCE)).tokens

    chosen = fitted(
        tables_of(explanation),
        lambda tables: tokens(tables) <= MAX_BALL_TOKENS,
        lambda tables: tokens(tables) <= MAX_PROMPT_TOKENS,
    )
    return render(_DEFAULT_TEMPLATE, context(chosen, nonce or new_nonce()), template)


def tables_of(explanation: Explanation) -> Json:
    """Return an explanation as tables with column names.

    Numbers have three decimals, and long names are shortened.

    Returns:
        A dictionary with the keys ``ball``, ``match``, ``story``, ``sentences`` (the narrative),
        ``prediction``, ``happened``, ``batting_side_wins``, ``contributions``, ``claims``,
        ``past_balls``, ``flags`` and ``left_out`` (empty; see `fitted`).
    """
    explanation = presentable(explanation)
    ranked = _reported(explanation)
    outcome, win = explanation.prediction.subject, explanation.win_probability
    tables = {
        "ball": _ball(explanation),
        "match": explanation.match.model_dump(include=_SIDES, exclude_none=True),
        "story": of(explanation.prediction.outcomes, outcome).model_dump(exclude={"baseline"})
        | {"times_usual": explanation.prediction.story_times},
        "sentences": [sentence.text for sentence in explanation.narrative],
        "prediction": _prediction(explanation),
        "happened": _what_happened(explanation),
        "batting_side_wins": win and {"before": win.before, "happened": win.happened},
        "contributions": _contributions(explanation, outcome),
        "claims": _claims(explanation, ranked),
        "past_balls": _past_balls(explanation, ranked),
        "flags": [text for texts in cautions_of(explanation) for text in texts],
        "left_out": {},
    }
    visible_tables: Json = rounded_all(visible_all(tables), _DECIMALS)
    return visible_tables


def fitted(
    tables: Json, fits: Callable[[Json], bool], is_possible: Callable[[Json], bool] | None = None
) -> Json:
    """Return the tables with as many rows as fit, in the order of `_ROOM`.

    Supported claims and the last balls are included first. If these rows do not fit, texts are
    shortened and the last balls are left out. ``left_out`` counts the missing rows of each table.

    Args:
        fits: whether tables are small enough.
        is_possible: whether tables with only the first rows are small enough; by default, ``fits``.
    """
    count = {name: len(tables[name]["rows"]) for name, _ in _ROOM}
    if fits(tables):
        return tables
    claims = tables["claims"]
    verdicts = [row[claims["cols"].index("verdict")] for row in claims["rows"]]
    counts = dict.fromkeys(count, 0) | {
        "claims": verdicts.count("supported"),
        "past_balls": min(LATEST, count["past_balls"]),
    }
    if not (is_possible or fits)(_cut(tables, counts)):
        # The outcomes of the last balls are not lost: the ball's field `latest` has them.
        tables, counts["past_balls"] = each_text(tables, _cheap), 0
    for name, limit in _ROOM:
        while counts[name] < min(limit, count[name]):
            more = counts | {name: counts[name] + 1}
            if not fits(_cut(tables, more)):
                break
            counts = more
    return _cut(tables, counts)


def _cheap(text: str) -> str:
    has_costly_signs = not text.isascii() and token_bound(text) > _MOST_OF_A_NAME
    return visible(text, _MOST_OF_A_NAME // 4) if has_costly_signs else text


def _cut(tables: Json, counts: Mapping[str, int]) -> Json:
    left_out: dict[str, int] = {}
    cut = tables | {"left_out": left_out}
    for name, count in counts.items():
        rows = tables[name]["rows"]
        cut[name] = tables[name] | {"rows": rows[:count]}
        if count < len(rows):
            left_out[name] = len(rows) - count
    return cut


def _ball(explanation: Explanation) -> Json:
    ball = explanation.ball
    figures = ball.standing.model_dump(include=_FIGURES)
    figures["latest"] = " ".join(ball.standing.latest)
    fields = ball.model_dump(include=_SCOREBOARD) | figures
    return {name: fact for name, fact in fields.items() if fact is not None and fact is not False}


def _prediction(explanation: Explanation) -> Json:
    prediction = explanation.prediction
    rows = [
        [entry.outcome, entry.probability, entry.usual]
        for entry in prediction.outcomes
        if max(entry.probability, entry.usual) >= _MIN_PROBABILITY
    ]
    return {"cols": ["outcome", "probability", "usual"], "rows": rows}


def _what_happened(explanation: Explanation) -> Json | None:
    prediction, result = explanation.prediction, explanation.ball.happened
    if prediction.actual is None:
        return None
    brought = {} if result is None else result.model_dump(exclude_defaults=True)
    row = {"outcome": prediction.actual, **brought}
    if prediction.actual == prediction.top:
        return row
    return row | {"surprise_bits": prediction.surprise_bits}


def _contributions(explanation: Explanation, outcome: str) -> Json:
    rows = [
        [_with_record(explanation, group), points]
        for group, _, points in contributions_to(explanation, outcome)
        if abs(points) >= _MIN_POINTS
    ]
    return {"cols": ["group", "points"], "rows": rows}


def _with_record(explanation: Explanation, group: str) -> str:
    """Return text such as ``striker's record (a six on 8.9% of 812 balls to 2025-10-31)``."""
    note = group_note(explanation, group)
    return group if note is None else f"{group} ({note})"


def _reported(explanation: Explanation) -> list[Evidence]:
    """Return one claim for each set of balls. Claims about heads must be supported."""
    reported: dict[tuple[str, ...] | frozenset[int], Evidence] = {}
    for index in claims_in_order(explanation):
        claim = explanation.evidence[index]
        of_head = claim.removed_from == "head"
        if claim.verdict == "supported" if of_head else claim.removed or claim.q is not None:
            key = (claim.kind, claim.head or "") if of_head else frozenset(claim.removed)
            reported.setdefault(key or (claim.kind,), claim)
    return list(reported.values())


def _claims(explanation: Explanation, ranked: Sequence[Evidence]) -> Json:
    past_balls = {past.index: past for past in explanation.past_balls}
    rows = []
    for claim in ranked:
        change, controls = claim.top_change, claim.controls
        balls = [past_balls[ball] for ball in claim.removed]
        rows.append(
            [
                _claim_name(explanation, claim),
                _spans(balls)
                if len(balls) <= _MAX_LABELS
                else f"{len(balls)} to {balls[-1].label}",
                change.outcome,
                change.before,
                change.after,
                None if controls is None else controls.median,
                "for comparison" if claim.reference else claim.verdict or "not tested",
            ]
        )
    cols = ["claim", "balls", "outcome", "before", "after", "others", "verdict"]
    return {"cols": cols, "rows": rows}


def _spans(balls: Iterable[PastBall]) -> str:
    """Return labels such as ``1.4 2.1-2.6``."""
    spans: list[list[PastBall]] = []
    for ball in sorted(balls, key=lambda ball: ball.index):
        if spans and ball.index == spans[-1][-1].index + 1:
            spans[-1][1:] = [ball]
        else:
            spans.append([ball])
    return " ".join("-".join(ball.label for ball in span) for span in spans)


def _claim_name(explanation: Explanation, claim: Evidence) -> str:
    """Return a name such as ``medium scale, head 1 (same bowler)``, or the kind of claim."""
    if claim.scale is None or claim.head is None:
        return claim.kind
    heads = getattr(explanation.across_balls, claim.scale).attention_by_head
    return f"{claim.scale} scale, {head_name(claim.head, heads[claim.head])}"


def _past_balls(explanation: Explanation, ranked: Sequence[Evidence]) -> Json:
    past_balls = {past.index: past for past in explanation.past_balls}
    order = [index for index in sorted(past_balls) if index >= explanation.ball.index - LATEST]
    order += [ball for claim in ranked for ball in claim.removed]
    order += sorted(past_balls, key=lambda index: (-past_balls[index].attention, -index))
    past = past_balls.values()
    names = short_names(name for ball in past for name in (ball.bowler, ball.batter))
    rows = [
        [
            *(past.label, names[past.bowler], names[past.batter], past.outcome),
            *(past.attention, past.effect_points),
        ]
        for past in map(past_balls.get, dict.fromkeys(order))
        if past is not None
    ]
    cols = ["ball", "bowler", "batter", "outcome", "attention", "effect"]
    return {"cols": cols, "rows": rows}
