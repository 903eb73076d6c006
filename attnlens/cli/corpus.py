"""``attnlens corpus``: thousands of matches to Parquet, asked in SQL, summed up on one page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnlens.cli.options import (
    add_formats,
    add_history,
    add_model,
    add_out,
    add_sources,
    number,
    whole,
)
from attnlens.cli.output import check_files, emit, opened, progress, say, utf8_stdout
from attnlens.cli.parser import Commands
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.corpus.explain import Progress

LISTED = 20
"""So many lines of a kind are told on stderr."""


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "corpus",
        help="thousands of matches to Parquet, SQL over them, a report",
        description="Every ball of thousands of matches explained to Parquet files, which can be "
        "asked in SQL and summed up on one page.",
    )
    kinds = parser.command_group("what", required=True)
    _add_explain(kinds)
    _add_query(kinds)
    _add_report(kinds)
    _add_verify(kinds)


def _add_explain(kinds: Commands) -> None:
    parser = kinds.add_parser(
        "explain",
        help="every ball of every match to Parquet",
        description="Every ball of the matches in SRC to Parquet in DIR: what was expected, where "
        "each head looked. The same command goes on where an earlier run was stopped, however it "
        "was stopped.",
    )
    add_sources(parser)
    parser.add_argument("--out", metavar="DIR", required=True, help="the corpus's folder")
    add_model(parser)
    add_history(
        parser, "matches that bring the ratings to each match's date; may be the same as SRC"
    )
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="processes of this machine (default), or of Ray",
    )
    parser.add_argument(
        "--address", metavar="HOST:PORT", help="a running Ray cluster (default: one started here)"
    )
    for name, least, most, default, told in (
        ("evidence", 0, 10_000_000, 0, "balls, drawn over all matches, whose claims are tested"),
        ("workers", 1, 4096, 1, "processes"),
        ("matches-per-part", 1, 100_000, 32, "matches in one file of each table"),
    ):
        told = f"{told} (default {default})"
        kind = whole(least, most)
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=told)
    parser.set_defaults(run=run_explain)


def _add_query(kinds: Commands) -> None:
    parser = kinds.add_parser(
        "query",
        help="ask a corpus in SQL",
        description="One SELECT over the tables balls, heads and matches, and evidence where "
        "balls were tested, as DuckDB answers it. A corpus is only read.",
    )
    parser.add_argument("corpus", metavar="DIR", help="a corpus's folder")
    parser.add_argument("sql", metavar="SQL", help="such as 'select count(*) from balls'")
    parser.add_argument(
        "--timeout",
        type=number(0, 86_400),
        default=300.0,
        metavar="SECONDS",
        help="that the question may take; default 300",
    )
    add_formats(parser, ("csv", "json"), what="default {}; json is an object per line")
    add_out(parser)
    parser.set_defaults(run=run_query)


def _add_report(kinds: Commands) -> None:
    parser = kinds.add_parser(
        "report",
        help="a corpus summed up on one page",
        description="Where attention goes, when claims about it hold, calibration and surprises, "
        "with intervals, as one HTML file that needs nothing else.",
    )
    parser.add_argument("corpus", metavar="DIR", help="a corpus's folder")
    add_formats(parser, ("html", "json"), what="default {}; json is the figures")
    add_out(parser)
    parser.set_defaults(run=run_report)


def _add_verify(kinds: Commands) -> None:
    parser = kinds.add_parser(
        "verify",
        help="whether a corpus is as it was written",
        description="Read every byte of a corpus and compare it with the digests that were kept. "
        "Exit status 1 where a file is damaged; each is told.",
    )
    parser.add_argument("corpus", metavar="DIR", help="a corpus's folder")
    parser.set_defaults(run=run_verify)


def run_verify(options: argparse.Namespace) -> int:
    from attnlens.cricket.corpus.folder import AGAIN, Corpus

    corpus = Corpus(Path(options.corpus))
    if damage := corpus.damage():
        emit("\n".join(f"{error.path}: {error.problem}" for error in damage), None)
        say(f"{count(len(damage), 'fault')}; {AGAIN}")
        return 1
    parts = corpus.finished().values()
    size = sum(table["bytes"] for part in parts for table in part["tables"].values())
    whole = f"{count(len(parts), 'part')}, {size / 1e6:.1f} MB: every file is as it was written"
    emit(f"{options.corpus}: {whole}", None)
    _tell_unfinished(options.corpus)
    return 0


def run_query(options: argparse.Namespace) -> int:
    from attnlens.cricket.corpus.questions import write_answer

    check_files(options)
    with opened(options.out) as file:
        write_answer(options.corpus, options.sql, file, options.format, options.timeout)
    _tell_unfinished(options.corpus)
    return 0


def run_report(options: argparse.Namespace) -> int:
    import json

    from attnlens.cricket.corpus.report import report_data
    from attnlens.cricket.pages.corpus_page import render_corpus

    check_files(options)
    data = report_data(options.corpus)
    utf8_stdout()
    if options.format == "json":
        emit(json.dumps(data, ensure_ascii=False, allow_nan=False), options.out)
    else:
        emit(render_corpus(data), options.out)
    _tell_unfinished(options.corpus)
    return 0


def _tell_unfinished(folder: str) -> None:
    from attnlens.cricket.corpus.folder import Corpus

    corpus = Corpus(Path(folder))
    manifest = corpus.manifest
    if not manifest["complete"]:
        say(
            f"{folder}: {len(corpus.finished())} of {manifest['parts']} parts are finished; "
            "the answer is of those"
        )


def run_explain(options: argparse.Namespace) -> int:
    from attnlens.cricket.corpus.explain import explain_corpus
    from attnlens.errors import InputError

    if options.address is not None and options.engine != "ray":
        raise InputError("--address is of a Ray cluster", remedy="add --engine ray")
    try:
        done = explain_corpus(
            options.sources,
            options.out,
            model=options.model,
            history=options.history or [],
            evidence=options.evidence,
            each=options.matches_per_part,
            workers=options.workers,
            engine=options.engine,
            address=options.address,
            reading=progress,
            report=lambda now: progress(_told(now)),
        )
    finally:
        progress("")
    damaged = [f"{error.path}: {error.problem}" for error in done.damaged]
    _report(f"{count(len(damaged), 'damaged file')}, made anew:", damaged)
    untaught = [f"{one.file}: {one.problem}" for one in done.untaught]
    _report(f"{count(len(untaught), 'file')} of the history taught nothing:", untaught)
    skipped = [f"{one.file}: {one.problem}" for one in done.skipped]
    _report(f"passed over {len(skipped)} (all in {options.out}/skipped.jsonl):", skipped)
    say(f"{options.out}: {_summary(done)}")
    return 0


def _told(now: Progress) -> str:
    return f"part {now.finished} of {now.parts} | {now.balls:,} balls, {now.rate:,.0f} a second"


def _summary(now: Progress) -> str:
    before = now.finished - now.here
    parts = count(now.parts, "part")
    done = f"{now.here:,} of {parts}" if before else parts
    return (
        f"{done}, {count(now.matches, 'match', 'matches')}, {count(now.balls, 'ball')} in "
        f"{now.seconds:.1f} s ({now.rate:,.0f} a second)"
    )


def _report(heading: str, lines: Sequence[str]) -> None:
    """The first of some lines; nothing where there are none."""
    for line in [heading, *lines[:LISTED]] if lines else ():
        say(line)
