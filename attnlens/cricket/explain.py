"""Explaining one ball: read it, run the model, read its attention, test it, write it down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from attnlens.cricket.calibration import calls_like
from attnlens.cricket.evidence import (
    RECENT,
    Evidence,
    Tested,
    baseline_only,
    gather_evidence,
    groups_of,
)
from attnlens.cricket.flags import flags_of
from attnlens.cricket.match import Match
from attnlens.cricket.naming import BallReference, echo
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.particulars import chase, model_particulars, standing
from attnlens.cricket.reading import Reading, read_ball
from attnlens.cricket.results import result_sentence
from attnlens.cricket.tensors import NODES, free_hits
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import BallWindow, one_thread, window_for
from attnlens.errors import InputError
from attnlens.explanation import build
from attnlens.explanation.heatmap import heat_map, rounded
from attnlens.explanation.narrative import narrate
from attnlens.explanation.summary import summarize_temporal_attention
from attnlens.models.predictor import FUSED
from attnlens.models.slots import SLOTS

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
) -> dict[str, Any]:
    """The explanation of one ball as plain data (see `attnlens.explanation.types`).

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
    window = window_for(match, reference, predictor)
    reading = read_ball(predictor, window)
    tested = None
    if evidence:
        tested = gather_evidence(predictor, window, reading.scales, outcome=outcome)
    full = reading.probabilities if tested is None else tested.full
    baseline = baseline_only(predictor, window) if tested is None else tested.baseline

    effects = None if tested is None else tested.effects
    across_balls = {
        scale: heat_map(
            attention,
            bowler=window.delivery.bowler.name,
            batter=window.delivery.batter.name,
            effects=effects,
        )
        for scale, attention in reading.scales.items()
    }
    contributions = []
    if tested is not None:
        contributions = build.contributions(
            OUTCOMES, tested.groups, tested.contributions.tolist(), _greatest(window, tested)
        )
    greatest = {ball["index"] for group in contributions for ball in group["balls"]}
    history_rows = _history(window, reading, tested, build.mentioned(across_balls, greatest))
    by_index = {row["index"]: row for row in history_rows}
    flags = flags_of(window, predictor, evidence=evidence, history=history)
    data = {
        "schema_version": build.SCHEMA_VERSION,
        "model": model_particulars(predictor),
        "match": _match(window),
        "ball": _ball(window, reference),
        "prediction": build.prediction(
            OUTCOMES,
            full.tolist(),
            baseline.tolist(),
            window.delivery.outcome or None,
            outcome,
            _calibration(predictor, flags, full.tolist()),
        ),
        "contributions": contributions,
        "within_ball": _within_ball(reading),
        "across_balls": across_balls,
        "fusion_weights": {
            name: rounded(weight)
            for name, weight in zip(FUSED, reading.prediction.gates[0, 0].tolist(), strict=True)
        },
        "history": history_rows,
        "evidence": []
        if tested is None
        else [
            _claim(
                one,
                tested.full.tolist(),
                outcome,
                build.tally([by_index[ball] for ball in one.claim.removed], window.delivery.over),
            )
            for one in tested.tested
        ],
        "flags": flags,
        "summary": summarize_temporal_attention(across_balls["medium"], by_index),
    }
    data["narrative"] = narrate(data)
    return data


def _calibration(
    predictor: TrainedPredictor, flags: Iterable[Mapping[str, str]], full: Sequence[float]
) -> dict[str, Any] | None:
    """How often such calls came true; nothing for cricket in which none was counted."""
    elsewhere = NOT_COUNTED.intersection(flag["flag"] for flag in flags)
    if predictor.calibration is None or elsewhere:
        return None
    return calls_like(predictor.calibration, full)


def _match(window: BallWindow) -> dict[str, Any]:
    match, innings = window.match, window.innings
    name = match.event.get("name")
    return {
        "match_id": match.match_id,
        "match_type": match.match_type,
        "gender": match.gender,
        "dates": [day.isoformat() for day in match.dates],
        "season": match.season,
        "event": None if name is None else str(name),
        "venue": match.venue,
        "city": match.city,
        "teams": list(match.teams),
        "batting_team": innings.batting_team,
        "bowling_team": innings.bowling_team,
        "result": result_sentence(match),
        "notes": list(match.notes),
    }


