"""``attnlens completion``: what a shell needs to complete commands, options and file names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from attnlens.cli.parser import Commands, Parser

FILES = frozenset(
    {"MATCH", "SRC", "FILE", "PATH", "RECORDING", "EXPLANATION.json", "TEXT", "CHECKPOINT", "CSV"}
)
"""What stands for a file, or may."""

FOLDERS = frozenset({"FOLDER", "DIR"})

HOW = """\
bash: echo 'eval "$(attnlens completion bash)"' >> ~/.bashrc
zsh: attnlens completion zsh > "${fpath[1]}/_attnlens" (before compinit runs)
tcsh: attnlens completion tcsh > ~/.attnlens.completion, and source it in ~/.tcshrc"""


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "completion",
        help="print what makes a shell complete commands, options and files",
        description="Print the script that makes a shell complete attnlens.",
        epilog=HOW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import shtab

    parser: Parser = options.whole
    for action in _every_argument(parser):
        if action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab looks for it
        elif action.metavar in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    print(shtab.complete(parser, options.shell))
    return 0


def _every_argument(parser: Parser) -> Iterator[argparse.Action]:
    yield from parser.taken
    for below in parser.commands.values():
        yield from _every_argument(below)
