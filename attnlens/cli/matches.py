"""Commands about matches: ``predict``, ``whatif``, ``over``, ``match`` and ``story``."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from attnlens.cli.arguments import Commands, add_formats, add_shared, session_of, tell_names
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
    from pathlib import Path

    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.match.match import Doubt, Match, StatedField
    from attnlens.cricket.predictor.window import Row
    from attnlens.cricket.session import Session
    from attnlens.files import Json


_ROWS_AT_ONCE = 20_000
_SAMPLES = 500


def add_predict(commands: Commands) -> None:
    parser = commands.add_parser(
        "predict",
        run=_run_predict,
        help="write the outcome probabilities of every delivery",
        description="Write one row per delivery, with the ball, the actual outcome, and the "
        "predicted probability of each of the eleven outcomes.",
    )
    parser.option("matches", "MATCH", "match files, folders or Cricsheet zips", nargs="+")
    add_shared(parser, "--model", "--history")
    add_shared(parser, "--out", help="the .csv or .parquet file to write (default: CSV on stdout)")
    add_shared(parser, "--on-error")


def _run_predict(options: argparse.Namespace) -> int:
    suffix = os.path.splitext(options.out)[1].lower() if options.out else ".csv"
    if suffix not in (".csv", ".parquet"):
        raise InputError(
            f"the file suffix {suffix!r} is not a supported format of tables",
            path=options.out,
            remedy="end the file name in .csv or .parquet",
        )
    from attnlens.cricket.readers import read_matches

    check_files(options)
    session = session_of(options)
    session.predictor  # noqa: B018  # a wrong --model fails before anything is read
    skipped: list[MatchFileError] = []
    matches = chain.from_iterable(
        read_matches(source, on_error=options.on_error, skipped=skipped)
        for source in options.matches
    )
    rows = _rows(matches, session)
    if suffix == ".parquet":
        with written_beside(options.out) as part:
            _write_parquet(rows, part)
    else:
        with opened(options.out) as file:
            _write_csv(rows, file)
    progress("")
    report_skipped(skipped)
    return 0


def _rows(matches: Iterable[Match], session: Session) -> Iterator[Row]:
    import datetime

    if session.history is not None:
        # Ratings can be updated only to a later date, so all matches are read and sorted first.
        matches = sorted(matches, key=lambda m: (m.date or datetime.date.min, m.match_id))
    number = 0
    for number, match in enumerate(matches, 1):
        progress(f"match {number}: {match.match_id}")
        yield from session.rows(match)
    if not number:
        raise InputError("no match in these files could be read", remedy="give other files")


def _write_csv(rows: Iterator[Row], file: TextIO) -> None:
    import csv

    from attnlens.cricket.predictor.window import COLUMNS
    from attnlens.render.safe import cell

    first = list(islice(rows, 1))  # if the first row fails, do not write a header alone
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in chain(first, rows):
        writer.writerow({name: cell(value) for name, value in row.items()})


def _write_parquet(rows: Iterator[Row], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    from attnlens.cricket.predictor.window import COLUMNS

    types = dict.fromkeys(COLUMNS, pyarrow.string())
    types |= {name: pyarrow.float64() for name in COLUMNS if name.startswith(("p_", "win_"))}
    types |= dict.fromkeys(("innings", "index", "free_hit"), pyarrow.int32())
    schema = pyarrow.schema(types)
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        while rows_at_once := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pyarrow.Table.from_pylist(rows_at_once, schema))


def add_whatif(commands: Commands) -> None:
    parser = commands.add_parser(
        "whatif",
        run=_run_whatif,
        help="change the bowler, the batter, the target or past balls, and predict the ball again",
        description="Predict one ball again after a change: another bowler or batter, a different "
        "target, or other outcomes of past balls. The predictions before and after the change are "
        "shown side by side.",
    )
    add_shared(parser, "match", "--ball", "--innings")
    parser.option(
        "--set",
        "NAME=VALUE",
        "the change: bowler=NAME, batter=NAME, target=N, ball:43=0 (ball 43 becomes a dot; the "
        "ball is named as for --ball) or last=W (the previous ball becomes a wicket); may be "
        "given several times",
        action="append",
        default=[],
    )
    parser.option(
        "--change",
        "BALL=OUTCOME",
        "change the outcome of an earlier ball: --change 43=0 means the same as --set ball:43=0",
        dest="set",
        action="append",
        default=[],
        type="ball:{}".format,
    )
    add_shared(parser, "--model", "--history")
    add_formats(parser)
    add_shared(parser, "--out")


def _run_whatif(options: argparse.Namespace) -> int:
    if options.ball is None:
        raise InputError(
            "no ball was named", remedy="give a ball, such as --ball 47, --ball last or --ball next"
        )
    from attnlens.cricket.explain.what_if_types import LAST, question_of

    question = question_of(options.set)
    # Loading torch is slow, so a wrong name or an unusable output path is reported before.
    check_files(options)
    from attnlens.cricket.match.naming import balls_of
    from attnlens.cricket.pages.ball_page import render_what_if

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


def add_over(commands: Commands) -> None:
    parser = commands.add_parser(
        "over",
        run=_run_over,
        help="forecast the runs, wickets and boundaries of the next over",
        description="Use the encoder-decoder to forecast an over from the balls before the over. "
        "Print the runs, wickets and boundaries of sampled overs. Then print the most likely over "
        "as a list of tokens. For each token, print the past balls that the token attends to and "
        "the effect of hiding each of these balls.",
    )
    add_shared(parser, "match")
    parser.option(
        "--over",
        "OVER",
        "the over: 12 (the file's label; labels count from 0, so 12 is the 13th over), last, next "
        "(not yet bowled), or 2:12 (innings 2)",
    )
    add_shared(parser, "--innings")
    add_shared(parser, "--model", help="an encoder-decoder checkpoint, or `cricket` (default)")
    add_shared(parser, "--history")
    parser.option(
        "--temperature",
        "T",
        "sample each token at this temperature instead of choosing the likeliest "
        "token (1: the model's own probabilities)",
        type=float,
    )
    parser.option("--top-k", "K", "sample only from the K likeliest tokens", type=int)
    parser.option(
        "--samples",
        "N",
        "number of overs to sample for the runs, wickets and boundaries (default "
        f"{_SAMPLES}; 0: none)",
        type=int,
        default=_SAMPLES,
    )
    parser.option("--seed", "N", "random seed (default 0)", type=int, default=0)
    add_shared(
        parser,
        "--no-evidence",
        help="do not hide past balls, which is faster but measures no effect",
    )
    add_formats(parser)
    add_shared(parser, "--out")


def _run_over(options: argparse.Namespace) -> int:
    if options.over is None:
        raise InputError("no over was named", remedy="give --over 12, --over last or --over next")
    check_files(options)
    from attnlens.cricket.match.naming import balls_of
    from attnlens.cricket.over.next_over import OVER_REMEDY
    from attnlens.cricket.pages.match_page import render_over
    from attnlens.cricket.session import Session

    session = Session(None, options.history, overs=options.model, report=progress, tell=say)
    match = session.read(options.match)
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


_STORY_FORMATS = ("text", "json", "markdown", "html", "prompt", "card")
_CARD_SUFFIXES = (".svg", ".png")


def add_match(commands: Commands) -> None:
    parser = commands.add_parser(
        "match",
        run=_run_match,
        help="show the teams, the scorecards, and everything odd in a match file",
        description="Show what was read from a match file: teams, result, a scorecard per "
        "innings, and everything that was missing, odd or repaired. For several matches (a zip, a "
        "folder or a table), print one line per match, or one JSON line per match with --json. "
        "With --check, print only the contradictions and doubtful values, one per line. For a "
        "single match, --check also lists the fields that nothing else in the file confirms. With "
        "--check, the exit status is 1 if a match is refused.",
    )
    match_help = "match files, ARCHIVE.zip::MEMBER, zip files and folders"
    add_shared(parser, "match", nargs="+", help=match_help)
    parser.flag("--check", "list the contradictions and doubtful values of each file")
    add_formats(parser)
    add_shared(parser, "--on-error", "--out")


def _run_match(options: argparse.Namespace) -> int:
    from attnlens.cricket.pages.match_page import render_scorecard
    from attnlens.cricket.readers import read_matches

    check_files(options)
    skipped: list[MatchFileError] = []
    on_error: Literal["stop", "skip"] = "skip" if options.check else options.on_error
    matches = chain.from_iterable(
        read_matches(source, on_error=on_error, skipped=skipped) for source in options.match
    )
    if options.check:
        return _check(matches, skipped, options)
    first = list(islice(matches, 2))
    if len(first) == 1:
        show(options, partial(_match_data, first[0]), partial(render_scorecard, first[0]))
    else:
        _list(chain(first, matches), options)
    report_skipped(skipped)
    return 0


def _check(
    matches: Iterator[Match], skipped: list[MatchFileError], options: argparse.Namespace
) -> int:
    """List suspected errors, and return 1 if a match was refused."""
    from attnlens.cricket.match.match import UNWITNESSED
    from attnlens.cricket.match.scan import NO_CLAIM
    from attnlens.render.safe import on_one_line

    rows, lines, last, number, doubted = [], [], "", 0, 0
    for match in matches:
        number += 1
        doubted += bool(match.doubts)
        # The file may hold several matches, and then its name does not identify the match.
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
        last = (
            f"{location} not confirmed by anything in the file: "
            f"{', '.join(unwitnessed) or 'nothing'}"
        )
        if number % 20 == 0:
            progress(f"{number} matches read, {doubted} with doubts")
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
    say(f"{read}: {doubted} with doubts, {len(skipped)} refused")
    return 1 if skipped else 0


def _doubt_data(
    file: str | None,
    problem: Doubt | MatchFileError,
    match: str | None = None,
    statement: StatedField | None = None,
) -> Json:
    """Return data about a suspected error or an unreadable file."""
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
        help="tell the story of a match: who was winning, where the match turned, and who did "
        "better than expected",
        description="Tell the story of a match: the result, the win probability ball by ball, the "
        "turning points, the most surprising balls, and the players who did better than the model "
        "predicted.",
    )
    add_shared(parser, "match", "--model", "--history", "--no-evidence")
    format_help = (
        "the output format (default {}); card: a picture to share, as SVG or (with --out X.png) "
        "as PNG"
    )
    add_formats(parser, _STORY_FORMATS, help_text=format_help)
    add_shared(parser, "--out")


def _run_story(options: argparse.Namespace) -> int:
    check_files(options)
    suffix = Path(options.out or "").suffix.lower()
    if options.format == "text" and suffix in _CARD_SUFFIXES:
        options.format = "card"
    if options.format == "card" and suffix not in ("", *_CARD_SUFFIXES):
        raise InputError(
            "a card can be written only as SVG or PNG",
            path=options.out,
            remedy="end the file name in .svg or .png",
        )
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
