"""`check_grounding`: a text read against any facts, with cricket's words where they help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.outcomes import CALLED
from attnlens.cricket.words.narrative import GROUPS
from attnlens.errors import InputError
from attnlens.llm.facts import Facts, data_of
from attnlens.llm.grounding import Checked, Owned, check_text

NAME: Final = r"[^\W\d_a-z][\w'-]*(?: [^\W\d_a-z][\w'-]+)*"
SAME: Final = {**CALLED, "knows nothing": "baseline", "unknown": "baseline"}
"""What outcomes are called, and what the data calls otherwise."""

PLAIN: Final = {
    rf"({NAME}) to (?={NAME})": r"then bowler \1 to batter ",
    rf"({NAME}) (?=bowls|is bowling|has the ball|runs in|comes in)": r"then bowler \1 ",
    rf"({NAME}) (?=faces|is on strike)": r"then batter \1 ",
    rf"({NAME}) (?=at the other end|backs up)": r"then non_striker \1 ",
    rf"\b(?:bowls|bowling|runs in|comes in) for (?={NAME})": "bowls for bowling_team ",
    rf"\b(?:bats|batting|on strike) for (?={NAME})": "bats for batting_team ",
    r"\bfigures of (\d+) for (\d+)\b(?! from)": r"bowler_wickets \1, bowler_runs \2",
    r"\b((?:stand|partnership|pair|put on|added)\b[^.;]*?)(\d+) (?:from|in|off) (\d+)\b": (
        r"\1partnership_runs \2, partnership_balls \3"
    ),
    r"\b(\d|10) for (\d{2,})\b(?! from)": r"bowler_wickets \1, bowler_runs \2",
    r"\b(\d+)(?:/| for )(\d+)\b(?! from)": r"score \1, wickets \2",
    r"\b(\d+) for (\d+) from\b": r"bowler_wickets \1, bowler_runs \2, bowler_overs",
    r"\b(?:need|needs|want|wants|require|requires) (\d+) (?:more )?(?:from|off) (\d+)\b": (
        r"runs_required \1, balls_left \2"
    ),
    r"\b(\d+) balls (?:of the innings )?(?:still )?(?:left|to|remain)": r"balls_left \1 to",
    r"\b(two|three|four|five|six) times\b": r"\1fold",
    **{
        rf"\b{words}\b": group
        for group, (words, *more) in GROUPS.items()
        if not (more or words.startswith("/"))
    },
    rf"({NAME}) to ({NAME}) in earlier overs": "this bowler to this batter",
    rf"({NAME}) to others in earlier overs": r"then bowler \1, this bowler's earlier balls",
    rf"({NAME}) against others in earlier overs": r"then batter \1, this batter's earlier balls",
    r"\b(adds|takes off|and) (\d+\.\d) for\b": r"\1 \2 points for",
    r"(than usual\b[^.;]*?%),? (?:not|against|rather than) (?=\d)": r"\1, the usual ",
    r"\bgo at (\d+\.\d) an over": r"run_rate \1 an over",
    r"\bchasing (\d+)": r"target \1",
    r"\b(\d+) more (?:from|off) (\d+)\b": r"runs_required \1, balls_left \2",
    r"\b(\d+) (?:of them )?(?:from|off) (\d+)\b(?!\.\d)": r"batter_runs \1, batter_balls \2",
}
"""What a report writes, and what is read in its place: a player or side after the data's key."""

KINDS: Final = {
    **dict.fromkeys(("batter", "non_striker", "bowler", "out"), "player"),
    **dict.fromkeys(("batting_team", "bowling_team"), "side"),
}
"""Ids that name somebody, and of which kind they are."""

OF: Final = {
    "/ball/standing/batter_": ("batter",),
    "/ball/standing/bowler_": ("bowler",),
    "/ball/standing/over_runs": ("bowler", "batter"),
    "/prediction": ("batter", "bowler"),
    **dict.fromkeys(("/win_probability", "/ball/score", "/ball/wickets"), ("batting_team",)),
    **dict.fromkeys(("/ball/runs_required", "/ball/r"), ("batting_team",)),
}
"""Whose what stands under a pointer is."""

UNREAD: Final = frozenset(
    {"shares", "attention", "across_balls", "within_ball", "balls", "ball_labels", "changes"}
    | {"reason", "removed_from", "narrative", "summary", "top", "actual", "story_outcome"}
    | {"calibration"}
)
"""Keys of an explanation of which no text tells."""

KEYS: Final = frozenset({"batter", "bowler", "innings", "ball", "win_probability"})
"""Data with one of these at its top, or in its first row, is of cricket."""


def check_grounding(facts: object, text: str, *, seconds: float = math.inf) -> Checked:
    """Which statements of a text the facts bear out.

    Args:
        facts: an `Explanation`, plain data, the text of a JSON or CSV, or a list of rows.
        text: plain text or Markdown, in English.
        seconds: after so long, what is left of the text is not read.

    Raises:
        InputError: ``facts`` holds none, or too many.
    """
    try:
        data = data_of(facts.to_dict() if isinstance(facts, Explanation) else facts)
        first = data[0] if isinstance(data, list) and data else data
        if isinstance(first, Mapping) and not KEYS.isdisjoint(first):
            held = Facts(_with_players(data), UNREAD)
            return check_text(held, text, SAME, PLAIN, _owned(data), seconds=seconds)
        return check_text(Facts(data), text, seconds=seconds)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give a part of it") from None


def _owned(data: Any) -> Owned:
    """Whose the facts of an explanation are, by the roles of its ball."""
    try:
        ball = {**data["match"], **data["ball"]}
        roles = {ball[role]: (kind, role) for role, kind in KINDS.items() if ball.get(role)}
        of = {at: tuple(ball[role] for role in its if ball.get(role)) for at, its in OF.items()}
    except (KeyError, TypeError):
        return Owned()
    return Owned(roles, {at: its for at, its in of.items() if its})


def _with_players(data: Any) -> object:
    """An explanation whose groups of inputs have the players whom they are of beside them."""
    try:
        batter, bowler = data["ball"]["batter"], data["ball"]["bowler"]
        of = {"batter": batter, "striker": batter, "bowler": bowler}
        groups = [
            {**one, "of": " and ".join(of[word] for word in of if word in one["group"])}
            for one in data["contributions"]
        ]
    except (KeyError, TypeError):
        return data
    return {**data, "contributions": groups}
