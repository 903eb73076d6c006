"""Cautions of an explanation: what a reader should know before trusting its figures."""

from __future__ import annotations

from typing import Literal

from attnlens.evidence.result import Plain, Text

FlagName = Literal[
    "short_history",
    "no_history",
    "unseen_batter",
    "unseen_bowler",
    "unseen_venue",
    "bowler_mid_over",
    "super_over",
    "reduced_match",
    "in_training",
    "ratings_from_later",
    "stale_ratings",
    "unknown_kind",
    "not_in_match",
    "other_format",
    "other_gender",
    "other_teams",
    "other_balls_per_over",
    "no_target",
    "target_set_later",
    "doubted",
    "evidence_skipped",
]


class Remark(Plain):
    """Something a reader should know before trusting the figures."""

    flag: Text
    text: Text


class Caution(Remark):
    """Something a reader should know before trusting the figures."""

    flag: FlagName
