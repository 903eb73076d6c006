"""Balls by who played them and what came of them, as a client asks for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from attnlens.cricket.match.match import Match
from attnlens.cricket.match.outcomes import NOT_THE_BOWLERS, Outcome
from attnlens.cricket.match.scorecard import how_out
from attnlens.cricket.match.standing import ball_sign
from attnlens.cricket.model.people import nearest_names, people_of
from attnlens.cricket.model.tensors import free_hits
from attnlens.cricket.model.window import Row
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.show.numbers import rounded
from attnlens.show.safe import to_ascii, visible, visible_name

COLUMNS: Final = ("match", "ball", "label", "score", "bowler", "batter", "happened", "out", "bits")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which balls, and at most how many.

    Attributes:
        player: who faced it, bowled it or was out on it; of a wicket only who was out, at
            whichever end, and the bowler whose wicket it is.
    """

    innings: int | None
    player: str | None
    outcome: Outcome | None
    limit: int


def balls_found(
    matches: Iterable[tuple[str, Match]],
    wanted: Wanted,
    rate: Callable[[Match], Iterable[Row]] | None = None,
) -> Json:
    """Rows by `COLUMNS`, in the order of the matches.

    Args:
        matches: each with its name; no more are taken than it needs.
        rate: says how likely what happened was, for the most surprising first, in bits.

    Raises:
        InputError: nobody in any of them is called so.
    """
    rows: list[list[Any]] = []
    people: set[str] = set()
    known = wanted.player is None
    for name, match in matches:
        keys = None if wanted.player is None else keys_called(wanted.player, match)
        people |= {player.name for player in people_of(match)}
        known = known or bool(keys)
        bits = {} if rate is None else {(r["innings"], r["index"]): _bits(r) for r in rate(match)}
        for innings, index, row in _balls(match, wanted, keys):
            rows.append([name, f"{innings}:{index}", *row, bits.get((innings, index))])
        if len(rows) > wanted.limit and rate is None:
            break
    if not known:
        near = ", ".join(map(visible_name, nearest_names(str(wanted.player).casefold(), people)))
        raise InputError(
            f"nobody is called {wanted.player!r} in what was read",
            remedy=f"the nearest names are {near}" if near else "give a surname as files write it",
        )
    if rate is not None:
        rows.sort(key=lambda row: -row[-1])
    left_out = max(0, len(rows) - wanted.limit)
    return {"cols": COLUMNS, "rows": rows[: wanted.limit], "left_out": left_out}


def keys_called(name: str, match: Match) -> set[str]:
    """Whom of a match a name means: whole or the id, else its words, else initial and surname.

    ``buttler``, ``J Buttler`` and ``Jos Buttler`` are all JC Buttler. Several may be called so.
    """
    sought = _words(name)
    people = [(player.key, _words(player.name)) for player in people_of(match)]
    whole = {key for key, words in people if sought in (words, [key.casefold()])}
    parts = {key for key, words in people if set(sought) <= set(words)}
    near = {key for key, words in people if (words[0][0], words[-1]) == (sought[0][0], sought[-1])}
    return whole or parts or near


def _words(name: str) -> list[str]:
    """Without case and without signs on letters."""
    return to_ascii(name).casefold().split() or ["?"]


def _balls(
    match: Match, wanted: Wanted, keys: set[str] | None
) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
    """Innings, number there, and the columns between."""
    for side in match.innings:
        if wanted.innings not in (None, side.number):
            continue
        for ball, free in zip(side.deliveries, free_hits(side.deliveries), strict=True):
            gone = [wicket for wicket in ball.wickets if wicket.counts]
            who = {wicket.player_out.key for wicket in gone}
            if wanted.outcome != "W":
                who |= {ball.batter.key, ball.bowler.key}
            elif any(wicket.kind not in NOT_THE_BOWLERS for wicket in gone):
                who.add(ball.bowler.key)
            outcome = "W" if gone else ball.outcome
            if wanted.outcome not in (None, outcome) or not (keys is None or keys & who):
                continue
            out = "; ".join(f"{one.player_out}: {how_out(one, ball.bowler)}" for one in gone)
            yield (
                side.number,
                ball.index,
                (
                    ball.label,
                    f"{ball.score_before}/{ball.wickets_before}",
                    visible_name(ball.bowler.name),
                    visible_name(ball.batter.name),
                    ball_sign(ball) + " (free hit)" * free,
                    visible(out) or None,
                ),
            )


def _bits(row: Row) -> float:
    """How surprising what happened was."""
    return rounded(-math.log2(max(float(row[f"p_{row['actual']}"] or 0), 1e-9)), 2)
