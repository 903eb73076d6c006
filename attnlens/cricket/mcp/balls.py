"""Balls by who played them and what came of them, as a client asks for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from attnlens.cricket.match.match import Delivery, Match
from attnlens.cricket.match.naming import people_called, people_of
from attnlens.cricket.match.outcomes import Outcome
from attnlens.cricket.match.scorecard import ball_sign, how_out
from attnlens.cricket.predictor.tensors import free_hits
from attnlens.cricket.predictor.window import Row
from attnlens.errors import InputError
from attnlens.render.numbers import rounded
from attnlens.render.safe import visible, visible_name

COLUMNS: Final = (
    *("match", "ball", "label", "score", "bowler", "batter", "happened", "out", "free_hit"),
)


def balls_found(
    matches: Iterable[tuple[str, Match]],
    *,
    innings: int | None,
    player: str | None,
    outcome: Outcome | None,
) -> Iterator[list[Any]]:
    """Rows by `COLUMNS`, match by match, in their order.

    Args:
        matches: each with its name.
        player: who faced it, bowled it or was out on it; of a wicket only who was out, at
            whichever end, and the bowler whose wicket it is.

    Raises:
        InputError: nobody in any of them is called so.
    """
    known = player is None
    for name, match in matches:
        keys = None if player is None else keys_called(player, match)
        known = known or bool(keys)
        for side in match.innings:
            if innings not in (None, side.number):
                continue
            for ball, free in zip(side.deliveries, free_hits(side.deliveries), strict=True):
                if outcome in (None, ball.outcome) and (keys is None or keys & _who(ball, outcome)):
                    yield [name, f"{side.number}:{ball.index}", *_told(ball), free]
    if not known:
        raise InputError(
            f"nobody in what was read is called {player!r}",
            remedy="give a surname as the match files write it",
        )


def _who(ball: Delivery, outcome: Outcome | None) -> set[str]:
    """The keys of those whose ball it is, where such an outcome is asked for."""
    out = {wicket.player_out.key for wicket in ball.wickets if wicket.counts}
    if outcome != "W":
        return out | {ball.batter.key, ball.bowler.key}
    return out | {ball.bowler.key} if ball.bowlers_wickets else out


def _told(ball: Delivery) -> tuple[str | None, ...]:
    """The columns from the label to who was out."""
    out = (f"{w.player_out}: {how_out(w, ball.bowler)}" for w in ball.wickets if w.counts)
    return (
        ball.label,
        f"{ball.score_before}/{ball.wickets_before}",
        visible_name(ball.bowler.name),
        visible_name(ball.batter.name),
        ball_sign(ball),
        visible("; ".join(out)) or None,
    )


def surprises(rows: Iterable[Row]) -> dict[str, float]:
    """How many bits what happened was worth, by a ball's name; of the rows of a prediction."""
    chances = {f"{row['innings']}:{row['index']}": row[f"p_{row['actual']}"] for row in rows}
    return {ball: rounded(-math.log2(float(p or 1e-9)), 2) for ball, p in chances.items()}


def keys_called(name: str, match: Match) -> set[str]:
    """Whom of a match a name means: ``buttler``, ``J Buttler`` and ``Jos Buttler`` JC Buttler."""
    people, ends = people_of(match), _ends(name)
    near = [player for player in people if _ends(player.name) == ends]
    return {player.key for player in people_called(name, people) or near}


def _ends(name: str) -> tuple[str, str]:
    """The first letter and the surname."""
    return name.strip()[:1].casefold(), name.casefold().rpartition(" ")[2]
