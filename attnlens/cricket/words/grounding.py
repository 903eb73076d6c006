"""`check_grounding`: a text read against any facts, with cricket's words where they help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.outcomes import CALLED
from attnlens.errors import InputError
from attnlens.llm.facts import Facts, data_of
from attnlens.llm.grounding import Checked, check_text

NAME: Final = r"[^\W\d_a-z][\w'-]+(?: [^\W\d_a-z][\w'-]+)*"
SAME: Final = {**CALLED, "knows nothing": "baseline", "unknown": "baseline"}
"""What outcomes are called, and what the data calls otherwise."""

PLAIN: Final = {
    rf"({NAME}) to (?={NAME})": r"then bowler \1 to batter ",
    rf"({NAME}) (?=bowls|is bowling|has the ball|runs in|comes in)": r"then bowler \1 ",
    rf"({NAME}) (?=faces|is on strike)": r"then batter \1 ",
    rf"({NAME}) (?=at the other end|backs up)": r"then non_striker \1 ",
    rf"\b(?:bowls|bowling|runs in|comes in) for (?={NAME})": "bowls for bowling_team ",
    rf"\b(?:bats|batting|on strike) for (?={NAME})": "bats for batting_team ",
    r"\b(\d+)(?:/| for )(\d+)\b(?! from)": r"score \1, wickets \2",
    r"\b(\d+) for (\d+) from\b": r"bowler_wickets \1, bowler_runs \2, bowler_overs",
    r"\b(\d+) from (\d+)\b(?!\.\d)": r"batter_runs \1, batter_balls \2",
}
"""What a report writes, and what is read in its place: a player or side after the data's key."""

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
            return check_text(held, text, SAME, PLAIN, seconds=seconds)
        return check_text(Facts(data), text, seconds=seconds)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give a part of it") from None


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
