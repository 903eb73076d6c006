"""The parser of the command line: it complains in one line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NoReturn, Protocol


class Commands(Protocol):
    """What a command adds itself to."""

    def add_parser(self, name: str, **settings: Any) -> Parser:
        """A parser for the command ``name``."""


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line.

    Attributes:
        commands: the parsers of its commands, by name; empty if it has none.
        groups: the names of the commands under each heading of the help; empty for one list.
    """

    def __init__(self, **settings: Any) -> None:
        self.commands: dict[str, Parser] = {}
        self.groups: dict[str, str] = {}
        # An abbreviation that works today would break when a longer option comes.
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Exit with one line on stderr and status 2."""
        from attnlens.cli.output import complain

        self.exit(complain(f"{message}; see `{self.prog} --help`"))

    def all_arguments(self) -> Iterator[argparse.Action]:
        """The arguments of this parser and of its commands."""
        yield from self._actions
        for parser in self.commands.values():
            yield from parser.all_arguments()

    def format_help(self) -> str:
        """The help, its commands in their groups."""
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
        for heading, names in self.groups.items():
            formatter.start_section(heading)
            formatter.add_arguments([helps[name] for name in names.split()])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        return formatter.format_help()

    def command_group(self, dest: str, *, required: bool = False) -> Commands:
        """Room for commands, the name of the one given under ``dest``."""
        group = self.add_subparsers(
            title="commands", metavar="COMMAND", dest=dest, required=required
        )
        self.commands = group.choices  # by name; it grows
        return group
