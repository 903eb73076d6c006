"""Matches written as Cricsheet CSV2 2.3.0: 27 columns, and the ``_info.csv`` beside."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attnlens.cricket.match import Delivery, Innings, Match, Player
from attnlens.cricket.readers.deliveries import EXTRA_KINDS
from attnlens.errors import InputError

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


def write_csv2(match: Match, path: str | os.PathLike[str]) -> None:
    """Write ``path`` and ``<stem>_info.csv`` beside it.

    Each is written beside its place and renamed, the info first, so that a
    reader never meets half a match. Penalty runs outside a delivery have no
    place in this format.

    Raises:
        InputError: the files cannot be written, or the match does not fit the format.
    """
    target = Path(path)
    rows = [COLUMNS, *(_row(match, innings, ball) for innings, ball in _balls(match))]
    write_rows(target.with_name(f"{target.stem}_info.csv"), _info_rows(match))
    write_rows(target, rows)


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


def _info_rows(match: Match) -> Iterator[Sequence[str]]:
    yield ("version", VERSION)
    for key, value in _info(match):
        yield ("info", key, *value)


def _info(match: Match) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "balls_per_over", (str(match.balls_per_over),)
    for team in match.teams:
        yield "team", (team,)
    for key, value in (("gender", match.gender), ("season", match.season)):
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
    for key, name in (
        ("winner", "winner"),
        ("outcome", "result"),
        ("eliminator", "eliminator"),
        ("bowl_out", "bowl_out"),
        ("method", "method"),
    ):
        if name in outcome:
            yield key, (str(outcome[name]),)
    for unit, margin in outcome.get("by", {}).items():
        yield f"winner_{unit}", (str(margin),)
    for team, players in _sides(match):
        for player in players:
            yield "player", (team, player.name)
    for player in sorted(_people(match), key=lambda player: player.name):
        if player.id is not None:
            yield "registry", ("people", player.name, player.id)


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


def _sides(match: Match) -> Iterator[tuple[str, Iterable[Player]]]:
    """Who batted and bowled for each team; the rest of the eleven is not in a match."""
    for team in match.teams:
        players: dict[Player, None] = {}
        for innings, ball in _balls(match):
            if innings.batting_team == team:
                players.update({ball.batter: None, ball.non_striker: None})
            elif innings.bowling_team == team:
                players[ball.bowler] = None
        yield team, players


def _people(match: Match) -> set[Player]:
    people: set[Player] = set()
    for _, ball in _balls(match):
        people.update((ball.batter, ball.non_striker, ball.bowler))
        people.update(wicket.player_out for wicket in ball.wickets)
    return people


def write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file beside its place, then rename it there.

    Raises:
        InputError: it cannot be written.
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.getvalue().encode())
        # mkstemp keeps others from reading; the finished file is an ordinary one.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise InputError(f"cannot be written: {error.strerror or error}", path=path) from None
