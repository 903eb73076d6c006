"""``attnlens evaluate``: how well a predictor's probabilities fit, beside baselines."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from attnlens.cli.documents import check_files, give, judged
from attnlens.cli.options import add_days, add_formats, add_out
from attnlens.cli.output import progress, say
from attnlens.cli.parser import Commands

if TYPE_CHECKING:
    from attnlens.cricket.study.evaluate import Evaluation
    from attnlens.cricket.study.held_out import HeldOut

KNOWN = ("prior", "state_table", "logistic", "boosted_trees")


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="log-loss, Brier, calibration and accuracy, beside the baselines",
        description="Judge a predictor on the matches of SRC that were played after its "
        "training, with ratings as of each match's date, beside baselines fitted on the dates "
        "it was trained on. Intervals are 95%, from resampling whole matches.",
    )
    parser.add_argument("sources", metavar="SRC", nargs="+", help="match files, folders or zips")
    parser.add_argument(
        "--model",
        metavar="PATH",
        help="a checkpoint, or `bundled` (default) or `measured`",
    )
    parser.add_argument(
        "--history",
        metavar="SRC",
        nargs="+",
        help="more matches for the ratings and for the baselines to be fitted on",
    )
    add_days(parser)
    parser.add_argument(
        "--baselines",
        type=_baselines,
        default=KNOWN,
        metavar="NAMES",
        help=f"of {','.join(KNOWN)} (default all), or none; the trees take minutes",
    )
    parser.add_argument(
        "--allow-in-sample",
        action="store_true",
        help="judge on matches inside the training dates too: flattering figures",
    )
    add_formats(parser)
    add_out(parser)
    parser.add_argument(
        "--calibration-out",
        metavar="FILE",
        help="write how often calls came true, per outcome and level; as NAME.calibration.json "
        "beside NAME.safetensors, explanations quote it",
    )
    parser.set_defaults(run=run)


def _baselines(text: str) -> tuple[str, ...]:
    if text.strip() == "none":
        return ()
    wanted = [name.strip() for name in text.split(",")]
    for name in wanted:
        if name not in KNOWN:
            raise argparse.ArgumentTypeError(
                f"{name!r} is no baseline; use {', '.join(KNOWN)}, or none"
            )
    return tuple(name for name in KNOWN if name in wanted)


def run(options: argparse.Namespace) -> int:
    check_files(options, "calibration_out")
    import json

    from attnlens.cricket.pages.evaluation import render_evaluation
    from attnlens.cricket.session import Session
    from attnlens.cricket.study.evaluate import calibration_table, evaluation, judge
    from attnlens.cricket.training.baselines import compare
    from attnlens.files import write_text

    def work(held: HeldOut) -> Evaluation:
        balls = judge(held, progress)
        compared = compare(held, balls, options.baselines, report=progress)
        if options.calibration_out is not None:
            table = calibration_table(held, balls)
            write_text(options.calibration_out, json.dumps(table, allow_nan=False) + "\n")
        left_out, fitted_on = compared.left_out, compared.fitted_on
        return evaluation(held, balls, compared.chances, left_out=left_out, fitted_on=fitted_on)

    document = judged(options, Session(options.model).predictor, work)
    for line in document.remarks():
        say(line)
    return give(document, options, render_evaluation, digits=6)
