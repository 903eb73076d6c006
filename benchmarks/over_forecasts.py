"""How well the encoder-decoder foretells overs it has not seen, beside overs of the same phase.

    python benchmarks/over_forecasts.py t20s_male_json.zip ...

The comparison is a bootstrap: overs of the training matches, drawn from those that began in the
same phase of an innings. Its chance of a token is how often the token came in those overs after
as many legal balls of the over; its runs and wickets are those of overs drawn whole. Ratings are
those of each match's date; intervals are 95%, over matches; less is better everywhere.
"""

from __future__ import annotations

import argparse
import datetime
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attnlens.arrays import Floats, Integers
from attnlens.cricket.lab.held_out import last_day, sides
from attnlens.cricket.lab.training import read_dated
from attnlens.cricket.match.competition import phase_of, quota_of
from attnlens.cricket.match.match import Match
from attnlens.cricket.over.encoder_decoder import END, PAD, Choice, decode
from attnlens.cricket.over.features import (
    TOKEN_INDEX,
    TOKENS,
    OverArrays,
    encode_overs,
    legal,
    over_batch,
    overs_of,
    token_of,
)
from attnlens.cricket.over.trained import Limits, SampledOvers, TrainedOvers, brought, load_overs
from attnlens.cricket.predictor.ratings import PHASES
from attnlens.cricket.predictor.trained import Timeline
from attnlens.evidence.scores import SMALLEST, Bootstrap, group_numbers

SAMPLES = 200
"""Overs drawn for each that is judged."""

SMOOTHING = 20.0
"""Overs' worth of the mean over all phases that a phase's chances are mixed with."""

MOST_LEGAL = 8
FIGURES = ("token log-loss", "runs, median off by", "runs, CRPS", "a wicket, Brier")


@dataclass(frozen=True)
class PhaseOvers:
    """Overs of training matches by the phase they began in.

    Attributes:
        overs: tokens of each over, padded with 0, by phase ``(over, place)``.
        chances: of the next token by phase and legal balls so far ``(3, MOST_LEGAL + 1, 24)``.
    """

    overs: list[Integers]
    chances: Floats

    def draw(self, phase: int, generator: np.random.Generator) -> Integers:
        """`SAMPLES` overs of a phase, with replacement ``(SAMPLES, place)``."""
        kept = self.overs[phase]
        return kept[generator.integers(len(kept), size=SAMPLES)]

    def given(self, phase: int, tokens: Sequence[int]) -> Floats:
        """The chance of each token of an over, ``<end>`` included."""
        return self.chances[phase, legal_before(tokens), tokens]


def legal_before(tokens: Sequence[int]) -> Integers:
    """Before each token of an over, the balls of it that counted, at most `MOST_LEGAL`."""
    counted = np.array([legal(TOKENS[token]) for token in tokens], np.int64)
    return np.minimum(np.cumsum(counted) - counted, MOST_LEGAL)


def phase_overs(matches: Iterable[Match]) -> PhaseOvers:
    """Every over of some matches, by phase."""
    found: dict[int, list[list[int]]] = defaultdict(list)
    counts = np.zeros((len(PHASES), MOST_LEGAL + 1, len(TOKENS)))
    for match in matches:
        for side in sides(match):
            for balls in overs_of(side).values():
                phase = phase_of(balls[0].legal_balls_before, quota_of(match, side))
                tokens = [*(TOKEN_INDEX[token_of(ball)] for ball in balls), END]
                found[phase].append(tokens)
                np.add.at(counts[phase], (legal_before(tokens), tokens), 1)
    longest = max(len(tokens) for overs in found.values() for tokens in overs)
    padded = [
        np.array([one + [PAD] * (longest - len(one)) for one in found[phase]], np.int64)
        for phase in range(len(PHASES))
    ]
    # Every delivery and every end can come: one of each, over all phases together.
    whole = counts.sum(0) + np.where(np.arange(len(TOKENS)) >= END, 1.0, 0.0)
    mixed = counts + SMOOTHING * whole / whole.sum(1, keepdims=True)
    return PhaseOvers(padded, mixed / mixed.sum(-1, keepdims=True))


def ranked_score(drawn: Integers, came: int) -> float:
    """The continuous ranked probability score of draws: ``mean |X - y| - mean |X - X'| / 2``.

    Reference:
        Gneiting & Raftery 2007, "Strictly Proper Scoring Rules", section 4.2.
    """
    ordered = np.sort(drawn)
    count = len(ordered)
    rank = 2 * np.arange(1, count + 1) - count - 1
    return float(np.abs(ordered - came).mean() - (rank * ordered).sum() / count**2)


