"""What is known of every ball before it is bowled, column by column, for the baselines.

The predictor is not fed sums of earlier balls: it reads them by attention. The baselines that it
is compared with get all of them: the scoreboard, what players and pairs have done in the innings,
the last balls, the ratings that the predictor has too, sums over everything an entity did on
earlier days (against what the scoreboard alone expected of those balls), and sums over this match
so far (against what scoreboard and ratings expected).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Flags, Floats32, Integers
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.match.competition import quota_of
from attnlens.cricket.match.match import Delivery
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.ratings import softmax, team_key, venue_key
from attnlens.cricket.predictor.tensors import RATING_SCALE, InningsArrays, free_hits

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BallTable:
    """Every ball of many innings, in order; arrays ``(balls,)``, some ``(balls, 11)``.

    Attributes:
        match, innings: numbers that grow with the rows.
        began, ended: the match's first and last day, as ordinals.
        batter to bowling_team: numbers over all matches.
        quota, target: legal balls the side may face, and runs needed to win; 0 for none.
        base: log-probabilities from the scoreboard alone ``(balls, 11)``.
        ratings: rating vectors by name of `_RATED`, each ``(balls, 11)``.
        met: balls the ratings have seen of each of those but the era ``(balls,)``.
        importance: the features of `match_importance` ``(balls, 20)``.
        position: the striker's place in the batting order.
    """

    match: Integers
    innings: Integers
    number: Integers
    began: Integers
    ended: Integers
    batter: Integers
    non_striker: Integers
    bowler: Integers
    venue: Integers
    batting_team: Integers
    bowling_team: Integers
    quota: Integers
    target: Integers
    won_toss: Flags
    over: Integers
    ball_in_over: Integers
    legal: Flags
    free_hit: Flags
    runs_batter: Integers
    runs_total: Integers
    bowlers_runs: Integers
    bowlers_wicket: Flags
    boundary: Flags
    dot: Flags
    score: Integers
    wickets: Integers
    legal_before: Integers
    outcome: Integers
    base: Floats32
    ratings: dict[str, Floats32]
    met: dict[str, Floats32]
    importance: Floats32
    position: Floats32

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def people(self) -> int:
        """How many players there are."""
        return int(max(self.batter.max(), self.non_striker.max(), self.bowler.max())) + 1

    def was(self, outcome: str) -> Flags:
        """Whether each ball was that outcome."""
        flags: Flags = self.outcome == OUTCOME_INDEX[outcome]
        return flags


_RATED: Final = ("striker", "bowler", "venue", "batting_team", "bowling_team", "era")
_ROLES: Final = ("batter", "non_striker", "bowler")
_OF_A_BALL: Final[dict[str, Callable[[Delivery], int]]] = {
    "runs_batter": lambda ball: ball.runs_batter,
    "runs_total": lambda ball: ball.runs_total,
    "bowlers_runs": lambda ball: (
        ball.runs_batter + ball.extras.get("wides", 0) + ball.extras.get("noballs", 0)
    ),
    "bowlers_wicket": lambda ball: ball.bowlers_wickets > 0,
    "legal": lambda ball: ball.is_legal,
    "score": lambda ball: ball.score_before,
    "wickets": lambda ball: ball.wickets_before,
    "legal_before": lambda ball: ball.legal_balls_before,
}


def ball_table(encoded: Sequence[EncodedInnings]) -> BallTable:
    """Innings, in order of date, as one table.

    Both innings of a match have to be there for the second to know of the first.
    """
    people, places, sides, matches = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    ids: dict[str, str] = {}
    parts: list[dict[str, NDArray[Any]]] = []
    for index, one in enumerate(encoded):
        match, innings = one.match, one.side
        balls = innings.deliveries
        players = {role: [getattr(ball, role) for ball in balls] for role in _ROLES}
        for role in _ROLES:
            for player in players[role]:
                if player.id:
                    ids.setdefault(player.name, player.id)
        same = {
            "match": matches[match.match_id],
            "innings": index,
            "number": innings.number,
            "began": (match.date or datetime.date.min).toordinal(),
            "ended": max(match.dates, default=datetime.date.min).toordinal(),
            "venue": places[venue_key(match)],
            "batting_team": sides[team_key(match, innings.batting_team)],
            "bowling_team": sides[team_key(match, innings.bowling_team)],
            "quota": quota_of(match, innings) or 0,
            "target": innings.target or 0,
            "won_toss": match.toss.get("winner") == innings.batting_team,
        }
        parts.append(
            {
                **{name: np.full(len(balls), value) for name, value in same.items()},
                **{
                    role: np.array([people[p.id or ids.get(p.name, p.name)] for p in some])
                    for role, some in players.items()
                },
                **{name: np.array([*map(read, balls)]) for name, read in _OF_A_BALL.items()},
                "free_hit": np.array(free_hits(balls)),
                **_encoded(one.arrays),
            }
        )
    if not parts:
        raise ValueError("a table needs at least one innings")
    flat = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    ratings = {name: flat.pop(f"rating {name}") for name in _RATED}
    met = {name: flat.pop(f"met {name}") for name in _RATED if name != "era"}
    return BallTable(**flat, ratings=ratings, met=met)


class _Numbers(dict[str, int]):
    """A number for every name, in order of first asking."""

    def __missing__(self, name: str) -> int:
        return self.setdefault(name, len(self))


def _encoded(arrays: InningsArrays) -> dict[str, NDArray[Any]]:
    """Columns that an innings' arrays have already."""
    nodes = arrays.nodes
    batting, bowling = nodes["team_context"][:, :12], nodes["team_context"][:, 12:]
    told = {
        "striker": (arrays.ratings["striker"], nodes["batsman_identity"]),
        "bowler": (arrays.ratings["bowler"], nodes["bowler_identity"]),
        "venue": (arrays.ratings["venue"], nodes["venue"]),
        "batting_team": (batting[:, :11] / RATING_SCALE, batting),
        "bowling_team": (bowling[:, :11] / RATING_SCALE, bowling),
    }
    return {
        **{
            name: getattr(arrays, name)
            for name in ("over", "ball_in_over", "boundary", "dot", "outcome", "base")
        },
        **{f"rating {name}": rating for name, (rating, _) in told.items()},
        **{f"met {name}": node[:, 11] for name, (_, node) in told.items()},
        "rating era": arrays.ratings["era"],
        "importance": nodes["match_importance"],
        "position": nodes["batsman_identity"][:, 12] * 11,
    }


