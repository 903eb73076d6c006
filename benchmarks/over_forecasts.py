"""Compare the encoder-decoder's forecasts of held-out overs with a baseline for each phase.

    python benchmarks/over_forecasts.py t20s_male_json.zip ...

The baseline uses the training overs that began in the same phase of the innings. Its probability of
a token is the frequency of the token in those overs after the same number of legal balls. Its runs
and wickets are those of complete overs that are drawn at random from them. The encoder-decoder uses
the ratings as of each match's date. The 95% intervals are over matches.
"""

from __future__ import annotations

import argparse
import datetime
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch

from attnlens.cricket.lab.held_out import last_day, sides
from attnlens.cricket.lab.training import read_dated
from attnlens.cricket.match.competition import phase_of, quota_of
from attnlens.cricket.match.match import Match
from attnlens.cricket.over.encoder_decoder import END, PAD, Choice, decode
from attnlens.cricket.over.features import (
    TOKEN_INDEX,
    TOKENS,
    encode_overs,
    legal,
    over_batch,
    overs_of,
    token_of,
)  # fmt: skip
from attnlens.cricket.over.next_over import (
    Limits,
    SampledOvers,
    TrainedOvers,
    load_overs,
    simulate_overs,
)  # fmt: skip
from attnlens.cricket.predictor.ratings import PHASES
from attnlens.cricket.predictor.trained import Timeline
from attnlens.evidence.scores import SMALLEST, Bootstrap, group_numbers
from attnlens.files import Floats, Integers

SAMPLES = 200
"""The number of forecast overs that are sampled for each held-out over."""

SMOOTHING = 20.0
"""A phase's probabilities are smoothed towards the mean over all phases, as if this number of
tokens with the mean probabilities had been observed."""

MAX_LEGAL = 8
FIGURES = ("token log-loss", "runs, median off by", "runs, CRPS", "a wicket, Brier")


def legal_before(tokens: Sequence[int]) -> Integers:
    """Return the number of legal balls before each token of an over, at most `MAX_LEGAL`."""
    counts = np.array([legal(TOKENS[token]) for token in tokens], np.int64)
    return np.minimum(np.cumsum(counts) - counts, MAX_LEGAL)


def phase_overs(matches: Sequence[Match]) -> tuple[list[Integers], Floats]:
    """Return the tokens of every over ``(over, position)``, by phase, and the token probabilities.

    The probabilities are by phase and by the number of legal balls so far
    ``(3, MAX_LEGAL + 1, 24)``.
    """
    overs: dict[int, list[list[int]]] = defaultdict(list)
    counts = np.zeros((len(PHASES), MAX_LEGAL + 1, len(TOKENS)))
    for match in matches:
        for side in sides(match):
            for balls in overs_of(side).values():
                phase = phase_of(balls[0].legal_balls_before, quota_of(match, side))
                tokens = [*(TOKEN_INDEX[token_of(ball)] for ball in balls), END]
                overs[phase].append(tokens)
                np.add.at(counts[phase], (legal_before(tokens), tokens), 1)
    width = max(len(tokens) for rows in overs.values() for tokens in rows)
    padded = [
        np.array([row + [PAD] * (width - len(row)) for row in overs[phase]], np.int64)
        for phase in range(len(PHASES))
    ]
    # One count is added for every delivery and for the end, so that none has a probability of 0.
    every = counts.sum(0) + np.where(np.arange(len(TOKENS)) >= END, 1.0, 0.0)
    mixed = counts + SMOOTHING * every / every.sum(1, keepdims=True)
    return padded, mixed / mixed.sum(-1, keepdims=True)


def figures_of(probabilities: Floats, sampled: SampledOvers, runs: int, fell: bool) -> list[object]:
    """Return the `FIGURES` of one over.

    The first figure is an array with one number for each token. The figure CRPS is ``mean |X - y| -
    mean |X - X'| / 2`` (Gneiting & Raftery 2007, section 4.2).
    """
    ordered, count = np.sort(sampled.runs), len(sampled)
    rank = 2 * np.arange(1, count + 1) - count - 1
    crps = float(np.abs(ordered - runs).mean() - (rank * ordered).sum() / count**2)
    wicket = float((sampled.wickets > 0).mean())
    off = abs(float(np.median(sampled.runs)) - runs)
    return [-np.log(np.maximum(probabilities, SMALLEST)), off, crps, (wicket - fell) ** 2]


