"""Explain every ball of many matches, and write one Parquet file for each match.

Each file is written completely or not at all. Existing files are skipped, so the same call resumes
an interrupted run.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attnlens._version import VERSION
from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.scales import SCALE_NAMES
from attnlens.cricket.predictor.window import one_thread
from attnlens.cricket.readers import History, Report, read_match, read_matches, silent
from attnlens.cricket.session import Session, file_digest
from attnlens.errors import InputError
from attnlens.files import check_writable, sharing, written_beside

if TYPE_CHECKING:
    import pyarrow

    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.match.match import Delivery, Match
    from attnlens.evidence.verdict import Verdict
    from attnlens.files import Json

_METADATA_KEY: Final = b"attnlens"
_IS_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""Windows reserves these names, with and without a file extension."""

_RESUME: Final = "run the same command again: finished matches are not explained again"


@dataclass(frozen=True, slots=True)
class ExportTask:
    """The model and the options of an export.

    Attributes:
        sha256: the SHA-256 of the checkpoint ``model``, which every worker checks.
        history_digests: the SHA-256 of each file and the path of each folder in ``history``.
    """

    model: str | None
    sha256: str
    history: tuple[str, ...] = ()
    outcome: str | None = None
    evidence: bool = True
    history_digests: tuple[str, ...] = ()

    def settings(self) -> Json:
        """Return the settings that affect the rows of a Parquet file."""
        return {
            "version": VERSION,
            "model": self.sha256,
            "history": list(self.history_digests),
            "outcome": self.outcome,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, slots=True)
class MatchEntry:
    """A match to explain: its file, its id and its first day."""

    file: str
    match_id: str
    day: date | None

    @property
    def file_name(self) -> str:
        """The name of the Parquet file. An unsafe id gets a checksum."""
        name = re.sub(r"[^\w.-]", "_", self.match_id, flags=re.ASCII)[:100].lstrip(".")
        if name != self.match_id or _IS_DEVICE.match(name):
            name += f"-{zlib.crc32(self.match_id.encode()):08x}"
        return f"{name}.parquet"


@dataclass(frozen=True, slots=True)
class ExportedMatch:
    """The result for one match. ``problem`` says why the match could not be read."""

    entry: MatchEntry
    balls: int = 0
    problem: str | None = None
    unread_history: tuple[str, ...] = ()


def export_matches(
    sources: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    history: Sequence[str | os.PathLike[str]] = (),
    outcome: str | None = None,
    evidence: bool = True,
    workers: int = 1,
    ray: bool = False,
    report: Report = silent,
    warn: Report = silent,
) -> int:
    """Explain every ball of the matches in ``sources``, and write ``out/MATCH_ID.parquet``.

    Args:
        sources: match files, folders or zips.
        history: earlier matches, which update the ratings. The files may also be in ``sources``.
        workers: the number of processes.
        ray: whether to use Ray, on the cluster at ``RAY_ADDRESS`` or by default on this machine.
        report: receives progress messages.
        warn: receives a message for each repeated match, and for each unreadable match or file.

    Returns:
        The number of files or matches that could not be read.

    Raises:
        InputError: a source cannot be opened, ``out`` contains files that were written with another
            model or other options, or a worker process was killed.
    """
    past = tuple(os.fspath(path) for path in history)
    folder = Path(out)
    _check_folder(folder, [*(os.fspath(source) for source in sources), *past])
    with _cleared(folder):
        task = _task_of(model, past, outcome, evidence)
        problems: list[str] = []
        entries = _entries(sources, problems, report, warn)
        for problem in problems:
            warn(problem)
        waiting = [entry for entry in entries if not _is_finished(folder / entry.file_name, task)]
        failed, warned = len(problems), set[str]()
        for number, result in enumerate(_results(task, waiting, folder, workers, ray), 1):
            report(f"{number} of {len(waiting)} matches | {result.entry.match_id}")
            for line in result.unread_history:
                if line not in warned:
                    warn(f"a file of the history was left out: {line}")
                    warned.add(line)
            if result.problem is not None:
                warn(result.problem)
                failed += 1
    report("")
    return failed


