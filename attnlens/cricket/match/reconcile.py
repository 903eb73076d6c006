"""What a file states of its match, compared with what its balls and its other statements show.

Every field of every format has a witness (`particulars` and `results`), or stands in `NO_CLAIM`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from attnlens.cricket.match import particulars, results
from attnlens.cricket.match.doubts import RULES
from attnlens.cricket.match.match import AGREES, CONTRADICTS, DERIVED, UNWITNESSED, Doubt, Statement
from attnlens.cricket.match.scan import Case
from attnlens.cricket.match.witness import NOTHING, Verdict, Witness, contradiction
from attnlens.files import Json

WITNESSES: Final[dict[str, Witness]] = {**particulars.WITNESSES, **results.WITNESSES}
"""What can confirm a field, by its pattern."""

# Balls.

BALL_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "batter": ("both-ends", "to-himself", "both-sides", "squad", "gone", "out-again", "ends"),
    "non_striker": ("both-ends", "to-himself", "both-sides", "squad", "gone", "out-again", "ends"),
    "bowler": ("to-himself", "both-sides", "squad", "bowlers", "spell"),
    "label": ("over-numbers", "over-length", "too-long", "labels"),
    "actual_delivery": ("labels",),
    "runs.batter": ("runs",),
    "runs.extras": ("runs",),
    "runs.total": ("runs",),
    "runs.non_boundary": ("runs",),
    "extras": ("runs",),
    "wickets.kind": ("wicket", "free-hit"),
    "wickets.player_out": ("wicket", "out-again"),
    "wickets.fielders": ("fielders",),
    "replacements": ("replacements",),
    "review": ("reviews",),
}
"""Fields of a ball, and the kinds of doubt that contradict them."""

_ADDS_UP = frozenset({"label", "actual_delivery", "runs.extras", "runs.total"})
"""Fields of a ball that the other fields of it and of its over determine."""


def _ball_statements(case: Case, doubts: tuple[Doubt, ...]) -> Iterator[Statement]:
    """One statement a field of a ball for the whole match: on how many balls it is stated."""
    match, kinds = case.match, {doubt.kind for doubt in doubts}
    balls = sum(len(innings.deliveries) for innings in match.innings)
    wickets = [w for scan in case.scans for ball in scan.wicket_balls for w in ball.wickets]
    claims = Counter(key for scan in case.scans for _, key, _ in scan.claims)
    counts = {
        "actual_delivery": case.stated.numbered and balls,
        "runs.non_boundary": sum(b.non_boundary for s in case.scans for b in s.unusual_runs),
        "wickets.kind": len(wickets),
        "wickets.player_out": len(wickets),
        "wickets.fielders": sum(bool(wicket.fielders) for wicket in wickets),
        "replacements": claims["replacements"],
        "review": claims["review"],
    }
    confirmed = bool(case.squads) | bool(case.decided)
    for name, against in BALL_FIELDS.items():
        number = counts.get(name, balls)
        if not number:
            continue
        status = DERIVED if name in _ADDS_UP else AGREES if confirmed else UNWITNESSED
        if not kinds.isdisjoint(against):
            status = CONTRADICTS
        yield Statement(f"deliveries.{name}", number, number if status == DERIVED else None, status)


# All of them.

TWICE: Final = "twice"
"""The kind of doubt where a file states a field in two places, and differently."""

_PARTS = frozenset({"players", "officials", "supersubs"})
"""Objects whose keys are names."""


def _leaves(prefix: str, pattern: str, node: Json) -> Iterator[tuple[str, str, str, Any]]:
    """Fields under a node: name, pattern, the part that stands for ``*`` or ends it, and value."""
    for key, value in node.items():
        if value is None or value == "":
            continue
        if key in _PARTS and isinstance(value, dict):
            for name, member in value.items():
                yield f"{prefix}{key}.{name}", f"{pattern}{key}.*", name, member
        elif f"{pattern}{key}" in WITNESSES or not isinstance(value, dict):
            yield f"{prefix}{key}", f"{pattern}{key}", key, value
        else:
            yield from _leaves(f"{prefix}{key}.", f"{pattern}{key}.", value)


_OF_INNINGS_AND_KEY = frozenset({"declared", "forfeited"})


def _stated_fields(case: Case) -> Iterator[tuple[str, str, str, Any]]:
    stated = case.stated
    yield from _leaves("meta.", "meta.", stated.meta)
    yield from _leaves("", "", stated.info)
    for number, innings in stated.innings.items():
        for name, pattern, key, value in _leaves(f"innings.{number}.", "innings.*.", innings):
            part = f"{number}.{key}" if key in _OF_INNINGS_AND_KEY else str(number)
            yield name, pattern, part, value


def _judge(case: Case, pattern: str, part: str, value: Any) -> Verdict:
    witness = WITNESSES.get(pattern)
    if witness is None:
        return NOTHING
    try:
        return witness.check(case, value, part)
    except StopIteration:
        return contradiction("the file states something of an innings that it does not have")
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        return contradiction(f"{pattern.rpartition('.')[2]} is not written as the format has it")


def reconcile(case: Case) -> tuple[tuple[Doubt, ...], tuple[Statement, ...]]:
    """Every doubt about a match, refusals first, and the status of every field that it states."""
    doubts = [doubt for rule in RULES for doubt in rule.doubts(case)]
    if doubts and doubts[0].refused:
        return tuple(doubts), ()
    in_doubt = {doubt.field for doubt in doubts}
    second = case.stated.second
    statements: list[Statement] = []
    problems: set[tuple[int | None, str]] = set()
    for field, pattern, part, value in _stated_fields(case):
        verdict = _judge(case, pattern, part, value)
        source, other = second.get(field, ("", None))
        if source and verdict.status != CONTRADICTS:
            words = f"{field} is {_words(value)} in the file, and {_words(other)} in {source}"
            same = Verdict(AGREES, verdict.derived)
            verdict = same if value == other else contradiction(words, other)
        if verdict.problem:
            number = int(field.split(".")[1]) if field.startswith("innings.") else None
            if (number, verdict.problem) not in problems:
                problems.add((number, verdict.problem))
                kind = TWICE if source and value != other else WITNESSES[pattern].kind
                doubts.append(Doubt(kind, verdict.problem, number, verdict.over, field=field))
        status = CONTRADICTS if field in in_doubt else verdict.status
        statements.append(Statement(field, value, verdict.derived, status))
    statements += _ball_statements(case, tuple(doubts))
    statements += _unstated(case, {statement.field for statement in statements})
    return tuple(doubts), tuple(statements)


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _unstated(case: Case, fields: set[str]) -> Iterator[Statement]:
    """What the balls show and the file does not state; nothing where rain may have changed it."""
    if not case.method_known:
        return
    no_rain = case.match.outcome.get("method") is None
    if case.has_two_sides and no_rain and "innings.2.target.runs" not in fields:
        yield Statement("innings.2.target.runs", None, case.main[0].total + 1, DERIVED)
    play = case.play
    if play is not None and play.winner and not case.match.outcome:
        yield Statement("outcome.winner", None, play.winner, DERIVED)
        for unit, value in play.by.items():
            yield Statement(f"outcome.by.{unit}", None, value, DERIVED)
