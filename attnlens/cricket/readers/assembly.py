"""Build deliveries, innings and matches while a file is read, and apply the rules of cricket.

The match's notes list every inferred value, oddity and doubt.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from attnlens.cricket.errors import ImpossibleMatchError
from attnlens.cricket.match.competition import OVERS_BY_TYPE, TWENTY_OVER_TYPES, UNLIMITED_TYPES
from attnlens.cricket.match.doubts import reconcile
from attnlens.cricket.match.match import (
    CONTRADICTS,
    Delivery,
    Facts,
    Innings,
    Match,
    Player,
    Powerplay,
    Wicket,
    classify,
)
from attnlens.cricket.match.scan import Case, InningsScan, Stated, listing
from attnlens.cricket.readers.text import MAX_RUNS_A_BALL

MAX_BALLS_AN_INNINGS = 4000
"""An innings with more deliveries is refused. The longest known innings had about 2,100."""

MAX_INNINGS = 20
"""A match with more innings is refused. No known file has more than eight innings."""

_NO_EXTRAS = Facts()
_MAX_ODDITIES = 50
_OFF_THE_BAT = tuple(
    classify(runs, {}, counted_wicket=False) for runs in range(MAX_RUNS_A_BALL + 1)
)

_delivery: Callable[[tuple[Any, ...]], Delivery] = partial(tuple.__new__, Delivery)
"""Build a delivery from a tuple of all fields, in half the time of the constructor."""


class People(dict[str, Player]):
    """Maps each name to a player. A key that is not a name raises `TypeError`."""

    def __init__(self, registry: Mapping[str, str]) -> None:
        super().__init__()
        self._registry = registry
        self.unregistered: list[str] = []

    def __missing__(self, name: str) -> Player:
        if not isinstance(name, str) or not name.strip():
            raise TypeError("not a name")
        identity = self._registry.get(name)
        if identity is None and self._registry:
            self.unregistered.append(name)
        player = self[name] = Player(name, identity)
        return player


@dataclass
class InningsDraft:
    """An innings that is being read. ``None`` means that the format does not state the value.

    Attributes:
        labels_count_legal: whether a wide and the next ball have the same label.
        miscounted: the number of legal balls in each over that is marked as miscounted in the file.
        restored: labels from which a spreadsheet had removed the last zero.
        wickets: the number of wickets that count for the score.
        legal_in_over: the number of legal balls so far in the current over.
        claims, substitutes, unnamed: as in `InningsScan`.
    """

    number: int
    batting_team: str
    bowling_team: str
    penalty_before: int = 0
    penalty_after: int = 0
    super_over: bool | None = None
    target: int | None = None
    target_balls: int | None = None
    declared: bool | None = None
    labels_count_legal: bool = False
    miscounted: Mapping[int, int] = field(default_factory=dict)
    powerplays: tuple[Powerplay, ...] = ()
    deliveries: list[Delivery] = field(default_factory=list, init=False)
    oddities: list[str] = field(default_factory=list, init=False)
    restored: list[str] = field(default_factory=list, init=False)
    claims: dict[str, list[tuple[Delivery, Any]]] = field(init=False)
    substitutes: set[str] = field(default_factory=set, init=False)
    unnamed: set[int] = field(default_factory=set, init=False)
    set_later: Facts = field(default_factory=Facts, init=False)
    wickets: int = field(default=0, init=False)
    legal_balls: int = field(default=0, init=False)
    legal_in_over: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._score = self.penalty_before
        self._over, self._in_over = -1, 0
        self.claims = {"review": [], "replacements": []}

    def add(
        self,
        over: int,
        batter: Player,
        non_striker: Player,
        bowler: Player,
        runs_batter: int,
        runs_extras: int = 0,
        extras: Mapping[str, int] | None = None,
        wickets: tuple[Wicket, ...] = (),
        label: str | None = None,
        actual_delivery: str | None = None,
        non_boundary: bool = False,
    ) -> None:
        """Append the next delivery.

        Args:
            over: the over in the file, counted from 0.
            runs_batter, runs_extras: each from 0 to `MAX_RUNS_A_BALL`.
            extras: the runs of each kind, with the sum ``runs_extras``; zeros are allowed.
            label, actual_delivery: values in the file. Unexpected values are noted as oddities.
        """
        if over != self._over:
            self._over, self._in_over, self.legal_in_over = over, 0, 0
        self._in_over += 1
        by_rule, actual = f"{over}.{self._in_over}", f"{over}.{self.legal_in_over + 1}"
        if label is None:
            label = by_rule
        elif label != by_rule or self.labels_count_legal:
            label = self._check_label(label, by_rule, actual)
        if actual_delivery is None:
            actual_delivery = actual
        elif actual_delivery != actual:
            self._odd(
                f"ball {label} has actual_delivery {actual_delivery}, but the rules give {actual}"
            )
        kinds, legal, fallen = _NO_EXTRAS, True, 0
        if extras or wickets:
            occurred = {kind: runs for kind, runs in (extras or _NO_EXTRAS).items() if runs}
            kinds = Facts(occurred)
            legal = "wides" not in occurred and "noballs" not in occurred
            fallen = sum(wicket.counts for wicket in wickets)
            outcome = classify(runs_batter, occurred, counted_wicket=fallen > 0)
        else:
            outcome = _OFF_THE_BAT[runs_batter]
        runs = runs_batter + runs_extras
        delivery = _delivery(
            (
                len(self.deliveries) + 1,
                over,
                label,
                actual_delivery,
                legal,
                batter,
                non_striker,
                bowler,
                runs_batter,
                runs_extras,
                runs,
                kinds,
                wickets,
                outcome,
                self._score,
                self.wickets,
                self.legal_balls,
                non_boundary,
            )
        )
        self.deliveries.append(delivery)
        self._score += runs
        self.wickets += fallen
        if legal:
            self.legal_balls += 1
            self.legal_in_over += 1

    def _check_label(self, label: str, by_rule: str, actual: str) -> str:
        """Return the label, with the zero that a spreadsheet removes from 0.10."""
        if self.labels_count_legal:
            if label != actual:
                self._odd(f"ball {actual}, counted by legal balls, has the label {label}")
            return label
        if label == by_rule.rstrip("0"):
            self.restored.append(by_rule)
            return by_rule
        self._odd(f"ball {by_rule}, counted by position, has the label {label}")
        return label

    def _odd(self, text: str) -> None:
        if len(self.oddities) < _MAX_ODDITIES:
            self.oddities.append(text)

    @property
    def total(self) -> int:
        """The runs of the innings, including penalty runs."""
        return self._score + self.penalty_after

    @property
    def last_over(self) -> int:
        return max((ball.over for ball in self.deliveries), default=-1)

    def odd_labels(self) -> str:
        """Describe the labels that do not match the order of the balls."""
        labels = Counter(ball.label for ball in self.deliveries) if self.oddities else {}
        repeated = [label for label, times in labels.items() if times > 1]
        if repeated and not self.labels_count_legal:
            return (
                f"uses a label for several balls ({listing(repeated)}): "
                "a spreadsheet may have changed 0.10 to 0.1"
            )
        return listing(self.oddities, "; ")

    def build(self, balls_per_over: int) -> InningsScan:
        innings = Innings(
            number=self.number,
            batting_team=self.batting_team,
            bowling_team=self.bowling_team,
            deliveries=tuple(self.deliveries),
            super_over=bool(self.super_over),
            target=self.target,
            target_balls=self.target_balls,
            penalty_runs=Facts(pre=self.penalty_before, post=self.penalty_after),
            declared=self.declared,
            balls_per_over=balls_per_over,
            set_later=self.set_later,
            powerplays=self.powerplays,
            miscounted=tuple(sorted(self.miscounted.items())),
        )
        return InningsScan(innings, self.claims, self.substitutes, self.unnamed, self.odd_labels())


_TWENTY = 20
_MAX_LIMITED_OVERS = 60


@dataclass
class MatchDraft:
    """A match that is being read. An empty value or ``None`` means that the fact is missing."""

    match_id: str
    source: str
    match_type: str | None = None
    gender: str | None = None
    team_type: str | None = None
    dates: tuple[datetime.date, ...] = ()
    season: str | None = None
    event: Facts = field(default_factory=Facts)
    venue: str | None = None
    city: str | None = None
    teams: tuple[str, ...] = ()
    toss: Facts = field(default_factory=Facts)
    outcome: Facts = field(default_factory=Facts)
    overs: int | None = None
    balls_per_over: int | None = None
    innings: list[InningsDraft] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    players: dict[str, list[str]] = field(default_factory=dict)
    people: People = field(default_factory=lambda: People({}))
    stated: Stated = field(default_factory=lambda: Stated(exact=True))

    @property
    def sides(self) -> tuple[str, ...]:
        """The teams of the innings, in order of appearance."""
        sides = (side for i in self.innings for side in (i.batting_team, i.bowling_team))
        return tuple(dict.fromkeys(sides))

    def build(self) -> Match:
        if unregistered := self.people.unregistered:
            self.notes.append(
                "players without an id in the registry are identified by name: "
                f"{', '.join(unregistered[:5])}"
            )
        balls_per_over = self._balls_per_over()
        self._settle_length(balls_per_over)
        limited = self._limited()
        self._settle_super_overs(limited, balls_per_over)
        if limited:
            self._settle_targets(balls_per_over)
            for innings in self.innings:
                # There are no declarations if each side bats once, so None becomes False.
                innings.declared = bool(innings.declared)
        if not self.stated.exact:
            self.notes.append(
                "this format does not contain penalty runs awarded outside a delivery, so "
                "they count as 0"
            )
        for innings in self.innings:
            if innings.restored:
                self.notes.append(
                    f"innings {innings.number}: the labels {listing(innings.restored)} had lost "
                    "a final zero, probably in a spreadsheet; the zero was restored from the "
                    "order of the rows"
                )
        scans = [innings.build(balls_per_over) for innings in self.innings]
        made: dict[str, Any] = {
            "balls_per_over": balls_per_over,
            "innings": tuple(scan.innings for scan in scans),
            "notes": tuple(self.notes),
            "players": Facts(self.players),
            "doubts": (),
            "statements": (),
        }
        values = {
            member.name: getattr(self, member.name)
            for member in fields(Match)
            if member.name not in made
        }
        match = Match(**values, **made)
        doubts, statements = reconcile(Case(match, scans, limited, self.stated))
        if doubts and doubts[0].refused:
            raise ImpossibleMatchError(doubts[0], path=self.source)
        notes = () if self.stated.exact else _perhaps_miscounted(scans)
        notes = (*match.notes, *notes, *map(str, doubts))
        match = replace(match, notes=notes, doubts=doubts, statements=statements)
        return self._without_wrong_lengths(match) if doubts else match

    def _without_wrong_lengths(self, match: Match) -> Match:
        """Return the match, with every contradicted length of a chase computed from the balls."""
        wrong = {
            statement.field: statement.derived
            for statement in match.statements
            if statement.status == CONTRADICTS and statement.derived is not None
        }
        innings = tuple(
            replace(side, target_balls=overs * side.balls_per_over)
            if (overs := wrong.get(f"innings.{side.number}.target.overs")) is not None
            else side
            for side in match.innings
        )
        return replace(match, innings=innings)

    def _balls_per_over(self) -> int:
        if self.balls_per_over is not None:
            return self.balls_per_over
        lengths: Counter[int] = Counter()
        for innings in self.innings:
            by_over = Counter(ball.over for ball in innings.deliveries if ball.is_legal)
            # The last over may have been cut short.
            by_over.pop(innings.last_over, None)
            lengths.update(by_over.values())
        usual = lengths.most_common(1)[0][0] if lengths else 6
        self.notes.append(
            f"the file does not give the balls per over; {usual} was inferred from the overs"
        )
        return usual

    def _settle_length(self, balls_per_over: int) -> None:
        if self.match_type in UNLIMITED_TYPES:
            self.overs = None
        elif self.match_type is None and self.overs is None:
            full = any(
                innings.last_over == _TWENTY - 1 and innings.legal_balls >= _TWENTY * balls_per_over
                for innings in self.innings
                if innings.number <= 2
            )
            if full and self._limited() and max(i.last_over for i in self.innings) < _TWENTY:
                self.match_type = "T20"
                self.overs = _TWENTY
                self.notes.append(
                    "the file does not give the match type; T20 is assumed, because an innings had "
                    "20 overs and no innings had more"
                )
            else:
                self.notes.append("the file gives neither the match type nor the overs per side")
        elif self.match_type in TWENTY_OVER_TYPES and (self.overs is None or self.overs > _TWENTY):
            statement = "omits the overs" if self.overs is None else f"says {self.overs} overs"
            self.notes.append(
                f"the file {statement}; {_TWENTY} is used, because the match type has 20 overs"
            )
            self.overs = _TWENTY

    def _limited(self) -> bool:
        """Return whether it is certain that each side bats only once."""
        if self.overs is not None or self.match_type in OVERS_BY_TYPE:
            return True
        if (
            self.match_type in UNLIMITED_TYPES
            or any(innings.last_over >= _MAX_LIMITED_OVERS for innings in self.innings)
            or len(set(self.dates)) > 2
            or self.outcome.get("result") == "draw"
            or "innings" in self.outcome.get("by", {})
        ):
            return False
        if len(self.innings) <= 2:
            return True
        # A limited-overs match has more than two innings only after a tie.
        totals = {innings.total for innings in self.innings if innings.number <= 2}
        return len(totals) == 1 and all(
            len({ball.over for ball in innings.deliveries}) <= 1
            for innings in self.innings
            if innings.number > 2
        )

    def _settle_super_overs(self, limited: bool, balls_per_over: int) -> None:
        unmarked = [innings for innings in self.innings if innings.super_over is None]
        for innings in unmarked:
            innings.super_over = limited and innings.number > 2
        for position, innings in enumerate(self.innings):
            if not innings.super_over or innings.number % 2:
                continue
            innings.target_balls = innings.target_balls or balls_per_over
            if innings.target is None and position:
                innings.target = self.innings[position - 1].total + 1
                self.notes.append(
                    f"innings {innings.number} has no target in the file; {innings.target} is "
                    "used, one more than the total of the previous innings"
                )
        if any(innings.super_over for innings in unmarked):
            self.notes.append(
                "the file does not mark super overs; innings 3 and later are treated as super overs"
            )

    def _settle_targets(self, balls_per_over: int) -> None:
        by_number = {innings.number: innings for innings in self.innings}
        if not {1, 2} <= by_number.keys():
            return
        first, second = by_number[1], by_number[2]
        method = self.outcome.get("method")
        if second.target is None:
            if method is not None:
                self.notes.append(
                    f"innings 2 has no target in the file, but {method} changed the target"
                )
                return
            second.target = first.total + 1
            caution = "" if self.stated.method_known else ", unless rain changed the target"
            self.notes.append(
                f"innings 2 has no target in the file; {second.target} is used, one more than the "
                f"total of innings 1{caution}"
            )
        passed = second.deliveries and second.deliveries[-1].score_before >= second.target
        if passed and second.target != first.total + 1:
            second.set_later = Facts.not_none(runs=second.target, balls=second.target_balls)
            second.target, second.target_balls, method = first.total + 1, None, None
            self.notes.append(
                f"innings 2 passed the target {second.set_later['runs']} and continued; the target "
                "must have been set after the chase began, so one run more than the total of "
                f"innings 1 is used: {second.target}"
            )
        if second.target_balls is None and self.overs is not None and method is None:
            second.target_balls = self.overs * balls_per_over


def _perhaps_miscounted(scans: list[InningsScan]) -> Iterator[str]:
    for scan in scans:
        words, odd = scan.odd_overs()
        if odd and scan.may_be_miscounted(odd):
            yield (
                f"innings {scan.innings.number}: {words}; the umpires may have miscounted, "
                "but this format does not say so"
            )
