"""Collect data for the checks of a match's balls and of the facts that the file states.

A witness is a function that compares a stated field with the rest of the file.
`attnlens.cricket.match.match.StatedField` lists the possible results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from attnlens.cricket.match.competition import ALL_OUT
from attnlens.cricket.match.ledger import DerivedResult, result_of_chase
from attnlens.cricket.match.match import (
    CONTRADICTS,
    DERIVED,
    UNKNOWN_PLAYER,
    Delivery,
    Facts,
    Innings,
    Match,
)
from attnlens.files import Json

MAX_RUNS_OFF_THE_BAT: Final = 7
"""A ball with more runs off the bat raises a doubt. Eight runs are possible, but rare."""

RAIN_RULES: Final = frozenset({"D/L", "VJD"})
"""The values of ``outcome.method`` that name a rule for setting a new target."""

_UNKNOWN = UNKNOWN_PLAYER.name
_MAX_OVERS_LISTED = 4
_MAX_LISTED = 3


@dataclass(slots=True)
class Over:
    """An over. ``length`` counts all balls, and ``legal`` counts only the legal balls."""

    number: int
    first: Delivery
    bowlers: list[str]
    length: int = 0
    legal: int = 0


@dataclass(slots=True)
class InningsScan:
    """An innings, prepared for the checks. Players are identified by their names.

    Attributes:
        claims: pairs ``(ball, value)`` for each of the fields ``review`` and ``replacements``.
        substitutes: the fielders whom the file calls substitutes.
        unnamed: the indices of the balls with a fielder whom the file does not name.
        odd_labels: a description of the labels that do not match the order of the balls.
        pairs: for each new pair of batters, the previous ball and the pair's first ball.
        swapped_ends: the balls on which both batters appear to be at the wrong end.
        unusual_runs: balls with extras, ``non_boundary``, or more than `MAX_RUNS_OFF_THE_BAT` runs.
        batters: maps each batter's name to the first ball of the batter's last partnership.
        bowlers: maps each bowler's name to the first ball of the bowler's first over.
        cut_short: whether the innings ended before the end of its last over.
        surplus: the total number of legal balls beyond the normal length of the overs.
    """

    innings: Innings
    claims: Mapping[str, list[tuple[Delivery, Any]]]
    substitutes: set[str]
    unnamed: set[int]
    odd_labels: str
    overs: list[Over] = field(default_factory=list)
    pairs: list[tuple[Delivery | None, Delivery]] = field(default_factory=list)
    swapped_ends: list[Delivery] = field(default_factory=list)
    unusual_runs: list[Delivery] = field(default_factory=list)
    wicket_balls: list[Delivery] = field(default_factory=list)
    batters: dict[str, Delivery] = field(default_factory=dict)
    bowlers: dict[str, Delivery] = field(default_factory=dict)
    total: int = field(init=False)
    wickets: int = field(init=False)
    surplus: int = 0
    cut_short: bool = False

    def __post_init__(self) -> None:
        self.total, self.wickets = self.innings.total, self.innings.wickets
        self._scan_balls()
        for _, ball in self.pairs:
            self.batters[ball.batter.name] = self.batters[ball.non_striker.name] = ball
        for over, after in zip_longest(self.overs, self.overs[1:]):
            first = over.first
            if after is None:
                over.length = len(self.innings.deliveries) + 1 - first.index
                over.legal = self.innings.legal_balls - first.legal_balls_before
            else:
                over.length = after.first.index - first.index
                over.legal = after.first.legal_balls_before - first.legal_balls_before
            self.surplus += max(over.legal - self.innings.balls_per_over, 0)
            for name in over.bowlers:
                self.bowlers.setdefault(name, over.first)
        self.cut_short = bool(self.overs) and self.overs[-1].legal < self.innings.balls_per_over
        self.batters.pop(_UNKNOWN, None)
        self.bowlers.pop(_UNKNOWN, None)

    def _scan_balls(self) -> None:
        before = striker = non_striker = None
        # The last ball on which the batters had swapped ends, and the last ball whose striker does
        # not follow from the ball before.
        swapped_index, unclear_index = 0, 1
        for ball in self.innings.deliveries:
            batter, away, bowler, index = ball.batter, ball.non_striker, ball.bowler, ball.index
            if before is None or before.over != ball.over:
                self.overs.append(Over(ball.over, ball, [bowler.name]))
                striker, non_striker = non_striker, striker
            elif bowler is not before.bowler and bowler.name != before.bowler.name:
                self.overs[-1].bowlers.append(bowler.name)
            if batter is striker and away is non_striker:
                pass
            elif batter is not non_striker or away is not striker:
                self.pairs.append((before, ball))
            elif index != unclear_index:
                if before is not None and swapped_index == index - 1:
                    self.swapped_ends.append(before)
                swapped_index = index
            if ball.wickets:
                self.wicket_balls.append(ball)
                unclear_index = index + 1
            if ball.extras or ball.runs_batter > MAX_RUNS_OFF_THE_BAT or ball.non_boundary:
                self.unusual_runs.append(ball)
                # In some leagues a no-ball counts two runs, and neither of them is run by the
                # batters.
                if "penalty" in ball.extras or ball.extras.get("noballs", 0) > 1:
                    unclear_index = index + 1
            # The batters do not run one of the runs of a wide or no-ball.
            crossed = (ball.runs_total - (not ball.is_legal)) % 2
            striker, non_striker = (away, batter) if crossed else (batter, away)
            before = ball

    def by_team(self) -> tuple[tuple[str, dict[str, Delivery]], ...]:
        innings = self.innings
        return (innings.batting_team, self.batters), (innings.bowling_team, self.bowlers)

    def takes_part_for_long(self, name: str) -> bool:
        """Return whether a player bowls a whole over, or bats for more than one ball."""
        starts = [ball.index for _, ball in self.pairs] + [len(self.innings.deliveries) + 1]
        return any(over.bowlers == [name] for over in self.overs) or any(
            name in (ball.batter.name, ball.non_striker.name) and starts[row + 1] - ball.index > 1
            for row, (_, ball) in enumerate(self.pairs)
        )

    def odd_overs(self, miscounted: Collection[int] = ()) -> tuple[str, list[Over]]:
        """Describe and list the overs with a wrong number of legal balls, except ``miscounted``."""
        usual = self.innings.balls_per_over
        odd = [over for over in self.overs if over.legal != usual and over.number not in miscounted]
        if odd and odd[-1] is self.overs[-1] and self.cut_short:
            odd.pop()
        lengths = ", ".join(
            f"over {over.number} has {over.legal}" for over in odd[:_MAX_OVERS_LISTED]
        )
        rest = len(odd) - _MAX_OVERS_LISTED
        more = f", and {rest} more overs also differ" if rest > 0 else ""
        return (
            f"{lengths} legal balls instead of {usual}{more} (overs are numbered as in the file)"
        ), odd

    def may_be_miscounted(self, odd: list[Over]) -> bool:
        """Return whether the umpires may have miscounted: at most two overs, each by one ball.

        Umpires miscount about one over in seventy.
        """
        usual = self.innings.balls_per_over
        return len(odd) <= 2 and all(abs(over.legal - usual) == 1 for over in odd)


@dataclass
class Stated:
    """The facts that a file states in addition to the balls, structured as in Cricsheet JSON.

    Attributes:
        meta, info: the objects with these names in Cricsheet JSON.
        innings: maps each innings number to the JSON object of the innings, without the overs.
        second: maps each field with two statements to the second place and the second value.
        exact: whether the format is JSON, which is the only format with every field.
        has_actual_delivery: whether the balls have an ``actual_delivery``.
        actual_delivery_since: the version of the format that introduced ``actual_delivery``.
        method_known: whether the file would state the use of a rain rule.
    """

    meta: Json = field(default_factory=dict)
    info: Json = field(default_factory=dict)
    innings: dict[int, Json] = field(default_factory=dict)
    second: dict[str, tuple[str, Any]] = field(default_factory=dict)
    exact: bool = False
    has_actual_delivery: bool = False
    actual_delivery_since: tuple[int, int] | None = None
    method_known: bool = True

    @property
    def names_fielders(self) -> bool:
        """Whether the file names fielders: all JSON, and CSV with ``actual_delivery``."""
        return self.exact or self.has_actual_delivery

    def object(self, key: str) -> Json:
        """Return the object at a key of ``info``, or an empty object if there is none."""
        value = self.info.get(key)
        return value if isinstance(value, dict) else {}

    @property
    def registry(self) -> Json:
        people: Json = self.object("registry").get("people", {})
        return people


@dataclass(frozen=True)
class Case:
    """A match that is prepared for the checks, and the facts that its file states.

    Attributes:
        scans: the scan of each innings.
        limited: whether each side bats only once.
    """

    match: Match
    scans: list[InningsScan]
    limited: bool
    stated: Stated

    @property
    def outcome(self) -> Facts:
        return self.match.outcome

    @cached_property
    def squads(self) -> dict[str, frozenset[str]]:
        """Maps each team to the squad. A team with an empty squad is left out."""
        return {team: frozenset(names) for team, names in self.match.players.items() if names}

    @cached_property
    def players_of(self) -> dict[str, set[str]]:
        """Maps each team to the set of players who bat or bowl."""
        names: dict[str, set[str]] = {}
        for scan in self.scans:
            for team, players in scan.by_team():
                names.setdefault(team, set()).update(players)
        return names

    @cached_property
    def both_sides(self) -> set[str]:
        """Names that appear in both squads and among the players of both sides."""
        squads = list(self.squads.values())
        if len(squads) != 2 or squads[0].isdisjoint(squads[1]):
            return set()
        players = [self.players_of.get(team, set()) for team in self.squads]
        return set(squads[0] & squads[1]).intersection(*players)

    @cached_property
    def everybody(self) -> set[str]:
        """Everyone whom the file names in a squad, on a ball or in another statement."""
        names = set[str]().union(*self.squads.values(), *self.players_of.values())
        names.update(filter(_is_text, self.stated.object("supersubs").values()))
        for scan in self.scans:
            for ball in scan.wicket_balls:
                for wicket in ball.wickets:
                    names.add(wicket.player_out.name)
                    names.update(wicket.fielders)
            for _, value in scan.claims["replacements"]:
                for _, change in changes_of(value):
                    names.update(change[end] for end in ("in", "out") if end in change)
        names.discard(_UNKNOWN)
        return names

    @cached_property
    def officials(self) -> list[str]:
        """The names of all officials, in the order of the file."""
        duties = self.stated.object("officials").values()
        lists = [names for names in duties if isinstance(names, list)]
        return [name for names in lists for name in filter(_is_text, names)]

    def claims(self, key: str) -> int:
        """Return the number of balls with the field ``key``: ``review`` or ``replacements``."""
        return sum([len(scan.claims[key]) for scan in self.scans])

    @cached_property
    def umpires(self) -> list[str]:
        """The umpires of the match; empty if the file names none."""
        umpires = self.stated.object("officials").get("umpires")
        return umpires if isinstance(umpires, list) else []

    @cached_property
    def respelt(self) -> set[str]:
        """Names that are spelled differently in the table of balls and in the ``_info.csv``.

        An example from CSV2: ``A van der Merwe`` in the table, ``Adri van der Merwe`` elsewhere.
        """
        registry = self.stated.registry
        if self.stated.exact or not registry or not self.squads:
            return set()
        played = set[str]().union(*self.players_of.values())
        squad = set[str]().union(*self.squads.values())
        return {
            name
            for name in self.everybody - registry.keys() - squad
            if any(_same_surname(name, other) for other in registry)
            or (
                any(scan.takes_part_for_long(name) for scan in self.scans)
                and any(_same_initials(name, other) for other in squad - played)
            )
        }

    @cached_property
    def main(self) -> list[InningsScan]:
        """All innings that are not super overs."""
        return [scan for scan in self.scans if not scan.innings.super_over]

    @property
    def length_known(self) -> bool:
        """Whether the file states how many overs a side could face."""
        targets = (innings.get("target") or {} for innings in self.stated.innings.values())
        return any(target.get("overs") for target in targets)

    @cached_property
    def totals(self) -> Counter[str]:
        """The runs of each team, without super overs."""
        totals: Counter[str] = Counter()
        for scan in self.main:
            totals[scan.innings.batting_team] += scan.total
        return totals

    @cached_property
    def super_overs(self) -> list[InningsScan]:
        return [scan for scan in self.scans if scan.innings.super_over]

    @property
    def has_two_sides(self) -> bool:
        return self.limited and len(self.main) == 2

    @property
    def decided(self) -> bool:
        outcome = self.outcome
        ended = "by" in outcome or outcome.get("result") == "tie"
        return self.has_two_sides and ended and outcome.get("method") is None

    @property
    def target(self) -> int | None:
        """The latest target of the second innings."""
        chase = self.main[1].innings
        target: int | None = chase.set_later.get("runs", chase.target)
        return target

    @cached_property
    def play(self) -> Play | None:
        """The course of the match; ``None`` if the balls cannot decide the match."""
        if not self.has_two_sides:
            return None
        first, second = self.main
        outcome, chase, target = self.outcome, second.innings, self.target
        method = outcome.get("method")
        if method not in (None, *RAIN_RULES) or (method and target is None):
            return None
        revised = method is not None or outcome.get("result") == "no result"
        to_beat = target - 1 if revised and target is not None else first.total
        balls = chase.target_balls or (self.match.overs or 0) * chase.balls_per_over
        gone = sum(len(ball.wickets) for ball in second.wicket_balls)
        gone += len(self.stated.innings.get(chase.number, {}).get("absent_hurt", ()))
        full = 0 < balls <= len(second.overs) * chase.balls_per_over and not second.cut_short
        complete = full or gone >= ALL_OUT
        result = result_of_chase(chase, second.total, second.wickets, to_beat, complete=complete)
        return Play(first, second, to_beat, full, result)


class Play(NamedTuple):
    """The course of a match of two innings, as shown by the balls.

    Attributes:
        to_beat: the score that the second side had to pass.
        full: whether the second side faced all its overs.
        result: the result that the balls show; ``None`` for an unfinished chase.
    """

    first: InningsScan
    second: InningsScan
    to_beat: int
    full: bool
    result: DerivedResult | None

    @property
    def winner(self) -> str | None:
        """The winner that the balls show; ``None`` for a tie or an unfinished match."""
        return None if self.result is None else self.result.winner

    @property
    def by(self) -> Facts:
        """The margin, if there is a winner."""
        return Facts() if self.result is None else self.result.by


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def changes_of(replacements: object) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the kind (``match`` or ``role``) and the text fields of every replacement."""
    kinds = replacements if isinstance(replacements, dict) else {}
    for kind in ("match", "role"):
        changes = kinds.get(kind)
        for change in changes if isinstance(changes, list) else ():
            if isinstance(change, dict) and isinstance(change.get("in"), str):
                yield kind, {key: text for key, text in change.items() if isinstance(text, str)}


