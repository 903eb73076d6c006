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
    """The win probability of the story's team before a ball, and after the ball's actual outcome.

    Both values depend on the state of the match, but not on who bats or bowls at the moment.
    """

    before: Share
    after: Share


class LedgerEntry(Plain):
    """The change that one ball or a revised target made to the win probability of the story's team.

    ``points`` are percentage points. The win probability before the first ball, plus the points of
    all entries, equals 100 after a win, 0 after a defeat and 50 after a tie.
    """

    innings: Ball
    index: Ball
    kind: Literal["ball", "revised target"]
    points: Finite


class PlayerAdded(Plain):
    """The percentage points that a player added to the side's win probability with bat and ball."""

    name: Text
    side: Text
    added: Finite


class MovedBy(Plain):
    """The effect of one group of inputs on the win probability that was expected before a ball.

    Attributes:
        group: the name of the group, as in the contributions of an explanation.
        points: the effect in percentage points, relative to what is usual at such a scoreboard.
        record: if the group is a player's record, how often the actual outcome had happened on that
            player's balls in earlier matches.
    """

    group: Text
    points: Finite
    record: Text | None = None


class Moment(BallOfMatch):
    """A turning point or a surprising ball of the story.

    Attributes:
        outcome: the actual outcome; ``probability`` and ``usual`` are probabilities of this
            outcome.
        swing: the change that the ball made to the team's win probability, from -1 to 1; null if it
            is unknown.
        event: the part of ``sentence`` that says what happened, in the style of a scorebook.
        verdict: ``supported`` if the tests support a claim that past balls or players' records
            explain the probability; null if no claim was tested.
        finding: the supported claim as a sentence. It is given only if the claim accounts for at
            least a twentieth of the swing, or if the swing is unknown.
        expected: the part of the swing that the prediction expected before the ball, in percentage
            points.
        moved_by: the groups of inputs that change ``expected`` most. The group with the largest
            change is first.
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
    """A claim that is supported after two corrections of its p-value for multiple tests.

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

    The expected values are sums of forecasts. Each forecast is made before its ball.

    Attributes:
        runs, expected_runs: for a batter, runs off the bat; for a bowler, the runs charged to him;
            for an over, all runs.
        wickets, expected_wickets: for a batter, his dismissals; for a bowler, the wickets credited
            to him; for an over, all wickets.
    """

    innings: Ball
    name: Text
    deliveries: Count
    runs: Integer
    expected_runs: Positive
    wickets: Count
    expected_wickets: Positive


class Expected(Plain):
    """The tallies of all batters, all bowlers and all overs, each in order of appearance.

    Overs are numbered as in the file, from 0.
    """

    batters: tuple[Tally, ...]
    bowlers: tuple[Tally, ...]
    overs: tuple[Tally, ...]


class MatchStory(JsonDocument):
    """The story of a match: the result, the win probability, the turning points and the surprises.

    Attributes:
        team: the side whose win probability is given. It is the winner, or the side that batted
            first if there is no winner. Null if no win probability is known.
        claims: the claims that are supported if all tests of the story are corrected together
            (false discovery rate of 5%).
        ledger, players: empty if the match was not decided by its balls (for example, by a rule for
            interrupted matches), or if an innings has no win probability.
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
