"""A queue and a cache of answers.

One thread runs the model, because requests share the model's hooks. Requests for a whole innings
run before tests of single balls. Requests to prefetch an answer run last, and their number is
limited. A job is dropped when no client waits for the job.
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

from .library import BusyError, Data

Result = TypeVar("Result")

FIRST, ON_DEMAND, LONG, AHEAD = range(4)
"""Urgencies, the highest first. ``LONG`` jobs pause for more urgent ones; ``AHEAD`` prefetches."""
MAX_AHEAD: Final = 6
_MAX_JOBS: Final = 200
_TIMEOUT_SECONDS: Final = 120.0
"""The time after which a request fails."""
_POLL_SECONDS: Final = 0.1
"""The time between two checks that the client is still connected."""


class DisconnectedError(Exception):
    """The client has disconnected."""


def compressed_json(value: Data) -> bytes:
    """Encode plain data as compressed JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "replace"), 3, mtime=0)


@dataclass(slots=True, eq=False)
class Job:
    """A computation, with the number of requests that wait for the result."""

    make: Callable[[], Any]
    number: int
    urgency: int
    waiting: int = 0
    started: bool = False
    future: Future[Any] = field(default_factory=Future)

    def order(self) -> tuple[bool, int, int]:
        return not self.started, self.urgency, self.number


def never_disconnected() -> bool:
    """Return False, as for a client that never disconnects."""
    return False


class AnswerQueue:
    """A queue that computes the answer for each key, and caches the most recently used answers.

    Args:
        max_bytes: the largest size of the cache, in compressed bytes.
    """

    def __init__(self, max_bytes: int = 64_000_000) -> None:
        self.max_bytes = max_bytes
        self.cache_bytes = 0
        self._cache: OrderedDict[Hashable, bytes] = OrderedDict()
        self._jobs: dict[Hashable, Job] = {}
        self._changed = threading.Condition()
        self._number = itertools.count()
        threading.Thread(target=self._run_jobs, name="attnlens", daemon=True).start()

    def get(
        self,
        key: Hashable,
        make: Callable[[], Data],
        *,
        urgency: int = ON_DEMAND,
        disconnected: Callable[[], bool] = never_disconnected,
    ) -> bytes:
        """Return the answer as compressed JSON.

        Args:
            make: a function that computes the answer.
            urgency: ``FIRST``, ``ON_DEMAND``, ``LONG`` or ``AHEAD``. In a ``LONG`` job, ``make``
                must call `let_others_run` between its steps.
            disconnected: returns whether the client has disconnected. A job that has not started
                is dropped if no client waits for it.

        Raises:
            BusyError: the queue is full, or already contains too many ``AHEAD`` jobs.
            DisconnectedError: the client has disconnected.
            TookTooLong: the answer was not ready within 120 seconds.
            Exception: the error that ``make`` raised. Errors are not cached.
        """
        with self._changed:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
            job = self._enqueue(key, lambda: compressed_json(make()), urgency)
        answer: bytes = self._wait(key, job, disconnected)
        return answer

    def run(
        self, make: Callable[[], Result], disconnected: Callable[[], bool] = never_disconnected
    ) -> Result:
        """Run ``make`` in the queue, and return its result without caching it."""
        key = object()
        with self._changed:
            job = self._enqueue(key, make, ON_DEMAND)
        answer: Result = self._wait(key, job, disconnected)
        return answer

    def position(self, key: Hashable) -> int:
        """Return the number of jobs that run before the job for this key."""
        with self._changed:
            order = sorted(self._jobs.values(), key=Job.order)
            return order.index(self._jobs[key]) if key in self._jobs else 0

    def _enqueue(self, key: Hashable, make: Callable[[], Any], urgency: int) -> Job:
        """Return a key's job, with one more waiting request. The caller must hold the lock."""
        job = self._jobs.get(key)
        if job is None:
            ahead = sum(job.urgency == AHEAD for job in self._jobs.values())
            if len(self._jobs) >= _MAX_JOBS or (urgency == AHEAD and ahead >= MAX_AHEAD):
                raise BusyError
            job = self._jobs[key] = Job(make, next(self._number), urgency)
            self._changed.notify()
        job.urgency = min(job.urgency, urgency)
        job.waiting += 1
        return job

    def _wait(self, key: Hashable, job: Job, disconnected: Callable[[], bool]) -> Any:
        deadline = monotonic() + _TIMEOUT_SECONDS
        try:
            while True:
                try:
                    return job.future.result(_POLL_SECONDS)
                except TookTooLong:
                    if job.future.done() or monotonic() > deadline:
                        raise
                if disconnected():
                    raise DisconnectedError
        finally:
            with self._changed:
                job.waiting -= 1
                if not job.waiting and not job.started:
                    self._jobs.pop(key, None)

    def _store(self, key: Hashable, answer: bytes) -> None:
        self._cache[key] = answer
        self.cache_bytes += len(answer)
        while self.cache_bytes > self.max_bytes and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self.cache_bytes -= len(dropped)

    def let_others_run(self) -> None:
        """Run the shorter jobs that are waiting. A long job calls this method between its steps.

        Raises:
            DisconnectedError: no client waits for the long job any more.
        """
        while True:
            with self._changed:
                if not any(job.started and job.waiting for job in self._jobs.values()):
                    raise DisconnectedError
                waiting = {key: job for key, job in self._jobs.items() if not job.started}
                key = min(waiting, key=lambda key: waiting[key].order(), default=None)
                if key is None or waiting[key].urgency >= LONG:
                    return
                waiting[key].started = True
            self._run_job(key, waiting[key])

    def _run_jobs(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs)
                key, job = min(self._jobs.items(), key=lambda item: item[1].order())
                job.started = True
            self._run_job(key, job)

    def _run_job(self, key: Hashable, job: Job) -> None:
        answer, error = None, None
        try:
            answer = job.make()
        except Exception as raised:
            error = raised
        with self._changed:
            self._jobs.pop(key)
            if isinstance(answer, bytes):
                self._store(key, answer)
        if error is None:
            job.future.set_result(answer)
        else:
            job.future.set_exception(error)
