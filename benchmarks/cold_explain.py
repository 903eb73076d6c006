"""Compare the CPU time of commands with the CPU time of starting Python or importing torch.

::

    python benchmarks/cold_explain.py [--match MATCH] [--ball 47] [--runs 7]

Each round runs every command once, so that other load on the machine affects all commands. CPU time
is the user and system time of the child process. The ratio of two CPU times is computed in each
round, and the median and the range of the ratios are printed. "explain, cached" reads the answer
from a temporary cache folder. The exit status is 1 if a median exceeds its budget.
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
BUDGETS = (
    ("attnlens --help", "python", 5.0),
    ("explain --no-evidence", "import torch", 1.25),
    ("explain", "import torch", 2.0),
    ("explain, cached", "import torch", 0.35),
    ("describe tiny", "import torch", 1.5),
    ("trace tiny 3,1,4,1,5", "import torch", 1.5),
)
"""Each budget is a command, the command with which it is compared, and the largest ratio of their
CPU times."""


def cpu_seconds(command: list[str]) -> float:
    """Return the user and system time of one child process. Its output is discarded."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--match", default=str(SAMPLE), metavar="MATCH")
    parser.add_argument("--ball", default="47", metavar="BALL")
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="rounds, at least 5")
    options = parser.parse_args()
    if options.runs < 5:
        parser.error("at least 5 rounds are needed")

    with tempfile.TemporaryDirectory() as folder:
        return measured(options, folder)


def measured(options: argparse.Namespace, folder: str) -> int:
    """Time every command, print the table, and return 1 if a budget is exceeded."""
    attnlens = [sys.executable, "-m", "attnlens"]
    explain = [*attnlens, "explain", options.match, "--ball", options.ball]
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "import torch": [sys.executable, "-c", "import torch"],
        "attnlens --help": [*attnlens, "--help"],
        "explain --no-evidence": [*explain, "--no-evidence", "--no-cache"],
        "explain": [*explain, "--no-cache"],
        "explain, cached": [*explain, "--cache", folder],
        "describe tiny": [*attnlens, "describe", "tiny"],
        "trace tiny 3,1,4,1,5": [*attnlens, "trace", "tiny", "3,1,4,1,5"],
    }
    for command in commands.values():  # fills the page cache, and compiles modules
        cpu_seconds(command)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.runs):
        for name, command in commands.items():
            seconds[name].append(cpu_seconds(command))

    load = os.getloadavg()[0]
    print(f"{options.runs} rounds, {os.cpu_count()} cores, load {load:.1f}; median (min-max)")
    for name, times in seconds.items():
        middle, low, high = (1000 * f(times) for f in (statistics.median, min, max))
        print(f"  {name:<22} {middle:6.0f} ms CPU ({low:.0f}-{high:.0f})")
    passed = True
    for name, base, budget in BUDGETS:
        pairs = zip(seconds[name], seconds[base], strict=True)
        ratios = [ours / theirs for ours, theirs in pairs]
        middle = statistics.median(ratios)
        passed &= middle <= budget
        print(
            f"  {name:<22} {middle:6.2f} x {base} ({min(ratios):.2f}-{max(ratios):.2f})"
            f"  budget {budget:g} x  {'pass' if middle <= budget else 'FAIL'}"
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
