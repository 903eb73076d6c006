"""The command line. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from attnlens._version import VERSION
from attnlens.errors import AttnlensError

DONE, NO, BAD, INTERRUPTED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD, f"attnlens: {message}; see `{self.prog} --help`\n")


def build_parser() -> Parser:
    """The whole command line."""
    from attnlens.cli import explain, match, predict, schema, simulate, train

    parser = Parser(
        prog="attnlens",
        description="Explain sequence models through their attention, "
        "and check each explanation against the model.",
    )
    parser.add_argument("--version", action="version", version=f"attnlens {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for module in (explain, predict, match, train, simulate, schema):
        module.add_to(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0 done; 1 done, and the answer is no; 2 bad usage or bad input; 130 interrupted.
    """
    try:
        parser = build_parser()
        from attnlens.cli.settings import apply_settings

        apply_settings(parser)
        options = parser.parse_args(arguments)
        if options.command is None:
            parser.print_help()
            return DONE
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except AttnlensError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has seen enough; nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if os.environ.get("ATTNLENS_DEBUG"):
            raise
        return _complain(
            f"a fault of ours, not of your input ({type(error).__name__}: {error}); "
            "set ATTNLENS_DEBUG=1 to see where, and report it"
        )


def _complain(text: str) -> int:
    line = " ".join(text.split())
    print(f"attnlens: {line}", file=sys.stderr)
    return BAD
