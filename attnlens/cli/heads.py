"""``attnlens heads``: what every head does on many balls, and the name it has earned."""

from __future__ import annotations

import argparse

from attnlens.cli.documents import check_files, check_sample, give, judged
from attnlens.cli.options import add_formats, add_out, add_sample
from attnlens.cli.output import progress
from attnlens.cli.parser import Commands


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "heads",
        help="what every head does on many balls, and the name it has earned",
        description="For every scale and head: its learnt biases, what it looks at beside what "
        "even attention would, with 95% intervals, what the prediction loses without it, and "
        "the name it has earned by both. Measured on the matches of SRC after the model's "
        "training; earlier ones bring its ratings up to date.",
    )
    add_sample(parser)
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    check_sample(options)
    check_files(options)
    from attnlens.cricket.pages.heads_table import render_heads
    from attnlens.cricket.session import Session
    from attnlens.cricket.study.head_report import head_report

    asked = {"balls": options.balls, "seed": options.seed, "report": progress}
    document = judged(
        options, Session(options.model).predictor, lambda held: head_report(held, **asked)
    )
    return give(document, options, render_heads)
