"""Working things out once: one thread for the model, the most wanted first, answers kept.

A model is read through hooks, so two questions must not be asked of it at once. An innings goes
before the tests of a ball, and what is fetched ahead comes last, or is refused where too much of
it waits. What nobody waits for any more is dropped.
"""

from __future__ import annotations

import gzip
import itertools
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, TypeVar

from .functions import Data

Made = TypeVar("Made")

FIRST, NOW, LONG, AHEAD = range(4)
"""How soon something is wanted: before all else, as it comes, though it takes long, if there is
time."""
MOST_AHEAD: Final = 6
MOST_WAITING: Final = 200
PATIENCE: Final = 120.0
"""Seconds after which a question is given up."""
LOOK: Final = 0.1
"""Seconds between two looks at whether somebody still waits."""


class BusyError(Exception):
    """Too much waits already; ask later."""


class NobodyWaitsError(Exception):
    """Who asked has gone."""


def packed(value: Data) -> bytes:
    """Plain data as compressed JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "replace"), 3, mtime=0)


@dataclass(slots=True, eq=False)
class Job:
    """Something to be worked out, and how many wait for it."""

    make: Callable[[], Any]
    number: int
    urgency: int
    waiting: int = 0
    begun: bool = False
    future: Future[Any] = field(default_factory=Future)

    def order(self) -> tuple[bool, int, int]:
        return not self.begun, self.urgency, self.number


def stays() -> bool:
    """Of somebody who waits to the end: has not gone."""
    return False


class Answers:
    """Answers by key, worked out once each and kept while there is room.

    Args:
        most_bytes: what may be kept, compressed; the longest unused goes first.
    """

    def __init__(self, most_bytes: int = 64_000_000) -> None:
        self.most_bytes = most_bytes
        self.kept_bytes = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._jobs: dict[Hashable, Job] = {}
        self._changed = threading.Condition()
        self._number = itertools.count()
        threading.Thread(target=self._work, name="attnlens", daemon=True).start()

    def get(
        self,
        key: Hashable,
        make: Callable[[], Data],
        *,
        urgency: int = NOW,
        gone: Callable[[], bool] = stays,
    ) -> bytes:
        """The answer as compressed JSON.

        Args:
            urgency: ``FIRST``, ``NOW``, ``LONG`` (then it calls `rest` now and then) or ``AHEAD``.
            gone: whether who asked has left; what nobody waits for is not begun.

        Raises:
            BusyError: too much waits already, or too much that nobody needs yet.
            NobodyWaitsError: who asked has gone.
            TookTooLong: it was not there in time.
            Exception: whatever ``make`` raised; nothing is kept of it.
        """
        with self._changed:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            job = self._asked(key, lambda: packed(make()), urgency)
        answer: bytes = self._awaited(key, job, gone)
        return answer

    def run(self, make: Callable[[], Made], gone: Callable[[], bool] = stays) -> Made:
        """Work something out now and keep nothing."""
        key = object()
        with self._changed:
            job = self._asked(key, make, NOW)
        answer: Made = self._awaited(key, job, gone)
        return answer

    def place(self, key: Hashable) -> int:
        """How many questions are answered before this one."""
        with self._changed:
            order = sorted(self._jobs.values(), key=Job.order)
            return order.index(self._jobs[key]) if key in self._jobs else 0

    def _asked(self, key: Hashable, make: Callable[[], Any], urgency: int) -> Job:
        """The job of that key, with one more who waits; the lock is held."""
        job = self._jobs.get(key)
        if job is None:
            ahead = sum(one.urgency == AHEAD for one in self._jobs.values())
            if len(self._jobs) >= MOST_WAITING or (urgency == AHEAD and ahead >= MOST_AHEAD):
                raise BusyError
            job = self._jobs[key] = Job(make, next(self._number), urgency)
            self._changed.notify()
        job.urgency = min(job.urgency, urgency)
        job.waiting += 1
        return job

    def _awaited(self, key: Hashable, job: Job, gone: Callable[[], bool]) -> Any:
        until = monotonic() + PATIENCE
        try:
            while True:
                try:
                    return job.future.result(LOOK)
                except TookTooLong:
                    if job.future.done() or monotonic() > until:
                        raise
                if gone():
                    raise NobodyWaitsError
        finally:
            with self._changed:
                job.waiting -= 1
                if not job.waiting and not job.begun:
                    self._jobs.pop(key, None)

    def _keep(self, key: Hashable, answer: bytes) -> None:
        self._kept[key] = answer
        self.kept_bytes += len(answer)
        while self.kept_bytes > self.most_bytes and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self.kept_bytes -= len(dropped)

    def rest(self) -> None:
        """Between two steps of something long: what is shorter goes first.

        Raises:
            NobodyWaitsError: nobody waits for the long one any more.
        """
        while True:
            with self._changed:
                if not any(job.begun and job.waiting for job in self._jobs.values()):
                    raise NobodyWaitsError
                waiting = {key: job for key, job in self._jobs.items() if not job.begun}
                key = min(waiting, key=lambda one: waiting[one].order(), default=None)
                if key is None or waiting[key].urgency >= LONG:
                    return
                waiting[key].begun = True
            self._do(key, waiting[key])

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs)
                key, job = min(self._jobs.items(), key=lambda one: one[1].order())
                job.begun = True
            self._do(key, job)

    def _do(self, key: Hashable, job: Job) -> None:
        answer, wrong = None, None
        try:
            answer = job.make()
        except Exception as error:
            wrong = error
        with self._changed:
            self._jobs.pop(key)
            if isinstance(answer, bytes):
                self._keep(key, answer)
        if wrong is None:
            job.future.set_result(answer)
        else:
            job.future.set_exception(wrong)
