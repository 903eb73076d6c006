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
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final

from attnlens.corpus.shard import PartDone, PartWork, PartWorker, Task
from attnlens.cricket.trained import TrainedPredictor
from attnlens.errors import InputError

AHEAD: Final = 2
"""Parts handed out per process: one in work, one waiting."""

OBJECT_STORE: Final = 512 * 2**20
"""Bytes of the object store of a Ray cluster of one's own."""

_worker: PartWorker | None = None


def in_this_process(
    task: Task, works: Iterable[PartWork], predictor: TrainedPredictor
) -> Iterator[PartDone]:
    """One part after the other, here."""
    worker = PartWorker(task, predictor)
    try:
        for work in works:
            yield worker(work)
    finally:
        worker.close()


def in_processes(task: Task, works: Iterable[PartWork], workers: int) -> Iterator[PartDone]:
    """Several processes on this machine, which end with this one, however it ends.

    Raises:
        InputError: one of them was killed.
    """
    context = get_context("spawn")
    # Only this process holds the writing end: when it goes, the others see the end and go too.
    watched, lifeline = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start, initargs=(task, watched)
    )
    waiting: set[Future[PartDone]] = set()
    try:
        for work in works:
            waiting.add(pool.submit(_work_out, work))
            if len(waiting) >= AHEAD * workers:
                ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in ready)
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ready)
    except BrokenProcessPool:
        raise InputError(
            "a worker process was killed, perhaps for want of memory",
            remedy="run the same command again, with fewer --workers: finished parts are kept",
        ) from None
    finally:
        lifeline.close()
        pool.shutdown(cancel_futures=True)
        watched.close()


def _start(task: Task, watched: Connection) -> None:
    """Set a worker process up."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    _worker = PartWorker(task)


def _end_with(watched: Connection) -> None:
    """End this process when the other end of the pipe is gone."""
    try:
        watched.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)


def _work_out(work: PartWork) -> PartDone:
    assert _worker is not None
    return _worker(work)


class RayActor:
    """`PartWorker` as Ray Data calls it: pickled parts in, pickled parts out."""

    def __init__(self, task: Task) -> None:
        self.worker = PartWorker(task)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
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
