"""How like real T20 internationals the simulator plays: the table of ``docs/predictor.md``.

    python benchmarks/simulator.py t20s_male_json.zip

Full-length matches up to ``--until`` beside the first ``--matches`` seeds. D is the
Kolmogorov-Smirnov distance, the largest gap between the two distribution functions. About a minute.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from attnlens.cricket.lab.causes import BALLS_PER_OVER, OVERS
from attnlens.cricket.lab.simulate import simulate_match
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.readers import read_matches

FITTED_UNTIL = datetime.date(2024, 5, 10)
"""The simulator's constants are fitted to matches up to this day."""


def full_length_matches(source: str, until: datetime.date) -> list[Match]:
    """Those up to a date, of twenty six-ball overs, without a rain rule, with a result."""
    found = []
    for match in read_matches(source, on_error="skip"):
        sides = [innings for innings in match.innings if not innings.super_over]
        if (
            match.date is not None
            and match.date <= until
            and (match.overs, match.balls_per_over) == (OVERS, BALLS_PER_OVER)
            and "method" not in match.outcome
            and match.outcome.get("result") != "no result"
            and len(sides) == 2
            and sides[1].target == sides[0].total + 1
        ):
            found.append(match)
    print(f"{len(found)} matches", file=sys.stderr)
    return found


def samples_of(matches: Iterable[Match]) -> dict[str, list[float]]:
    """Quantities, one number per innings, batter or over."""
    found: dict[str, list[float]] = defaultdict(list)
    for match in matches:
        for name, innings in zip(("first", "second"), match.innings, strict=False):
            balls = innings.deliveries
            found[f"{name} innings: runs"].append(innings.total)
            found[f"{name} innings: wickets"].append(innings.wickets)
            found[f"{name} innings: deliveries"].append(len(balls))
            found["innings: extras"].append(innings.extras)
            batters, overs = Counter[str](), Counter[int]()
            for outcome in OUTCOMES:
                times = sum(ball.outcome == outcome for ball in balls)
                found[f"innings: balls of outcome {outcome}"].append(times)
            for ball in balls:
                batters[ball.batter.key] += ball.runs_batter
                overs[ball.over] += ball.runs_total
            found["batter: runs"] += batters.values()
            found["over: runs"] += overs.values()
    return found


def compare(source: str, until: datetime.date, number: int) -> None:
    """Print the table."""
    real = full_length_matches(source, until)
    simulated = [simulate_match(seed) for seed in range(number)]
    print(f"{len(real):,} real matches up to {until}, {number:,} simulated.\n\n## Quantities\n")
    print("| quantity | | mean | sd | 5% | 50% | 95% | D |\n|---|---" + "|---:" * 6 + "|")
    both = samples_of(real), samples_of(simulated)
    for name in both[0]:
        pair = [np.sort(np.array(samples[name], float)) for samples in both]
        points = np.union1d(*pair)
        below = [np.searchsorted(values, points, "right") / len(values) for values in pair]
        far = f"{np.abs(below[0] - below[1]).max():.3f}"
        for who, values in zip(("real", "simulated"), pair, strict=True):
            row = f"{values.mean():.2f}", f"{values.std():.2f}"
            shown = [f"{value:.4g}" for value in np.percentile(values, (5, 50, 95))]
            print("|", " | ".join((name, who, *row, *shown, far)), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", help="a zip or folder of T20 internationals")
    parser.add_argument("--until", type=datetime.date.fromisoformat, default=FITTED_UNTIL)
    parser.add_argument("--matches", type=int, default=2000)
    options = parser.parse_args()
    compare(options.source, options.until, options.matches)


if __name__ == "__main__":
    main()
