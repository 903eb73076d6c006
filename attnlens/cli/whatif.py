"""``attnlens whatif``: what the model would have expected, had something been different."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attnlens.cli.messages import say
from attnlens.cli.options import Given, add_ball, add_formats, add_model_options, add_out, listed
from attnlens.cli.output import check_outputs, emit, emit_json, page
from attnlens.cli.sources import timeline
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match import Match
    from attnlens.cricket.question import Question


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
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
    from attnlens.cricket.question import question_of

    question = question_of(
        bowler=options.bowler,
        batter=options.batter,
        target=options.target,
        changes=listed(options.change),
        wicket_last_ball=options.wicket_last_ball,
        settings=listed(options.set),
        unseen=options.unseen,
    )
    from attnlens.cricket.naming import balls_of
    from attnlens.cricket.readers import read_match

    # A wrong name should not wait for torch, nor the answer be lost for want of a place.
    check_outputs(
        {"--out": options.out},
        sources=(options.match, options.history),
        inputs=(options.model,),
    )
    match = read_match(options.match)
    with balls_of(options.match):
        data = _answer(match, question, options)
    if options.format == "json":
        emit_json(data, options.out)
        return 0
    from attnlens.render.what_if import render_what_if

    emit(render_what_if(data, **page(options.out)), options.out)
    return 0


def _answer(match: Match, question: Question, options: argparse.Namespace) -> dict[str, Any]:
    from attnlens.cricket.naming import find_ball, hint
    from attnlens.cricket.question import LAST

    reference = find_ball(match, options.ball, options.innings)
    names = {options.ball: reference}
    for name, _ in question.balls:
        if name.lower() != LAST:
            names[name] = find_ball(match, name, None if ":" in name else reference.innings)
    for name, meant in names.items():
        note = hint(match, name, meant)
        if note:
            say(note)
    from attnlens.cricket.trained import load_predictor
    from attnlens.cricket.what_if import what_if
    from attnlens.cricket.window import one_thread

    with one_thread():
        predictor = load_predictor(options.model)
    dated = options.history is not None
    if dated:
        predictor = timeline(predictor, options.history).predictor_for(match)
    return what_if(match, reference, predictor, question, history=dated)
