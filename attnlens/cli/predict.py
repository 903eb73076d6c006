"""``attnlens predict``: the outcome probabilities of every delivery."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from attnlens.cli.options import add_model_options, add_on_error
from attnlens.cli.output import check_files, opened, progress, report_skipped
from attnlens.cli.parser import Commands
from attnlens.cli.sources import session_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.match.match import Match
    from attnlens.cricket.predictor.window import Row
    from attnlens.cricket.session import Session

_ROWS_AT_ONCE = 20_000


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "predict",
        help="the outcome probabilities of every delivery",
        description="One row per delivery: which ball, what happened, and the probability "
        "the model gave to each of the eleven outcomes.",
    )
    parser.add_argument(
        "matches", metavar="MATCH", nargs="+", help="match files, folders or Cricsheet zips"
    )
    add_model_options(parser)
    parser.add_argument("--out", metavar="FILE", help="a .csv or .parquet file (default: stdout)")
    add_on_error(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    suffix = os.path.splitext(options.out)[1].lower() if options.out else ".csv"
    if suffix not in (".csv", ".parquet"):
        raise InputError(
            f"cannot write {suffix or 'a file without a suffix'}",
            path=options.out,
            remedy="end it in .csv or .parquet",
        )
    from attnlens.cricket.readers import read_matches
    from attnlens.files import written_beside

    check_files(options)
    session = session_of(options)
    session.predictor  # noqa: B018  # a wrong --model is told before anything is read
    skipped: list[MatchFileError] = []

    def chosen() -> Iterator[Match]:
        for source in options.matches:
            yield from read_matches(source, on_error=options.on_error, skipped=skipped)

    rows = _rows(chosen(), session)
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
    """Rows of every match; in order of date where ratings have to be brought up to it."""
    import datetime

    if session.history is not None:
        # Ratings only move forward, so all matches are read before the first is predicted.
        matches = sorted(matches, key=lambda m: (m.date or datetime.date.min, m.match_id))
    number = 0
    for number, match in enumerate(matches, 1):
        progress(f"match {number}: {match.match_id}")
        yield from session.rows(match)
    if not number:
        raise InputError("no match left to predict", remedy="give other files")


def _write_csv(rows: Iterable[Row], file: TextIO) -> None:
    import csv

    from attnlens.cricket.predictor.window import COLUMNS
    from attnlens.render.safe import cell

    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    head = True
    for row in rows:
        if head:
            writer.writeheader()
            head = False
        writer.writerow({name: cell(value) for name, value in row.items()})


_CHANCES = ("p_", "win_")


def _write_parquet(rows: Iterable[Row], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    from attnlens.cricket.predictor.window import COLUMNS

    kinds = dict.fromkeys(("innings", "index", "free_hit"), pyarrow.int32())
    schema = pyarrow.schema(
        (
            name,
            kinds.get(name, pyarrow.float64() if name.startswith(_CHANCES) else pyarrow.string()),
        )
        for name in COLUMNS
    )
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        waiting: list[Row] = []
        for row in rows:
            waiting.append(row)
            if len(waiting) == _ROWS_AT_ONCE:
                writer.write_table(pyarrow.Table.from_pylist(waiting, schema))
                waiting = []
        writer.write_table(pyarrow.Table.from_pylist(waiting, schema))
