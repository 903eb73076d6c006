"""Deliveries in the making: what the rules say of each ball, whatever file it is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from attnlens.cricket.match.match import Delivery, Facts, Innings, Player, Wicket
from attnlens.cricket.match.outcomes import classify
from attnlens.cricket.match.sides import MOST_OFF_THE_BAT, Side
from attnlens.cricket.readers.text import MOST_RUNS

MOST_DELIVERIES = 4000
"""The most deliveries accepted in an innings; the longest on record had some 2,100."""

MOST_INNINGS = 20
"""The most innings accepted in a match; eight, super overs included, have been seen."""

NO_EXTRAS = Facts()
_ODDITIES_KEPT = 50
_NUMBERS = tuple(map(str, range(MOST_DELIVERIES + 1)))
_OFF_THE_BAT = tuple(
    classify(runs_batter=runs, wides=0, noballs=0, byes=0, legbyes=0, counted_wicket=False)
    for runs in range(MOST_RUNS + 1)
)


_delivery: Callable[[tuple[Any, ...]], Delivery] = partial(tuple.__new__, Delivery)
"""A delivery of its fields in order, made in half the time: most of reading is making them."""


class People(dict[str, Player]):
    """Players by the file's name for them, made on first use.

    Raises:
        TypeError: looked up by something that is not a name.
    """

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

    def notes(self) -> list[str]:
        """Who has no registry id, where others have."""
        if not self.unregistered:
            return []
        return [f"no registry id for {', '.join(self.unregistered[:5])}: known by name"]


@dataclass
class InningsDraft:
    """An innings being read; ``None`` marks what the format did not say.

    `add` appends deliveries in file order and works out what the rules decide:
    label, legality, the ball as television counts it, the outcome, the score.

    Attributes:
        labels_count_legal: the file's labels are television's, which a wide
            shares with the next ball.
        miscounted: overs in which the file says that the umpires miscounted.
        restored: labels that had lost a last zero and were put right.
        wickets: those that count.
        legal_in_over: legal balls of the over that was bowled last.
        side: the innings for the rules that doubt.
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
    miscounted: frozenset[int] = frozenset()
    deliveries: list[Delivery] = field(default_factory=list, init=False)
    oddities: list[str] = field(default_factory=list, init=False)
    restored: list[str] = field(default_factory=list, init=False)
    set_later: Facts = field(default_factory=Facts, init=False)
    wickets: int = field(default=0, init=False)
    legal_balls: int = field(default=0, init=False)
    legal_in_over: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.side = Side(self.deliveries)
        self._score = self.penalty_before
        self._over = -1
        self._of_over = ""
        self._seen_overs: set[int] = set()
        self._in_over = 0

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
        """Append one delivery.

        Args:
            over: as the file labels it, from 0.
            runs_batter, runs_extras: from 0 to `MOST_RUNS`.
            extras: runs by kind, adding up to ``runs_extras``; zeros are allowed.
            label, actual_delivery: the file's own, where it has them; they win
                over what the rules give, and a difference is an oddity.
        """
        if over != self._over:
            self._start_over(over)
        self._in_over = in_over = self._in_over + 1
        legal_number = self.legal_in_over + 1
        by_rule = actual = self._of_over + _NUMBERS[in_over]
        if legal_number != in_over:
            actual = self._of_over + _NUMBERS[legal_number]
        if label is None:
            label = by_rule
        elif label != by_rule or self.labels_count_legal:
            label = self._checked(label, by_rule, actual)
        if actual_delivery is None:
            actual_delivery = actual
        elif actual_delivery != actual:
            self._odd(f"ball {label} has actual_delivery {actual_delivery}, by rule {actual}")
        kinds, legal, fallen = NO_EXTRAS, True, 0
        if extras or wickets:
            occurred = {kind: runs for kind, runs in (extras or NO_EXTRAS).items() if runs}
            kinds = Facts(occurred)
            legal = "wides" not in occurred and "noballs" not in occurred
            fallen = sum(wicket.counts for wicket in wickets)
            outcome = classify(
                runs_batter=runs_batter,
                wides=occurred.get("wides", 0),
                noballs=occurred.get("noballs", 0),
                byes=occurred.get("byes", 0),
                legbyes=occurred.get("legbyes", 0),
                counted_wicket=fallen > 0,
            )
        else:
            outcome = _OFF_THE_BAT[runs_batter]
        runs = crossed = runs_batter + runs_extras
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
        side = self.side
        if batter is not side.faces or non_striker is not side.other or bowler is not side.bowler:
            side.changed(delivery)
        if extras or wickets or runs_batter > MOST_OFF_THE_BAT:
            crossed = side.tells(delivery)
        if crossed & 1:
            side.faces, side.other = non_striker, batter
        else:
            side.faces, side.other = batter, non_striker
        self._score += runs
        self.wickets += fallen
        if legal:
            self.legal_balls += 1
            self.legal_in_over += 1

    def _checked(self, label: str, by_rule: str, actual: str) -> str:
        """The file's label, put right where a spreadsheet made 0.1 of 0.10."""
        if self.labels_count_legal:
            if label != actual:
                self._odd(f"ball {actual} by count is labelled {label}")
        elif label == by_rule.rstrip("0"):
            self.restored.append(by_rule)
            return by_rule
        else:
            self._odd(f"ball {by_rule} by position is labelled {label}")
        return label

    def _start_over(self, over: int) -> None:
        self._seen_overs.add(over)
        self._over, self._of_over = over, f"{over}."
        self.side.bowler = None
        self._in_over = 0
        self.legal_in_over = 0

    def _odd(self, text: str) -> None:
        if len(self.oddities) < _ODDITIES_KEPT:
            self.oddities.append(text)

    @property
    def total(self) -> int:
        """Runs, with every penalty run known."""
        return self._score + self.penalty_after

    @property
    def overs_begun(self) -> int:
        """How many overs have at least one delivery."""
        return len(self._seen_overs)

    @property
    def last_over(self) -> int:
        """The highest over label, or -1 without deliveries."""
        return max(self._seen_overs, default=-1)

    def finished(self, balls_per_over: int) -> Innings:
        """The innings as a frozen value."""
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
        )
        self.side.finish(innings)
        return innings
