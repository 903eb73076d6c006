"""``attnlens simulate``: a match that never was, as a Cricsheet CSV2 file."""

from __future__ import annotations

import argparse
from typing import Any

from attnlens.errors import InputError


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "simulate",
        help="write a T20 match from a seeded generator",
        description="Write an invented T20 match as Cricsheet CSV2, with its _info.csv and, in "
        "_planted.csv, which past balls each ball truly depended on. "
        "The same seed writes the same bytes.",
    )
    parser.add_argument("--out", metavar="FILE", required=True, help="the .csv file to write")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from attnlens.cricket.simulate import simulate_match, write_csv2, write_planted
    from attnlens.files import check_writable

    if not options.out.lower().endswith(".csv"):
        raise InputError("is not the name of a CSV file", path=options.out, remedy="end it in .csv")
    if options.seed < 0:
        raise InputError(f"seed {options.seed} is negative", remedy="give 0 or more")
    check_writable(options.out)
    match = simulate_match(options.seed)
    write_csv2(match, options.out)
    write_planted(match, options.out)
    return 0