def _task_of(
    model: str | os.PathLike[str] | None,
    history: tuple[str, ...],
    outcome: str | None,
    evidence: bool,
) -> ExportTask:
    name = None if model is None else os.fspath(model)
    sha256 = _session_of(name, history).predictor.sha256
    digests = tuple(file_digest(path) or path for path in history)
    return ExportTask(name, sha256, history, outcome, evidence, digests)


def _check_folder(folder: Path, sources: Sequence[str]) -> None:
    real_folder = Path(os.path.realpath(folder))
    for source in map(Path, map(os.path.realpath, sources)):
        if source.is_dir() and real_folder.is_relative_to(source):
            remedy = "choose a folder outside it"
            raise InputError(
                "is inside a folder from which matches are read", path=folder, remedy=remedy
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot be created ({error.strerror or error})"
        raise InputError(problem, path=folder, remedy="give a writable folder") from None
    check_writable(folder / "0.parquet")


@contextmanager
def _cleared(folder: Path) -> Iterator[None]:
    """Delete temporary files of killed processes, unless another process uses the folder."""

    def clear() -> None:
        if is_alone():
            for path in folder.glob("*.parquet.*.part"):
                with suppress(OSError):  # the file may belong to another user
                    path.unlink()

    with sharing(folder) as is_alone:
        clear()
        try:
            yield
        finally:
            clear()


def _is_finished(path: Path, task: ExportTask) -> bool:
    import pyarrow.parquet

    if path.is_symlink():
        raise InputError(
            "is a symbolic link, which would be replaced", path=path, remedy="choose another folder"
        )
    if not path.exists():
        return False
    if path.is_dir():
        raise InputError(
            "is a directory, but should be a file",
            path=path,
            remedy="choose another folder",
        )
    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
        settings = json.loads(metadata.get(_METADATA_KEY, b"{}"))
    except (OSError, ValueError):  # a damaged file will be written again
        return False
    expected = task.settings()
    differing = [name for name, value in expected.items() if settings.get(name, ...) != value]
    if differing:
        raise InputError(
            f"was written with a different {' and a different '.join(differing)}",
            path=path,
            remedy="choose another folder",
        )
    return True


def _entries(
    sources: Sequence[str | os.PathLike[str]], problems: list[str], report: Report, warn: Report
) -> list[MatchEntry]:
    """Return the matches by date. Of several matches with the same id, return only the first."""
    entries: dict[str, MatchEntry] = {}
    for source in sources:
        skipped: list[MatchFileError] = []
        for match in read_matches(source, on_error="skip", skipped=skipped):
            entry = MatchEntry(match.source, match.match_id, match.date)
            first = entries.setdefault(match.match_id, entry)
            if first.file != entry.file:
                warn(f"{entry.file}: left out; match {entry.match_id} is also in {first.file}")
            report(f"finding matches: {len(entries):,}")
        problems += map(str, skipped)
    if not entries:
        reason = f" ({problems[0]})" if problems else ""
        remedy = "give match files, folders or zips"
        raise InputError(f"there is no match to explain{reason}", remedy=remedy)
    return sorted(entries.values(), key=lambda entry: (entry.day or date.max, entry.match_id))


@cache
def _session_of(model: str | None, history: tuple[str, ...]) -> Session:
    return Session(model, History(sources=history, tell=silent) if history else None)


@one_thread()
def _export_match(task: ExportTask, entry: MatchEntry, folder: Path) -> ExportedMatch:
    session = _session_of(task.model, task.history)
    if session.predictor.sha256 != task.sha256:
        path, remedy = task.model, "use the same checkpoint on every machine"
        raise InputError("is not the checkpoint of this run", path=path, remedy=remedy)
    try:
        match = read_match(f"{entry.file}::{entry.match_id}")
    except MatchFileError as error:
        return ExportedMatch(entry, problem=str(error))
    rows = list(_rows(match, session, task))
    _write(rows, folder / entry.file_name, task)
    unread = () if session.history is None else tuple(map(str, session.history.skipped))
    return ExportedMatch(entry, len(rows), unread_history=unread)


def _rows(match: Match, session: Session, task: ExportTask) -> Iterator[Json]:
    for innings in match.innings:
        for delivery in innings.deliveries:
            reference = BallReference(innings.number, delivery.index)
            explanation = session.explain(
                match, ball=reference, evidence=task.evidence, outcome=task.outcome
            )
            yield ball_row(match, delivery, explanation)


def ball_row(match: Match, delivery: Delivery, explanation: Explanation) -> Json:
    """Return the row of one ball, with a value for each column of `schema`."""
    ball, facts, prediction = explanation.ball, explanation.match, explanation.prediction
    outcomes = {row.outcome: row for row in prediction.outcomes}
    positive = np.array([row.probability for row in prediction.outcomes if row.probability > 0])
    verdicts = Counter(claim.verdict for claim in explanation.evidence)
    win = explanation.win_probability
    return {
        "match_id": facts.match_id,
        "date": match.date,
        "competition": facts.event,
        **{name: getattr(facts, name) for name in _MATCH_TEXTS},
        **{name: getattr(ball, name) for name in (*_BALL_TEXTS, *_BALL_NUMBERS)},
        "phase": ball.standing.phase,
        "batter_id": delivery.batter.id,
        "bowler_id": delivery.bowler.id,
        "runs": delivery.runs_total,
        "runs_batter": delivery.runs_batter,
        "super_over": ball.super_over,
        "free_hit": ball.free_hit,
        "actual": prediction.actual,
        "top": prediction.top,
        **{f"p_{outcome}": outcomes[outcome].probability for outcome in OUTCOMES},
        **{f"usual_{outcome}": outcomes[outcome].usual for outcome in OUTCOMES},
        "surprise_bits": prediction.surprise_bits,
        "entropy_bits": round(float(-(positive * np.log2(positive)).sum()), 6),
        "win_before": None if win is None else win.before,
        "win_after": None if win is None else win.happened,
        **{
            f"fusion_{name}": value
            for name, value in explanation.fusion_weights.model_dump().items()
        },
        "subject": prediction.subject,
        "flags": [caution.flag for caution in explanation.flags],
        **{column: verdicts[verdict] for verdict, column in _VERDICT_COLUMNS.items()},
        "claims": json.dumps(
            [claim.model_dump(mode="json") for claim in explanation.evidence], ensure_ascii=False
        ),
        "summary": explanation.summary,
        "narrative": " ".join(sentence.text for sentence in explanation.narrative),
    }


_MATCH_TEXTS: Final = (
    *("season", "match_type", "gender", "venue", "city"),
    *("batting_team", "bowling_team", "result"),
)
_BALL_TEXTS: Final = ("label", "batter", "non_striker", "bowler")
_BALL_NUMBERS: Final = (
    *("innings", "index", "over", "legal_number", "score", "wickets"),
    *("target", "balls_left", "runs_required"),
)
_VERDICT_COLUMNS: Final[dict[Verdict | None, str]] = {
    "supported": "claims_supported",
    "not better than chance": "claims_not_better_than_chance",
    "contradicted": "claims_contradicted",
    "cannot be told": "claims_undecided",
    None: "claims_untested",
}


def schema() -> pyarrow.Schema:
    """Return the names and types of the columns of a Parquet file."""
    import pyarrow

    text, number, figure = pyarrow.string(), pyarrow.int32(), pyarrow.float64()
    probabilities = [f"{kind}_{outcome}" for kind in ("p", "usual") for outcome in OUTCOMES]
    fusion = [f"fusion_{name}" for name in ("within_ball", *SCALE_NAMES)]
    return pyarrow.schema(
        {
            "match_id": text,
            "date": pyarrow.date32(),
            "competition": text,
            **dict.fromkeys(_MATCH_TEXTS, text),
            **dict.fromkeys(_BALL_NUMBERS, number),
            **dict.fromkeys((*_BALL_TEXTS, "phase", "batter_id", "bowler_id"), text),
            **dict.fromkeys(("runs", "runs_batter"), number),
            **dict.fromkeys(("super_over", "free_hit"), pyarrow.bool_()),
            **dict.fromkeys(("actual", "top"), text),
            **dict.fromkeys(probabilities, figure),
            **dict.fromkeys(("surprise_bits", "entropy_bits"), figure),
            **dict.fromkeys(("win_before", "win_after", *fusion), figure),
            "subject": text,
            "flags": pyarrow.list_(text),
            **dict.fromkeys(_VERDICT_COLUMNS.values(), number),
            **dict.fromkeys(("claims", "summary", "narrative"), text),
        }
    )


def _write(rows: list[Json], path: Path, task: ExportTask) -> None:
    import pyarrow
    import pyarrow.parquet

    metadata = {_METADATA_KEY: json.dumps(task.settings()).encode()}
    table = pyarrow.Table.from_pylist(rows, schema().with_metadata(metadata))
    with written_beside(path, lasting=True) as part:
        pyarrow.parquet.write_table(table, part, compression="zstd")


def _results(
    task: ExportTask, entries: Sequence[MatchEntry], folder: Path, workers: int, ray: bool
) -> Iterator[ExportedMatch]:
    if not entries:
        return
    if not ray and min(workers, len(entries)) == 1:
        yield from (_export_match(task, entry, folder) for entry in entries)
        return
    with (_ray_pool if ray else _process_pool)(workers) as submit:
        futures = [submit(task, entry, folder) for entry in entries]
        yield from (future.result() for future in as_completed(futures))


_Submit = Callable[[ExportTask, MatchEntry, Path], "Future[ExportedMatch]"]


@contextmanager
def _process_pool(workers: int) -> Iterator[_Submit]:
    earlier = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker)
    try:
        yield lambda *arguments: pool.submit(_export_match, *arguments)
    except BrokenProcessPool:
        problem = "a worker process was killed, perhaps because memory ran out"
        raise InputError(problem, remedy=f"{_RESUME}; use fewer --workers") from None
    except BaseException:
        for process in set(active_children()) - earlier:
            process.kill()  # the unfinished file of a stopped worker has a temporary name
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Ignore Ctrl-C, because the parent handles it. Exit when the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_RAY_SECONDS: Final = 10


