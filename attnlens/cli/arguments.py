"""Parse command-line arguments, and find the ball that the arguments name."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from attnlens.cli.output import complain, progress, say

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from attnlens.cricket.match.match import Match
    from attnlens.cricket.match.naming import BallReference
    from attnlens.cricket.session import Session

MAX_COUNT = 999_999
"""The largest value of a count, such as ``--balls``."""

MAX_SEED = 2**63 - 1


class Commands(Protocol):
    """A group of commands."""

    def add_parser(self, name: str, **settings: Any) -> Parser:
        """Add a parser for the command ``name``."""


class Parser(argparse.ArgumentParser):
    """An argument parser that prints each error message on one line.

    Args:
        run: runs the command with the parsed options, and returns the exit status.

    Attributes:
        commands: the parser of each command.
        groups: the commands under each heading of the help, separated by spaces. Without groups,
            the help has one list of commands.
    """

    def __init__(
        self, *, run: Callable[[argparse.Namespace], int] | None = None, **settings: Any
    ) -> None:
        self.commands: dict[str, Parser] = {}
        self.groups: dict[str, str] = {}
        # An abbreviation that works today would become ambiguous when a similar option is added.
        super().__init__(allow_abbrev=False, **settings)
        if run is not None:
            self.set_defaults(run=run)

    def option(self, name: str, metavar: str, text: str, **settings: Any) -> None:
        """Add an argument that has a value. ``text`` is the help of the argument."""
        self.add_argument(name, metavar=metavar, help=text, **settings)

    def flag(self, name: str, text: str) -> None:
        """Add an option without a value. ``text`` is the help of the option."""
        self.add_argument(name, action="store_true", help=text)

    def error(self, message: str) -> NoReturn:
        """Print the message as one line on stderr, and exit with status 2."""
        self.exit(complain(f"{message}; see `{self.prog} --help`"))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Unlike argparse, raise an error if printing fails."""
        print(message, end="", file=file, flush=True)

    def all_arguments(self) -> Iterator[argparse.Action]:
        """Yield the arguments of this parser and of its commands."""
        yield from self._actions
        for parser in self.commands.values():
            yield from parser.all_arguments()

    def format_help(self) -> str:
        """Return the help, with the commands listed under the headings of ``groups``."""
        if not self.groups:
            return super().format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        helps = {
            entry.dest: entry
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
            for entry in action._choices_actions
        }
        sections = {
            heading: [helps[name] for name in names.split()]
            for heading, names in self.groups.items()
        }
        sections["options"] = [action for action in self._actions if action.option_strings]
        for heading, actions in sections.items():
            formatter.start_section(heading)
            formatter.add_arguments(actions)
            formatter.end_section()
        return formatter.format_help()

    def command_group(self, dest: str, *, required: bool = False) -> Commands:
        """Add a group of commands. The option ``dest`` receives the name of the chosen command."""
        group = self.add_subparsers(
            title="commands", metavar="COMMAND", dest=dest, required=required
        )
        self.commands = group.choices  # a dict by name; a command that is added later appears in it
        return group


def date(text: str) -> datetime.date:
    """Parse a date such as 2024-10-24."""
    import datetime

    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2024-10-24") from None


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Return an argparse type that accepts integers from ``low`` to ``high``."""

    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")

    return read


def number(low: int, high: int) -> Callable[[str], float]:
    """Return an argparse type that accepts numbers from ``low`` to ``high``."""

    def read(text: str) -> float:
        with suppress(ValueError):
            if low <= float(text) <= high:
                return float(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")

    return read


_SHARED: Mapping[str, Any] = {
    "match": {
        "metavar": "MATCH",
        "help": "a match file in any supported format, or ARCHIVE.zip::MEMBER",
    },
    "sources": {"metavar": "SRC", "nargs": "+", "help": "match files, folders or zip files"},
    "--ball": {
        "metavar": "BALL",
        "help": "the ball: 47 (the 47th delivery, counting wides and no-balls), -1 or "
        "last, 7.4 (the file's label), legal:47 or legal:7.4 (counting only legal "
        "balls), 2:47 (innings 2), next (not yet bowled)",
    },
    "--innings": {
        "type": int,
        "metavar": "N",
        "help": "the innings, counted from 1 (default 1; with --ball next, the last innings)",
    },
    "--model": {
        "metavar": "PATH",
        "help": "a checkpoint file, or the name `bundled` (default) or `measured`",
    },
    "--history": {
        "metavar": "SRC",
        "help": "a zip, folder or file of earlier matches, used to update the ratings up to the "
        "match's date",
    },
    "--no-evidence": {
        "action": "store_true",
        "help": "do not hide any input, which is faster but leaves the claims untested",
    },
    "--from": {
        "type": date,
        "dest": "first",
        "metavar": "DATE",
        "help": "use only matches on or after this day",
    },
    "--until": {
        "type": date,
        "dest": "last",
        "metavar": "DATE",
        "help": "use only matches on or before this day",
    },
    "--on-error": {
        "choices": ("stop", "skip"),
        "default": "stop",
        "help": "what to do when a file cannot be read: stop (default), or skip and report the "
        "file",
    },
    "--out": {"metavar": "FILE", "help": "write the output to this file (default: stdout)"},
}


def add_shared(parser: Parser, *names: str, **changes: Any) -> None:
    """Add the named shared arguments, with the settings in ``changes``."""
    for name in names:
        parser.add_argument(name, **{**_SHARED[name], **changes})


def add_formats(
    parser: Parser,
    formats: Sequence[str] = ("text", "json"),
    *,
    help_text: str = "the output format (default {})",
) -> None:
    """Add the options ``--format``, ``--json`` and ``--ascii``.

    Args:
        formats: the values of ``--format``, the default first.
        help_text: the help of ``--format``, with ``{}`` for the default.
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
    parser.flag(
        "--ascii",
        "print only ASCII characters in the text format (the default when the terminal supports "
        "only ASCII)",
    )


def given_options(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the values of the named options that the user gave."""
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def session_of(options: argparse.Namespace, cache: Path | None = None) -> Session:
    """Return a session for ``--model`` and ``--history``, with explanations stored in ``cache``."""
    from attnlens.cricket.session import Session

    return Session(options.model, options.history, cache=cache, report=progress, tell=say)


def ball_of(session: Session, options: argparse.Namespace) -> tuple[Match, BallReference]:
    """Return the match and the ball given by ``MATCH``, ``--ball`` and ``--innings``.

    If ``--ball`` is missing or matches several balls, choose a ball and print the choice on stderr.

    Raises:
        AttnlensError: the file cannot be read, or the match has no such ball.
    """
    from attnlens.cricket.match.naming import balls_of

    match = session.read(options.match)
    with balls_of(options.match):
        if options.ball is None:
            reference, why = session.decisive_ball(match, options.innings)
            say(why)
        else:
            reference = session.find(match, options.ball, options.innings)
            tell_names(match, {options.ball: reference})
        return session.ball(match, reference, batter=options.batter, bowler=options.bowler)


def tell_names(match: Match, balls: Mapping[str, BallReference]) -> None:
    """For each name that matches several balls, print the chosen ball on stderr."""
    from attnlens.cricket.match.naming import hint

    for name, ball in balls.items():
        if note := hint(match, name, ball):
            say(note)
