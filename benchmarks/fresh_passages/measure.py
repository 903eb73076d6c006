"""Measure how many planted faults `check_grounding` catches, and how many true sentences it flags.

python benchmarks/fresh_passages/measure.py [--list]
"""

from __future__ import annotations

import argparse
import json
import tarfile
from collections import Counter
from pathlib import Path

import attnlens

FOLDER = Path(__file__).resolve().parent
FLAGS = ("not borne out", "not in the data")


def passage_files(name: str) -> dict[str, str]:
    """Return the texts of the files in a set, by name."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as packed:
        members = [member for member in packed.getmembers() if member.isfile()]
        files = {row.name.partition("/")[2]: packed.extractfile(row) for row in members}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


def flagged(facts: object, sentence: str) -> dict[str, set[str]]:
    """Check a sentence. Return the numbers and names that are flagged, by the answer they got."""
    found: dict[str, set[str]] = {answer: set() for answer in FLAGS}
    for statement in attnlens.check_grounding(facts, sentence).statements:
        if statement.answer in FLAGS:
            found[statement.answer].update(statement.what.split("; "))
    return found


def measure(name: str, listed: list[str]) -> Counter[str]:
    """Count the true sentences and the faults of a set, and how many are flagged, by answer.

    A fault is caught if a number or name is flagged in the faulty sentence but not in the true one.
    """
    counts, files = Counter[str](), passage_files(name)
    for entry in json.loads(files["passages.json"]):
        raw = files[entry["facts"]]
        facts = json.loads(raw) if entry["facts"].endswith(".json") else raw
        of_true = {sentence: flagged(facts, sentence) for sentence in entry["true"]}
        for sentence, flags in of_true.items():
            answer = next((answer for answer in FLAGS if flags[answer]), "")
            counts.update(["true", f"true {answer}"])
            if answer:
                listed.append(f"true, {answer}: {sentence} {flags[answer]}")
        for fault in entry["faults"]:
            flags = flagged(facts, fault["text"])
            new = {answer: flags[answer] - of_true[fault["of"]][answer] for answer in FLAGS}
            answer = next((answer for answer in FLAGS if new[answer]), "")
            counts.update(["faults", f"faults {answer}"])
    return counts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="the true sentences that are flagged")
    options = parser.parse_args()
    listed: list[str] = []
    sets = {name: measure(name, listed) for name in "ABCDE"}
    sets["all"] = sum(sets.values(), Counter[str]())
    print("| set | true | not borne out | not in the data | faults | caught: not borne out |"
          " not in the data | in all |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, counts in sets.items():
        cells = [counts[f"{kind}{answer}"] for kind in ("true", "faults")
                 for answer in ("", *(f" {answer}" for answer in FLAGS))]  # fmt: skip
        caught = (cells[4] + cells[5]) / counts["faults"]
        print(f"| {name} | {' | '.join(map(str, cells))} | {caught:.0%} |")
    if options.list:
        print("", *listed, sep="\n")


if __name__ == "__main__":
    main()
