"""``check``: which statements of a text the facts bear out."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from attnlens.cli.options import add_formats, add_out
from attnlens.cli.output import emit, emit_json, say
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.llm.grounding import Statement

MOST_TEXT = 200_000
MOST_FACTS = 1 << 26


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="which statements of a text a JSON or CSV bears out",
        description="Read a text against facts. Each statement is borne out, not borne out, or "
        "not read; the exit status is 1 if one is not borne out.",
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
    facts = _read(options.facts, MOST_FACTS)
    text = _read(options.text, MOST_TEXT)
    try:
        checked = check_grounding(facts, text)
    except InputError as error:
        raise InputError(error.problem, path=options.facts, remedy=error.remedy) from None
    if options.format == "json":
        emit_json(checked.to_dict(), options.out)
    else:
        told = [f"{checked.read} of {len(checked.statements)} statements read"]
        for answer in ("not borne out", "not read"):
            if listed := [_shown(one) for one in checked.statements if one.answer == answer]:
                told += [f"\n{answer}: {len(listed)}", "\n\n".join(listed)]
        emit("\n".join(told), options.out)
    if options.strict and not checked.read:
        say("no statement was read: nothing is borne out")
        return 1
    return 1 if checked.faults else 0


def _shown(one: Statement) -> str:
    """A statement, and under it what was found or is wrong, and what the facts hold instead."""
    from attnlens.render.safe import clean

    near = "" if one.nearest is None else f"; the facts hold {clean(one.nearest)}"
    place = "" if one.pointer is None else f" ({clean(one.pointer)})"
    return f"  {clean(one.text)}\n    {clean(one.what)}{near}{place}"


def _read(path: str, most: int) -> str:
    """A file, or what comes from a pipe, as text.

    Raises:
        InputError: it cannot be read, is no UTF-8 text, or is too large.
    """
    from attnlens.files import read_whole

    stdin = path == "-"
    data = sys.stdin.buffer.read(most + 1) if stdin else read_whole(path, most, remedy="give text")
    if len(data) > most:
        raise InputError("is too large", path=path, remedy="give a part of it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path=path, remedy="save it as UTF-8") from None
