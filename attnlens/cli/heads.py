"""``attnlens heads``: what every head does on many balls, and the name it has earned."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from attnlens.cli.documents import check_files, check_sample, give, judged
from attnlens.cli.options import add_formats, add_out, add_sample
from attnlens.cli.output import progress
from attnlens.cli.parser import Commands
from attnlens.cli.sources import held_out_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.model.trained import TrainedPredictor
    from attnlens.cricket.study.head_report import HeadReport
    from attnlens.cricket.study.head_stability import HeadsDocument
    from attnlens.cricket.study.held_out import EncodedInnings, HeldOut

CONTRIBUTION_BALLS = 200


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
    parser.add_argument(
        "--beside",
        metavar="CHECKPOINT",
        nargs="+",
        default=[],
        help="other checkpoints, such as those of other seeds: are the roles of the heads, and "
        "the contributions, the same there?",
    )
    parser.add_argument("--plot", metavar="FILE", help="a picture too: .svg, .png or .pdf")
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    check_sample(options)
    if isinstance(options.beside, str):  # from the environment or attnlens.toml
        options.beside = options.beside.split()
    check_files(options, inputs=tuple(options.beside))
    from attnlens.cricket.model.window import one_thread
    from attnlens.cricket.pages.heads_table import render_heads
    from attnlens.cricket.pages.plots import save_heads
    from attnlens.cricket.session import Session

    predictors = [Session(name).predictor for name in (options.model, *options.beside)]
    with one_thread():
        document = judged(
            options, predictors[0], lambda held: _document(options, held, predictors[1:])
        )
    return give(document, options, render_heads, save_heads)


def _document(
    options: argparse.Namespace, held: HeldOut, others: list[TrainedPredictor]
) -> HeadsDocument:
    """The heads of the first checkpoint, beside those of others."""
    from attnlens.cricket.study.head_report import head_report
    from attnlens.cricket.study.head_stability import HeadsDocument, beside, same_innings
    from attnlens.cricket.study.heads import HeadStudy

    def report_on(one: HeldOut, innings: list[EncodedInnings]) -> HeadReport:
        study = HeadStudy(one.predictor.model, innings, balls=options.balls, seed=options.seed)
        if not len(study.sample):
            raise InputError(
                "holds no innings with a ball that has 36 before it",
                path=options.sources[0],
                remedy="give longer innings",
            )
        return head_report(study, report=progress)

    innings = [list(held.innings(progress))]
    reports = [report_on(held, innings[0])]
    for number, other in enumerate(others):
        # The same files give the same faults: they are reported once.
        again = held_out_of(options, other, [])
        innings.append(list(again.innings(progress)))
        same_innings(innings[0], innings[-1], options.beside[number])
        reports.append(report_on(again, innings[-1]))
    found = None
    if others:
        balls = min(options.balls, CONTRIBUTION_BALLS)
        predictors = [held.predictor, *others]
        found = beside(
            predictors, innings, reports, balls=balls, seed=options.seed, report=progress
        )
    return HeadsDocument(held.checkpoint, held.dates, held.notes, options.seed, reports[0], found)