@dataclass
class Notes:
    """What one way of foretelling said of every over.

    Attributes:
        losses: of every token, nats, an array for each over.
        figures: the other `FIGURES` of each over.
        drawn: runs that were drawn on average, the chance of a wicket, and the share of draws
            without an end.
    """

    losses: list[Floats]
    figures: list[tuple[float, float, float]]
    drawn: list[tuple[float, float, float]]

    def add(self, chances: Floats, drawn: SampledOvers, runs: int, fell: bool) -> None:
        """One over: the chances of its tokens, overs drawn for it, and what came."""
        self.losses.append(-np.log(np.maximum(chances, SMALLEST)))
        chance = float((drawn.wickets > 0).mean())
        off = abs(float(np.median(drawn.runs)) - runs)
        self.figures.append((off, ranked_score(drawn.runs, runs), (chance - fell) ** 2))
        open_ended = float((~drawn.finished).mean())
        self.drawn.append((float(drawn.runs.mean()), chance, open_ended))


def asked(trained: TrainedOvers, arrays: OverArrays, seed: int) -> tuple[list[Floats], Integers]:
    """Chances of every token of each over, and overs drawn for each ``(over, sample, place)``."""
    model = trained.model
    batch = over_batch([(arrays, row) for row in range(len(arrays))], model.sizes)
    parts = batch.history, batch.padded, batch.context
    with torch.no_grad():
        logits = model(*parts, batch.inputs)
    chances = logits.double().softmax(-1).gather(-1, batch.targets[..., None])[..., 0].numpy()
    kept = (batch.targets != PAD).numpy()
    generator = torch.Generator().manual_seed(seed)
    drawn = Choice(greedy=False)
    tokens = decode(model, *parts, drawn, samples=SAMPLES, generator=generator)
    tokens = tokens.view(len(arrays), SAMPLES, -1)
    return [row[some] for row, some in zip(chances, kept, strict=True)], tokens.numpy()


def judge(trained: TrainedOvers, matches: Sequence[Match], judged: Sequence[Match]) -> None:
    """Foretell every over of the judged matches, and print how well."""
    until = trained.date("weights_until")
    earlier = [match for match in matches if until is None or (last_day(match) or until) <= until]
    phases = phase_overs(earlier)
    ways = {name: Notes([], [], []) for name in ("model", "same phase")}
    ids, phase, came = [], [], []
    timeline = Timeline(trained, matches)
    for match in judged:
        dated = timeline.predictor_for(match)
        for side in sides(match):
            arrays = encode_overs(match, side, dated.ratings, dated.base)
            chances, tokens = asked(dated, arrays, 5 + 7919 * len(ids))
            for row, balls in enumerate(overs_of(side).values()):
                generator = np.random.default_rng([5, len(ids)])
                limits = Limits.of(side, balls[0].score_before, balls[0].wickets_before)
                phase.append(phase_of(balls[0].legal_balls_before, quota_of(match, side)))
                wanted = [*arrays.tokens[row], END]
                told = sum(ball.runs_total for ball in balls), TOKEN_INDEX["W"] in wanted
                drawn = brought(tokens[row], dated.token_runs, limits, generator)
                ways["model"].add(chances[row], drawn, *told)
                others = phases.draw(phase[-1], generator)
                baseline = phases.given(phase[-1], wanted)[: len(chances[row])]
                other = brought(others, dated.token_runs, limits, generator)
                ways["same phase"].add(baseline, other, *told)
                ids.append(match.match_id)
                came.append(told)
    show(ways, group_numbers(ids), np.array(phase), len(earlier))
    runs, fell = np.mean(came, axis=0)
    drawn_runs, chance, open_ended = np.mean(ways["model"].drawn, axis=0)
    print(f"\nruns an over: {runs:.2f} came, {drawn_runs:.2f} drawn")
    print(f"overs with a wicket: {fell:.1%} came, {chance:.1%} drawn")
    print(f"overs drawn without an end: {open_ended:.2%}")


def show(ways: dict[str, Notes], group: Integers, phase: Integers, learnt: int) -> None:
    """A table for all overs, and one for those of each phase."""
    model, other = ways.values()
    lengths = [len(one) for one in model.losses]
    print(f"{len(group):,} overs, {sum(lengths):,} tokens; phases from {learnt:,} matches")
    for name in ("all", *PHASES):
        rows = np.full(len(group), True) if name == "all" else phase == PHASES.index(name)
        if not rows.any():
            continue
        print(f"\n{name} ({rows.sum():,} overs)")
        for number, figure in enumerate(FIGURES):
            if number == 0:
                owner, some = np.repeat(group, lengths), np.repeat(rows, lengths)
                one, two = (np.concatenate(way.losses) for way in (model, other))
            else:
                owner, some = group, rows
                one, two = (np.array(way.figures)[:, number - 1] for way in (model, other))
            low, high = Bootstrap(owner, seed=5).interval(one - two, some) or (np.nan, np.nan)
            print(f"{figure:20} {one[some].mean():8.4f} {two[some].mean():8.4f} "
                  f"{(one - two)[some].mean():+8.4f} [{low:+.4f}, {high:+.4f}]")  # fmt: skip


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
