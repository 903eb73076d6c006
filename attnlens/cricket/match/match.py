"""Immutable data classes for a match, independent of the format of its file."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, NoReturn, get_args

from attnlens.files import Json

Outcome = Literal["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""The outcome classes that the models predict, in the order of every probability vector."""

OUTCOME_INDEX: Final[dict[str, int]] = {name: position for position, name in enumerate(OUTCOMES)}


class OutcomeNames(NamedTuple):
    """Names of an outcome: a phrase for sentences, a word for ids, a chart label, and synonyms."""

    words: str
    thing: str
    label: str
    synonyms: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """``words`` without the article, such as ``dot ball``."""
        return self.words.removeprefix("a ")

    @property
    def short(self) -> str:
        """The outcome in one word, as in ``P(no-ball)``."""
        return self.thing.replace("_", "-")


OUTCOME_NAMES: Final[dict[str, OutcomeNames]] = {
    "0": OutcomeNames("a dot ball", "dot", "0 dot", ("dot", "dots", "dot balls")),
    "1": OutcomeNames("a single", "single", "1", ("singles",)),
    "2": OutcomeNames("two runs", "two", "2"),
    "3": OutcomeNames("three runs", "three", "3"),
    "4": OutcomeNames("a four", "four", "4 four", ("fours",)),
    "5": OutcomeNames("five runs", "five", "5"),
    "6": OutcomeNames("a six", "six", "6 six", ("sixes",)),
    "W": OutcomeNames("a wicket", "wicket", "W wicket"),
    "wd": OutcomeNames("a wide", "wide", "wide", ("wides",)),
    "nb": OutcomeNames("a no-ball", "no_ball", "no-ball", ("no-balls",)),
    "bye": OutcomeNames("byes or leg byes", "bye", "byes", ("byes", "leg byes")),
}

OUTCOME_BY_NAME: Final[dict[str, str]] = {
    form: code for code, names in OUTCOME_NAMES.items() for form in (names.noun, *names.synonyms)
}
"""Maps each name of an outcome to the outcome's code. Codes are not keys."""

UNCOUNTED_WICKETS: Final[frozenset[str]] = frozenset({"retired hurt", "retired not out"})
"""Kinds of retirement that do not count as a wicket (Laws of Cricket, 25.4)."""

NOT_THE_BOWLERS: Final[frozenset[str]] = UNCOUNTED_WICKETS | {
    "run out",
    "retired out",
    "obstructing the field",
    "handled the ball",
    "hit the ball twice",
    "timed out",
}
"""Kinds of dismissal and retirement that are not credited to the bowler."""

DISMISSALS: Final[frozenset[str]] = NOT_THE_BOWLERS | {
    "bowled",
    "caught",
    "caught and bowled",
    "hit wicket",
    "lbw",
    "stumped",
}
"""Every kind of dismissal and retirement, as named by Cricsheet."""


BOWLERS_SHARE_OF_WICKETS: Final = 0.92
"""The fraction of T20 wickets that are credited to bowlers."""


def classify(runs_batter: int, extras: Mapping[str, int], *, counted_wicket: bool) -> str:
    """Return the outcome class of one delivery. Every value of ``extras`` must be positive.

    The classes are tried in this order: counted wicket, wide, no-ball, runs off the bat, byes or
    leg byes, ``0``. Seven or more runs off the bat count as ``6``.
    """
    if counted_wicket:
        return "W"
    if "wides" in extras:
        return "wd"
    if "noballs" in extras:
        return "nb"
    if runs_batter:
        return str(min(runs_batter, 6))
    return "bye" if "byes" in extras or "legbyes" in extras else "0"


def parse_outcome(name: str) -> str:
    """Return the code of an outcome: ``6`` for ``six``. An unknown name is returned unchanged."""
    things = {names.thing: code for code, names in OUTCOME_NAMES.items()}
    codes = {"w": "W"} | things | OUTCOME_BY_NAME
    return name if name in OUTCOME_INDEX else codes.get(name.strip().lower(), name)


