"""How `check_grounding` does on passages by a fresh hand.

python benchmarks/fresh_passages/measure.py A [--list]
"""

from __future__ import annotations

import argparse
import json
import re
import tarfile
from collections import Counter, defaultdict
from pathlib import Path

import attnlens

HERE = Path(__file__).resolve().parent


def opened(name: str) -> dict[str, str]:
    """The files of a set, by their names in it."""
    with tarfile.open(HERE / f"{name}.tar.xz") as packed:
        members = [one for one in packed.getmembers() if one.isfile()]
        texts = {one.name.partition("/")[2]: packed.extractfile(one) for one in members}
        return {name: file.read().decode() for name, file in texts.items() if file is not None}


def plain(text: str) -> str:
    """A text without marks and spaces that a reader may drop."""
    return re.sub(r"\s+", " ", re.sub(r"[*`_#]", "", text)).strip(" ;-.").lower()


def answers(facts: object, text: str, sentence: str) -> tuple[set[str], set[str]]:
    """What is said of a sentence of a text: the answers, and what is wrong with it."""
    own = plain(sentence)
    statements = [
        one
        for one in attnlens.check_grounding(facts, text).statements
        if plain(one.text) in own or own in plain(one.text)
    ]
    wrong = {one.what for one in statements if one.answer == "not borne out"}
    return {one.answer for one in statements}, wrong


def check(files: dict[str, str]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Counts by kind of passage and of fault; and the texts that were judged wrongly."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    listed = []
    for entry in json.loads(files["passages.json"]):
        raw = files[entry["facts"]]
        facts = json.loads(raw) if entry["facts"].endswith(".json") else raw
        true, whole = entry["true"], counts[f"check, {entry['kind']}"]
        before = {one: answers(facts, entry["join"].join(true), one) for one in true}
        for sentence, (said, wrong) in before.items():
            whole.update(true=1, true_read=said != {"not read"}, true_flagged=bool(wrong))
            listed += [f"true, flagged: {sentence} ({'; '.join(wrong)})"] * bool(wrong)
        for fault in entry["faults"]:
            at = true.index(fault["of"])
            text = entry["join"].join([*true[:at], fault["text"], *true[at + 1 :]])
            said, wrong = answers(facts, text, fault["text"])
            caught, read = bool(wrong - before[fault["of"]][1]), said != {"not read"}
            for one in (whole, counts[f"check, {fault['kind']}"]):
                one.update(faults=1, faults_read=read, caught=caught)
            listed += [f"fault, passed: {fault['text']}"] * (read and not caught)
    return counts, listed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("set", choices=("A", "B", "C", "D"))
    parser.add_argument("--list", action="store_true", help="the texts judged wrongly too")
    options = parser.parse_args()
    files = opened(options.set)
    print("| | true | flagged | read | faults | read | caught |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    counts, listed = check(files)
    for name, one in sorted(counts.items()):
        columns = ("true", "true_flagged", "true_read", "faults", "faults_read", "caught")
        print(f"| {name} | {' | '.join(str(one[column]) for column in columns)} |")
    if options.list:
        print("", *listed, sep="\n")


if __name__ == "__main__":
    main()
