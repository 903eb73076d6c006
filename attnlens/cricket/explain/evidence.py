"""Testing what an explanation says of a ball: take it away, and others like it.

Every claim about past balls is tested with its balls hidden from the whole model; a head's
claim also with them hidden from that head alone. Claims about what was known of the ball are
`attnlens.cricket.explain.claims`'. How they are judged is `attnlens.claims.claims`'.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.shapley import Contributions, contributions
from attnlens.arrays import Floats
from attnlens.claims import claims, evidence
from attnlens.claims.claims import MODEL, Place, Trial
from attnlens.claims.verdicts import CHANCE, Judged, others_do_more
from attnlens.cricket.explain.ablation import OneBall, Replacement, under_knowledge, under_masks
from attnlens.cricket.explain.claims import Claim, claims_of, measure_knowledge
from attnlens.cricket.explain.heatmap import ScaleAttention
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.model.heads import RECENT, head_key
from attnlens.cricket.model.predictor import KNOWLEDGE
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import BallWindow

Tested: TypeAlias = claims.Tested[Claim]
Evidence: TypeAlias = evidence.Evidence[Claim]

BALLS: Final = "balls"
MASKS: Final = 6000
"""Masks of the whole model that may be asked about for one ball."""

RESERVED: Final = 450
"""Of those, what is kept for the second operator."""


def groups_of(window: BallWindow) -> dict[str, list[int]]:
    """Past balls by group, positions on the key axis; each under the first that fits."""
    tests = {
        "this over": "same_over",
        "this bowler to this batter": "same_matchup",
        "this bowler's earlier balls": "same_bowler",
        "this batter's earlier balls": "same_batsman",
    }
    others = ("other recent balls", "earlier balls")
    groups: dict[str, list[int]] = {name: [] for name in (*tests, *others)}
    for place, ball in enumerate(window.past):
        late = others[place < len(window.past) - RECENT]
        fitting = (name for name, relation in tests.items() if relation in ball.relations)
        groups[next(fitting, late)].append(place)
    return groups


def contributions_of(predictor: TrainedPredictor, window: BallWindow) -> Contributions:
    """Exact Shapley values of ten groups: four of knowledge, six of past balls.

    They are in probability and sum to the full prediction minus the baseline. A group without a
    ball is not played, and its part is zero.
    """
    past = len(window.past)

    def predict(masks: NDArray[np.bool_]) -> Floats:
        known = {group: masks[:, past + number] for number, group in enumerate(KNOWLEDGE)}
        return under_knowledge(predictor.model, window.batch, masks[:, :past], known)

    groups = {group: [past + number] for number, group in enumerate(KNOWLEDGE)}
    return contributions(predict, groups | groups_of(window), range(past + len(KNOWLEDGE)))


def baseline_only(predictor: TrainedPredictor, window: BallWindow) -> Floats:
    """The prediction with every group taken away, ``(11,)``."""
    nothing = {group: np.zeros(1, bool) for group in KNOWLEDGE}
    visible = np.zeros((1, len(window.past)), bool)
    result: Floats = under_knowledge(predictor.model, window.batch, visible, nothing)[0]
    return result


def gather_evidence(
    predictor: TrainedPredictor,
    window: BallWindow,
    scales: Mapping[str, ScaleAttention],
    *,
    outcome: str | None = None,
) -> Evidence:
    """Run every intervention on one ball: groups, single balls, claims and their controls.

    The controls are drawn from a seed that depends on the match, the innings and the
    ball only, so the same question has the same answer.

    Args:
        outcome: the outcome to explain: effects are then nats between its chance and that
            of any other, before and after. Without, the whole distribution.
    """
    shared_out = contributions_of(predictor, window)
    key = f"{window.match.match_id}/{window.innings.number}/{window.delivery.index}"
    seed = zlib.crc32(key.encode())
    past = tuple(ball.index for ball in window.past)
    places = _places(predictor, window, scales, seed)
    trial: Trial[Claim] = Trial(
        places,
        seed=seed,
        distances={index: window.delivery.index - index for index in past},
        outcome=None if outcome is None else OUTCOME_INDEX[outcome],
        budget=MASKS - RESERVED - shared_out.masks,
        items=BALLS,
    )
    found = trial.without(MODEL, [(), *((index,) for index in past)])
    full, nats = found[0], trial.effect(found[0], found)
    known, masks = measure_knowledge(predictor, window, full, trial)
    trial.spend(MODEL, masks)

    told = []
    asked = []
    for claim in claims_of(window, scales):
        told.append(claim)
        asked.append((claim, MODEL))
        if claim.scale is not None and claim.head is not None:
            long = claim.scale == "long"
            inner = _by_overs(claim, scales[claim.scale]) if long else claim
            told.append(claim)
            asked.append((inner, _place_of(claim.scale, claim.head)))
    measured = [
        replace(one, claim=claim) for one, claim in zip(trial.measure(asked), told, strict=True)
    ]
    return evidence.Evidence(
        full=full,
        baseline=shared_out.baseline,
        singles={index: found[1 + at] for at, index in enumerate(past)},
        effects={index: float(nats[1 + at]) for at, index in enumerate(past)},
        groups=shared_out.groups,
        contributions=shared_out.table,
        tested=[_worded(one) for one in trial.judge([*measured, *known], full)],
        spent={"contributions": shared_out.masks, **trial.spent},
    )


def _worded(one: Tested) -> Tested:
    """A claim about what was known is not contradicted by another's mattering more."""
    if one.claim.removed or one.judged.reason != others_do_more(BALLS):
        return one
    return replace(one, judged=Judged("not better than chance", CHANCE))


def _place_of(scale: str, head: str) -> str:
    return f"{scale}/{head}"


def _places(
    predictor: TrainedPredictor,
    window: BallWindow,
    scales: Mapping[str, ScaleAttention],
    seed: int,
) -> dict[str, Place]:
    """The whole model, and every head."""
    ball = OneBall(predictor.model, window.batch)
    swap = Replacement(ball, seed)
    past = tuple(one.index for one in window.past)
    whole = partial(under_masks, predictor.model, window.batch)
    places = {MODEL: Place(whole, past, swap.everywhere)}
    for scale, attention in scales.items():
        keys = ball.scales[scale].keys
        for number, pattern in enumerate(attention.patterns):
            # The long scale's keys are overs: hidden one by one, and not replaced.
            over = scale == "long"
            places[_place_of(scale, head_key(number, pattern))] = Place(
                partial(ball.under_masks, scale, number),
                tuple(range(keys)) if over else past[len(past) - keys :],
                None if over else partial(swap.for_head, scale, number),
                free=True,
            )
    return places


def _by_overs(claim: Claim, attention: ScaleAttention) -> Claim:
    """A claim about balls as the long scale's head sees it, whose keys are overs."""
    over_of = {ball.index: ball.over for ball in attention.balls}
    return replace(
        claim,
        removed=(over_of[claim.removed[0]],),
        window=tuple(dict.fromkeys(over_of[index] for index in claim.window)),
        matched=False,
    )
