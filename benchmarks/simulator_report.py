r"""Real T20 internationals beside simulated ones: how alike they look.

    python benchmarks/simulator_report.py t20s_male_json.zip [--matches 2000] \
        [--into docs/simulator.md]

Prints Markdown tables, and after them the model's coefficients; ``--into`` puts both in the
place of what follows the line `MARK` in a file.

Real are the full-length matches (no rain, twenty overs a side) up to ``--until``; simulated
are the first ``--matches`` seeds with default strengths. For quantities, D is the
Kolmogorov-Smirnov distance (the largest gap between the two distribution functions) and W
the mean distance between quantiles (Wasserstein) in real standard deviations; for shares,
the distance is total variation. About three minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from simulator_fit import TRAIN_UNTIL, full_length_matches
from simulator_model import model_tables

from attnlens.cricket.match import Innings, Match
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.simulate import simulate, simulate_match
from attnlens.cricket.simulated_causes import PLANTED, Coefficients, Past
from attnlens.cricket.simulated_events import KINDS
from attnlens.files import write_text

MARK = "<!-- from here on printed by benchmarks/simulator_report.py -->"
STRENGTH_MATCHES = 400
QUANTILES = (1, 5, 25, 50, 75, 95, 99)
PHASES = {
    "powerplay (1-6)": range(6),
    "middle (7-15)": range(6, 15),
    "death (16-20)": range(15, 20),
}
GRID = np.linspace(0, 100, 1001)

Samples = dict[str, list[float]]
Shares = dict[str, Counter[str]]


def main_innings(match: Match) -> tuple[Innings, ...]:
    """The two innings that are not super overs."""
    return match.innings[:2]


def samples_of(matches: Iterable[Match]) -> Samples:
    """Every quantity, one number per match, innings, over, stand, batter or bowler."""
    found: Samples = defaultdict(list)
    for match in matches:
        first, second = main_innings(match)
        found["first innings: runs"].append(first.total)
        found["second innings: runs"].append(second.total)
        found["margin, first less second: runs"].append(first.total - second.total)
        for name, innings in (("first", first), ("second", second)):
            found[f"{name} innings: wickets"].append(innings.wickets)
            found[f"{name} innings: deliveries"].append(len(innings.deliveries))
        for innings in (first, second):
            add_innings(found, innings)
    return found


def add_innings(found: Samples, innings: Innings) -> None:
    """Add what one innings has to the samples."""
    balls = innings.deliveries
    found["innings: runs per over"].append(6 * innings.total / max(innings.legal_balls, 1))
    found["innings: extras"].append(innings.extras)
    found["innings: wides bowled"].append(sum("wides" in ball.extras for ball in balls))
    found["innings: fours and sixes"].append(sum(ball.boundary for ball in balls))
    overs: dict[int, list[int]] = defaultdict(list)
    legal: Counter[int] = Counter()
    for ball in balls:
        overs[ball.over].append(ball.runs_total)
        legal[ball.over] += ball.is_legal
    whole = [runs for over, runs in overs.items() if legal[over] == 6]
    found["over: deliveries"] += [len(runs) for runs in whole]
    found["over: runs"] += [sum(runs) for runs in whole]
    found["over: wickets"] += [
        sum(ball.outcome == "W" for ball in balls if ball.over == over)
        for over in overs
        if legal[over] == 6
    ]
    scores: Counter[str] = Counter()
    faced: Counter[str] = Counter()
    conceded: Counter[str] = Counter()
    bowled: dict[str, set[int]] = defaultdict(set)
    stand = 0
    for ball in balls:
        scores[ball.batter.key] += ball.runs_batter
        faced[ball.batter.key] += "wides" not in ball.extras
        conceded[ball.bowler.key] += (
            ball.runs_batter + ball.extras.get("wides", 0) + ball.extras.get("noballs", 0)
        )
        bowled[ball.bowler.key].add(ball.over)
        stand += ball.runs_total
        if ball.outcome == "W":
            found["partnership that ended: runs"].append(stand)
            stand = 0
    found["batter: runs"] += scores.values()
    found["batter: balls faced"] += faced.values()
    found["bowler: overs begun"] += [len(those) for those in bowled.values()]
    found["bowler: runs conceded"] += conceded.values()
    found["innings: bowlers used"].append(len(bowled))


def phase_shares(matches: Iterable[Match]) -> Shares:
    """Outcome classes by phase."""
    shares: Shares = {name: Counter() for name in PHASES}
    phase_of = {over: name for name, overs in PHASES.items() for over in overs}
    for match in matches:
        for innings in main_innings(match):
            for ball in innings.deliveries:
                shares[phase_of[ball.over]][ball.outcome] += 1
    return shares


def dismissals(matches: Iterable[Match]) -> Counter[str]:
    """Kinds of counted wickets; those that the simulator never gives are other."""
    return Counter(
        wicket.kind if wicket.kind in KINDS else "other"
        for match in matches
        for innings in main_innings(match)
        for ball in innings.deliveries
        for wicket in ball.wickets
        if wicket.counts
    )


def situations(matches: Iterable[Match]) -> Shares:
    """Outcome classes by what went before: the dependencies, as they appear unadjusted."""
    shares: Shares = defaultdict(Counter)
    for match in matches:
        for innings in main_innings(match):
            past = Past(innings.target if innings.number == 2 else None)
            for ball in innings.deliveries:
                units = past.situation(ball.batter, ball.bowler).units
                for name in situation_names(units, innings.number == 2):
                    shares[name][ball.outcome] += 1
                past.add(ball)
    return dict(sorted(shares.items()))


def situation_names(units: Mapping[str, float], chasing: bool) -> Iterator[str]:
    """The rows of the table of dependencies to which a ball belongs."""
    faced = round(20 * units["settled"])
    yield "faced " + (
        "0-4" if faced < 5 else "05-9" if faced < 10 else "10-19" if faced < 20 else "20+"
    )
    for cause in ("batter_hit", "bowler_hit", "bowler_wide"):
        yield f"{cause} {units[cause]:.0f}"
    yield f"dots {min(units['dots'], 4):.0f}{'+' if units['dots'] >= 4 else ''}"
    for cause in ("wicket_fallen", "free_hit"):
        yield f"{cause} {'yes' if units[cause] else 'no'}"
    if chasing:
        required = 8 + 4 * (units["chase"] + units["out_of_reach"])
        bounds = (6, 8, 10, 12, 16)
        below = next((bound for bound in bounds if required < bound), None)
        yield "required rate " + (f"under {below:02d}" if below else "16 and more")
    lost = int(units["wickets_down"])
    yield f"wickets lost {'0-2' if lost < 3 else '3-5' if lost < 6 else '6-9'}"


def distances(real: np.ndarray, simulated: np.ndarray) -> tuple[float, float]:
    """Kolmogorov-Smirnov, and Wasserstein in real standard deviations."""
    points = np.union1d(real, simulated)
    below = [np.searchsorted(np.sort(x), points, "right") / len(x) for x in (real, simulated)]
    gap = np.abs(np.percentile(real, GRID) - np.percentile(simulated, GRID)).mean()
    return float(np.abs(below[0] - below[1]).max()), float(gap / real.std())


def total_variation(one: Counter[str], other: Counter[str]) -> float:
    """Half the sum of the differences in share."""
    keys = one.keys() | other.keys()
    return sum(abs(share(one, key) - share(other, key)) for key in keys) / 2


def share(counter: Counter[str], *keys: str) -> float:
    """Of the count that is under these keys."""
    return sum(counter[key] for key in keys) / max(counter.total(), 1)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    heads = list(heads)
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_quantities(real: Samples, simulated: Samples) -> None:
    print("## Quantities\n")
    rows = []
    for name in real:
        pair = np.array(real[name], float), np.array(simulated[name], float)
        far, gap = distances(*pair)
        for who, values in zip(("real", "simulated"), pair, strict=True):
            rows.append([
                name if who == "real" else "",
                who,
                f"{values.mean():.2f}",
                f"{values.std():.2f}",
                *(f"{value:.4g}" for value in np.percentile(values, QUANTILES)),
                *((f"{far:.3f}", f"{gap:.3f}") if who == "real" else ("", "")),
            ])  # fmt: skip
    quantiles = [f"{quantile}%" for quantile in QUANTILES]
    table(["quantity", "", "mean", "sd", *quantiles, "D", "W"], rows)


def print_shares(title: str, first: str, real: Shares, simulated: Shares) -> None:
    print(f"## {title}\n")
    rows = []
    for name, counts in real.items():
        far = total_variation(counts, simulated[name])
        for who, those in (("real", counts), ("simulated", simulated[name])):
            rows.append([
                name if who == "real" else "",
                who,
                *(f"{100 * share(those, outcome):.2f}" for outcome in OUTCOMES),
                f"{far:.3f}" if who == "real" else "",
            ])  # fmt: skip
    table([first, "%", *OUTCOMES, "distance"], rows)


def print_dependencies(real: Shares, simulated: Shares) -> None:
    print("## What went before (shares in %, not adjusted for anything)\n")
    heads = ["before the ball", "balls, real", "0", "", "4 or 6", "", "W", "", "wd", ""]
    rows = [["", "", *(["real", "simulated"] * 4)]]
    for name, counts in real.items():
        cells = []
        for outcomes in (("0",), ("4", "6"), ("W",), ("wd",)):
            cells += [f"{100 * share(those, *outcomes):.1f}" for those in (counts, simulated[name])]
        rows.append([name.replace(" 05-9", " 5-9"), f"{counts.total():,}", *cells])
    table(heads, rows)


def print_results(sides: dict[str, list[Match]]) -> None:
    print("## Results and how wickets fell\n")
    chased: dict[str, Callable[[Match], bool]] = {
        "the side batting second won": lambda match: "wickets" in match.outcome.get("by", {}),
        "tied": lambda match: match.outcome.get("result") == "tie",
        "first innings all out": lambda match: match.innings[0].wickets == 10,
        "second innings all out": lambda match: match.innings[1].wickets == 10,
    }
    rows = [
        [
            name,
            *(
                f"{100 * np.mean([test(match) for match in those]):.1f}%"
                for those in sides.values()
            ),
        ]
        for name, test in chased.items()
    ]
    totals = [
        np.corrcoef(
            [[innings.total for innings in main_innings(match)] for match in those], rowvar=False
        )
        for those in sides.values()
    ]
    rows.append(["correlation of the two totals", *(f"{both[0, 1]:.2f}" for both in totals)])
    kinds = {who: dismissals(those) for who, those in sides.items()}
    for kind in (*KINDS, "other"):
        rows.append(
            [f"wickets: {kind}", *(f"{100 * share(those, kind):.1f}%" for those in kinds.values())]
        )
    rows.append(
        ["distance between kinds of wickets", f"{total_variation(*kinds.values()):.3f}", ""]
    )
    table(["", *sides], rows)


def print_strengths(matches: int) -> None:
    print(f"## What stronger causes do ({matches:,} matches each)\n")
    rows = []
    for strength in (0, 1, 2, 4, 8):
        coefficients = Coefficients().times(strength)
        totals, nats = [], []
        for seed in range(matches):
            made = simulate(seed, coefficients=coefficients)
            totals.append(made.match.innings[0].total)
            nats += [sum(ball.nats.get(cause, 0) for cause in PLANTED) for ball in made.truth]
        rows.append([
            f"{strength}",
            f"{np.mean(totals):.1f}",
            f"{np.std(totals):.1f}",
            *(f"{value:.0f}" for value in np.percentile(totals, (0, 5, 50, 95, 100))),
            f"{np.mean(nats):.4f}",
        ])  # fmt: skip
    heads = ["--strength", "first innings: mean", "sd", "least", "5%", "50%", "95%", "most"]
    table([*heads, "nats a ball from past balls"], rows)


def whole_report(source: str, until: datetime.date, matches: int) -> None:
    """Print everything, the coefficients last."""
    real = list(full_length_matches(source, until))
    print(f"{len(real)} real matches read", file=sys.stderr)
    simulated = [simulate_match(seed) for seed in range(matches)]
    print(f"\n{len(real):,} real matches up to {until}, {len(simulated):,} simulated.\n")
    print_quantities(samples_of(real), samples_of(simulated))
    print_shares("Outcomes by phase", "overs", phase_shares(real), phase_shares(simulated))
    print_results({"real": real, "simulated": simulated})
    print_dependencies(situations(real), situations(simulated))
    print_strengths(min(matches, STRENGTH_MATCHES))
    print("## Coefficients\n")
    print(model_tables(), end="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", help="a zip or folder of T20 internationals")
    parser.add_argument("--until", type=datetime.date.fromisoformat, default=TRAIN_UNTIL)
    parser.add_argument("--matches", type=int, default=2000)
    parser.add_argument("--into", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.into is None:
        whole_report(options.source, options.until, options.matches)
        return
    before, mark, _ = options.into.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        parser.error(f"{options.into} has no line {MARK}")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        whole_report(options.source, options.until, options.matches)
    write_text(options.into, f"{before}{mark}\n{printed.getvalue()}")


if __name__ == "__main__":
    main()
