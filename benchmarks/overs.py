"""What an over costs beside one pass of the encoder, and what its attention is worth.

    python benchmarks/overs.py
    python benchmarks/overs.py SRC --from 2024-10-24 --overs 200

Without SRC the costs alone, on the sample match. With matches, also: overs drawn at random from
those that were played in the days asked for: whether attention ranks past balls as what hiding
each alone does. Figures of the forecasts themselves are over_forecasts.py's.

Costs are medians of interleaved runs on one thread, processor time. The encoder's pass is over a
whole history of 128 balls.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from attnlens.cricket.match.match import Match
from attnlens.cricket.over.encoder_decoder import Choice, decode
from attnlens.cricket.over.features import encode_overs, over_batch, overs_of
from attnlens.cricket.over.next_over import find_over, next_over
from attnlens.cricket.over.trained import TrainedOvers, load_overs
from attnlens.cricket.predictor.trained import Timeline
from attnlens.cricket.readers import read_match, read_matches
from attnlens.evidence.faithfulness import spearman
from attnlens.evidence.scores import Bootstrap, group_numbers

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"
MOST = 20.0
"""An over, warm, may cost this many passes of the encoder."""

RUNS = 31


def costs(trained: TrainedOvers) -> bool:
    """Times of one over, beside the encoder's."""
    model = trained.model
    match = read_match(SAMPLE)
    question = find_over(match, 19, 2)
    arrays = encode_overs(match, question.innings, trained.ratings, trained.base)
    batch = over_batch([(arrays, arrays.over.tolist().index(19))], model.sizes)
    whole = torch.zeros(1, model.sizes.history, model.sizes.features)
    none = torch.zeros(1, model.sizes.history, dtype=torch.bool)

    @torch.no_grad()
    def written() -> None:
        decode(model, batch.history, batch.padded, batch.context, Choice())

    @torch.no_grad()
    def without_reuse() -> None:
        tokens = [1]
        while len(tokens) < model.sizes.length:
            given = torch.tensor([tokens])
            logits = model(batch.history, batch.padded, batch.context, given)
            tokens.append(int(logits[0, -1].argmax()))
            if tokens[-1] == 2:
                break

    ways: dict[str, Callable[[], Any]] = {
        "one pass of the encoder": torch.no_grad()(lambda: model.encoder(whole, none)),
        "the over's tokens, from the past": written,
        "the same, nothing reused": without_reuse,
        "over, warm, without evidence": lambda: next_over(question, trained, evidence=False),
        "over, warm, with evidence": lambda: next_over(question, trained),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(RUNS):
        for name, way in ways.items():
            if run >= 4 and name == list(ways)[-1]:
                continue
            started = time.process_time()
            way()
            if run:
                times[name].append(time.process_time() - started)
    unit = median(times["one pass of the encoder"])
    for name, seconds in times.items():
        print(f"{name:34} {1000 * median(seconds):9.2f} ms {median(seconds) / unit:9.1f} x")
    ratio = median(times["over, warm, without evidence"]) / unit
    print(f"over, warm: {ratio:.1f} x the encoder; at most {MOST:.0f}: ", end="")
    print("pass" if ratio <= MOST else "FAIL")
    return ratio <= MOST


def chosen(
    matches: list[Match], first: datetime.date, last: datetime.date, count: int, seed: int
) -> list[tuple[Match, int, int]]:
    """Overs with a past, at random: match, innings, over."""
    every = [
        (match, side.number, over)
        for match in matches
        if match.date is not None and first <= match.date <= last
        for side in match.innings
        if not side.super_over
        for over in list(overs_of(side))[1:]
    ]
    order = np.random.default_rng(seed).permutation(len(every))[:count]
    return sorted(
        (every[n] for n in order), key=lambda one: (one[0].date, one[0].match_id, one[1:])
    )


def agreement(trained: TrainedOvers, options: argparse.Namespace) -> None:
    """Whether a token's attention ranks past balls as their effects do, over many overs."""
    matches = list(read_matches(options.source, on_error="skip"))
    asked = chosen(matches, options.first, options.last, options.overs, options.seed)
    past = Timeline(trained, matches)
    rows: dict[str, list[float]] = {"attention": [], "recency": [], "largest": []}
    ids: list[str] = []
    for match, innings, over in asked:
        dated = past.predictor_for(match)
        cross = next_over(find_over(match, over, innings), dated, history=True).cross_attention
        weights = np.array(cross.weights)[:, cross.padded :]
        effects = np.array(cross.effects_nats)
        ranked = [n for n in range(len(weights)) if np.ptp(weights[n]) and np.ptp(effects[n])]
        if weights.shape[1] < 3 or not ranked:
            continue
        ids.append(match.match_id)
        recency = np.arange(weights.shape[1], dtype=float)
        rows["attention"].append(np.mean([spearman(weights[n], effects[n]) for n in ranked]))
        rows["recency"].append(np.mean([spearman(recency, effects[n]) for n in ranked]))
        rows["largest"].append(effects.max())
    bootstrap = Bootstrap(group_numbers(ids), seed=options.seed)
    print(f"\n{len(ids)} overs of {len(set(ids))} matches, {options.first} to {options.last}")
    gap = np.array(rows["attention"]) - np.array(rows["recency"])
    names = {
        "Spearman of attention with single-ball effects": np.array(rows["attention"]),
        "the same of recency": np.array(rows["recency"]),
        "attention less recency": gap,
        "largest single-ball effect, nats": np.array(rows["largest"]),
    }
    for name, values in names.items():
        print(f"{name:50} {values.mean():.4f} {_interval(bootstrap, values)}")


def _interval(bootstrap: Bootstrap, values: np.ndarray) -> str:
    ends = bootstrap.interval(values)
    return "" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]"


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
    held = costs(trained)
    if options.source is not None:
        agreement(trained, options)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
