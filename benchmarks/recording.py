"""Measure the time and memory to record attention with attnlens and with other tools.

::

    python benchmarks/recording.py [--tokens 128 512 2048] [--pairs 15] [--json FILE]
    python benchmarks/recording.py --quick              # tiny models, to check that it runs
    python benchmarks/recording.py --long               # one layer of 32,768 tokens, no table

The models have random weights, and nothing is downloaded. One model has 12 layers of width 768, as
in GPT-2. Another is an ``nn.TransformerEncoder`` of 4 layers of width 128 with 120 tokens.

Every way of recording runs between two plain forward passes, and its time is divided by their mean
time. The tables give the median of these ratios and an interval that covers it with a probability
of at least 95%. With fewer than 6 pairs, the interval is the range. Times are CPU times of one
thread, or wall-clock times if ``--threads`` is more than 1. Each way also runs in a separate
process. Its memory is the peak of this process minus the peak of a plain forward pass.

``pip install -e .[bench]`` installs the other tools, and the table says which are missing. The exit
status is 1 if a budget is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

MEASURE = Path(__file__).with_name("recording_measure.py")
OURS = ("last row", "all weights", "all weights, new memory", "top 16", "lazy")
OTHERS = (
    "Hugging Face eager",
    "need_weights hooks",
    "new memory alone",
    "reused memory alone",
    "TransformerLens",
    "nnsight",
)
PACKAGES = ("torch", "attnlens", "transformers", "transformer-lens", "nnsight")
LONG_TOKENS, LONG_TOP, LONG_BYTES = 32_768, 16, 8 * 10**9
SHARE_OF_WHOLE = 0.1
"""The budget for recording the top 16 weights at 2,048 tokens: its peak memory, as a share of the
peak memory for recording all weights."""


@dataclass(frozen=True)
class Case:
    """One model and one size of its input.

    Attributes:
        model: the kind of model. ``"trunk"`` is causal, as GPT-2. ``"encoder"`` is an
            ``nn.TransformerEncoder``. ``"by hand"`` computes attention without a fused kernel.
            ``"layer"`` is one causal attention layer.
        tokens: the number of tokens in an input.
        batch: the number of inputs in a batch.
    """

    model: str
    tokens: int
    batch: int = 1
    layers: int = 12
    width: int = 768
    heads: int = 12

    @property
    def title(self) -> str:
        """The heading of the case's table."""
        kind = "nn.TransformerEncoder" if self.model == "encoder" else self.model
        return (
            f"{kind}, {self.layers} layers of {self.width}, {self.heads} heads, "
            f"{self.tokens:,} tokens, batch {self.batch}"
        )

    def budget(self, way: str) -> float | None:
        """Return the largest time of a way in plain forward passes; None without a budget."""
        if self.model == "trunk" and self.layers == 12:
            by_length = {
                ("all weights", 512): 1.03, ("all weights", 2048): 1.30, ("top 16", 2048): 1.25,
                ("all weights, new memory", 512): 1.08,
            }  # fmt: skip
            return by_length.get((way, self.tokens), {"last row": 1.05, "lazy": 1.03}.get(way))
        if self.model == "encoder" and self.batch == 1 and self.layers == 4:
            return 1.20 if way in ("last row", "all weights", "lazy") else None
        if self.model == "by hand":
            return 1.50 if way in ("last row", "all weights") else None
        return None


def measured(what: str, sizes: Case, threads: int, **told: Any) -> dict[str, Any]:
    """Make one measurement in a separate process, and return its result."""
    words = {"case": vars(sizes), "threads": threads, **told}
    one = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, str(MEASURE), what, json.dumps(words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **one, "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"},
    )
    if done.returncode:
        sys.exit(f"recording.py: {what} of {sizes.title} failed:\n{done.stderr[-3000:]}")
    # Other tools may print lines too, but the result is always the last line.
    found: dict[str, Any] = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    return found


