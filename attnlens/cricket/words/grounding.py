"""`check_grounding`: the spot check of any data, with cricket's words where they help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.outcomes import OUTCOME_BY_NAME
from attnlens.errors import InputError
from attnlens.llm.spot_check import FigureIndex, SpotCheck, check_text, read_data

_REWRITES: Final = {
    r" in the (?:middle|death) overs\b": "",
    r"\b(?:chances?|likely|likelier|likelihood|odds)\b": "probability",
    r"\b(\d|10) for (\d+) from\b": r"bowler wickets \1, bowler runs \2, bowler overs",
    r"\b(\d+)(?:/| for )(\d+)\b(?! from)": r"score \1, wickets \2",
    r"\b(?:need|want|require)s? (\d+) (?:more )?(?:runs )?(?:from|off) (\d+)\b": (
        r"runs required \1, balls left \2"
    ),
    r"\b(\d+) (?:of them )?(?:from|off) (\d+)\b(?!\.\d)": r"batter runs \1, batter balls \2",
    r"\b(\d+) balls (?:still )?(?:left|to go|remain)": r"balls left \1",
    **{
        rf"(?i)\b{word}\b(?! (?:of|runs|balls|overs))": f"={code}="
        for word, code in OUTCOME_BY_NAME.items()
    },
}
"""What a report writes, and what is read in its place."""

_UNREAD: Final = frozenset(
    {"shares", "attention", "across_balls", "within_ball", "balls", "ball_labels"}
    | {"reason", "removed_from", "narrative", "summary", "top", "actual", "subject"}
    | {"calibration"}
)
"""Keys of an explanation about which no text reports."""

_CRICKET_KEYS: Final = frozenset({"batter", "bowler", "innings", "ball", "win_probability"})
"""Data with one of these at its top, or in its first row, is about cricket."""


def check_grounding(facts: object, text: str, *, seconds: float = math.inf) -> SpotCheck:
    """What the data says of the numbers and names of a text.

    Args:
        facts: an `Explanation`, plain data, the text of a JSON or CSV, or a list of rows.
        text: plain text or Markdown, in English.
        seconds: after so long, the rest of the text is not read.

    Raises:
        InputError: ``facts`` holds none, or too many.
    """
    try:
        data: Any = read_data(facts.to_dict() if isinstance(facts, Explanation) else facts)
        first = data[0] if isinstance(data, list) and data else data
        if isinstance(first, Mapping) and not _CRICKET_KEYS.isdisjoint(first):
            if first is data and isinstance(win := data.get("win_probability"), Mapping):
                # Its "after" has the outcomes as keys, and no report quotes it.
                data = {**data, "win_probability": {**win, "after": {}}}
            return check_text(FigureIndex(data, _UNREAD), text, _REWRITES, seconds=seconds)
        return check_text(FigureIndex(data), text, seconds=seconds)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give a part of it") from None
