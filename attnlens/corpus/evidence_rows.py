"""Claims tested on a sample of a corpus's balls, and what each of their past balls does."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from attnlens.corpus.rows import Side
from attnlens.corpus.schema import EFFECTS, EVIDENCE, Columns
from attnlens.cricket.evidence import Evidence, Tested, gather_evidence
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.reading import Reading, read_ball
from attnlens.cricket.window import BallWindow, cut_window, one_thread
from attnlens.explanation import build


def sampled(sides: Sequence[Side], count: int, seed: int) -> list[tuple[Side, int]]:
    """Some balls of a match's ordinary innings with a ball before them, each at most once.

    Args:
        sides: of one match.
        seed: of the corpus; the match's id makes it the match's own.

    Returns:
        innings and index, in order.
    """
    pool = [
        (side, index)
        for side in sides
        if not side.innings.super_over
        for index in range(2, len(side.arrays) + 1)
    ]
    if not pool or not count:
        return []
    generator = np.random.default_rng([seed, zlib.crc32(sides[0].match.match_id.encode())])
    return [pool[place] for place in sorted(generator.permutation(len(pool))[:count].tolist())]


@one_thread()
def tested_rows(side: Side, index: int) -> tuple[Columns, Columns]:
    """A ball's rows of ``evidence`` and of ``effects``."""
    window = cut_window(side.match, side.innings, side.arrays, index)
    reading = read_ball(side.predictor, window)
    found = gather_evidence(side.predictor, window, reading.scales)
    phase = side.phases[index - 1]
    claims = [{**_claim(one, found), "number": number} for number, one in enumerate(found.tested)]
    identity = {
        "match_id": side.match.match_id,
        "innings": side.innings.number,
        "index": index,
        "phase": phase,
    }
    return (
        _columns(EVIDENCE.names, [{**identity, **row} for row in claims]),
        _columns(EFFECTS.names, [{**identity, **row} for row in _past(window, reading, found)]),
    )


def _columns(names: Sequence[str], rows: Sequence[dict[str, object]]) -> Columns:
    return {name: [row[name] for row in rows] for name in names}


def _claim(one: Tested, found: Evidence) -> dict[str, object]:
    claim = one.claim
    change = build.top_change(OUTCOMES, found.full.tolist(), one.probabilities.tolist())
    return {
        "claim": claim.text,
        "kind": claim.kind,
        "scale": claim.scale,
        "head": claim.head,
        "removed_from": one.removed_from,
        "removed": list(claim.removed),
        "effect_nats": one.effect,
        "outcome": change["outcome"],
        "points": change["points"],
        "controls": len(one.controls),
        "p": one.p,
        "q": one.q,
        "verdict": one.judged.verdict,
        "reason": one.judged.reason,
    }


def _past(window: BallWindow, reading: Reading, found: Evidence) -> list[dict[str, object]]:
    deliveries = window.innings.deliveries
    rows = []
    for place, ball in enumerate(window.past):
        delivery = deliveries[place]
        rows.append(
            {
                "past_index": ball.index,
                "distance": window.delivery.index - ball.index,
                "past_batter": ball.batter,
                "past_batter_id": delivery.batter.id,
                "past_bowler": ball.bowler,
                "past_bowler_id": delivery.bowler.id,
                "past_outcome": ball.outcome or None,
                "attention": float(reading.total[place]),
                "effect_nats": found.effects[ball.index],
            }
        )
    return rows