def interval(values: list[float]) -> tuple[float, float]:
    """Return an interval that covers the median with a probability of at least 95%.

    If there are few values, return their range. The number of values below the true median has the
    same distribution as the number of heads in as many coin flips.
    """
    ordered, count = sorted(values), len(values)
    below, skipped = 0.0, -1
    for place in range(count // 2):
        below += math.comb(count, place) / 2**count
        if 2 * below > 0.05:
            break
        skipped = place
    first = max(skipped, 0)
    return ordered[first], ordered[-1 - first]


def case_of(sizes: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the times and the memory of every way for one case."""
    names = [name for name in (*OURS, *OTHERS) if not options.ways or name in options.ways]
    pairs = options.pairs if sizes.tokens < 2048 else options.long_pairs
    tell(f"{sizes.title}: {pairs} pairs")
    found = measured("times", sizes, options.threads, pairs=pairs, names=names)
    for name, way in found["ways"].items():
        if way["note"] is None and not options.no_memory:
            tell(f"{sizes.title}: memory of {name}")
            way["peak"] = measured("peak", sizes, options.threads, name=name)
        if way["note"] is None:
            way["median"] = statistics.median(way["ratios"])
            way["interval"] = interval(way["ratios"])
            way["budget"] = sizes.budget(name)
    found["sizes"] = vars(sizes)
    return found


def table_of(sizes: Case, found: dict[str, Any]) -> list[str]:
    """Return the table of one case in Markdown."""
    plain = 1000 * found["plain"]
    lines = [
        f"### {sizes.title}",
        "",
        f"Plain forward ({found['model']}): {plain:,.1f} ms.",
        "",
        "| way | times the plain forward | pairs | peak beyond it, MB | kept, MB | budget | |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, way in found["ways"].items():
        shown = f"attnlens, {name}" if name in OURS else name
        if way["note"] is not None:
            lines.append(f"| {shown} | {way['note']} | | | | | |")
            continue
        low, high = way["interval"]
        peak = f"{way['peak']['beyond'] / 1e6:,.0f}" if "peak" in way else ""
        budget, verdict = "", ""
        if way["budget"] is not None:
            budget = f"{way['budget']:g}"
            verdict = "pass" if way["median"] <= way["budget"] else "MISSED"
        lines.append(
            f"| {shown} | {way['median']:.2f} [{low:.2f}-{high:.2f}] | {len(way['ratios'])} "
            f"| {peak} | {way['kept'] / 1e6:,.2f} | {budget} | {verdict} |"
        )
    return [*lines, ""]


def share_of_whole(sizes: Case, found: dict[str, Any]) -> list[str]:
    """Compare the peak memory for the top 16 weights and for all, if both were measured."""
    peaks = [found["ways"].get(name, {}).get("peak") for name in ("top 16", "all weights")]
    if None in peaks or not peaks[1]["beyond"]:
        return []
    share = peaks[0]["beyond"] / peaks[1]["beyond"]
    line = f"- Peak of top 16: {share:.2f} of that of all weights"
    if sizes.model == "trunk" and sizes.tokens == 2048 and sizes.layers == 12:
        found["top_share"] = share
        verdict = "pass" if share <= SHARE_OF_WHOLE else "MISSED"
        line += f"; budget {SHARE_OF_WHOLE:g}: {verdict}"
    return [f"{line}.", ""]


def missed(found: dict[str, Any]) -> list[str]:
    """Return the budgets that were missed in a case."""
    lost = [
        f"{name}: {way['median']:.3f} times the plain forward, budget {way['budget']:g}"
        for name, way in found["ways"].items()
        if way["note"] is None and way["budget"] is not None and way["median"] > way["budget"]
    ]
    if found.get("top_share", 0) > SHARE_OF_WHOLE:
        lost.append(f"top 16: peak {found['top_share']:.2f} of that of all weights")
    return lost


def long_case(options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Measure one layer with many tokens, and return its figures and a line that describes them."""
    tokens = 1024 if options.quick else LONG_TOKENS
    sizes = Case("layer", tokens, layers=1)
    tell(f"one layer of {tokens:,} tokens")
    case = measured("long", sizes, options.threads, k=LONG_TOP)
    passed = case["most"] <= LONG_BYTES
    line = (
        f"One layer, 12 heads, {tokens:,} tokens, top {LONG_TOP}: {case['seconds']:,.1f} s beside "
        f"{case['plain']:,.1f} s of the plain forward, {case['kept'] / 1e6:,.0f} MB kept, peak of "
        f"the whole process {case['most'] / 1e9:.2f} GB (budget {LONG_BYTES / 1e9:g} GB: "
        f"{'pass' if passed else 'MISSED'})."
    )
    return {"cases": [{"sizes": vars(sizes), **case}], "passed": passed}, line


def cases_of(options: argparse.Namespace) -> list[Case]:
    """Return the cases that the options select."""
    if options.quick:
        return [Case("trunk", 32, 1, 2, 64, 4), Case("encoder", 24, 1, 2, 64, 4)]
    cases = [Case("trunk", tokens) for tokens in options.tokens]
    if not options.no_encoder:
        models = ("encoder", "by hand")
        cases += [Case(model, 120, batch, 4, 128, 8) for model in models for batch in (1, 32)]
    return cases


def versions() -> dict[str, str | None]:
    """Return the versions of the compared packages. A package that is not installed has None."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def tell(text: str) -> None:
    """Print progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tokens", type=int, nargs="*", default=[128, 512, 2048], metavar="N")
    parser.add_argument("--pairs", type=int, default=15, metavar="N", help="of each ratio")
    parser.add_argument(
        "--long-pairs", type=int, metavar="N", help="from 2,048 tokens on (as --pairs)"
    )
    parser.add_argument("--ways", nargs="*", choices=[*OURS, *OTHERS], metavar="WAY")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--no-memory", action="store_true", help="no process for each peak")
    parser.add_argument("--no-encoder", action="store_true", help="the trunk alone")
    parser.add_argument("--quick", action="store_true", help="tiny models, 3 pairs")
    parser.add_argument("--long", action="store_true", help="only one layer of 32,768 tokens")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure")
    options = parser.parse_args()
    if options.quick:
        options.pairs = 3
    if options.pairs < 1 or options.threads < 1:
        parser.error("--pairs and --threads start at 1")
    options.long_pairs = options.long_pairs or options.pairs

    about = {
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "threads": options.threads,
        "load": os.getloadavg()[0],
    }
    told = ", ".join(f"{name} {version}" for name, version in about["versions"].items() if version)
    print(f"{about['machine']}, load {about['load']:.0f}, {options.threads} thread; {told}\n")
    lost: list[str] = []
    if options.long:
        found, line = long_case(options)
        print(line, flush=True)
        lost += [] if found["passed"] else ["peak of the long recording"]
    else:
        found = {"cases": []}
        for sizes in cases_of(options):
            case = case_of(sizes, options)
            print("\n".join(table_of(sizes, case) + share_of_whole(sizes, case)), flush=True)
            lost += [f"{sizes.title}: {one}" for one in missed(case)]
            found["cases"].append(case)
        print("Budgets: " + ("all hold." if not lost else "missed:"))
        print("\n".join(f"- {one}" for one in lost), end="\n" if lost else "")
    if options.json:
        options.json.write_text(json.dumps({**about, **found, "missed": lost}, indent=1))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
