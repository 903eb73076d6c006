"""Compare the time for reading a match with the time for parsing its bytes, and measure memory.

    python benchmarks/reading.py SHARED_DATA

JSON is compared with ``orjson.loads``, and CSV2 with Python's csv module. Reading and parsing are
run in turn, and the ratio of their CPU times is computed for each pair of runs. The median ratio is
printed, with the range of the middle 80% in brackets. Memory is the peak according to tracemalloc.
Finally, every match of a large zip file is read.
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
from functools import partial
from pathlib import Path

import orjson

from attnlens.cricket.readers import read_match, read_matches

JSON_BUDGET = 12.0
CSV2_BUDGET = 10.0
MAX_MEMORY_TIMES, MEMORY_FIXED = 10, 32 * 2**20
JSON_FILES = ("1223952.json", "1283043.json", "1462882.json")
CSV2_FILES = ("csv2_27col/t20i/1223952.csv", "csv2_27col/odi/1158067.csv",
              "csv2_22col/ipl/1216517.csv")  # fmt: skip


def cpu_seconds(work: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def check_speed(
    name: str, path: Path, parse: Callable[[], object], budget: float, pairs: int
) -> bool:
    """Print the ratio of the times for reading and parsing.

    Return whether it is within the budget.
    """
    read = partial(read_match, path)
    read()
    times = max(1, round(0.01 / max(cpu_seconds(parse, 5), 1e-6)))
    ratios = sorted(
        cpu_seconds(read, max(1, times // 8)) / cpu_seconds(parse, times) for _ in range(pairs)
    )
    median, low, high = statistics.median(ratios), ratios[pairs // 10], ratios[-1 - pairs // 10]
    print(f"{name:<34}{median:6.1f} x [{low:.1f} to {high:.1f}]  budget {budget:.0f} x  "
          f"{'pass' if median <= budget else 'FAIL'}", flush=True)  # fmt: skip
    return median <= budget


def read_rows(data: bytes) -> None:
    for _ in csv.reader(io.StringIO(data.decode("utf-8"), newline="")):
        pass


def check_memory(name: str, path: Path) -> bool:
    """Print the peak memory for reading one match, and return whether it is within the bound."""
    size = path.stat().st_size
    tracemalloc.start()
    read_match(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    bound = MAX_MEMORY_TIMES * size + MEMORY_FIXED
    print(f"{name:<34}{peak / 2**20:6.1f} MB peak, {peak / size:.1f} x the file  "
          f"bound {bound / 2**20:.0f} MB  {'pass' if peak <= bound else 'FAIL'}")  # fmt: skip
    return peak <= bound


def read_zip(path: Path) -> None:
    start = time.process_time()
    balls = [sum(len(side.deliveries) for side in m.innings) for m in read_matches(path)]
    seconds = time.process_time() - start
    print(f"{path.name}: {len(balls)} matches, {sum(balls)} balls in {seconds:.1f} s of CPU, "
          f"{1000 * seconds / len(balls):.2f} ms each")  # fmt: skip


def main() -> int:
    """Print every figure, and return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shared_data", type=Path)
    parser.add_argument("--pairs", type=int, default=31, help="interleaved pairs for each ratio")
    options = parser.parse_args()
    shared, pairs, passed = options.shared_data, options.pairs, []
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(shared / "t20s_male_json.zip") as archive:
            paths = [Path(archive.extract(name, folder)) for name in JSON_FILES]
        for path in paths:
            parse = partial(orjson.loads, path.read_bytes())
            passed.append(
                check_speed(f"JSON {path.name} / orjson.loads", path, parse, JSON_BUDGET, pairs)
            )
        passed.append(check_memory(f"JSON {JSON_FILES[0]}", paths[0]))
    for path in (shared / "formats" / name for name in CSV2_FILES):
        parse = partial(read_rows, path.read_bytes())
        name = f"CSV2 {path.name} / csv module"
        passed.append(check_speed(name, path, parse, CSV2_BUDGET, pairs))
    tests = (shared / "formats/csv2_27col/test").glob("*.csv")
    for path in (shared / "formats" / CSV2_FILES[1], max(tests, key=lambda p: p.stat().st_size)):
        passed.append(check_memory(f"CSV2 {path.name}", path))
    read_zip(shared / "t20s_male_json.zip")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
