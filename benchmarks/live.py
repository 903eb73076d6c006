"""Measure how soon ``attnlens explain --follow`` explains the next ball after a ball is written.

    python benchmarks/live.py [MATCH]

This script writes a CSV2 match ball by ball to a file that the command reads, and waits for each
answer. It prints the seconds with and without evidence, and compares them with the time that a new
process needs for the same answer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from command_line import clean_environment, command, run_process  # noqa: E402

SAMPLE = REPOSITORY / "sample_data" / "match.csv"
FIRST, BALLS = 60, 20


def followed(folder: Path, lines: list[str], *options: str) -> list[float]:
    """Return the seconds from writing each line to the answer that explains the next ball."""
    path = folder / f"live{len(options)}.csv"
    path.write_text("".join(lines[:FIRST]), encoding="utf-8")
    process = subprocess.Popen(
        command("explain", path.name, "--follow", "--json", *options),
        cwd=folder,
        env=clean_environment(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    seconds = []
    with path.open("a", encoding="utf-8") as file:
        for line in lines[FIRST : FIRST + BALLS]:
            file.write(line)
            file.flush()
            start = time.perf_counter()
            answer = json.loads(process.stdout.readline())
            if answer["next"] is not None:
                seconds.append(time.perf_counter() - start)
    process.terminate()
    process.wait()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("match", nargs="?", type=Path, default=SAMPLE, help="a CSV2 file")
    source = parser.parse_args().match
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        cold = run_process(folder, "explain", source, "--ball", str(FIRST), "--no-cache", "--json")
        alone = time.perf_counter() - start
        assert cold.status == 0, cold.err
        for title, options in (("all evidence", ()), ("no evidence", ("--no-evidence",))):
            seconds = sorted(followed(folder, lines, *options))
            middle, last = statistics.median(seconds), seconds[int(0.95 * (len(seconds) - 1))]
            print(
                f"{title}: {len(seconds)} balls, median {middle:.2f} s, 95th percentile {last:.2f} "
                f"s, {middle / alone:.2f} of a new process ({alone:.2f} s)"
            )


if __name__ == "__main__":
    main()
