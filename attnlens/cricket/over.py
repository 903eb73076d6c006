"""The next over: what the encoder-decoder expects of it, what it looked at, and the check.

Plain data, rounded once. See `docs/over.md` for every field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.analysis.claims import Tested
from attnlens.analysis.faithfulness import spearman
from attnlens.cricket.flags import SHORT_HISTORY
from attnlens.cricket.kinds import differences
from attnlens.cricket.match import Delivery
from attnlens.cricket.over_batch import OverBatch, over_batch
from attnlens.cricket.over_evidence import (
    SITE,
    Claim,
    OverEvidence,
    claims_of_over,
    gather_over,
    one_over,
    seed_of,
)
from attnlens.cricket.over_features import encode_overs
from attnlens.cricket.over_question import OverQuestion, state_of
from attnlens.cricket.over_samples import Limits, described, draw_overs, fewer_balls, within
from attnlens.cricket.over_tokens import TOKENS, token_of, written
from attnlens.cricket.particulars import match_particulars
from attnlens.cricket.ratings import LIMITED, quota_of
from attnlens.cricket.seen import identity_of
from attnlens.cricket.trained_overs import TrainedOvers
from attnlens.cricket.window import one_thread
from attnlens.errors import InputError
from attnlens.models.cricket import PAD, START, Choice, OverModel, decode
from attnlens.recorder import record

Floats = NDArray[np.float64]

SCHEMA_VERSION: Final = "1.0"
RUNNERS_UP: Final = 3
DIGITS: Final = 6
NATS: Final = 9
FELT: Final = 0.05
"""Changes of a token's chance that are told, percentage points."""

MOST_SAMPLES: Final = 100_000


def choice_of(temperature: float | None, top_k: int | None) -> Choice:
    """The likeliest token each time, unless a temperature or a top-k is given: then drawn."""
    drawn = temperature is not None or top_k is not None
    return Choice(not drawn, 1.0 if temperature is None else temperature, top_k)


@one_thread()
def next_over(
    question: OverQuestion,
    trained: TrainedOvers,
    *,
    choice: Choice | None = None,
    seed: int = 0,
    samples: int = 0,
    evidence: bool = True,
    history: bool = False,
) -> dict[str, Any]:
    """What is expected of an over, as plain data.

    Args:
        choice: how the over is written, the likeliest token each time unless given; samples are
            drawn with its temperature and top-k.
        seed: of whatever is drawn.
        samples: overs to draw besides.
        evidence: run the interventions; without them attention is shown, not tested.
        history: whether the ratings are those of the match's date.

    Raises:
        InputError: a choice or a number of samples that cannot be.
    """
    told = Choice() if choice is None else choice
    _check(told, samples, seed)
    model, match, innings = trained.model, question.match, question.innings
    arrays = encode_overs(match, innings, trained.ratings, trained.base, over=question.over)
    batch = over_batch([(arrays, 0)], model.sizes)
    with torch.no_grad():
        memory = model.remember(batch.history, batch.padded, batch.context)
    generator = torch.Generator().manual_seed(seed)
    numbers = decode(model, memory, told, generator=generator)[0, 0]
    words = written(within(numbers.tolist(), fewer_balls(innings)))
    wanted = numbers[: len(words)]
    given = torch.cat([torch.tensor([START]), wanted[:-1]])[None]
    both, weights = _read(model, batch, given)
    chances = both[0, : len(words)]
    past = question.past[len(question.past) - weights.shape[-1] :]
    labels = [ball.label for ball in past]
    tested = None
    if evidence and past:
        # The tokens that were written stand in place of those that were bowled.
        over = replace(batch, given=given, wanted=wanted[None])
        seed_tested = seed_of(match.match_id, innings.number, question.over)
        one = one_over(model, over, arrays, 0, seed_tested)
        tested = gather_over(one, claims_of_over(weights, words, labels))
    state = state_of(question)
    drawn = None
    if samples:
        limits = Limits.of(innings, state["score"], state["wickets"])
        some = Choice(False, told.temperature, told.top_k)
        drawn = draw_overs(
            model, memory, trained.token_runs, limits, samples=samples, seed=seed, choice=some
        )
    return {
        "schema_version": SCHEMA_VERSION,
        "model": _model(trained),
        "match": {
            **match_particulars(match, innings),
            "super_over": innings.super_over,
        },
        "innings": innings.number,
        "over": question.over,
        "echo": question.echo,
        "bowled": question.bowled,
        "finished": question.finished,
        "state": state,
        "choice": {
            "greedy": told.greedy,
            "temperature": told.temperature,
            "top_k": told.top_k,
            "seed": seed,
        },
        "tokens": [
            {
                "token": word,
                "probability": _rounded(row_of[number]),
                "runners_up": _runners_up(row_of, int(number)),
            }
            for word, number, row_of in zip(words, wanted.tolist(), chances, strict=True)
        ],
        "actual": [token_of(ball) for ball in question.balls],
        "actual_balls": _actual(question, batch, both[1]),
        "cross_attention": _cross_attention(weights, words, past, model.sizes.history, tested),
        "agreement": None if tested is None else _agreement(weights, tested),
        "evidence": [] if tested is None else [_claim(one, past) for one in tested.tested],
        "spent": {} if tested is None else tested.spent,
        "samples": None if drawn is None else described(drawn, seed=seed),
        "flags": _flags(question, trained, len(past), evidence=evidence, history=history),
    }


