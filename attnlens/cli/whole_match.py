"""``attnlens match`` and ``attnlens story``: what a match file holds, and how the match went."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attnlens.cli.arguments import Commands, add_formats, add_shared, session_of
from attnlens.cli.output import (
    check_files,
    emit_json,
    opened,
    progress,
    progress_bar,
    report_skipped,
    say,
    show,
)
from attnlens.errors import InputError, count
from attnlens.files import written_beside

if TYPE_CHECKING:
    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.match.match import Doubt, Match, StatedField
    from attnlens.files import Json

_STORY_FORMATS = ("text", "json", "markdown", "html", "prompt", "card")
_CARD_SUFFIXES = (".svg", ".png")


def add_match(commands: Commands) -> None:
    parser = commands.add_parser(
        "match",
        run=_run_match,
        help="who played, the scorecards, and every oddity in the file",
        description="Show what was read from a match file: teams, result, a scorecard per "
        "innings, and what was missing, odd or repaired. Of several matches (a zip, a folder, "
        "a table), one line each; with --json, one JSON line each. With --check, only what is "
        "doubted, a line each, and of one match the statements that nothing in the file confirms; "
        "exit status 1 where a match is refused.",
    )
    match_help = "match files, ARCHIVE.zip::MEMBER, zips and folders"
    add_shared(parser, "match", nargs="+", help=match_help)
    parser.flag("--check", "list what contradicts itself, or is hard to believe")
    add_formats(parser)
    add_shared(parser, "--on-error", "--out")


def _run_match(options: argparse.Namespace) -> int:
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
        show(options, partial(_match_data, first[0]), partial(render_scorecard, first[0]))
    else:
        _list(itertools.chain(first, matches), options)
    report_skipped(skipped)
    return 0


def _check(
    matches: Iterator[Match], skipped: list[MatchFileError], options: argparse.Namespace
) -> int:
    """Everything doubted, and of one match what nothing confirms; 1 where a match is refused."""
    from attnlens.cricket.match.match import UNWITNESSED
    from attnlens.cricket.match.scan import NO_CLAIM
    from attnlens.render.safe import on_one_line

    rows, lines, last, number, doubted = [], [], "", 0, 0
    for match in matches:
        number += 1
        doubted += bool(match.doubts)
        # A table holds many matches.
        stem = Path(match.source.rpartition("::")[2]).stem
        location = f"{match.source}:" + ("" if stem == match.match_id else f" {match.match_id}:")
        statements = {statement.field: statement for statement in match.statements}
        for doubt in match.doubts:
            statement = statements.get(doubt.field or "")
            rows.append(_doubt_data(match.source, doubt, match.match_id, statement))
            field = f"{doubt.field} contradicts: " if statement else ""
            lines.append(f"{location} {field}{doubt}")
        unwitnessed = [
            name
            for name, each in statements.items()
            if each.status == UNWITNESSED and name not in NO_CLAIM
        ]
        last = f"{location} unwitnessed: {', '.join(unwitnessed) or 'nothing'}"
        if number % 20 == 0:
            progress(f"{number} matches read, {doubted} of them doubted")
    progress("")
    if number == 1:
        lines.append(last)
    for error in skipped:
        problem = getattr(error, "doubt", None) or error
        rows.append(_doubt_data(error.path, problem) | {"line": error.line})
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


def _doubt_data(
    file: str | None,
    problem: Doubt | MatchFileError,
    match: str | None = None,
    statement: StatedField | None = None,
) -> Json:
    """A doubt and the statement that it contradicts, or why a file cannot be read, as data."""
    return {
        **{"file": file, "line": None, "match": match},
        **{name: getattr(problem, name, None) for name in ("innings", "over", "ball")},
        "kind": getattr(problem, "kind", "unreadable"),
        "what": str(problem) if isinstance(problem, Exception) else problem.problem,
        "refused": getattr(problem, "refused", True),
        **{
            name: getattr(statement, name, None)
            for name in ("field", "stated", "derived", "status")
        },
    }


def _match_data(match: Match) -> Json:
    from attnlens.cricket.match.ledger import match_data, result_sentence

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
                line = json.dumps(_match_data(match), ensure_ascii=False, separators=(",", ":"))
            print(line, file=file)
        progress("")


def add_story(commands: Commands) -> None:
    parser = commands.add_parser(
        "story",
        run=_run_story,
        help="a match told: who was winning, where it turned, who beat expectation",
        description="The story of a match: the result, who was winning ball by ball, where it "
        "turned, what surprised, and who beat what was expected of the balls they played.",
    )
    add_shared(parser, "match", "--model", "--history", "--no-evidence")
    format_help = "default {}; card: a picture to post, SVG or --out X.png"
    add_formats(parser, _STORY_FORMATS, help_text=format_help)
    add_shared(parser, "--out")


def _run_story(options: argparse.Namespace) -> int:
    check_files(options)
    suffix = Path(options.out or "").suffix.lower()
    if options.format == "text" and suffix in _CARD_SUFFIXES:
        options.format = "card"
    if options.format == "card" and suffix not in ("", *_CARD_SUFFIXES):
        raise InputError("a card is SVG or PNG", path=options.out, remedy="end it in .svg or .png")
    report, evidence = partial(progress_bar, counted="balls tested"), not options.no_evidence
    try:
        story = session_of(options).story(options.match, evidence=evidence, report=report)
    finally:
        progress("")
    from attnlens.cricket.pages import match_story

    if options.format == "card" and suffix == ".png":
        with written_beside(options.out) as part:
            match_story.save_card(story, part)
        return 0
    return show(
        options,
        story.to_dict,
        partial(match_story.render_match_story, story),
        markdown=lambda: match_story.render_story_markdown(story),
        html=lambda: match_story.render_story_html(story),
        prompt=lambda: match_story.story_prompt(story).text,
        card=lambda: match_story.render_card(story),
    )
