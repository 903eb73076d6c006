"""One part of a corpus, from its matches to the bytes of its files, and who works it out.

A `PartWorker` is made once in each process; a `Part` goes in and a `PartDone` comes out. Nothing
is written here. Results come as they are ready, in any order, and never more than a few wait:
work is handed out only as results are taken.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from multiprocessing import active_children, connection, get_context, parent_process
from typing import Any, Final, TypeAlias

import numpy as np

from attnlens.cricket.corpus.plan import SEED, Entry, Part, Skipped
from attnlens.cricket.corpus.tables import (
    Columns,
    Side,
    ball_columns,
    claim_columns,
    head_columns,
    match_columns,
    measure,
    parquet_of,
)
from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.explain.claims import gather_evidence
from attnlens.cricket.explain.reading import ALL, read_ball
from attnlens.cricket.match.match import Match
from attnlens.cricket.predictor.tensors import encode_innings
from attnlens.cricket.predictor.window import cut_window, one_thread
from attnlens.cricket.readers import MatchShelf
from attnlens.cricket.readers.history import History, silent
from attnlens.cricket.session import Session
from attnlens.errors import InputError
from attnlens.evidence.trial import q_over

OBJECT_STORE: Final = 512 * 2**20
"""Bytes of the object store of a Ray cluster of one's own."""


@dataclass(frozen=True, slots=True)
class Task:
    """What every part of a corpus is worked out with.

    ``sha256`` is of the checkpoint ``model``: other weights are refused. ``history`` names matches
    that bring the ratings to each match's date; without any, they are the checkpoint's own.
    """

    model: str | None
    sha256: str
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartDone:
    """A part worked out: the bytes of each table that has rows, and how many matches and balls it
    holds.

    ``skipped`` are its matches that could not be read, ``untaught`` files of the history likewise.
    """

    part: Part
    tables: dict[str, bytes]
    matches: int
    balls: int
    skipped: tuple[Skipped, ...]
    untaught: tuple[Skipped, ...]


class PartWorker:
    """Works out parts, one after the other, on one thread.

    An InputError where the checkpoint, or that of the session at hand, is another than the task's.
    """

    def __init__(self, task: Task, session: Session | None = None) -> None:
        history = History(sources=task.history, tell=silent) if task.history else None
        self.session = session or Session(task.model, history)
        if self.session.predictor.sha256 != task.sha256:
            raise InputError(
                "is another checkpoint than the corpus was begun with",
                path=task.model or self.session.predictor.name,
                remedy="give that one to every machine",
            )
        self._shelf = MatchShelf()

    def close(self) -> None:
        self._shelf.close()

    @one_thread()
    def __call__(self, part: Part) -> PartDone:
        skipped: list[Skipped] = []
        history = self.session.history
        rows: dict[str, list[Columns]] = {}
        sides: list[Side] = []
        for entry in part.entries:
            try:
                match = entry.read(self._shelf)
            except MatchFileError as error:
                skipped.append(Skipped.by(error))
                continue
            told = match_columns(match, self.session.dated(match), entry.file, entry.sha256)
            rows.setdefault("matches", []).append(told)
            of_match = self._sides(match)
            sides += of_match
            if drawn := sampled(of_match, entry):
                rows.setdefault("evidence", []).extend(_tested(drawn))
        measured = measure(self.session.predictor.model, [side.arrays for side in sides])
        for side, measures in zip(sides, measured, strict=True):
            rows.setdefault("balls", []).append(ball_columns(side, measures))
            rows.setdefault("heads", []).append(head_columns(side, measures))
        return PartDone(
            part=part,
            tables={name: parquet_of(some) for name, some in rows.items()},
            matches=len(part.entries) - len(skipped),
            balls=sum(len(side.arrays) for side in sides),
            skipped=tuple(skipped),
            untaught=tuple(map(Skipped.by, history.skipped if history else ())),
        )

    def _sides(self, match: Match) -> list[Side]:
        """Every innings with a ball bowled, super overs too."""
        told = self.session.dated(match)
        return [
            Side(match, innings, encode_innings(match, innings, told.ratings, told.base), told)
            for innings in match.innings
            if innings.deliveries
        ]


def sampled(sides: Sequence[Side], entry: Entry) -> list[tuple[Side, int]]:
    """The balls of a match to test: of its ordinary innings, with a ball before, none twice."""
    pool = [
        (side, index)
        for side in sides
        if not side.innings.super_over
        for index in range(2, len(side.arrays) + 1)
    ]
    if not pool or not entry.tested:
        return []
    # The match's id makes the draw the match's own.
    generator = np.random.default_rng([SEED, zlib.crc32(sides[0].match.match_id.encode())])
    chosen = generator.permutation(len(pool))[: entry.tested]
    return [pool[place] for place in sorted(chosen.tolist())]