def judge(trained: TrainedOvers, matches: Sequence[Match], judged: Sequence[Match]) -> None:
    """Forecast every held-out over, and print the scores of the model and the baseline."""
    until, model = trained.date("weights_until"), trained.model
    earlier = [match for match in matches if until is None or (last_day(match) or until) <= until]
    by_phase, table = phase_overs(earlier)
    own, baseline, ids, phases = [], [], [], []
    timeline = Timeline(trained, matches)
    for match in judged:
        dated = timeline.predictor_for(match)
        for side in sides(match):
            arrays = encode_overs(match, side, dated.ratings, dated.base)
            batch = over_batch([(arrays, row) for row in range(len(arrays))], model.sizes)
            parts = batch.history, batch.padded, batch.context
            with torch.no_grad():
                logits = model(*parts, batch.inputs).double()
            seeded = torch.Generator().manual_seed(5 + 7919 * len(ids))
            tokens = decode(model, *parts, Choice(False), samples=SAMPLES, generator=seeded)
            tokens = tokens.view(len(arrays), SAMPLES, -1).numpy()
            chosen = logits.softmax(-1).gather(-1, batch.targets[..., None])[..., 0].numpy()
            for row, balls in enumerate(overs_of(side).values()):
                generator = np.random.default_rng([5, len(ids)])
                limits = Limits.of(side, balls[0].score_before, balls[0].wickets_before)
                phase = phase_of(balls[0].legal_balls_before, quota_of(match, side))
                targets = [*arrays.tokens[row], END]
                came = sum(ball.runs_total for ball in balls), TOKEN_INDEX["W"] in targets
                probabilities = chosen[row][: min(len(targets), chosen.shape[1])]
                sampled = simulate_overs(tokens[row], dated.token_runs, limits, generator)
                own.append(figures_of(probabilities, sampled, *came))
                others = by_phase[phase][generator.integers(len(by_phase[phase]), size=SAMPLES)]
                expected = table[phase, legal_before(targets), targets][: len(probabilities)]
                sampled = simulate_overs(others, dated.token_runs, limits, generator)
                baseline.append(figures_of(expected, sampled, *came))
                ids.append(match.match_id)
                phases.append(phase)
    print(f"{len(ids):,} overs; phases from {len(earlier):,} matches")
    for name in ("all", *PHASES):
        rows = [n for n, phase in enumerate(phases) if name in ("all", PHASES[phase])]
        print(f"\n{name} ({len(rows):,} overs)")
        for number, figure in enumerate(FIGURES if rows else ()):
            one, two = (
                np.concatenate([np.atleast_1d(figures[n][number]) for n in rows])
                for figures in (own, baseline)
            )
            owners = [ids[n] for n in rows for _ in np.atleast_1d(own[n][number])]
            low, high = Bootstrap(group_numbers(owners), seed=5).interval(one - two) or (0.0, 0.0)
            print(f"{figure:20} {one.mean():8.4f} {two.mean():8.4f} "
                  f"{(one - two).mean():+8.4f} [{low:+.4f}, {high:+.4f}]")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+", help="matches, those of the training among them")
    parser.add_argument("--model", help="an encoder-decoder, or `cricket` (default)")
    day = datetime.date.fromisoformat
    parser.add_argument("--from", type=day, dest="first", default=datetime.date(2024, 10, 24))
    parser.add_argument("--until", type=day, dest="last", default=datetime.date(2025, 2, 3))
    options = parser.parse_args()
    torch.set_num_threads(1)
    matches = read_dated(options.sources, lambda _: None)
    judged = [match for match in matches if options.first <= max(match.dates) <= options.last]
    judged.sort(key=lambda match: (max(match.dates), match.match_id))
    judge(load_overs(options.model), matches, judged)


if __name__ == "__main__":
    main()
