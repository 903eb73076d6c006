"""The parser of the command line: it complains in one line, and tells what it takes."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn, Protocol


class Commands(Protocol):
    """What a command adds itself to."""

    def add_parser(self, name: str, **settings: Any) -> Parser:
        """A parser for the command ``name``."""


class Parser(argparse.ArgumentParser):
    """A parser that keeps what it takes.

    Attributes:
        taken: what `add_argument` returned, in order; ``--help`` is not among them.
        commands: the commands below, by name; empty where it is one itself.
    """

    def __init__(self, **settings: Any) -> None:
        self.taken: list[argparse.Action] = []
        self.commands: dict[str, Parser] = {}
        # An abbreviation that works today would break when a longer option comes.
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Exit with one line on stderr and status 2."""
        from attnlens.cli.output import complain

        self.exit(complain(f"{message}; see `{self.prog} --help`"))

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """As argparse has it."""
        action = super().add_argument(*names, **settings)
        if action.dest != "help":
            self.taken.append(action)
        return action

    def command_group(self, dest: str, *, required: bool = False) -> Commands:
        """Room for commands, the name of the one given under ``dest``."""
        group = self.add_subparsers(
            title="commands", metavar="COMMAND", dest=dest, required=required
        )
        self.commands = group.choices  # by name; it grows
        return group
