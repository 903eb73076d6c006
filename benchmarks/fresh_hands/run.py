"""Run what a fresh hand wrote to check attnlens; see the README beside it.

python benchmarks/fresh_hands/run.py contradictions [--seed 1]
python benchmarks/fresh_hands/run.py recount [--pages 1000] [--stories 100] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from attnlens.cricket.readers import read_match
from attnlens.errors import AttnlensError

FOLDER = Path(__file__).resolve().parent


def unpacked(name: str, folder: Path) -> Path:
    """The programs of an archive, in a folder."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder / name


def is_reported(path: Path) -> bool:
    """Whether a file is refused, doubted, or has a statement that contradicts the rest."""
    try:
        match = read_match(path)
    except AttnlensError:
        return True
    return bool(match.doubts) or any(s.status == "contradicts" for s in match.statements)


def contradictions(folder: Path, seed: int) -> int:
    files = folder / "files"
    maker = unpacked("contradictions", folder) / "make.py"
    subprocess.run([sys.executable, maker, str(seed), files], check=True, cwd=maker.parent)
    kinds: Counter[str] = Counter()
    reported: Counter[str] = Counter()
    for entry in json.loads((files / "manifest.json").read_text(encoding="utf-8")):
        kinds[entry["kind"]] += 1
        reported[entry["kind"]] += is_reported(files / entry["file"])
    for kind in sorted(kinds, key=lambda kind: reported[kind] / kinds[kind]):
        if reported[kind] < kinds[kind]:
            print(f"{reported[kind]} of {kinds[kind]}: {kind}")
    share = reported.total() / kinds.total()
    print(f"{reported.total()} of {kinds.total()} files of {len(kinds)} kinds: {share:.1%}")
    return 0


def recount(folder: Path, options: argparse.Namespace) -> int:
    program = unpacked("recount", folder) / "facts.py"
    data = Path(os.environ["ATTNLENS_SHARED_DATA"]) / "t20_2025_male_json.zip"
    sizes = {"--pages": options.pages, "--stories": options.stories, "--seed": options.seed}
    words = [word for name, size in sizes.items() for word in (name, str(size))]
    command = str(Path(sys.executable).with_name("attnlens"))
    words += ["--evidence", "0.3", "--attnlens", command]
    return subprocess.run([sys.executable, program, data, *words], cwd=program.parent).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("which", choices=("contradictions", "recount"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--stories", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.which == "contradictions":
            return contradictions(Path(folder), options.seed)
        return recount(Path(folder), options)


if __name__ == "__main__":
    sys.exit(main())
