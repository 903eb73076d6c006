"""`check_grounding`: a text beside any facts, with cricket's words where the facts are of cricket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Explanation
from attnlens.llm.facts import data_of, facts_of
from attnlens.llm.grounding import Checked, Vocabulary, check_text

CRICKET: Final = Vocabulary(
    same={
        "dot ball": "0", "dot balls": "0", "dot": "0", "dots": "0",
        "single": "1", "singles": "1", "two runs": "2", "three runs": "3",
        "four": "4", "fours": "4", "five runs": "5", "six": "6", "sixes": "6",
        "wicket": "W", "wide": "wd", "wides": "wd", "no-ball": "nb", "no-balls": "nb",
        "bye": "bye", "byes": "bye", "byes or leg byes": "bye", "leg byes": "bye",
        "usual": "baseline", "usually": "baseline", "knows nothing": "baseline", "unknown": "baseline",
    },
    items={
        "ball": frozenset({"label", "actual_delivery"}),
        "delivery": frozenset(), "head": frozenset(), "over": frozenset(), "innings": frozenset(),
    },
    roles=(
        "{bowler} to {batter}", "{bowler} bowls", "{bowler} bowling", "{bowler} is bowling",
        "{bowler} has the ball", "{bowler} runs in", "{batter} faces", "{batter} is on strike",
        "{non_striker} at the other end", "{non_striker} backs up",
    ),
    forms={
        r"\b(\d+)[/-](\d+)\b": ("score", "wickets"),
        r"\b(\d+) for (\d+|zero|one|two|three|four|five|six|seven|eight|nine)\b": ("score", "wickets"),
    },
    unread=frozenset(
        {"attention_by_head", "shares", "balls", "ball_labels", "ball_outcomes", "within_ball"}
        | {"changes", "attention", "bias_share", "control", "controls", "kind", "flags", "reason"}
        | {"removed", "removed_from", "single_effects", "replaced", "summary", "narrative"}
        | {"top", "explained", "actual", "schema_version", "sha256", "question", "sequence_range"}
    ),
    soft=frozenset({"top_change", "calibration"}),
)  # fmt: skip
"""What is said of a match otherwise than an explanation's data says it."""

KEYS: Final = frozenset({"batter", "bowler", "innings", "ball", "win_probability"})
"""Data with one of these at its top, or in its first row, is of cricket."""


def check_grounding(facts: object, text: str) -> Checked:
    """Which statements of a text the facts bear out.

    Args:
        facts: an `Explanation`, plain data, JSON or CSV text, or a list of rows.
        text: plain text or Markdown, in English.

    Raises:
        InputError: ``facts`` holds none, or too many.
    """
    if isinstance(facts, Explanation):
        facts = facts.to_dict()
    if isinstance(facts, str | bytes):
        facts = data_of(facts)
    first = facts[0] if isinstance(facts, list | tuple) and facts else facts
    is_cricket = isinstance(first, Mapping) and not KEYS.isdisjoint(first)
    vocabulary = CRICKET if is_cricket else Vocabulary()
    data = _with_names(facts) if is_cricket else facts
    return check_text(facts_of(data, vocabulary.unread, vocabulary.soft), text, vocabulary)


def _with_names(data: object) -> object:
    """An explanation whose groups of inputs have the player whom they are of beside them."""
    ball, groups = _under(data, "ball"), _under(data, "contributions")
    if not isinstance(data, Mapping) or not isinstance(ball, Mapping) or not isinstance(groups, list):
        return data
    players = {"batter": "batter", "striker": "batter", "bowler": "bowler"}
    named = [
        {**one, **{role: ball.get(role) for word, role in players.items() if word in one["group"]}}
        if isinstance(_under(one, "group"), str)
        else one
        for one in groups
    ]
    return {**data, "contributions": named}


def _under(data: object, key: str) -> object:
    return data.get(key) if isinstance(data, Mapping) else None
