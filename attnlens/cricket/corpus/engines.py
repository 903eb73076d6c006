"""Who works the parts out: this process, several, or actors of Ray. All call `PartWorker`.

Results come as they are ready, in any order, and never more than a few wait: work is handed out
only as results are taken.
"""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

from attnlens.cricket.corpus.work import PartDone, PartWork, PartWorker, Task
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.errors import InputError

OBJECT_STORE: Final = 512 * 2**20
"""Bytes of the object store of a Ray cluster of one's own."""


def in_this_process(
    task: Task, works: Iterable[PartWork], predictor: TrainedPredictor
) -> Iterator[PartDone]:
    """One part after the other, here."""
    with closing(PartWorker(task, predictor)) as worker:
        yield from map(worker, works)


def in_processes(task: Task, works: Iterable[PartWork], workers: int) -> Iterator[PartDone]:
    """Several processes on this machine, which end with this one, however it ends.

    Each has a pipe of its own, so that one that is killed while it answers is seen to be gone: on
    a pipe that all shared, the others would hold it open and the rest of that answer be waited
    for.

    Raises:
        InputError: one of them was killed.
    """
    left = iter(works)
    crew: list[tuple[Connection, BaseProcess]] = []
    try:
        with _uninterrupted():
            crew += [_started(task) for _ in range(workers)]
        busy = [pipe for pipe, _ in crew if _handed(pipe, left)]
        while busy:
            for pipe in wait(busy):
                assert isinstance(pipe, Connection)
                done = _answer(pipe)
                if isinstance(done, BaseException):
                    raise done
                # Work first, so that nobody waits while the answer is written to disk.
                if not _handed(pipe, left):
                    busy.remove(pipe)
                yield done
    finally:
        for _, process in crew:
            process.kill()
        for pipe, process in crew:
            process.join()
            process.close()
            pipe.close()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes started meanwhile take no notice of Ctrl-C: whoever started them decides."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _started(task: Task) -> tuple[Connection, BaseProcess]:
    """A worker process, and the pipe to it."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(task, theirs), daemon=True)
    process.start()
    theirs.close()
    return ours, process


def _handed(pipe: Connection, left: Iterator[PartWork]) -> bool:
    """Hand a worker the next part; false where there is none left."""
    work = next(left, None)
    if work is not None:
        with suppress(ConnectionError):  # one that is gone is seen where its answer is missed
            pipe.send(work)
    return work is not None


def _answer(pipe: Connection) -> Any:
    """What a worker answers.

    Raises:
        InputError: it is gone, perhaps in the middle of its answer.
    """
    try:
        return pipe.recv()
    except (EOFError, OSError):
        raise InputError(
            "a worker process was killed, perhaps for want of memory",
            remedy="run the same command again, with fewer --workers: finished parts are kept",
        ) from None


def _serve(task: Task, pipe: Connection) -> None:
    """What a worker process does until the other end of its pipe is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        worker = PartWorker(task)
        while True:
            pipe.send(worker(pipe.recv()))
    except (EOFError, ConnectionError):
        return
    except Exception as error:
        pipe.send(error)


def _end_with_parent() -> None:
    """End this process when the one that started it does, also in the middle of a part."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


class RayActor:
    """`PartWorker` as Ray Data calls it: pickled parts in, pickled parts out."""

    def __init__(self, task: Task) -> None:
        self.worker = PartWorker(task)

    def __call__(self, batch: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
        return {"done": [pickle.dumps(self.worker(pickle.loads(one))) for one in batch["work"]]}


def in_ray(
    task: Task, works: Iterable[PartWork], workers: int, address: str | None = None
) -> Iterator[PartDone]:
    """Actors of Ray Data, on this machine or on a cluster.

    The actors read the sources and the checkpoint by the same paths as this process. All work
    is handed to Ray's object store at once; results are taken as they come.

    Args:
        workers: how many actors; each has one CPU, and one GPU where the task asks for one.
        address: of a running cluster; without, one is started here and ended again.

    Raises:
        InputError: Ray is not installed, there is no cluster at the address, or an actor gave up.
    """
    # Nothing about this run goes to anybody, and a cluster of one's own needs no password.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if address is None:
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    try:
        import ray
        import ray.data
    except ImportError:
        raise InputError("--engine ray needs Ray", remedy="pip install 'attnlens[ray]'") from None

    handed = [{"work": pickle.dumps(work)} for work in works]
    if not handed:
        return
    for name in ("ray", "ray.data", "ray.train"):
        logging.getLogger(name).setLevel(logging.ERROR)
    place = tempfile.mkdtemp(prefix="attnlens-ray-")
    try:
        if address is None:
            ray.init(
                num_cpus=workers,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _node_ip_address="127.0.0.1",
                _temp_dir=place,
            )
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        shutil.rmtree(place, ignore_errors=True)
        raise InputError(
            f"no Ray cluster ({' '.join(str(error).split())[:120]})",
            remedy="check --address, or leave it out for a cluster on this machine",
        ) from None
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        done = ray.data.from_items(handed, override_num_blocks=len(handed)).map_batches(
            RayActor,
            fn_constructor_args=(task,),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=1,
            num_gpus=1 if task.device == "cuda" else 0,
        )
        for row in done.iter_rows():
            yield pickle.loads(row["done"])
    except ray.exceptions.RayError as error:
        raise InputError(
            f"Ray gave up ({' '.join(str(error).split())[-160:]})",
            remedy="run the same command again: finished parts are kept",
        ) from None
    finally:
        ray.shutdown()
        shutil.rmtree(place, ignore_errors=True)
