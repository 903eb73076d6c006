"""``attnlens check``: are the numbers and names of a text in an explanation?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from attnlens.cli.options import add_formats, add_out
from attnlens.cli.output import emit, emit_json
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnlens.cricket.words.grounding import Unsupported

MOST_BYTES = 1 << 20
MOST_EXPLANATION = 1 << 26


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="whether the numbers and names of a text are in an explanation",
        description="Look for every number, name, ball label and verdict of a text anywhere in an "
        "explanation. What is not there is listed, each with what comes nearest and its JSON "
        "pointer; the exit status is then 1. Whether a true number stands in the right place is "
        "not read.",
    )
    parser.add_argument(
        "explanation",
        metavar="EXPLANATION.json",
        help="what `attnlens explain --format json` wrote, or - for stdin",
    )
    parser.add_argument("text", metavar="TEXT", help="a file with the text, or - for stdin")
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.explanation == options.text == "-":
        raise InputError("stdin can be one of the two", remedy="give a file for the other")
    from attnlens.files import check_writable

    if options.out is not None:
        check_writable(options.out)
    document = _read(options.explanation, MOST_EXPLANATION)
    text = _read(options.text, MOST_BYTES)
    from attnlens.cricket.words.grounding import check_grounding

    try:
        unsupported = check_grounding(document, text)
    except InputError as error:
        place = _place(options.explanation)
        raise InputError(error.problem, path=place, remedy=error.remedy) from None
    if options.format == "json":
        listed = [entry.to_dict() for entry in unsupported]
        emit_json({"grounded": not unsupported, "unsupported": listed}, options.out)
    else:
        lines = by_sentence(unsupported)
        told = "Every number, name, ball and verdict that was read is in the explanation."
        if lines:
            count = "1 thing is" if len(unsupported) == 1 else f"{len(unsupported)} things are"
            told = f"{count} not in the explanation:"
        emit("\n".join([told, *lines]), options.out)
    return 1 if unsupported else 0


def by_sentence(unsupported: Sequence[Unsupported], mark: str = "") -> list[str]:
    """Each sentence after an empty line and a mark, and under it what is wrong in it."""
    from attnlens.show.safe import clean

    lines: list[str] = []
    sentence = None
    for entry in unsupported:
        if entry.sentence != sentence:
            sentence = entry.sentence
            lines += ["", f"  {mark}{clean(sentence)}"]
        lines.append(f"    {described(entry)}")
    return lines


def described(entry: Unsupported) -> str:
    """What is wrong, and what comes nearest, on one line."""
    from attnlens.show.safe import clean

    near = "" if entry.nearest is None else f"; nearest: {clean(entry.nearest)}"
    place = "" if entry.pointer is None else f" ({entry.pointer})"
    return f'{entry.kind} "{clean(entry.text)}" {entry.problem}{near}{place}'


def _place(path: str) -> str:
    return "stdin" if path == "-" else path


def _read(path: str, most: int) -> str:
    """A file, or what comes from a pipe, as text.

    Raises:
        InputError: it cannot be read, is no UTF-8 text, or is too large.
    """
    from attnlens.files import read_whole

    if path == "-":
        data = sys.stdin.buffer.read(most + 1)
        if len(data) > most:
            raise InputError("is too large", path="stdin", remedy="give a shorter text")
    else:
        data = read_whole(path, most, remedy="give a file of text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "is not UTF-8 text", path=_place(path), remedy="save it as UTF-8"
        ) from None
