"""The fitted constants of the simulator, printed as the Python module that holds them."""

from __future__ import annotations

import datetime
import pprint
import sys
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

import numpy as np

from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.simulated_causes import CAUSES

if TYPE_CHECKING:
    from simulator_fit import Fit

NEGLIGIBLE = 0.1
LEAST_STANDARD_ERRORS = 3
WIDTH = 96

HEADER = '''"""Constants of the simulator, fitted to real T20 internationals. Do not edit by hand.

Printed by this command, whose file describes the model::

    python benchmarks/simulator_fit.py t20s_male_json.zip --until {until} \\\\
        --out attnlens/cricket/simulated_rates.py
    ruff format attnlens/cricket/simulated_rates.py

from {matches} full-length matches, {balls} deliveries. The matches are compiled by
Cricsheet (https://cricsheet.org). Log-odds are natural and relative to a dot ball.
"""

from __future__ import annotations

from typing import Final

'''


def printed_module(
    fit: Fit,
    groups: Mapping[str, tuple[str, ...]],
    tied: Container[str],
    details: Mapping[str, Mapping[object, float]],
    matches: int,
    until: datetime.date,
) -> str:
    """The text of ``attnlens/cricket/simulated_rates.py``."""
    base = against_dots(fit.base_as_seen())
    second = against_dots(fit.second_base.detach().numpy()[None])[0]
    strengths, directions = {}, {}
    for cause, row, error in zip(CAUSES, *fit.causes_found(), strict=True):
        told = ", ".join(
            f"{name} {row[k]:+.3f} ({row[k] / error[k]:+.1f} se)"
            for k, name in enumerate(OUTCOMES)
            if row[k]
        )
        print(f"{cause}: {told}", file=sys.stderr)
        if cause in tied:
            weight = np.where(row, error**-2, 0.0)
            mean = float((weight * row).sum() / weight.sum())
            row, error = np.where(row, mean, 0.0), np.full(len(row), weight.sum() ** -0.5)
        strength = float(np.abs(row).max())
        if (np.abs(row) < LEAST_STANDARD_ERRORS * error).all():
            row, strength = np.where(row, 1.0, 0.0), 1.0
            strengths[cause] = 0.0
        else:
            strengths[cause] = round(strength, 3)
        directions[cause] = {
            name: round(float(value / strength), 2)
            for name, value in zip(OUTCOMES, row, strict=True)
            if abs(value / strength) >= NEGLIGIBLE
        }
    means = {
        cause: rounded(row, 3 if cause != "settled" else 4)
        for cause, row in zip(CAUSES, fit.means, strict=True)
    }
    spreads = {block: rounded(fit.as_seen(block)[1].numpy(), 3) for block in fit.spreads}
    correlations = {
        block: tuple(rounded(row, 2) for row in fit.correlations(block))
        for block in ("batter", "bowler")
    }
    correlations["team"] = tuple(rounded(row, 2) for row in fit.team_correlations())
    parts = [
        HEADER.format(until=until, matches=f"{matches:,}", balls=f"{len(fit.outcome):,}"),
        constant("GROUPS", dict(groups), "dict[str, tuple[str, ...]]",
                 "Outcomes that players, teams, grounds and days move together."),
        constant("BASE", tuple(rounded(row, 3) for row in base), "tuple[tuple[float, ...], ...]",
                 "Log-odds of the outcome classes in each over, from the first."),
        constant("SECOND_INNINGS", rounded(second, 3), "tuple[float, ...]",
                 "What the second innings adds to `BASE`, outcome by outcome."),
        constant("STRENGTHS", strengths, "dict[str, float]",
                 "Of each cause, for one unit, on the outcome that it moves most."),
        constant("DIRECTIONS", directions, "dict[str, dict[str, float]]",
                 "What a strength of 1 adds to each outcome for one unit of the cause."),
        constant("UNIT_MEANS", means, "dict[str, tuple[float, ...]]",
                 "Units of each cause that are ordinary, by over: only the rest changes anything."),
        constant("PLACES", tuple(rounded(row, 3) for row in fit.places.detach().numpy()),
                 "tuple[tuple[float, ...], ...]",
                 "What a place in the batting order adds to each of `GROUPS`."),
        constant("SPREADS", spreads, "dict[str, tuple[float, ...]]",
                 "Standard deviations of the true effects on each of `GROUPS`."),
        constant("CORRELATIONS", correlations, "dict[str, tuple[tuple[float, ...], ...]]",
                 "Between the effects of one player, or of one team, batting and then bowling."),
    ]  # fmt: skip
    for name, shares in details.items():
        kept = {key: round(share, 4) for key, share in shares.items() if share >= 0.0005}
        kind = "int" if all(type(key) is int for key in kept) else "str"
        if all(type(key) is bool for key in kept):
            parts.append(f"{name}: Final = {kept.get(True, 0.0)}\n\n")
        else:
            parts.append(constant(name, kept, f"dict[{kind}, float]", ""))
    return "".join(parts).rstrip("\n") + "\n"


def against_dots(table: np.ndarray) -> np.ndarray:
    """Log-odds relative to those of a dot ball, the first column."""
    relative: np.ndarray = table - table[:, :1]
    return relative


def rounded(values: np.ndarray, digits: int) -> tuple[float, ...]:
    """Plain numbers; a negative zero becomes zero."""
    return tuple(round(float(value), digits) + 0.0 for value in values)


def constant(name: str, value: object, kind: str, says: str) -> str:
    """One assignment and its docstring."""
    text = pprint.pformat(value, width=WIDTH, compact=True, sort_dicts=False)
    told = f'"""{says}"""\n' if says else ""
    return f"{name}: Final[{kind}] = {text}\n{told}\n"