def _ball(window: BallWindow, reference: BallReference) -> dict[str, Any]:
    innings, ball = window.innings, window.delivery
    bowled = ball.legal_balls_before
    return {
        "innings": innings.number,
        "index": ball.index,
        "deliveries": sum(bool(delivery.outcome) for delivery in innings.deliveries),
        "over": ball.over,
        "label": ball.label,
        "actual_delivery": ball.actual_delivery,
        "legal_number": bowled + 1,
        "is_legal": ball.is_legal if ball.outcome else None,
        **standing(window),
        **chase(window),
        "run_rate": rounded(6 * ball.score_before / bowled) if bowled else None,
        "free_hit": free_hits(innings.deliveries)[ball.index - 1],
        "super_over": innings.super_over,
        "echo": echo(window.match, reference),
    }


def _within_ball(reading: Reading) -> dict[str, Any]:
    within = reading.prediction.within
    counts = dict(zip(SLOTS, reading.prediction.slot_counts[0, :, 0].tolist(), strict=True))
    return {
        "layers": [
            {
                "layer": layer,
                "weight": rounded(share),
                "nodes": [
                    {
                        "node": node,
                        "weight": rounded(weight),
                        "visible": int(counts[node]) if node in counts else None,
                    }
                    for node, weight in zip(nodes, within[layer][0, 0].tolist(), strict=True)
                ],
            }
            for share, (layer, nodes) in zip(
                within["layers"][0, 0].tolist(), NODES.items(), strict=True
            )
        ]
    }


def _history(
    window: BallWindow,
    reading: Reading,
    tested: Evidence | None,
    named: set[int],
) -> list[dict[str, Any]]:
    """The recent balls and those that are named."""
    wanted = {ball.index for ball in window.past[-(RECENT - 1) :]} | named
    if tested is not None:
        wanted.update(index for one in tested.tested for index in one.claim.removed)
    rows = []
    for place, ball in enumerate(window.past):
        if ball.index not in wanted:
            continue
        effect, changes = None, []
        if tested is not None:
            effect = tested.effects[ball.index]
            moved = 100 * (tested.singles[ball.index] - tested.full)
            changes = build.outcome_points(OUTCOMES, moved.tolist())
        rows.append(build.past_ball(ball, float(reading.total[place]), effect, changes))
    return rows


def _greatest(window: BallWindow, tested: Evidence) -> dict[str, list[tuple[int, list[float]]]]:
    """The balls of each group that do most by themselves, with the points that each adds."""
    told = {}
    for group, places in groups_of(window).items():
        balls = sorted(
            (window.past[place].index for place in places),
            key=lambda index: (-tested.effects[index], -index),
        )
        told[group] = [
            (index, (100 * (tested.full - tested.singles[index])).tolist())
            for index in balls[:GREATEST]
        ]
    return told


def _claim(
    one: Tested, full: list[float], outcome: str | None, tally: dict[str, Any] | None
) -> dict[str, Any]:
    claim = one.claim
    spread = None
    if len(one.controls):
        nats = np.quantile(one.controls, QUANTILES).tolist()
        spread = [rounded(value, build.NATS_DIGITS) for value in nats]
    return {
        "claim": claim.text,
        "scale": claim.scale,
        "head": claim.head,
        "kind": claim.kind,
        "removed": list(claim.removed),
        "tally": tally,
        "removed_from": one.removed_from,
        "effect_nats": rounded(one.effect, build.NATS_DIGITS),
        "changes": build.outcome_points(OUTCOMES, one.points.tolist()),
        "top_change": build.top_change(OUTCOMES, full, one.probabilities.tolist(), outcome),
        "control": _control(one),
        "controls": len(one.controls),
        "control_median_nats": None if spread is None else spread[MEDIAN],
        "control_quantiles_nats": spread,
        "p": None if one.p is None else rounded(one.p),
        "q": None if one.q is None else rounded(one.q),
        "replaced": _second_operator(one),
        "verdict": one.judged.verdict,
        "reason": one.judged.reason,
    }


def _control(one: Tested) -> str | None:
    """What a claim is compared with."""
    if one.claim.kind in ("striker's record", "bowler's record"):
        return "records of other players"
    if one.claim.kind in ("the scoreboard", "the chase"):
        return "scoreboards of earlier balls"
    if one.claim.kind == "venue and teams":
        return None
    return "random sets with the same distances" if one.matched else "random sets of the same size"


def _second_operator(one: Tested) -> dict[str, Any] | None:
    if one.replaced is None or one.replaced_controls is None:
        return None
    return {
        "effect_nats": rounded(float(one.replaced.mean()), build.NATS_DIGITS),
        "draws": len(one.replaced),
        "control_nats": rounded(float(one.replaced_controls.mean()), build.NATS_DIGITS),
        "controls": len(one.replaced_controls),
    }
