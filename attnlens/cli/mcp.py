"""``attnlens mcp``: a Model Context Protocol server over stdio or HTTP."""

from __future__ import annotations

import argparse

from attnlens.cli.options import add_model_options, whole_number
from attnlens.cli.output import say
from attnlens.cli.parser import Commands
from attnlens.cli.sources import session_of
from attnlens.errors import InputError

_HOSTS = ("127.0.0.1", "localhost", "::1")
"""Where only this machine is heard, and for which the SDK refuses the pages of others."""


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "mcp",
        help="a Model Context Protocol server",
        description="Answer a language model's client over the Model Context Protocol: find "
        "matches and balls, explain a ball, ask what if, check a text. Over stdio, or with "
        "--http over streamable HTTP. Only match files inside the folders given are read. Needs "
        "the extra `mcp`.",
    )
    parser.add_argument(
        "folders", metavar="FOLDER", nargs="*", help="a folder of match files that may be read"
    )
    add_model_options(parser)
    parser.add_argument("--http", action="store_true", help="streamable HTTP instead of stdio")
    parser.add_argument("--host", default="127.0.0.1", help="with --http; default 127.0.0.1")
    parser.add_argument(
        "--port", type=whole_number(1, 65535), default=8000, help="with --http; default 8000"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    host = options.host.lower()
    if options.http and host not in _HOSTS:
        raise InputError(
            f"--host {options.host} can be reached from other machines, and the server asks nobody "
            "who they are",
            remedy="use 127.0.0.1, and a proxy that does in front of it",
        )
    try:
        from attnlens.cricket.mcp.server import server_of
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise InputError(
            "the Model Context Protocol's SDK is not installed",
            remedy="pip install 'attnlens[mcp]'",
        ) from None
    from attnlens.cricket.mcp.match_folders import Folders

    folders = Folders(options.folders)
    if not folders.roots:
        say("no folder is given, so no match can be read")
    server = server_of(folders, session_of(options))
    if not options.http:
        server.run("stdio")
        return 0
    say(f"http://{host}:{options.port}/mcp")
    server.run("streamable-http", host=host, port=options.port)
    return 0
