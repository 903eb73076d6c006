"""Who a name means: somebody of the match, or anybody whom the ratings know."""

from __future__ import annotations

import difflib
from typing import Final

from attnlens.cricket.match import Innings, Match, Player
from attnlens.cricket.ratings_update import rated_players
from attnlens.cricket.trained import TrainedPredictor
from attnlens.errors import InputError

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


def person_called(
    name: str, match: Match, predictor: TrainedPredictor, option: str, *, unseen: bool = False
) -> Player:
    """The player a name or a registry id means.

    Whole names come before parts of names, and people of the match before others whom the
    predictor's ratings know. A part of a name is enough where one player has it.

    Args:
        option: where the name was given, for messages.
        unseen: take a name that nobody has in full as a player without a record.

    Raises:
        InputError: nobody, or several, have that name.
    """
    written = " ".join(name.split())
    sought = written.casefold()
    if not sought:
        raise InputError(f"{option} names nobody", remedy="give a name")
    here = people_of(match)
    rated = [Player(known, key) for known, key in rated_players(predictor).items()]
    for group in (here, rated):
        exact = {p.key: p for p in group if sought in (p.name.casefold(), p.key.casefold())}
        if exact:
            return _only(list(exact.values()), written, option)
    if unseen:
        return Player(written)
    for group in (here, rated):
        part = {p.key: p for p in group if sought in p.name.casefold()}
        if part:
            return _only(list(part.values()), written, option)
    names = {player.name for player in (*here, *rated)}
    near = _nearest(sought, names)
    told = "the nearest known name is" if len(near) == 1 else "the nearest known names are"
    known = f"{told} {', '.join(near)}" if near else "no known name is near"
    raise InputError(
        f"{option}: nobody in the match or the ratings is called {written!r}; {known}",
        remedy="write the name as the match files do, or add --unseen for a player without record",
    )


def _only(found: list[Player], written: str, option: str) -> Player:
    if len(found) == 1:
        return found[0]
    told = sorted({player.name for player in found})
    if len(told) == 1:
        told = sorted(f"{player.name} ({player.key})" for player in found)
    more = f" and {len(told) - LISTED} more" if len(told) > LISTED else ""
    raise InputError(
        f"{option} {written!r} fits {', '.join(told[:LISTED])}{more}",
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
    own = innings.batting_team if option == "--batter" else innings.bowling_team
    teams = sides_of(match, player)
    if teams and own not in teams:
        does = "bat" if option == "--batter" else "bowl"
        raise InputError(
            f"{player} plays for {' and '.join(sorted(teams))}, and {own} {does} in innings "
            f"{innings.number}",
            remedy=f"name another with {option}",
        )
