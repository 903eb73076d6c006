"""`check_grounding`: a text read against any facts, with cricket's words where they help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.outcomes import CALLED
from attnlens.errors import InputError
from attnlens.llm.facts import Facts, data_of
from attnlens.llm.grounding import Checked, Vocabulary, check_text

CRICKET: Final = Vocabulary(
    same={**CALLED, "knows nothing": "baseline", "unknown": "baseline"},
    roles={
        "bowler": "to|bowls|is bowling|has the ball|runs in|comes in",
        "batter": "faces|is on strike",
        "non_striker": "at the other end|backs up",
    },
    forms=(
        r"\b(?P<score>\d+)(?:/| for )(?P<wickets>\d+)\b(?! from)",
        r"\b(?P<bowler_wickets>\d+) for (?P<bowler_runs>\d+) from\b",
        r"\b(?P<batter_runs>\d+) from (?P<batter_balls>\d+)\b(?!\.\d)",
    ),
    unread=frozenset(
        {"shares", "balls", "ball_labels", "within_ball", "changes", "reason", "removed_from"}
        | {"narrative", "summary", "top", "actual", "story_outcome", "calibration"}
    ),
)
"""What is said of a match otherwise than an explanation's data says it."""

KEYS: Final = frozenset({"batter", "bowler", "innings", "ball", "win_probability"})
"""Data with one of these at its top, or in its first row, is of cricket."""


def check_grounding(facts: object, text: str) -> Checked:
    """Which statements of a text the facts bear out.

    Args:
        facts: an `Explanation`, plain data, the text of a JSON or CSV, or a list of rows.
        text: plain text or Markdown, in English.

    Raises:
        InputError: ``facts`` holds none, or too many.
    """
    vocabulary = Vocabulary()
    try:
        data = data_of(facts.to_dict() if isinstance(facts, Explanation) else facts)
        first = data[0] if isinstance(data, list) and data else data
        if isinstance(first, Mapping) and not KEYS.isdisjoint(first):
            vocabulary = CRICKET
        return check_text(Facts(data, vocabulary.unread), text, vocabulary)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give a part of it") from None
