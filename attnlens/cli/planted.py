"""``attnlens planted``: is the planted truth found, and how many alarms are false?"""

from __future__ import annotations

import argparse

from attnlens.cli.options import MOST, add_formats, add_out, given, whole
from attnlens.cli.output import check_files, emit, emit_json, since_now, utf8_stdout
from attnlens.cli.parser import Commands


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "planted",
        help="train on matches with known dependencies, and see whether they are found",
        description="Simulate matches played by rules, so that it is known which past balls "
        "each ball depends on and by how much; train a small predictor on them; then ask "
        "whether attention and hiding balls point at those balls, and how often a claim that "
        "should not be is called supported. docs/evidence.md says what each figure means.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small version that runs every part and finds little",
    )
    for name, least, words in (
        ("--matches", 1, "simulated matches to train on (default 300)"),
        ("--epochs", 1, "passes over them (default 8)"),
        ("--balls", 1, "balls to ask every method about (default 200)"),
        ("--claims", 1, "balls to pass verdicts on (default 50)"),
        ("--seed", 0, "of everything random (default 5)"),
    ):
        parser.add_argument(name, type=whole(least, MOST), metavar="N", help=words)
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import dataclasses

    from attnlens.cricket.lab.faithfulness_table import render_planted
    from attnlens.cricket.lab.figures import to_json
    from attnlens.cricket.lab.planted_training import FULL, QUICK, planted

    check_files(options)  # before the work, not after it
    changed = given(options, "matches", "epochs", "balls", "claims", "seed")
    plan = dataclasses.replace(QUICK if options.quick else FULL, **changed)
    data = to_json(planted(plan, report=since_now()))
    if options.format == "json":
        emit_json(data, options.out)
    else:
        utf8_stdout()
        emit(render_planted(data), options.out)
    return 0