class Groups:
    """Balls that share a key ``(n,)``; each knows those of its group that came before it.

    ``time`` is the order within a group where the rows are not in order already.
    """

    def __init__(self, key: Integers, time: Integers | None = None) -> None:
        self._order = np.argsort(key, kind="stable") if time is None else np.lexsort((time, key))
        ordered = key[self._order]
        place = np.arange(len(key))
        first = np.ones(len(key), bool)
        first[1:] = ordered[1:] != ordered[:-1]
        self._place = place
        self._start = np.maximum.accumulate(np.where(first, place, 0))

    def _back(self, ordered: NDArray[Any]) -> NDArray[Any]:
        result = np.empty_like(ordered)
        result[self._order] = ordered
        return result

    def count(self) -> Integers:
        """How many came before."""
        return self._back(self._place - self._start)

    def sums(self, values: NDArray[Any], last: int | None = None) -> NDArray[Any]:
        """Sums, or counts of flags, over those before, or the ``last`` of them, same shape."""
        exact = np.float64 if np.issubdtype(values.dtype, np.floating) else np.int64
        running = np.zeros((len(values) + 1, *values.shape[1:]), exact)
        np.cumsum(values[self._order], axis=0, out=running[1:], dtype=exact)
        low = self._start if last is None else np.maximum(self._start, self._place - last)
        return self._back(running[self._place] - running[low])

    def since(self, flags: Flags) -> Integers:
        """How many came after the last one that ``happened``; all of them if none did."""
        at = np.where(flags[self._order], self._place + 1, 0)
        latest = np.concatenate([[0], np.maximum.accumulate(at)[:-1]])
        return self._back(self._place - np.maximum(latest, self._start))

    def earlier(self, values: NDArray[Any], steps: int = 1, fill: int = -1) -> NDArray[Any]:
        """The value ``steps`` before in the group, ``fill`` where there is none."""
        at = self._place - steps
        there = at >= self._start
        return self._back(np.where(there, values[self._order][np.where(there, at, 0)], fill))


