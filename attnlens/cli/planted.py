"""``attnlens planted``: is the planted truth found, and how many alarms are false?"""

from __future__ import annotations

import argparse

from attnlens.cli.options import add_formats, given, whole
from attnlens.cli.output import emit, since_now, utf8_stdout
from attnlens.cli.parser import Commands
from attnlens.errors import InputError


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "planted",
        help="train on matches with known dependencies, and see whether they are found",
        description="Simulate matches played by rules, so that it is known which past balls "
        "each ball depends on and by how much; train a small predictor on them; then ask "
        "whether attention, hiding balls and contributions point at those balls, and how often "
        "a claim that should not be is called supported. docs/evidence.md says what each "
        "figure means.",
    )
    parser.add_argument("--out", metavar="FILE", help="write the figures there, as JSON")
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="keep the checkpoint here after every epoch, and go on from it",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small version that runs every part and finds little",
    )
    for name, words in (
        ("--matches", "simulated matches to train on (default 300)"),
        ("--epochs", "passes over them (default 8)"),
        ("--balls", "balls to ask every method about (default 200)"),
        ("--claims", "balls to pass verdicts on (default 50)"),
    ):
        parser.add_argument(name, type=whole(1, 999_999), metavar="N", help=words)
    parser.add_argument("--seed", type=int, metavar="N", help="of everything random (default 5)")
    add_formats(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import dataclasses
    from pathlib import Path

    from attnlens.cricket.pages.planted_table import render_planted
    from attnlens.cricket.study.figures import to_json
    from attnlens.files import check_writable, render_json

    if options.seed is not None and options.seed < 0:
        raise InputError(f"--seed {options.seed} is negative", remedy="give 0 or more")
    if options.out is not None:
        check_writable(options.out)  # before the work, not after it

    from attnlens.cricket.training.planted import FULL, QUICK, planted

    changed = given(options, "matches", "epochs", "balls", "claims", "seed")
    plan = dataclasses.replace(QUICK if options.quick else FULL, **changed)
    keep = None if options.keep is None else Path(options.keep)
    data = to_json(planted(plan, keep=keep, report=since_now()))
    text = render_json(data)
    if options.out is not None:
        emit(text, options.out)
    utf8_stdout()
    emit(text if options.format == "json" else render_planted(data), None)
    return 0
