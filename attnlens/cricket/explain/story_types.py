"""The classes of the story of a match: the JSON document of ``attnlens story --json``.

All classes are frozen. The keys of a JSON object have the same order as the fields of its class.
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
    """The final or latest score of an innings. ``overs`` is text such as ``19.4``."""

    innings: Ball
    batting_team: Text
    runs: Integer
    wickets: Count
    overs: Text
    super_over: Flag


class Played(Plain):
    """The match: its teams, place, dates and innings."""

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
    """A ball of the match; ``label`` is the ball's name in the file."""

    innings: Ball
    index: Ball
    label: Text


class WinPoint(BallOfMatch):
    """The win probability of the story's team before a ball, and after the ball.

    Both values depend on the state of the match. The values ignore which players bat and bowl.
    """

    before: Share
    after: Share


class LedgerEntry(Plain):
    """The effect of one ball or of a revised target on the win probability of the story's team.

    ``points`` are percentage points. The win probability before the first ball plus the points of
    all entries is the result: 100 for a win, 0 for a defeat and 50 for a tie.
    """

    innings: Ball
    index: Ball
    kind: Literal["ball", "revised target"]
    points: Finite


class PlayerAdded(Plain):
    """The percentage points that one player added to the side's win probability."""

    name: Text
    side: Text
    added: Finite


class MovedBy(Plain):
    """The effect of one group of inputs on the win probability that is expected after a ball.

    Attributes:
        group: the name of the group, as in the contributions of an explanation.
        points: the effect in percentage points, relative to usual probabilities at a similar
            scoreboard.
        record: a text that says how often the actual outcome happened on the player's balls in
            earlier matches. Null if the group is not a player's record.
    """

    group: Text
    points: Finite
    record: Text | None = None


class Moment(BallOfMatch):
    """A turning point or a surprising ball of the story.

    Attributes:
        outcome: the actual outcome; ``probability`` and ``usual`` are probabilities of this
            outcome.
        swing: the change of the team's win probability on this ball, from -1 to 1. Null if the
            change is unknown.
        event: the part of ``sentence`` that describes the event in the style of a scorebook.
        verdict: the verdict on claims that past balls or players' records explain the probability.
            The verdict is ``supported`` if one claim is supported, and null if no claim was tested.
        finding: the supported claim as a sentence. Null if ``swing`` is known and hiding the
            claim's input changes ``probability`` by less than 5 percentage points.
        expected: the expected change of the win probability in percentage points. The mean over all
            outcomes, weighted by the predicted probabilities.
        moved_by: the groups of inputs with the largest effects on ``expected``, largest first.
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
    """A claim that stays supported when all tests of the story are corrected together.

    ``q`` is the p-value corrected for the number of claims about the ball. ``q_match`` is the
    p-value corrected for the number of claims in the story.
    """

    outcome: Outcome
    sentence: Text
    q: Share
    q_match: Share


class Tested(Plain):
    """The numbers of tested balls, of tested claims, and of supported claims."""

    balls: Count
    claims: Count
    supported: Count


class Tally(Plain):
    """The actual and the expected runs and wickets of one batter, one bowler or one over.

    An expected value is the sum of the forecasts that were made before each ball.

    Attributes:
        runs, expected_runs: runs off the bat for a batter, runs charged to the bowler for a bowler,
            and all runs for an over.
        wickets, expected_wickets: dismissals for a batter, wickets credited to the bowler for a
            bowler, and all wickets for an over.
    """

    innings: Ball
    name: Text
    deliveries: Count
    runs: Integer
    expected_runs: Positive
    wickets: Count
    expected_wickets: Positive


class Expected(Plain):
    """The tallies of all batters, all bowlers and all overs. Each list is in order of appearance.

    Overs are numbered as in the file, from 0.
    """

    batters: tuple[Tally, ...]
    bowlers: tuple[Tally, ...]
    overs: tuple[Tally, ...]


class MatchStory(JsonDocument):
    """The story of a match: the result, the win probability, the turning points and the surprises.

    Attributes:
        team: the side whose win probability is given. This side is the winner or, if there is no
            winner, the side that batted first. Null if no win probability is known.
        claims: the claims that are supported if all tests of the story are corrected together
            (false discovery rate of 5%).
        ledger, players: empty if an innings has no win probability. Both are also empty if the
            result does not follow from the balls (for example, if a rule for interrupted matches
            decided the match).
    """

    noun: ClassVar[str] = "the story of a match"
    rendered_as: ClassVar[str] = "match_story"
    remedy: ClassVar[str] = "create one with `attnlens story MATCH --json`"
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
