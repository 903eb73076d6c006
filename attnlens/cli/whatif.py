"""``attnlens whatif``: what the model would have expected, had something been different."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from attnlens.cli.options import Given, add_ball, add_formats, add_model_options, add_out, listed
from attnlens.cli.output import check_outputs, emit, emit_json, page
from attnlens.cli.parser import Commands
from attnlens.cli.sources import session_of, tell_names
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.whatif.question import Question
    from attnlens.cricket.whatif.types import WhatIf


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "whatif",
        help="what the model would have expected, had something been different",
        description="Ask about one ball again with another bowler, batter or target, or with "
        "past balls that went otherwise: before and after side by side, and how much of the "
        "difference came through attention.",
    )
    add_ball(parser)
    parser.add_argument("--bowler", metavar="NAME", help="who bowls instead: name or registry id")
    parser.add_argument("--batter", metavar="NAME", help="who faces instead: name or registry id")
    parser.add_argument("--target", type=int, metavar="N", help="the runs that are chased instead")
    parser.add_argument(
        "--change",
        metavar="BALL=OUTCOME",
        action=Given,
        help="an earlier ball that went otherwise, 43=6 or 7.1=0, the ball named as for --ball "
        "(last: the ball before); may be given often",
    )
    parser.add_argument(
        "--wicket-last-ball", action="store_true", help="a wicket fell the ball before"
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action=Given,
        help="the same in one option: bowler=NAME, batter=NAME, target=N, ball:43=0 or last=W; "
        "may be given often",
    )
    parser.add_argument(
        "--unseen",
        action="store_true",
        help="take a name that nobody has in full as a player without a record",
    )
    add_model_options(parser)
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.ball is None:
        raise InputError("say which ball", remedy="give --ball 47, --ball last or --ball next")
    from attnlens.cricket.whatif.question import question_of

    question = question_of(
        bowler=options.bowler,
        batter=options.batter,
        target=options.target,
        changes=listed(options.change),
        wicket_last_ball=options.wicket_last_ball,
        settings=listed(options.set),
        unseen=options.unseen,
    )
    # A wrong name should not wait for torch, nor the answer be lost for want of a place.
    check_outputs(
        {"--out": options.out},
        sources=(options.match, options.history),
        inputs=(options.model,),
    )
    answer = _answer(question, options)
    if options.format == "json":
        emit_json(answer.to_dict(), options.out)
        return 0
    from attnlens.cricket.pages.what_if import render_what_if

    emit(render_what_if(answer, **page(options.out)), options.out)
    return 0


def _answer(question: Question, options: argparse.Namespace) -> WhatIf:
    from attnlens.cricket.match.naming import balls_of
    from attnlens.cricket.whatif.question import LAST

    session = session_of(options)
    match = session.read(options.match)
    with balls_of(options.match):
        reference = session.find(match, options.ball, options.innings)
        balls = {options.ball: reference}
        for name, _ in question.balls:
            if name.lower() != LAST:
                balls[name] = session.find(match, name, None if ":" in name else reference.innings)
        tell_names(match, balls)
        return session.ask(match, question, ball=reference)
