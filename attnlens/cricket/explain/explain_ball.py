"""Explaining one ball: read it, run the model, read its attention, test it, write it down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from attnlens.claims.claims import MODEL
from attnlens.cricket.explain import build, types
from attnlens.cricket.explain.attention_types import (
    AcrossBalls,
    FusionWeights,
    HeatMap,
    Layer,
    LongHeatMap,
    Node,
    WithinBall,
)
from attnlens.cricket.explain.evidence import (
    Evidence,
    Tested,
    baseline_only,
    gather_evidence,
    groups_of,
)
from attnlens.cricket.explain.flags import flags_of
from attnlens.cricket.explain.heatmap import NATS_DIGITS, heat_map
from attnlens.cricket.explain.particulars import ball_facts, match_facts, model_particulars
from attnlens.cricket.explain.reading import Reading, read_ball
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES, Outcome
from attnlens.cricket.model.calibration import CalibrationTable
from attnlens.cricket.model.heads import RECENT
from attnlens.cricket.model.predictor import FUSED
from attnlens.cricket.model.tensors import NODES
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import BallWindow, one_thread, window_for
from attnlens.cricket.model.within_ball import SLOTS
from attnlens.errors import InputError
from attnlens.show.numbers import rounded

NOT_COUNTED: Final = frozenset(
    {"super_over", "other_format", "other_gender", "other_balls_per_over"}
)
"""Flags of balls of which no table of calibration speaks."""

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the controls' effects, as far as they are told."""

MEDIAN: Final = QUANTILES.index(0.5)

GREATEST: Final = 3
"""How many of a group's balls are told by themselves."""


@one_thread()
def explain_ball(
    match: Match,
    reference: BallReference,
    predictor: TrainedPredictor,
    *,
    evidence: bool = True,
    history: bool = False,
    outcome: str | None = None,
) -> Explanation:
    """The explanation of one ball, without words: `attnlens.cricket.words.narrative.in_words`.

    Args:
        evidence: run the interventions; without them attention is shown and not tested.
        history: whether the predictor's ratings are those of the match's date.
        outcome: the outcome to explain: effects, p and verdicts are then about its chance
            against that of any other. Without, about the whole distribution.

    Raises:
        InputError: no such outcome.
    """
    if outcome is not None and outcome not in OUTCOMES:
        raise InputError(f"no outcome {outcome!r}", remedy=f"choose one of {' '.join(OUTCOMES)}")
    explained = _outcome(outcome)
    window = window_for(match, reference, predictor)
    reading = read_ball(predictor, window)
    tested = None
    if evidence:
        tested = gather_evidence(predictor, window, reading.scales, outcome=explained)
    full = reading.probabilities if tested is None else tested.full
    baseline = baseline_only(predictor, window) if tested is None else tested.baseline
    flags = flags_of(window, predictor, evidence=evidence, history=history)
    across_balls = _across_balls(window, reading, tested)
    contributions = () if tested is None else _contributions(window, tested)
    return Explanation(
        schema_version=types.SCHEMA_VERSION,
        model=model_particulars(predictor),
        match=match_facts(match, window),
        ball=ball_facts(window, reference),
        prediction=build.prediction(
            full.tolist(),
            baseline.tolist(),
            _outcome(window.delivery.outcome or None),
            explained,
            _calibration(predictor, flags, full.tolist()),
        ),
        contributions=contributions,
        within_ball=_within_ball(reading),
        across_balls=across_balls,
        fusion_weights=_fusion_weights(reading),
        history=_history(window, reading, tested, _mentioned(across_balls, contributions)),
        evidence=()
        if tested is None
        else tuple(_claim(one, tested, window, explained) for one in tested.tested),
        flags=flags,
        summary="",
        narrative=(),
    )


def _outcome(name: str | None) -> Outcome | None:
    return None if name is None else OUTCOMES[OUTCOME_INDEX[name]]


def _calibration(
    predictor: TrainedPredictor, flags: Sequence[types.Caution], full: Sequence[float]
) -> types.Calibration | None:
    """How often such calls came true; nothing for cricket in which none was counted."""
    elsewhere = NOT_COUNTED.intersection(caution.flag for caution in flags)
    table = predictor.calibration
    if table is None or elsewhere:
        return None
    chances = zip(OUTCOMES, full, strict=True)
    return types.Calibration(
        checkpoint=table.checkpoint,
        matches=table.matches,
        balls=table.balls,
        first=table.first,
        last=table.last,
        outcomes=tuple(_calls_like(table, outcome, chance) for outcome, chance in chances),
    )


def _calls_like(table: CalibrationTable, outcome: Outcome, chance: float) -> types.CallsLikeThis:
    level = table.like(outcome, chance)
    return types.CallsLikeThis(
        outcome=outcome,
        predicted=level.predicted,
        happened=level.happened,
        happened_ci=level.happened_ci,
        balls=level.balls,
    )


