r"""Fit the simulator's constants to real T20 internationals.

    python benchmarks/simulator_fit.py t20s_male_json.zip --until 2024-05-10 \
        --out attnlens/cricket/simulated_rates.py
    ruff format attnlens/cricket/simulated_rates.py

A multinomial logistic regression over the deliveries of full-length matches up to
``--until``: a table by over, the second innings, the causes of
`attnlens.cricket.simulated_causes`, the place in the batting order, and normal random
effects of batters, bowlers, both teams, venues, matches and innings, whose spreads are
estimated by expectation-maximisation (the posterior variance from the diagonal of the
information). A cause moves the outcomes of `MOVES`, each by its own amount; those of `TIED`
move theirs alike, by the mean weighted with the information. A cause of which no effect is
three standard errors from 0 is printed with strength 0. About four minutes on one core;
progress on stderr.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from simulator_tables import printed_module

from attnlens.cricket.match import Delivery, Match
from attnlens.cricket.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.readers import read_matches
from attnlens.cricket.simulated_causes import BALLS_PER_OVER, CAUSES, CHASING, OVERS, Past
from attnlens.files import write_text

GROUPS = {
    "running": ("1", "2", "3"),
    "four": ("4",),
    "six": ("6",),
    "wicket": ("W",),
    "wild": ("wd", "nb"),
}
MOVES = {
    "settled": ("1", "2", "4", "6", "W"),
    "batter_hit": ("4", "6"),
    "bowler_hit": ("4", "6", "wd"),
    "bowler_wide": ("wd",),
    "dots": ("6", "W"),
    "wicket_fallen": ("1", "2", "4", "6", "W"),
    "free_hit": ("1", "2", "4", "6", "W"),
    "chase": ("1", "2", "4", "6", "W", "wd"),
    "out_of_reach": ("1", "2", "4", "6", "W", "wd"),
    "wickets_down": ("1", "2", "4", "6", "W", "wd"),
}
TIED = ("bowler_hit", "dots")
TRAIN_UNTIL = datetime.date(2024, 5, 10)
PLACES = 11
BLOCKS = ("batter", "bowler", "batting team", "bowling team", "venue", "match", "innings")
ROUNDS = 20
STEPS = 15
FIRST_SPREAD = 0.2
LEAST_SPREAD = 0.01
FIXED_RIDGE = 1.0


def full_length(match: Match) -> bool:
    """Twenty overs a side, of six balls, with no rain rule and a result from the balls."""
    sides = [innings for innings in match.innings if not innings.super_over]
    return (
        match.overs == OVERS
        and match.balls_per_over == BALLS_PER_OVER
        and "method" not in match.outcome
        and match.outcome.get("result") != "no result"
        and len(sides) == 2
        and sides[1].target == sides[0].total + 1
    )


def full_length_matches(source: str, until: datetime.date) -> Iterator[Match]:
    """Full-length matches of a zip or folder, up to a date."""
    for match in read_matches(source, on_error="skip"):
        if match.date is not None and match.date <= until and full_length(match):
            yield match


@dataclass
class Table:
    """One row per delivery.

    Attributes:
        over, second, place, outcome: ``(balls,)`` whole numbers.
        units: ``(balls, causes)``.
        levels: for each of `BLOCKS` the level of each ball.
        names: for each of `BLOCKS` what its levels are.
    """

    over: np.ndarray
    second: np.ndarray
    place: np.ndarray
    outcome: np.ndarray
    units: np.ndarray
    levels: dict[str, np.ndarray]
    names: dict[str, tuple[object, ...]]


def table_of(matches: list[Match]) -> Table:
    """The deliveries of the two innings of every match."""
    rows: list[tuple[int, int, int, int]] = []
    units: list[list[float]] = []
    levels: dict[str, list[int]] = {block: [] for block in BLOCKS}
    known: dict[str, dict[object, int]] = {block: {} for block in BLOCKS}
    for match in matches:
        for innings in match.innings[:2]:
            past = Past(innings.target if innings.number == 2 else None)
            order: dict[str, int] = {}
            for ball in innings.deliveries:
                place = order.setdefault(ball.batter.key, min(len(order), PLACES - 1))
                order.setdefault(ball.non_striker.key, min(len(order), PLACES - 1))
                if ball.over < OVERS:
                    rows.append((ball.over, innings.number - 1, place, OUTCOME_INDEX[ball.outcome]))
                    situation = past.situation(ball.batter, ball.bowler)
                    units.append([situation.units[cause] for cause in CAUSES])
                    keys = (
                        ball.batter.key,
                        ball.bowler.key,
                        innings.batting_team,
                        innings.bowling_team,
                        match.venue,
                        match.match_id,
                        (match.match_id, innings.number),
                    )
                    for block, key in zip(BLOCKS, keys, strict=True):
                        levels[block].append(known[block].setdefault(key, len(known[block])))
                past.add(ball)
    over, second, place, outcome = np.array(rows).T
    return Table(
        over, second, place, outcome, np.array(units),
        {block: np.array(level) for block, level in levels.items()},
        {block: tuple(names) for block, names in known.items()},
    )  # fmt: skip


class Fit:
    """The regression: tables of log-odds, and a spread for every random effect."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.means = np.array(
            [[table.units[table.over == over, c].mean() for over in range(OVERS)]
             for c in range(len(CAUSES))]
        )  # fmt: skip
        chasing = table.second == 1
        known = [CAUSES.index(cause) for cause in CHASING]
        for cause in known:
            self.means[cause] = [
                table.units[chasing & (table.over == over), cause].mean() for over in range(OVERS)
            ]
        centred = table.units - self.means.T[table.over]
        centred[np.ix_(~chasing, known)] = 0
        # Rare outcomes move with the likelier ones of their group, dots are the reference.
        spread = torch.zeros(len(GROUPS), len(OUTCOMES))
        for position, group in enumerate(GROUPS.values()):
            for name in group:
                spread[position, OUTCOME_INDEX[name]] = 1
        self.spread_out = spread
        self.moves = torch.tensor(
            [[float(name in MOVES[cause]) for name in OUTCOMES] for cause in CAUSES]
        )
        self.units = torch.tensor(centred, dtype=torch.float32)
        self.over = torch.tensor(table.over)
        self.second = torch.tensor(table.second)
        self.place = torch.tensor(table.place)
        self.outcome = torch.tensor(table.outcome)
        self.levels = {block: torch.tensor(level) for block, level in table.levels.items()}
        share = np.bincount(table.outcome, minlength=len(OUTCOMES)) / len(table.outcome)
        start = torch.tensor(np.log(share / share[0]), dtype=torch.float32)
        self.base = start.repeat(OVERS, 1).requires_grad_()
        self.second_base = torch.zeros(len(OUTCOMES), requires_grad=True)
        self.causes = torch.zeros(len(CAUSES), len(OUTCOMES), requires_grad=True)
        self.places = torch.zeros(PLACES, len(GROUPS), requires_grad=True)
        self.effects = {
            block: torch.zeros(int(level.max()) + 1, len(GROUPS), requires_grad=True)
            for block, level in self.levels.items()
        }
        self.spreads = {block: torch.full((len(GROUPS),), FIRST_SPREAD) for block in BLOCKS}
        self.variances = {block: torch.zeros(1, len(GROUPS)) for block in BLOCKS}
        self.start = start

    def logits(self) -> torch.Tensor:
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
        loss = torch.nn.functional.cross_entropy(self.logits(), self.outcome, reduction="sum")
        for block in BLOCKS:
            loss = loss + 0.5 * ((self.effects[block] / self.spreads[block]) ** 2).sum()
        # Keeps overs in which an outcome never happened finite, and dots the reference.
        fixed = (self.base - self.start) ** 2
        loss = loss + 0.5 * FIXED_RIDGE * (fixed.sum() + (self.causes**2).sum())
        loss = loss + 0.5 * FIXED_RIDGE * ((self.second_base**2).sum() + (self.places**2).sum())
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
            with torch.no_grad():
                print(f"round {turn + 1}: {float(self.loss()):.5f}", file=sys.stderr)
                for block in BLOCKS:
                    print(f"  {block}: {self.spreads[block].numpy().round(3)}", file=sys.stderr)

    @torch.no_grad()
    def update_spreads(self) -> None:
        shares = torch.softmax(self.logits(), -1) @ self.spread_out.T
        information = shares * (1 - shares)
        for block in BLOCKS:
            effect = self.effects[block]
            known = torch.zeros_like(effect).index_add_(0, self.levels[block], information)
            variance = 1 / (known + self.spreads[block] ** -2)
            self.variances[block] = variance
            self.spreads[block] = ((effect**2 + variance).mean(0)).sqrt().clamp(min=LEAST_SPREAD)

    @torch.no_grad()
    def as_seen(self, block: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and spread of a block's effects over deliveries, not over its levels.

        Those who play most are not average.
        """
        weight = torch.bincount(self.levels[block])[:, None] / len(self.outcome)
        mean = (weight * self.effects[block]).sum(0)
        square = (self.effects[block] - mean) ** 2 + self.variances[block]
        return mean, (weight * square).sum(0).sqrt()

    @torch.no_grad()
    def base_as_seen(self) -> np.ndarray:
        """The table by over, for players, teams and days of the ordinary delivery."""
        ordinary = sum((self.as_seen(block)[0] for block in BLOCKS), torch.zeros(len(GROUPS)))
        base: np.ndarray = (self.base + ordinary @ self.spread_out).numpy()
        return base

    @torch.no_grad()
    def causes_found(self) -> tuple[np.ndarray, np.ndarray]:
        """What a unit of each cause adds to each outcome, and its standard error.

        The standard error is from the diagonal of the information, so a little too small.
        """
        chances = torch.softmax(self.logits(), -1)
        information = (self.units**2).T @ (chances * (1 - chances))
        return (self.causes * self.moves).numpy(), information.clamp(min=1e-9).rsqrt().numpy()

    @torch.no_grad()
    def correlations(self, block: str) -> np.ndarray:
        """Of the effects of a block's levels, each weighted by its deliveries."""
        return weighted_correlations(
            self.effects[block].numpy(), np.bincount(self.table.levels[block])
        )

    @torch.no_grad()
    def team_correlations(self) -> np.ndarray:
        """Of what teams do when they bat (first) and when they bowl."""
        bowling = {name: level for level, name in enumerate(self.table.names["bowling team"])}
        pairs = [
            (level, bowling[name])
            for level, name in enumerate(self.table.names["batting team"])
            if name in bowling
        ]
        bats, bowls = (list(side) for side in zip(*pairs, strict=True))
        effects = np.hstack(
            [
                self.effects["batting team"][bats].numpy(),
                self.effects["bowling team"][bowls].numpy(),
            ]
        )
        return weighted_correlations(effects, np.bincount(self.table.levels["batting team"])[bats])


def weighted_correlations(effects: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Between columns."""
    covariance = np.cov(effects.T, aweights=weights)
    deviation = np.sqrt(np.diag(covariance))
    correlation: np.ndarray = covariance / np.outer(deviation, deviation)
    return correlation


def details(matches: list[Match]) -> dict[str, dict[object, float]]:
    """Shares of what an outcome class leaves open: runs in extras, kinds of dismissal."""
    counts: dict[str, Counter[object]] = {
        name: Counter()
        for name in (
            "WIDE_RUNS", "NO_BALL_BAT_RUNS", "BYE_RUNS", "LEG_BYE_RUNS", "DISMISSALS",
            "RUN_OUT_RUNS", "LEG_BYE", "STUMPED_OFF_WIDE", "RUN_OUT_STRIKER",
            "TWO_FIELDERS",
        )
    }  # fmt: skip
    for match in matches:
        for innings in match.innings[:2]:
            for ball in innings.deliveries:
                count(ball, counts)
    return {
        name: {
            key: value / sum(counter.values()) for key, value in sorted(counter.items(), key=str)
        }
        for name, counter in counts.items()
    }


def count(ball: Delivery, counts: Mapping[str, Counter[object]]) -> None:
    """Add one delivery to the counts of `details`."""
    extras = ball.extras
    if ball.outcome == "W":
        wicket = next(wicket for wicket in ball.wickets if wicket.counts)
        counts["DISMISSALS"][wicket.kind] += 1
        if wicket.kind == "run out" and not extras:
            counts["RUN_OUT_RUNS"][ball.runs_batter] += 1
            counts["RUN_OUT_STRIKER"][wicket.player_out == ball.batter] += 1
            counts["TWO_FIELDERS"][len(wicket.fielders) > 1] += 1
        elif wicket.kind == "stumped":
            counts["STUMPED_OFF_WIDE"]["wides" in extras] += 1
    elif ball.outcome == "wd":
        counts["WIDE_RUNS"][extras["wides"]] += 1
    elif ball.outcome == "nb":
        if set(extras) == {"noballs"}:
            counts["NO_BALL_BAT_RUNS"][ball.runs_batter] += 1
    elif ball.outcome == "bye":
        legs = "legbyes" in extras
        counts["LEG_BYE"][legs] += 1
        counts["LEG_BYE_RUNS" if legs else "BYE_RUNS"][extras["legbyes" if legs else "byes"]] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", help="a zip or folder of T20 internationals")
    parser.add_argument("--until", type=datetime.date.fromisoformat, default=TRAIN_UNTIL)
    parser.add_argument("--out", required=True, help="the module to write")
    options = parser.parse_args()
    torch.set_num_threads(1)
    matches = list(full_length_matches(options.source, options.until))
    print(f"{len(matches)} matches", file=sys.stderr)
    fit = Fit(table_of(matches))
    fit.run()
    text = printed_module(fit, GROUPS, TIED, details(matches), len(matches), options.until)
    write_text(options.out, text)


if __name__ == "__main__":
    main()
