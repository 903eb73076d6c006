"""A match as attnlens sees it: frozen values, the same whatever file they came from."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, get_args

from attnlens.files import Json

Outcome = Literal["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""The classes the models predict, in the order of every probability vector."""

OUTCOME_INDEX: Final[dict[str, int]] = {name: position for position, name in enumerate(OUTCOMES)}


class OutcomeNames(NamedTuple):
    """The names of an outcome: in a sentence, in an id, beside a figure, and others."""

    words: str
    thing: str
    label: str
    synonyms: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """``words`` without the article: ``dot ball``."""
        return self.words.removeprefix("a ")


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
"""Outcomes by what a text calls them, beside their codes."""

UNCOUNTED_WICKETS: Final[frozenset[str]] = frozenset({"retired hurt", "retired not out"})
"""Ways to leave the field that are not a wicket (Laws of Cricket, 25.4)."""

NOT_THE_BOWLERS: Final[frozenset[str]] = UNCOUNTED_WICKETS | {
    "run out",
    "retired out",
    "obstructing the field",
    "handled the ball",
    "hit the ball twice",
    "timed out",
}
"""Dismissals that are not credited to the bowler."""

DISMISSALS: Final[frozenset[str]] = NOT_THE_BOWLERS | {
    "bowled",
    "caught",
    "caught and bowled",
    "hit wicket",
    "lbw",
    "stumped",
}
"""Every way to leave the field, as Cricsheet calls it."""


BOWLERS_SHARE_OF_WICKETS: Final = 0.92
"""The share of wickets in T20 cricket that are credited to the bowler."""


def classify(runs_batter: int, extras: Mapping[str, int], *, counted_wicket: bool) -> str:
    """The outcome class of one delivery, whose ``extras`` are runs by the kinds that occurred.

    A counted wicket comes first; else a wide; else a no-ball; else runs off the
    bat (7 or more count as 6); else ``bye`` when byes or leg byes ran; else ``0``.
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
    """An outcome's code by what it is called: ``six`` is ``6``; any other name stays."""
    small = name.strip().lower()
    things = {names.thing: code for code, names in OUTCOME_NAMES.items()}
    return (
        name if name in OUTCOME_INDEX else ({"w": "W"} | things | OUTCOME_BY_NAME).get(small, name)
    )


class Facts(Mapping[str, Any]):
    """A small mapping that cannot change: ``{"winner": "India", "by": {"runs": 11}}``.

    It compares equal to any mapping with the same items, hashes, and pickles.
    Nested dictionaries become ``Facts`` and lists become tuples.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        merged = {**(items or {}), **more}
        self._items = {key: _frozen(value) for key, value in merged.items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    # Those of a Mapping call `__getitem__` and catch its error, which costs several times as much.
    def __contains__(self, key: object) -> bool:
        return key in self._items

    def get(self, key: str, default: Any = None) -> Any:
        return self._items.get(key, default)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"Facts({self._items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Facts, (dict(self._items),))

    @classmethod
    def not_none(cls, **facts: Any) -> Facts:
        """Of these facts those that are not ``None``."""
        return cls({name: fact for name, fact in facts.items() if fact is not None})

    def plain(self) -> Json:
        """The same as dictionaries and lists, for JSON."""
        return {key: plain(value) for key, value in self._items.items()}


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return Facts(value)
    if isinstance(value, list):
        return tuple(_frozen(member) for member in value)
    return value


def _fields(value: Match | Innings) -> dict[str, Any]:
    return {member.name: getattr(value, member.name) for member in fields(value)}


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "�" for sign in text)


def plain(value: Any) -> Any:
    """Facts and tuples as dictionaries and lists, for JSON; anything else as it is."""
    if isinstance(value, Facts):
        return value.plain()
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    return value


@dataclass(frozen=True, slots=True)
class Player:
    """A player: the name as the file spells it and the registry id where it is known.

    Two players with ids are the same when the ids are; otherwise names decide.
    """

    name: str
    id: str | None = None

    @property
    def key(self) -> str:
        """What identifies the player: the registry id, else the name."""
        return self.id or self.name

    def __str__(self) -> str:
        return self.name


UNKNOWN_PLAYER = Player("not known")
"""Stands for a player whom the format does not name and the rules cannot determine."""


@dataclass(frozen=True, slots=True)
class Wicket:
    """Someone left the field: bowled, run out, retired hurt, and so on.

    ``fielders`` holds names; a fielder the file does not name is left out.
    """

    kind: str
    player_out: Player
    fielders: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it is a wicket: every kind but retired hurt and retired not out."""
        return self.kind not in UNCOUNTED_WICKETS


class Delivery(NamedTuple):
    """One delivery, and the score as it stood before it was bowled.

    A tuple is made in a third of the time that a frozen dataclass takes, a seventh of reading.

    Attributes:
        index: position in the innings, from 1, wides and no-balls included.
        over: the over as the file labels it, from 0.
        label: the file's name for the ball, as text (``"7.10"`` is not ``"7.1"``).
        actual_delivery: over and legal ball, as television says it; ``None``
            where the file has too little to work it out.
        runs_batter, runs_extras, runs_total: runs on this delivery.
        extras: runs by kind, only the kinds that occurred:
            ``wides noballs byes legbyes penalty``.
        outcome: one of `attnlens.cricket.match.match.OUTCOMES`.
        score_before: runs, with penalty runs already awarded.
        wickets_before, legal_balls_before: counted in this innings.
        non_boundary: whether the file says that a four or a six was all run;
            formats without the column leave it ``False``.
    """

    index: int  # type: ignore[assignment]  # a position, where a tuple has a method
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
        """Whether it counts as a ball faced: every delivery but a wide."""
        return "wides" not in self.extras

    @property
    def boundary(self) -> bool:
        """Whether the batter hit a four or a six to the rope, also off a no-ball."""
        return self.runs_batter in (4, 6) and not self.non_boundary

    @property
    def bowlers_wickets(self) -> int:
        """Wickets that are credited to the bowler."""
        return sum(wicket.kind not in NOT_THE_BOWLERS for wicket in self.wickets)


