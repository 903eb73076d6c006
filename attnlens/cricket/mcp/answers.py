"""Build JSON answers to questions about balls, overs and players."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final, Literal

from attnlens.cricket.explain.story_types import Tally
from attnlens.cricket.match.ledger import (
    against,
    ball_sign,
    free_hits,
    how_out,
    scorecard,
)
from attnlens.cricket.match.match import Delivery, Innings, Match, Player
from attnlens.cricket.match.match import Outcome as BallOutcome
from attnlens.cricket.match.naming import BallReference, find_players, innings_numbered, people_of
from attnlens.cricket.session import Session
from attnlens.cricket.words.narrative import outcome_index, tested
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.numbers import rounded
from attnlens.render.safe import visible, visible_name

COLUMNS: Final = (
    *("match", "ball", "label", "score", "bowler", "batter", "happened", "out", "free_hit"),
)

_MAX_MOVING_BALLS: Final = 5


def balls_found(
    matches: Iterable[tuple[str, Match]],
    *,
    innings: int | None,
    over: int | None,
    player: str | None,
    outcome: BallOutcome | None,
) -> Iterator[list[Any]]:
    """Yield a row with the columns `COLUMNS` for every ball that satisfies all conditions.

    Args:
        matches: pairs of a match's name and the match.
        player: a player who faced the ball, bowled it or was out on it. For a wicket, a player who
            was out (at either end) or took the wicket as the bowler.

    Raises:
        InputError: no player in the matches has the name ``player``.
    """
    player_exists = player is None
    for name, match in matches:
        keys = None if player is None else {p.key for p in find_players(player, people_of(match))}
        player_exists = player_exists or bool(keys)
        for side in match.innings:
            if innings not in (None, side.number):
                continue
            for ball, free in zip(side.deliveries, free_hits(side.deliveries), strict=True):
                if (
                    _is(ball, outcome)
                    and over in (None, ball.over)
                    and (keys is None or keys & _players_of(ball, outcome))
                ):
                    yield [name, _name(side, ball), *_row(ball), free]
    if not player_exists:
        raise InputError(
            f"no player in the matches is called {player!r}",
            remedy="spell the surname as in the match files",
        )


def _is(ball: Delivery, outcome: BallOutcome | None) -> bool:
    """A six off a no-ball has two outcomes: ``6`` and ``nb``."""
    hit = outcome in ("4", "6") and ball.boundary and str(ball.runs_batter) == outcome
    return hit or outcome in (None, ball.outcome)


def _players_of(ball: Delivery, outcome: BallOutcome | None) -> set[str]:
    out = {wicket.player_out.key for wicket in ball.wickets if wicket.counts}
    if outcome != "W":
        return out | {ball.batter.key, ball.bowler.key}
    return out | {ball.bowler.key} if ball.bowlers_wickets else out


def _name(side: Innings, ball: Delivery) -> str:
    return f"{side.number}:{ball.index}"


def _row(ball: Delivery) -> tuple[str | None, ...]:
    return (
        ball.label,
        f"{ball.score_before}/{ball.wickets_before}",
        visible_name(ball.bowler.name),
        visible_name(ball.batter.name),
        ball_sign(ball),
        _out(ball),
    )


def _out(ball: Delivery) -> str | None:
    out = (f"{w.player_out}: {how_out(w, ball.bowler)}" for w in ball.wickets if w.counts)
    return visible("; ".join(out)) or None


def surprises(rows: Iterable[Json]) -> dict[str, float]:
    """Return each ball's name and surprisal in bits, from the rows of `attnlens.predict`."""
    chances = {f"{row['innings']}:{row['index']}": row[f"p_{row['actual']}"] for row in rows}
    return {ball: rounded(-math.log2(float(p or 1e-9)), 2) for ball, p in chances.items()}


def over_answer(session: Session, match: Match, innings: int, over: int) -> Json:
    """Return the data of one over: actual and expected totals, and the findings for each ball.

    Raises:
        InputError: no ball of the over was bowled.
    """
    side = innings_numbered(match, innings)
    balls = [ball for ball in side.deliveries if ball.over == over]
    if not balls:
        overs = sorted({ball.over for ball in side.deliveries})
        bowled = f"overs {overs[0]} to {overs[-1]}" if overs else "no over"
        raise InputError(
            f"innings {innings} has no over {over}",
            remedy=f"the innings has {bowled}, counted from 0",
        )
    rows = []
    for ball in balls:
        explanation = session.explain(match, ball=BallReference(innings, ball.index))
        index = outcome_index(explanation.prediction, ball.outcome)
        win, finding = explanation.win_probability, tested(explanation)
        shares = (
            explanation.prediction.outcomes[index].probability,
            *((None, None) if win is None else (win.before, win.happened)),
        )
        percents = [None if share is None else rounded(100 * share, 1) for share in shares]
        finding_text = None if finding is None else visible(finding.text)
        rows.append([_name(side, ball), *_row(ball), *percents, finding_text])
    tallies = session.story(match, evidence=False).expected.overs
    tally = next((t for t in tallies if (t.innings, t.name) == (innings, f"over {over}")), None)
    last = balls[-1]
    fallen = [fall for fall in scorecard(side).falls if fall.index <= last.index]
    return {
        "innings": innings,
        "over": over,
        "batting": visible_name(side.batting_team),
        "bowlers": [visible_name(name) for name in dict.fromkeys(b.bowler.name for b in balls)],
        "score": f"{balls[0].score_before}/{balls[0].wickets_before} to "
        f"{last.score_before + last.runs_total}/{len(fallen)}",
        **({} if tally is None else _of_tally(tally)),
        "win": "percent, of the batting side; before: before the ball, after: after what happened",
        "cols": ["ball", *COLUMNS[2:-1], "probability", "win_before", "win_after", "supported"],
        "rows": rows,
    }


