"""``attnlens similar``: situations like a ball, and what happened in them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from attnlens.cli.options import add_ball, add_formats, add_model_options, add_out, whole
from attnlens.cli.output import check_outputs, emit, emit_json, page
from attnlens.cli.parser import Commands
from attnlens.cli.sources import ball_of, session_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.corpus.similar import Similar


def add_to(commands: Commands) -> None:
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
    check_outputs(
        {"--out": options.out},
        sources=(options.match, options.history),
        inputs=(options.model, options.corpus),
    )
    answer = _answer(options)
    if options.format == "json":
        emit_json(answer.to_dict(), options.out)
    else:
        from attnlens.cricket.pages.similar import render_similar

        emit(render_similar(answer, **page(options.out)), options.out)
    return 0


def _answer(options: argparse.Namespace) -> Similar:
    from pathlib import Path

    from attnlens.cricket.corpus.folder import Corpus
    from attnlens.cricket.corpus.similar import similar

    corpus = Corpus(Path(options.corpus))
    # Only the model that the corpus was made with can be compared with it.
    options.model = options.model or corpus.manifest.settings.model["name"]
    session = session_of(options)
    match, reference = ball_of(session, options)
    return similar(match, reference, session.dated(match), corpus, count=options.situations)
