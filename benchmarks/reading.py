"""How fast matches are read, as ratios to parsing the same bytes, and in how much memory.

    python benchmarks/reading.py SHARED_DATA

JSON is compared with ``orjson.loads`` of the same bytes, CSV2 with the csv module over
the same rows; both in CPU time, in turns, so that a busy machine slows both. Medians
are over the pairs, with the middle 80% in brackets. Memory is the peak above the file's
bytes and above the match that comes out, by tracemalloc. At the end every match of the
large zip is read, with a progress line on a terminal.
"""

from __future__ import annotations

import argparse
import csv
import io
import statistics
import sys
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import orjson

from attnlens.cricket.readers import read_match, read_matches

JSON_BUDGET = 12.0
CSV2_BUDGET = 10.0
MEMORY_TIMES, MEMORY_FIXED = 10, 32 * 2**20
JSON_FILES = ("1223952.json", "1283043.json", "1462882.json")
CSV2_FILES = (
    "formats/csv2_27col/t20i/1223952.csv",
    "formats/csv2_27col/odi/1158067.csv",
    "formats/csv2_22col/ipl/1216517.csv",
)


def cpu(work: Callable[[], object], times: int) -> float:
    """CPU seconds of one of several runs."""
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def ratios(work: Callable[[], object], bare: Callable[[], object], pairs: int) -> list[float]:
    """The two in turns, each long enough for the clock."""
    work()
    bare()
    times = max(1, round(0.01 / max(cpu(bare, 5), 1e-6)))
    return sorted(cpu(work, max(1, times // 8)) / cpu(bare, times) for _ in range(pairs))


def verdict(name: str, values: list[float], budget: float) -> bool:
    """Print a line; whether it is within the budget."""
    median = statistics.median(values)
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    passed = median <= budget
    print(
        f"{name:<34}{median:6.1f} x [{low:.1f} to {high:.1f}]  budget {budget:.0f} x  "
        f"{'pass' if passed else 'FAIL'}",
        flush=True,
    )
    return passed


def rows_of(data: bytes) -> None:
    """The csv module over a file's rows."""
    for _ in csv.reader(io.StringIO(data.decode("utf-8"), newline="")):
        pass


def memory(name: str, path: Path) -> bool:
    """Print the peak of reading one match; whether it is bounded."""
    size = path.stat().st_size
    tracemalloc.start()
    read_match(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    bound = MEMORY_TIMES * size + MEMORY_FIXED
    passed = peak <= bound
    print(
        f"{name:<34}{peak / 2**20:6.1f} MB peak, {peak / size:.1f} x the file  "
        f"bound {bound / 2**20:.0f} MB  {'pass' if passed else 'FAIL'}"
    )
    return passed


def whole_zip(path: Path) -> None:
    """Read every match of a zip, with a progress line on a terminal."""
    with zipfile.ZipFile(path) as archive:
        total = sum(name.endswith(".json") for name in archive.namelist())
    start, wall = time.process_time(), time.perf_counter()
    done = balls = 0
    for match in read_matches(path):
        done += 1
        balls += sum(len(innings.deliveries) for innings in match.innings)
        if sys.stderr.isatty() and (done % 20 == 0 or done == total):
            filled = 30 * done // total
            print(
                f"\r[{'#' * filled}{'.' * (30 - filled)}] {done} of {total} matches",
                end="\n" if done == total else "",
                file=sys.stderr,
                flush=True,
            )
    seconds = time.process_time() - start
    print(
        f"{path.name}: {done} matches, {balls} balls in {seconds:.1f} s of CPU "
        f"({time.perf_counter() - wall:.1f} s), {1000 * seconds / done:.2f} ms each"
    )


def main() -> int:
    """Print every figure; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shared_data", type=Path)
    parser.add_argument("--pairs", type=int, default=31, help="interleaved pairs for each ratio")
    options = parser.parse_args()
    shared: Path = options.shared_data
    passed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in JSON_FILES:
            path = Path(folder) / name
            with zipfile.ZipFile(shared / "t20s_male_json.zip") as archive:
                path.write_bytes(archive.read(name))
            data = path.read_bytes()
            found = ratios(
                lambda path=path: read_match(path),  # type: ignore[misc]  # mypy: lambda default
                lambda data=data: orjson.loads(data),  # type: ignore[misc]  # mypy: lambda default
                options.pairs,
            )
            passed.append(verdict(f"JSON {name} / orjson.loads", found, JSON_BUDGET))
        passed.append(memory(f"JSON {JSON_FILES[0]}", Path(folder) / JSON_FILES[0]))
    for name in CSV2_FILES:
        path = shared / name
        data = path.read_bytes()
        found = ratios(
            lambda path=path: read_match(path),  # type: ignore[misc]  # mypy: lambda default
            lambda data=data: rows_of(data),  # type: ignore[misc]  # mypy: lambda default
            options.pairs,
        )
        passed.append(verdict(f"CSV2 {path.name} / csv module", found, CSV2_BUDGET))
    passed.append(memory(f"CSV2 {Path(CSV2_FILES[1]).name}", shared / CSV2_FILES[1]))
    test = shared / "formats/csv2_27col/test"
    passed.append(memory("CSV2, a Test", max(test.glob("*.csv"), key=lambda p: p.stat().st_size)))
    whole_zip(shared / "t20s_male_json.zip")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
