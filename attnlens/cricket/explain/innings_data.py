"""Convert a match and its innings to plain data for a page: scores, predictions and attention.

For each head and ball, the largest attention weight is a floating-point number. The weights are
bytes, as multiples of 1/255 of the largest weight.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.explain.reading import (
    SITES,
    captured_activations,
    head_effects,
    head_patterns,
    head_shares,
    observed_modules,
    past_parts,
    past_shares_of,
    size_of,
    subject_outcome,
)
from attnlens.cricket.match.ledger import (
    Progress,
    ground,
    progress_before,
    result_sentence,
    scorebook,
)
from attnlens.cricket.match.match import OUTCOME_NAMES, Delivery, Innings, Match
from attnlens.cricket.match.naming import innings_numbered, people_of
from attnlens.cricket.predictor.predictor import Prediction
from attnlens.cricket.predictor.scales import (
    QUESTIONS,
    RELATION_BALLS,
    SCALE_QUESTIONS,
    SCALES,
    UNSPECIALISED,
    head_id,
    head_key,
    head_name,
    relation_words,
)
from attnlens.cricket.predictor.tensors import InningsArrays, encode_innings
from attnlens.cricket.predictor.trained import TrainedPredictor, sides_of
from attnlens.cricket.predictor.win import win_chances
from attnlens.cricket.predictor.window import one_thread, training_batch
from attnlens.errors import count
from attnlens.files import Floats, Floats32, Json
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord

_LEVELS = 255


@dataclass(frozen=True, slots=True, eq=False)
class InningsReading:
    """The predictions and the attention of one forward pass over an innings.

    Places are past balls, starting with the previous ball. On the long scale, places are overs of
    the innings, starting with the first over.

    Attributes:
        probabilities, usual: the predicted and the usual probabilities, each of shape ``(ball,
            11)``.
        scales: attention weights on places, shape ``(head, ball, place)``, and on the last key,
            shape ``(head, ball)``.
        carries: the result of `head_shares`, shape ``(head, ball)``, with heads in scale order.
        total: the attention over all heads, shape ``(ball, place)``.
    """

    probabilities: Floats32
    usual: Floats32
    scales: dict[str, tuple[Floats32, Floats32]]
    carries: Floats32
    total: Floats32


@one_thread()
def read_encoded(arrays: InningsArrays, predictor: TrainedPredictor) -> InningsReading:
    """Run the predictor on every delivery of an innings."""
    model = predictor.model
    batch, _ = training_batch([arrays])
    with (
        torch.no_grad(),
        record(model) as recording,
        captured_activations(model, *observed_modules()) as captured,
    ):
        prediction = model.predict(batch)
        effects = head_effects(model, prediction, captured)
    probs = prediction.logits[0].double().softmax(-1)
    by_scale = head_shares(probs.numpy(), effects)
    return InningsReading(
        probabilities=_array(probs),
        usual=_array(torch.from_numpy(arrays.usual).double().softmax(-1)),
        scales={scale: _scale(recording[SITES[scale]], scale) for scale in SCALES},
        carries=np.concatenate([by_scale[scale] for scale in SCALES], -1).T.astype(np.float32),
        total=_total(prediction, effects, arrays.over),
    )


def _array(value: Tensor) -> Floats32:
    result: Floats32 = value.detach().float().numpy()
    return result


def _scale(entry: AttentionRecord, scale: str) -> tuple[Floats32, Floats32]:
    rows = _array(entry.weights[0, ..., :-1])
    if scale != "long":
        rows = _by_distance(rows)[..., : SCALES[scale] - 1]
    return np.ascontiguousarray(rows), _array(entry.weights[0, ..., -1])


def _by_distance(rows: Floats32) -> Floats32:
    """Rearrange ``(..., ball, key)`` to ``(..., ball, distance)``. The previous ball is first."""
    balls, keys = rows.shape[-2:]
    first = balls - keys
    by_distance = np.zeros((*rows.shape[:-1], max(balls - 1, 0)), np.float32)
    for ball in range(balls):
        past = rows[..., ball, : max(ball - first, 0)][..., ::-1]
        by_distance[..., ball, : past.shape[-1]] = past
    return by_distance


def _total(
    prediction: Prediction, effects: Mapping[str, Floats], overs: NDArray[np.int64]
) -> Floats32:
    """Return the `Reading.total` of every ball, shape ``(ball, distance)``."""
    balls = len(overs)
    probs = prediction.logits[0].double().softmax(-1).numpy()
    added = np.zeros((balls, balls, probs.shape[-1]))
    for scale, weights in prediction.scales.items():
        parts = past_parts(scale, weights[0, ..., :-1].double().numpy())
        by_key = np.einsum("qho,hqk->qko", effects[scale], parts)
        if scale == "long":  # an over's weight is split evenly over its balls
            by_key = by_key[:, overs] / np.bincount(overs)[overs, None]
        added[:, balls - by_key.shape[1] :] += by_key
    total = past_shares_of(size_of(probs[:, None], added))
    by_distance = _by_distance(total.astype(np.float32))
    return np.ascontiguousarray(by_distance[:, : SCALES["medium"] - 1])


def shown_match(match: Match) -> Json:
    """Return the facts, the result and a summary of each innings of a match."""
    event = match.event.get("name")
    return {
        "match_id": match.match_id,
        "title": " v ".join(match.teams) or match.match_id,
        "date": None if match.date is None else match.date.isoformat(),
        "venue": ground(match.venue, match.city) or None,
        "event": None if event is None else str(event),
        "result": result_sentence(match),
        "innings": [
            {
                "number": innings.number,
                "batting": innings.batting_team,
                "super_over": innings.super_over,
                "total": innings.total,
                "wickets": innings.wickets,
                "overs": innings.overs_display,
                "balls": len(innings.deliveries),
            }
            for innings in match.innings
        ],
    }


@one_thread()
def shown_innings(match: Match, number: int, predictor: TrainedPredictor) -> Json:
    """Return the balls of an innings, each with a prediction and attention weights.

    Raises:
        BallNotFoundError: the match does not have this innings.
    """
    innings = innings_numbered(match, number)
    document: Json = {
        "balls": list(_balls(match, innings)),
        "heads": [head for scale in SCALES for head in _heads(predictor, scale)],
    }
    if innings.deliveries:
        arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
        reading = read_encoded(arrays, predictor)
        chances = reading.probabilities.astype(float)
        winning = win_chances(predictor.win, predictor.ratings.form, match, innings, chances)
        came = [ball.outcome for ball in innings.deliveries]
        document |= {
            **{name: _floats(getattr(reading, name)) for name in ("probabilities", "usual")},
            "carries": _floats(reading.carries),
            "total": _bytes(reading.total),
            "attention": {
                scale: {"places": rows.shape[-1], "own": _floats(own), **_bytes(rows)}
                for scale, (rows, own) in reading.scales.items()
            },
            "subjects": list(map(subject_outcome, chances, reading.usual, came)),
            "win": None if winning is None else winning.before.tolist(),
        }
    return document


def shown_people(match: Match) -> list[Json]:
    """Return each player's first ball as batter and as bowler, for each innings."""
    people: dict[tuple[int, str, str], Json] = {}
    for innings in match.innings:
        for ball in innings.deliveries:
            for role, player in (("faces", ball.batter), ("bowls", ball.bowler)):
                first = {"name": player.name, "role": role, "innings": innings.number}
                first |= {"ball": ball.index, "label": ball.label}
                people.setdefault((innings.number, role, player.key), first)
    return list(people.values())


