"""``attnlens simulate``: matches that never were, and the truth about them."""

from __future__ import annotations

import argparse
import math
from typing import Any

from attnlens.cli.options import whole
from attnlens.cli.output import progress
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

LARGEST = 10.0
"""The largest strength taken: exp(10) is beyond any effect."""

MOST_MATCHES = 100_000


class Plant(argparse.Action):
    """Collects ``CAUSE=X``; of a cause named twice the last counts."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  # argparse hands it over
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002  # as above
    ) -> None:
        setattr(namespace, self.dest, {**(getattr(namespace, self.dest) or {}), **values})


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "simulate",
        help="write T20 matches from a seeded generator",
        description="Write invented T20 matches as Cricsheet CSV2 or JSON and, in "
        "_planted.csv beside them, the probabilities each ball was drawn from and the past "
        "balls they truly depended on. The same seed writes the same bytes.",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="one match: a .csv or .json file; several: a .zip, or a folder to make",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument(
        "--matches",
        type=whole(1, MOST_MATCHES),
        default=1,
        metavar="N",
        help="how many, with the seeds that follow (default 1)",
    )
    parser.add_argument(
        "--format",
        choices=("csv2", "json"),
        help="of a folder or zip (default csv2); a file's name tells",
    )
    parser.add_argument(
        "--strength",
        type=_strength,
        metavar="X",
        help="how many times as strong the causes that are past balls are as in real matches "
        "(default 1; 0 switches them off)",
    )
    parser.add_argument(
        "--rules",
        type=_strength,
        nargs="?",
        const=1.0,
        metavar="X",
        help="plant the three rules, X times as strong (default 1), in a league of equals: "
        "nothing else of the past counts, and _rules.jsonl beside has the past balls that each "
        "ball truly depended on, with their true effects",
    )
    parser.add_argument(
        "--plant",
        type=_plants,
        action=Plant,
        default={},
        metavar="CAUSE=X",
        help="the strength of one cause in log-odds, whatever --strength says (0 switches it "
        "off); may be repeated. Causes: settled, batter_hit, bowler_hit, bowler_wide, dots, "
        "wicket_fallen, free_hit; of the scoreboard: chase, out_of_reach, wickets_down",
    )
    parser.set_defaults(run=run)


def _strength(text: str) -> float:
    value = _number(text)
    if value is None or not 0 <= value <= LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {LARGEST:g}")
    return value


def _plants(text: str) -> dict[str, float]:
    from attnlens.cricket.simulator.causes import CAUSES

    plants = {}
    for part in text.split(","):
        cause, equals, rest = part.strip().partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"{part!r} is not CAUSE=X, such as bowler_hit=0.6")
        if cause not in CAUSES:
            raise argparse.ArgumentTypeError(f"{cause!r} is no cause; use {', '.join(CAUSES)}")
        value = _number(rest)
        if value is None or abs(value) > LARGEST:
            raise argparse.ArgumentTypeError(
                f"{cause} is {rest!r}, not a number from {-LARGEST:g} to {LARGEST:g}"
            )
        plants[cause] = value
    return plants


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def run(options: argparse.Namespace) -> int:
    import dataclasses

    from attnlens.cricket.simulator.files import save_simulated
    from attnlens.cricket.simulator.rules import rules_times
    from attnlens.cricket.simulator.simulate import Coefficients

    if options.seed < 0:
        raise InputError(f"seed {options.seed} is negative", remedy="give 0 or more")
    if not options.out:
        raise InputError("--out is empty", remedy="name a file or a folder")
    ruled = bool(options.rules)
    strength = options.strength if options.strength is not None else 0.0 if ruled else 1.0
    coefficients = dataclasses.replace(Coefficients().times(strength), **(options.plant or {}))
    several = options.matches > 1

    def told(done: int) -> None:
        if several and done % 20 == 0:
            progress(f"simulating: {done} of {options.matches} matches")

    try:
        save_simulated(
            options.out,
            range(options.seed, options.seed + options.matches),
            coefficients=coefficients,
            rules=rules_times(options.rules) if ruled else (),
            file_format=options.format,
            told=told,
        )
    finally:
        if several:
            progress("")
    return 0
