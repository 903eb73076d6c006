"""The commands that pages show, answered by forks of one process that has imported torch.

    python tests/page_commands.py SOCKET        # serves until it is ended

A shell finds `attnlens`, `python`, `torchrun`, `llm` and `duckdb` as `stand_ins` on its PATH. Each
passes its words, its environment and its three streams to the server. The server forks, and the
child runs the command as the real executable would: without the two seconds of every import. The
environment says what becomes of a command:

- ``PAGE_MODE=run``: it runs. A command that stays until it is interrupted gets a free port, and is
  interrupted after its first line.
- ``PAGE_MODE=parse``: it ends with status 0 once it has parsed its options.
- ``PAGE_MODE=words``: nothing runs.

Each command appends its words to ``PAGE_LOG``, one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

NAMES = ("attnlens", "python", "torchrun", "llm", "duckdb")
STAYING = ("dashboard", "--http", "--follow")
"""A word of each command that stays until it is interrupted."""

CLIENT = """#!{python} -ISE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    asked = {{"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}}
    data = json.dumps(asked).encode()
    socket.send_fds(server, [len(data).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(data)
    status = server.recv(1)
sys.exit(status[0] if status else 70)
"""


def stand_ins(folder: Path, address: Path) -> None:
    """Write the executables that pass their words to the server at ``address``."""
    text = CLIENT.format(python=sys.executable, address=str(address))
    for name in NAMES:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)


def serve(address: str) -> NoReturn:
    import pandas  # noqa: F401
    import torch

    import attnlens.cli
    import attnlens.cricket.session
    from attnlens.cricket.lab import simulator

    simulator.OVERS = 5  # a whole match would take a page half a minute
    attnlens.cli.build_parser()
    torch.set_num_threads(1)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(16)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        while True:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    listening.close()
                    _answer(connection)


def _answer(connection: socket.socket) -> NoReturn:
    """Run the command that is asked for in a child, and send its status."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as data:
        asked = json.loads(data.read(int.from_bytes(size, "big")))
    words, environment = asked["words"], asked["environment"]
    staying = environment["PAGE_MODE"] == "run" and any(word in STAYING for word in words)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        if staying:
            os.dup2(writing, 2 if "--http" in words else 1)
        for stream in (*streams, reading, writing):
            os.close(stream)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(environment)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os._exit(_status([*words, *_port(words)] if staying else words))
    os.close(writing)
    if staying:
        with open(reading, "rb") as lines:
            shown = streams[2 if "--http" in words else 1]
            os.write(shown, lines.readline())
            os.kill(child, signal.SIGINT)
            os.write(shown, lines.read())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 128 - status if status < 0 else status
    with open(environment["PAGE_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps(words) + "\n")
    with contextlib.suppress(OSError):
        connection.sendall(bytes([0 if staying and status == 130 else status]))
    os._exit(0)


def _port(words: list[str]) -> list[str]:
    """The options of a free port, for a command that listens."""
    if "--follow" in words and "dashboard" not in words:
        return []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return ["--port", str(free.getsockname()[1])]


def _status(words: list[str]) -> int:
    """The exit status of a command that runs in this process."""
    # The first names keep the streams open where a command puts another in their place.
    sys.__stdin__ = sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.__stdout__ = sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.__stderr__ = sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    status: Any = 0
    try:
        if os.environ["PAGE_MODE"] == "parse":
            _end_after_parsing()
        if os.environ["PAGE_MODE"] != "words":
            _run(*words)
    except SystemExit as end:
        status = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = status or 128 + signal.SIGPIPE
    return status or 0


def _end_after_parsing() -> None:
    parse = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, *arguments: Any, **more: Any) -> NoReturn:
        parse(self, *arguments, **more)
        raise SystemExit(0)

    argparse.ArgumentParser.parse_args = parse_args  # type: ignore[method-assign, assignment]


def _run(name: str, *words: str) -> None:
    if name == "attnlens":
        from attnlens.cli import main

        sys.argv = [name, *words]
        sys.exit(main())
    elif name == "torchrun":  # each of its processes would parse the same words
        _python(*words[words.index("-m") :])
    elif name == "python":
        _python(*words)
    elif name == "llm":  # a program that reads a prompt and answers
        if not sys.stdin.read().strip():
            sys.exit("llm: no prompt")
        print("An answer.")
    else:
        import duckdb

        option, query = words
        assert option == "-c"
        print(duckdb.sql(query))


def _python(option: str, *words: str) -> None:
    if option == "-c":
        sys.argv, sys.path[0] = ["-c", *words[1:]], ""
        exec(compile(words[0], "-c", "exec"), {"__name__": "__main__"})
    elif option == "-m":
        sys.argv, sys.path[0] = [*words], ""
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        script = Path(option).read_text(encoding="utf-8")
        if os.environ["PAGE_MODE"] == "parse" and "parse_args" not in script:
            return  # its words are read as it goes
        sys.argv, sys.path[0] = [option, *words], os.path.dirname(option)
        runpy.run_path(option, run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
