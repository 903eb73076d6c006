"""``attnlens check``: is a text about a ball borne out by its explanation?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import add_formats, add_out
from attnlens.cli.output import can_draw, emit, emit_json
from attnlens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnlens.explanation.grounding import Unsupported

MOST_BYTES = 1 << 20
MOST_EXPLANATION = 1 << 26


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "check",
        help="whether a text about a ball is borne out by its explanation",
        description="Look for every number, name, ball, outcome and verdict of a text in an "
        "explanation, where its words say that it must be. What is not there is listed, each with "
        "the nearest true value and its JSON pointer; the exit status is then 1.",
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
    from attnlens.explanation.grounding import Checker

    try:
        checker = Checker(document)
    except InputError as error:
        place = "stdin" if options.explanation == "-" else options.explanation
        raise InputError(error.problem, path=place, remedy=error.remedy) from None
    found = checker.check(text)
    if options.format == "json":
        data = {"grounded": not found, "unsupported": [one.to_dict() for one in found]}
        emit_json(data, options.out)
    else:
        can_draw()
        emit("\n".join(lines_of(found)), options.out)
    return 1 if found else 0


def lines_of(found: Sequence[Unsupported]) -> list[str]:
    """What was found, for people: a sentence, and what is wrong in it."""
    from attnlens.render.canvas import clean

    if not found:
        return ["Everything in the text is in the explanation."]
    count = "1 thing is" if len(found) == 1 else f"{len(found)} things are"
    lines = [f"{count} not in the explanation:"]
    sentence = None
    for one in found:
        if one.sentence != sentence:
            sentence = one.sentence
            lines += ["", f"  {clean(sentence)}"]
        lines.append(f"    {described(one)}")
    return lines


def described(one: Unsupported) -> str:
    """What is wrong, and what would be true, on one line."""
    from attnlens.render.canvas import clean

    near = "" if one.nearest is None else f"; nearest: {clean(one.nearest)}"
    place = "" if one.pointer is None else f" ({one.pointer})"
    return f'{one.kind} "{clean(one.text)}" {one.problem}{near}{place}'


def _read(path: str, most: int) -> str:
    """A file as text.

    Raises:
        InputError: it cannot be read, is no UTF-8 text, or is too large.
    """
    place = "stdin" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(most + 1)
    except OSError as error:
        said = error.strerror or str(error)
        raise InputError(f"cannot be read ({said})", path=place, remedy="give a file") from None
    if len(data) > most:
        raise InputError(f"is larger than {most >> 20} MB", path=place, remedy="give a shorter one")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path=place, remedy="save it as UTF-8") from None
