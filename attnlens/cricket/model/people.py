"""Who a name means, of the match or of those whom the ratings know, and what they know of one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from attnlens.arrays import Floats32
from attnlens.cricket.match.match import Innings, Match, Player
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.match.quota import phase_of
from attnlens.cricket.model.ratings import PHASES, Table, softmax
from attnlens.cricket.model.tensors import OVER_CLASSES
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.errors import InputError
from attnlens.show.numbers import rounded

LISTED: Final = 8
"""At most this many names are listed where one was not enough."""

NEAR: Final = 5
"""At most this many names are offered for one that nobody has."""


def people_of(match: Match) -> list[Player]:
    """Everybody who bats or bowls in the match, then those who are only in the squads."""
    found = {
        player.key: player
        for side in match.innings
        for ball in side.deliveries
        for player in (ball.batter, ball.non_striker, ball.bowler)
    }
    names = {player.name for player in found.values()}
    squads = (name for squad in match.players.values() for name in squad)
    return [*found.values(), *(Player(name) for name in dict.fromkeys(squads) if name not in names)]


def person_called(name: str, match: Match, predictor: TrainedPredictor, option: str) -> Player:
    """The player a name or a registry id means.

    Whole names come before parts of names, and people of the match before others whom the
    predictor's ratings know. A part of a name is enough where one player has it.

    Args:
        option: where the name was given, for messages.

    Raises:
        InputError: nobody, or several, have that name.
    """
    written = " ".join(name.split())
    sought = written.casefold()
    if not sought:
        raise InputError(f"{option} names nobody", remedy="give a name")
    here, rated = people_of(match), rated_players(predictor)
    called = _exact(sought, here) or _exact(sought, rated)
    called = called or _partly(sought, here) or _partly(sought, rated)
    if called:
        return _only(called, written, option)
    names = {player.name for player in (*here, *rated)}
    near = _nearest(sought, names)
    told = "the nearest known name is" if len(near) == 1 else "the nearest known names are"
    known = f"{told} {', '.join(near)}" if near else "no known name is near"
    raise InputError(
        f"{option}: nobody in the match or the ratings is called {written!r}; {known}",
        remedy="write the name as the match files do",
    )


def _exact(sought: str, group: Iterable[Player]) -> list[Player]:
    """Everybody of that name or registry id."""
    called = (p for p in group if sought in (p.name.casefold(), p.key.casefold()))
    return list({player.key: player for player in called}.values())


def _partly(sought: str, group: Iterable[Player]) -> list[Player]:
    """Everybody with that in the name."""
    called = (player for player in group if sought in player.name.casefold())
    return list({player.key: player for player in called}.values())


def _only(called: list[Player], written: str, option: str) -> Player:
    """The one who is called so.

    Raises:
        InputError: there are several.
    """
    if len(called) == 1:
        return called[0]
    names = sorted({player.name for player in called})
    if len(names) == 1:
        names = sorted(f"{player.name} ({player.key})" for player in called)
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    raise InputError(
        f"{option} {written!r} fits {', '.join(names[:LISTED])}{more}",
        remedy="write the whole name, or the registry id",
    )


def _nearest(sought: str, names: set[str]) -> list[str]:
    """Known names spelt much like the one sought, by the whole name or by a word of it."""
    forms: dict[str, list[str]] = {}
    for name in sorted(names):
        words = name.casefold().split()
        for form in {name.casefold(), *(word for word in words if len(word) > 2)}:
            forms.setdefault(form, []).append(name)
    last = sought.split()[-1]
    near = difflib.get_close_matches(sought, forms, NEAR, 0.75)
    near += difflib.get_close_matches(last, forms, NEAR, 0.75)
    found = dict.fromkeys(name for form in near for name in forms[form])
    return list(found)[:NEAR]


def sides_of(match: Match, player: Player) -> set[str]:
    """The teams the player bats, bowls or is listed for; none for one who is not in the match."""
    teams = {team for team, squad in match.players.items() if player.name in squad}
    for side in match.innings:
        for ball in side.deliveries:
            if player.key in (ball.batter.key, ball.non_striker.key):
                teams.add(side.batting_team)
            if player.key == ball.bowler.key:
                teams.add(side.bowling_team)
    return teams


def refuse_wrong_side(match: Match, innings: Innings, player: Player, option: str) -> None:
    """Nobody bowls to his own side or bats for the other.

    Raises:
        InputError: the player belongs to the other side of this match.
    """
    bats = option.endswith("batter")
    own, does = (innings.batting_team, "bat") if bats else (innings.bowling_team, "bowl")
    teams = sides_of(match, player)
    if teams and own not in teams:
        raise InputError(
            f"{player} plays for {' and '.join(sorted(teams))}, and {own} {does} in innings "
            f"{innings.number}",
            remedy="name another",
        )


def rated_players(predictor: TrainedPredictor) -> list[Player]:
    """Every player the ratings have met; one whose name is lost is called by the key."""
    ratings = predictor.ratings
    rated = {
        key
        for kind in ("striker", "bowler")
        for key, row in ratings.tables[kind].keys.items()
        if ratings.tables[kind].balls[row] > 0
    }
    named = [Player(name, key) for name, key in ratings.aliases.items() if key in rated]
    nameless = rated - {player.key for player in named}
    return [*named, *(Player(key, key) for key in nameless)]


@dataclass(frozen=True, slots=True)
class Times:
    """How many times as likely as with the average player an outcome is."""

    outcome: str
    times: float


@dataclass(frozen=True, slots=True)
class PhaseKnown:
    """A player's figures in a phase, beside the average player's there."""

    phase: str
    balls: int
    outcomes: list[Times]


@dataclass(frozen=True, slots=True)
class RoleKnown:
    """A player's figures in one role, over all and by phase."""

    balls: int
    outcomes: list[Times]
    phases: list[PhaseKnown]