class Facts(dict[str, Any]):
    """An immutable dictionary that can be hashed: ``{"winner": "India", "by": {"runs": 11}}``.

    Nested dictionaries become ``Facts``, and lists become tuples.
    """

    __slots__ = ()

    def __init__(self, items: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        super().__init__(items or {}, **more)
        for key, value in self.items():
            if isinstance(value, dict | list):
                super().__setitem__(key, _frozen(value))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("facts cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = setdefault = pop = popitem = clear = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has no hash
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"Facts({super().__repr__()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Facts, (dict(self),))

    @classmethod
    def not_none(cls, **facts: Any) -> Facts:
        """Build an object from the facts that are not ``None``."""
        return cls({name: fact for name, fact in facts.items() if fact is not None})

    def plain(self) -> Json:
        """Return the facts as dictionaries and lists, for JSON."""
        return {key: plain(value) for key, value in self.items()}


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return Facts(value)
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value


def plain(value: Any) -> Any:
    """Return a value for JSON: `Facts` become dictionaries, and tuples become lists."""
    if isinstance(value, Facts):
        return value.plain()
    return list(map(plain, value)) if isinstance(value, tuple) else value


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "�" for sign in text)


@dataclass(frozen=True, slots=True)
class Player:
    """A player: the name in the file, and the registry id if known. Compare players by `key`."""

    name: str
    id: str | None = None

    @property
    def key(self) -> str:
        """The identity of the player: the registry id, or the name if there is no id."""
        return self.id or self.name

    def __str__(self) -> str:
        return self.name


UNKNOWN_PLAYER = Player("not known")
"""A placeholder for a player whom neither the file nor the rules determine."""


@dataclass(frozen=True, slots=True)
class Wicket:
    """A dismissal or a retirement. Fielders whom the file does not name are left out."""

    kind: str
    player_out: Player
    fielders: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the team loses a wicket: false for ``retired hurt`` and ``retired not out``."""
        return self.kind not in UNCOUNTED_WICKETS


class Delivery(NamedTuple):
    """One delivery, and the score before it was bowled.

    Attributes:
        index: the position in the innings, counted from 1; wides and no-balls count.
        over: the over in the file, counted from 0.
        label: the file's name for the ball, as text (``"7.10"`` is not ``"7.1"``).
        actual_delivery: the over and the legal ball, as shown on television; ``None`` if unknown.
        runs_batter, runs_extras, runs_total: the runs off the bat, the extras, and their sum.
        extras: positive runs by kind: ``wides``, ``noballs``, ``byes``, ``legbyes``, ``penalty``.
        outcome: one of `attnlens.cricket.match.match.OUTCOMES`.
        score_before: the team's score before the delivery, including penalty runs already awarded.
        wickets_before, legal_balls_before: the wickets and the legal balls before the delivery.
        non_boundary: whether the batters ran a four or six, according to the file.
    """

    index: int  # type: ignore[assignment]  # a position; tuple.index is a method
    over: int
    label: str
    actual_delivery: str | None
    is_legal: bool
    batter: Player
    non_striker: Player
    bowler: Player
    runs_batter: int
    runs_extras: int
    runs_total: int
    extras: Facts
    wickets: tuple[Wicket, ...]
    outcome: str
    score_before: int
    wickets_before: int
    legal_balls_before: int
    non_boundary: bool = False

    @property
    def faced(self) -> bool:
        """Whether the delivery counts as a ball faced: every delivery except a wide."""
        return "wides" not in self.extras

    @property
    def boundary(self) -> bool:
        """Whether the ball is a four or a six that reached the boundary. No-balls are included."""
        return self.runs_batter in (4, 6) and not self.non_boundary

    @property
    def bowlers_wickets(self) -> int:
        """The number of wickets credited to the bowler."""
        return sum(wicket.kind not in NOT_THE_BOWLERS for wicket in self.wickets)


@dataclass(frozen=True, slots=True)
class Powerplay:
    """A powerplay that the file states.

    Attributes:
        first, last: the first and the last ball, as pairs of over and delivery: ``(5, 10)``.
        kind: ``mandatory``, ``batting`` or ``fielding``.
    """

    first: tuple[int, int]
    last: tuple[int, int]
    kind: str

    def __contains__(self, ball: Delivery) -> bool:
        over, _, number = ball.label.partition(".")
        return self.first <= (int(over), int(number or 0)) <= self.last


class Doubt(NamedTuple):
    """An impossible or implausible event in a match.

    Attributes:
        kind: the name of the check, such as a rule in `attnlens.cricket.match.doubts.RULES`.
        problem: a sentence that describes the event.
        innings, over, ball: the innings (counted from 1), the over, and the ball's label.
        refused: whether the match is refused because of this doubt.
        position: the ball's position in the match, counted from 1.
        field: the field whose stated value cannot be true, as in `StatedField`.
    """

    kind: str
    problem: str
    innings: int | None = None
    over: int | None = None
    ball: str | None = None
    refused: bool = False
    position: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        """Return the location of the doubt, followed by ``problem``."""
        if self.innings is None:
            return self.problem
        return f"innings {self.innings}{f', ball {self.ball}' if self.ball else ''}: {self.problem}"


DERIVED: Final = "derived"
AGREES: Final = "agrees"
CONTRADICTS: Final = "contradicts"
UNWITNESSED: Final = "unwitnessed"


class StatedField(NamedTuple):
    """A stated value of a field, and whether the rest of the file confirms the value.

    Attributes:
        field: the path in Cricsheet JSON without ``info``: ``outcome.by.wickets``,
            ``innings.2.target.runs``. The path of a ball's field begins with ``deliveries``.
        stated: the stated value, or ``None``. For a ball's field, the number of balls with the
            field.
        derived: the value that the rest of the file determines, or ``None``.
        status: ``derived``: the balls determine the value. ``agrees``: another statement confirms
            the value. ``contradicts``: the value is impossible, or inconsistent with the rest of
            the file. ``unwitnessed``: nothing confirms the value.
    """

    field: str
    stated: Any
    derived: Any
    status: str


@dataclass(frozen=True, slots=True, repr=False)
class Innings:
    """One side's innings.

    Attributes:
        number: counted from 1. In a limited-overs match, the first super over has number 3.
        target: the runs needed to win; ``None`` if the target is unknown or does not exist.
        target_balls: the number of legal balls in which the chasing side must reach the target.
        penalty_runs: runs awarded outside any delivery, ``{"pre": 0, "post": 5}``.
        declared: whether the side declared; ``None`` if the format does not record declarations.
        set_later: a target that was set after the chase began: ``{"runs": 44, "balls": 44}``.
            ``target`` and ``target_balls`` are then those of a match without rain.
        powerplays: the powerplays in order; empty if the file has none.
        miscounted: pairs ``(over, legal balls)`` for the overs marked as miscounted in the file.
    """

    number: int
    batting_team: str
    bowling_team: str
    deliveries: tuple[Delivery, ...]
    super_over: bool
    target: int | None
    target_balls: int | None
    penalty_runs: Facts
    declared: bool | None
    balls_per_over: int = 6
    set_later: Facts = field(default_factory=Facts)
    # Only JSON has these fields, so they are ignored when two files of one match are compared.
    powerplays: tuple[Powerplay, ...] = field(default=(), compare=False)
    miscounted: tuple[tuple[int, int], ...] = field(default=(), compare=False)

    @property
    def total(self) -> int:
        penalties: int = self.penalty_runs.get("pre", 0) + self.penalty_runs.get("post", 0)
        return sum(ball.runs_total for ball in self.deliveries) + penalties

    @property
    def wickets(self) -> int:
        return sum(wicket.counts for ball in self.deliveries for wicket in ball.wickets)

    @property
    def legal_balls(self) -> int:
        return sum(ball.is_legal for ball in self.deliveries)

    @property
    def extras(self) -> int:
        """Runs from extras, without penalty runs outside a delivery."""
        return sum(ball.runs_extras for ball in self.deliveries)

    @property
    def overs_display(self) -> str:
        """Overs as on a scorecard: ``"19.4"``. A finished over counts as one, miscounted or not."""
        if not self.deliveries:
            return "0.0"
        last_over = self.deliveries[-1].over
        first_over = self.deliveries[0].over
        legal = sum(ball.is_legal for ball in self.deliveries if ball.over == last_over)
        overs = last_over - first_over
        if legal >= self.balls_per_over:
            return f"{overs + 1}.0"
        return f"{overs}.{legal}"

    def __str__(self) -> str:
        return f"{self.batting_team} {self.total}/{self.wickets} ({self.overs_display})"

    def __repr__(self) -> str:
        return _printable(f"<Innings {self.number}: {self}, {len(self.deliveries)} deliveries>")


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """A match.

    Attributes:
        match_id: the id stated in the file, or the stem of the file's name.
        match_type: ``T20``, ``IT20``, ``ODI``, ``ODM``, ``Test`` or ``MDM``; ``None`` if unknown.
        overs: the number of overs for each side; ``None`` in unlimited cricket.
        teams: the two sides, in the order of the file.
        source: the path of the match file, for messages.
        notes: sentences about missing facts, oddities, corrections and doubts.
        players: the names in each team's squad, if the format has squads.
        team_type: ``international`` or ``club``, if the format states it.
        doubts: implausible events, with their locations.
        statements: the status of every stated field.
    """

    match_id: str
    match_type: str | None
    gender: str | None
    dates: tuple[datetime.date, ...]
    season: str | None
    event: Facts
    venue: str | None
    city: str | None
    teams: tuple[str, ...]
    toss: Facts
    outcome: Facts
    overs: int | None
    balls_per_over: int
    innings: tuple[Innings, ...]
    source: str
    notes: tuple[str, ...] = ()
    # Only some formats have these fields, so they are ignored when two files of one match are
    # compared.
    players: Facts = field(default_factory=Facts, compare=False)
    team_type: str | None = field(default=None, compare=False)
    doubts: tuple[Doubt, ...] = field(default=(), compare=False)
    statements: tuple[StatedField, ...] = field(default=(), compare=False, repr=False)

    @property
    def date(self) -> datetime.date | None:
        """The first day of the match, or ``None`` if the file has no date."""
        return self.dates[0] if self.dates else None

    def contradicts(self, prefix: str) -> bool:
        """Return whether a field (such as ``outcome``) or one of its subfields is contradicted."""
        return any(
            statement.status == CONTRADICTS and f"{statement.field}.".startswith(f"{prefix}.")
            for statement in self.statements
        )

    @property
    def content(self) -> str:
        """Every field except the source and the statements, as text for comparing files."""
        parts: tuple[Match | Innings, ...] = (self, *self.innings)
        match, *innings = ({f.name: getattr(part, f.name) for f in fields(part)} for part in parts)
        del match["source"], match["statements"]
        return repr({**match, "innings": innings})

    def __str__(self) -> str:
        kind = self.match_type or "match"
        sides = " v ".join(self.teams) or "unknown teams"
        where = f" at {self.venue}" if self.venue else ""
        when = f", {self.date.isoformat()}" if self.date else ""
        scores = "; ".join(map(str, self.innings))
        return f"{kind}: {sides}{where}{when}" + (f" | {scores}" if scores else "")

    def __repr__(self) -> str:
        return _printable(f"<Match {self.match_id}: {self}>")


def match_particulars(match: Match, innings: Innings) -> Json:
    """Return the identity of the match and the two sides of the innings, for JSON."""
    return {
        **{name: getattr(match, name) for name in ("match_id", "match_type", "gender")},
        "dates": [day.isoformat() for day in match.dates],
        "venue": match.venue,
        "teams": list(match.teams),
        "batting_team": innings.batting_team,
        "bowling_team": innings.bowling_team,
    }