def _same_surname(name: str, other: str) -> bool:
    """Return whether two spellings have the same surname and first initial."""
    return name[:1] == other[:1] and name.split()[1:][-1:] == other.split()[1:][-1:] != []


def _same_initials(name: str, other: str) -> bool:
    """Return whether one spelling contains all initials of the other spelling."""
    first, second = (
        {sign for word in text.split() for sign in (word if word.isupper() else word[:1])}
        for text in (name, other)
    )
    return first <= second or second <= first


class Verdict(NamedTuple):
    """What the rest of a file says about a stated value.

    Attributes:
        status: ``derived``, ``agrees``, ``contradicts`` or ``unwitnessed``, as in `StatedField`.
        derived: the value that the rest of the file determines, or ``None``.
        problem: a sentence that describes a contradiction.
        over: the over in which a contradiction occurs.
    """

    status: str
    derived: Any = None
    problem: str = ""
    over: int | None = None


Answer = Verdict | str | bool
"""A verdict, a sentence about a contradiction, or whether another statement agrees."""

Check = Callable[[Case, Any, str], Answer]
"""A witness: a function of the case, the value, and the part of the path that matches ``*``."""

NO_CLAIM: Final = frozenset({"meta.revision"})
"""Fields that are not checked, because they state nothing about the match."""


class Witnesses(dict[str, tuple[str, Check]]):
    """Maps each field to the kind of doubt about a contradiction, and to the witness.

    The keys are paths in Cricsheet JSON without ``info``. In a path, ``*`` matches an innings
    number, a team name or a role.
    """

    def of(self, kind: str, *patterns: str) -> Callable[[Check], Check]:
        """Register the decorated function as the witness of these fields."""

        def register(check: Check) -> Check:
            self.update(dict.fromkeys(patterns, (kind, check)))
            return check

        return register


def contradiction(problem: str, derived: Any = None, over: int | None = None) -> Verdict:
    return Verdict(CONTRADICTS, derived, problem, over)


def listing(items: Sequence[str], separator: str = ", ") -> str:
    """Return the first three items as text, followed by the number of further items."""
    rest = len(items) - _MAX_LISTED
    return separator.join(items[:_MAX_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def joined(names: Collection[str]) -> str:
    return listing(sorted(names))


def compared(value: Any, derived: Any, problem: str, status: str = DERIVED) -> Verdict:
    return Verdict(status, derived) if value == derived else contradiction(problem, derived)
