"""``evaluate``, ``faithfulness`` and ``heads``: a model judged on matches after its training."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from attnlens.cli.options import (
    MOST,
    add_days,
    add_formats,
    add_history,
    add_model,
    add_out,
    add_removed,
    add_sources,
    whole,
)
from attnlens.cli.output import check_files, progress, report_skipped, say, show
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.lab.evaluate import Evaluation
    from attnlens.cricket.lab.faithfulness import Faithfulness
    from attnlens.cricket.lab.figures import Document
    from attnlens.cricket.lab.held_out import HeldOut
    from attnlens.cricket.lab.win_scores import WinEvaluation
    from attnlens.render.canvas import Renderer

KNOWN = ("prior", "logistic", "boosted_trees")

D = TypeVar("D", bound="Document")


def add_to(commands: Commands) -> None:
    _add_evaluate(commands)
    _add_faithfulness(commands)
    _add_heads(commands)


def _add_evaluate(commands: Commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="log-loss, Brier, calibration and accuracy, beside the baselines",
        description="Judge a predictor on the matches of SRC that were played after its "
        "training, with ratings as of each match's date, beside baselines fitted on the dates "
        "it was trained on. Intervals are 95%, from resampling whole matches.",
    )
    _add_matches(parser)
    add_history(parser, "more matches for the ratings and for the baselines to be fitted on")
    parser.add_argument(
        "--baselines",
        type=_baselines,
        default=KNOWN,
        metavar="NAMES",
        help=f"of {','.join(KNOWN)} (default all), or none; the trees take minutes",
    )
    parser.add_argument(
        "--win",
        action="store_true",
        help="judge instead who is winning before every ball, beside a logistic model of the state",
    )
    parser.add_argument(
        "--calibration-out",
        metavar="FILE",
        help="write how often calls came true, per outcome and level; as NAME.calibration.json "
        "beside NAME.safetensors, explanations quote it",
    )
    parser.set_defaults(run=evaluate)


def _add_faithfulness(commands: Commands) -> None:
    parser = commands.add_parser(
        "faithfulness",
        help="does attention say which past balls mattered?",
        description="Over a sample of balls with at least 36 before them: what hiding past balls "
        "does to the prediction, and how well attention and other scores tell it, beside "
        "recency, uniform and random scores. Measured on the matches of SRC after the model's "
        "training; earlier ones bring its ratings up to date.",
    )
    _add_matches(parser, sample=True)
    parser.add_argument(
        "--wide",
        type=whole(0, MOST),
        default=5000,
        metavar="N",
        help="balls of any place in an innings for the log-loss with, without and with scrambled "
        "past (default 5000)",
    )
    remedy = "`measure` of attnlens.cricket.lab.faithfulness returns the balls"
    add_removed(parser, "--per-ball", remedy)
    parser.set_defaults(run=faithfulness)


def _add_heads(commands: Commands) -> None:
    parser = commands.add_parser(
        "heads",
        help="what every head does on many balls, and the name it has earned",
        description="For every scale and head: its learnt biases, what it looks at beside what "
        "even attention would, with 95% intervals, what the prediction loses without it, and "
        "the name it has earned by both. Measured on the matches of SRC after the model's "
        "training; earlier ones bring its ratings up to date.",
    )
    _add_matches(parser, sample=True)
    parser.set_defaults(run=heads)


def _add_matches(parser: argparse.ArgumentParser, *, sample: bool = False) -> None:
    """Matches, the model, where the answer goes, and of a ``sample`` how many balls it has."""
    add_sources(parser)
    add_model(parser)
    if sample:
        add_history(parser)
        for name, least, default, words in (
            ("--balls", 1, 500, "default 500"),
            ("--seed", 0, 5, "of the sample; default 5"),
        ):
            kind = whole(least, MOST)
            parser.add_argument(name, type=kind, default=default, metavar="N", help=words)
    add_days(parser)
    parser.add_argument(
        "--allow-in-sample",
        action="store_true",
        help="take matches inside the model's training dates too: flattering figures",
    )
    add_formats(parser)
    add_out(parser)


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


def evaluate(options: argparse.Namespace) -> int:
    """How well a predictor's probabilities fit, beside baselines."""
    check_files(options, "calibration_out")
    if options.win:
        if options.calibration_out is not None:
            raise InputError("--calibration-out is of outcomes", remedy="leave out --win")
        return _evaluate_win(options)
    import json

    from attnlens.cricket.lab.baselines import compare
    from attnlens.cricket.lab.evaluate import calibration_table, evaluation, judge
    from attnlens.cricket.lab.evaluation_page import render_evaluation
    from attnlens.files import write_text

    def work(held: HeldOut) -> Evaluation:
        balls = judge(held, progress)
        compared = compare(held, balls, options.baselines, report=progress)
        if options.calibration_out is not None:
            table = calibration_table(held, balls)
            write_text(options.calibration_out, json.dumps(table, allow_nan=False) + "\n")
        return evaluation(held, balls, compared)

    document = _judged(options, work)
    for line in document.remarks():
        say(line)
    return _give(document, options, render_evaluation, digits=6)


