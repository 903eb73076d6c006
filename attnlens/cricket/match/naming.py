"""Find a player or a ball by name, including the ball that will be bowled next.

A ball is identified by its innings and its position. Positions start at 1 and include wides and
no-balls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.competition import (
    ALL_OUT,
    BALLS_PER_OVER_OF_THE_HUNDRED,
    BOWLERS_SHARE,
    quota_of,
)
from attnlens.cricket.match.ledger import balls_bowled
from attnlens.cricket.match.match import Delivery, Facts, Innings, Match, Player
from attnlens.errors import InputError, count

NOT_BOWLED = ""
"""The outcome of a ball that has not yet been bowled."""

_NOBODY = Player("")

GRAMMAR = "47, -1, last, next, 7.4, legal:47, legal:7.4, 2:47 or 2:7.4"
"""Every notation that `find_ball` understands, for messages and help."""

_INNINGS_PREFIX = re.compile(r"([0-9]{1,3}):(.*)", re.DOTALL)
_LEGAL = "legal:"
_POSITION = re.compile(r"[+-]?[0-9]{1,6}")
_LABEL = re.compile(r"[0-9]{1,4}\.[0-9]{1,3}")
_MAX_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class BallReference:
    """A reference to a ball: the innings and the position in the innings, both counted from 1.

    The next ball has the position after the last ball.
    """

    innings: int
    index: int


@contextmanager
def balls_of(path: str | None, remedy: str = f"write the ball as {GRAMMAR}") -> Iterator[None]:
    """Add the path and a default remedy to a `BallNotFoundError` that the block raises."""
    try:
        yield
    except BallNotFoundError as error:
        raise BallNotFoundError(error.problem, path=path, remedy=error.remedy or remedy) from None


def find_ball(match: Match, ball: str | int, innings: int | None = None) -> BallReference:
    """Return a reference to the ball with this name.

    Args:
        ball: ``47`` is the 47th delivery (wides and no-balls count). ``last`` and ``-1`` mean the
            last ball. ``next`` means the ball after the last ball. ``7.4`` is a label in the file,
            as text. ``legal:47`` and ``legal:7.4`` count only legal balls, as on television. The
            prefix ``2:`` selects innings 2.
        innings: the innings, if the name has no prefix. By default, see `default_innings`.

    Raises:
        BallNotFoundError: the ball or innings is missing, or the name is invalid or ambiguous.
    """
    if isinstance(ball, bool) or not isinstance(ball, str | int):
        raise BallNotFoundError(
            f"ball {ball!r} has type {type(ball).__name__}, not text or a whole number",
            remedy="give a label as text, because the labels 7.1 and 7.10 differ",
        )
    text = str(ball).strip().lower()
    prefix = _INNINGS_PREFIX.fullmatch(text)
    if prefix is not None:
        number = int(prefix[1])
        if innings is not None and innings != number:
            raise BallNotFoundError(
                f"ball {text!r} names innings {number}, but innings={innings} was given"
            )
        innings, text = number, prefix[2]
    chosen = innings_numbered(match, default_innings(match, text) if innings is None else innings)
    return BallReference(chosen.number, _index(chosen, text))


def default_innings(match: Match, name: str) -> int:
    """Return the default innings: the last innings for ``next``, the first for every other name."""
    return match.innings[-1].number if name == "next" and match.innings else 1


def innings_numbered(match: Match, number: int) -> Innings:
    """Return the innings with this number.

    Raises:
        BallNotFoundError: the match has no such innings.
    """
    names = []
    for innings in match.innings:
        if innings.number == number:
            return innings
        super_over = ", super over" if innings.super_over else ""
        names.append(f"{innings.number} ({innings.batting_team}{super_over})")
    available = f"innings {', '.join(names)}" if names else "no innings"
    raise BallNotFoundError(f"there is no innings {number}; the match has {available}")


def _index(innings: Innings, text: str) -> int:
    if text == "next":
        return len(innings.deliveries) + 1
    text = "-1" if text == "last" else text
    name, legal = text.removeprefix(_LEGAL), text.startswith(_LEGAL)
    if _LABEL.fullmatch(name):
        kind = "legal ball" if legal else "label"
        return _only(innings, f"{kind} {name}", _called(innings, text))
    if not _POSITION.fullmatch(name):
        raise BallNotFoundError(f"{text!r} is not the name of a ball", remedy=f"write {GRAMMAR}")
    # Without the prefix ``legal:``, wides and no-balls are counted too.
    balls = [ball.index for ball in innings.deliveries if ball.is_legal or not legal]
    position = int(name)
    row = position + len(balls) if position < 0 else position - 1
    if not 0 <= row < len(balls):
        unbowled_is_meant = not legal and row == len(balls)
        remedy = "write `next` for the next ball" if unbowled_is_meant else None
        raise _absent(innings, f"{'legal ball' if legal else 'delivery'} {name}", remedy)
    return balls[row]


def _called(innings: Innings, text: str) -> list[Delivery]:
    name = text.removeprefix(_LEGAL)
    if name == text:
        return [ball for ball in innings.deliveries if ball.label == name]
    return [ball for ball in innings.deliveries if ball.is_legal and ball.actual_delivery == name]


def _only(innings: Innings, name: str, balls: Sequence[Delivery]) -> int:
    if not balls:
        raise _absent(innings, name)
    if len(balls) > 1:
        candidates = "; ".join(
            f"{ball.index} ({ball.label}, {ball.bowler} to {ball.batter}, "
            f"{count(ball.runs_total, 'run')})"
            for ball in balls[:_MAX_CANDIDATES]
        )
        problem = f"{name} belongs to {len(balls)} deliveries of innings {innings.number}"
        raise BallNotFoundError(
            f"{problem}: {candidates}", remedy="give the position of one delivery instead"
        )
    return balls[0].index


def _absent(innings: Innings, name: str, remedy: str | None = None) -> BallNotFoundError:
    balls = innings.deliveries
    extent = f"{len(balls) or 'no'} deliveries"
    if balls:
        extent += f" ({innings.legal_balls} legal), labels {balls[0].label} to {balls[-1].label}"
    return BallNotFoundError(
        f"there is no {name}: innings {innings.number} has {extent}", remedy=remedy
    )


def echo(match: Match, reference: BallReference) -> str:
    """Return one line that states the position, the label and the legal-ball number of a ball.

    A wide or no-ball has the number of the next legal ball.

    Raises:
        BallNotFoundError: the match has no such ball.
    """
    innings = innings_numbered(match, reference.innings)
    balls = len(innings.deliveries)
    if not 1 <= reference.index <= balls + 1:
        raise _absent(innings, f"delivery {reference.index}")
    bowled = reference.index <= balls
    ball = innings.deliveries[reference.index - 1] if bowled else unbowled(innings)
    players = f" | {ball.bowler} to {ball.batter}" if bowled else ""
    super_over = " (super over)" if innings.super_over else ""
    where = f" of {balls}" if ball.outcome else ", not yet bowled"
    number, actual = ordinal(ball.legal_balls_before + 1), ball.actual_delivery
    name = f"legal ball {number}" if actual is None else f"legal ball {actual} ({number})"
    if not ball.is_legal:
        name = f"{'wide' if ball.extras.get('wides') else 'no-ball'}, before {name}"
    return (
        f"innings {innings.number}{super_over}, delivery {ball.index}{where} | "
        f"label {ball.label} | {name} | {ball.score_before}/{ball.wickets_before}{players}"
    )


def people_of(match: Match) -> list[Player]:
    """Return everyone who bats or bowls in the match, then the other members of the squads."""
    players = {
        player.key: player
        for side in match.innings
        for ball in side.deliveries
        for player in (ball.batter, ball.non_striker, ball.bowler)
    }
    names = {player.name for player in players.values()}
    squads = (name for squad in match.players.values() for name in squad)
    return [
        *players.values(),
        *(Player(name) for name in dict.fromkeys(squads) if name not in names),
    ]


def find_players(name: str, *groups: Sequence[Player]) -> list[Player]:
    """Return the players whom a name may mean, from the first group with such a player.

    Case is ignored. Three searches are tried in each group: full name or id; part of a name;
    surname and first initial (``Rohit Sharma`` finds RG Sharma).
    """
    sought = " ".join(name.split()).casefold()
    initialled = _initial_and_surname(sought)
    ways: tuple[Callable[[Player], bool], ...] = (
        lambda player: sought in (player.name.casefold(), player.key.casefold()),
        lambda player: bool(sought) and sought in player.name.casefold(),
        lambda player: " " in sought and _initial_and_surname(player.name) == initialled,
    )
    matching = ({p.key: p for p in group if way(p)} for group in groups for way in ways)
    return list(next(filter(None, matching), {}).values())


def _initial_and_surname(name: str) -> tuple[str, str]:
    return name[:1].casefold(), name.casefold().rpartition(" ")[2]


def ordinal(number: int) -> str:
    """Return a number as an ordinal, such as ``13th``."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def hint(match: Match, text: str, reference: BallReference) -> str | None:
    """Return a warning if a label means different balls in the file and on television.

    Return ``None`` for every other text.
    """
    written = text.strip().lower()
    prefix = _INNINGS_PREFIX.fullmatch(written)
    written = written if prefix is None else prefix[2]
    name = written.removeprefix(_LEGAL)
    if not _LABEL.fullmatch(name):
        return None
    innings = innings_numbered(match, reference.innings)
    meanings = {name: "the file's label {}", _LEGAL + name: "legal ball {} (as on television)"}
    chosen = meanings.pop(written).format(name)
    [(other, means)] = meanings.items()
    indices = [str(ball.index) for ball in _called(innings, other)]
    if indices == [str(reference.index)]:
        return None
    where = f"is delivery {' and '.join(indices)} (write {other})" if indices else "does not exist"
    return f"{chosen} is delivery {reference.index}; {means.format(name)} {where}"


