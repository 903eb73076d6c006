"""benchmarks/recording.py runs, and its figures are of what it says."""

from __future__ import annotations

import json
import runpy
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from command_line import REPOSITORY, clean_environment
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

SCRIPT = REPOSITORY / "benchmarks" / "recording.py"
NAMES: dict[str, Any] = runpy.run_path(str(SCRIPT))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=clean_environment(PYTHONWARNINGS="ignore"),
    )


def test_a_quick_run_tells_times_memory_and_bytes(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    ways = ["all weights", "top 16", "need_weights hooks"]
    own = ("--quick", "--own-trunk", "--devices", "cpu")
    done = run(*own, "--ways", *ways, "--json", str(figures))
    assert done.returncode == 0, done.stderr
    cases = json.loads(figures.read_text(encoding="utf-8"))["cases"]
    assert [case["sizes"]["model"] for case in cases] == ["trunk", "encoder"]
    for case, tokens in zip(cases, (32, 24), strict=True):
        assert case["sizes"]["tokens"] == tokens
        found = case["ways"]
        # Two layers of four heads, in float32; of the largest: weights, keys and what is left.
        assert found["all weights"]["kept"] == 2 * 4 * tokens**2 * 4
        assert found["top 16"]["kept"] == 2 * 4 * tokens * (16 * 8 + 4)
        for way in ("all weights", "top 16"):
            assert len(found[way]["ratios"]) == 3
            assert found[way]["median"] == statistics.median(found[way]["ratios"])
            assert found[way]["peak"]["most"] > 50e6
            assert f"| attnlens, {way} | {found[way]['median']:.2f} [" in done.stdout
        assert found["all weights"]["budget"] is None
    # Hooks on modules of torch.nn say so of a trunk, and give the encoder's whole weights.
    assert cases[0]["ways"]["need_weights hooks"]["note"] == "asks modules of torch.nn"
    assert cases[1]["ways"]["need_weights hooks"]["kept"] == 2 * 4 * 24**2 * 4


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