def _check(choice: Choice, samples: int, seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(f"a seed of {seed} is none", remedy="give a number from 0 to 2^32-1")
    if not 0.01 <= choice.temperature <= 100:
        raise InputError(
            f"a temperature of {choice.temperature:g} cannot be drawn with",
            remedy="give one from 0.01 to 100, or none to take the likeliest each time",
        )
    if choice.top_k is not None and not 1 <= choice.top_k <= len(TOKENS):
        raise InputError(
            f"the likeliest {choice.top_k} of {len(TOKENS)} tokens cannot be",
            remedy=f"give a number from 1 to {len(TOKENS)}",
        )
    if not 0 <= samples <= MOST_SAMPLES:
        raise InputError(
            f"{samples} overs cannot be drawn", remedy=f"give a number from 1 to {MOST_SAMPLES}"
        )


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)


def _runners_up(chances: Floats, chosen: int) -> list[dict[str, Any]]:
    """The likeliest other tokens."""
    order = [int(n) for n in np.argsort(-chances, kind="stable") if n not in (chosen, PAD, START)]
    return [
        {"token": TOKENS[number], "probability": _rounded(chances[number])}
        for number in order[:RUNNERS_UP]
    ]


def _read(model: OverModel, batch: OverBatch, given: Tensor) -> tuple[Floats, Floats]:
    """Chances after what was written and after what was bowled, from one pass.

    Args:
        given: what stands before each token that was written ``(1, place)``.

    Returns:
        chances ``(2, places, token)`` of the tokens written and of those bowled, and
        cross-attention ``(head, place, ball)`` of those written.
    """
    places = max(given.shape[1], batch.given.shape[1])
    told = torch.cat(
        [nn.functional.pad(one, (0, places - one.shape[1])) for one in (given, batch.given)]
    )
    with torch.no_grad(), record(model) as recording:
        logits = model(
            batch.history.expand(2, -1, -1),
            batch.padded.expand(2, -1),
            batch.context.expand(2, -1),
            told,
        )
    chances: Floats = logits.double().softmax(-1).numpy()
    weights = recording[SITE].weights[0, :, : given.shape[1]].double().numpy()
    return chances, weights


def _actual(question: OverQuestion, batch: OverBatch, chances: Floats) -> list[dict[str, Any]]:
    """What was bowled, with the chance it was given after what was bowled before it."""
    told = batch.wanted[0].tolist()
    return [
        {
            "index": ball.index,
            "label": ball.label,
            "token": token_of(ball),
            "batter": ball.batter.name,
            "bowler": ball.bowler.name,
            "runs": ball.runs_total,
            # A longer over than the model writes has no chances past its length.
            "probability": _rounded(chances[place, told[place]]) if place < len(told) else None,
        }
        for place, ball in enumerate(question.balls)
    ]


def _cross_attention(
    weights: Floats,
    words: Sequence[str],
    past: Sequence[Delivery],
    history: int,
    tested: OverEvidence | None,
) -> dict[str, Any]:
    """Cross-attention over all places of the history; padding comes first and has weight 0."""
    heads, places, balls = weights.shape
    whole = np.zeros((heads, places, history))
    whole[..., history - balls :] = weights
    padding: list[None] = [None] * (history - balls)
    return {
        "tokens": list(words),
        "labels": [*padding, *(ball.label for ball in past)],
        "padded": history - balls,
        "balls": [
            {
                "index": ball.index,
                "label": ball.label,
                "over": ball.over,
                "batter": ball.batter.name,
                "bowler": ball.bowler.name,
                "token": token_of(ball),
                "runs": ball.runs_total,
            }
            for ball in past
        ],
        "weights": np.round(whole.mean(0), DIGITS).tolist(),
        "by_head": np.round(whole, DIGITS).tolist(),
        "effects_nats": None if tested is None else np.round(tested.singles, NATS).tolist(),
    }


