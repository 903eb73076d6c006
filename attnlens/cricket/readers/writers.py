"""Matches written as Cricsheet CSV2 2.3.0 (27 columns, and the ``_info.csv`` beside) and as
Cricsheet JSON 1.1.0.

Sources: https://www.cricsheet.org/format/csv_ashwin/ and https://cricsheet.org/format/json/
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.match.match import Delivery, Facts, Innings, Match, Player, Wicket
from attnlens.cricket.readers.info import INFO_PATHS
from attnlens.cricket.readers.text import EXTRA_KINDS
from attnlens.files import Json, write_text

Elevens = Mapping[str, Sequence[Player]]
"""Who was to play, by team."""

_CSV2_VERSION: Final = "2.3.0"
_JSON_VERSION: Final = "1.1.0"
_TEAM_TYPE: Final = "club"
_COLUMNS: Final = (
    "match_id", "season", "start_date", "venue", "innings", "ball", "actual_delivery",
    "batting_team", "bowling_team", "striker", "non_striker", "bowler", "runs_off_bat", "extras",
    *EXTRA_KINDS, "non_boundary", "wicket_type", "player_dismissed", "other_wicket_type",
    "other_player_dismissed", "fielder_1", "fielder_2", "fielder_3",
)  # fmt: skip

_MAX_WICKETS_A_BALL = 2
_MAX_FIELDERS = 3


def write_match(
    match: Match, path: str | os.PathLike[str], *, elevens: Elevens | None = None
) -> None:
    """Write ``path``: JSON where it ends so, else CSV2 with ``<stem>_info.csv`` beside.

    Each is written beside its place and renamed, the info first, so that a reader never meets
    half a match. JSON holds no match id: readers take the file's stem.

    Args:
        elevens: the players of each team; without it, those who batted or bowled.

    Raises:
        InputError: the files cannot be written.
    """
    target = Path(path)
    form = "json" if target.suffix == ".json" else "csv2"
    texts = texts_of(match, form, target.stem, elevens=elevens)
    for name, text in reversed(texts.items()):
        write_text(target if name == next(iter(texts)) else target.with_name(name), text)


def texts_of(
    match: Match, form: str, stem: str, *, elevens: Elevens | None = None
) -> dict[str, str]:
    """The files of a match: name and text, the match first.

    Args:
        form: ``json`` or ``csv2``.
        stem: of the names.
        elevens: as for `write_match`.
    """
    info = _info(match, elevens or sides_of(match))
    if form == "json":
        document = {
            "meta": {"data_version": _JSON_VERSION, "created": info["dates"][0], "revision": 1},
            "info": {key: value for key, value in sorted(info.items()) if key != "match_id"},
            "innings": list(map(_json_innings, match.innings)),
        }
        return {f"{stem}.json": json.dumps(document, indent=2, ensure_ascii=False)}
    balls = (_row(match, side, ball) for side in match.innings for ball in side.deliveries)
    return {
        f"{stem}.csv": text_of([_COLUMNS, *balls]),
        f"{stem}_info.csv": text_of(_info_rows(match, info)),
    }


def _info(match: Match, sides: Elevens) -> Json:
    info = {
        "match_id": match.match_id,
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
        "team_type": _TEAM_TYPE,
        "teams": list(match.teams),
        "toss": match.toss.plain(),
        "venue": match.venue,
    }
    return {key: value for key, value in info.items() if value is not None}


def _info_rows(match: Match, info: Json) -> Iterator[Sequence[str]]:
    """The rows of an ``_info.csv``; those with several values follow the key named here."""
    following: dict[str, list[tuple[str, ...]]] = {
        "balls_per_over": [("team", team) for team in info["teams"]],
        "season": [("date", date.replace("-", "/")) for date in info["dates"]],
        "toss_uncontested": list(_innings_rows(match)),
    }
    yield ("version", _CSV2_VERSION)
    for key, path in INFO_PATHS.items():
        value: Any = info
        for step in path:
            value = value.get(step, {})
        if value != {} and key != "competition":
            yield ("info", key, "true" if value is True else str(value))
        for row in following.get(key, ()):
            yield ("info", *row)
    for team, names in info["players"].items():
        for name in names:
            yield ("info", "player", team, name)
    for name, identity in info["registry"]["people"].items():
        yield ("info", "registry", "people", name, identity)


def _innings_rows(match: Match) -> Iterator[tuple[str, ...]]:
    for innings in match.innings:
        number = str(innings.number)
        if innings.super_over:
            yield "super_over", number
        if innings.declared:
            yield "declared", number
        target, overs = _target(innings)
        if overs is not None:
            yield "target_overs", number, overs
        if target is not None:
            yield "target_runs", number, str(target)


def _target(innings: Innings) -> tuple[int | None, str | None]:
    """The file's target: runs; and overs and balls: 49 balls are 8.1, and 50 overs are 50."""
    target = innings.set_later or Facts.not_none(runs=innings.target, balls=innings.target_balls)
    if "balls" not in target:
        return target.get("runs"), None
    overs, balls = divmod(target["balls"], innings.balls_per_over)
    return target.get("runs"), f"{overs}.{balls}" if balls else str(overs)


def _row(match: Match, innings: Innings, ball: Delivery) -> list[str]:
    wickets = [text for wicket in ball.wickets for text in (wicket.kind, wicket.player_out.name)]
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
        *[""] * (2 * _MAX_WICKETS_A_BALL - len(wickets)),
        *fielders,
        *[""] * (_MAX_FIELDERS - len(fielders)),
    ]


def _json_innings(innings: Innings) -> Json:
    data: Json = {
        "team": innings.batting_team,
        "overs": [
            {"over": over, "deliveries": [_delivery(ball) for ball in balls]}
            for over, balls in groupby(innings.deliveries, key=lambda ball: ball.over)
        ],
    }
    runs, overs = _target(innings)
    target: Json = {} if overs is None else {"overs": json.loads(overs)}
    target = {} if runs is None else {**target, "runs": runs}
    facts = {
        "penalty_runs": {name: runs for name, runs in innings.penalty_runs.items() if runs},
        "declared": bool(innings.declared),
        "target": target,
        "super_over": innings.super_over,
    }
    return data | {key: value for key, value in facts.items() if value}


def _delivery(ball: Delivery) -> Json:
    """A delivery as JSON has it, whose label is its place in the over."""
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
    for innings in match.innings:
        batting = sides.setdefault(innings.batting_team, {})
        bowling = sides.setdefault(innings.bowling_team, {})
        for ball in innings.deliveries:
            batting |= dict.fromkeys((ball.batter, ball.non_striker))
            bowling[ball.bowler] = None
    return {team: tuple(players) for team, players in sides.items()}


def registry_of(match: Match, sides: Elevens) -> dict[str, str]:
    """Ids by name, in order of name, of everyone whose id is known."""
    people = {
        player
        for elevens in (sides, sides_of(match))
        for side in elevens.values()
        for player in side
    }
    balls = (ball for innings in match.innings for ball in innings.deliveries)
    people |= {wicket.player_out for ball in balls for wicket in ball.wickets}
    return dict(sorted((player.name, player.id) for player in people if player.id is not None))


def text_of(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV, with the line ends Cricsheet has."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
