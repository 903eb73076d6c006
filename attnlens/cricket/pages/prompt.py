"""An explanation as a prompt for a language model: instructions, and data it cannot mistake.

Players' names are input. The data is JSON in which no ``<``, ``>`` or ``&`` is left as such, inside
a tag whose name nobody could know beforehand; the instructions stand outside it, before and after.
It is small tables, the most telling rows first, with three decimals; what has no room is counted.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.pages.parts import (
    TURNING,
    focus,
    head_name,
    of,
    short_names,
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
)
from attnlens.show.safe import visible, visible_all, visible_name

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Evidence, Explanation, PastBall

DEFAULT: Final = "cricket/prompt.j2"
"""The template that comes along, in `attnlens.templates`."""

DECIMALS: Final = 3

LATEST: Final = 6
"""Balls just before this one, which are in every prompt, as every supported claim is."""

ROOM: Final = (
    ("claims", 5),
    ("contributions", 4),
    ("flags", 2),
    ("past_balls", 10),
    ("claims", 8),
    ("contributions", 10),
    ("flags", 99),
    ("claims", 99),
    ("past_balls", 99),
)
"""The order in which tables are given rows while there is room, and up to how many."""

ORDER: Final = ("supported", "not better than chance", "cannot be told", None, "contradicted")
"""Verdicts as they are told."""

_SHORTEST_NAME: Final = 8
_LEAST_OF_A_CLAIM: Final = ("claim", "balls", "hidden from", "before", "after", "q", "verdict")
_PEOPLE: Final = ("bowler", "batter", "non_striker")
_LONGEST_NONCE: Final = "0a" * 8
"""No other has more tokens: what is left out does not depend on chance."""


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

    def context(chosen: Json, nonce: str) -> Json:
        tag = f"data-{nonce}"
        return {
            "data": f"<{tag}>\n{inert(chosen, ascii_only=False)}\n</{tag}>",
            "tag": tag,
            "tables": chosen,
            "ball": f"innings {explanation.ball.innings}, delivery {explanation.ball.index}",
            "tested": bool(explanation.evidence),
            "happened": explanation.prediction.actual is not None,
            "asked": explanation.prediction.explained,
        }

    def fits(chosen: Json) -> bool:
        return render_default(DEFAULT, context(chosen, _LONGEST_NONCE)).tokens <= MOST_TOKENS

    chosen = context(fitted(tables_of(explanation), fits), nonce or secrets.token_hex(8))
    return render_default(DEFAULT, chosen) if template is None else render_file(template, chosen)


def _winning(explanation: Explanation) -> Json | None:
    """Its chance before the ball, after what may turn the match, and after what happened."""
    win = explanation.win_probability
    if win is None:
        return None
    after = {outcome: win.after[outcome] for outcome in TURNING}
    return {"before": win.before, "after": after, "happened": win.happened}


def tables_of(explanation: Explanation) -> Json:
    """An explanation as columnar tables with three decimals, names fit to be shown.

    Returns:
        ``ball``, ``match``, ``story``, ``prediction``, ``happened``, ``batting_side_wins``,
        ``contributions``, ``claims``, ``past_balls``, ``flags`` and ``left_out`` (rows by table
        that are not there: none yet).
    """
    ranked = sorted(filter(_told, explanation.evidence), key=_rank)
    tables = {
        "ball": _ball(explanation),
        "match": _match(explanation),
        "story": _story(explanation),
        "prediction": _prediction(explanation),
        "happened": _happened(explanation),
        "batting_side_wins": _winning(explanation),
        "contributions": _contributions(explanation),
        "claims": _claims(explanation, ranked),
        "past_balls": _past_balls(explanation, ranked),
        "flags": [flag.text for flag in explanation.flags],
        "left_out": {},
    }
    shown: Json = rounded_all(visible_all(tables), DECIMALS)
    return shown


def fitted(tables: Json, fits: Callable[[Json], bool]) -> Json:
    """The tables with as many rows as fit, given out in the order of `ROOM`.

    Every supported claim and the last balls stay; ``left_out`` counts the rows that do not. Names
    are cut short, and claims told in fewer columns, only where that is not enough.
    """
    count = {name: len(_rows(tables, name)) for name, _ in ROOM}
    if fits(tables):
        return tables
    claims = tables["claims"]
    verdicts = [row[claims["cols"].index("verdict")] for row in claims["rows"]]
    kept = dict.fromkeys(count, 0) | {
        "claims": verdicts.count("supported"),
        "past_balls": min(LATEST, count["past_balls"]),
    }
    if not fits(_cut(tables, kept)):
        tables, kept["past_balls"] = _shorter(tables), 0  # the ball's `last_six` stays
    for name, most in ROOM:
        while kept[name] < min(most, count[name]):
            more = kept | {name: kept[name] + 1}
            if not fits(_cut(tables, more)):
                break
            kept = more
    return _cut(tables, kept)


def _shorter(tables: Json) -> Json:
    """The tables with short names, and of claims what cannot be left out."""
    claims, balls = tables["claims"], tables["past_balls"]
    places = [claims["cols"].index(name) for name in _LEAST_OF_A_CLAIM]
    rows = [[row[place] for place in places] for row in claims["rows"]]
    short = {name: visible_all(tables[name], _SHORTEST_NAME) for name in ("match", "happened")}
    people = {name: visible(tables["ball"][name], _SHORTEST_NAME) for name in _PEOPLE}
    return {
        **tables,
        **short,
        "ball": tables["ball"] | people,
        "claims": {"cols": list(_LEAST_OF_A_CLAIM), "rows": rows},
        "past_balls": balls | {"rows": visible_all(balls["rows"], _SHORTEST_NAME)},
    }


def _rows(tables: Json, name: str) -> list[Any]:
    table = tables[name]
    rows: list[Any] = table if isinstance(table, list) else table["rows"]
    return rows


def _cut(tables: Json, kept: Mapping[str, int]) -> Json:
    """The tables with so many rows each."""
    left_out: dict[str, int] = {}
    cut = tables | {"left_out": left_out}
    for name, count in kept.items():
        rows = _rows(tables, name)
        cut[name] = rows[:count] if tables[name] is rows else tables[name] | {"rows": rows[:count]}
        if count < len(rows):
            left_out[name] = len(rows) - count
    return cut


def _known(**facts: object) -> Json:
    """What there is to tell."""
    return {name: value for name, value in facts.items() if value is not None}


def _ball(explanation: Explanation) -> Json:
    """The scorebook before the ball; of an explanation without one what its past balls tell."""
    ball, standing = explanation.ball, explanation.ball.standing
    figures: Json = {}
    if standing is None:
        latest = [past.outcome for past in explanation.history if past.index >= ball.index - LATEST]
    else:
        latest = list(standing.latest)
        figures = _known(
            phase=standing.phase,
            batter_so_far=f"{standing.batter_runs} off {standing.batter_balls} balls",
            bowler_so_far=f"{standing.bowler_wickets} for {standing.bowler_runs} in "
            f"{standing.bowler_overs} overs",
            partnership=f"{standing.partnership_runs} off {standing.partnership_balls} balls",
            runs_this_over=standing.over_runs,
            hat_trick_ball=standing.hat_trick or None,
        )
    told = _known(
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
    return {**told, **figures, "last_six": " ".join(latest)}


def _match(explanation: Explanation) -> Json:
    match = explanation.match
    return _known(
        batting=visible_name(match.batting_team),
        bowling=visible_name(match.bowling_team),
        venue=None if match.venue is None else visible_name(match.venue),
        date=match.dates[0] if match.dates else None,
    )


def _story(explanation: Explanation) -> Json:
    """The outcome that it is all about, and how far from usual it is."""
    outcome = focus(explanation)
    chance = of(explanation.prediction.outcomes, outcome)
    return _known(
        outcome=outcome,
        probability=chance.probability,
        usual=chance.usual,
        times_usual=explanation.prediction.story_times,
    )


def _prediction(explanation: Explanation) -> Json:
    """Every outcome beside what is usual; beside the baseline in explanations of old."""
    prediction = explanation.prediction
    told = _known(likeliest=prediction.top, asked_about=prediction.explained)
    beside = "baseline" if prediction.outcomes[0].usual is None else "usual"
    rows = [[one.outcome, one.probability, getattr(one, beside)] for one in prediction.outcomes]
    return {**told, "cols": ["outcome", "probability", beside], "rows": rows}


def _happened(explanation: Explanation) -> Json | None:
    """What the ball brought and who was out; a surprise only where it was not the likeliest."""
    prediction, happened = explanation.prediction, explanation.ball.happened
    if prediction.actual is None:
        return None
    bits = None if prediction.actual == prediction.top else prediction.surprise_bits
    brought = {} if happened is None else happened.model_dump(exclude_none=True)
    return _known(outcome=prediction.actual, **brought, surprise_bits=bits)


def _contributions(explanation: Explanation) -> Json:
    """Points of the story's outcome by group, the most moving first."""
    outcome = focus(explanation)
    start = "usual" if all(one.from_usual for one in explanation.contributions) else "baseline"
    rows = [
        [one.group, of(one.from_usual if start == "usual" else one.points, outcome).points]
        for one in explanation.contributions
    ]
    rows.sort(key=lambda row: -abs(row[1]))
    return {"to_outcome": outcome, "from": start, "cols": ["group", "points"], "rows": rows}