@dataclass(frozen=True, slots=True)
class Powerplay:
    """Balls during which the field was restricted, as the file has them.

    Attributes:
        first, last: the over and the delivery in it, as in labels: ``(0, 1)`` to ``(5, 10)``.
        kind: ``mandatory``, ``batting`` or ``fielding``.
    """

    first: tuple[int, int]
    last: tuple[int, int]
    kind: str

    def __contains__(self, ball: Delivery) -> bool:
        over, _, number = ball.label.partition(".")
        return self.first <= (int(over), int(number or 0)) <= self.last


class Doubt(NamedTuple):
    """Something in a match that cannot be, or is hard to believe.

    Attributes:
        kind: a name in `attnlens.cricket.match.doubts.RULES`.
        problem: a sentence.
        innings, over, ball: the innings from 1, the over and the ball's label in the file.
        refused: whether the match is refused for it.
        position: the ball's position in the match, from 1.
        field: the stated field that cannot be true, as in `StatedField`.
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
        """The sentence after its place."""
        if self.innings is None:
            return self.problem
        return f"innings {self.innings}{f', ball {self.ball}' if self.ball else ''}: {self.problem}"


DERIVED: Final = "derived"
AGREES: Final = "agrees"
CONTRADICTS: Final = "contradicts"
UNWITNESSED: Final = "unwitnessed"


class StatedField(NamedTuple):
    """A field that a file states of its match, and what the rest of the file shows of it.

    Attributes:
        field: a path in Cricsheet JSON without ``info``, innings from 1: ``outcome.by.wickets``,
            ``innings.2.target.runs``. A field of the balls is ``deliveries.wickets.kind``.
        stated: its value; of the balls, on how many it is stated; ``None`` where the file has none.
        derived: the value that follows from the rest of the file, ``None`` where none does.
        status: ``derived`` where the balls determine it, and the file states the same or nothing;
            ``agrees`` where another statement confirms it; ``contradicts`` where it cannot be true
            beside the balls or another statement; ``unwitnessed`` otherwise.
    """

    field: str
    stated: Any
    derived: Any
    status: str


@dataclass(frozen=True, slots=True, repr=False)
class Innings:
    """One side's turn to bat.

    Attributes:
        number: from 1; super overs are 3 and up in a limited-overs match.
        target: runs needed to win; ``None`` where there is none or it is not known.
        target_balls: legal balls the chasing side has for it.
        penalty_runs: runs awarded outside any delivery, ``{"pre": 0, "post": 5}``.
        declared: whether the side declared; ``None`` where the format does not state it.
        set_later: the file's target, ``{"runs": 44, "balls": 44}``, where it was set after the
            chase began; ``target`` and ``target_balls`` are then those of a match without rain.
        powerplays: in order; none where the file has none.
        miscounted: overs in which the file says that the umpires miscounted, and their legal balls.
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
    # In JSON alone: two files of one match are equal.
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
        """Runs in extras on deliveries (penalty runs outside a delivery are not in it)."""
        return sum(ball.runs_extras for ball in self.deliveries)

    @property
    def overs_display(self) -> str:
        """Overs as a scorecard prints them: ``"19.4"``, of five balls in The Hundred.

        Overs that were finished count as overs whatever the umpire counted in
        them, so a miscounted over of seven balls is still one over.
        """
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
        match_id: the file's id, else the file's stem.
        match_type: ``T20 IT20 ODI ODM Test MDM``, or ``None`` where unknown.
        overs: overs a side was to face, ``None`` in unlimited cricket.
        teams: the two sides as listed.
        source: where it was read from, for messages.
        notes: what the format could not say, what was odd or repaired, and every doubt.
        players: the squads, team to names, where the format has them.
        team_type: ``international`` or ``club``, likewise.
        doubts: what is hard to believe, with its place.
        statements: every field that the file states, and whether the rest of it confirms that.
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
    # Told by some formats only, and by no ball: two files of one match are equal.
    players: Facts = field(default_factory=Facts, compare=False)
    team_type: str | None = field(default=None, compare=False)
    doubts: tuple[Doubt, ...] = field(default=(), compare=False)
    statements: tuple[StatedField, ...] = field(default=(), compare=False, repr=False)

    @property
    def date(self) -> datetime.date | None:
        """The first day, or ``None`` where the file has no date."""
        return self.dates[0] if self.dates else None

    def contradicts(self, prefix: str) -> bool:
        """Whether a stated field, such as ``outcome``, or one within it is contradicted."""
        return any(
            statement.status == CONTRADICTS and f"{statement.field}.".startswith(f"{prefix}.")
            for statement in self.statements
        )

    @property
    def content(self) -> str:
        """Every field but the source, as text: files of the same content have the same."""
        unread = ("source", "statements")
        values = {name: value for name, value in _fields(self).items() if name not in unread}
        return repr({**values, "innings": [_fields(innings) for innings in self.innings]})

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
    """Which match it was, and whose innings."""
    return {
        **{name: getattr(match, name) for name in ("match_id", "match_type", "gender")},
        "dates": [day.isoformat() for day in match.dates],
        "venue": match.venue,
        "teams": list(match.teams),
        "batting_team": innings.batting_team,
        "bowling_team": innings.bowling_team,
    }
