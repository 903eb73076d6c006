"""Matches written as Cricsheet CSV2 2.3.0 (27 columns, and the ``_info.csv`` beside) and as
Cricsheet JSON 1.1.0.

Sources: https://www.cricsheet.org/format/csv_ashwin/ and https://cricsheet.org/format/json/
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from attnlens.cricket.match.match import Delivery, Innings, Match, Player, Wicket
from attnlens.cricket.readers.csv2_info import OUTCOME_KEYS
from attnlens.cricket.readers.text import EXTRA_KINDS
from attnlens.errors import InputError
from attnlens.files import Json, write_text

Elevens = Mapping[str, Sequence[Player]]
"""Who was to play, by team."""

CSV2_VERSION: Final = "2.3.0"
JSON_VERSION: Final = "1.1.0"
COLUMNS: Final = (
    "match_id", "season", "start_date", "venue", "innings", "ball", "actual_delivery",
    "batting_team", "bowling_team", "striker", "non_striker", "bowler", "runs_off_bat", "extras",
    *EXTRA_KINDS, "non_boundary", "wicket_type", "player_dismissed", "other_wicket_type",
    "other_player_dismissed", "fielder_1", "fielder_2", "fielder_3",
)  # fmt: skip
REQUIRED: Final = ("balls_per_over", "dates", "gender", "match_type", "outcome", "season", "teams")
"""What JSON cannot do without, of a match."""

_MOST_WICKETS = 2
_MOST_FIELDERS = 3
_POWERPLAY_OVERS = 6
_TWENTY = 20
_BALL_IN_QUOTES = re.compile(r'("(?:from|to)": )"([0-9]+\.[0-9]+)"')


def write_match(
    match: Match,
    path: str | os.PathLike[str],
    *,
    elevens: Elevens | None = None,
    team_type: str = "club",
) -> None:
    """Write ``path``: JSON where it ends so, else CSV2 with ``<stem>_info.csv`` beside.

    Each is written beside its place and renamed, the info first, so that a reader never meets
    half a match. JSON holds no match id: readers take the file's stem.

    Args:
        elevens: the players of each team; without it, those who batted or bowled.
        team_type: ``club`` or ``international``, which a `Match` does not hold.

    Raises:
        InputError: the files cannot be written, or the match does not fit the format.
    """
    target = Path(path)
    if target.suffix == ".json":
        write_text(target, json_text(match, elevens=elevens, team_type=team_type))
        return
    balls, info = csv2_texts(match, elevens=elevens, team_type=team_type)
    write_text(target.with_name(f"{target.stem}_info.csv"), info)
    write_text(target, balls)


def csv2_texts(
    match: Match, *, elevens: Elevens | None = None, team_type: str = "club"
) -> tuple[str, str]:
    """The text of the match's file and of its ``_info.csv``; see `write_match`.

    Raises:
        InputError: the match has something that this format has no place for.
    """
    for innings in match.innings:
        if any(innings.penalty_runs.values()):
            raise InputError(
                f"innings {innings.number} has penalty runs outside a delivery, "
                "which CSV2 has no place for",
                remedy="write it as JSON",
            )
    rows = [COLUMNS, *(_row(match, innings, ball) for innings, ball in _balls(match))]
    sides = elevens or sides_of(match)
    return text_of(rows), text_of(_info_rows(match, sides, team_type))


def _balls(match: Match) -> Iterator[tuple[Innings, Delivery]]:
    for innings in match.innings:
        for delivery in innings.deliveries:
            yield innings, delivery


def _row(match: Match, innings: Innings, ball: Delivery) -> list[str]:
    if len(ball.wickets) > _MOST_WICKETS or any(
        len(wicket.fielders) > _MOST_FIELDERS for wicket in ball.wickets
    ):
        raise InputError(
            f"innings {innings.number}, ball {ball.label}: CSV2 has room for "
            f"{_MOST_WICKETS} wickets and {_MOST_FIELDERS} fielders"
        )
    wickets = [""] * (2 * _MOST_WICKETS)
    for position, wicket in enumerate(ball.wickets):
        wickets[2 * position : 2 * position + 2] = [wicket.kind, wicket.player_out.name]
    fielders = ball.wickets[0].fielders if ball.wickets else ()
    return [
        match.match_id,
        match.season or "",
        match.date.isoformat() if match.date else "",
        match.venue or "",
        str(innings.number),
        ball.label,
        ball.actual_delivery or "",
        innings.batting_team,
        innings.bowling_team,
        ball.batter.name,
        ball.non_striker.name,
        ball.bowler.name,
        str(ball.runs_batter),
        str(ball.runs_extras),
        *(str(ball.extras.get(kind, "")) for kind in EXTRA_KINDS),
        "true" if ball.non_boundary else "",
        *wickets,
        *fielders,
        *[""] * (_MOST_FIELDERS - len(fielders)),
    ]


def _info_rows(match: Match, sides: Elevens, team_type: str) -> Iterator[Sequence[str]]:
    yield ("version", CSV2_VERSION)
    for key, value in _info(match, sides, team_type):
        yield ("info", key, *value)


def _info(match: Match, sides: Elevens, team_type: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "balls_per_over", (str(match.balls_per_over),)
    for team in match.teams:
        yield "team", (team,)
    for key, value in (
        ("team_type", team_type),
        ("gender", match.gender),
        ("season", match.season),
    ):
        if value is not None:
            yield key, (value,)
    for date in match.dates:
        yield "date", (date.strftime("%Y/%m/%d"),)
    facts = (
        ("event", match.event.get("name")),
        ("match_id", match.match_id),
        ("match_type", match.match_type),
        ("overs", match.overs),
        ("match_number", match.event.get("match_number")),
        ("venue", match.venue),
        ("city", match.city),
        ("toss_winner", match.toss.get("winner")),
        ("toss_decision", match.toss.get("decision")),
        ("toss_uncontested", "true" if match.toss.get("uncontested") else None),
    )
    for key, fact in facts:
        if fact is not None:
            yield key, (str(fact),)
    yield from _innings_info(match)
    outcome = match.outcome
    for key, name in OUTCOME_KEYS:
        if name in outcome:
            yield key, (str(outcome[name]),)
    for unit, margin in outcome.get("by", {}).items():
        yield f"winner_{unit}", (str(margin),)
    for team in match.teams:
        for player in sides.get(team, ()):
            yield "player", (team, player.name)
    for name, identity in registry_of(match, sides).items():
        yield "registry", ("people", name, identity)


def _innings_info(match: Match) -> Iterator[tuple[str, tuple[str, ...]]]:
    for innings in match.innings:
        number = str(innings.number)
        if innings.super_over:
            yield "super_over", (number,)
        if innings.declared:
            yield "declared", (number,)
        if innings.target_balls is not None:
            overs, balls = divmod(innings.target_balls, match.balls_per_over)
            yield "target_overs", (number, f"{overs}.{balls}" if balls else str(overs))
        if innings.target is not None:
            yield "target_runs", (number, str(innings.target))


def json_text(match: Match, *, elevens: Elevens | None = None, team_type: str = "club") -> str:
    """The text of the match's file; see `write_match`.

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
            "data_version": JSON_VERSION,
            "created": match.dates[0].isoformat(),
            "revision": 1,
        },
        "info": _json_info(match, elevens or sides_of(match), team_type),
        "innings": [_json_innings(match, innings) for innings in match.innings],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # The format writes these as numbers, and ball 5.10 is not the number 5.1.
    return _BALL_IN_QUOTES.sub(r"\1\2", text)


