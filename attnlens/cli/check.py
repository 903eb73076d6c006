"""``check``: a spot check of the numbers and names of a text."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from attnlens.cli.options import add_formats, add_out
from attnlens.cli.output import emit, emit_json, say
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.llm.spot_check import Statement

_MAX_TEXT_BYTES = 200_000
_MAX_DATA_BYTES = 1 << 26


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="a spot check of a text's numbers and names against a JSON or CSV",
        description="Compare the numbers and names of a text with data. Each statement is borne "
        "out, not borne out (the data contradicts a number), not in the data, or not read; the "
        "exit status is 1 if one is not borne out.",
    )
    parser.add_argument("facts", metavar="FACTS", help="a JSON or CSV file, or - for stdin")
    parser.add_argument("text", metavar="TEXT", help="a file with the text, or - for stdin")
    parser.add_argument(
        "--strict", action="store_true", help="exit status 1 also if no statement was read"
    )
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.facts == options.text == "-":
        raise InputError("stdin can be one of the two", remedy="give a file for the other")
    from attnlens.cricket.words.grounding import check_grounding
    from attnlens.files import check_writable

    if options.out is not None:
        check_writable(options.out)
    facts = _read(options.facts, _MAX_DATA_BYTES)
    text = _read(options.text, _MAX_TEXT_BYTES)
    try:
        checked = check_grounding(facts, text)
    except InputError as error:
        raise InputError(error.problem, path=options.facts, remedy=error.remedy) from None
    if options.format == "json":
        emit_json(checked.to_dict(), options.out)
    else:
        parts = [f"{checked.read} of {len(checked.statements)} statements read"]
        for answer in ("not borne out", "not in the data", "not read"):
            rows = [_statement_lines(row) for row in checked.statements if row.answer == answer]
            if rows:
                parts += [f"\n{answer}: {len(rows)}", "\n\n".join(rows)]
        emit("\n".join(parts), options.out)
    if options.strict and not checked.read:
        say("no statement was read: nothing is borne out")
        return 1
    return 1 if checked.faults else 0


def _statement_lines(statement: Statement) -> str:
    """A statement, and below it what decided the answer and what the data holds instead."""
    from attnlens.render.safe import clean

    nearest = "" if statement.nearest is None else f"; the facts hold {clean(statement.nearest)}"
    pointer = "" if statement.pointer is None else f" ({clean(statement.pointer)})"
    return f"  {clean(statement.text)}\n    {clean(statement.what)}{nearest}{pointer}"


def _read(path: str, max_bytes: int) -> str:
    """A file, or what comes from a pipe, as text.

    Raises:
        InputError: it cannot be read, is no UTF-8 text, or is too large.
    """
    from attnlens.files import read_whole

    stdin = path == "-"
    data = (
        sys.stdin.buffer.read(max_bytes + 1)
        if stdin
        else read_whole(path, max_bytes, remedy="give text")
    )
    if len(data) > max_bytes:
        raise InputError("is too large", path=path, remedy="give a part of it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path=path, remedy="save it as UTF-8") from None