def _tested(drawn: Sequence[tuple[Side, int]]) -> Iterator[Columns]:
    """What is claimed of each ball of a match, and what became of it."""
    balls = []
    for side, index in drawn:
        window = cut_window(side.match, side.innings, side.arrays, index)
        reading = read_ball(side.predictor, window)
        balls.append(gather_evidence(side.predictor, window, reading, outcome=ALL).tested)
    over_match = iter(q_over([one for claims in balls for one in claims]))
    for (side, index), claims in zip(drawn, balls, strict=True):
        yield claim_columns(side, index, claims, [next(over_match) for _ in claims])


_worker = cache(PartWorker)
"""This process's worker, by task."""


def worked_out(task: Task, part: Part) -> PartDone:
    """A part worked out in a process that goes on to the next one."""
    return _worker(task)(part)


LOOK_EVERY: Final = 0.2
"""Seconds until it is seen at the latest that somebody wants to stop."""

Submit: TypeAlias = Callable[[Task, Part], Future[PartDone]]


def in_turn(task: Task, parts: Sequence[Part], workers: int, submit: Submit) -> Iterator[PartDone]:
    """As many parts at work as there are workers, until all are done.

    Ctrl-C is heeded between two looks at them: elsewhere it could leave a lock of the pool's held.
    """
    left = iter(parts)
    interrupts: list[int] = []
    with _on_interrupt(signal.SIG_IGN):  # those started here take no notice: we decide
        waiting = {submit(task, part) for part in islice(left, workers)}
    with _on_interrupt(lambda number, _: interrupts.append(number)):
        while waiting:
            done, waiting = wait(waiting, LOOK_EVERY, return_when=FIRST_COMPLETED)
            if interrupts:
                raise KeyboardInterrupt
            # Work first, so that nobody waits while answers are written to disk.
            waiting |= {submit(task, part) for part in islice(left, len(done))}
            yield from (one.result() for one in done)


def in_processes(task: Task, parts: Sequence[Part], workers: int) -> Iterator[PartDone]:
    """Several processes on this machine, which end with this one, however it ends.

    An InputError where one of them was killed.
    """
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent)
    try:
        yield from in_turn(
            task, parts, workers, lambda task, part: pool.submit(worked_out, task, part)
        )
    except BrokenProcessPool:
        raise InputError(
            "a worker process was killed, perhaps for want of memory",
            remedy="run the same command again, with fewer --workers: finished parts are kept",
        ) from None
    finally:
        for process in set(active_children()) - others:
            process.kill()
        pool.shutdown()


@contextmanager
def _on_interrupt(then: Callable[[int, object], None] | signal.Handlers) -> Iterator[None]:
    """What Ctrl-C does meanwhile, in the main thread: no other is told of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, then)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_with_parent() -> None:
    """See to it that this process ends when the one that started it does, also in mid-part."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def in_ray(
    task: Task, parts: Sequence[Part], workers: int, address: str | None = None
) -> Iterator[PartDone]:
    """Workers of Ray, each with one CPU, on this machine or on a cluster.

    They read the sources and the checkpoint by the same paths as this process.

    Args:
        address: of a running cluster; without, one is started here and ended again.

    Raises:
        InputError: Ray is not installed, there is no cluster at the address, or a worker gave up.
    """
    # Nothing about this run goes to anybody, and a cluster of one's own needs no password.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray", remedy="pip install 'attnlens[ray]'") from None

    logging.getLogger("ray").setLevel(logging.ERROR)
    place = tempfile.mkdtemp(prefix="attnlens-ray-")
    where: dict[str, Any] = {"address": address}
    if address is None:
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        where = {
            "num_cpus": workers,
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE,
            "_node_ip_address": "127.0.0.1",
            "_temp_dir": place,
        }
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
        remote = ray.remote(worked_out)
        yield from in_turn(
            task, parts, workers, lambda task, part: remote.remote(task, part).future()
        )
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise InputError(
            f"Ray gave up ({' '.join(str(error).split())[-160:]})",
            remedy="check --address, and run the same command again: finished parts are kept",
        ) from None
    finally:
        ray.shutdown()
        shutil.rmtree(place, ignore_errors=True)
