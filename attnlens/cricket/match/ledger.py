"""Compute scorecards, results and other scorebook figures from the deliveries of a match.

A no-ball counts as a ball faced. A wide does not count as a ball faced. A bowler is charged with
runs off the bat, wides and no-balls, but not with byes, leg byes or penalty runs. Run outs and
retirements are not credited to the bowler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from typing import Final, Literal, NamedTuple

from attnlens.cricket.match.competition import (
    ALL_OUT,
    BALLS_PER_OVER_OF_THE_HUNDRED,
    powerplay_share,
    quota_of,
)
from attnlens.cricket.match.match import (
    AGREES,
    DERIVED,
    Delivery,
    Facts,
    Innings,
    Match,
    Player,
    Wicket,
    plain,
)
from attnlens.errors import count
from attnlens.files import Json

EXTRAS: Final[tuple[tuple[str, str], ...]] = (
    ("byes", "b"),
    ("legbyes", "lb"),
    ("wides", "w"),
    ("noballs", "nb"),
    ("penalty", "pen"),
)
"""The kinds of extras and their abbreviations on a scorecard."""

_HOW_OUT: Final = {
    "caught": ("c {fielders} b {bowler}", "caught b {bowler}"),
    "caught and bowled": ("c & b {bowler}",) * 2,
    "bowled": ("b {bowler}",) * 2,
    "lbw": ("lbw b {bowler}",) * 2,
    "stumped": ("st {fielders} b {bowler}", "stumped b {bowler}"),
    "hit wicket": ("hit wicket b {bowler}",) * 2,
}
"""Two scorecard notations of each dismissal: with fielders, and without fielders."""


_WICKETS_BEFORE_A_HAT_TRICK: Final = 2


Phase = Literal["powerplay", "middle overs", "death overs"]
_DEATH_SHARE: Final = 0.25
_LONGEST_WITH_PHASES = 120


def counts_balls(balls_per_over: int) -> bool:
    """Return whether the scorer counts balls rather than overs, as in The Hundred."""
    return balls_per_over == BALLS_PER_OVER_OF_THE_HUNDRED


def innings_length(innings: Innings) -> str:
    """Return the length of an innings: ``19.4 overs``, or ``98 balls`` in The Hundred."""
    if counts_balls(innings.balls_per_over):
        return count(innings.legal_balls, "ball")
    return f"{innings.overs_display} overs"


def balls_left(match: Match, innings: Innings, ball: Delivery) -> int | None:
    """Return the number of legal balls left before a delivery; ``None`` if there is no limit.

    A finished over counts as one over, even if it was miscounted. If the file marks the current
    over as miscounted, the length in the file is used.
    """
    quota = quota_of(match, innings)
    if quota is None:
        return None
    size = innings.balls_per_over
    over = ball.over - (innings.deliveries[0].over if innings.super_over else 0)
    length = dict(innings.miscounted).get(ball.over, size)
    of_over = min(length, max(quota - over * size, 0)) - _bowled_of_over(innings, ball)
    return max(of_over, 1) + max(quota - (over + 1) * size, 0)


def _bowled_of_over(innings: Innings, ball: Delivery) -> int:
    past = reversed(innings.deliveries[: ball.index - 1])
    return sum(earlier.is_legal for earlier in takewhile(lambda b: b.over == ball.over, past))


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress and the run rate of an innings before a delivery.

    Attributes:
        bowled: the length of the innings so far: ``15.3 overs``, or ``78 balls`` in The Hundred.
        left: the number of legal balls left; ``None`` if there is no limit.
        required: the runs needed to win; ``None`` if the innings has no target.
        required_rate: the runs required per over; ``None`` if there is no target or no ball left.
        run_rate: the runs scored per over; ``None`` before the first legal ball.
        over_name: the unit of the rates, ``an over`` or ``per five balls``.
    """

    bowled: str
    left: int | None
    required: int | None
    required_rate: float | None
    run_rate: float | None
    over_name: str