def _rank(claim: Evidence) -> tuple[bool, int, bool, float]:
    """By verdict, of one verdict those of the whole model first, then by what hiding them does."""
    alone = claim.removed_from == "head"
    return claim.reference, ORDER.index(claim.verdict), alone, -abs(claim.effect_nats)


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
                _spans(balls),
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


def _spans(balls: Iterable[PastBall]) -> str:
    """``1.4 2.1-2.6``: labels, balls that follow one another as their first and last."""
    spans: list[list[PastBall]] = []
    for ball in sorted(balls, key=lambda one: one.index):
        if spans and ball.index == spans[-1][-1].index + 1:
            spans[-1][1:] = [ball]
        else:
            spans.append([ball])
    return " ".join("-".join(ball.label for ball in span) for span in spans)


def _what(explanation: Explanation, claim: Evidence) -> str:
    """``medium scale, head 1 (same bowler)``, or the kind of a claim that no head made."""
    if claim.scale is None or claim.head is None:
        return claim.kind
    heads = getattr(explanation.across_balls, claim.scale).attention_by_head
    return f"{claim.scale} scale, {head_name(claim.head, heads[claim.head])}"


def _past_balls(explanation: Explanation, ranked: Sequence[Evidence]) -> Json:
    """The last six, then balls of the claims in their order, then the others by attention."""
    history = {past.index: past for past in explanation.history}
    order = [index for index in sorted(history) if index >= explanation.ball.index - LATEST]
    order += [ball for claim in ranked for ball in claim.removed]
    order += sorted(history, key=lambda index: (-history[index].attention, -index))
    names = short_names(
        visible_name(name) for past in explanation.history for name in (past.bowler, past.batter)
    )
    rows = [
        [past.label, names[visible_name(past.bowler)], names[visible_name(past.batter)],
         past.outcome, past.attention]
        for past in map(history.get, dict.fromkeys(order))
        if past is not None
    ]  # fmt: skip
    return {"cols": ["ball", "bowler", "batter", "outcome", "attention"], "rows": rows}
