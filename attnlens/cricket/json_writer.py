"""Matches written as Cricsheet JSON 1.1.0.

Source: https://cricsheet.org/format/json/
"""

from __future__ import annotations

import json
import os
import re
from itertools import groupby
from typing import Any, Final

from attnlens.cricket.match import Delivery, Innings, Match
from attnlens.cricket.readers.csv2_writer import Elevens, registry_of, sides_of
from attnlens.errors import InputError
from attnlens.files import write_text

VERSION: Final = "1.1.0"
REQUIRED: Final = ("balls_per_over", "dates", "gender", "match_type", "outcome", "season", "teams")

_POWERPLAY_OVERS = 6
_TWENTY = 20
_BALL_IN_QUOTES = re.compile(r'("(?:from|to)": )"([0-9]+\.[0-9]+)"')


def write_json(
    match: Match,
    path: str | os.PathLike[str],
    *,
    elevens: Elevens | None = None,
    team_type: str = "club",
) -> None:
    """Write one match, whole or not at all.

    The format holds no match id: readers take the file's stem.

    Args:
        elevens: the players of each team; without it, those who batted or bowled.
        team_type: ``club`` or ``international``, which a `Match` does not hold.

    Raises:
        InputError: the file cannot be written, or the match does not fit the format.
    """
    write_text(path, json_text(match, elevens=elevens, team_type=team_type))


def json_text(match: Match, *, elevens: Elevens | None = None, team_type: str = "club") -> str:
    """The text of the match's file; see `write_json`.

    Raises:
        InputError: the match lacks what the format requires, or has a ball whose
            label is not its position in the over.
    """
    for name in REQUIRED:
        if not getattr(match, name):
            raise InputError(
                f"match {match.match_id} has no {name}, which Cricsheet's JSON requires"
            )
    document = {
        "meta": {
            "data_version": VERSION,
            "created": match.dates[0].isoformat(),
            "revision": 1,
        },
        "info": _info(match, elevens or sides_of(match), team_type),
        "innings": [_innings(match, innings) for innings in match.innings],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # The format writes these as numbers, and ball 5.10 is not the number 5.1.
    return _BALL_IN_QUOTES.sub(r"\1\2", text)


def _info(match: Match, sides: Elevens, team_type: str) -> dict[str, Any]:
    info = {
        "balls_per_over": match.balls_per_over,
        "city": match.city,
        "dates": [date.isoformat() for date in match.dates],
        "event": match.event.plain() or None,
        "gender": match.gender,
        "match_type": match.match_type,
        "outcome": match.outcome.plain(),
        "overs": match.overs,
        "players": {team: [player.name for player in sides[team]] for team in match.teams},
        "registry": {"people": registry_of(match, sides)},
        "season": match.season,
        "team_type": team_type,
        "teams": list(match.teams),
        "toss": match.toss.plain(),
        "venue": match.venue,
    }
    return {key: value for key, value in info.items() if value is not None}


def _innings(match: Match, innings: Innings) -> dict[str, Any]:
    found: dict[str, Any] = {
        "team": innings.batting_team,
        "overs": [
            {
                "over": over,
                "deliveries": [
                    _delivery(innings, position, ball) for position, ball in enumerate(balls, 1)
                ],
            }
            for over, balls in groupby(innings.deliveries, key=lambda ball: ball.over)
        ],
    }
    penalties = {name: runs for name, runs in innings.penalty_runs.items() if runs}
    if penalties:
        found["penalty_runs"] = penalties
    if innings.declared:
        found["declared"] = True
    powerplay = _powerplay(match, innings)
    if powerplay is not None:
        found["powerplays"] = [powerplay]
    if innings.target is not None:
        found["target"] = {"runs": innings.target}
        if innings.target_balls is not None:
            overs, balls = divmod(innings.target_balls, match.balls_per_over)
            # Overs and balls: 49 balls are 8.1, and 50 overs are 50.
            found["target"] = {
                "overs": float(f"{overs}.{balls}") if balls else overs,
                "runs": innings.target,
            }
    if innings.super_over:
        found["super_over"] = True
    return found


def _powerplay(match: Match, innings: Innings) -> dict[str, str] | None:
    """The first six overs of a full-length twenty-over innings, in the file's labels."""
    if match.overs != _TWENTY or match.balls_per_over != 6 or innings.super_over:
        return None
    within = [ball.label for ball in innings.deliveries if ball.over < _POWERPLAY_OVERS]
    if not within:
        return None
    return {"from": within[0], "to": within[-1], "type": "mandatory"}


def _delivery(innings: Innings, position: int, ball: Delivery) -> dict[str, Any]:
    if ball.label != f"{ball.over}.{position}":
        raise InputError(
            f"innings {innings.number}, ball {ball.label} is ball {position} of its over; "
            "Cricsheet's JSON has no labels but positions"
        )
    runs: dict[str, Any] = {
        "batter": ball.runs_batter,
        "extras": ball.runs_extras,
        "total": ball.runs_total,
    }
    if ball.non_boundary:
        runs["non_boundary"] = True
    row: dict[str, Any] = {"batter": ball.batter.name, "bowler": ball.bowler.name}
    if ball.extras:
        row["extras"] = ball.extras.plain()
    row |= {"non_striker": ball.non_striker.name, "runs": runs}
    if ball.wickets:
        row["wickets"] = [
            {
                "player_out": wicket.player_out.name,
                "kind": wicket.kind,
                **(
                    {"fielders": [{"name": name} for name in wicket.fielders]}
                    if wicket.fielders
                    else {}
                ),
            }
            for wicket in ball.wickets
        ]
    return row
