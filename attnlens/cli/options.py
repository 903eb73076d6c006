"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datetime

MAX_COUNT = 999_999
"""Of what is counted where nobody asks for more."""

MAX_SEED = 2**63 - 1


def date(text: str) -> datetime.date:
    """A date such as 2024-10-24."""
    import datetime

    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date like 2024-10-24") from None


def given_options(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of these names that were given, by name."""
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def whole_number(low: int, high: int) -> Any:
    """A whole number within limits, as argparse takes it."""

    def read(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
        return value

    return read


def number(low: int, high: int) -> Any:
    """A number within limits, as argparse takes it."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = low - 1.0
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
        return value

    return read


def add_match(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """``MATCH``, which may be given more than once where ``several``."""
    parser.add_argument(
        "match",
        metavar="MATCH",
        nargs="+" if several else None,
        help="a match file of any format that is read, or ARCHIVE.zip::MEMBER",
    )


def add_ball(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """``MATCH``, ``--ball`` and ``--innings``."""
    add_match(parser, several=several)
    parser.add_argument(
        "--ball",
        metavar="BALL",
        help="47 (delivery, wides and no-balls included), -1, last, 7.4 (the file's label), "
        "legal:47, legal:7.4, 2:47, next (not yet bowled)",
    )
    parser.add_argument("--innings", type=int, metavar="N", help="default 1, of next the last")


def add_days(parser: argparse.ArgumentParser) -> None:
    """``--from`` and ``--until``."""
    parser.add_argument("--from", type=date, dest="first", metavar="DATE", help="from this day on")
    parser.add_argument("--until", type=date, dest="last", metavar="DATE", help="to this day")


def add_sources(parser: argparse.ArgumentParser) -> None:
    """``SRC``, once or more."""
    parser.add_argument("sources", metavar="SRC", nargs="+", help="match files, folders or zips")


def add_on_error(parser: argparse.ArgumentParser) -> None:
    """``--on-error``."""
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="at a file that cannot be read: stop (default), or skip it and say so",
    )


def add_formats(
    parser: argparse.ArgumentParser,
    formats: Sequence[str] = ("text", "json"),
    *,
    help_text: str = "default {}",
) -> None:
    """``--format``, the first being the default, and ``--json`` for short.

    Args:
        help_text: the help of ``--format``, with the default put in.
    """
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help=help_text.format(formats[0])
    )
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="short for --format json",
    )


def add_out(parser: argparse.ArgumentParser) -> None:
    """``--out FILE``."""
    parser.add_argument("--out", metavar="FILE", help="write there instead of to stdout")


def add_model(parser: argparse.ArgumentParser) -> None:
    """``--model``."""
    parser.add_argument(
        "--model", metavar="PATH", help="a checkpoint, or `bundled` (default) or `measured`"
    )


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """``--model`` and ``--history``."""
    add_model(parser)
    add_history(parser)


def add_history(parser: argparse.ArgumentParser, several: str = "") -> None:
    """``--history``, of one source; of ``several`` where that says what they are."""
    default = "matches (a zip, a folder or a file) that bring the ratings to the match's date"
    parser.add_argument(
        "--history", metavar="SRC", nargs="+" if several else None, help=several or default
    )