def over_ended(innings: Innings, last: Delivery) -> bool:
    """Return whether the over of the last ball is complete."""
    legal = sum(ball.is_legal for ball in innings.deliveries if ball.over == last.over)
    return legal >= innings.balls_per_over


def unbowled(
    innings: Innings, batter: Player = _NOBODY, other: Player = _NOBODY, bowler: Player = _NOBODY
) -> Delivery:
    """Return the ball that follows the last ball of ``innings``, with the current score."""
    over, of_over = 0, []
    score = innings.penalty_runs.get("pre", 0)
    if innings.deliveries:
        last = innings.deliveries[-1]
        score = last.score_before + last.runs_total
        over = last.over + over_ended(innings, last)
        of_over = [ball.is_legal for ball in innings.deliveries if ball.over == over]
    return Delivery(
        index=len(innings.deliveries) + 1,
        over=over,
        label=f"{over}.{len(of_over) + 1}",
        actual_delivery=f"{over}.{sum(of_over) + 1}",
        is_legal=True,
        batter=batter,
        non_striker=other,
        bowler=bowler,
        runs_batter=0,
        runs_extras=0,
        runs_total=0,
        extras=Facts(),
        wickets=(),
        outcome=NOT_BOWLED,
        score_before=score,
        wickets_before=innings.wickets,
        legal_balls_before=innings.legal_balls,
    )


