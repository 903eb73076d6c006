"""``attnlens whatif``: what the model would have expected, had something been different."""

from __future__ import annotations

import argparse
from functools import partial

from attnlens.cli.options import add_ball, add_formats, add_model_options, add_out
from attnlens.cli.output import check_files, show
from attnlens.cli.parser import Commands
from attnlens.cli.sources import session_of, tell_names
from attnlens.errors import InputError


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "whatif",
        help="what the model would have expected, had something been different",
        description="Ask about one ball again with another bowler, batter or target, or with "
        "past balls that went otherwise: before and after side by side.",
    )
    add_ball(parser)
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="what is different: bowler=NAME, batter=NAME, target=N, ball:43=0 (an earlier ball, "
        "named as for --ball, and its outcome) or last=W (the ball before); may be given often",
    )
    parser.add_argument(
        "--change",
        metavar="BALL=OUTCOME",
        dest="set",
        action="append",
        default=[],
        type="ball:{}".format,
        help="an earlier ball went otherwise: --change 43=0 is --set ball:43=0",
    )
    add_model_options(parser)
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.ball is None:
        raise InputError("say which ball", remedy="give --ball 47, --ball last or --ball next")
    from attnlens.cricket.whatif.types import LAST, question_of

    question = question_of(options.set)
    # A wrong name should not wait for torch, nor the answer be lost for want of a place.
    check_files(options)
    from attnlens.cricket.match.naming import balls_of
    from attnlens.cricket.pages.what_if_page import render_what_if

    session = session_of(options)
    match = session.read(options.match)
    with balls_of(options.match):
        reference = session.find(match, options.ball, options.innings)
        balls = {options.ball: reference}
        for name, _ in question.balls:
            if name.lower() != LAST:
                balls[name] = session.find(match, name, None if ":" in name else reference.innings)
        tell_names(match, balls)
        answer = session.what_if(match, question, ball=reference)
    return show(options, answer.to_dict, partial(render_what_if, answer))