def _evaluate_win(options: argparse.Namespace) -> int:
    """How well the model tells who is winning."""
    from attnlens.cricket.lab.baselines import logistic_value
    from attnlens.cricket.lab.win_page import render_winning
    from attnlens.cricket.lab.win_scores import judge_states, win_evaluation

    def work(held: HeldOut) -> WinEvaluation:
        states = judge_states(held, progress)
        asked = "logistic" in options.baselines
        chances, why = logistic_value(held, progress) if asked else (None, None)
        return win_evaluation(held, states, chances, why)

    return _give(_judged(options, work), options, render_winning, digits=9)


def faithfulness(options: argparse.Namespace) -> int:
    """Does attention say which past balls mattered?"""
    check_files(options)
    from attnlens.cricket.lab.faithfulness import measure
    from attnlens.cricket.lab.faithfulness_table import render_faithfulness

    def work(held: HeldOut) -> Faithfulness:
        found = measure(
            held.predictor.model,
            list(held.innings(progress)),
            balls=options.balls,
            seed=options.seed,
            wide=options.wide,
            report=progress,
        )
        return found.document(held)

    return _give(_judged(options, work), options, render_faithfulness)


def heads(options: argparse.Namespace) -> int:
    """What every head does on many balls, and the name it has earned."""
    check_files(options)
    from attnlens.cricket.lab.head_report import head_report
    from attnlens.cricket.lab.heads_table import render_heads

    work = partial(head_report, balls=options.balls, seed=options.seed, report=progress)
    return _give(_judged(options, work), options, render_heads)


def _judged(options: argparse.Namespace, work: Callable[[HeldOut], D]) -> D:
    """What ``work`` makes of the matches that the model may be judged on."""
    from attnlens.cricket.lab.held_out import held_out
    from attnlens.cricket.session import Session

    skipped: list[MatchFileError] = []
    try:
        held = held_out(
            Session(options.model).predictor,
            options.sources,
            history=options.history or [],
            first=options.first,
            last=options.last,
            allow_in_sample=options.allow_in_sample,
            skipped=skipped,
            report=progress,
        )
        document = work(held)
    finally:
        progress("")
    report_skipped(skipped)
    return document


def _give(
    document: D, options: argparse.Namespace, render: Renderer, *, digits: int | None = None
) -> int:
    """Write a document as JSON, its figures with so many ``digits``, or as a page."""
    from attnlens.cricket.lab.figures import to_json
    from attnlens.render.numbers import rounded_all

    def data() -> object:
        told = to_json(document)
        return told if digits is None else rounded_all(told, digits)

    return show(options, data, partial(render, document))
