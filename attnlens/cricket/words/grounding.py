"""`check_grounding`: a text read against any facts, with cricket's words where they help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation
from attnlens.errors import InputError
from attnlens.llm.facts import data_of, facts_of
from attnlens.llm.grounding import Checked, Vocabulary, check_text

CRICKET: Final = Vocabulary(
    same={
        "dot ball": "0", "dot balls": "0", "dot": "0", "dots": "0", "single": "1", "singles": "1",
        "two runs": "2", "three runs": "3", "four": "4", "fours": "4", "five runs": "5",
        "six": "6", "sixes": "6", "wicket": "W", "wide": "wd", "wides": "wd", "no-ball": "nb",
        "no-balls": "nb", "byes": "bye", "leg byes": "bye", "byes or leg byes": "bye",
        "knows nothing": "baseline", "unknown": "baseline",
    },
    items="ball|delivery|head|over|innings",
    roles=(
        "{bowler} to {batter}", "{bowler} (?:bowls|is bowling|has the ball|runs in)",
        "{batter} (?:faces|is on strike)", "{non_striker} (?:at the other end|backs up)",
    ),
    forms={
        r"\b(\d+)(?:/| for )(\d+)\b(?! from)": ("score", "wickets"),
        r"\b(\d+) for (\d+) from\b": ("bowler_wickets", "bowler_runs"),
        r"\b(\d+) from (\d+)\b(?!\.\d)": ("batter_runs", "batter_balls"),
    },
    unread=frozenset(
        {"attention_by_head", "shares", "balls", "ball_labels", "ball_outcomes", "within_ball"}
        | {"changes", "attention", "bias_share", "control", "controls", "kind", "flags", "reason"}
        | {"removed", "removed_from", "single_effects", "replaced", "summary", "narrative"}
        | {"sequence_range", "top", "explained", "actual", "story_outcome", "sha256", "question"}
        | {"calibration"}
    ),
)  # fmt: skip
"""What is said of a match otherwise than an explanation's data says it."""

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
    if isinstance(facts, Explanation):
        facts = facts.to_dict()
    vocabulary = Vocabulary()
    try:
        data = data_of(facts) if isinstance(facts, str) else facts
        first = data[0] if isinstance(data, list) and data else data
        if isinstance(first, Mapping) and not KEYS.isdisjoint(first):
            vocabulary, data = CRICKET, _with_players(data)
        held = facts_of(data, vocabulary.unread)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give a part of it") from None
    return check_text(held, text, vocabulary, seconds)


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