def _of_tally(tally: Tally) -> Json:
    return {
        "runs": tally.runs,
        "runs_expected": rounded(tally.expected_runs, 1),
        "wickets": tally.wickets,
        "wickets_expected": rounded(tally.expected_wickets, 2),
    }


def player_answer(session: Session, match: Match, player: str) -> Json:
    """Return a player's data: batting, bowling, fielding, opponents, and win probability added.

    Raises:
        InputError: no player or several players in the match have this name.
    """
    people = find_players(player, people_of(match))
    if len(people) != 1:
        every = people or people_of(match)
        names = ", ".join(visible_name(person.name) for person in every)
        problem = (
            f"{len(people)} players in the match are called"
            if people
            else "no player in the match is called"
        )
        raise InputError(f"{problem} {player!r}", remedy=f"the players are {names}")
    (person,) = people
    story = session.story(match, evidence=False)
    added = {row.name: row for row in story.players}.get(person.name)
    points = {(entry.innings, entry.index): entry.points for entry in story.ledger}
    batting, bowling, fielding = [], [], []
    swings: list[tuple[float, list[Any]]] = []
    for side in match.innings:
        card = scorecard(side)
        for line in card.batting:
            if line.player.key == person.key:
                batting.append(_batting(side, person, asdict(line)))
        for spell in card.bowling:
            if spell.player.key == person.key:
                bowling.append(_bowling(side, person, asdict(spell) | {"overs": spell.overs}))
        for ball in side.deliveries:
            out = [wicket for wicket in ball.wickets if person.name in wicket.fielders]
            fielding += [[_name(side, ball), _out(ball)] for _ in out]
            if person.key in (ball.batter.key, ball.bowler.key) or out:
                swing = points.get((side.number, ball.index), 0.0)
                sign = 1 if side.batting_team == story.team else -1
                row = [_name(side, ball), *_row(ball), rounded(sign * swing, 1)]
                swings.append((abs(swing), row))
    swings.sort(key=lambda entry: -entry[0])
    return {
        "player": visible_name(person.name),
        "batting": batting,
        "bowling": bowling,
        "fielding": {"cols": ["ball", "out"], "rows": fielding},
        "win_probability_added": None if added is None else rounded(added.added, 1),
        "balls_that_moved_the_match": {
            "points": "of the batting side's probability of winning",
            "cols": ["ball", *COLUMNS[2:-1], "points"],
            "rows": [row for _, row in swings[:_MAX_MOVING_BALLS]],
        },
    }


def _batting(side: Innings, person: Player, line: Json) -> Json:
    at_crease = [b for b in side.deliveries if person.key in (b.batter.key, b.non_striker.key)]
    faced = [ball for ball in side.deliveries if ball.batter.key == person.key]
    out = next(
        (b for b in side.deliveries for w in b.wickets if w.player_out.key == person.key), None
    )
    first = at_crease[0] if at_crease else out
    return {
        **{name: line[name] for name in ("position", "runs", "balls", "fours", "sixes", "out")},
        "innings": side.number,
        "in_at": None if first is None else f"{first.score_before}/{first.wickets_before}",
        "out_ball": None if out is None else _name(side, out),
        "out_at": None if out is None else f"{out.score_before + out.runs_total}",
        "off_each_bowler": _against(faced, "bowler"),
    }


def _bowling(side: Innings, person: Player, spell: Json) -> Json:
    balls = [ball for ball in side.deliveries if ball.bowler.key == person.key]
    figures = ("overs", "maidens", "runs", "wickets", "wides", "noballs", "dots")
    wickets = [[_name(side, ball), _out(ball)] for ball in balls if ball.bowlers_wickets]
    return {
        **{name: spell[name] for name in figures},
        "innings": side.number,
        "wickets_taken": {"cols": ["ball", "out"], "rows": wickets},
        "to_each_batter": _against(balls, "batter"),
    }


def _against(balls: Iterable[Delivery], opponent: Literal["batter", "bowler"]) -> Json:
    totals = against(balls, opponent)
    rows = [[visible_name(total.name), total.balls, total.runs, total.wickets] for total in totals]
    return {"cols": [opponent, "balls", "runs", "out"], "rows": rows}
