"""``attnlens similar``: situations like a ball, and what happened in them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attnlens.cli.messages import say
from attnlens.cli.options import add_ball, add_formats, add_model_options, add_out, whole
from attnlens.cli.output import check_outputs, emit, emit_json, page
from attnlens.cli.sources import timeline
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match import Match


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "similar",
        help="situations like a ball in a corpus, and what happened in them",
        description="The balls of a corpus whose situation is most like a ball's (the state of "
        "the game, what the model expected and where it looked), never of the same match, and "
        "what happened in them beside what was expected.",
    )
    add_ball(parser)
    parser.add_argument("--corpus", metavar="DIR", required=True, help="a corpus's folder")
    parser.add_argument(
        "--situations",
        type=whole(10, 100_000),
        default=200,
        metavar="N",
        help="how many (default 200)",
    )
    add_model_options(parser)
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.ball is None:
        raise InputError("say which ball", remedy="give --ball 47, --ball last or --ball next")
    from attnlens.cricket.naming import balls_of
    from attnlens.cricket.readers import read_match

    check_outputs(
        {"--out": options.out},
        sources=(options.match, options.history),
        inputs=(options.model, options.corpus),
    )
    match = read_match(options.match)
    with balls_of(options.match):
        data = _answer(match, options)
    if options.format == "json":
        emit_json(data, options.out)
    else:
        from attnlens.render.similar import render_similar

        emit(render_similar(data, **page(options.out)), options.out)
    return 0


def _answer(match: Match, options: argparse.Namespace) -> dict[str, Any]:
    from pathlib import Path

    from attnlens.corpus.folder import Corpus
    from attnlens.corpus.similar import similar
    from attnlens.cricket.naming import find_ball, hint, innings_numbered
    from attnlens.cricket.next_ball import with_next_ball
    from attnlens.cricket.trained import load_predictor

    reference = find_ball(match, options.ball, options.innings)
    note = hint(match, options.ball, reference)
    if note:
        say(note)
    corpus = Corpus(Path(options.corpus))
    model = options.model or corpus.manifest["model"]["name"]
    predictor = load_predictor(model)
    if options.history is not None:
        predictor = timeline(predictor, options.history).predictor_for(match)
    if reference.index > len(innings_numbered(match, reference.innings).deliveries):
        match = with_next_ball(match, reference.innings, batter=None, bowler=None)
    return similar(match, reference, predictor, corpus, count=options.situations)
