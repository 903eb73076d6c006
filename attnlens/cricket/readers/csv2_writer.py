"""Matches written as Cricsheet CSV2 2.3.0: 27 columns, and the ``_info.csv`` beside."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attnlens.cricket.match import Delivery, Innings, Match, Player
from attnlens.cricket.readers.csv2_info import OUTCOME_KEYS
from attnlens.cricket.readers.deliveries import EXTRA_KINDS
from attnlens.errors import InputError
from attnlens.files import write_text

Elevens = Mapping[str, Sequence[Player]]
"""Who was to play, by team."""

VERSION = "2.3.0"
COLUMNS = (
    "match_id",
    "season",
    "start_date",
    "venue",
    "innings",
    "ball",
    "actual_delivery",
    "batting_team",
    "bowling_team",
    "striker",
    "non_striker",
    "bowler",
    "runs_off_bat",
    "extras",
    *EXTRA_KINDS,
    "non_boundary",
    "wicket_type",
    "player_dismissed",
    "other_wicket_type",
    "other_player_dismissed",
    "fielder_1",
    "fielder_2",
    "fielder_3",
)

_MOST_WICKETS = 2
_MOST_FIELDERS = 3


def write_csv2(
    match: Match,
    path: str | os.PathLike[str],
    *,
    elevens: Elevens | None = None,
    team_type: str | None = None,
) -> None:
    """Write ``path`` and ``<stem>_info.csv`` beside it.

    Each is written beside its place and renamed, the info first, so that a
    reader never meets half a match.

    Args:
        elevens: the players of each team; without it, those who batted or bowled.
        team_type: ``club`` or ``international``, where it is to be said.

    Raises:
        InputError: the files cannot be written, or the match does not fit the format.
    """
    target = Path(path)
    balls, info = csv2_texts(match, elevens=elevens, team_type=team_type)
    write_text(target.with_name(f"{target.stem}_info.csv"), info)
    write_text(target, balls)


def csv2_texts(
    match: Match, *, elevens: Elevens | None = None, team_type: str | None = None
) -> tuple[str, str]:
    """The text of the match's file and of its ``_info.csv``; see `write_csv2`.

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


def _info_rows(match: Match, sides: Elevens, team_type: str | None) -> Iterator[Sequence[str]]:
    yield ("version", VERSION)
    for key, value in _info(match, sides, team_type):
        yield ("info", key, *value)


def _info(
    match: Match, sides: Elevens, team_type: str | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
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