def _across_balls(window: BallWindow, reading: Reading, tested: Evidence | None) -> AcrossBalls:
    """The heat map of each scale."""
    maps: dict[str, HeatMap | LongHeatMap] = {
        scale: heat_map(
            attention,
            bowler=window.delivery.bowler.name,
            batter=window.delivery.batter.name,
            effects=None if tested is None else tested.effects,
        )
        for scale, attention in reading.scales.items()
    }
    return AcrossBalls.model_validate(maps)


def _within_ball(reading: Reading) -> WithinBall:
    """What the graph inside the ball weighed, layer by layer."""
    within = reading.prediction.within
    counts = dict(zip(SLOTS, reading.prediction.slot_counts[0, :, 0].tolist(), strict=True))
    layers = [
        Layer.model_validate(
            {
                "layer": layer,
                "weight": rounded(share),
                "nodes": [
                    Node(
                        node=node,
                        weight=rounded(weight),
                        visible=int(counts[node]) if node in counts else None,
                    )
                    for node, weight in zip(nodes, within[layer][0, 0].tolist(), strict=True)
                ],
            }
        )
        for share, (layer, nodes) in zip(
            within["layers"][0, 0].tolist(), NODES.items(), strict=True
        )
    ]
    return WithinBall(layers=tuple(layers))


def _fusion_weights(reading: Reading) -> FusionWeights:
    gates = reading.prediction.gates[0, 0].tolist()
    return FusionWeights(**dict(zip(FUSED, map(rounded, gates), strict=True)))


def _contributions(window: BallWindow, tested: Evidence) -> tuple[types.Contribution, ...]:
    """Each group's part, with its balls that do most by themselves."""
    greatest = {}
    for group, places in groups_of(window).items():
        balls = sorted(
            (window.past[place].index for place in places),
            key=lambda index: (-tested.effects[index], -index),
        )
        greatest[group] = [
            (index, (100 * (tested.full - tested.singles[index])).tolist())
            for index in balls[:GREATEST]
        ]
    return build.contributions(tested.groups, tested.contributions.tolist(), greatest)


def _mentioned(across_balls: AcrossBalls, contributions: Sequence[types.Contribution]) -> set[int]:
    """Every ball that a heat map or a contribution names."""
    found = {ball.index for group in contributions for ball in group.balls}
    for scale in (across_balls.micro, across_balls.short, across_balls.medium, across_balls.long):
        for head in scale.attention_by_head.values():
            found.update(head.top_balls, head.top_any)
    return found


def _history(
    window: BallWindow, reading: Reading, tested: Evidence | None, named: set[int]
) -> tuple[types.PastBall, ...]:
    """The recent balls and those that are named."""
    wanted = {ball.index for ball in window.past[-RECENT:]} | named
    if tested is None:
        return tuple(
            build.past_ball(ball, float(reading.total[place]))
            for place, ball in enumerate(window.past)
            if ball.index in wanted
        )
    wanted.update(index for one in tested.tested for index in one.claim.removed)
    return tuple(
        build.past_ball(
            ball,
            float(reading.total[place]),
            tested.effects[ball.index],
            build.outcome_points((100 * (tested.singles[ball.index] - tested.full)).tolist()),
        )
        for place, ball in enumerate(window.past)
        if ball.index in wanted
    )


def _claim(
    one: Tested, tested: Evidence, window: BallWindow, explained: Outcome | None
) -> types.Evidence:
    claim = one.claim
    spread = None
    if len(one.controls):
        nats = np.quantile(one.controls, QUANTILES).tolist()
        spread = tuple(rounded(value, NATS_DIGITS) for value in nats)
    removed = [window.past[index - 1] for index in claim.removed]
    return types.Evidence(
        claim=claim.text,
        scale=claim.scale,
        head=claim.head,
        kind=claim.kind,
        removed=claim.removed,
        tally=build.tally(removed, window.delivery.over),
        removed_from="model" if one.place == MODEL else "head",
        effect_nats=rounded(one.effect, NATS_DIGITS),
        changes=build.outcome_points(one.points.tolist()),
        top_change=build.top_change(tested.full.tolist(), one.probabilities.tolist(), explained),
        control=_control(one),
        controls=len(one.controls),
        control_median_nats=None if spread is None else spread[MEDIAN],
        control_quantiles_nats=spread,
        p=None if one.p is None else rounded(one.p),
        q=None if one.q is None else rounded(one.q),
        replaced=_second_operator(one),
        verdict=one.judged.verdict,
        reason=one.judged.reason,
    )


def _control(one: Tested) -> types.Control | None:
    """What a claim is compared with."""
    if one.claim.kind in ("striker's record", "bowler's record"):
        return "records of other players"
    if one.claim.kind in ("the scoreboard", "the chase"):
        return "scoreboards of earlier balls"
    if one.claim.kind == "venue and teams":
        return None
    return "random sets with the same distances" if one.matched else "random sets of the same size"


def _second_operator(one: Tested) -> types.SecondOperator | None:
    if one.replaced is None or one.replaced_controls is None:
        return None
    return types.SecondOperator(
        effect_nats=rounded(one.replaced.mean(), NATS_DIGITS),
        draws=len(one.replaced),
        control_nats=rounded(one.replaced_controls.mean(), NATS_DIGITS),
        controls=len(one.replaced_controls),
    )
