"""``attnlens faithfulness``: does attention say which past balls mattered?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from attnlens.cli.documents import check_files, check_sample, give, judged
from attnlens.cli.options import add_formats, add_out, add_sample
from attnlens.cli.output import progress
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.study.faithfulness import Measured
    from attnlens.cricket.study.held_out import HeldOut

WIDE = 5000


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "faithfulness",
        help="does attention say which past balls mattered?",
        description="Over a sample of balls with at least 36 before them: what hiding past balls "
        "does to the prediction, and how well attention and other scores tell it, beside "
        "recency, uniform and random scores. Measured on the matches of SRC after the model's "
        "training; earlier ones bring its ratings up to date.",
    )
    add_sample(parser)
    parser.add_argument(
        "--methods",
        metavar="NAMES",
        help="which scores, such as attention,recency (default: all)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="only single-ball effects, scrambling and rank agreement, of attention and recency "
        "unless --methods says otherwise",
    )
    parser.add_argument(
        "--wide",
        type=int,
        metavar="N",
        help=f"balls for the log-loss with, without and with scrambled past (default {WIDE}; "
        "with --quick none)",
    )
    parser.add_argument("--per-ball", metavar="FILE", help="a row per past ball, as .csv")
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    check_sample(options, "wide")
    check_files(options, "per_ball")
    from attnlens.cricket.pages.faithfulness_table import render_faithfulness
    from attnlens.cricket.session import Session
    from attnlens.cricket.study.faithfulness import Faithfulness, measure
    from attnlens.files import written_beside

    methods = _methods(options)
    predictor = Session(options.model).predictor
    wide = options.wide if options.wide is not None else 0 if options.quick else WIDE

    def measured(held: HeldOut) -> Faithfulness:
        try:
            found = measure(
                predictor,
                list(held.innings(progress)),
                balls=options.balls,
                seed=options.seed,
                methods=methods,
                removal=not options.quick,
                wide=wide,
                report=progress,
            )
        except ValueError as error:
            raise InputError(
                str(error), path=options.sources[0], remedy="give longer innings"
            ) from None
        if options.per_ball is not None:
            with written_beside(options.per_ball) as part:
                _write_rows(found, part)
        return found.document(held)

    document = judged(options, predictor, measured)
    return give(document, options, render_faithfulness)


def _methods(options: argparse.Namespace) -> tuple[str, ...]:
    """The methods asked for, in the order of a table."""
    from attnlens.cricket.study.attribution import METHODS
    from attnlens.cricket.study.faithfulness import QUICK, known_methods

    if options.methods is None:
        return QUICK if options.quick else METHODS
    try:
        methods = known_methods([name.strip() for name in options.methods.split(",")])
    except ValueError as error:
        raise InputError(f"--methods: {error}") from None
    if not methods:
        raise InputError("--methods names no score", remedy=f"use some of {', '.join(METHODS)}")
    return methods


def _write_rows(measured: Measured, path: Path) -> None:
    """One row per sampled ball and past ball."""
    import csv

    from attnlens.show.safe import cell

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("match_id", "innings", "index", "past_ball", "attention", "effect"))
        for ball in measured.balls:
            first = ball.index - len(ball.effects)
            for place, (score, effect) in enumerate(
                zip(ball.attention.tolist(), ball.effects.tolist(), strict=True)
            ):
                writer.writerow(
                    (cell(ball.match_id), ball.innings, ball.index, first + place, score, effect)
                )
