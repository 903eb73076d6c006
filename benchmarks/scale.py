"""How fast a corpus is made, in how much memory, and whether being killed changes it.

::

    python benchmarks/scale.py SRC [--matches 20,100,400] [--workers 1,2] [--ray 1,2] [--kills 10]
    python benchmarks/scale.py SRC --full

SRC is a zip of matches. Each line is one run of ``attnlens corpus explain`` as a process of its own
on that many matches, taken evenly from the zip: wall time of the parts, CPU seconds of all its
processes, balls a second of each, peak memory of all its processes together (proportional set
size, ten times a second). Then a run is killed with signal 9 at random moments until it is done,
and its files compared with those of a run that was left alone. ``--full`` adds one run over all
matches. Where other work shares the machine, CPU seconds are the ones to compare. Exit 1 where
Ray or a killed run gives other files.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet

LOCK = ".lock"
MEGABYTE = 2**20
STEP = 0.1
ONE_EACH = ("--matches-per-part", "1")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: seconds of wall and of CPU, and megabytes at its peak."""

    wall: float
    cpu: float
    memory: float


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def some_of(source: Path, count: int, folder: Path) -> Path:
    """A zip of ``count`` matches, taken evenly."""
    path = folder / f"{count}.zip"
    if path.exists():
        return path
    with zipfile.ZipFile(source) as whole, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as part:
        names = sorted(name for name in whole.namelist() if name.endswith(".json"))
        for number in range(min(count, len(names))):
            name = names[number * len(names) // min(count, len(names))]
            part.writestr(name, whole.read(name))
    return path


def words(source: Sequence[Path], out: Path, *more: str) -> list[str]:
    command = [sys.executable, "-m", "attnlens", "corpus", "explain", *map(str, source)]
    return [*command, "--out", str(out), *more]


def family(pid: int) -> list[int]:
    """A process and all its children's children."""
    found = [pid]
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += family(int(child))
    return found


def memory(pid: int) -> float:
    """Megabytes of a process and its children; what they share counts once."""
    total = 0
    for one in family(pid):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def timed(command: Sequence[str]) -> Run:
    """Run a command to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    most = 0.0
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            with suppress(OSError):  # it may end while it is looked at
                most = max(most, memory(process.pid))
            time.sleep(STEP)
        said = process.communicate()[1]
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        sys.exit(f"a run failed: {said}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, cpu, most)


def balls_in(out: Path) -> int:
    return sum(
        pyarrow.parquet.read_metadata(path).num_rows for path in (out / "balls").rglob("*.parquet")
    )


def size_of(out: Path) -> int:
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def tree(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != LOCK
    }


def line(what: str, run: Run, out: Path, idle: Run) -> None:
    """One line of the table; rates leave out what it takes to start and read no match."""
    balls = balls_in(out)
    wall, cpu = max(run.wall - idle.wall, 1e-9), max(run.cpu - idle.cpu, 1e-9)
    print(
        f"  {what:<28}{balls:>10,}{run.wall:>9.1f}{run.cpu:>9.1f}{balls / wall:>10,.0f}"
        f"{balls / cpu:>10,.0f}{run.memory:>9.0f}{size_of(out) / balls:>9.0f}",
        flush=True,
    )


def killed(source: Path, folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill a run at random moments, then let it end; how often it was killed, and parts redone."""
    out = folder / "killed"
    command = words([source], out, *ONE_EACH, "--workers", "2")
    draw = random.Random(seed)
    done, redone = 0, 0
    while done < kills:
        before = {p: p.stat().st_mtime_ns for p in (out / "parts").glob("*.json")}
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            first = len(before)
            while process.poll() is None and len(list((out / "parts").glob("*.json"))) == first:
                time.sleep(0.002)
                if draw.random() < 0.0005:  # before any part of this run, too
                    break
            time.sleep(draw.uniform(0, 0.4))
            process.kill()
        done += process.returncode != 0
        redone += sum(p.stat().st_mtime_ns != t for p, t in before.items() if p.exists())
        redone += sum(not p.exists() for p in before)
        if process.returncode == 0:
            break
    timed(command)
    return done, redone


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", metavar="SRC", nargs="+", type=Path)
    parser.add_argument("--matches", type=numbers, default=[20, 100, 400], metavar="N,N")
    parser.add_argument("--workers", type=numbers, default=[1, 2], metavar="N,N")
    parser.add_argument("--ray", type=numbers, default=[1, 2], metavar="N,N")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="also every match of every SRC")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    right = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print(
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n"
            f"  {'run':<28}{'balls':>10}{'wall s':>9}{'CPU s':>9}{'balls/s':>10}{'per CPU':>10}"
            f"{'peak MB':>9}{'B/ball':>9}",
            flush=True,
        )
        one = some_of(options.sources[0], 1, folder)
        timed(words([one], folder / "start"))
        idle = timed(words([one], folder / "start"))  # finds nothing to do
        print(f"  {'to start (nothing to do)':<28}{'':>10}{idle.wall:>9.1f}{idle.cpu:>9.1f}"
              f"{'':>20}{idle.memory:>9.0f}")  # fmt: skip
        for count in options.matches:
            source = some_of(options.sources[0], count, folder)
            for workers in options.workers:
                out = folder / f"{count}-{workers}"
                run = timed(words([source], out, "--workers", str(workers)))
                line(f"{count} matches, {workers} local", run, out, idle)
        count = options.matches[0]
        source = some_of(options.sources[0], count, folder)
        timed(words([source], folder / "plain", *ONE_EACH))
        expected = tree(folder / "plain")
        for workers in options.ray if find_spec("ray") else []:
            out = folder / f"ray-{workers}"
            run = timed(
                words([source], out, "--workers", str(workers), "--engine", "ray", *ONE_EACH)
            )
            same = tree(out) == expected
            line(f"{count} matches, {workers} Ray", run, out, idle)
            print(f"    the same files as local: {'yes' if same else 'NO'}")
            right &= same
        if options.kills:
            source = some_of(options.sources[0], 6 * options.kills, folder)
            timed(words([source], folder / "alone", *ONE_EACH))
            kills, redone = killed(source, folder, options.kills, options.seed)
            same = tree(folder / "killed") == tree(folder / "alone")
            print(
                f"  killed {kills} times at random moments: {redone} finished parts redone, the "
                f"same files: {'yes' if same else 'NO'}"
            )
            right &= same and not redone
        if options.full:
            out = folder / "full"
            run = timed(words(options.sources, out, "--workers", str(max(options.workers))))
            line(f"everything, {max(options.workers)} local", run, out, idle)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
