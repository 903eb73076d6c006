"""One measurement of ``benchmarks/recording.py``, in a process of its own: JSON in, JSON out.

``python recording_measure.py times '{"case": {...}, "pairs": 15, ...}'`` prints seconds of every
way in turns with the plain forward; ``peak`` the memory one way needs. Seconds are CPU time of the
process where it has one thread, so that a busy machine is no slower than an idle one; with more
threads, and on CUDA, they are wall-clock time.
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
"""Shorter runs are repeated until the clock can tell them apart."""


def clock() -> float:
    """Processor time of one thread; of several, time on the wall."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def seconds_of(work: Callable[[], Any], times: int) -> float:
    """Seconds of one of several runs; what the last run gave is let go after the clock stops."""
    gc.collect()
    start = clock()
    kept = None
    for _ in range(times):
        kept = work()
    taken = clock() - start
    del kept
    return taken / times


def times(case: Case, pairs: int, names: list[str]) -> dict[str, Any]:
    """Seconds of the plain forward and of every way, in turns.

    Each way runs between two plain forwards; its ratio is to the mean of the two. The ways
    change places from round to round.
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
    """The most memory a way needs at a time, beyond what the plain forward needs, in bytes."""
    model, x = plain_model(case), input_of(case)
    ways, found = _ready([name], case, model, x)
    if name not in ways:
        return found[name]
    base = _peak_of(lambda: None)
    plain = _peak_of(lambda: model(x))
    most = _peak_of(lambda: ways[name](x))
    return {"plain": plain - base, "beyond": max(0, most - plain), "most": most}


def long(case: Case, k: int) -> dict[str, Any]:
    """One long call: seconds and memory of the plain forward and of recording its top k."""
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
    """Ways that can run, after a run on a short input, and a place for what is found of all."""
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
        except Exception as error:  # another's tool, whatever it raises, ends only its own row
            if name in OURS:
                raise
            told = str(error).strip().partition("\n")[0][:120]
            found[name]["note"] = f"failed: {type(error).__name__}: {told}"
        else:
            ways[name] = way
    return ways, found


def _peak_of(work: Callable[[], Any]) -> int:
    """The most memory that the process holds while something runs, in bytes."""
    gc.collect()
    _forget_peak()
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _forget_peak() -> None:
    """Give freed memory back and begin counting anew, where the system lets us."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as control:
        control.write("5")


def main() -> None:
    what, told = sys.argv[1], json.loads(sys.argv[2])
    torch.set_num_threads(told.pop("threads"))
    case = Case(**told.pop("case"))
    # Warnings and progress of other people's tools go to stderr, which is not read.
    warnings.simplefilter("ignore")
    with torch.no_grad():
        found = {"times": times, "peak": peak, "long": long}[what](case, **told)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