class Ledger:
    """What entities, ``key`` ``(n,)``, did on earlier days.

    A ball counts for matches that ``began`` after its own had ``ended``.
    """

    def __init__(self, key: Integers, began: Integers, ended: Integers) -> None:
        first = int(min(began.min(), ended.min()))
        span = int(max(began.max(), ended.max())) - first + 1
        known = key * span + (ended - first)
        self._order = np.argsort(known, kind="stable")
        ordered = known[self._order]
        self._low = np.searchsorted(ordered, key * span)
        self._high = np.searchsorted(ordered, key * span + (began - first))

    def sums(self, values: NDArray[Any]) -> Doubles:
        """Sums over the entity's balls of earlier days, ``(n,)`` or ``(n, columns)``."""
        running = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values[self._order], axis=0, out=running[1:])
        return running[self._high] - running[self._low]


Columns = Iterator[tuple[str, NDArray[Any]]]

_WIDEST_GAP: Final = 40
"""Balls since something are counted up to here: what is longer ago is long ago."""

_SHRINKAGE: Final[dict[str, float]] = {
    "striker": 80.0,
    "bowler": 80.0,
    "venue": 150.0,
    "pair": 60.0,
}
"""Balls of the expectation that an entity's record is mixed with."""

_FADING: Final = 365.0
"""Days in which what happened comes to count half, for recent form."""