def with_next_ball(
    match: Match, number: int, *, batter: Player | None = None, bowler: Player | None = None
) -> Match:
    """Return the match with the next ball added at the end of an innings.

    Args:
        number: the innings, counted from 1.
        batter, bowler: required only for a new batter, and for the bowler of a new over.

    Raises:
        BallNotFoundError: the innings is over, or the match does not have this innings.
        InputError: a required player is missing, or a player may not bat or bowl.
    """
    innings = innings_numbered(match, number)
    reason = why_no_more(match, innings)
    if reason is not None:
        raise BallNotFoundError(
            f"innings {number} has no next ball: {reason}", remedy="choose a ball that was bowled"
        )
    last = innings.deliveries[-1] if innings.deliveries else None
    striker, other = (None, None) if last is None else at_the_crease(innings, last)
    facing = batter or striker
    if facing is None:
        raise InputError(
            "the next ball has a new batter, whom the file does not name",
            remedy="name the batter",
        )
    if other is None or other.key == facing.key:
        candidates = () if last is None else (last.batter, last.non_striker)
        gone = {wicket.player_out.key for wicket in last.wickets} if last else set()
        other = next((p for p in candidates if p.key != facing.key and p.key not in gone), facing)
    same_over = last is not None and not over_ended(innings, last)
    bowling = bowler or (last.bowler if last and same_over else None)
    if bowling is None:
        raise InputError(
            "the next ball begins an over, and the file does not name the bowler",
            remedy="name the bowler",
        )
    _refuse_impossible(innings, facing, bowling)
    ball = unbowled(innings, facing, other, bowling)
    if last is not None and not (same_over and bowling.key == last.bowler.key):
        _refuse_bowler(match, innings, ball)
    longer = replace(innings, deliveries=(*innings.deliveries, ball))
    sides = tuple(longer if side is innings else side for side in match.innings)
    return replace(match, innings=sides)


