"""``attnlens simulate``: matches that never were, and the truth about them."""

from __future__ import annotations

import argparse

from attnlens.cli.options import MOST_SEED, number, whole
from attnlens.cli.output import progress
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

LARGEST = 10
"""The largest strength taken: exp(10) is beyond any effect."""

MOST_MATCHES = 100_000


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
        help="one match: a .csv or .json file; several: a .zip",
    )
    parser.add_argument(
        "--seed", type=whole(0, MOST_SEED), default=0, metavar="N", help="default 0"
    )
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
        help="of a zip (default csv2); a file's name tells",
    )
    parser.add_argument(
        "--strength",
        type=number(0, LARGEST),
        default=1.0,
        metavar="X",
        help="how many times as strong the causes that are past balls are as in real matches "
        "(default 1; 0 switches them off)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from attnlens.cricket.lab.files import save_simulated

    if not options.out:
        raise InputError("--out is empty", remedy="name a file")
    try:
        save_simulated(
            options.out,
            range(options.seed, options.seed + options.matches),
            strength=options.strength,
            file_format=options.format,
            told=lambda done: progress(f"simulating: {done} of {options.matches} matches"),
        )
    finally:
        progress("")
    return 0
