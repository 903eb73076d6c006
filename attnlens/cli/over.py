"""``attnlens over``: the next over, token by token, and what it was made from."""

from __future__ import annotations

import argparse
from functools import partial

from attnlens.cli.options import add_formats, add_history, add_match, add_out
from attnlens.cli.output import check_files, progress, say, show
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

_SAMPLES = 500


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "over",
        help="the next over: runs, wickets, boundaries, and what it looked at",
        description="What the encoder-decoder expects of an over from the balls before it: runs, "
        "wickets and boundaries of overs that it draws; then the likeliest over token by token, "
        "which past balls each token looked at, and what hiding each of those does.",
    )
    add_match(parser)
    parser.add_argument(
        "--over",
        metavar="OVER",
        help="12 (as the file labels it, from 0: the 13th), last, next (not yet bowled), or 2:12",
    )
    parser.add_argument("--innings", type=int, metavar="N", help="default 1, of next the last")
    parser.add_argument(
        "--model",
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
        "--samples",
        type=int,
        default=_SAMPLES,
        metavar="N",
        help=f"overs to draw, for runs, wickets and boundaries (default {_SAMPLES}; 0: none)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of whatever is drawn (default 0)"
    )
    parser.add_argument("--no-evidence", action="store_true", help="do not hide past balls: faster")
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.over is None:
        raise InputError("say which over", remedy="give --over 12, --over last or --over next")
    check_files(options)
    from attnlens.cricket.match.naming import balls_of
    from attnlens.cricket.pages.over_page import render_over
    from attnlens.cricket.session import Session

    session = Session(None, options.history, overs=options.model, report=progress, tell=say)
    match = session.read(options.match)
    from attnlens.cricket.over.next_over import OVER_REMEDY

    with balls_of(options.match, OVER_REMEDY):
        answer = session.over(
            match,
            over=options.over,
            innings=options.innings,
            samples=options.samples,
            temperature=options.temperature,
            top_k=options.top_k,
            seed=options.seed,
            evidence=not options.no_evidence,
        )
    return show(options, answer.to_dict, partial(render_over, answer))