def progress_before(match: Match, innings: Innings, ball: Delivery) -> Progress:
    """Return the progress of the innings before one of its deliveries."""
    size, bowled = innings.balls_per_over, ball.legal_balls_before
    left, target = balls_left(match, innings, ball), innings.target
    required = None if target is None else max(target - ball.score_before, 0)
    overs = f"{ball.over}.{_bowled_of_over(innings, ball)} overs"
    return Progress(
        count(bowled, "ball") if counts_balls(size) else overs,
        left,
        required,
        size * required / left if required is not None and left else None,
        size * ball.score_before / bowled if bowled else None,
        rate_unit(size),
    )


def rate_unit(balls_per_over: int) -> str:
    """Return the unit of run rates: ``an over`` or ``per five balls``."""
    return "per five balls" if counts_balls(balls_per_over) else "an over"


def phase_before(match: Match, innings: Innings, ball: Delivery) -> Phase | None:
    """Return the phase of a ball; ``None`` in a super over or without a limit of at most 120 balls.

    If the file states no powerplay, the first 30% of the innings is the powerplay (25% in The
    Hundred). The death overs are the last quarter.
    """
    quota = quota_of(match, innings)
    if quota is None or quota > _LONGEST_WITH_PHASES or innings.super_over:
        return None
    left = balls_left(match, innings, ball) or 0
    if innings.powerplays:
        powerplay = any(ball in powerplay for powerplay in innings.powerplays)
    else:
        powerplay = quota - left < round(powerplay_share(innings.balls_per_over) * quota)
    if powerplay:
        return "powerplay"
    return "death overs" if left <= _DEATH_SHARE * quota else "middle overs"


def ground(venue: str | None, city: str | None) -> str:
    """Return the ground, and the city unless the ground's name contains it."""
    return ", ".join(filter(None, (venue, city if (city or "") not in (venue or "") else None)))


@dataclass
class Batting:
    """One batter's line on the scorecard. ``out`` is the dismissal, or ``not out``."""

    player: Player
    position: int
    runs: int = 0
    balls: int = 0
    fours: int = 0
    sixes: int = 0
    out: str = "not out"

    @property
    def strike_rate(self) -> float | None:
        """Runs per hundred balls faced; ``None`` before the first ball."""
        return 100 * self.runs / self.balls if self.balls else None

    def add(self, ball: Delivery) -> None:
        self.runs += ball.runs_batter
        self.balls += ball.faced
        if ball.boundary:
            self.fours += ball.runs_batter == 4
            self.sixes += ball.runs_batter == 6


@dataclass
class Bowling:
    """One bowler's line on the scorecard."""

    player: Player
    legal_balls: int = 0
    maidens: int = 0
    runs: int = 0
    wickets: int = 0
    wides: int = 0
    noballs: int = 0
    dots: int = 0
    balls_per_over: int = 6

    @property
    def overs(self) -> str:
        overs, balls = divmod(self.legal_balls, self.balls_per_over)
        return f"{overs}.{balls}"

    @property
    def spell(self) -> str:
        """The number of overs bowled, or of balls bowled in The Hundred."""
        return str(self.legal_balls) if counts_balls(self.balls_per_over) else self.overs

    @property
    def economy(self) -> float | None:
        """Runs conceded per over (or per five balls); ``None`` before the first legal ball."""
        balls = self.legal_balls
        return self.balls_per_over * self.runs / balls if balls else None

    def add(self, ball: Delivery) -> None:
        charged = charged_runs(ball)
        self.runs += charged
        self.legal_balls += ball.is_legal
        self.wides += ball.extras.get("wides", 0)
        self.noballs += ball.extras.get("noballs", 0)
        self.dots += ball.is_legal and charged == 0
        self.wickets += ball.bowlers_wickets


@dataclass(frozen=True)
class Fall:
    """The fall of a wicket. ``score`` is the total after the ball."""

    wicket: int
    score: int
    player: str
    kind: str
    index: int
    label: str
    actual_delivery: str | None


@dataclass
class Card:
    innings: Innings
    batting: list[Batting] = field(default_factory=list)
    bowling: list[Bowling] = field(default_factory=list)
    falls: list[Fall] = field(default_factory=list)
    extras: dict[str, int] = field(default_factory=dict)

    @property
    def extras_total(self) -> int:
        return sum(self.extras.values())


