"""Open untrusted files in a separate process with limited resources.

Parent and child exchange JSON, so the parent never unpickles or executes data from the child. The
system call `setrlimit` limits the child's memory and processor time, and can forbid writing files.
The parent also limits the time between two lines from the child. Windows has only this time limit.
On macOS, memory is not limited.

Reference: https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from queue import Empty, SimpleQueue
from typing import IO, Any, Final

from attnlens.errors import AttnlensError, InputError
from attnlens.files import Json

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from attnlens.child import answer_question; answer_question()"
)
_PARENT_POLL_SECONDS: Final = 1.0
_PR_SET_PDEATHSIG: Final = 1
_ALLOCATION_FAILED: Final = "can't allocate memory"
"""Torch's RuntimeError contains this text if memory ran out."""

Report = Callable[[str], None]


def _say_nothing(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The resource limits of a child process.

    Attributes:
        memory: the private memory in bytes, without mapped files (``RLIMIT_DATA``).
        cpu_seconds: the processor time in seconds, summed over all threads.
        silent_seconds: the time in seconds to wait for a line from the child.
        answer: the size of the child's whole output in bytes.
        remedy: advice for the user in error messages.
        writes: whether the child may write files.
    """

    memory: int
    cpu_seconds: int
    silent_seconds: float
    remedy: str
    answer: int = 256 << 20
    writes: bool = False

    def exceeded(self, amount: str, path: str) -> InputError:
        return InputError(
            f"opening it takes more than {amount} (the limit)", path=path, remedy=self.remedy
        )


def in_child(
    function: str, question: Json, bounds: Bounds, *, path: str, report: Report = _say_nothing
) -> Any:
    """Run a function of attnlens in a separate process, and return its result.

    Args:
        function: ``module:function``, which returns JSON values. Its keyword arguments are
            ``report`` and the items of ``question``.
        path: the file that the function opens, for error messages.
        report: receives progress messages from the child.

    Raises:
        AttnlensError: the error that the child raised.
        InputError: the child crashed or exceeded a limit.
    """
    *_, answer = answers_of_child(function, question, bounds, path=path, report=report)
    return answer


def answers_of_child(
    function: str, question: Json, bounds: Bounds, *, path: str, report: Report = _say_nothing
) -> Iterator[Any]:
    """Yield the values of a generator function. Arguments and errors are as in `in_child`."""
    if not sys.executable:
        remedy = "give the full path of the Python program when you start Python"
        raise InputError(
            "the path of the Python program is unknown, so no process can be started "
            "to open the file",
            path=path,
            remedy=remedy,
        )
    bounds = replace(bounds, memory=min(bounds.memory, _usable_memory()))
    # An empty entry is left out, because a module in the current folder could shadow a library.
    # PYTHONPATH is not used, because it would split a folder's name at a colon.
    folders = json.dumps([os.path.abspath(folder) for folder in sys.path if folder])
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START, folders],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("ATTNLENS_DEBUG") else subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        limits = [bounds.memory, bounds.cpu_seconds, bounds.writes, os.getpid()]
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(json.dumps([function, question, *limits]).encode())
        for kind, value in _messages(process.stdout, bounds, path):
            if kind == "report":
                report(value)
            elif kind == "answer":
                yield value
            elif kind == "error":
                raise _error(value)
            elif kind == "memory":
                raise bounds.exceeded(_gigabytes(bounds.memory), path)
            elif kind == "fault":
                remedy = f"{bounds.remedy}; set ATTNLENS_DEBUG=1 to see the traceback"
                raise InputError(f"cannot be opened ({value})", path=path, remedy=remedy)
            elif kind == "done":
                return
        raise _ended(process.wait(), bounds, path)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _messages(stream: IO[bytes], bounds: Bounds, path: str) -> Iterator[tuple[str, Any]]:
    lines: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        room = bounds.answer
        with suppress(ValueError, OSError):  # the parent has closed the stream
            while line := stream.readline(room + 1):
                room -= len(line)
                lines.put(line)
                if room < 0:
                    return
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    room = bounds.answer
    while True:
        try:
            line = lines.get(timeout=bounds.silent_seconds)
        except Empty:
            raise bounds.exceeded(f"{bounds.silent_seconds:.0f} seconds", path) from None
        if not line:
            return
        room -= len(line)
        if room < 0:
            raise bounds.exceeded(f"{bounds.answer >> 20} MB as plain data", path)
        try:
            kind, value = json.loads(line)
        except ValueError:
            return  # cut off, because the child was stopped
        yield kind, value


def _error(value: Json) -> AttnlensError:
    if "problem" not in value:
        return AttnlensError(value["text"])
    parts = {name: value[name] for name in ("path", "line", "remedy")}
    return InputError(value["problem"], **parts)


def _usable_memory() -> int:
    if {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= getattr(os, "sysconf_names", {}).keys():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10
    return sys.maxsize


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB of memory"


def _ended(status: int, bounds: Bounds, path: str) -> InputError:
    if status == -getattr(signal, "SIGXCPU", 0) and status:
        return bounds.exceeded(f"{bounds.cpu_seconds} seconds of processor time", path)
    cause = f"signal {-status}" if status < 0 else f"status {status}"
    return InputError(
        f"cannot be opened: the process that read it ended with {cause}, so the "
        f"file is damaged, or needs more than {_gigabytes(bounds.memory)}",
        path=path,
        remedy=bounds.remedy,
    )


def answer_question() -> None:
    """In the child, run the function that standard input names, and print JSON lines."""
    function, question, memory, cpu_seconds, writes, parent = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    # Libraries must not print to the stream of answers, nor wait for input that never comes.
    for handle, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY)):
        os.dup2(os.open(os.devnull, mode), handle)
    # An interrupt also reaches the parent, which stops the child.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python chooses its folder for temporary files by writing to it, when torch is imported. This
    # must happen before `_limit` forbids writing.
    with suppress(FileNotFoundError):
        tempfile.gettempdir()
    _limit(memory, cpu_seconds, writes)
    _end_with_parent(parent)

    def send(kind: str, value: Any = None) -> None:
        out.write(json.dumps([kind, value]).encode() + b"\n")

    try:
        answer = resolve_name(function)(**question, report=lambda text: send("report", text))
        for value in answer if isinstance(answer, Iterator) else (answer,):
            send("answer", value)
        send("done")
    except MemoryError:
        send("memory")
    except RuntimeError as error:
        failed = _ALLOCATION_FAILED in str(error)
        send(*(("memory",) if failed else ("fault", f"{type(error).__name__}: {error}")))
    except AttnlensError as error:
        parts = {name: getattr(error, name, None) for name in ("path", "line", "remedy")}
        if isinstance(error, InputError):
            parts["problem"] = error.problem
        send("error", {"text": str(error), **parts})
    except Exception as error:
        if os.environ.get("ATTNLENS_DEBUG"):
            traceback.print_exc()
        send("fault", f"{type(error).__name__}: {error}")


def _limit(memory: int, cpu_seconds: int, writes: bool) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limits = {"RLIMIT_DATA": memory, "RLIMIT_CPU": cpu_seconds, "RLIMIT_CORE": 0}
    if not writes:
        limits["RLIMIT_FSIZE"] = 0
    for name, value in limits.items():
        kind = getattr(resource, name)
        _, hard_limit = resource.getrlimit(kind)
        if hard_limit != resource.RLIM_INFINITY:
            value = min(value, hard_limit)
        # At the first limit the system sends SIGXCPU, at the second SIGKILL.
        resource.setrlimit(kind, (value, value + 5 * (name == "RLIMIT_CPU")))


def _end_with_parent(parent: int) -> None:
    """Because a killed parent cannot stop its child, end this process when the parent ends."""
    if sys.platform == "linux":
        # The thread below cannot run while C code holds the interpreter's lock.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended before this call
            os._exit(1)

    def poll() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=poll, daemon=True).start()