_COUNTED: Final = ("0", "1", "2", "4", "6", "W", "wd")
"""Outcomes frequent enough for a sum over one match to tell anything."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """What the baselines know of each ball, ``(balls, columns)``; and ``(balls,)`` what happened.

    Outcomes of single earlier balls are class numbers, -1 for none; ``match`` numbers the matches.
    """

    names: tuple[str, ...]
    values: Floats32
    outcome: Integers
    match: Integers

    def __len__(self) -> int:
        return len(self.outcome)

    def column(self, name: str) -> Floats32:
        values: Floats32 = self.values[:, self.names.index(name)]
        return values

    def rows(self, chosen: NDArray[Any] | slice) -> FeatureTable:
        """Some of the balls."""
        return FeatureTable(
            self.names, self.values[chosen], self.outcome[chosen], self.match[chosen]
        )


def feature_table(encoded: Sequence[EncodedInnings]) -> FeatureTable:
    """Features of every ball of ``encoded``, innings in order of date.

    Each ball's row uses the balls before it in its match and the matches that ended before its
    match began: all that is known of earlier days has to be there.
    """
    balls = ball_table(encoded)
    names: list[str] = []
    columns: list[Floats32] = []
    for name, values in _columns(balls):
        table = values if values.ndim == 2 else values[:, None]
        of = _COUNTED if table.shape[1] == len(_COUNTED) else OUTCOMES
        names += [name] if values.ndim == 1 else [f"{name} {outcome}" for outcome in of]
        columns.append(table.astype(np.float32))
    values = np.concatenate(columns, axis=1)
    return FeatureTable(tuple(names), values, balls.outcome, balls.match)


def _columns(balls: BallTable) -> Columns:
    """Every column; those by outcome are ``(balls, 11)``, or by `_COUNTED` ``(balls, 7)``."""
    innings = balls.innings * balls.people
    bowler = Groups(innings + balls.bowler)
    for part in (_scoreboard, _first_innings):
        yield from part(balls)
    yield from _striker(balls, Groups(innings + balls.batter))
    yield from _stand(balls, innings)
    yield from _bowler(balls, bowler)
    yield from _this_over(balls)
    yield from _meeting(balls, Groups((innings + balls.batter) * balls.people + balls.bowler))
    yield "bowlers used", Groups(balls.innings).sums(bowler.count() == 0)
    for part in (_lately, _singly, _ratings, _records, _surprises):
        yield from part(balls)


def _scoreboard(balls: BallTable) -> Columns:
    legal, score = balls.legal_before, balls.score
    limited = balls.quota > 0
    left = np.where(limited, np.maximum(balls.quota - legal, 1), 0)
    rate = _run_rate(balls)
    chasing = balls.target > 0
    required = np.where(chasing, np.maximum(balls.target - score, 0), 0)
    needed = np.where(chasing & limited, np.minimum(6 * required / np.maximum(left, 1), 36), 0)
    share = legal / np.where(limited, balls.quota, 120)
    wickets_left = np.maximum(10 - balls.wickets, 1)
    yield "second innings", balls.number % 2 == 0
    yield "over", balls.over
    yield "ball in over", balls.ball_in_over
    yield "legal balls", legal
    yield "balls left", left
    yield "quota", balls.quota
    yield "share of the innings", share
    yield "powerplay", share < 0.3
    yield "middle", (share >= 0.3) & (share < 0.75)
    yield "death", share >= 0.75
    yield "score", score
    yield "wickets", balls.wickets
    yield "run rate", rate
    yield "target", balls.target
    yield "required", required
    yield "required rate", needed
    yield "required over rate", np.where(chasing, needed - rate, 0)
    yield "required per ball and wicket", needed / wickets_left
    yield "balls per wicket left", left / wickets_left
    yield "projected", score + left * rate / 6
    yield "free hit", balls.free_hit
    yield "won the toss", balls.won_toss
    known = (
        *("world", "tournament", "year", "batting known", "bowling known"),
        *("women", "club", "five-ball overs"),
        *(f"level {outcome}" for outcome in OUTCOMES),
        "level known",
    )
    for number, name in enumerate(known):
        yield f"match {name}", balls.importance[:, number]


def _run_rate(balls: BallTable) -> Doubles:
    rate: Doubles = 6 * balls.score / np.maximum(balls.legal_before, 6)
    return rate


def _first_innings(balls: BallTable) -> Columns:
    """How the match's earlier innings went: run rate, wickets per ball, boundaries per ball."""
    so_far, this = Groups(balls.match), Groups(balls.innings)
    count = so_far.count() - this.count()
    earlier = {"runs": balls.runs_total, "wickets": balls.was("W"), "boundaries": balls.boundary}
    for name, values in earlier.items():
        per_ball = (so_far.sums(values) - this.sums(values)) / np.maximum(count, 1)
        yield f"earlier innings {name} per ball", per_ball
        if name == "runs":
            over = np.where(count > 0, _run_rate(balls) - 6 * per_ball, 0)
            yield "run rate over earlier innings", over


def _striker(balls: BallTable, striker: Groups) -> Columns:
    """What the striker has done in this innings."""
    runs, count = striker.sums(balls.runs_batter), striker.sums(~balls.was("wd"))
    yield "position", balls.position
    yield "striker runs", runs
    yield "striker balls", count
    yield "striker rate", (runs + 12) / (count + 10)
    yield "striker boundary", striker.sums(balls.boundary)
    yield "striker dot", striker.sums(balls.dot)
    yield "striker sixes", striker.sums(balls.was("6"))
    yield "striker dots in a row", striker.since(~balls.dot)
    yield "striker balls since boundary", np.minimum(striker.since(balls.boundary), _WIDEST_GAP)
    yield "striker runs last 6", striker.sums(balls.runs_batter, 6)
    yield "striker runs last 12", striker.sums(balls.runs_batter, 12)
    yield "striker last", striker.earlier(balls.outcome)
    yield "striker last but one", striker.earlier(balls.outcome, 2)
    yield "striker new", count == 0


def _stand(balls: BallTable, innings: Integers) -> Columns:
    """The batter at the other end, and what the two have made together."""
    # The other end's figures are those of his own balls as striker, asked at this ball.
    both = Groups(
        np.concatenate([innings + balls.batter, innings + balls.non_striker]),
        np.tile(np.arange(len(balls)), 2),
    )
    nothing = np.zeros(len(balls), np.int64)
    for name, values in (("runs", balls.runs_batter), ("balls", ~balls.was("wd"))):
        yield f"non-striker {name}", both.sums(np.concatenate([values, nothing]))[len(balls) :]
    stand = Groups(balls.innings * 12 + np.minimum(balls.wickets, 11))
    yield "stand runs", stand.sums(balls.runs_total)
    yield "stand balls", stand.count()


