"""Make one measurement of ``benchmarks/recording.py`` in a separate process.

``python recording_measure.py times '{"case": {...}, "pairs": 15, ...}'`` prints the seconds of
every way and of the plain forward pass as JSON. With ``peak`` instead of ``times``, the script
prints the memory that one way needs. With ``long``, it prints the seconds and the memory of one
long call. With one thread, seconds are CPU time, which other programs disturb little. With more
threads, they are wall-clock time.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from recording import OURS, Case
from recording_ways import WAYS, NotForThis, Way, bytes_kept, input_of, plain_model

LEAST_SECONDS = 0.02
"""The clock is too coarse for a run that is shorter than this, so such a run is repeated until this
time has passed."""


def clock() -> float:
    """Return the CPU time if torch uses one thread, and the wall-clock time otherwise."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def seconds_of(work: Callable[[], Any], times: int) -> float:
    """Return the mean seconds of several runs. The time to free the last result is not included."""
    gc.collect()
    start = clock()
    kept = None
    for _ in range(times):
        kept = work()
    taken = clock() - start
    del kept
    return taken / times


def times(case: Case, pairs: int, names: list[str]) -> dict[str, Any]:
    """Measure the seconds of the plain forward pass and of every way.

    Each way runs between two plain forward passes, and its time is compared with their mean time.
    The order of the ways changes from round to round.
    """
    model, x = plain_model(case), input_of(case)
    ways, found = _ready(names, case, model, x)

    def plain() -> Any:
        return model(x)

    first = seconds_of(plain, 1)
    repeats = max(1, round(LEAST_SECONDS / max(first, 1e-6)))
    for name, way in ways.items():
        found[name]["kept"] = bytes_kept(way(x))
    plains = []
    before = seconds_of(plain, repeats)
    for turn in range(pairs):
        order = list(ways)
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            taken = seconds_of(
                lambda name=name: ways[name](x),  # type: ignore[misc]
                repeats,
            )
            after = seconds_of(plain, repeats)
            found[name]["ratios"].append(2 * taken / (before + after))
            found[name]["seconds"].append(taken)
            plains.append(after)
            before = after
    return {"plain": statistics.median(plains), "model": type(model).__name__, "ways": found}


def peak(case: Case, name: str) -> dict[str, Any]:
    """Return the peak memory of a way, and its excess over a plain forward pass, in bytes."""
    model, x = plain_model(case), input_of(case)
    ways, found = _ready([name], case, model, x)
    if name not in ways:
        return found[name]
    base = _peak_of(lambda: None)
    plain = _peak_of(lambda: model(x))
    most = _peak_of(lambda: ways[name](x))
    return {"plain": plain - base, "beyond": max(0, most - plain), "most": most}


def long(case: Case, k: int) -> dict[str, Any]:
    """Measure one long input: a plain forward pass, and a pass that records the top k weights."""
    import attnlens

    model, x = plain_model(case), input_of(case)
    plain = seconds_of(lambda: model(x), 1)
    base = _peak_of(lambda: None)
    kept: dict[str, Any] = {}

    def way() -> None:
        start = clock()
        with attnlens.record(model, top_k=k) as recording:
            model(x)
        kept["seconds"] = clock() - start
        kept["shape"] = list(next(iter(recording.records())).shape)
        kept["kept"] = bytes_kept(recording)

    most = _peak_of(way)
    return {"plain": plain, "most": most, "beyond_model": most - base, **kept}


def _ready(
    names: list[str], case: Case, model: Any, x: Any
) -> tuple[dict[str, Way], dict[str, dict[str, Any]]]:
    """Try every way on a short input. Return the ways that work, and a dict for all results."""
    ways: dict[str, Way] = {}
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        found[name] = {"ratios": [], "seconds": [], "note": None}
        try:
            way = WAYS[name](case, model)
            way(x[:, :16])
        except ImportError as missing:
            found[name]["note"] = f"not installed ({missing.name})"
        except NotForThis as why:
            found[name]["note"] = str(why)
        except Exception as error:  # if another tool fails, the other rows must go on
            if name in OURS:
                raise
            told = str(error).strip().partition("\n")[0][:120]
            found[name]["note"] = f"failed: {type(error).__name__}: {told}"
        else:
            ways[name] = way
    return ways, found


def _peak_of(work: Callable[[], Any]) -> int:
    """Return the peak memory of the process in bytes while ``work`` runs."""
    gc.collect()
    _forget_peak()
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _forget_peak() -> None:
    """Return freed memory to the system and reset the peak, if the system allows it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as control:
        control.write("5")


def main() -> None:
    what, told = sys.argv[1], json.loads(sys.argv[2])
    torch.set_num_threads(told.pop("threads"))
    case = Case(**told.pop("case"))
    # The warnings of other tools are of no interest here.
    warnings.simplefilter("ignore")
    with torch.no_grad():
        found = {"times": times, "peak": peak, "long": long}[what](case, **told)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