def scorecard(innings: Innings) -> Card:
    card = Card(innings, extras=dict.fromkeys((kind for kind, _ in EXTRAS), 0))
    batting: dict[str, Batting] = {}
    bowling: dict[str, Bowling] = {}
    for ball in innings.deliveries:
        for player in (ball.batter, ball.non_striker):
            line = batting.setdefault(player.key, Batting(player, len(batting) + 1))
            line.out = "not out"  # also for a batter who retired and has come back
        batting[ball.batter.key].add(ball)
        bowler = bowling.setdefault(
            ball.bowler.key, Bowling(ball.bowler, balls_per_over=innings.balls_per_over)
        )
        bowler.add(ball)
        for kind, runs in ball.extras.items():
            card.extras[kind] += runs
        for wicket in ball.wickets:
            out = wicket.player_out
            # A batter who is timed out has neither faced a ball nor been at the other end.
            line = batting.setdefault(out.key, Batting(out, len(batting) + 1))
            line.out = how_out(wicket, ball.bowler)
            if wicket.counts:
                number, score = len(card.falls) + 1, ball.score_before + ball.runs_total
                location = (ball.index, ball.label, ball.actual_delivery)
                card.falls.append(Fall(number, score, out.name, wicket.kind, *location))
    for bowler_key in maidens(innings):
        bowling[bowler_key].maidens += 1
    card.extras["penalty"] += sum(innings.penalty_runs.values())
    card.batting, card.bowling = list(batting.values()), list(bowling.values())
    return card


TotalsBy = Literal["batter", "bowler", "over"]


class Total(NamedTuple):
    """The deliveries to a batter, by a bowler, or in an over.

    Attributes:
        rows: the positions of the deliveries in the innings, from 0.
        runs: a batter's runs off the bat, the runs charged to a bowler, or all runs in an over.
        wickets: a batter's dismissals, a bowler's wickets, or all wickets in an over.
    """

    name: str
    rows: tuple[int, ...]
    runs: int
    wickets: int


def totals(innings: Innings, by: TotalsBy) -> list[Total]:
    """Return the totals of every batter, bowler or over of an innings, in order of appearance."""
    rows: dict[str, list[int]] = {}
    for row, ball in enumerate(innings.deliveries):
        name = f"over {ball.over}" if by == "over" else getattr(ball, by).name
        rows.setdefault(name, []).append(row)
    fallen = [wicket for ball in innings.deliveries for wicket in ball.wickets if wicket.counts]
    out = Counter(wicket.player_out.name for wicket in fallen)
    results = []
    for name, own in rows.items():
        balls = [innings.deliveries[row] for row in own]
        runs, wickets = {
            "batter": (sum(ball.runs_batter for ball in balls), out[name]),
            "bowler": (sum(map(charged_runs, balls)), sum(ball.bowlers_wickets for ball in balls)),
            "over": (
                sum(ball.runs_total for ball in balls),
                sum(wicket.counts for ball in balls for wicket in ball.wickets),
            ),
        }[by]
        results.append(Total(name, tuple(own), runs, wickets))
    return results


class Encounter(NamedTuple):
    """The balls, runs and wickets of one batter against one bowler.

    ``name`` is the opponent. A batter's ``runs`` are the runs off the bat, and a bowler's ``runs``
    are the runs charged to the bowler.
    """

    name: str
    balls: int
    runs: int
    wickets: int


def against(balls: Iterable[Delivery], opponent: Literal["batter", "bowler"]) -> list[Encounter]:
    """Group the balls of one player by opponent, in order of appearance."""
    encounters: dict[str, Encounter] = {}
    for ball in balls:
        name = getattr(ball, opponent).name
        runs = ball.runs_batter if opponent == "bowler" else charged_runs(ball)
        _, faced, scored, wickets = encounters.get(name, (name, 0, 0, 0))
        encounters[name] = Encounter(
            name, faced + ball.faced, scored + runs, wickets + ball.bowlers_wickets
        )
    return list(encounters.values())


def charged_runs(ball: Delivery) -> int:
    """Return the runs charged to the bowler of a ball: runs off the bat, wides and no-balls."""
    return int(ball.runs_batter + ball.extras.get("wides", 0) + ball.extras.get("noballs", 0))


