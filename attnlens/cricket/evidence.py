"""Testing what the heads point at: hide those balls, and other balls like them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.controls import Pool, draw, pool_for
from attnlens.analysis.shapley import shapley_values, subsets
from attnlens.analysis.verdicts import (
    TOO_FEW,
    Judged,
    benjamini_hochberg,
    comparable,
    divergence,
    judge,
    p_value,
)
from attnlens.cricket.ablation import under_knowledge, under_masks, without
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import BallWindow
from attnlens.explanation.heatmap import LISTED, PastBall, ScaleAttention, head_key, ranked
from attnlens.models.predictor import KNOWLEDGE
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]
Kind = Literal["head", "this over", "boundaries"]

RECENT = SCALES["medium"]
RELATION_HEADS = ("same_bowler", "same_batsman")
UNSPECIALISED = "unspecialised"


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the attention says, and the balls to hide to test it.

    ``removed`` and ``window`` are indices of balls in the innings.
    """

    text: str
    kind: Kind
    removed: tuple[int, ...]
    window: tuple[int, ...]
    matched: bool
    scale: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """A claim, what hiding its balls did, and what chance would have done.

    ``matched``: whether the controls it was judged by have the claim's distances.
    """

    claim: Claim
    probabilities: Floats
    effect: float
    points: Floats
    controls: Floats
    matched: bool
    p: float | None
    q: float | None
    judged: Judged


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Everything that interventions said of one ball.

    Attributes:
        full: outcome probabilities with everything, ``(11,)``.
        baseline: with every group taken away, ``(11,)``.
        singles: ball index to probabilities without that ball.
        effects: ball index to the nats that hiding it alone costs.
        groups: the names of the groups.
        contributions: each group's part of full minus baseline, ``(group, 11)``.
        tested: the claims.
    """

    full: Floats
    baseline: Floats
    singles: dict[int, Floats]
    effects: dict[int, float]
    groups: tuple[str, ...]
    contributions: Floats
    tested: list[Tested] = field(default_factory=list)


def names_of(balls: Sequence[PastBall]) -> str:
    """``ball 7.1`` or ``balls 6.2, 7.1``, oldest first."""
    labels = [ball.label for ball in sorted(balls, key=lambda ball: ball.index)]
    return f"ball{'s' * (len(labels) > 1)} {', '.join(labels)}"


def head_words(number: int, pattern: str | None, earned: str) -> str:
    """What to call a head: the name it has earned, else what it started as."""
    name = earned.replace("_", "-")
    if pattern is None:
        told = "" if earned == UNSPECIALISED else f" that earned the name {name}"
        return f"free head {number}{told}"
    start = pattern.replace("_", "-")
    if earned == pattern:
        return f"the {start} head"
    now = "" if earned == UNSPECIALISED else f", now {name}"
    return f"head {number} (started as {start}{now})"


def claims_of(window: BallWindow, scales: dict[str, ScaleAttention]) -> list[Claim]:
    """What the heads say of this ball: one claim per head that lists a ball, and two more.

    The heads of every scale, then this over's balls, then the last boundaries.
    """
    claims = []
    for scale, attention in scales.items():
        inside = tuple(ball.index for ball in attention.balls)
        for number, pattern in enumerate(attention.patterns):
            order = ranked(attention.balls, attention.rows[number])
            related = pattern in RELATION_HEADS
            if related:
                order = [p for p in order if pattern in attention.balls[p].relations]
            listed = [attention.balls[place] for place in order[:LISTED]]
            if not listed:
                continue
            looked_at = names_of(listed)
            if scale == "long":
                # The head saw one summary of the over: its balls cannot be told apart.
                over = listed[0].over
                listed = [ball for ball in attention.balls if ball.over == over]
                looked_at = f"over {over} most ({names_of(listed)})"
            whose = head_words(number, pattern, attention.earned[number])
            if related:
                player = (
                    window.delivery.bowler if pattern == "same_bowler" else window.delivery.batter
                )
                whose = f"{whose}, {player.name}"
            claims.append(
                Claim(
                    text=f"on the {scale} scale, {whose} looked at {looked_at}",
                    kind="head",
                    removed=tuple(ball.index for ball in listed),
                    window=inside,
                    matched=related,
                    scale=scale,
                    head=head_key(number, pattern),
                )
            )
    recent = window.past[-(RECENT - 1) :]
    inside = tuple(ball.index for ball in recent)
    this_over = [ball for ball in recent if "same_over" in ball.relations]
    if this_over:
        claims.append(
            Claim(
                f"this over so far ({names_of(this_over)})",
                "this over",
                tuple(ball.index for ball in this_over),
                inside,
                matched=False,
            )
        )
    boundaries = [ball for ball in recent if ball.boundary][-LISTED:]
    if boundaries:
        claims.append(
            Claim(
                f"the last boundaries ({names_of(boundaries)})",
                "boundaries",
                tuple(ball.index for ball in boundaries),
                inside,
                matched=True,
            )
        )
    return claims


def groups_of(window: BallWindow) -> dict[str, list[int]]:
    """Past balls by group, positions on the key axis; each under the first that fits."""
    groups: dict[str, list[int]] = {
        "this over": [],
        "this bowler to this batter": [],
        "this bowler's earlier balls": [],
        "this batter's earlier balls": [],
        "other recent balls": [],
        "earlier balls": [],
    }
    tests = (
        ("this over", "same_over"),
        ("this bowler to this batter", "same_matchup"),
        ("this bowler's earlier balls", "same_bowler"),
        ("this batter's earlier balls", "same_batsman"),
    )
    near = len(window.past) - (RECENT - 1)
    for place, ball in enumerate(window.past):
        fitting = next((name for name, relation in tests if relation in ball.relations), None)
        late = "other recent balls" if place >= near else "earlier balls"
        groups[fitting or late].append(place)
    return groups


def baseline_and_contributions(
    predictor: TrainedPredictor, window: BallWindow
) -> tuple[Floats, tuple[str, ...], Floats]:
    """Exact Shapley values of ten groups: four of knowledge, six of past balls.

    A group without a ball is not played, and its part is zero.

    Returns:
        the baseline ``(11,)``, the groups' names and their contributions ``(10, 11)``, in
        probability; they sum to the full prediction minus the baseline.
    """
    balls = groups_of(window)
    names = (*KNOWLEDGE, *balls)
    played = [name for name in names if name in KNOWLEDGE or balls[name]]
    flags = subsets(len(played))
    column = {name: number for number, name in enumerate(played)}
    known = {group: flags[:, column[group]] for group in KNOWLEDGE}
    visible = np.zeros((len(flags), len(window.past)), bool)
    for name, places in balls.items():
        if places:
            visible[:, places] = flags[:, column[name], None]
    values = under_knowledge(predictor.model, window.batch, visible, known)
    parts = shapley_values(values)
    table = np.zeros((len(names), values.shape[1]))
    for number, name in enumerate(names):
        if name in column:
            table[number] = parts[column[name]]
    return values[0], names, table


def baseline_only(predictor: TrainedPredictor, window: BallWindow) -> Floats:
    """The prediction with every group taken away, ``(11,)``."""
    nothing = {group: np.zeros(1, bool) for group in KNOWLEDGE}
    visible = np.zeros((1, len(window.past)), bool)
    result: Floats = under_knowledge(predictor.model, window.batch, visible, nothing)[0]
    return result


def gather_evidence(
    predictor: TrainedPredictor, window: BallWindow, scales: dict[str, ScaleAttention]
) -> Evidence:
    """Run every intervention on one ball: single balls, claims, their controls, groups.

    The controls are drawn from a seed that depends on the match, the innings and the
    ball only, so the same question has the same answer.
    """
    baseline, names, contributions = baseline_and_contributions(predictor, window)
    place = {ball.index: number for number, ball in enumerate(window.past)}
    current = window.delivery.index
    claims = claims_of(window, scales)
    key = f"{window.match.match_id}/{window.innings.number}/{current}"
    generator = np.random.default_rng(zlib.crc32(key.encode()))

    pools: dict[Pool, list[tuple[int, ...]]] = {}
    pool_of = []
    for claim in claims:
        distances = {index: current - index for index in claim.window} if claim.matched else None
        pool = pool_for(claim.removed, claim.window, distances)
        pool_of.append(pool)
        if pool not in pools:
            # Its own set is one of them, so one more is needed than is compared with.
            pools[pool] = draw(pool, generator) if comparable(pool.sets - 1) else []

    sets: list[tuple[int, ...]] = [()]
    sets += [(ball.index,) for ball in window.past]
    sets += [claim.removed for claim in claims]
    starts = {}
    for pool, drawn in pools.items():
        starts[pool] = len(sets)
        sets += drawn
    masks = without(len(window.past), [[place[index] for index in one] for one in sets])
    found = under_masks(predictor.model, window.batch, masks)
    full = found[0]
    nats = divergence(full, found)

    evidence = Evidence(
        full=full,
        baseline=baseline,
        singles={ball.index: found[1 + n] for n, ball in enumerate(window.past)},
        effects={ball.index: float(nats[1 + n]) for n, ball in enumerate(window.past)},
        groups=names,
        contributions=contributions,
    )
    first_claim = 1 + len(window.past)
    measured = []
    for number, claim in enumerate(claims):
        pool = pool_of[number]
        own = tuple(sorted(claim.removed))
        rows = [starts[pool] + offset for offset, one in enumerate(pools[pool]) if one != own]
        measured.append((claim, first_claim + number, nats[rows]))
    evidence.tested.extend(_judged(full, found, nats, measured))
    return evidence


def _judged(
    full: Floats,
    found: Floats,
    nats: Floats,
    measured: Sequence[tuple[Claim, int, Floats]],
) -> list[Tested]:
    """p for every set of balls that can be compared, q over those sets, and verdicts.

    Several heads may list the same balls. Those balls are one hypothesis: it counts once
    among the claims, and where its claims have different controls the least favourable
    comparison speaks for all of them, so the same balls never get two verdicts.
    """
    strictest: dict[frozenset[int], tuple[float, Floats, bool]] = {}
    for claim, row, controls in measured:
        if len(controls):
            balls = frozenset(claim.removed)
            p = p_value(float(nats[row]), controls)
            if balls not in strictest or p > strictest[balls][0]:
                strictest[balls] = p, controls, claim.matched
    q_values = dict(
        zip(strictest, benjamini_hochberg([p for p, _, _ in strictest.values()]), strict=True)
    )
    tested = []
    for claim, row, controls in measured:
        points = 100 * (found[row] - full)
        balls = frozenset(claim.removed)
        effect = float(nats[row])
        if not len(controls):
            nothing = Judged(None, TOO_FEW)
            tested.append(
                Tested(
                    claim, found[row], effect, points, controls, claim.matched, None, None, nothing
                )
            )
            continue
        p, compared, matched = strictest[balls]
        q = q_values[balls]
        judged = judge(effect, points, compared, q)
        tested.append(Tested(claim, found[row], effect, points, compared, matched, p, q, judged))
    return tested
