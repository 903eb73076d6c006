"""How soon a ball is told and the next one explained, from the moment its line is written.

    python benchmarks/live.py [MATCH]

First in one process: from a file just read to the forecast, the attention and who is winning at
the next ball, which are to take at most 100 ms, and to its evidence, a second. Then it writes a
CSV2 match ball by ball into a file that ``attnlens explain --follow`` reads, waits for each answer,
and prints the seconds between, with all evidence and without, beside the time of the same answer
from a new process.
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
AIMS = {False: 0.1, True: 1.0}
"""Seconds to the next ball without evidence and with it."""


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


def in_process(folder: Path, lines: list[str]) -> None:
    """Seconds from a file just read to the next ball, in a process that goes on."""
    from attnlens.cricket.session import Session
    from attnlens.errors import AttnlensError

    session, path = Session(None), folder / "growing.csv"
    for evidence, aim in AIMS.items():
        taken = []
        for count in range(FIRST - 1, FIRST + BALLS):
            path.write_text("".join(lines[:count]), encoding="utf-8")
            match = session.read(path)
            start = time.perf_counter()
            try:
                session.explain(match, ball="next", evidence=evidence)
            except AttnlensError:
                continue  # somebody would have to be named
            taken.append(time.perf_counter() - start)
        middle = statistics.median(taken[1:])  # the first one loads the model
        what = "with its evidence" if evidence else "forecast and attention"
        verdict = "reached" if middle <= aim else "not reached"
        print(f"{what} of the next ball: {1000 * middle:.0f} ms; aim {1000 * aim:.0f}: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("match", nargs="?", type=Path, default=SAMPLE, help="a CSV2 file")
    source = parser.parse_args().match
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_process(folder, lines)
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