def maidens(innings: Innings) -> Iterator[str]:
    """Yield the bowler's key for every maiden over.

    A maiden is a complete over by one bowler without runs charged to the bowler.
    """
    overs: dict[int, list[Delivery]] = {}
    for ball in innings.deliveries:
        overs.setdefault(ball.over, []).append(ball)
    last = max(overs, default=0)
    for number, balls in overs.items():
        finished = number != last or sum(b.is_legal for b in balls) >= innings.balls_per_over
        bowlers = {ball.bowler.key for ball in balls}
        if finished and len(bowlers) == 1 and not any(map(charged_runs, balls)):
            yield bowlers.pop()


def how_out(wicket: Wicket, bowler: Player) -> str:
    """Describe a dismissal: ``c Smith b Khan``, ``run out (Jones)``, ``retired hurt``."""
    fielders = "/".join(wicket.fielders)
    if wicket.kind == "run out":
        return f"run out ({fielders})" if fielders else "run out"
    if wicket.kind not in _HOW_OUT:
        return wicket.kind
    with_fielders, without = _HOW_OUT[wicket.kind]
    return (with_fielders if fielders else without).format(fielders=fielders, bowler=bowler)


def did_not_bat(match: Match, card: Card) -> list[str]:
    appeared = {line.player.name for line in card.batting}
    squad = match.players.get(card.innings.batting_team, ())
    return [name for name in squad if name not in appeared]


def card_data(match: Match, card: Card) -> Json:
    innings = card.innings
    rate = innings.balls_per_over * innings.total / max(innings.legal_balls, 1)
    batting = "out runs balls fours sixes strike_rate"
    bowling = "overs legal_balls maidens runs wickets economy wides noballs dots"
    return {
        "innings": innings.number,
        **_figures(innings, "batting_team bowling_team super_over total wickets"),
        "overs": innings.overs_display,
        "legal_balls": innings.legal_balls,
        "deliveries": len(innings.deliveries),
        "run_rate": round(rate, 2) if innings.legal_balls else None,
        **_figures(innings, "target target_balls set_later declared penalty_runs"),
        "extras": {"total": card.extras_total, **card.extras},
        "batting": [
            {"position": line.position, **_player_data(line.player), **_figures(line, batting)}
            for line in card.batting
        ],
        "did_not_bat": did_not_bat(match, card),
        "bowling": [
            {**_player_data(line.player), **_figures(line, bowling)} for line in card.bowling
        ],
        "fall_of_wickets": [asdict(fall) for fall in card.falls],
    }


@dataclass(frozen=True, slots=True)
class DerivedResult:
    """The winner according to the balls (``None`` for a tie), and the margin: ``{"runs": 11}``."""

    winner: str | None
    by: Facts


def derived_result(match: Match) -> DerivedResult | None:
    """Return the result that follows from the balls, or ``None`` if they do not decide the match.

    The result is ``None`` unless each side has one innings of limited length. The result is also
    ``None`` in these cases: the target was set during the chase; the file states a method such as
    D/L but no target; the chase ended early, below the target.
    """
    main = [innings for innings in match.innings if not innings.super_over]
    if len(main) != 2 or main[0].batting_team == main[1].batting_team or not main[1].deliveries:
        return None
    first, second = main
    if second.set_later or quota_of(match, second) is None:
        return None
    if second.target is None and match.outcome.get("method") is not None:
        return None
    to_beat = first.total if second.target is None else second.target - 1
    complete = innings_complete(match, second)
    return result_of_chase(second, second.total, second.wickets, to_beat, complete=complete)


def result_of_chase(
    chase: Innings, total: int, wickets: int, to_beat: int, *, complete: bool
) -> DerivedResult | None:
    """Return the result of a chase with this total, or ``None`` if the chase was not completed.

    Args:
        to_beat: the score that the chasing side had to pass.
        complete: whether the chasing side has no balls or no batters left.
    """
    if total > to_beat:
        return DerivedResult(chase.batting_team, Facts(wickets=ALL_OUT - wickets))
    if not complete:
        return None
    if total == to_beat:
        return DerivedResult(None, Facts())
    return DerivedResult(chase.bowling_team, Facts(runs=to_beat - total))


