"""Who a name means, of the match or of those whom the ratings know."""

from __future__ import annotations

import difflib
from typing import Final

from attnlens.cricket.match.match import Innings, Match, Player
from attnlens.cricket.match.naming import people_called, people_of
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.errors import InputError

LISTED: Final = 8
"""At most this many names are listed where one was not enough."""

NEAR: Final = 5
"""At most this many names are offered for one that nobody has."""


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
    called = people_called(written, here, rated)
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
