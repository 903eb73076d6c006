"""CPU of a cold ``attnlens explain``, and of asking again, beside that of importing torch alone.

::

    python benchmarks/cold_explain.py [--match MATCH] [--ball 47] [--runs 7]

Each round runs every command once, so that a busy machine is busy for all of them alike. CPU
is user and system time of the child process. A ratio is taken within its round; the table
gives the median of the rounds and their range. Asked again, an answer comes from a folder of
this run's own. Exit 1 where a median is over its budget.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data" / "match.csv"


def cpu_seconds(words: list[str]) -> float:
    """User and system time of one child, its output thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def within_budgets(
    commands: dict[str, list[str]], budgets: list[tuple[str, str, float]], rounds: int
) -> bool:
    """Time every command and print the table; whether each is within its budget.

    Args:
        budgets: a command, another, and how many times the other's CPU it may take.
    """
    for words in commands.values():  # files into the page cache, modules compiled
        cpu_seconds(words)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, words in commands.items():
            seconds[name].append(cpu_seconds(words))

    load = os.getloadavg()[0]
    print(f"{rounds} rounds, {os.cpu_count()} cores, load {load:.1f}; median (min-max)")
    for name, taken in seconds.items():
        middle, low, high = (1000 * f(taken) for f in (statistics.median, min, max))
        print(f"  {name:<22} {middle:6.0f} ms CPU ({low:.0f}-{high:.0f})")
    passed = True
    for name, beside, budget in budgets:
        ratios = [ours / base for ours, base in zip(seconds[name], seconds[beside], strict=True)]
        middle = statistics.median(ratios)
        passed &= middle <= budget
        print(
            f"  {name:<22} {middle:6.2f} x {beside} ({min(ratios):.2f}-{max(ratios):.2f})"
            f"  budget {budget:g} x  {'pass' if middle <= budget else 'FAIL'}"
        )
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--match", default=str(SAMPLE), metavar="MATCH")
    parser.add_argument("--ball", default="47", metavar="BALL")
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="rounds, at least 5")
    options = parser.parse_args()
    if options.runs < 5:
        parser.error("fewer than 5 rounds tell nothing")

    with tempfile.TemporaryDirectory() as folder:
        return measured(options, folder)


def measured(options: argparse.Namespace, folder: str) -> int:
    """Every command beside what it is held to; 1 where a budget is broken."""
    attnlens = [sys.executable, "-m", "attnlens"]
    explain = [*attnlens, "explain", options.match, "--ball", options.ball]
    torch, bare = [sys.executable, "-c", "import torch"], [sys.executable, "-c", "pass"]
    commands = {
        "python": bare,
        "import torch": torch,
        "attnlens --help": [*attnlens, "--help"],
        "explain --no-evidence": [*explain, "--no-evidence", "--no-cache"],
        "explain": [*explain, "--no-cache"],
        "explain, asked again": [*explain, "--cache", folder],
    }
    budgets = [
        ("attnlens --help", "python", 5.0),
        ("explain --no-evidence", "import torch", 1.25),
        ("explain", "import torch", 2.0),
        ("explain, asked again", "import torch", 0.35),
    ]
    return 0 if within_budgets(commands, budgets, options.runs) else 1


if __name__ == "__main__":
    sys.exit(main())
