"""``attnlens schema``: the JSON Schema of an explanation."""

from __future__ import annotations

import argparse
from typing import Any

from attnlens.cli.options import add_out
from attnlens.cli.output import emit, utf8_stdout


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "schema",
        help="the JSON Schema of an explanation",
        description="Print the JSON Schema (draft 2020-12) of `explain --format json`.",
    )
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from importlib.resources import files

    # The shipped file is the schema; a test holds it equal to the types, which are slow to load.
    text = files("attnlens.explanation").joinpath("schema.json").read_text(encoding="utf-8")
    utf8_stdout()
    emit(text.rstrip("\n"), options.out)
    return 0
