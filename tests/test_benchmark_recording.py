"""benchmarks/recording.py runs, and its figures are of what it says."""

from __future__ import annotations

import json
import runpy
import statistics
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from command_line import HANG, REPOSITORY, clean_environment
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

SCRIPT = REPOSITORY / "benchmarks" / "recording.py"
NAMES: dict[str, Any] = runpy.run_path(str(SCRIPT))
OURS = ("all weights", "top 16")


def test_a_quick_run_tells_times_and_bytes(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    own = ("--quick", "--no-memory", "--json", str(figures))
    words = [sys.executable, str(SCRIPT), *own, "--ways", *OURS, "need_weights hooks"]
    environment = clean_environment(PYTHONWARNINGS="ignore")
    printed = subprocess.check_output(words, text=True, timeout=HANG, env=environment)
    cases = json.loads(figures.read_text(encoding="utf-8"))["cases"]
    assert [case["sizes"]["model"] for case in cases] == ["trunk", "encoder"]
    for case, tokens in zip(cases, (32, 24), strict=True):
        assert case["sizes"]["tokens"] == tokens
        # Two layers of four heads, in float32; of the largest: weights, keys and what is left.
        sizes = (2 * 4 * tokens**2 * 4, 2 * 4 * tokens * (16 * 8 + 4))
        for way, size in zip(OURS, sizes, strict=True):
            found = case["ways"][way]
            assert found["kept"] == size
            assert len(found["ratios"]) == 3
            assert found["median"] == statistics.median(found["ratios"])
            assert f"| attnlens, {way} | {found['median']:.2f} [" in printed
        assert case["ways"]["all weights"]["budget"] is None
    # Hooks on modules of torch.nn say so of a trunk, and give the encoder's whole weights.
    assert cases[0]["ways"]["need_weights hooks"]["note"] == "asks modules of torch.nn"
    assert cases[1]["ways"]["need_weights hooks"]["kept"] == 2 * 4 * 24**2 * 4


def test_memory_is_the_peak_of_each_way_in_a_process_of_its_own() -> None:
    sizes = NAMES["Case"]("encoder", 24, 1, 2, 64, 4)
    options = Namespace(ways=OURS, pairs=1, long_pairs=1, threads=1, no_memory=False)
    found = NAMES["case_of"](sizes, options)
    table = "\n".join(NAMES["table_of"](sizes, found))
    for way in OURS:
        peak = found["ways"][way]["peak"]
        assert peak["most"] > 50e6
        line = next(line for line in table.splitlines() if way in line)
        assert line.split(" | ")[3] == f"{peak['beyond'] / 1e6:,.0f}"


@given(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=40))
def test_the_interval_is_the_one_of_the_sign_test(values: list[float]) -> None:
    low, high = NAMES["interval"](values)
    ordered, count = sorted(values), len(values)
    assert low <= statistics.median(values) <= high
    # The largest number of values that may be left out at each end, by scipy's binomial.
    cut = int(stats.binom.ppf(0.025, count, 0.5))
    while cut and 2 * stats.binom.cdf(cut - 1, count, 0.5) > 0.05:
        cut -= 1
    place = max(cut - 1, 0)
    assert (low, high) == (ordered[place], ordered[-1 - place])
