"""Deliveries in the making: what the rules say of each ball, whatever file it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from attnlens.cricket.match import Delivery, Facts, Innings, Player, Wicket
from attnlens.cricket.outcomes import classify
from attnlens.cricket.readers.spreadsheet import restored_label

EXTRA_KINDS = ("wides", "noballs", "byes", "legbyes", "penalty")

LAST_OVER = 999
"""The highest over label accepted; the longest innings on record ended in its 336th over."""

MOST_DELIVERIES = 4000
"""The most deliveries accepted in an innings; the longest on record had some 2,100."""

MOST_INNINGS = 20
"""The most innings accepted in a match; eight, super overs included, have been seen."""

LONGEST_BALL = 3
"""Digits of a ball's number in its over: more are a decimal fraction, or damage."""

MOST_RUNS = 99
"""The most runs accepted on one delivery, by the bat or in extras."""

NO_EXTRAS = Facts()
_ODDITIES_KEPT = 50
_OFF_THE_BAT = tuple(
    classify(runs_batter=runs, wides=0, noballs=0, byes=0, legbyes=0, counted_wicket=False)
    for runs in range(MOST_RUNS + 1)
)

# A frozen dataclass sets each field through object.__setattr__, which takes half
# the time of reading a match. These are the slots that it would set.
_new = object.__new__
(
    _set_index,
    _set_over,
    _set_label,
    _set_actual_delivery,
    _set_is_legal,
    _set_batter,
    _set_non_striker,
    _set_bowler,
    _set_runs_batter,
    _set_runs_extras,
    _set_runs_total,
    _set_extras,
    _set_wickets,
    _set_outcome,
    _set_score_before,
    _set_wickets_before,
    _set_legal_balls_before,
    _set_non_boundary,
) = (getattr(Delivery, field.name).__set__ for field in fields(Delivery))


UNKNOWN_PLAYER = Player("not known")
"""Stands where a format does not say who it was and the rules cannot tell."""


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


@dataclass
class InningsDraft:
    """An innings being read; ``None`` marks what the format did not say.

    `add` appends deliveries in file order and works out what the rules decide:
    label, legality, the ball as television counts it, the outcome, the score.

    Attributes:
        labels_count_legal: the file's labels are television's, which a wide
            shares with the next ball.
        miscounted: overs in which the file says that the umpires miscounted.
        over_lengths: over and legal balls of every over but the last.
        restored: labels that had lost a last zero and were put right.
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
    deliveries: list[Delivery] = field(default_factory=list)
    oddities: list[str] = field(default_factory=list)
    over_lengths: list[tuple[int, int]] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._score = self.penalty_before
        self._wickets = 0
        self._legal_balls = 0
        self._over = -1
        self._seen_overs: set[int] = set()
        self._in_over = 0
        self._legal_in_over = 0

    def add(
        self,
        over: int,
        batter: Player,
        non_striker: Player,
        bowler: Player,
        runs_batter: int,
        runs_extras: int,
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
        legal_number = self._legal_in_over + 1
        label_by_rule = f"{over}.{in_over}"
        actual_by_rule = label_by_rule if legal_number == in_over else f"{over}.{legal_number}"
        if label is None:
            label = label_by_rule
        elif self.labels_count_legal:
            if label != actual_by_rule:
                self._odd(f"ball {actual_by_rule} by count is labelled {label}")
        elif label != label_by_rule and restored_label(label, over, in_over) == label_by_rule:
            self.restored.append(label_by_rule)
            label = label_by_rule
        elif label != label_by_rule:
            self._odd(f"ball {label_by_rule} by position is labelled {label}")
        if actual_delivery is None:
            actual_delivery = actual_by_rule
        elif actual_delivery != actual_by_rule:
            self._odd(
                f"ball {label} has actual_delivery {actual_delivery}, by rule {actual_by_rule}"
            )
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
            kinds = NO_EXTRAS
            legal = True
            fallen = 0
            outcome = _OFF_THE_BAT[runs_batter]
        runs = runs_batter + runs_extras
        delivery: Delivery = _new(Delivery)
        _set_index(delivery, len(self.deliveries) + 1)
        _set_over(delivery, over)
        _set_label(delivery, label)
        _set_actual_delivery(delivery, actual_delivery)
        _set_is_legal(delivery, legal)
        _set_batter(delivery, batter)
        _set_non_striker(delivery, non_striker)
        _set_bowler(delivery, bowler)
        _set_runs_batter(delivery, runs_batter)
        _set_runs_extras(delivery, runs_extras)
        _set_runs_total(delivery, runs)
        _set_extras(delivery, kinds)
        _set_wickets(delivery, wickets)
        _set_outcome(delivery, outcome)
        _set_score_before(delivery, self._score)
        _set_wickets_before(delivery, self._wickets)
        _set_legal_balls_before(delivery, self._legal_balls)
        _set_non_boundary(delivery, non_boundary)
        self.deliveries.append(delivery)
        self._score += runs
        self._wickets += fallen
        if legal:
            self._legal_balls += 1
            self._legal_in_over += 1

    def _start_over(self, over: int) -> None:
        if over in self._seen_overs:
            self._odd(f"over {over} comes back after another over")
        elif over < self._over:
            self._odd(f"over {over} comes after over {self._over}")
        self._seen_overs.add(over)
        if self._in_over:
            self.over_lengths.append((self._over, self._legal_in_over))
        self._over = over
        self._in_over = 0
        self._legal_in_over = 0

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

    @property
    def legal_balls(self) -> int:
        return self._legal_balls

    @property
    def wickets(self) -> int:
        """Wickets that count."""
        return self._wickets

    @property
    def legal_in_last_over(self) -> int:
        """Legal balls of the over that was bowled last."""
        return self._legal_in_over

    def finished(self, balls_per_over: int) -> Innings:
        """The innings as a frozen value."""
        return Innings(
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
        )
