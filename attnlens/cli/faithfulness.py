"""``attnlens faithfulness``: does attention say which past balls mattered?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from attnlens.cli.documents import check_files, check_sample, give, judged
from attnlens.cli.options import add_formats, add_out, add_sample
from attnlens.cli.output import progress
from attnlens.cli.parser import Commands

if TYPE_CHECKING:
    from attnlens.cricket.study.faithfulness import Faithfulness, Measured
    from attnlens.cricket.study.held_out import HeldOut


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
        "--wide",
        type=int,
        default=5000,
        metavar="N",
        help="balls for the log-loss with, without and with scrambled past (default 5000)",
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
    from attnlens.cricket.study.faithfulness import measure
    from attnlens.files import written_beside

    def work(held: HeldOut) -> Faithfulness:
        found = measure(
            held.predictor.model,
            list(held.innings(progress)),
            balls=options.balls,
            seed=options.seed,
            wide=options.wide,
            report=progress,
        )
        if options.per_ball is not None:
            with written_beside(options.per_ball) as part:
                _write_rows(found, part)
        return found.document(held)

    document = judged(options, Session(options.model).predictor, work)
    return give(document, options, render_faithfulness)


def _write_rows(measured: Measured, path: Path) -> None:
    """One row per sampled ball and past ball."""
    import csv

    from attnlens.show.safe import cell

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("match_id", "innings", "index", "past_ball", "attention", "effect"))
        for ball in measured.balls:
            name = cell(ball.match_id)
            scores = zip(ball.attention.tolist(), ball.effects.tolist(), strict=True)
            for past, (score, effect) in enumerate(scores, ball.index - len(ball.effects)):
                writer.writerow((name, ball.innings, ball.index, past, score, effect))
