"""How soon a ball is told and the next one explained, from the moment its line is written.

    python benchmarks/live.py [MATCH]

Writes a CSV2 match ball by ball into a file that ``attnlens explain --follow`` reads, waits for
each answer, and prints the seconds between, with all evidence and without, beside the time of
the same answer from a new process.
"""

from __future__ import annotations

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
    """Seconds from each line's end to its answer, where the next ball could be explained."""
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
    taken = []
    with path.open("a", encoding="utf-8") as file:
        for line in lines[FIRST : FIRST + BALLS]:
            file.write(line)
            file.flush()
            start = time.perf_counter()
            said = json.loads(process.stdout.readline())
            if said["next"] is not None:
                taken.append(time.perf_counter() - start)
    process.terminate()
    process.wait()
    return taken


def main() -> None:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        cold = run_process(folder, "explain", source, "--ball", str(FIRST), "--no-cache", "--json")
        alone = time.perf_counter() - start
        assert cold.status == 0, cold.err
        for title, options in (("all evidence", ()), ("no evidence", ("--no-evidence",))):
            taken = sorted(followed(folder, lines, *options))
            middle, last = statistics.median(taken), taken[int(0.95 * (len(taken) - 1))]
            print(
                f"{title}: {len(taken)} balls, median {middle:.2f} s, 95th percentile {last:.2f} s,"
                f" {middle / alone:.2f} of a new process ({alone:.2f} s)"
            )


if __name__ == "__main__":
    main()