def _refuse_impossible(innings: Innings, batter: Player, bowler: Player) -> None:
    batted = {p.key for ball in innings.deliveries for p in (ball.batter, ball.non_striker)}
    bowled = {ball.bowler.key for ball in innings.deliveries}
    out = {w.player_out.key for ball in innings.deliveries for w in ball.wickets if w.counts}
    if batter.key in out:
        raise InputError(f"{batter} is already out in this innings", remedy="name another batter")
    if batter.key in bowled:
        raise InputError(f"{batter} is a bowler of this innings", remedy="name another batter")
    if bowler.key in batted or bowler.key == batter.key:
        raise InputError(f"{bowler} is a batter of this innings", remedy="name another bowler")


def _refuse_bowler(match: Match, innings: Innings, ball: Delivery) -> None:
    remedy, bowler = "name another bowler", ball.bowler
    before = {past.bowler.key for past in innings.deliveries if past.over == ball.over - 1}
    if bowler.key in before and match.balls_per_over != BALLS_PER_OVER_OF_THE_HUNDRED:
        raise InputError(f"{bowler} also bowled the previous over", remedy=remedy)
    quota = quota_of(match, innings)
    bowled = balls_bowled(innings, bowler)
    if quota is not None and bowled >= -(-quota // BOWLERS_SHARE):
        raise InputError(
            f"{bowler} has already bowled {bowled} balls, and may not bowl more",
            remedy=remedy,
        )


def why_over(match: Match, innings: Innings) -> str | None:
    quota = quota_of(match, innings)
    out = 2 if innings.super_over else ALL_OUT
    if innings.target is not None and innings.total >= innings.target:
        return "the target was reached"
    if innings.wickets >= out:
        return "the side is all out"
    if quota is not None and innings.legal_balls >= quota:
        return f"all {quota} balls were bowled"
    if innings.declared:
        return "the innings was declared"
    return None


def why_no_more(match: Match, innings: Innings) -> str | None:
    """Return the reason why the innings has ended, or ``None`` if the innings can continue."""
    reason = why_over(match, innings)
    if reason is not None:
        return reason
    if innings.set_later:
        return "the innings had already ended when its target was set"
    later = [side for side in match.innings if side.number > innings.number and side.deliveries]
    return f"the innings is over, because innings {later[0].number} has begun" if later else None


def changed_ends(ball: Delivery) -> bool:
    """Return whether the batters ran an odd number of runs."""
    run = ball.runs_batter if not ball.boundary else 0
    run += ball.extras.get("byes", 0) + ball.extras.get("legbyes", 0)
    run += max(ball.extras.get("wides", 0) - 1, 0)
    return bool(run % 2)


def at_the_crease(innings: Innings, last: Delivery) -> tuple[Player | None, Player | None]:
    """Return the striker and the non-striker for the next ball; ``None`` stands for a new batter.

    After a wicket the new batter is assumed to be on strike, unless the over has ended.
    """
    gone = {wicket.player_out.key for wicket in last.wickets}
    ends = [None if p.key in gone else p for p in (last.batter, last.non_striker)]
    if changed_ends(last):
        ends.reverse()
    if gone and ends[1] is None:
        ends.reverse()
    if over_ended(innings, last):
        ends.reverse()
    return ends[0], ends[1]