def sides_of_innings(match: Match, innings: Innings) -> tuple[list[str], list[str]]:
    """Return the possible batters of an innings, and the possible bowlers."""

    def side(team: str) -> list[str]:
        squad = match.players.get(team)
        if squad:
            return [str(name) for name in squad]
        return [player.name for player in people_of(match) if sides_of(match, player) == {team}]

    return side(innings.batting_team), side(innings.bowling_team)


def _heads(predictor: TrainedPredictor, scale: str) -> Iterator[Json]:
    earned = predictor.earned(scale)
    for number, (name, pattern) in enumerate(
        zip(earned, head_patterns(scale, len(earned)), strict=True)
    ):
        sentences = [f"Scale {scale}: {SCALE_QUESTIONS[scale]}"]
        if scale == "whole" and pattern in RELATION_BALLS:
            sentences.append(f"This head sees only {RELATION_BALLS[pattern]}")
        if name in QUESTIONS:
            sentences.append(f"Its question: {QUESTIONS[name]}?")
        yield {
            "scale": scale,
            "number": number,
            "id": head_id(scale, number),
            "name": head_name(scale, number),
            "key": head_key(number, pattern),
            "earned": "" if name == UNSPECIALISED else relation_words(name),
            "about": ". ".join(sentences),
        }


def _balls(match: Match, innings: Innings) -> Iterator[Json]:
    for ball, entry in zip(innings.deliveries, scorebook(innings), strict=True):
        bowling, progress = entry.bowling, progress_before(match, innings, ball)
        yield {
            "index": ball.index,
            "label": ball.label,
            "over": ball.over,
            "actual": ball.actual_delivery,
            "batter": ball.batter.name,
            "non_striker": ball.non_striker.name,
            "bowler": ball.bowler.name,
            "outcome": ball.outcome,
            "runs": ball.runs_total,
            "boundary": ball.boundary,
            "text": f"{ball.label} {ball.bowler.name} to {ball.batter.name}, {_outcome(ball)}",
            "free_hit": entry.free_hit,
            "score": ball.score_before,
            "wickets": ball.wickets_before,
            "figures": [
                *(line for bat in (entry.batting, entry.other) for line in (bat.runs, bat.balls)),
                *(bowling.wickets, bowling.runs),
            ],
            "spell": bowling.spell,
            "bowled": progress.bowled,
            "rates": _rates(progress),
        }


def _outcome(ball: Delivery) -> str:
    out = "; ".join(f"{wicket.player_out.name} {wicket.kind}" for wicket in ball.wickets)
    if not ball.outcome:
        return "not yet bowled"
    return out or OUTCOME_NAMES[ball.outcome].noun


def _rates(progress: Progress) -> str:
    """Return text such as ``19 needed from 24, 4.8 an over`` or ``7.9 an over, 54 balls left``."""
    left, rate = progress.left, progress.required_rate
    if progress.required is not None:
        balls = "" if left is None else f" from {left}"
        pace = "" if rate is None else f", {rate:.1f} {progress.over_name}"
        return f"{progress.required} needed{balls}{pace}"
    rate = progress.run_rate
    pace = "" if rate is None else f"{rate:.1f} {progress.over_name}"
    return ", ".join(filter(None, (pace, "" if left is None else f"{count(left, 'ball')} left")))


def _floats(array: Floats | Floats32) -> str:
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode("ascii")


def _bytes(array: NDArray[np.float32]) -> dict[str, str]:
    largest = array.max(-1, initial=0.0)
    scaled = np.divide(
        _LEVELS * array, largest[..., None], out=np.zeros_like(array), where=largest[..., None] > 0
    )
    cells = np.rint(scaled).astype(np.uint8)
    return {"cells": base64.b64encode(cells.tobytes()).decode("ascii"), "most": _floats(largest)}