def _json_info(match: Match, sides: Elevens, team_type: str) -> Json:
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


def _json_innings(match: Match, innings: Innings) -> Json:
    found: Json = {
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


def _delivery(innings: Innings, position: int, ball: Delivery) -> Json:
    if ball.label != f"{ball.over}.{position}":
        raise InputError(
            f"innings {innings.number}, ball {ball.label} is ball {position} of its over; "
            "Cricsheet's JSON has no labels but positions"
        )
    runs = {"batter": ball.runs_batter, "extras": ball.runs_extras, "total": ball.runs_total}
    row: Json = {"batter": ball.batter.name, "bowler": ball.bowler.name}
    if ball.extras:
        row["extras"] = ball.extras.plain()
    row["non_striker"] = ball.non_striker.name
    row["runs"] = {**runs, "non_boundary": True} if ball.non_boundary else runs
    if ball.wickets:
        row["wickets"] = [_wicket(wicket) for wicket in ball.wickets]
    return row


def _wicket(wicket: Wicket) -> Json:
    fallen: Json = {"player_out": wicket.player_out.name, "kind": wicket.kind}
    if wicket.fielders:
        fallen["fielders"] = [{"name": name} for name in wicket.fielders]
    return fallen


def sides_of(match: Match) -> dict[str, tuple[Player, ...]]:
    """Who batted and bowled for each team; the rest of the eleven is not in a match."""
    sides: dict[str, dict[Player, None]] = {team: {} for team in match.teams}
    for innings, ball in _balls(match):
        if innings.batting_team in sides:
            sides[innings.batting_team] |= dict.fromkeys((ball.batter, ball.non_striker))
        if innings.bowling_team in sides:
            sides[innings.bowling_team][ball.bowler] = None
    return {team: tuple(players) for team, players in sides.items()}


def registry_of(match: Match, sides: Elevens) -> dict[str, str]:
    """Ids by name, in order of name, of everyone whose id is known."""
    people = {player for players in sides.values() for player in players}
    for _, ball in _balls(match):
        people.update((ball.batter, ball.non_striker, ball.bowler))
        people.update(wicket.player_out for wicket in ball.wickets)
    return {
        player.name: player.id
        for player in sorted(people, key=lambda player: player.name)
        if player.id is not None
    }


def text_of(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV, with the line ends Cricsheet has."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
