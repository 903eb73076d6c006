"""How often the claims of explanations hold, over a sample of balls.

    python benchmarks/verdicts.py t20s_male_json.zip --from 2024-10-24 --model measured \
        --history t20s_male_json.zip --balls 100 --claims claims.csv

For every kind of claim: how many were tested, the median effect and largest change, and the
share of each verdict; a head's claim is tested on the model and on that head alone. The sample
is balls with at least 36 before them, drawn with a fixed seed; a claim with too few controls to
compare with is counted apart. Then how often a head's claim holds by how much of its attention
the balls have: is a good story a true one? ``--claims`` writes a row per claim, to find balls in.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlens.cricket.explain.evidence import Tested, gather_evidence
from attnlens.cricket.explain.heatmap import ScaleAttention
from attnlens.cricket.explain.reading import read_ball
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.model.heads import SCALES
from attnlens.cricket.model.timeline import Timeline
from attnlens.cricket.model.trained import TrainedPredictor, load_predictor
from attnlens.cricket.model.window import one_thread, window_for
from attnlens.cricket.readers import read_matches

COLUMNS = [
    "match_id",
    "innings",
    "ball",
    "date",
    "claim",
    "scale",
    "head",
    "removed_from",
    "share",
    "lift",
    "effect_nats",
    "control_median_nats",
    "controls",
    "p",
    "q",
    "verdict",
    "reason",
]
BANDS = ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01))
"""Shares of a head's attention to past balls."""


@dataclass(frozen=True)
class Asked:
    """A claim as it was tested, and where.

    Attributes:
        share: the part of its head's attention to past balls that its balls have; ``None`` for
            a claim that no head makes.
    """

    match: Match
    reference: BallReference
    tested: Tested
    share: float | None

    def row(self) -> list[Any]:
        """The values of `COLUMNS`."""
        one, match = self.tested, self.match
        claim, controls = one.claim, one.controls
        return [
            match.match_id,
            self.reference.innings,
            self.reference.index,
            match.date,
            claim.text,
            claim.scale,
            claim.head,
            one.removed_from,
            _figure(self.share),
            _figure(claim.lift),
            _figure(one.effect),
            _figure(np.median(controls)) if len(controls) else None,
            len(controls),
            _figure(one.p),
            _figure(one.q),
            one.judged.verdict,
            one.judged.reason,
        ]


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def shares_of(scales: dict[str, ScaleAttention], tested: Tested) -> float | None:
    """The part of its head's attention to past balls that a claim's balls have."""
    claim = tested.claim
    if claim.scale is None or claim.head is None:
        return None
    attention = scales[claim.scale]
    row = attention.rows[int(claim.head.split("_")[1])]
    removed = set(claim.removed)
    named = sum(
        weight for ball, weight in zip(attention.balls, row, strict=True) if ball.index in removed
    )
    return float(named / sum(row))


def name_of(tested: Tested) -> str:
    """The kind of a claim: its scale and what the head started as."""
    claim = tested.claim
    if claim.scale is None or claim.head is None:
        return claim.kind
    pattern = claim.head.split("_", 2)[2].replace("_", " ")
    alone = "" if tested.removed_from == "model" else ", that head alone"
    return f"{claim.scale}: {pattern}{alone}"


def sample(
    matches: Iterable[Match], balls: int, seed: int
) -> list[tuple[Match, list[BallReference]]]:
    """Balls to ask about, by match in order of date."""
    generator = np.random.default_rng(seed)
    found = [
        (match, BallReference(side.number, ball.index))
        for match in matches
        for side in match.innings
        if not side.super_over
        for ball in side.deliveries[SCALES["medium"] :]
    ]
    picks = generator.choice(len(found), min(balls, len(found)), replace=False)
    grouped: dict[str, tuple[Match, list[BallReference]]] = {}
    for pick in picks:
        match, reference = found[pick]
        grouped.setdefault(match.match_id, (match, []))[1].append(reference)
    return sorted(grouped.values(), key=lambda pair: (pair[0].dates, pair[0].match_id))