def innings_complete(match: Match, innings: Innings) -> bool:
    """Return whether the side has no balls or no batters left, or has reached its target.

    A retired batter counts as out.
    """
    if not innings.deliveries:
        return False
    if innings.target is not None and innings.total >= innings.target:
        return True
    last = innings.deliveries[-1]
    gone = sum(len(ball.wickets) for ball in innings.deliveries)
    left = balls_left(match, innings, last)
    return gone >= ALL_OUT or innings.wickets >= ALL_OUT or left == last.is_legal == 1


def outcome_of(match: Match) -> Facts:
    """Return the stated outcome of a match.

    A missing or contradicted outcome is replaced by the result of the balls, which may be empty.
    """
    # Rain may have decided a match whose file has no result. `statements` contains
    # ``outcome.winner`` only if such a file would name the rain rule.
    derives_winner = any(each.field == "outcome.winner" for each in match.statements)
    if not match.contradicts("outcome") and (match.outcome or not derives_winner):
        return match.outcome
    result = derived_result(match)
    if result is None:
        return Facts()
    return Facts.not_none(
        winner=result.winner, by=result.by or None, result=None if result.winner else "tie"
    )


def outcome_words(outcome: Facts) -> str | None:
    """Describe an outcome: ``India won by 11 runs``, ``tie, India won the super over``."""
    winner, result = outcome.get("winner"), outcome.get("result")
    how = f" ({outcome['method']})" if outcome.get("method") else ""
    if winner is None:
        for decider, means in (("eliminator", "the super over"), ("bowl_out", "a bowl-out")):
            if outcome.get(decider):
                how = f", {outcome[decider]} won {means}{how}"
                break
        return None if result is None else f"{result}{how}"
    by = outcome.get("by") or {}
    parts = ["an innings"] if "innings" in by else []
    parts += [count(by[unit], unit[:-1]) for unit in ("runs", "wickets") if unit in by]
    margin = f" by {' and '.join(parts)}" if parts else ""
    return f"{winner} won{margin}{how}"


def result_sentence(match: Match) -> str | None:
    """Return the result in words; ``None`` if neither the file nor the balls give a result.

    If the balls contradict the stated result, the sentence says so.
    """
    stated, by_balls = outcome_words(match.outcome), outcome_words(outcome_of(match))
    if stated is None:
        return by_balls
    if not match.contradicts("outcome"):
        for key in ("eliminator", "bowl_out"):
            won = f"{match.outcome.get(key)} won"
            stated = stated.replace(won, attributed(match, won, f"outcome.{key}"))
        return attributed(match, stated, "outcome.winner", "outcome.result")
    if by_balls is not None and by_balls != stated:
        return f"the file says {stated}; the balls show {by_balls}"
    batted = sum(bool(side.deliveries) and not side.super_over for side in match.innings)
    missing = (
        "the file has no balls",
        "the balls do not show a second innings",
        "the balls do not show this result",
    )
    return f"the file says {stated}; {missing[min(batted, 2)]}"


def attributed(match: Match, text: str, *fields: str) -> str:
    """Return ``text``, preceded by ``the file says`` if one of ``fields`` is not confirmed."""
    statuses = {statement.status for statement in match.statements if statement.field in fields}
    return text if statuses <= {DERIVED, AGREES} else f"the file says {text}"


def match_data(match: Match) -> Json:
    return {
        **_figures(match, "match_id match_type gender"),
        "dates": [day.isoformat() for day in match.dates],
        **_figures(match, "season event venue city teams players toss outcome"),
        **_figures(match, "overs balls_per_over"),
        "innings": [card_data(match, scorecard(innings)) for innings in match.innings],
        **_figures(match, "source notes"),
        "statements": [statement._asdict() for statement in match.statements],
    }


def _player_data(player: Player) -> Json:
    return {"player": player.name, "id": player.id}


def _figures(of: object, names: str) -> Json:
    values = {name: plain(getattr(of, name)) for name in names.split()}
    return {name: round(v, 2) if isinstance(v, float) else v for name, v in values.items()}


