"""The commands ``attnlens narrate``, ``check`` and ``mcp``, for use with language models."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from attnlens.cli.arguments import (
    Commands,
    add_formats,
    add_shared,
    session_of,
    whole_number,
)
from attnlens.cli.explain import add_ball_options, explain_named_ball
from attnlens.cli.output import say, show
from attnlens.cli.signals import end_at_once
from attnlens.errors import EndpointError, InputError
from attnlens.files import check_writable, read_whole

if TYPE_CHECKING:
    from attnlens.llm.endpoint import Endpoint
    from attnlens.llm.spot_check import SpotCheck, Statement

_NARRATIVE = "sentence"
_KEY_NAMES = ("ATTNLENS_API_KEY", "OPENAI_API_KEY")
_MAX_TEXT_BYTES = 200_000
_MAX_DATA_BYTES = 1 << 26
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
"""The MCP SDK rejects requests from web pages to servers at these addresses."""


def add_narrate(commands: Commands) -> None:
    parser = commands.add_parser(
        "narrate",
        run=_run_narrate,
        help="let a language model choose and order the sentences of an explanation",
        description="Send the sentences that attnlens wrote about a ball, each with an id, to an "
        "OpenAI-compatible endpoint. Print the sentences that the endpoint chooses, in the order "
        "of the answer. Cautions are always printed. If the answer names no sentence, attnlens "
        "prints its own narrative. The sentences contain the names of players, and are sent to "
        "the address of --base-url. The API key is read from the environment variable "
        "ATTNLENS_API_KEY or, if that is not set, from OPENAI_API_KEY.",
    )
    add_ball_options(parser)
    parser.option(
        "--base-url",
        "URL",
        "the address of the endpoint, such as https://host/v1 or http://localhost:11434/v1",
    )
    parser.option("--llm-model", "NAME", "the name of the language model at the endpoint")
    parser.option("--template", "FILE", "a Jinja template that replaces the built-in prompt")
    parser.flag(
        "--strict",
        "exit with status 1 if an id is unknown or repeated, or if the answer cites no sentence",
    )
    parser.option(
        "--max-tokens",
        "COUNT",
        "the maximum length of the answer in tokens, including reasoning (default 1000)",
        type=whole_number(1, 1_000_000),
        default=1000,
    )
    parser.option(
        "--temperature",
        "T",
        "the sampling temperature of the language model, 0 to 2 (default 0.2)",
        type=float,
        default=0.2,
    )
    parser.option(
        "--timeout",
        "SECONDS",
        "stop waiting if no byte arrives for this many seconds (default 300, because a local "
        "model may start slowly)",
        type=float,
        default=300.0,
    )
    parser.option(
        "--deadline",
        "SECONDS",
        "stop waiting for the complete answer after this many seconds (default 900)",
        type=float,
        default=900.0,
    )


def _run_narrate(options: argparse.Namespace) -> int:
    if not options.base_url:
        raise InputError(
            "--base-url is missing",
            remedy="give the address of an endpoint, such as http://localhost:11434/v1",
        )
    if not options.llm_model:
        raise InputError(
            "--llm-model is missing", remedy="give the name of a model that the endpoint offers"
        )
    if not 0 <= options.temperature <= 2:
        raise InputError(
            "--temperature must be a number from 0 to 2", remedy="give a number such as 0.2"
        )
    endpoint = _endpoint_at(
        options.base_url, options.llm_model, timeout=options.timeout, deadline=options.deadline
    )
    explanation = explain_named_ball(options)
    from attnlens.cricket.words.clauses import clauses_prompt, explanation_clauses
    from attnlens.llm.clause_bank import render_clauses
    from attnlens.llm.endpoint import chosen_ids

    clauses = explanation_clauses(explanation)
    ids: list[str] = []
    problem, cut = "the answer cites no sentence", False
    try:
        ids, cut = chosen_ids(
            endpoint,
            clauses_prompt(explanation, template=options.template).chat,
            clauses,
            max_tokens=options.max_tokens,
            temperature=options.temperature,
        )
    except EndpointError as error:
        if error.status is not None:  # a wrong key, model or path
            raise
        problem = str(error)
    rendered = render_clauses(clauses, ids)
    if cut:
        say("the answer was cut off at the token limit; raise --max-tokens")
    for entry in rendered.dropped:
        say(f"the id {entry.id!r} was dropped: {entry.reason}")
    failed = all(clause.required for clause in rendered.clauses)
    if failed:
        say(f"{problem}; attnlens prints its own narrative instead")
        own = [clause.id for clause in clauses if clause.id.startswith(_NARRATIVE)]
        rendered = render_clauses(clauses, own)
    print(*(clause.text for clause in rendered.clauses), sep="\n")
    return 1 if options.strict and (failed or rendered.dropped) else 0


def _endpoint_at(url: str, model: str, **patience: float) -> Endpoint:
    """The API key comes from the environment, because other users can see command lines."""
    from attnlens.llm.endpoint import Endpoint

    key = next((value for name in _KEY_NAMES if (value := os.environ.get(name, "").strip())), None)
    endpoint = Endpoint(url, model, key=key, **patience)
    if key is not None and not endpoint.sends_key:
        say(
            "the API key was left out, because a plain HTTP connection to another "
            "machine would expose it; use https://"
        )
    return endpoint


def add_check(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        run=_run_check,
        help="compare the numbers and names of a text with a JSON or CSV file",
        description="Compare the numbers and names of a text with data. Each statement of the "
        "text gets one of four answers: borne out, not borne out (the data has a different "
        "number), not in the data, or not read. The exit status is 1 if any statement gets the "
        "answer `not borne out` or `not in the data`.",
    )
    parser.option("facts", "FACTS", "a JSON or CSV file with the data, or - for stdin")
    parser.option("text", "TEXT", "a file with the text, or - for stdin")
    parser.flag("--strict", "also exit with status 1 if no statement could be read")
    add_formats(parser)
    add_shared(parser, "--out")


def _run_check(options: argparse.Namespace) -> int:
    if options.facts == options.text == "-":
        raise InputError(
            "FACTS and TEXT cannot both be read from stdin", remedy="give a file for one of the two"
        )
    from attnlens.cricket.words.grounding import check_grounding

    if options.out is not None:
        check_writable(options.out)
    facts = _read(options.facts, _MAX_DATA_BYTES)
    text = _read(options.text, _MAX_TEXT_BYTES)
    try:
        checked = check_grounding(facts, text)
    except InputError as error:
        raise InputError(error.problem, path=options.facts, remedy=error.remedy) from None
    show(options, checked.to_dict, lambda **_: _render_check(checked))
    if options.strict and not checked.read:
        say("no statement could be read, so nothing was compared")
        return 1
    return 1 if checked.faults else 0


def _render_check(checked: SpotCheck) -> str:
    good = sum(row.answer == "borne out" for row in checked.statements)
    parts = [
        f"{checked.read} of {len(checked.statements)} statements could be read, {good} borne out"
    ]
    for answer in ("not borne out", "not in the data", "not read"):
        rows = [_statement_lines(row) for row in checked.statements if row.answer == answer]
        if rows:
            parts += [f"\n{answer}: {len(rows)}", "\n\n".join(rows)]
    return "\n".join(parts)


def _statement_lines(statement: Statement) -> str:
    from attnlens.render.safe import clean

    nearest = "" if statement.nearest is None else f"; the data has {clean(statement.nearest)}"
    pointer = "" if statement.pointer is None else f" ({clean(statement.pointer)})"
    return f"  {clean(statement.text)}\n    {clean(statement.what)}{nearest}{pointer}"


def _read(path: str, max_bytes: int) -> str:
    if path != "-":
        data = read_whole(path, max_bytes, remedy="give a text file")
    elif len(data := sys.stdin.buffer.read(max_bytes + 1)) > max_bytes:
        raise InputError("is too large", path=path, remedy="give a shorter part of it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path=path, remedy="save it as UTF-8") from None


def add_mcp(commands: Commands) -> None:
    parser = commands.add_parser(
        "mcp",
        run=_run_mcp,
        help="serve matches and explanations to a language model (Model Context Protocol)",
        description="Run a Model Context Protocol server, which lets a language model find "
        "matches and balls, explain a ball, ask what-if questions, and check a text. The server "
        "communicates over stdio, or over streamable HTTP with --http. The server reads only "
        "match files in the given folders. The command needs the extra `mcp`.",
    )
    parser.option("folders", "FOLDER", "a folder whose match files the server may read", nargs="*")
    add_shared(parser, "--model", "--history")
    parser.flag("--http", "serve over streamable HTTP instead of stdio")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="with --http: the address to serve on (default 127.0.0.1)",
    )
    parser.add_argument(
        "--port",
        type=whole_number(1, 65535),
        default=8000,
        help="with --http: the port to serve on (default 8000)",
    )


def _run_mcp(options: argparse.Namespace) -> int:
    host = options.host.lower()
    if options.http and host not in _LOCAL_HOSTS:
        raise InputError(
            f"--host {options.host} can be reached from other machines, but the server "
            "does not check who connects",
            remedy="use 127.0.0.1 behind a proxy that checks who connects",
        )
    try:
        from attnlens.cricket.mcp.server import bound_standard_input, server_of
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise InputError(
            "the MCP SDK (Model Context Protocol) is not installed",
            remedy="run: pip install 'attnlens[mcp]'",
        ) from None
    from attnlens.cricket.mcp.match_folders import Folders

    folders = Folders(options.folders)
    if not folders.roots:
        say(
            "no folder was given, so the server cannot read any match; give the "
            "folders of your match files"
        )
    server = server_of(folders, session_of(options))
    end_at_once()
    if not options.http:
        bound_standard_input()
        server.run("stdio")
        return 0
    say(f"http://{host}:{options.port}/mcp")
    server.run("streamable-http", host=host, port=options.port)
    return 0
