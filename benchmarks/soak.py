"""Whether memory and open files stay flat: many balls, changes of the dashboard, calls over MCP.

    python benchmarks/soak.py match.json [match.json ...] [--balls 2000 --changes 1000 --calls 1000]

Each part is a process of its own, seen through /proc (Linux) when its caches are full, after two
fifths of its work, and at the end. Exit 1 where resident memory has grown by more than a quarter
and 64 MB, or by any open file. Balls are explained with their tests, one session for all; changes
are what a page asks for of one ball after the other, its tests among it; calls go round the tools.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from dashboard_server import serving  # noqa: E402

from attnlens.cricket.match.naming import BallReference  # noqa: E402
from attnlens.cricket.readers import read_match  # noqa: E402
from attnlens.cricket.session import Session  # noqa: E402

WARM, GROWN, FLOOR = 0.4, 1.25, 64e6


def memory_and_files(process: int) -> tuple[float, int]:
    """Bytes that a process holds, and how many files it has open."""
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return 1024.0 * int(kilobytes), len(os.listdir(f"/proc/{process}/fd"))


def balls_of(paths: list[str]) -> list[tuple[Path, str, int, int]]:
    """Of each innings every ball: file, match, innings, ball."""
    balls = []
    for path in paths:
        match = read_match(path)
        for side in match.innings[:2]:
            for at in range(1, len(side.deliveries) + 1):
                balls.append((Path(path), match.match_id, side.number, at))
    return balls


def watched(name: str, process: int, count: int, step: Callable[[int], Any]) -> bool:
    """Steps taken, memory and files told; whether they stayed flat."""
    begun, before = time.perf_counter(), (0.0, 0)
    for at in range(count):
        if at == int(WARM * count):
            before = memory_and_files(process)
        step(at)
    return report(name, count, time.perf_counter() - begun, before, memory_and_files(process))


def soak_balls(paths: list[str], count: int) -> bool:
    session, balls = Session(None), balls_of(paths)
    matches = {path: session.read(path) for path in dict.fromkeys(path for path, *_ in balls)}

    def step(at: int) -> None:
        path, _, innings, ball = balls[at % len(balls)]
        session.explain(matches[path], ball=BallReference(innings, ball))

    return watched("balls", os.getpid(), count, step)


def soak_changes(paths: list[str], count: int) -> bool:
    balls = balls_of(paths)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), *paths) as server:

        def step(at: int) -> None:
            _, match, innings, ball = balls[at % len(balls)]
            server.json(f"/data/{match}/{innings}/balls.json")
            server.explanation(f"{match}/{innings}/{ball}")

        return watched("changes", server.process.pid, count, step)


def soak_calls(paths: list[str], count: int) -> bool:
    import anyio
    from mcp import StdioServerParameters
    from mcp.client import Client

    balls = balls_of(paths)
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            shutil.copy(path, folder)
        name = Path(folder).name

        def calls_in_turn() -> Iterator[tuple[str, dict[str, Any]]]:
            for path, _, innings, ball in itertools.cycle(balls):
                where = {"match": f"{name}/{path.name}", "ball": f"{innings}:{ball}"}
                yield "explain_ball", {**where, "evidence": False}
                yield "find_balls", {"match": where["match"], "outcome": "W"}
                yield "check_text", {**where, "text": "The chance of a six is 5%."}
                yield "list_matches", {}

        async def talk() -> bool:
            words = [sys.executable, "-m", "attnlens", "mcp", folder]
            server = StdioServerParameters(command=words[0], args=words[1:], cwd=REPOSITORY)
            async with Client(server) as client:
                await client.call_tool("list_matches", {})
                children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
                process = int(children.split()[-1])
                calls, before, begun = calls_in_turn(), (0.0, 0), time.perf_counter()
                for at in range(count):
                    if at == int(WARM * count):
                        before = memory_and_files(process)
                    tool, arguments = next(calls)
                    result = await client.call_tool(tool, arguments)
                    assert not result.is_error, result.content
                after = memory_and_files(process)
                return report("calls", count, time.perf_counter() - begun, before, after)

        return bool(anyio.run(talk))


def report(
    name: str, count: int, seconds: float, before: tuple[float, int], after: tuple[float, int]
) -> bool:
    """Prints a part's line; whether memory and files stayed flat."""
    flat = after[0] <= max(GROWN * before[0], before[0] + FLOOR) and after[1] <= before[1]
    first, last = (f"{size / 1e6:.0f} MB, {files} files" for size, files in (before, after))
    print(f"{name:8} {count:6,} {seconds:6.0f} s  {first} -> {last}: {'flat' if flat else 'GROWN'}")
    return flat


PARTS = {"balls": soak_balls, "changes": soak_changes, "calls": soak_calls}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("matches", nargs="+", metavar="MATCH")
    parser.add_argument("--balls", type=int, default=2000, metavar="N", help="0: none")
    parser.add_argument("--changes", type=int, default=1000, metavar="N", help="0: none")
    parser.add_argument("--calls", type=int, default=1000, metavar="N", help="0: none")
    options = parser.parse_args()
    flat = True
    for name, part in PARTS.items():
        if count := getattr(options, name):
            flat = part(options.matches, count) and flat
    return int(not flat)


if __name__ == "__main__":
    sys.exit(main())
