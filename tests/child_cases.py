"""What `test_child.py` runs in children: each takes its question, and ``report``."""

# ruff: noqa: ARG001 -- each is given `report`, as any function of a child is

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from attnlens.errors import InputError, RecordingError


def answered(value: Any, report: Any) -> Any:
    report("begun")
    print("a library prints")
    os.write(1, b"and writes\n")
    return {"value": value, "stdin": sys.stdin.read(), "cwd": os.getcwd(), "path": sys.path[0]}


def several(count: int, report: Any) -> Iterator[int]:
    yield from range(count)


def grown(size: int, report: Any) -> int:
    return len(bytearray(size))


def grown_in_torch(size: int, report: Any) -> int:
    import torch

    return torch.ones(size, dtype=torch.uint8).numel()


def busy(report: Any) -> None:
    while True:
        pass


def holding_the_lock(report: Any) -> int:
    report("begun")
    return sum(range(1 << 50))  # one call into C, during which no other thread of Python runs


def silent(report: Any) -> None:
    report("begun")
    time.sleep(600)


def crashed(report: Any) -> None:
    os.abort()


def written(path: str, report: Any) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("x")


def talkative(report: Any) -> str:
    return "x" * (2 << 20)


def raised(kind: str, report: Any) -> None:
    errors = {
        "input": InputError("is bad", path="a.txt", line=7, remedy="mend it"),
        "record": RecordingError("cannot be recorded"),
        "fault": ZeroDivisionError("by nought"),
    }
    raise errors[kind]


def asked(report: Any) -> str:
    return input("run it? [y/N] ")
