"""What a file states of its match, compared with what its balls and its other statements show.

Every field of every format has a witness (`particulars` and `results`), or stands in `NO_CLAIM`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from attnlens.cricket.match import particulars, results
from attnlens.cricket.match.doubts import doubts_of
from attnlens.cricket.match.match import (
    AGREES,
    CONTRADICTS,
    DERIVED,
    UNWITNESSED,
    Doubt,
    StatedField,
)
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

_BALL_NAMES = {name: f"deliveries.{name}" for name in BALL_FIELDS}

_ADDS_UP = frozenset({"label", "actual_delivery", "runs.extras", "runs.total"})
"""Fields of a ball that the other fields of it and of its over determine."""


def _ball_statements(case: Case, kinds: set[str]) -> Iterator[StatedField]:
    """One statement a field of a ball for the whole match: on how many balls it is stated.

    Args:
        kinds: of every doubt.
    """
    balls = sum([len(innings.deliveries) for innings in case.match.innings])
    wickets = fielders = all_run = 0
    for scan in case.scans:
        for ball in scan.wicket_balls:
            wickets += len(ball.wickets)
            fielders += bool(ball.wickets[0].fielders)
        all_run += sum([ball.non_boundary for ball in scan.unusual_runs])
    counts = dict.fromkeys(BALL_FIELDS, balls) | {
        "actual_delivery": balls if case.stated.numbered else 0,
        "runs.non_boundary": all_run,
        "wickets.kind": wickets,
        "wickets.player_out": wickets,
        "wickets.fielders": fielders,
        "replacements": case.claims("replacements"),
        "review": case.claims("review"),
    }
    confirmed = AGREES if case.squads or case.decided else UNWITNESSED
    for name, against in BALL_FIELDS.items():
        number = counts[name]
        if number:
            status, derived = (DERIVED, number) if name in _ADDS_UP else (confirmed, None)
            if kinds and not kinds.isdisjoint(against):
                status = CONTRADICTS
            yield StatedField(_BALL_NAMES[name], number, derived, status)


# All of them.

_statement: Callable[[tuple[str, Any, Any, str]], StatedField] = partial(tuple.__new__, StatedField)
"""A statement of its fields in order, made in half the time."""

TWICE: Final = "twice"
"""The kind of doubt where a file states a field in two places, and differently."""

_PARTS = frozenset({"players", "officials", "supersubs"})
"""Objects whose keys are names."""


_Field = tuple[str, str, str, Any]
"""A field's name, its pattern, the part that stands for ``*`` or ends it, and its value."""


def _add_leaves(fields: list[_Field], prefix: str, pattern: str, part: str, node: Json) -> None:
    """Add the fields under a node.

    Args:
        part: an innings' number; empty where the field's own key is the part.
    """
    for key, value in node.items():
        if value is None or value == "":
            continue
        at = pattern + key
        if at in WITNESSES or not isinstance(value, dict):
            fields.append((prefix + key, at, part or key, value))
        elif key in _PARTS:
            at += ".*"
            fields += [(f"{prefix}{key}.{name}", at, name, each) for name, each in value.items()]
        else:
            _add_leaves(fields, f"{prefix}{key}.", f"{at}.", part, value)


def _stated_fields(case: Case) -> list[_Field]:
    stated, fields = case.stated, list[_Field]()
    _add_leaves(fields, "meta.", "meta.", "", stated.meta)
    _add_leaves(fields, "", "", "", stated.info)
    for number, innings in stated.innings.items():
        _add_leaves(fields, f"innings.{number}.", "innings.*.", str(number), innings)
    return fields


def _judge(case: Case, pattern: str, part: str, value: Any) -> tuple[str, Verdict]:
    """The kind of doubt and the verdict."""
    witness = WITNESSES.get(pattern)
    if witness is None:
        return "", NOTHING
    kind, _, check = witness
    try:
        return kind, check(case, value, part)
    except StopIteration:
        problem = "the file states something of an innings that it does not have"
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        problem = f"{pattern.rpartition('.')[2]} is not written as the format has it"
    return kind, contradiction(problem)


def reconcile(case: Case) -> tuple[tuple[Doubt, ...], tuple[StatedField, ...]]:
    """Every doubt about a match, refusals first, and the status of every field that it states."""
    doubts = doubts_of(case)
    if doubts and doubts[0].refused:
        return tuple(doubts), ()
    in_doubt = {doubt.field for doubt in doubts}
    statements: list[StatedField] = []
    problems: set[tuple[int | None, str]] = set()
    for field, pattern, part, value in _stated_fields(case):
        kind, (status, derived, problem, over) = _judge(case, pattern, part, value)
        if field in case.stated.second and status != CONTRADICTS:
            source, other = case.stated.second[field]
            status = AGREES
            if value != other:
                kind, status, derived = TWICE, CONTRADICTS, other
                problem = f"{field} is {_words(value)} in the file, and {_words(other)} in {source}"
        if problem:
            number = int(field.split(".")[1]) if field.startswith("innings.") else None
            if (number, problem) not in problems:
                problems.add((number, problem))
                doubts.append(Doubt(kind, problem, number, over, field=field))
        if field in in_doubt:
            status = CONTRADICTS
        statements.append(_statement((field, value, derived, status)))
    statements += _ball_statements(case, {doubt.kind for doubt in doubts})
    statements += _unstated(case)
    return tuple(doubts), tuple(statements)


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _unstated(case: Case) -> Iterator[StatedField]:
    """What the balls show and the file does not state; nothing where rain may have changed it."""
    if not case.method_known:
        return
    no_rain = case.outcome.get("method") is None
    target = case.stated.innings.get(2, {}).get("target") or {}
    if case.has_two_sides and no_rain and target.get("runs") is None:
        yield StatedField("innings.2.target.runs", None, case.main[0].total + 1, DERIVED)
    play = case.play
    if play is not None and play.winner and not case.outcome:
        yield StatedField("outcome.winner", None, play.winner, DERIVED)
        for unit, value in play.by.items():
            yield StatedField(f"outcome.by.{unit}", None, value, DERIVED)
