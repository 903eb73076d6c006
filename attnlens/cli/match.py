"""``attnlens match``: what was read from a match file, or from many."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import add_formats, add_on_error, add_out
from attnlens.cli.output import check_files, opened, progress, report_skipped, show
from attnlens.cli.parser import Commands

if TYPE_CHECKING:
    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.match.match import Match


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "match",
        help="who played, the scorecards, and every oddity in the file",
        description="Show what was read from a match file: teams, result, a scorecard per "
        "innings, and what was missing, odd or repaired. Of a source with several matches "
        "(a zip, a folder, a table), one line each; with --json, one JSON line each.",
    )
    parser.add_argument(
        "match", metavar="MATCH", help="a match file, ARCHIVE.zip::MEMBER, a zip or a folder"
    )
    add_formats(parser)
    add_on_error(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from attnlens.cricket.pages.scorecard import render_scorecard
    from attnlens.cricket.readers import read_matches

    check_files(options)
    skipped: list[MatchFileError] = []
    matches = read_matches(options.match, on_error=options.on_error, skipped=skipped)
    first = list(itertools.islice(matches, 2))
    if len(first) == 1:
        show(options, partial(_data, first[0]), partial(render_scorecard, first[0]))
    else:
        _list(itertools.chain(first, matches), options)
    report_skipped(skipped)
    return 0


def _data(match: Match) -> dict[str, Any]:
    from attnlens.cricket.match.scorecard import match_data, result_sentence

    return {**match_data(match), "result": result_sentence(match)}


def _list(matches: Iterator[Match], options: argparse.Namespace) -> None:
    """Several matches, a line each."""
    from attnlens.show.safe import clean

    as_json = options.format == "json"
    with opened(options.out, utf8=as_json) as file:
        for number, match in enumerate(matches, 1):
            if number % 20 == 0:
                progress(f"{number} matches read")
            line = clean(f"{match.match_id}  {match}")
            if as_json:
                line = json.dumps(_data(match), ensure_ascii=False, separators=(",", ":"))
            print(line, file=file)
        progress("")
