"""Simulate T20 matches of an invented league. Each match is determined by a seed.

``docs/predictor.md`` has the equations. Matches can also follow planted rules.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from attnlens.cricket.lab import league
from attnlens.cricket.lab.league import (
    BALLS_PER_OVER,
    OVERS,
    OutcomeProbabilities,
    Past,
    PlantedRule,
    RuledBall,
    ruled_ball,
)
from attnlens.cricket.match.match import OUTCOMES, Delivery, Facts, Innings, Match, Player, Wicket
from attnlens.cricket.match.naming import changed_ends
from attnlens.cricket.readers.assembly import InningsDraft, MatchDraft
from attnlens.cricket.readers.cricsheet_json import INFO_PATHS
from attnlens.cricket.readers.text import EXTRA_KINDS
from attnlens.errors import InputError
from attnlens.files import Json, check_writable, write_text, written_beside

Choice = TypeVar("Choice")

KINDS: Final = ("caught", "bowled", "lbw", "run out", "stumped", "caught and bowled", "hit wicket")
"""The kinds of dismissal that are simulated. The rarest kinds are left out."""

_KEEPER_CATCHES: Final = 3.0
_DISMISSALS: Final = {kind: league.RATES["dismissals"][kind] for kind in KINDS}


def _run_shares(name: str, max_runs: int) -> dict[int, float]:
    return {int(runs): share for runs, share in league.RATES[name].items() if int(runs) <= max_runs}


_WIDES: Final = _run_shares("wide_runs", 5)
_NO_BALLS: Final = _run_shares("no_ball_bat_runs", 6)
_BYES: Final = _run_shares("bye_runs", 4)
_LEG_BYES: Final = _run_shares("leg_bye_runs", 4)
_RUN_OUT_RUNS: Final = _run_shares("run_out_runs", 6)

Event = tuple[int, int, dict[str, int], tuple[Wicket, ...]]
"""The details of a delivery for ``InningsDraft.add``: the batter's runs, the sum of the extras, the
extras by kind, and the wickets.
"""


def event_of(
    rng: Random,
    outcome: str,
    striker: Player,
    non_striker: Player,
    bowler: Player,
    fielding: league.TeamRates,
    free_hit: bool,
) -> Event:
    """Draw the details of a delivery whose outcome class is ``outcome``.

    On a free hit, a batter can only be run out.
    """
    runs = 0
    extras: dict[str, int] = {}
    wickets: tuple[Wicket, ...] = ()
    if outcome == "wd":
        extras = {"wides": pick(rng, _WIDES)}
    elif outcome == "nb":
        extras = {"noballs": 1}
        runs = pick(rng, _NO_BALLS)
    elif outcome == "bye":
        off_the_leg = rng.random() < league.RATES["leg_bye"]
        kind, shares = ("legbyes", _LEG_BYES) if off_the_leg else ("byes", _BYES)
        extras = {kind: pick(rng, shares)}
    elif outcome == "W":
        kind = "run out" if free_hit else pick(rng, _DISMISSALS)
        out = striker
        if kind == "run out":
            runs = pick(rng, _RUN_OUT_RUNS)
            out = striker if rng.random() < league.RATES["run_out_striker"] else non_striker
        elif kind == "stumped" and rng.random() < league.RATES["stumped_off_wide"]:
            extras = {"wides": 1}
        wickets = (Wicket(kind, out, _fielders(rng, kind, bowler, fielding)),)
    else:
        runs = int(outcome)
    return runs, sum(extras.values()), extras, wickets


def _fielders(rng: Random, kind: str, bowler: Player, side: league.TeamRates) -> tuple[str, ...]:
    if kind == "stumped":
        return (side.keeper.name,)
    if kind not in ("caught", "run out"):
        return ()
    weights = {
        player.name: _KEEPER_CATCHES if player == side.keeper else 1.0
        for player in side.players
        if player != bowler
    }
    fielder = pick(rng, weights)
    thrown = kind == "run out" and fielder != side.keeper.name
    if thrown and rng.random() < league.RATES["two_fielders"]:
        return (fielder, side.keeper.name)
    return (fielder,)


def pick(rng: Random, weights: Mapping[Choice, float]) -> Choice:
    """Draw one of the keys. The probability of a key is proportional to its weight."""
    # Python guarantees only for Random.random that all its versions give the same numbers.
    point = rng.random() * sum(weights.values())
    for choice, weight in weights.items():
        point -= weight
        if point < 0:
            return choice
    return choice


_OVERS_PER_BOWLER: Final = 4
_WICKETS: Final = 10
_SUPER_OVER_WICKETS: Final = 2

_FIRST_DAY = datetime.date(2024, 1, 1)
_DAYS = 700  # small enough that no simulated day is in the future
_BATS_AFTER_TOSS = 0.47
_LAST_OVER = OVERS - 1
# The share of innings with each number of bowlers, as in real matches.
_BOWLERS_USED = {5: 0.2, 6: 0.55, 7: 0.25}
_ALIKE: league.Row = (0.0,) * len(league.GROUPS)


@dataclass(frozen=True)
class Simulated:
    """A simulated match.

    Attributes:
        match: the match, in the form that readers of match files return.
        elevens: the eleven players of each team, in batting order.
        ruled: the effect of the planted rules on each delivery, in order; empty without planted
            rules.
    """

    match: Match
    elevens: Mapping[str, tuple[Player, ...]]
    ruled: tuple[RuledBall, ...] = ()


def simulate_match(seed: int) -> Match:
    """Return the match that `simulate` plays with this seed."""
    return simulate(seed).match


def simulate(seed: int, *, rules: tuple[PlantedRule, ...] = ()) -> Simulated:
    """Play one T20 match of the invented league. The same seed gives the same match.

    All seeds have the same players, with the same abilities. The matches of successive seeds are
    one day apart. The dates start again after 700 seeds. If a match is tied, super overs decide it.

    Args:
        seed: a number that is at least 0.
        rules: the planted rules (`attnlens.cricket.lab.league`). With rules, all players, grounds
            and days are alike, and past balls have an effect only through the rules.
    """
    rng = Random(seed)
    shuffled = sorted(league.TEAMS, key=lambda _: rng.random())
    first, second = map(league.team_rates, shuffled[:2])
    winner = first if rng.random() < 0.5 else second
    bats = rng.random() < _BATS_AFTER_TOSS
    if bats != (winner is first):
        first, second = second, first
    venue, city = pick(rng, dict.fromkeys(league.VENUES, 1.0))
    ground = league.added(
        league.true_rates()["venue", venue], league.day_effect(rng.random, "match")
    )
    play = _Play(rng, ground, rules)
    play.innings(first, second)
    play.innings(second, first)
    outcome = _result(*play.drafts)
    while outcome.get("result") == "tie" and "eliminator" not in outcome:
        last = play.drafts[-1]
        bowled_last = first if last.batting_team == second.name else second
        batted_last = second if bowled_last is first else first
        # The side that batted second bats first in the next super over.
        play.innings(batted_last, bowled_last, super_over=True)
        play.innings(bowled_last, batted_last, super_over=True)
        pair = play.drafts[-2:]
        if pair[0].total != pair[1].total:
            ahead = max(pair, key=lambda draft: draft.total)
            outcome = Facts(result="tie", eliminator=ahead.batting_team)
    date = _FIRST_DAY + datetime.timedelta(days=seed % _DAYS)
    draft = MatchDraft(
        match_id=f"simulated-{seed}",
        source=f"simulated with seed {seed}",
        match_type="T20",
        gender="male",
        dates=(date,),
        season=str(date.year),
        event=Facts(name=league.COMPETITION, match_number=seed % _DAYS + 1),
        venue=venue,
        city=city,
        teams=(first.name, second.name),
        toss=Facts(winner=winner.name, decision="bat" if bats else "field"),
        outcome=outcome,
        overs=OVERS,
        balls_per_over=BALLS_PER_OVER,
        innings=play.drafts,
    )
    elevens = {team.name: team.players for team in (first, second)}
    return Simulated(draft.build(), elevens, tuple(play.ruled))


def _result(first: InningsDraft, second: InningsDraft) -> Facts:
    if second.total > first.total:
        return Facts(winner=second.batting_team, by={"wickets": _WICKETS - second.wickets})
    if second.total < first.total:
        return Facts(winner=first.batting_team, by={"runs": first.total - second.total})
    return Facts(result="tie")


@dataclass
class _Play:
    rng: Random
    ground: league.Row
    rules: tuple[PlantedRule, ...]
    drafts: list[InningsDraft] = field(default_factory=list)
    ruled: list[RuledBall] = field(default_factory=list)

    def innings(
        self, batting: league.TeamRates, bowling: league.TeamRates, super_over: bool = False
    ) -> None:
        """Play the next innings of the match. The second innings of each pair is a chase."""
        rng = self.rng
        number = len(self.drafts) + 1
        target = self.drafts[-1].total + 1 if number % 2 == 0 else None
        overs = 1 if super_over else OVERS
        wickets = _SUPER_OVER_WICKETS if super_over else _WICKETS
        draft = InningsDraft(
            number=number,
            batting_team=batting.name,
            bowling_team=bowling.name,
            super_over=super_over,
            target=target,
            target_balls=None if target is None else overs * BALLS_PER_OVER,
            declared=False,
        )
        self.drafts.append(draft)
        alike = league.by_outcome(_ALIKE) if self.rules else None
        background = alike or league.by_outcome(
            league.added(self.ground, league.day_effect(rng.random, "innings"))
        )
        chances = OutcomeProbabilities(not self.rules, background, target is not None)
        past = Past(target, overs * BALLS_PER_OVER)
        order = iter(batting.players)
        striker, non_striker = next(order), next(order)
        bowlers = bowling.bowlers[-pick(rng, _BOWLERS_USED) :]
        bowled: dict[Player, int] = dict.fromkeys(bowlers, 0)
        bowler: Player | None = None
        for over in range(overs):
            bowler = _next_bowler(rng, bowled, bowler, overs - over - 1)
            bowled[bowler] += 1
            legal = 0
            while legal < BALLS_PER_OVER:
                units = past.units(striker, bowler)
                probabilities = chances.of(
                    _LAST_OVER if super_over else over,
                    alike or batting.batting[striker],
                    alike or bowling.bowling[bowler],
                    units,
                )
                if self.rules:
                    ruled = ruled_ball(
                        number, draft.deliveries, striker, bowler, probabilities, self.rules
                    )
                    self.ruled.append(ruled)
                    probabilities = ruled.probabilities()
                outcome = pick(rng, dict(zip(OUTCOMES, probabilities, strict=True)))
                free_hit = bool(units["free_hit"]) and not self.rules
                draft.add(
                    over, striker, non_striker, bowler,
                    *event_of(rng, outcome, striker, non_striker, bowler, bowling, free_hit),
                )  # fmt: skip
                ball = draft.deliveries[-1]
                past.add(ball)
                legal += ball.is_legal
                if draft.wickets == wickets or (target is not None and draft.total >= target):
                    return
                if changed_ends(ball):
                    striker, non_striker = non_striker, striker
                for wicket in ball.wickets:
                    remaining = non_striker if wicket.player_out == striker else striker
                    incoming = next(order)
                    takes_strike = wicket.kind != "run out" or rng.random() < 0.5
                    striker, non_striker = (
                        (incoming, remaining) if takes_strike else (remaining, incoming)
                    )
            striker, non_striker = non_striker, striker


def _next_bowler(
    rng: Random, bowled: Mapping[Player, int], last: Player | None, overs_after: int
) -> Player:
    weights: dict[Player, float] = {}
    for bowler, overs in bowled.items():
        if bowler == last or overs == _OVERS_PER_BOWLER:
            continue
        left = {other: _OVERS_PER_BOWLER - done for other, done in bowled.items()}
        left[bowler] -= 1
        # A bowler may not bowl two successive overs, so he can bowl at most every other over.
        capacity = sum(
            min(count, overs_after // 2 if other == bowler else (overs_after + 1) // 2)
            for other, count in left.items()
        )
        if capacity >= overs_after:
            weights[bowler] = 1.0 + _OVERS_PER_BOWLER - overs
    return pick(rng, weights)


_FIRST_DAY_OF_ZIP = (1980, 1, 1, 0, 0, 0)


def save_simulated(
    out: str | os.PathLike[str],
    seeds: Sequence[int],
    *,
    file_format: str | None = None,
    report: Callable[[int], None] = lambda _: None,
) -> None:
    """Simulate matches and write them to a file.

    A .csv or .json file can have only one match. With .csv, a second file ``<stem>_info.csv`` is
    written in the same folder. A .zip archive can have any number of matches.

    Args:
        seeds: the seeds of the matches. Each seed is at least 0.
        file_format: ``csv2`` or ``json``. The default follows from the suffix of ``out``, and is
            ``csv2`` for .zip.
        report: called after each match with the number of matches so far.

    Raises:
        InputError: ``out`` cannot be written, has an unknown suffix, or has a suffix that does not
            fit ``file_format``. Also raised for several matches in a .csv or .json file.
    """
    path = Path(out)
    suffix = path.suffix.lower()
    own_format = {".csv": "csv2", ".json": "json", ".zip": file_format or "csv2"}.get(suffix)
    if own_format is None:
        problem = f"has the suffix {suffix!r}, which is not a format of match files"
        raise InputError(problem, path=path, remedy="end the name in .csv, .json or .zip")
    if file_format not in (None, own_format):
        problem = f"ends in {suffix}, but --format is {file_format}"
        raise InputError(problem, path=path, remedy="leave --format out")
    if suffix != ".zip" and len(seeds) > 1:
        problem = f"is a single file, but {len(seeds)} matches were requested"
        raise InputError(problem, path=path, remedy="end the file name in .zip")
    check_writable(path)
    if suffix != ".zip":
        simulated = simulate(seeds[0])
        write_match(simulated.match, path, elevens=simulated.elevens)
        report(1)
        return
    with written_beside(path) as part, zipfile.ZipFile(part, "w") as archive:
        for count, seed in enumerate(seeds, 1):
            simulated = simulate(seed)
            stem = simulated.match.match_id
            texts = texts_of(simulated.match, own_format, stem, elevens=simulated.elevens)
            for name, text in texts.items():
                archive.writestr(_member(name), text)
            report(count)


def _member(name: str) -> zipfile.ZipInfo:
    """Return a zip member with a fixed time, so that equal matches give equal bytes."""
    member = zipfile.ZipInfo(name, _FIRST_DAY_OF_ZIP)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


Elevens = Mapping[str, Sequence[Player]]
"""The players of each team."""

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
    """Write a match in a format of Cricsheet: JSON 1.1.0 or CSV2 2.3.0.

    The format is JSON if ``path`` ends in .json, and CSV2 otherwise. With CSV2, a second file
    ``<stem>_info.csv`` is written in the same folder, before the file with the balls. A reader
    never sees an incomplete file. In JSON, the stem of the file name is the match id.

    Args:
        elevens: the eleven players of each team. By default, only the players who batted or bowled
            are written.

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
    """Return a dict of the file names and texts of a match. The file with the balls comes first.

    ``form`` is the format: ``json`` or ``csv2``.
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
    # Further rows of the file, by the key of the row after which they are written.
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
    """Return the target's runs, and the target's overs in cricket notation (8.1 for 49 balls)."""
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
    runs = {"batter": ball.runs_batter, "extras": ball.runs_extras, "total": ball.runs_total}
    row: Json = {"batter": ball.batter.name, "bowler": ball.bowler.name}
    if ball.extras:
        row["extras"] = ball.extras.plain()
    row["non_striker"] = ball.non_striker.name
    row["runs"] = {**runs, "non_boundary": True} if ball.non_boundary else runs
    if ball.wickets:
        row["wickets"] = [
            {"player_out": wicket.player_out.name, "kind": wicket.kind}
            | (
                {"fielders": [{"name": name} for name in wicket.fielders]}
                if wicket.fielders
                else {}
            )
            for wicket in ball.wickets
        ]
    return row


def sides_of(match: Match) -> dict[str, tuple[Player, ...]]:
    """Return, for each team, the players who batted or bowled."""
    sides: dict[str, dict[Player, None]] = {team: {} for team in match.teams}
    for innings in match.innings:
        batting = sides.setdefault(innings.batting_team, {})
        bowling = sides.setdefault(innings.bowling_team, {})
        for ball in innings.deliveries:
            batting |= dict.fromkeys((ball.batter, ball.non_striker))
            bowling[ball.bowler] = None
    return {team: tuple(players) for team, players in sides.items()}


def registry_of(match: Match, sides: Elevens) -> dict[str, str]:
    """Map players' names to ids, in alphabetical order. Players without an id are left out."""
    listed = (*sides.values(), *sides_of(match).values())
    people = {player for side in listed for player in side}
    balls = (ball for innings in match.innings for ball in innings.deliveries)
    people |= {wicket.player_out for ball in balls for wicket in ball.wickets}
    return dict(sorted((player.name, player.id) for player in people if player.id is not None))


def text_of(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as CSV text, with the line endings that Cricsheet uses."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
