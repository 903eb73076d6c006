"""Check what `attnlens.record` records for small untrained models of every architecture.

    python benchmarks/architectures.py rows.jsonl                 # all; resumes an earlier run
    python benchmarks/architectures.py rows.jsonl --only bert t5
    python benchmarks/architectures.py rows.jsonl --page docs/architectures.md

Each model runs in a separate process with at most 20 s of CPU time. It runs with the library's
default attention, and with eager attention and `output_attentions=True` if it supports them. The
recorded weights are compared with those of `tests/attention_witness.py`.

The exit status is 1 if a row is wrong. A row is wrong in these cases:

- recorded weights differ, are not attention weights, or are missing without an error
- recording changed the model's output, even by one bit
- an exception was raised that is not an error of attnlens
- the process crashed
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from attention_witness import row_of  # noqa: E402
from small_models import OTHERS, hugging_face_types, models  # noqa: E402

SECONDS, HUNG = 20, 600
MAX_MESSAGE_CHARS = 300
TABLES = "<!-- tables -->"
PACKAGES = ("torch", "transformers", "x-transformers", "diffusers", "timm", "torchvision")
MAX_NAMES = 100
STATES = {
    "wrong": "wrong",
    "exact": "exact",
    "error": "an error that names what was not recorded",
    "no attention": "no attention, as `record` says",
    "not run": "not run: no small model or no inputs could be made for this architecture",
}
REASONS = {
    "product of weights and values was not seen": "In a module whose name suggests "
    "attention, no product of weights and values was seen.",
    "may be attention": "A tensor is multiplied by weights that may be attention. "
    "`SoftmaxAdapter` can record them.",
    "no product of these weights with values": "Weights were computed from queries and keys, "
    "but no product of these weights and values was seen.",
}
"""Parts of error messages. In the tables, a message with such a part is replaced by the
sentence."""


def apart(name: str) -> dict[str, Any]:
    """Compute the row of an architecture in a separate process, and return it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(HUNG)
        os.write(writer, json.dumps(row_of(models(name))).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if text:
        return dict(json.loads(text))
    if status == -signal.SIGPROF:
        return {"state": "not run", "told": f"it took more than {SECONDS} s of CPU, small as it is"}
    what = "hung" if status == -signal.SIGALRM else f"died ({status})"
    return {"state": "wrong", "told": f"the process {what}"}


def page(rows: list[dict[str, Any]], path: Path) -> Iterator[str]:
    """Yield the tables of docs/architectures.md. A long list of names is written to a text file."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        library, _, name = row["name"].rpartition(": ")
        families.setdefault(library or "transformers", []).append(row | {"name": name})
    versions = ", ".join(f"{package} {installed(package)}" for package in PACKAGES)
    yield f"The models ran on a CPU with {versions}, Python {platform.python_version()}.\n"
    yield f"| result | {' | '.join(families)} |\n|---|{'---:|' * len(families)}"
    for state, meaning in STATES.items():
        counts = (sum(row["state"] == state for row in those) for those in families.values())
        yield f"| {meaning} | {' | '.join(map(str, counts))} |"
    for state, meaning in STATES.items():
        for library, those in families.items():
            chosen = [row for row in those if row["state"] == state]
            if not chosen or state == "not run":
                continue
            yield f"\n## {library}: {meaning}\n"
            if len(chosen) > MAX_NAMES:
                path.with_name(f"{library}.txt").write_text("\n".join(map(named, chosen)) + "\n")
                yield f"The {len(chosen)} names are listed in [{library}.txt]({library}.txt)."
            elif state in ("exact", "no attention"):
                yield ", ".join(map(named, chosen)) + "."
            else:
                yield "| reason | models |\n|---|---|"
                by_reason: dict[str, list[str]] = {}
                for row in chosen:
                    by_reason.setdefault(reason(row), []).append(row["name"])
                yield from (f"| {why} | {', '.join(those)} |" for why, those in by_reason.items())


def named(row: dict[str, Any]) -> str:
    """Return an architecture's name, with the number of recorded weights if some are missing."""
    found, _, returned = row["returned"].partition(" of ")
    name = row["name"].replace(", ", " with ")
    return name + f" ({row['returned']})" * (found != returned)


def reason(row: dict[str, Any]) -> str:
    """Return why an architecture was not recorded. Paths of this machine are left out."""
    for part, sentence in REASONS.items():
        if part in row["told"]:
            return sentence
    return re.sub(r"'/[^']*('|$)", "'...'", row["told"])[:MAX_MESSAGE_CHARS].replace("|", "\\|")


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", type=Path, metavar="ROWS.jsonl")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--page", type=Path, help="write the tables there; run nothing")
    options = parser.parse_args()
    lines = options.rows.read_text("utf-8").splitlines() if options.rows.exists() else []
    rows = {row["name"]: row for row in map(json.loads, lines)}
    if options.page:
        head, _, _ = options.page.read_text("utf-8").partition(TABLES)
        tables = "\n".join(page(list(rows.values()), options.page))
        options.page.write_text(f"{head}{TABLES}\n\n{tables}\n", encoding="utf-8")
        return 0
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    known = [*OTHERS, *hugging_face_types()]
    for name in options.only or []:
        if name not in known:
            parser.error(f"--only: nothing is called {name!r}; try one of {', '.join(known[-8:])}")
    row_of(models("bert"))  # imports what every child process would import otherwise
    for name in options.only or known:
        if name not in rows:
            rows[name] = {"name": name, **apart(name)}
            with options.rows.open("a", encoding="utf-8") as file:
                print(json.dumps(rows[name]), file=file)
    for state in STATES:
        print(f"{sum(row['state'] == state for row in rows.values()):4} {state}")
    wrong = [f"{row['name']}: {row['told']}" for row in rows.values() if row["state"] == "wrong"]
    print(*wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
