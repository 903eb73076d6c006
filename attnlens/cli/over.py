"""``attnlens over``: the next over, token by token, and what it was made from."""

from __future__ import annotations

import argparse
from typing import Any

from attnlens.cli.options import add_formats, add_history, add_match, add_out
from attnlens.cli.output import check_outputs, emit, emit_json, page
from attnlens.cli.sources import timeline
from attnlens.errors import BallNotFoundError, InputError


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "over",
        help="the next over, token by token, with what it looked at",
        description="What the encoder-decoder expects of an over from the balls before it, which "
        "past balls each token looked at, and whether hiding those does more than hiding others.",
    )
    add_match(parser)
    parser.add_argument(
        "--over",
        metavar="OVER",
        help="12 (as the file labels it, from 0: the 13th), last, next (not yet bowled), or 2:12",
    )
    parser.add_argument("--innings", type=int, metavar="N", help="innings, from 1 (default 1)")
    # As a setting it is overs_model: what `model` names there is a predictor of balls.
    parser.add_argument(
        "--model",
        "--overs-model",
        dest="model",
        metavar="PATH",
        help="an encoder-decoder, or `cricket` (default)",
    )
    add_history(parser)
    parser.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="draw the over instead of taking the likeliest token each time; 1: as it is",
    )
    parser.add_argument(
        "--top-k", type=int, metavar="K", help="draw among the K likeliest tokens only"
    )
    parser.add_argument(
        "--samples", type=int, metavar="N", help="draw N overs too: their runs and wickets"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of whatever is drawn (default 0)"
    )
    parser.add_argument(
        "--no-evidence", action="store_true", help="skip the interventions: faster, nothing tested"
    )
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.over is None:
        raise InputError("say which over", remedy="give --over 12, --over last or --over next")
    if options.samples is not None and options.samples < 1:
        raise InputError(
            f"--samples {options.samples} is too few", remedy="give a number from 1, such as 1000"
        )
    if not 0 <= options.seed < 2**32:
        raise InputError(f"--seed {options.seed} is none", remedy="give a number from 0 to 2^32-1")
    check_outputs(
        {"--out": options.out},
        sources=(options.match, options.history),
        inputs=(options.model,),
    )
    from attnlens.cricket.over_question import find_over
    from attnlens.cricket.readers import read_match

    # A wrong name should not wait for torch.
    match = read_match(options.match)
    try:
        question = find_over(match, options.over, options.innings)
    except BallNotFoundError as error:
        # The naming of overs knows no file.
        raise BallNotFoundError(error.problem, path=options.match, remedy=error.remedy) from None
    data = _answer(question, options)
    if options.format == "json":
        emit_json(data, options.out)
        return 0
    from attnlens.render.over import render_over

    emit(render_over(data, **page(options.out)), options.out)
    return 0


def _answer(question: Any, options: argparse.Namespace) -> dict[str, Any]:
    from attnlens.cricket.over import choice_of, next_over
    from attnlens.cricket.trained_overs import load_overs
    from attnlens.cricket.window import one_thread

    with one_thread():
        trained = load_overs(options.model)
    dated = options.history is not None
    if dated:
        trained = timeline(trained, options.history).predictor_for(question.match)
    return next_over(
        question,
        trained,
        choice=choice_of(options.temperature, options.top_k),
        seed=options.seed,
        samples=options.samples or 0,
        evidence=not options.no_evidence,
        history=dated,
    )
