"""``attnlens match``: what was read from a match file."""

from __future__ import annotations

import argparse
from typing import Any

from attnlens.cli.options import can_draw, color_wanted, emit, page_width, utf8_stdout


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "match",
        help="who played, the scorecards, and every oddity in the file",
        description="Show what was read from a match file: teams, result, a scorecard per "
        "innings, and what was missing, odd or repaired.",
    )
    parser.add_argument("match", metavar="MATCH", help="a match file, or ARCHIVE.zip::MEMBER")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default text")
    parser.add_argument(
        "--json", action="store_const", const="json", dest="format", help="short for --format json"
    )
    parser.add_argument("--out", metavar="FILE", help="write there instead of to stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import json

    from attnlens.cricket.readers import read_match
    from attnlens.cricket.results import result_sentence
    from attnlens.cricket.scorecard import match_data

    match = read_match(options.match)
    data = {**match_data(match), "result": result_sentence(match)}
    if options.format == "json":
        utf8_stdout()
        emit(json.dumps(data, indent=2, ensure_ascii=False), options.out)
        return 0
    from attnlens.render.scorecard import render_scorecard

    page = render_scorecard(
        data,
        width=page_width(options.out),
        color=color_wanted(options.out),
        unicode=options.out is not None or can_draw(),
    )
    emit(page, options.out)
    return 0
