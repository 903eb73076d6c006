"""Run every benchmark that has a budget, and print the verdicts.

    python benchmarks/budgets.py                       # without real matches
    python benchmarks/budgets.py --shared DATA --slow  # everything, tens of minutes
    python benchmarks/budgets.py --only record dashboard

Most budgets are ratios of two times from the same run, so that other load on the machine affects
both times. Each benchmark prints its figures, and exits with status 1 if a figure exceeds its
budget. The table at the end says which benchmarks met their budgets. Training times are not
measured here, because `attnlens lab train` prints them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


BUDGETS = {
    "cold": (
        "--help 5 x python; explain 1.25 x and 2 x import torch, cached 0.35 x; tiny 1.5 x",
        ("cold_explain.py",),
    ),
    "maps": ("heat maps of every ball 3 x the bare forward", ("ball_costs.py", "maps")),
    "evidence": ("all evidence of a ball 20 x a bare forward", ("ball_costs.py", "evidence")),
    "reading": ("JSON 12 x orjson.loads, memory bounded", ("reading.py", "DATA")),
    "over": ("an over written, 20 x one encoder forward", ("overs.py",)),
    "record": ("what recording costs, from 128 tokens to 2,048", ("recording.py",)),
    "dashboard": ("ball change 60 ms, first picture 1.5 s", ("dashboard.py",)),
}
"""For each name of ``--only``: the budgets, and the script with its arguments."""

SLOW = ("record", "dashboard")
"""The slow benchmarks, which take more than two or three minutes."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, metavar="DATA", help="the folder of real matches")
    parser.add_argument("--slow", action="store_true", help="those that take long, too")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[*BUDGETS], default=[])
    options = parser.parse_args()
    rows = []
    for name, (budget, script) in BUDGETS.items():
        if options.only and name not in options.only:
            continue
        if "DATA" in script and options.shared is None:
            rows.append((name, "not run: needs --shared DATA"))
            continue
        if name in SLOW and not options.slow and not options.only:
            rows.append((name, "not run: --slow"))
            continue
        words = [str(options.shared) if word == "DATA" else word for word in script]
        print(f"\n== {name}: {budget}", flush=True)
        start = time.perf_counter()
        status = subprocess.run([sys.executable, HERE / words[0], *words[1:]], check=False)
        minutes = (time.perf_counter() - start) / 60
        verdict = {0: "pass", 1: "FAIL"}.get(status.returncode, "broken")
        rows.append((name, f"{verdict} ({minutes:.1f} min)"))
    print()
    for name, verdict in rows:
        print(f"{name:<10} {verdict:<28} {BUDGETS[name][0]}")
    return int(any(verdict.startswith(("FAIL", "broken")) for _, verdict in rows))


if __name__ == "__main__":
    sys.exit(main())
