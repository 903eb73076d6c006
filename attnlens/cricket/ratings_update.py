"""Ratings brought up to date without training again, and what they say of a player."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from attnlens.cricket.kinds import kinds_unlike
from attnlens.cricket.match import Match
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.ratings import Floats, Table, phase_of, softmax
from attnlens.cricket.tensors import OVER_CLASSES
from attnlens.cricket.timeline import Timeline
from attnlens.cricket.trained import TrainedPredictor
from attnlens.errors import InputError
from attnlens.explanation.heatmap import rounded

PHASES: Final[tuple[str, ...]] = ("powerplay", "middle", "death")
LISTED: Final = 12
"""At most this many names are listed where one was not enough."""


@dataclass(frozen=True, slots=True)
class Added:
    """What ratings have learnt.

    Attributes:
        matches: learnt; ``known``: not later than the ratings were, which teach nothing;
            ``after``: later than the day asked for; ``undated``: without a date.
        other: learnt although unlike what the model was trained on: how many, by kind.
        first, last: days of the first and the last match learnt.
        days: distinct days.
        players, venues: that the learnt balls tell of; ``new_…``: never rated before.
    """

    matches: int
    known: int
    after: int
    undated: int
    other: dict[str, int]
    first: datetime.date | None
    last: datetime.date | None
    days: int
    players: int
    new_players: int
    venues: int
    new_venues: int


def brought_up_to_date(
    predictor: TrainedPredictor, matches: Iterable[Match], *, until: datetime.date | None = None
) -> tuple[TrainedPredictor, Added]:
    """The predictor with every later match learnt, date by date; its weights are the same.

    Only matches that ended after the ratings' last day teach anything; one that comes twice
    counts once.

    Args:
        until: leave out matches that ended after this day.

    Returns:
        the predictor, its card telling what was added; and that. Where there was nothing to
        learn, the predictor as it was.
    """
    distinct = {match.match_id: match for match in matches}
    before = predictor.ratings.until
    dated = [match for match in distinct.values() if match.dates]
    learnt, known, after = [], 0, 0
    for match in dated:
        day = max(match.dates)
        if before is not None and day <= before:
            known += 1
        elif until is not None and day > until:
            after += 1
        elif any(side.deliveries and not side.super_over for side in match.innings):
            learnt.append(match)
    learnt.sort(key=lambda match: (max(match.dates), match.match_id))
    days = [max(match.dates) for match in learnt]
    now = Timeline(predictor, learnt).at_the_end() if learnt else predictor
    players, new_players = _told_of(predictor, now, ("striker", "bowler"))
    venues, new_venues = _told_of(predictor, now, ("venue",))
    added = Added(
        matches=len(learnt),
        known=known,
        after=after,
        undated=len(distinct) - len(dated),
        other=kinds_unlike(learnt, predictor),
        first=days[0] if days else None,
        last=days[-1] if days else None,
        days=len(set(days)),
        players=players,
        new_players=new_players,
        venues=venues,
        new_venues=new_venues,
    )
    if not learnt:
        return predictor, added
    entry = {
        "matches": added.matches,
        "from": days[0].isoformat(),
        "until": days[-1].isoformat(),
        "days": added.days,
        "new_players": new_players,
        "new_venues": new_venues,
    }
    card = {
        **predictor.card,
        "ratings_until": days[-1].isoformat(),
        "ratings_added": [*predictor.card.get("ratings_added", []), entry],
    }
    return replace(now, card=card), added


def _told_of(
    before: TrainedPredictor, now: TrainedPredictor, kinds: tuple[str, ...]
) -> tuple[int, int]:
    """How many entities the balls learnt tell of, and how many of them are new."""
    learnt, met = set(), set()
    for kind in kinds:
        old, table = before.ratings.tables[kind], now.ratings.tables[kind]
        for key, row in table.keys.items():
            earlier = old.balls[old.keys[key]] if key in old.keys else 0
            if earlier:
                met.add(key)
            if table.balls[row] > earlier:
                learnt.add(key)
    return len(learnt), len(learnt - met)


def player_data(predictor: TrainedPredictor, name: str) -> dict[str, Any]:
    """What the ratings say of a player, as striker and as bowler, over all and by phase.

    ``times`` is how many times as likely as with the average striker (or bowler, weighted by
    balls) an outcome is, on an average ball and on an average ball of the phase.

    Args:
        name: as in the files or as the registry's id, upper and lower case alike; a part
            of it where only one player has that.

    Raises:
        InputError: nobody, or several, have that name.
    """
    found, key = find_player(predictor, name)
    return {
        "player": found,
        "key": key,
        "striker": _role(predictor, "striker", key),
        "bowler": _role(predictor, "bowler", key),
    }


def rated_players(predictor: TrainedPredictor) -> dict[str, str]:
    """Every player the ratings have met, name to key; the key for one whose name is lost."""
    ratings = predictor.ratings
    rated = {
        key
        for kind in ("striker", "bowler")
        for key, row in ratings.tables[kind].keys.items()
        if ratings.tables[kind].balls[row] > 0
    }
    names = {name: key for name, key in ratings.aliases.items() if key in rated}
    named = set(names.values())
    return names | {key: key for key in rated - named}


def find_player(predictor: TrainedPredictor, name: str) -> tuple[str, str]:
    """A rated player's name and key.

    Raises:
        InputError: nobody, or several, have that name.
    """
    names = rated_players(predictor)
    sought = name.strip().casefold()
    exact = [one for one, key in names.items() if sought in (one.casefold(), key.casefold())]
    part = [one for one in names if sought and sought in one.casefold()]
    chosen = exact or part
    if not chosen:
        raise InputError(
            f"no rated player is called {name!r}", remedy="write the name as the match files do"
        )
    if len({names[one] for one in chosen}) > 1:
        listed = sorted(chosen)[:LISTED]
        more = f" and {len(chosen) - LISTED} more" if len(chosen) > LISTED else ""
        raise InputError(
            f"{name!r} may be {', '.join(listed)}{more}", remedy="give one of these names in full"
        )
    return chosen[0], names[chosen[0]]


def _role(predictor: TrainedPredictor, role: str, key: str) -> dict[str, Any] | None:
    """A player in one role; ``None`` for one never met in it."""
    tables = predictor.ratings.tables
    whole, by_phase = tables[role], tables[f"{role}_phase"]
    row = whole.keys.get(key, -1)
    if row < 0 or not whole.balls[row]:
        return None
    players = np.array(list(whole.keys.values()), np.int64)
    middle = _mean(whole.rating[players], whole.balls[players])
    base = predictor.base
    phases = []
    for number, phase in enumerate(PHASES):
        mine = by_phase.keys.get(f"{key}#{number}", -1)
        if mine < 0 or not by_phase.balls[mine]:
            continue
        phases.append(
            {
                "phase": phase,
                "balls": int(by_phase.balls[mine]),
                "outcomes": _times(
                    _phase_prior(base.prior, number),
                    whole.rating[row] + by_phase.rating[mine],
                    _phase_mean(whole, by_phase, number),
                ),
            }
        )
    return {
        "balls": int(whole.balls[row]),
        "outcomes": _times(base.everything, whole.rating[row], middle),
        "phases": phases,
    }


def _mean(rating: Floats, balls: Floats) -> Floats:
    result: Floats = (rating * balls[:, None]).sum(0) / max(float(balls.sum()), 1.0)
    return result


def _phase_mean(whole: Table, by_phase: Table, phase: int) -> Floats:
    """The mean rating of everybody in a phase, weighted by balls there, ``(11,)``."""
    pairs = [
        (whole.keys[player], row)
        for key, row in by_phase.keys.items()
        for player, _, number in (key.rpartition("#"),)
        if number == str(phase) and player in whole.keys
    ]
    people, rows = (list(column) for column in zip(*pairs, strict=True))
    return _mean(whole.rating[people] + by_phase.rating[rows], by_phase.balls[rows])


def _phase_prior(prior: Floats, phase: int) -> Floats:
    """Log-probabilities of an average ball of a phase, both innings alike, ``(11,)``."""
    overs = [over for over in range(OVER_CLASSES) if phase_of(over, OVER_CLASSES) == phase]
    result: Floats = np.log(np.exp(prior[:, overs]).mean((0, 1)))
    return result


def _times(base: Floats, rating: Floats, average: Floats) -> list[dict[str, Any]]:
    ratio = softmax(base + rating) / softmax(base + average)
    return [
        {"outcome": outcome, "times": rounded(float(value))}
        for outcome, value in zip(OUTCOMES, ratio, strict=True)
    ]