def _bowler(balls: BallTable, bowler: Groups) -> Columns:
    """What the bowler has done in this innings."""
    bowled, against = bowler.sums(balls.legal), bowler.sums(balls.bowlers_runs)
    yield "bowler balls", bowled
    yield "bowler runs", against
    yield "bowler economy", (against + 30) / (bowled + 24)
    yield "bowler wickets", bowler.sums(balls.bowlers_wicket)
    yield "bowler dots", bowler.sums(balls.dot)
    yield "bowler boundaries", bowler.sums(balls.boundary)
    yield "bowler wides", bowler.sums(balls.was("wd"))
    yield "bowler dots in a row", bowler.since(~balls.dot)
    yield "bowler balls since boundary", np.minimum(bowler.since(balls.boundary), _WIDEST_GAP)
    yield "bowler runs last 6", bowler.sums(balls.bowlers_runs, 6)
    yield "bowler runs last 12", bowler.sums(balls.bowlers_runs, 12)
    yield "bowler last", bowler.earlier(balls.outcome)
    place = np.arange(len(balls))
    gap = place - bowler.earlier(place, fill=-_WIDEST_GAP * 3)
    yield "bowler balls since his last", np.minimum(gap, _WIDEST_GAP * 3)
    yield "bowler overs", bowler.sums(bowler.earlier(balls.over) != balls.over)


def _this_over(balls: BallTable) -> Columns:
    over = Groups(balls.innings * 1000 + balls.over)
    now: dict[str, NDArray[Any]] = {
        "runs": balls.runs_total,
        "boundaries": balls.boundary,
        "wides": balls.was("wd"),
        "no-balls": balls.was("nb"),
        "wickets": balls.was("W"),
        "dots": balls.dot,
        "legal balls": balls.legal,
    }
    for name, values in now.items():
        yield f"this over {name}", over.sums(values)


def _meeting(balls: BallTable, meeting: Groups) -> Columns:
    """What this bowler and this batter have done to each other in the innings."""
    yield "meeting balls", meeting.count()
    yield "meeting runs", meeting.sums(balls.runs_batter)
    yield "meeting dots", meeting.sums(balls.dot)
    yield "meeting boundaries", meeting.sums(balls.boundary)


def _lately(balls: BallTable) -> Columns:
    """Sums over the last balls of the innings, whoever played them."""
    innings = Groups(balls.innings)
    lately: dict[str, NDArray[Any]] = {
        "runs": balls.runs_total,
        "dots": balls.dot,
        "boundaries": balls.boundary,
        "wickets": balls.was("W"),
        "wides": balls.was("wd"),
    }
    for name, values in lately.items():
        for last in (6, 12):
            yield f"{name} last {last}", innings.sums(values, last)
    for name, reach in (("runs", (24, 36)), ("wickets", (18, 24))):
        for last in reach:
            yield f"{name} last {last}", innings.sums(lately[name], last)
    yield "dots in a row", innings.since(~balls.dot)
    events = {"boundary": balls.boundary, "wicket": balls.was("W"), "six": balls.was("6")}
    for name, event in events.items():
        yield f"balls since {name}", np.minimum(innings.since(event), _WIDEST_GAP)
    for name in ("wd", "nb", "6", "4", "bye"):
        yield f"innings {name}", innings.sums(balls.was(name))


def _singly(balls: BallTable) -> Columns:
    """The balls just before, one by one, and the over before."""
    innings = Groups(balls.innings)
    for steps in (1, 2, 3):
        yield f"outcome {steps} before", innings.earlier(balls.outcome, steps)
    yield "same striker", innings.earlier(balls.batter) == balls.batter
    yield "same bowler", innings.earlier(balls.bowler) == balls.bowler

    # The over before: all balls up to the last one of an earlier over, less those before it.
    total = innings.sums(balls.runs_total)
    over = Groups(balls.innings * 1000 + balls.over)
    at_start = total - over.sums(balls.runs_total)
    first = over.count() == 0
    starts = Groups(np.where(first, balls.innings, -1 - np.arange(len(balls))))
    before = np.where(first, at_start - starts.earlier(at_start, fill=0), 0)
    yield "previous over", over.sums(before * first) + before