def _agreement(weights: Floats, tested: OverEvidence) -> dict[str, Any]:
    """Rank correlation of attention with what hiding each ball does; a description, no verdict."""
    mean = weights.mean(0)
    recency = np.arange(mean.shape[-1], dtype=float)
    rows = [
        {
            "attention": _ranked(mean[place], effects),
            "recency": _ranked(recency, effects),
            "largest_single_ball_effect_nats": round(float(effects.max()), NATS),
        }
        for place, effects in enumerate(tested.singles)
    ]
    told = [row for row in rows if row["attention"] is not None and row["recency"] is not None]
    means = {
        name: _rounded(sum(row[name] or 0.0 for row in told) / len(told)) if told else None
        for name in ("attention", "recency")
    }
    return {"spearman": means, "by_token": rows}


def _ranked(scores: Floats, effects: Floats) -> float | None:
    """Spearman, ``None`` where one of the two is the same for all balls."""
    if len(scores) < 3 or np.ptp(scores) == 0 or np.ptp(effects) == 0:
        return None
    return _rounded(spearman(scores, effects))


def _claim(one: Tested[Claim], past: Sequence[Delivery]) -> dict[str, Any]:
    changes = [
        {"token": word, "points": _rounded(points)}
        for word, points in zip(TOKENS, one.points.tolist(), strict=True)
        if abs(points) >= FELT
    ]
    return {
        "claim": one.claim.text,
        "place": one.claim.token,
        "head": one.claim.head,
        "removed": [past[ball].index for ball in one.claim.removed],
        "labels": [past[ball].label for ball in one.claim.removed],
        "removed_from": "model" if one.claim.head is None else "head",
        "share": _rounded(one.claim.share),
        "effect_nats": round(one.effect, NATS),
        "changes": sorted(changes, key=lambda change: -abs(change["points"])),
        "controls": len(one.controls),
        "controls_median_nats": round(float(np.median(one.controls)), NATS)
        if len(one.controls)
        else None,
        "p": None if one.p is None else _rounded(one.p),
        "q": None if one.q is None else _rounded(one.q),
        "verdict": one.judged.verdict,
        "reason": one.judged.reason,
    }


def _model(trained: TrainedOvers) -> dict[str, Any]:
    until = trained.ratings.until
    return {
        "name": trained.name,
        "sha256": trained.sha256,
        "trained_from": trained.card.get("trained_from"),
        "trained_until": trained.card.get("trained_until"),
        "ratings_until": None if until is None else until.isoformat(),
        "sizes": trained.model.sizes.to_dict(),
    }


def _flags(
    question: OverQuestion, trained: TrainedOvers, past: int, *, evidence: bool, history: bool
) -> list[dict[str, str]]:
    """What a reader should know before trusting the answer."""
    match, innings = question.match, question.innings
    found: list[tuple[str, str]] = []
    if not past:
        found.append(("no_history", "no ball was bowled before it in this innings"))
    elif past < SHORT_HISTORY:
        balls = "1 ball was" if past == 1 else f"{past} balls were"
        found.append(("short_history", f"only {balls} bowled before it in this innings"))
    if question.bowled and not question.finished:
        found.append(("unfinished_over", "the file does not have all of this over"))
    longest = trained.model.sizes.length
    if len(question.balls) > longest:
        found.append(("long_over", f"the model writes {longest} deliveries of an over at most"))
    if innings.super_over:
        found.append(("super_over", "super overs were not in the training data"))
    found += differences(match, trained)
    quota = quota_of(match, innings)
    usual = LIMITED.get(match.match_type or "", 0) * match.balls_per_over
    if quota is not None and quota < usual and not innings.super_over:
        found.append(("reduced_match", f"a shortened innings of {quota} balls"))
    if trained.seen is not None and identity_of(match) in trained.seen:
        found.append(
            ("in_training", "the model was trained on this match: it looks better than it is")
        )
    until = trained.ratings.until
    if not history and until is not None and match.date is not None and match.date <= until:
        found.append(
            (
                "ratings_from_later",
                f"player and venue ratings run to {until}, later than this match; "
                "--history gives those of its date",
            )
        )
    if innings.number % 2 == 0 and innings.target is None and quota:
        found.append(("no_target", "the file gives no target for this chase"))
    if not evidence:
        found.append(
            ("evidence_skipped", "no intervention was run: attention is shown, not tested")
        )
    return [{"flag": name, "text": text} for name, text in found]