def _check_ray_answers(address: str) -> None:
    """Raise an `OSError` if nothing listens at the address. Ray itself would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), _RAY_SECONDS).close()


@contextmanager
def _ray_pool(workers: int) -> Iterator[_Submit]:
    """Start a pool of Ray workers, each with one CPU. All workers must have the same files."""
    # Disable Ray's usage statistics. A local cluster does not need a password.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise InputError(
            "--ray needs Ray, which is not installed", remedy="run: pip install 'attnlens[ray]'"
        ) from None
    local: dict[str, Any] = {}
    if "RAY_ADDRESS" not in os.environ:
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        local = {"num_cpus": workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    try:
        try:
            _check_ray_answers(os.environ.get("RAY_ADDRESS", ""))
            ray.init(**local, log_to_driver=False, logging_level=logging.ERROR)
        except (
            Exception
        ) as error:  # Ray raises no more specific error if its processes do not start
            raise RuntimeError(f"did not start: {error}") from error
        remote = ray.remote(_export_match)
        yield lambda *arguments: remote.remote(*arguments).future()
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        problem = f"Ray stopped ({' '.join(str(error).split())[-160:]})"
        raise InputError(problem, remedy=f"check RAY_ADDRESS; {_RESUME}") from None
    finally:
        ray.shutdown()
