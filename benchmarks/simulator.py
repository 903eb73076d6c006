"""The simulator's constants fitted to real T20 internationals, and how like them it plays.

    python benchmarks/simulator.py fit t20s_male_json.zip
    python benchmarks/simulator.py compare t20s_male_json.zip

``fit`` writes ``attnlens/cricket/simulator/rates.json`` (or ``--out``): a multinomial logistic
regression over the deliveries of full-length matches up to ``--until``, on a table by over, the
second innings, the causes of `attnlens.cricket.simulator.causes`, the place in the batting order,
and normal random effects of players, teams, venues, matches and innings, whose spreads are
estimated by expectation-maximisation (the posterior variance from the diagonal of the
information). A cause moves the outcomes of `MOVES`, each by its own amount; those of `TIED` move
theirs alike. A cause of which no effect is three standard errors from 0 has strength 0. About
four minutes on one core.

``compare`` prints the table of ``docs/simulator.md``: the same matches beside the first
``--matches`` seeds. D is the Kolmogorov-Smirnov distance, the largest gap between the two
distribution functions. About a minute.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from attnlens.cricket.match.match import Delivery, Match
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.readers import read_matches
from attnlens.cricket.simulator.causes import BALLS_PER_OVER, CAUSES, CHASING, OVERS, Past
from attnlens.cricket.simulator.league import GROUPS
from attnlens.cricket.simulator.simulate import simulate_match
from attnlens.files import write_text

RATES = Path(__file__).resolve().parent.parent / "attnlens/cricket/simulator/rates.json"
ALL = ("1", "2", "4", "6", "W")
MOVES = {
    "settled": ALL,
    "batter_hit": ("4", "6"),
    "bowler_hit": ("4", "6", "wd"),
    "bowler_wide": ("wd",),
    "dots": ("6", "W"),
    "wicket_fallen": ALL,
    "free_hit": ALL,
    "chase": (*ALL, "wd"),
    "out_of_reach": (*ALL, "wd"),
    "wickets_down": (*ALL, "wd"),
}
TIED = ("bowler_hit", "dots")
YES_OR_NO = ("run_out_striker", "two_fielders", "stumped_off_wide", "leg_bye")
TRAIN_UNTIL = datetime.date(2024, 5, 10)
PLACES = 11
BLOCKS = ("batter", "bowler", "batting team", "bowling team", "venue", "match", "innings")
ROUNDS, STEPS = 20, 15
FIRST_SPREAD, LEAST_SPREAD = 0.2, 0.01
FIXED_RIDGE = 1.0
NEGLIGIBLE = 0.1
LEAST_STANDARD_ERRORS = 3


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


class Table(NamedTuple):
    """One row per delivery: whole numbers ``(balls,)``, and units ``(balls, causes)``.

    ``levels`` has the level of each ball for each of `BLOCKS`, ``teams`` that of each team when
    it bats and when it bowls.
    """

    over: np.ndarray
    second: np.ndarray
    place: np.ndarray
    outcome: np.ndarray
    units: np.ndarray
    levels: dict[str, np.ndarray]
    teams: tuple[dict[object, int], dict[object, int]]


def table_of(matches: Iterable[Match]) -> Table:
    """The deliveries of the two innings of every match."""
    rows: list[tuple[int, int, int, int]] = []
    units: list[list[float]] = []
    levels: dict[str, list[int]] = {block: [] for block in BLOCKS}
    known: dict[str, dict[object, int]] = {block: {} for block in BLOCKS}
    for match in matches:
        for innings in match.innings[:2]:
            past = Past(innings.target if innings.number == 2 else None)
            order: dict[str, int] = {}
            teams = innings.batting_team, innings.bowling_team
            for ball in innings.deliveries:
                place = order.setdefault(ball.batter.key, min(len(order), PLACES - 1))
                order.setdefault(ball.non_striker.key, min(len(order), PLACES - 1))
                if ball.over < OVERS:
                    rows.append((ball.over, innings.number - 1, place, OUTCOME_INDEX[ball.outcome]))
                    situation = past.situation(ball.batter, ball.bowler)
                    units.append([situation.units[cause] for cause in CAUSES])
                    day = match.venue, match.match_id, (match.match_id, innings.number)
                    keys = (ball.batter.key, ball.bowler.key, *teams, *day)
                    for block, key in zip(BLOCKS, keys, strict=True):
                        levels[block].append(known[block].setdefault(key, len(known[block])))
                past.add(ball)
    over, second, place, outcome = np.array(rows).T
    arrays = {block: np.array(level) for block, level in levels.items()}
    teams_known = known["batting team"], known["bowling team"]
    return Table(over, second, place, outcome, np.array(units), arrays, teams_known)


class Fit:
    """The regression: tables of log-odds, and a spread for every random effect."""

    def __init__(self, table: Table) -> None:
        self.table = table
        chasing = table.second == 1
        whose = [chasing if cause in CHASING else np.ones_like(chasing) for cause in CAUSES]
        self.means = np.array(
            [
                [table.units[those & (table.over == over), c].mean() for over in range(OVERS)]
                for c, those in enumerate(whose)
            ]
        )
        centred = (table.units - self.means.T[table.over]) * np.stack(whose, 1)
        # Rare outcomes move with the likelier ones of their group, dots are the reference.
        self.spread_out = torch.tensor(
            [[float(name in group) for name in OUTCOMES] for group in GROUPS.values()]
        )
        self.moves = torch.tensor(
            [[float(name in MOVES[cause]) for name in OUTCOMES] for cause in CAUSES]
        )
        self.units = torch.tensor(centred, dtype=torch.float32)
        self.over, self.second = torch.tensor(table.over), torch.tensor(table.second)
        self.place, self.outcome = torch.tensor(table.place), torch.tensor(table.outcome)
        self.levels = {block: torch.tensor(level) for block, level in table.levels.items()}
        share = np.bincount(table.outcome, minlength=len(OUTCOMES)) / len(table.outcome)
        self.start = torch.tensor(np.log(share / share[0]), dtype=torch.float32)
        self.base = self.start.repeat(OVERS, 1).requires_grad_()
        self.second_base = torch.zeros(len(OUTCOMES), requires_grad=True)
        self.causes = torch.zeros(len(CAUSES), len(OUTCOMES), requires_grad=True)
        self.places = torch.zeros(PLACES, len(GROUPS), requires_grad=True)
        self.effects = {
            block: torch.zeros(int(level.max()) + 1, len(GROUPS), requires_grad=True)
            for block, level in self.levels.items()
        }
        self.spreads = {block: torch.full((len(GROUPS),), FIRST_SPREAD) for block in BLOCKS}
        self.variances = {block: torch.zeros(1, len(GROUPS)) for block in BLOCKS}

    def logits(self) -> torch.Tensor:
        """``(balls, outcomes)``"""
        grouped = self.places[self.place]
        for block in BLOCKS:
            grouped = grouped + self.effects[block][self.levels[block]]
        return (
            self.base[self.over]
            + self.second[:, None] * self.second_base
            + self.units @ (self.causes * self.moves)
            + grouped @ self.spread_out
        )

    def loss(self) -> torch.Tensor:
        """A ball's mean negative log posterior."""
        loss = torch.nn.functional.cross_entropy(self.logits(), self.outcome, reduction="sum")
        for block in BLOCKS:
            loss = loss + 0.5 * ((self.effects[block] / self.spreads[block]) ** 2).sum()
        # Keeps overs in which an outcome never happened finite, and dots the reference.
        fixed = (self.base - self.start, self.causes, self.second_base, self.places)
        loss = loss + 0.5 * FIXED_RIDGE * sum((those**2).sum() for those in fixed)
        return loss / len(self.outcome)

    def run(self) -> None:
        """Alternate between the coefficients and the spreads."""
        parameters = [self.base, self.second_base, self.causes, self.places]
        parameters += list(self.effects.values())
        for turn in range(ROUNDS):
            optimiser = torch.optim.LBFGS(
                parameters, max_iter=STEPS, history_size=12, line_search_fn="strong_wolfe"
            )

            def closure(optimiser: torch.optim.LBFGS = optimiser) -> torch.Tensor:
                optimiser.zero_grad()
                loss = self.loss()
                loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
                return loss

            optimiser.step(closure)  # type: ignore[no-untyped-call]  # torch has no types here
            self.update_spreads()
            print(f"round {turn + 1}: {float(self.loss()):.5f}", file=sys.stderr)

    @torch.no_grad()
    def update_spreads(self) -> None:
        """The spreads that the effects, as far as they are known, speak for."""
        shares = torch.softmax(self.logits(), -1) @ self.spread_out.T
        information = shares * (1 - shares)
        for block, effect in self.effects.items():
            known = torch.zeros_like(effect).index_add_(0, self.levels[block], information)
            variance = 1 / (known + self.spreads[block] ** -2)
            self.variances[block] = variance
            self.spreads[block] = ((effect**2 + variance).mean(0)).sqrt().clamp(min=LEAST_SPREAD)

    @torch.no_grad()
    def as_seen(self, block: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and spread of a block's effects over deliveries: who plays most is not average."""
        weight = torch.bincount(self.levels[block])[:, None] / len(self.outcome)
        mean = (weight * self.effects[block]).sum(0)
        square = (self.effects[block] - mean) ** 2 + self.variances[block]
        return mean, (weight * square).sum(0).sqrt()

    @torch.no_grad()
    def strengths(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """The strength of each cause, and its direction; 0 where it is not told from nothing.

        The standard errors are from the diagonal of the information, so a little too small.
        """
        chances = torch.softmax(self.logits(), -1)
        information = (self.units**2).T @ (chances * (1 - chances))
        errors = information.clamp(min=1e-9).rsqrt().numpy()
        strengths, directions = {}, {}
        moved = (self.causes * self.moves).numpy()
        for cause, row, error in zip(CAUSES, moved, errors, strict=True):
            if cause in TIED:
                weight = np.where(row, error**-2, 0.0)
                mean = float((weight * row).sum() / weight.sum())
                row, error = np.where(row, mean, 0.0), np.full(len(row), weight.sum() ** -0.5)
            size = float(np.abs(row).max())
            strengths[cause] = round(size, 3)
            if (np.abs(row) < LEAST_STANDARD_ERRORS * error).all():
                row, size, strengths[cause] = np.where(row, 1.0, 0.0), 1.0, 0.0
            directions[cause] = {
                name: round(float(value / size), 2)
                for name, value in zip(OUTCOMES, row, strict=True)
                if abs(value / size) >= NEGLIGIBLE
            }
        return strengths, directions

    @torch.no_grad()
    def correlations(self) -> dict[str, list[list[float]]]:
        """Between the effects of players, and of teams (batting, then bowling), by deliveries."""
        bats, bowls = self.table.teams
        both = [(level, bowls[name]) for name, level in bats.items() if name in bowls]
        batting, bowling = (list(levels) for levels in zip(*both, strict=True))
        effects = {block: effect.numpy() for block, effect in self.effects.items()}
        counts = {block: np.bincount(level) for block, level in self.table.levels.items()}
        teams = np.hstack([effects["batting team"][batting], effects["bowling team"][bowling]])
        found = {}
        for of, columns, weights in (
            ("batter", effects["batter"], counts["batter"]),
            ("bowler", effects["bowler"], counts["bowler"]),
            ("team", teams, counts["batting team"][batting]),
        ):
            covariance = np.cov(columns.T, aweights=weights)
            deviation = np.sqrt(np.diag(covariance))
            found[of] = [rounded(row, 2) for row in covariance / np.outer(deviation, deviation)]
        return found

    def constants(self) -> dict[str, object]:
        """What ``rates.json`` holds of the regression."""
        strengths, directions = self.strengths()
        ordinary = sum((self.as_seen(block)[0] for block in BLOCKS), torch.zeros(len(GROUPS)))
        base = (self.base + ordinary @ self.spread_out).detach().numpy()
        second = self.second_base.detach().numpy()
        places = self.places.detach().numpy()
        return {
            "groups": GROUPS,
            "base": [rounded(row - row[0], 3) for row in base],
            "second_innings": rounded(second - second[0], 3),
            "strengths": strengths,
            "directions": directions,
            "unit_means": {c: rounded(row, 4) for c, row in zip(CAUSES, self.means, strict=True)},
            "places": [rounded(row, 3) for row in places],
            "spreads": {block: rounded(self.as_seen(block)[1].numpy(), 3) for block in BLOCKS},
            "correlations": self.correlations(),
        }


def rounded(values: np.ndarray, digits: int) -> list[float]:
    """Plain numbers; a negative zero becomes zero."""
    return [round(float(value), digits) + 0.0 for value in values]


def details(matches: Iterable[Match]) -> dict[str, object]:
    """Shares of what an outcome class leaves open: runs in extras, kinds of dismissal."""
    counts: dict[str, Counter[object]] = defaultdict(Counter)
    for match in matches:
        for innings in match.innings[:2]:
            for ball in innings.deliveries:
                count(ball, counts)
    shares: dict[str, object] = {}
    for name, counter in counts.items():
        found = {key: round(n / counter.total(), 4) for key, n in counter.items()}
        several = {str(key): found[key] for key in sorted(found, key=str) if found[key] >= 5e-4}
        shares[name] = found[True] if name in YES_OR_NO else several
    return shares


def count(ball: Delivery, counts: Mapping[str, Counter[object]]) -> None:
    """Add one delivery to the counts of `details`."""
    extras = ball.extras
    if ball.outcome == "W":
        wicket = next(wicket for wicket in ball.wickets if wicket.counts)
        counts["dismissals"][wicket.kind] += 1
        if wicket.kind == "run out" and not extras:
            counts["run_out_runs"][ball.runs_batter] += 1
            counts["run_out_striker"][wicket.player_out == ball.batter] += 1
            counts["two_fielders"][len(wicket.fielders) > 1] += 1
        elif wicket.kind == "stumped":
            counts["stumped_off_wide"]["wides" in extras] += 1
    elif ball.outcome == "wd":
        counts["wide_runs"][extras["wides"]] += 1
    elif ball.outcome == "nb":
        if set(extras) == {"noballs"}:
            counts["no_ball_bat_runs"][ball.runs_batter] += 1
    elif ball.outcome == "bye":
        legs = "legbyes" in extras
        counts["leg_bye"][legs] += 1
        counts["leg_bye_runs" if legs else "bye_runs"][extras["legbyes" if legs else "byes"]] += 1


def fit(source: str, until: datetime.date, out: Path) -> None:
    """Fit the constants and write them, a line for each row of numbers."""
    matches = full_length_matches(source, until)
    model = Fit(table_of(matches))
    model.run()
    about = (
        f"Constants of the simulator, fitted to {len(matches):,} full-length T20 internationals up "
        f"to {until}, {len(model.outcome):,} deliveries, by: python benchmarks/simulator.py fit "
        "t20s_male_json.zip. Do not edit by hand. The matches are compiled by Cricsheet "
        "(https://cricsheet.org)."
    )
    text = json.dumps({"about": about, **model.constants(), **details(matches)}, indent=1)
    number = r"(-?[0-9.]+|\"[^\"]+\")"
    write_text(out, re.sub(rf"\s*\n\s*(?={number},?\n|\](,?)\n)", " ", text) + "\n")


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
    parser.add_argument("what", choices=("fit", "compare"))
    parser.add_argument("source", help="a zip or folder of T20 internationals")
    parser.add_argument("--until", type=datetime.date.fromisoformat, default=TRAIN_UNTIL)
    parser.add_argument("--matches", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=RATES)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.what == "fit":
        fit(options.source, options.until, options.out)
    else:
        compare(options.source, options.until, options.matches)


if __name__ == "__main__":
    main()
