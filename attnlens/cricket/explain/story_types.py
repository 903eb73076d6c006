"""The story of a match as typed, frozen data: the document of ``attnlens story --json``.

Each class lists its keys in the order in which they are written.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from attnlens.cricket.explain.json_document import JsonDocument
from attnlens.cricket.explain.types import Ball, Integer, Model, Positive, Remark
from attnlens.cricket.match.match import Outcome
from attnlens.evidence.result import Count, Finite, Flag, Plain, Share, Text
from attnlens.evidence.verdict import Verdict

SCHEMA_VERSION: Final = "1.1"


class InningsScore(Plain):
    """An innings as it ended, or stands; ``overs`` is written ``19.4``."""

    innings: Ball
    batting_team: Text
    runs: Integer
    wickets: Count
    overs: Text
    super_over: Flag


class Played(Plain):
    """The match, as its file describes it."""

    match_id: Text
    match_type: Text | None
    gender: Text | None
    dates: tuple[Text, ...]
    event: Text | None
    venue: Text | None
    city: Text | None
    teams: tuple[Text, ...]
    innings: tuple[InningsScore, ...]


class BallOfMatch(Plain):
    """Which ball; ``label`` is the file's name for it."""

    innings: Ball
    index: Ball
    label: Text


class WinPoint(BallOfMatch):
    """The win probability of the story's team before a ball, and after what happened.

    Both are values of the state of the match, which do not know who bowls and who faces.
    """

    before: Share
    after: Share


class LedgerEntry(Plain):
    """What one ball, or a target revised for rain, did to the win probability of the story's team.

    ``points`` are percentage points. With the probability before the first ball they sum to 100 if
    the team won, to 0 if it lost and to 50 after a tie.
    """

    innings: Ball
    index: Ball
    kind: Literal["ball", "revised target"]
    points: Finite


class PlayerAdded(Plain):
    """Win probability that a player added for the own side, percentage points, bat and ball."""

    name: Text
    side: Text
    added: Finite


class MovedBy(Plain):
    """What one group of inputs adds to the win probability that was expected of a ball, in points.

    From what is usual at such a scoreboard; ``group`` as in an explanation's contributions;
    ``record``: of a player's record, how often what happened had come before.
    """

    group: Text
    points: Finite
    record: Text | None = None


class Moment(BallOfMatch):
    """A ball of the story: what happened, how likely that was, and what was tested.

    ``probability`` and ``usual`` are of ``outcome``, which happened. ``swing`` is what the ball did
    to the team's win probability, null if unknown. ``event`` is the part of ``sentence`` that a
    scorebook records. ``verdict`` is about past balls and records as reasons for that probability:
    ``supported`` if one is; null if none was tested. ``finding`` is that reason, if it accounts for
    a twentieth of the swing or more. ``expected``: the part of the swing that the forecast expected
    of the ball, in points. ``moved_by``: the groups that move that expectation, the largest first.
    """

    outcome: Outcome
    probability: Share
    usual: Share | None
    surprise_bits: Positive
    swing: Finite | None
    event: Text
    sentence: Text
    verdict: Verdict | None
    finding: Text | None
    expected: Finite | None = None
    moved_by: tuple[MovedBy, ...] = ()


class MatchClaim(BallOfMatch):
    """A supported claim; ``q`` is over the claims of its ball, ``q_match`` over the story's."""

    outcome: Outcome
    sentence: Text
    q: Share
    q_match: Share


class Tested(Plain):
    """How many claims were tested on how many balls, and how many are supported."""

    balls: Count
    claims: Count
    supported: Count


class Tally(Plain):
    """What came of some balls, and the sum of what was expected of each before it was bowled.

    Runs are off the bat for a batter, charged to him for a bowler, all for an over. A bowler's
    wickets are those credited to him, a batter's how often he was out, an over's all that fell.
    """

    innings: Ball
    name: Text
    deliveries: Count
    runs: Integer
    expected_runs: Positive
    wickets: Count
    expected_wickets: Positive


class Expected(Plain):
    """In order of appearance; an over is called as the file labels it, from 0."""

    batters: tuple[Tally, ...]
    bowlers: tuple[Tally, ...]
    overs: tuple[Tally, ...]


class MatchStory(JsonDocument):
    """Who won, who was winning, where it turned, and what was beyond expectation.

    ``team`` is the side whose win probability is given throughout: the winner, else who batted
    first. ``ledger`` and ``players`` are empty where the balls decide no result.
    ``claims`` are those that hold among all that were tested (false discovery rate of 5%).
    """

    noun: ClassVar[str] = "the story of a match"
    rendered_as: ClassVar[str] = "match_story"
    remedy: ClassVar[str] = "write one with `attnlens story MATCH --json`"
    earlier_schemas: ClassVar[tuple[str, ...]] = ("1.0",)

    schema_version: Literal["1.1"]
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
    notes: tuple[Remark, ...]
    ledger: tuple[LedgerEntry, ...] = ()
    players: tuple[PlayerAdded, ...] = ()
