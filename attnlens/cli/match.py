"""``attnlens match``: what was read from a match file, or from many."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attnlens.cli.options import add_formats, add_on_error, add_out
from attnlens.cli.output import (
    check_files,
    emit_json,
    opened,
    progress,
    report_skipped,
    say,
    show,
)
from attnlens.cli.parser import Commands

if TYPE_CHECKING:
    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.match.match import Doubt, Match


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "match",
        help="who played, the scorecards, and every oddity in the file",
        description="Show what was read from a match file: teams, result, a scorecard per "
        "innings, and what was missing, odd or repaired. Of several matches (a zip, a folder, "
        "a table), one line each; with --json, one JSON line each. With --check, only what is "
        "doubted, a line each; exit status 1 where a match is refused.",
    )
    parser.add_argument(
        "match",
        metavar="MATCH",
        nargs="+",
        help="match files, ARCHIVE.zip::MEMBER, zips and folders",
    )
    parser.add_argument(
        "--check", action="store_true", help="list what cannot be, or is hard to believe"
    )
    add_formats(parser)
    add_on_error(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from attnlens.cricket.pages.match_page import render_scorecard
    from attnlens.cricket.readers import read_matches

    check_files(options)
    skipped: list[MatchFileError] = []
    on_error: Literal["stop", "skip"] = "skip" if options.check else options.on_error
    matches = itertools.chain.from_iterable(
        read_matches(source, on_error=on_error, skipped=skipped) for source in options.match
    )
    if options.check:
        return _check(matches, skipped, options)
    first = list(itertools.islice(matches, 2))
    if len(first) == 1:
        show(options, partial(_data, first[0]), partial(render_scorecard, first[0]))
    else:
        _list(itertools.chain(first, matches), options)
    report_skipped(skipped)
    return 0


def _check(
    matches: Iterator[Match], skipped: list[MatchFileError], options: argparse.Namespace
) -> int:
    """Everything doubted; 1 where a match is refused."""
    from attnlens.errors import count
    from attnlens.render.safe import on_one_line

    rows, lines, number, doubted = [], [], 0, 0
    for match in matches:
        number += 1
        doubted += bool(match.doubts)
        for doubt in match.doubts:
            rows.append(_row(match.source, doubt, match=match.match_id))
            # A table holds many matches.
            of = "" if Path(match.source or "").stem == match.match_id else f" {match.match_id}:"
            lines.append(f"{match.source}:{of} {doubt}")
        if number % 20 == 0:
            progress(f"{number} matches read, {doubted} of them doubted")
    progress("")
    for error in skipped:
        rows.append(_row(error.path, getattr(error, "doubt", None) or error, error.line))
        lines.append(f"refused: {error}")
    if options.format == "json":
        emit_json(rows, options.out)
    else:
        with opened(options.out, utf8=False) as file:
            for line in lines:
                print(on_one_line(line), file=file)
    read = count(number + len(skipped), "match", "matches")
    say(f"{read}: {doubted} doubted, {len(skipped)} refused")
    return 1 if skipped else 0


def _row(
    file: str | None,
    problem: Doubt | MatchFileError,
    line: int | None = None,
    match: str | None = None,
) -> dict[str, Any]:
    """A doubt, or why a file cannot be read, as data."""
    row: dict[str, Any] = {"file": file, "line": line, "match": match}
    for key in ("innings", "over", "ball"):
        row[key] = getattr(problem, key, None)
    text = str(problem) if isinstance(problem, Exception) else problem.problem
    kind, refused = getattr(problem, "kind", "unreadable"), getattr(problem, "refused", True)
    return {**row, "kind": kind, "what": text, "refused": refused}


def _data(match: Match) -> dict[str, Any]:
    from attnlens.cricket.match.scorecard import match_data, result_sentence

    return {**match_data(match), "result": result_sentence(match)}


def _list(matches: Iterator[Match], options: argparse.Namespace) -> None:
    """Several matches, a line each."""
    from attnlens.render.safe import clean

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
