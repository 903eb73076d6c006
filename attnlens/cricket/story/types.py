"""The story of a match as typed, frozen data: the document of ``attnlens story --json``.

Each class lists its keys in the order in which they are written.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from attnlens.claims.verdict import Verdict
from attnlens.cricket.explain.attention_types import (
    Ball,
    Count,
    Finite,
    Flag,
    Integer,
    Plain,
    Positive,
    Share,
    Text,
)
from attnlens.cricket.explain.document import Document
from attnlens.cricket.explain.types import Model
from attnlens.cricket.match.outcomes import Outcome

SCHEMA_VERSION: Final = "1.0"


class Side(Plain):
    """An innings as a scoreboard ends it; ``overs`` is written ``19.4``."""

    innings: Ball
    batting_team: Text
    runs: Integer
    wickets: Count
    overs: Text
    deliveries: Count
    target: Integer | None
    super_over: Flag


class Played(Plain):
    """The match, as the file tells it."""

    match_id: Text
    match_type: Text | None
    gender: Text | None
    dates: tuple[Text, ...]
    event: Text | None
    venue: Text | None
    city: Text | None
    teams: tuple[Text, ...]
    innings: tuple[Side, ...]


class WinPoint(Plain):
    """The chance of the story's ``team`` before a ball, and after what happened.

    ``before`` is the mean of what may come of the ball, by its forecast, so what changes until
    ``after`` is the ball's own doing. Who bowls and who faces is in the forecast: the chance before
    a ball can differ a little from that after the one before.
    """

    innings: Ball
    index: Ball
    label: Text
    before: Share
    after: Share


class Moment(Plain):
    """A ball of the story: what happened, how likely that was, and what was tested.

    ``probability`` and ``usual`` are of ``outcome``, which is what happened; ``swing`` is what the
    ball did to the chance of the story's team to win, null where none can be told. ``event`` is the
    part of ``sentence`` that a scorebook tells. ``verdict`` is about past balls and records as
    reasons for that probability: ``supported`` where one of them is, which ``finding`` then tells;
    null where nothing was tested.
    """

    innings: Ball
    index: Ball
    label: Text
    batter: Text
    bowler: Text
    outcome: Outcome
    probability: Share
    usual: Share | None
    surprise_bits: Positive
    swing: Finite | None
    event: Text
    sentence: Text
    verdict: Verdict | None
    finding: Text | None


class MatchClaim(Plain):
    """A claim about one of the moments that holds among all that were tested.

    ``before`` and ``after`` are the chance of ``outcome`` with everything known, and without
    what ``sentence`` names. ``q`` is over the ball's claims, ``q_match`` over the story's.
    """

    innings: Ball
    index: Ball
    label: Text
    sentence: Text
    outcome: Outcome
    before: Share
    after: Share
    p: Share
    q: Share
    q_match: Share


class Tested(Plain):
    """How many balls were tested, with how many claims; how many held for their own ball."""

    balls: Count
    claims: Count
    held: Count


class Tally(Plain):
    """What came of some balls, and the sum of what was expected of each.

    Runs are those off the bat for a batter, those charged to him for a bowler, and all for an over.
    Wickets are all that fell on these balls, run outs too: what the forecast is of.
    """

    innings: Ball
    name: Text
    balls: Count
    runs: Integer
    expected_runs: Positive
    wickets: Count
    expected_wickets: Positive


class Expected(Plain):
    """In order of appearance; an over is called as the file labels it, from 0."""

    batters: tuple[Tally, ...]
    bowlers: tuple[Tally, ...]
    overs: tuple[Tally, ...]


class Note(Plain):
    """Something a reader should know before trusting the story."""

    flag: Text
    text: Text


class MatchStory(Document):
    """Who won, ball by ball who was winning, where it turned, and what was beyond expectation.

    ``team`` is the side whose chance is told throughout: the winner, else who batted first.
    Plain JSON types all through; `to_json` and `from_json` are exact inverses.
    """

    noun: ClassVar[str] = "the story of a match"
    remedy: ClassVar[str] = "write one with `attnlens story MATCH --json`"

    schema_version: Literal["1.0"]
    model: Model
    match: Played
    result: Text
    team: Text | None
    win_probability: tuple[WinPoint, ...]
    turning_points: tuple[Moment, ...]
    surprises: tuple[Moment, ...]
    claims: tuple[MatchClaim, ...]
    tested: Tested
    expected: Expected
    notes: tuple[Note, ...]
