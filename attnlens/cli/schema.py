"""``attnlens schema``: the JSON Schema of an explanation."""

from __future__ import annotations

import argparse

from attnlens.cli.options import add_out
from attnlens.cli.output import emit, utf8_stdout
from attnlens.cli.parser import Commands


def add_to(commands: Commands) -> None:
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
    text = files("attnlens.cricket.explain").joinpath("schema.json").read_text(encoding="utf-8")
    utf8_stdout()
    emit(text.rstrip("\n"), options.out)
    return 0
