"""Measure the time to forecast an over, and the faithfulness of the forecast's attention.

    python benchmarks/overs.py
    python benchmarks/overs.py SRC --from 2024-10-24 --overs 200

If no SRC is given, only the times for an over of the sample match are measured. They are medians of
CPU times on one thread, and are divided by the time of an encoder pass. If matches are given, the
attention to past balls is also compared with the effect of hiding each past ball.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import torch

from attnlens.cricket.over.encoder_decoder import Choice, decode
from attnlens.cricket.over.features import encode_overs, over_batch, overs_of
from attnlens.cricket.over.next_over import TrainedOvers, find_over, load_overs, next_over
from attnlens.cricket.predictor.trained import Timeline
from attnlens.cricket.readers import read_match, read_matches
from attnlens.evidence.faithfulness import spearman
from attnlens.evidence.scores import Bootstrap, group_numbers

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
MAX_RATIO = 20.0
"""The largest time for an over without evidence, in units of an encoder pass over 128 balls."""

RUNS = 31


def costs(trained: TrainedOvers) -> bool:
    """Print the times of one over and of the encoder, and return whether the budget is met."""
    model, question = trained.model, find_over(read_match(SAMPLE), 19, 2)
    arrays = encode_overs(
        question.match, question.innings, trained.ratings, trained.base, over=question.over
    )
    batch = over_batch([(arrays, 0)], model.sizes)
    parts = batch.history, batch.padded, batch.context
    full = torch.zeros(1, model.sizes.history, model.sizes.features)
    padded = torch.zeros(1, model.sizes.history, dtype=torch.bool)
    calls = {
        "one pass of the encoder": torch.no_grad()(lambda: model.encoder(full, padded)),
        "the over's tokens, from the past": lambda: decode(model, *parts, Choice()),
        "over, warm, without evidence": lambda: next_over(question, trained, evidence=False),
        "over, warm, with evidence": lambda: next_over(question, trained),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for run in range(RUNS):
        for name, call in calls.items():
            started = time.process_time()
            call()
            if run:
                times[name].append(time.process_time() - started)
    unit = median(times["one pass of the encoder"])
    for name, seconds in times.items():
        print(f"{name:34} {1000 * median(seconds):9.2f} ms {median(seconds) / unit:9.1f} x")
    ratio = median(times["over, warm, without evidence"]) / unit
    print(f"over, warm: {ratio:.1f} x the encoder; at most {MAX_RATIO:.0f}: ", end="")
    print("pass" if ratio <= MAX_RATIO else "FAIL")
    return ratio <= MAX_RATIO


def agreement(trained: TrainedOvers, options: argparse.Namespace) -> None:
    """Print the rank correlation of attention with the effects of past balls, for random overs."""
    matches = list(read_matches(options.source, on_error="skip"))
    overs = [
        (match, side.number, over)
        for match in matches
        if match.date is not None and options.first <= match.date <= options.last
        for side in match.innings
        if not side.super_over
        for over in list(overs_of(side))[1:]
    ]
    order = np.random.default_rng(options.seed).permutation(len(overs))[: options.overs]
    drawn = sorted((overs[n] for n in order), key=lambda o: (o[0].date, o[0].match_id, o[1:]))
    timeline = Timeline(trained, matches)
    rows, ids = [], []
    for match, innings, over in drawn:
        dated = timeline.predictor_for(match)
        cross = next_over(find_over(match, over, innings), dated, history=True).cross_attention
        weights = np.array(cross.weights)[:, cross.padded :]
        effects = np.array(cross.effects_nats)
        ranked = [n for n in range(len(weights)) if np.ptp(weights[n]) and np.ptp(effects[n])]
        if weights.shape[1] < 3 or not ranked:
            continue
        ids.append(match.match_id)
        recency = np.arange(weights.shape[1], dtype=float)
        attention = np.mean([spearman(weights[n], effects[n]) for n in ranked])
        recent = np.mean([spearman(recency, effects[n]) for n in ranked])
        rows.append((attention, recent, attention - recent, effects.max()))
    bootstrap = Bootstrap(group_numbers(ids), seed=options.seed)
    print(f"\n{len(ids)} overs of {len(set(ids))} matches, {options.first} to {options.last}")
    names = (
        "Spearman of attention with single-ball effects",
        *("the same of recency", "attention less recency", "largest single-ball effect, nats"),
    )
    for name, values in zip(names, np.array(rows).T, strict=True):
        low, high = bootstrap.interval(values) or (np.nan, np.nan)
        print(f"{name:50} {values.mean():.4f} [{low:.4f}, {high:.4f}]")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", help="matches; without, the costs alone")
    parser.add_argument("--model", help="an encoder-decoder, or `cricket` (default)")
    day = datetime.date.fromisoformat
    parser.add_argument("--from", type=day, dest="first", default=datetime.date(2024, 10, 24))
    parser.add_argument("--until", type=day, dest="last", default=datetime.date(2025, 2, 3))
    parser.add_argument("--overs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    trained = load_overs(options.model)
    is_within = costs(trained)
    if options.source is not None:
        agreement(trained, options)
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