_RECENT_BALLS: Final = 6


@dataclass(frozen=True, slots=True)
class ScorebookEntry:
    """The state of the scorebook before a delivery.

    Attributes:
        batting, other, bowling: the lines of the batter, the non-striker and the bowler.
        partnership_runs, partnership_balls: runs with extras, and balls without wides.
        over_runs: the runs scored so far in the current over.
        latest: up to six previous balls in the notation of `ball_sign`, oldest first.
        hat_trick: whether a wicket on this ball would complete the bowler's hat-trick.
        free_hit: whether the ball is a free hit (see `free_hits`).
    """

    batting: Batting
    other: Batting
    bowling: Bowling
    partnership_runs: int
    partnership_balls: int
    over_runs: int
    latest: tuple[str, ...]
    hat_trick: bool
    free_hit: bool


def free_hits(deliveries: tuple[Delivery, ...]) -> list[bool]:
    """Return whether each ball is a free hit: after a no-ball, or after a wide on a free hit."""
    flags, pending = [], False
    for ball in deliveries:
        flags.append(pending)
        pending = "noballs" in ball.extras or (pending and not ball.is_legal)
    return flags


def scorebook(innings: Innings) -> Iterator[ScorebookEntry]:
    """Yield the scorebook entry before every delivery of an innings."""
    batting: dict[str, Batting] = {}
    bowling: dict[str, Bowling] = {}
    in_a_row: dict[str, int] = {}  # for each bowler, the number of wickets in successive balls
    stand_runs = stand_balls = over_runs = over = 0
    signs: list[str] = []
    for ball, free_hit in zip(innings.deliveries, free_hits(innings.deliveries), strict=True):
        for player in (ball.batter, ball.non_striker):
            batting.setdefault(player.key, Batting(player, len(batting) + 1))
        faces, bowls = batting[ball.batter.key], ball.bowler.key
        line = bowling.setdefault(
            bowls, Bowling(ball.bowler, balls_per_over=innings.balls_per_over)
        )
        if ball.over != over:
            over, over_runs = ball.over, 0
        yield ScorebookEntry(
            replace(faces),
            replace(batting[ball.non_striker.key]),
            replace(line),
            stand_runs,
            stand_balls,
            over_runs,
            tuple(signs[-_RECENT_BALLS:]),
            in_a_row.get(bowls, 0) >= _WICKETS_BEFORE_A_HAT_TRICK,
            free_hit,
        )
        faces.add(ball)
        line.add(ball)
        in_a_row[bowls] = in_a_row.get(bowls, 0) + 1 if ball.bowlers_wickets else 0
        over_runs += ball.runs_total
        stand_runs, stand_balls = stand_runs + ball.runs_total, stand_balls + ball.faced
        if ball.wickets:
            stand_runs = stand_balls = 0
        signs.append(ball_sign(ball))


def balls_bowled(innings: Innings, bowler: Player, before: int | None = None) -> int:
    """Return a bowler's number of legal balls, only before the index ``before`` if it is given."""
    balls = innings.deliveries if before is None else innings.deliveries[: before - 1]
    return sum(ball.is_legal and ball.bowler.key == bowler.key for ball in balls)


def scorebook_before(innings: Innings, ball: Delivery) -> ScorebookEntry:
    """Return the scorebook entry before a delivery of the innings."""
    upto = replace(innings, deliveries=innings.deliveries[: ball.index])
    *_, entry = scorebook(upto)
    return entry


def ball_sign(ball: Delivery) -> str:
    """Return the scorebook notation of a ball: ``4``, ``0``, ``1W``, ``wd``, ``nb4``, ``2lb``."""
    runs = ball.runs_total
    if any(wicket.counts for wicket in ball.wickets):
        return "W" if not runs else f"{runs}W"
    if "wides" in ball.extras:
        return "wd" if runs == 1 else f"{runs}wd"
    if "noballs" in ball.extras:
        return "nb" if runs == 1 else f"nb{runs - 1}"
    kind = "lb" if "legbyes" in ball.extras else "b" if "byes" in ball.extras else ""
    return f"{runs}{kind}"