def _ratings(balls: BallTable) -> Columns:
    """The ratings, their joint expectation, and how much they rest on."""
    yield "expected", np.log(np.maximum(_expected(balls), 1e-9))
    for name in _RATED:
        yield f"rating {name}", balls.ratings[name]
    for name, count in balls.met.items():
        yield f"met {name}", count


def _records(balls: BallTable) -> Columns:
    """Records of earlier days: outcomes against expectation, runs and wickets per ball."""
    happened = np.zeros((len(balls), len(OUTCOMES)), np.float32)
    happened[np.arange(len(balls)), balls.outcome] = 1
    expected = softmax(balls.base)
    keys = {
        "striker": balls.batter,
        "bowler": balls.bowler,
        "venue": balls.venue,
        "pair": balls.batter * (int(balls.bowler.max()) + 1) + balls.bowler,
    }
    # Recent form: weights halve every year. They grow with the day here; only ratios are used.
    weight = np.exp2((balls.ended - balls.ended.min()) / _FADING)
    now = np.exp2((balls.began - balls.ended.min()) / _FADING)
    for name, key in keys.items():
        shrink = _SHRINKAGE[name]
        ledger = Ledger(key, balls.began, balls.ended)
        count = ledger.sums(np.ones(len(balls)))
        yield (
            f"record {name}",
            _log_ratio(ledger.sums(happened), ledger.sums(expected), count, shrink),
        )
        if name == "pair":
            yield "met pair", np.log1p(count)
            continue
        for what, values, usual in (
            ("runs", balls.runs_total, 1.2),
            ("wickets", balls.was("W"), 0.05),
        ):
            rate = (ledger.sums(values) + usual * shrink) / (count + shrink)
            yield f"{name} {what} per ball", rate
        if name == "venue":
            continue
        late = ledger.sums(weight[:, None] * happened) / now[:, None]
        due = ledger.sums(weight[:, None] * expected) / now[:, None]
        yield f"form {name}", _log_ratio(late, due, ledger.sums(weight) / now, shrink / 2)


def _surprises(balls: BallTable) -> Columns:
    """Outcomes minus expectation, summed over the balls before this one in the match."""
    counted = [OUTCOME_INDEX[outcome] for outcome in _COUNTED]
    surprise = -_expected(balls)
    surprise[np.arange(len(balls)), balls.outcome] += 1
    surprise = surprise[:, counted].astype(np.float64)
    innings, match = Groups(balls.innings), Groups(balls.match)
    for last, shrink in ((12, 12), (36, 30)):
        number = np.minimum(innings.count(), last)[:, None]
        yield f"surprise last {last}", innings.sums(surprise, last) / (number + shrink)
    sums: dict[str, tuple[Groups, int]] = {
        "innings": (innings, 60),
        "match": (match, 120),
        "striker": (Groups(balls.innings * balls.people + balls.batter), 20),
        "bowler": (Groups(balls.innings * balls.people + balls.bowler), 20),
    }
    for name, (groups, shrink) in sums.items():
        yield f"surprise {name}", groups.sums(surprise) / (groups.count() + shrink)[:, None]
    before = match.count() - innings.count()
    earlier = match.sums(surprise) - innings.sums(surprise)
    yield "surprise earlier innings", earlier / (before + 60)[:, None]


def _expected(balls: BallTable) -> Floats32:
    """Probabilities from scoreboard and ratings, ``(balls, 11)``."""
    return softmax(balls.base + sum(balls.ratings[name] for name in _RATED))


def _log_ratio(actual: Doubles, due: Doubles, count: Doubles, shrink: float) -> Doubles:
    """Log of actual over expected, each mixed with ``shrink`` balls of the expectation."""
    rate = actual / np.maximum(due, 1e-9)
    number = count[:, None]
    result: Doubles = np.log((number * rate + shrink) / (number + shrink))
    return result
