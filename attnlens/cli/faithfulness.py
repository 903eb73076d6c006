"""``attnlens faithfulness``: does attention say which past balls mattered?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import add_formats, add_out, add_sample
from attnlens.cli.output import check_outputs, emit, emit_json, page, progress, report_skipped
from attnlens.cli.sources import held_out_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.faithfulness import Measured
    from attnlens.cricket.trained import TrainedPredictor
    from attnlens.errors import MatchFileError

WIDE = 5000

REMOVED = (
    "a hidden ball is hidden from every scale and slot by the attention mask; the scoreboard and "
    "everything else known before the ball stay"
)


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
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
    parser.add_argument("--plot", metavar="FILE", help="a picture too: .svg, .png or .pdf")
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from attnlens.cli.pictures import check_picture
    from attnlens.files import written_beside

    if options.balls < 1:
        raise InputError(f"--balls {options.balls} is no sample", remedy="give a number from 1")
    for name, value in (("--seed", options.seed), ("--wide", options.wide or 0)):
        if value < 0:
            raise InputError(f"{name} {value} is negative", remedy="give 0 or more")
    check_outputs(
        {"--out": options.out, "--per-ball": options.per_ball, "--plot": options.plot},
        sources=(*options.sources, options.history),
        inputs=(options.model,),
    )
    picture = None if options.plot is None else check_picture(options.plot)

    from attnlens.cricket.trained import load_predictor

    methods = _methods(options)
    predictor = load_predictor(options.model)
    skipped: list[MatchFileError] = []
    data, measured = _measured(options, methods, predictor, skipped)
    progress("")
    report_skipped(f"skipped {len(skipped)} files", skipped)
    if options.per_ball is not None:
        with written_beside(options.per_ball) as part:
            _write_rows(measured, part)
    if options.plot is not None and picture is not None:
        from attnlens.render.faithfulness_plot import save_faithfulness

        with written_beside(options.plot) as part:
            save_faithfulness(data, part, picture)
    if options.format == "json":
        emit_json(data, options.out)
        return 0
    from attnlens.render.faithfulness_table import render_faithfulness

    emit(render_faithfulness(data, **page(options.out)), options.out)
    return 0


def _methods(options: argparse.Namespace) -> tuple[str, ...]:
    """The methods asked for, in the order of a table."""
    from attnlens.cricket.attribution import METHODS
    from attnlens.cricket.faithfulness import QUICK, known_methods

    if options.methods is None:
        return QUICK if options.quick else METHODS
    try:
        found = known_methods([name.strip() for name in options.methods.split(",")])
    except ValueError as error:
        raise InputError(f"--methods: {error}") from None
    if not found:
        raise InputError("--methods names no score", remedy=f"use some of {', '.join(METHODS)}")
    return found


def _measured(
    options: argparse.Namespace,
    methods: tuple[str, ...],
    predictor: TrainedPredictor,
    skipped: list[MatchFileError],
) -> tuple[dict[str, Any], Measured]:
    """The document, and what it was made from."""
    from attnlens.cricket.faithfulness import measure

    held = held_out_of(options, predictor, skipped)
    wide = options.wide if options.wide is not None else 0 if options.quick else WIDE
    try:
        measured = measure(
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
    model = {
        "name": predictor.name,
        "sha256": predictor.sha256,
        "trained_until": predictor.card.get("trained_until"),
    }
    data = {
        "model": model,
        "dates": list(held.dates),
        "notes": list(held.notes),
        "removed": REMOVED,
        **measured.to_dict(),
    }
    return data, measured


def _write_rows(measured: Measured, path: Path) -> None:
    """One row per sampled ball and past ball."""
    import csv

    from attnlens.csv_cells import cell

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
