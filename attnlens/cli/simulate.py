"""``attnlens simulate``: invented matches."""

from __future__ import annotations

import argparse

from attnlens.cli.options import MOST_SEED, add_removed, whole
from attnlens.cli.output import progress
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

MOST_MATCHES = 100_000


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "simulate",
        help="write T20 matches from a seeded generator",
        description="Write invented T20 matches as Cricsheet CSV2 or JSON. The same seed writes "
        "the same bytes.",
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
    remedy = "`attnlens planted` has the matches whose dependencies are known"
    add_removed(parser, "--strength", remedy)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from attnlens.cricket.lab.files import save_simulated

    if not options.out:
        raise InputError("--out is empty", remedy="name a file")
    try:
        save_simulated(
            options.out,
            range(options.seed, options.seed + options.matches),
            file_format=options.format,
            report=lambda done: progress(f"simulating: {done} of {options.matches} matches"),
        )
    finally:
        progress("")
    return 0
