"""Working things out once: one thread for the model, the most wanted first, answers kept.

A model is read through hooks, so two questions must not be asked of it at once. What is fetched
ahead waits for what somebody looks at, and is refused where too much of it waits.
"""

from __future__ import annotations

import gzip
import itertools
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from queue import PriorityQueue
from typing import Final, TypeVar

from .functions import Data

Made = TypeVar("Made")

NOW, AHEAD = 0, 1
MOST_AHEAD: Final = 6
PATIENCE: Final = 120.0
"""Seconds after which a question is given up."""


class BusyError(Exception):
    """Too much waits already; ask later."""


def packed(value: Data) -> bytes:
    """Plain data as compressed JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "replace"), 3, mtime=0)


class Answers:
    """Answers by key, worked out once each and kept while there is room.

    Args:
        most_bytes: what may be kept, compressed; the longest unused goes first.
    """

    def __init__(self, most_bytes: int = 64_000_000) -> None:
        self.most_bytes = most_bytes
        self.kept_bytes = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._asked: dict[Hashable, tuple[Future[bytes], bool]] = {}
        self._lock = threading.Lock()
        self._number = itertools.count()
        self._queue: PriorityQueue[tuple[int, int, Callable[[], None]]] = PriorityQueue()
        self._ahead = 0
        threading.Thread(target=self._work, name="attnlens", daemon=True).start()

    def get(self, key: Hashable, make: Callable[[], Data], *, ahead: bool = False) -> bytes:
        """The answer as compressed JSON.

        Args:
            ahead: nobody waits for it yet.

        Raises:
            BusyError: it was to be fetched ahead, and too much is already.
            Exception: whatever ``make`` raised; nothing is kept of it.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            future, hurried = self._asked.get(key, (None, False))
            if future is None:
                if ahead and self._ahead >= MOST_AHEAD:
                    raise BusyError
                future = Future()
                self._ahead += ahead
                self._put(key, future, make, ahead)
            elif not ahead and not hurried:
                # It was fetched ahead and is wanted now: whoever comes first works it out.
                self._put(key, future, make, ahead)
        return future.result(PATIENCE)

    def run(self, make: Callable[[], Made]) -> Made:
        """Work something out now and keep nothing."""
        future: Future[Made] = Future()

        def work() -> None:
            try:
                future.set_result(make())
            except Exception as error:
                future.set_exception(error)

        self._queue.put((NOW, next(self._number), work))
        return future.result(PATIENCE)

    def _put(
        self, key: Hashable, future: Future[bytes], make: Callable[[], Data], ahead: bool
    ) -> None:
        self._asked[key] = (future, not ahead)

        def work() -> None:
            with self._lock:
                self._ahead -= ahead
            if future.done():
                return  # it was asked for twice
            try:
                answer = packed(make())
            except Exception as error:
                with self._lock:
                    self._asked.pop(key, None)
                future.set_exception(error)
                return
            with self._lock:
                self._asked.pop(key, None)
                self._keep(key, answer)
            future.set_result(answer)

        self._queue.put((AHEAD if ahead else NOW, next(self._number), work))

    def _keep(self, key: Hashable, answer: bytes) -> None:
        self._kept[key] = answer
        self.kept_bytes += len(answer)
        while self.kept_bytes > self.most_bytes and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self.kept_bytes -= len(dropped)

    def _work(self) -> None:
        while True:
            _, _, task = self._queue.get()
            task()