@dataclass(frozen=True, slots=True)
class PlayerKnown:
    """What the ratings say of a player; ``None`` for a role never met."""

    player: str
    key: str
    striker: RoleKnown | None
    bowler: RoleKnown | None
    model: str
    ratings_until: str | None


def player_known(predictor: TrainedPredictor, name: str) -> PlayerKnown:
    """What the ratings say of a player, as striker and as bowler, over all and by phase.

    The average striker (or bowler) is weighted by balls, on an average ball and on an average
    ball of the phase.

    Args:
        name: as in the files or as the registry's id, upper and lower case alike; a part
            of it where only one player has that.

    Raises:
        InputError: nobody, or several, have that name.
    """
    rated, sought = rated_players(predictor), name.strip().casefold()
    called = _exact(sought, rated) or (_partly(sought, rated) if sought else [])
    if not called:
        raise InputError(
            f"no rated player is called {name!r}", remedy="write the name as the match files do"
        )
    player = _only(called, name, "--player")
    striker, bowler = (_role(predictor, role, player.key) for role in ("striker", "bowler"))
    until = predictor.ratings.until
    day = None if until is None else until.isoformat()
    return PlayerKnown(player.name, player.key, striker, bowler, predictor.name, day)


def _role(predictor: TrainedPredictor, role: str, key: str) -> RoleKnown | None:
    """A player in one role; ``None`` for one never met in it."""
    tables = predictor.ratings.tables
    whole, by_phase = tables[role], tables[f"{role}_phase"]
    row = whole.keys.get(key, -1)
    if row < 0 or not whole.balls[row]:
        return None
    players = np.array(list(whole.keys.values()), np.int64)
    average = _mean(whole.rating[players], whole.balls[players])
    phases = []
    for number, phase in enumerate(PHASES):
        mine = by_phase.keys.get(f"{key}#{number}", -1)
        if mine < 0 or not by_phase.balls[mine]:
            continue
        times = _times(
            _phase_prior(predictor.base.prior, number),
            whole.rating[row] + by_phase.rating[mine],
            _phase_mean(whole, by_phase, number),
        )
        phases.append(PhaseKnown(phase, int(by_phase.balls[mine]), times))
    times = _times(predictor.base.everything, whole.rating[row], average)
    return RoleKnown(int(whole.balls[row]), times, phases)


def _mean(rating: Floats32, balls: Floats32) -> Floats32:
    result: Floats32 = (rating * balls[:, None]).sum(0) / max(float(balls.sum()), 1.0)
    return result


def _phase_mean(whole: Table, by_phase: Table, phase: int) -> Floats32:
    """The mean rating of everybody in a phase, weighted by balls there, ``(11,)``."""
    pairs = [
        (whole.keys[player], row)
        for key, row in by_phase.keys.items()
        for player, _, number in (key.rpartition("#"),)
        if number == str(phase) and player in whole.keys
    ]
    people, rows = (list(column) for column in zip(*pairs, strict=True))
    return _mean(whole.rating[people] + by_phase.rating[rows], by_phase.balls[rows])


def _phase_prior(prior: Floats32, phase: int) -> Floats32:
    """Log-probabilities of an average ball of a phase, both innings alike, ``(11,)``."""
    overs = [over for over in range(OVER_CLASSES) if phase_of(over, OVER_CLASSES) == phase]
    result: Floats32 = np.log(np.exp(prior[:, overs]).mean((0, 1)))
    return result


def _times(base: Floats32, rating: Floats32, average: Floats32) -> list[Times]:
    ratio = softmax(base + rating) / softmax(base + average)
    return [Times(outcome, rounded(value)) for outcome, value in zip(OUTCOMES, ratio, strict=True)]
