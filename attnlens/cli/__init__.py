"""The command line of attnlens. Large libraries are imported only when a command needs them."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from attnlens._version import VERSION
from attnlens.cli.arguments import Parser
from attnlens.cli.output import complain, drop, serve_any_terminal
from attnlens.cli.signals import Terminated, ending_in_order
from attnlens.errors import AttnlensError
from attnlens.files import system_remedy

DONE, INTERRUPTED = 0, 130

_NO_MEMORY = re.compile(
    "not enough memory|out of memory|allocate memory|failed to map segment|start new thread"
    "|_find_and_load.* NULL"  # an import that failed for lack of memory
)
"""Matches the out-of-memory messages of torch, Python and the library loader."""

_COMPLETION = "--print-completion"
_FILES = ("MATCH", "SRC", "FILE", "PATH", "RECORDING", "EXPLANATION.json", "TEXT", "CSV")
_FOLDERS = ("FOLDER", "DIR")
"""Shell completion offers paths for arguments that have one of these names in the help."""

_REMOVED = {
    "completion": f"run `attnlens {_COMPLETION} bash` (or zsh, tcsh)",
    "corpus": "use `attnlens explain --all SRC ... --out DIR`, and read DIR with DuckDB or pandas",
    "text train": "use `attnlens lab text-train`",
    **{
        name: f"use `attnlens lab {name}`"
        for name in ["train", "ratings", "evaluate", "faithfulness", "heads", "planted", "simulate"]
    },
    "check --judge": "leave the option out: `check` compares only numbers and names",
    "check --llm-model": "leave the option out: `check` compares only numbers and names",
    "dashboard --corpus": "read the Parquet files of the corpus with DuckDB or pandas",
    "explain --references": "use --clauses",
    "lab faithfulness --per-ball": "call `measure` of "
    "attnlens.cricket.lab.attention_faithfulness, which returns each ball",
    "lab simulate --strength": "use `attnlens lab planted`, which simulates matches with known "
    "dependencies",
    "lab train --kind": "use --model",
    "over --overs-model": "use --model",
}
"""Advice for each command or option that version 0.3 removed."""


_COMMANDS = {
    "explain": "explain", "story": "matches", "predict": "matches", "whatif": "matches",
    "over": "matches", "match": "matches", "dashboard": "dashboard",
    "narrate": "language_models", "check": "language_models", "mcp": "language_models",
    "audit": "recordings", "record": "recordings", "view": "recordings",
    "models": "model_internals", "describe": "model_internals", "trace": "model_internals",
    "text": "model_internals", "lab": "lab", "schema": "explain",
}  # fmt: skip
"""The module of `attnlens.cli` that defines each command."""

GROUPS = {
    "a match": "explain story predict whatif over match dashboard narrate check mcp",
    "any model": "record audit view describe trace models text",
    "lab": "lab",
    "others": "schema",
}
"""The commands under each heading of the help, in display order."""


def build_parser() -> Parser:
    """Build the parser of the whole command line."""
    parser = Parser(
        prog="attnlens",
        description="Explain sequence models through their attention, "
        "and check each explanation against the model.",
    )
    parser.add_argument("--version", action="version", version=f"attnlens {VERSION}")
    commands = parser.command_group("command")
    for name, module in _COMMANDS.items():
        getattr(import_module(f"attnlens.cli.{module}"), f"add_{name}")(commands)
    parser.groups = GROUPS
    return parser


def _removed(words: Sequence[str]) -> str | None:
    for name, remedy in _REMOVED.items():
        *command, last = name.split()
        if last.startswith("--"):
            present = any(word.partition("=")[0] == last for word in words)
        else:
            command, present = [*command, last], True
        if present and [*words[: len(command)]] == command:
            return f"`attnlens {name}` was removed in version 0.3; {remedy}"
    return None


def _offer_completion(parser: Parser) -> None:
    import shtab

    shtab.add_argument_to(parser, _COMPLETION)
    places = {**dict.fromkeys(_FILES, shtab.FILE), **dict.fromkeys(_FOLDERS, shtab.DIRECTORY)}
    for action in parser.all_arguments():
        if action.metavar in places:
            action.complete = places[action.metavar]  # type: ignore[attr-defined]  # shtab's name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, as the `attnlens` program does.

    Returns:
        the exit status: 0 for success, 1 for a negative result such as a failed check, 2 for bad
            usage or bad input, 130 for an interruption.
    """
    _open_streams()
    serve_any_terminal()
    with ending_in_order():
        try:
            status = _run(sys.argv[1:] if arguments is None else list(arguments))
            sys.stdout.flush()
            return status
        except Terminated:
            raise
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception as error:
            return _failed(error)


def _failed(error: Exception) -> int:
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:  # from anyio's tasks
        error = error.exceptions[0]
    if isinstance(error, AttnlensError):
        return complain(_with_remedy(error))
    if isinstance(error, BrokenPipeError):
        # The program that read stdout, such as `head`, has closed it.
        drop(sys.stdout)
        return DONE
    if isinstance(error, OSError):
        # If the disk is full, part of stdout is unwritten. Python would report this again at exit.
        drop(sys.stdout)
        # An error in writing to stdout has no file name.
        no_room = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        reason, name = error.strerror or error, error.filename or ("stdout" if no_room else None)
        location = f"{name}: " if name else ""
        remedy = system_remedy(
            error.errno, "check that the path exists and that you have permission to use it"
        )
        return complain(f"{location}cannot be written or read ({reason}); {remedy}")
    if os.environ.get("ATTNLENS_DEBUG"):
        raise error
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        detail = f" ({error})" if str(error) else ""
        return complain(
            f"there is not enough memory{detail}; free memory, or raise the limit (ulimit -v)"
        )
    return complain(
        "this is a bug in attnlens, not an error in your input "
        f"({type(error).__name__}: {error}); set ATTNLENS_DEBUG=1 to see the "
        "traceback, and report the bug"
    )


def _run(words: list[str]) -> int:
    if not _has_folder():
        # Without a current folder, relative paths are invalid and torch cannot be loaded.
        return complain(
            "the current folder was deleted; change to another folder, and run the command again"
        )
    try:
        parser = build_parser()
        if _COMPLETION in words:
            _offer_completion(parser)
        elif removed := _removed(words):
            return complain(removed)
        options = parser.parse_args(words)
        if options.command is None:
            parser.print_help()
            return DONE
        status: int = options.run(options)
        return status
    except SystemExit as stop:  # argparse has already printed the reason
        return stop.code if isinstance(stop.code, int) else DONE


def _has_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _open_streams() -> None:
    """Open the null device for each closed standard stream, which Python sets to None.

    The order of the streams gives them the file descriptors 0, 1 and 2.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _with_remedy(error: AttnlensError) -> str:
    from attnlens.cricket.errors import MatchFileError

    if not isinstance(error, MatchFileError) or error.remedy:
        return str(error)
    if error.line is not None:
        return f"{error}; correct that line, or fetch the file again"
    return f"{error}; give a match file from Cricsheet (JSON or CSV2)"