def gather(
    chosen: list[tuple[Match, list[BallReference]]],
    predictor: TrainedPredictor,
    timeline: Timeline | None,
) -> tuple[list[Asked], list[float]]:
    """Every tested claim, and each ball's largest single-ball effect."""
    claims, largest = [], []
    for number, (match, references) in enumerate(chosen, 1):
        dated = predictor if timeline is None else timeline.predictor_for(match)
        for reference in references:
            window = window_for(match, reference, dated)
            scales = read_ball(dated, window).scales
            evidence = gather_evidence(dated, window, scales)
            largest.append(max(evidence.effects.values()))
            claims += [
                Asked(match, reference, tested, shares_of(scales, tested))
                for tested in evidence.tested
            ]
        if sys.stderr.isatty():
            print(f"\rmatch {number} of {len(chosen)}", end="", file=sys.stderr)
    return claims, largest


def table(asked: list[Asked]) -> str:
    """One line per kind of claim."""
    claims: dict[str, list[Tested]] = defaultdict(list)
    for one in asked:
        claims[name_of(one.tested)].append(one.tested)
    lines = [
        "| claim | balls | compared | median effect, nats | median largest change, points "
        "| supported | not better than chance | contradicted |",
        "|---|---|---|---|---|---|---|---|",
    ]
    every = [one.tested for one in asked]
    totals = {
        "all about balls, on the model": [
            one for one in every if one.claim.removed and one.removed_from == "model"
        ],
        "all about balls, on one head": [one for one in every if one.removed_from == "head"],
        "all about what was known": [one for one in every if not one.claim.removed],
    }
    for kind, tested in [*claims.items(), *totals.items()]:
        judged = [one for one in tested if one.judged.verdict is not None]
        shares = {
            verdict: np.mean([one.judged.verdict == verdict for one in judged]) if judged else 0.0
            for verdict in ("supported", "not better than chance", "contradicted")
        }
        lines.append(
            f"| {kind} | {len(tested)} | {len(judged)} "
            f"| {np.median([one.effect for one in tested]):.5f} "
            f"| {np.median([np.abs(one.points).max() for one in tested]):.2f} | "
            + " | ".join(f"{100 * share:.0f}%" for share in shares.values())
            + " |"
        )
    return "\n".join(lines)


def by_share(asked: list[Asked]) -> str:
    """One line per band of shares: heads' claims, their balls hidden from the whole model."""
    lines = [
        "| share of the head's attention | compared | supported | not better than chance "
        "| contradicted |",
        "|---|---|---|---|---|",
    ]
    told = [one for one in asked if one.share is not None and one.tested.removed_from == "model"]
    for low, high in BANDS:
        verdicts = [
            one.tested.judged.verdict
            for one in told
            if low <= one.share < high and one.tested.judged.verdict is not None
        ]
        if not verdicts:
            continue
        shares = [
            100 * np.mean([verdict == name for verdict in verdicts])
            for name in ("supported", "not better than chance", "contradicted")
        ]
        cells = " | ".join(f"{share:.0f}%" for share in shares)
        lines.append(f"| {low:.0%} to {min(high, 1):.0%} | {len(verdicts)} | {cells} |")
    return "\n".join(lines)


def write_claims(path: str, asked: list[Asked]) -> None:
    """A CSV file with a row per claim."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(one.row() for one in asked)


@one_thread()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--from", dest="first", type=datetime.date.fromisoformat)
    parser.add_argument("--model", default="measured")
    parser.add_argument("--history")
    parser.add_argument("--balls", type=int, default=100)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--claims", metavar="FILE", help="write a row per claim there, as CSV")
    options = parser.parse_args()
    predictor = load_predictor(options.model)
    matches = [
        match
        for match in read_matches(options.source, on_error="skip")
        if options.first is None or (match.date is not None and match.date >= options.first)
    ]
    timeline = None
    if options.history:
        timeline = Timeline(predictor, read_matches(options.history, on_error="skip"))
    chosen = sample(matches, options.balls, options.seed)
    claims, largest = gather(chosen, predictor, timeline)
    if options.claims:
        write_claims(options.claims, claims)
    print(table(claims))
    print(f"\n{by_share(claims)}")
    print(f"\nballs {len(largest)}, matches {len(chosen)}, checkpoint {predictor.sha256[:12]}")
    print(f"largest single-ball effect, mean over balls: {np.mean(largest):.4f} nats")


if __name__ == "__main__":
    main()
