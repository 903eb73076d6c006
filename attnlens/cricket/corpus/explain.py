"""Explaining every ball of thousands of matches: from sources to a corpus on disk."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from attnlens._version import VERSION
from attnlens.cricket.corpus.folder import writing
from attnlens.cricket.corpus.plan import MATCHES_EACH, SEED, Part, Skipped, plan_of
from attnlens.cricket.corpus.tables import SCHEMA_VERSION
from attnlens.cricket.corpus.work import (
    PartDone,
    PartWorker,
    Task,
    in_processes,
    in_ray,
)
from attnlens.cricket.explain.particulars import model_particulars
from attnlens.cricket.predictor.heads import SCALES
from attnlens.cricket.readers.history import History, Report, silent
from attnlens.cricket.session import Session
from attnlens.errors import InputError
from attnlens.files import Json

Engine = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: of all ``parts``, ``finished`` also before this run, the others of this
    one.

    Attributes:
        seconds: since the first part was handed out.
        skipped: every file and match passed over, in this run or before; told at its end.
        damaged: files of an earlier run that were not as it wrote them, and are made anew.
        untaught: files of the history that could not be read in this run.
    """

    parts: int
    finished: int
    here: int = 0
    balls: int = 0
    matches: int = 0
    seconds: float = 0.0
    skipped: tuple[Skipped, ...] = ()
    damaged: tuple[InputError, ...] = ()
    untaught: tuple[Skipped, ...] = ()

    @property
    def rate(self) -> float:
        return self.balls / self.seconds if self.seconds else 0.0

    def after(self, done: PartDone, seconds: float) -> Progress:
        return replace(
            self,
            finished=self.finished + 1,
            here=self.here + 1,
            balls=self.balls + done.balls,
            matches=self.matches + done.matches,
            seconds=seconds,
            untaught=done.untaught,  # every worker reads the whole history
        )


def explain_corpus(
    sources: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    history: Sequence[str | os.PathLike[str]] = (),
    evidence: int = 0,
    each: int = MATCHES_EACH,
    workers: int = 1,
    engine: Engine = "local",
    address: str | None = None,
    reading: Report = silent,
    report: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Explain every ball of the matches in the sources, or go on where an earlier run was.

    Args:
        sources: match files, folders or zips.
        out: the corpus's folder; made where it is not there.
        history: matches that bring the ratings to each match's date; they may be the same.
        evidence: test the claims of this many balls, drawn over the whole corpus.
        each: matches in a part.
        workers: processes, of this machine or of Ray.
        address: of a Ray cluster.
        reading: takes passing words while matches are found and the history is read.
        report: takes how far the work is.

    Raises:
        InputError: a source cannot be opened or holds no match; the folder holds something
            else, was begun with other settings, or is being written.
    """
    named, past = ([os.fspath(one) for one in given] for given in (sources, history))
    folder = Path(out)
    _check_apart(folder, [*named, *past])
    session = Session(model, History((), reading, silent, sources=past) if past else None)
    plan = plan_of(named, each=each, tested=evidence, report=reading)
    settings: Json = {
        "schema_version": SCHEMA_VERSION,
        "attnlens": VERSION,
        "model": {
            **model_particulars(session.predictor).model_dump(mode="json"),
            "earned": {scale: session.predictor.earned(scale) for scale in SCALES},
        },
        "history": _digest_of(past) if past else None,
        "evidence": {"balls": evidence, "seed": SEED} if evidence else None,
        "matches_per_part": each,
    }
    task = Task(session.model, session.predictor.sha256, tuple(past))
    with writing(folder) as corpus:
        left, damaged = corpus.begin(settings, plan)
        done_before = len(plan.parts) - len(left)
        progress = Progress(len(plan.parts), done_before, damaged=tuple(damaged))
        report(progress)
        started = time.monotonic()
        with closing(_worked_out(task, session, left, workers, engine, address)) as working:
            for done in working:
                corpus.put(done)
                progress = progress.after(done, time.monotonic() - started)
                report(progress)
        return replace(progress, skipped=corpus.tell(settings, plan, complete=True))


def _worked_out(
    task: Task,
    session: Session,
    parts: Sequence[Part],
    workers: int,
    engine: Engine,
    address: str | None,
) -> Generator[PartDone, None, None]:
    if not parts:
        return
    if engine == "ray":
        yield from in_ray(task, parts, workers, address)
    elif min(workers, len(parts)) == 1:
        with closing(PartWorker(task, session)) as worker:
            yield from map(worker, parts)
    else:
        yield from in_processes(task, parts, min(workers, len(parts)))


def _digest_of(history: Sequence[str]) -> str:
    """What ratings have learnt from.

    Whoever comes later changes nothing, but it cannot be told who is later.
    """
    digest = hashlib.sha256()
    for source in history:
        digest.update("\n".join(plan_of([source]).digests).encode())
    return digest.hexdigest()


def _check_apart(folder: Path, sources: Sequence[str]) -> None:
    """An InputError if the corpus lies in a folder that is read."""
    place = Path(os.path.realpath(folder))
    for source in map(Path, map(os.path.realpath, sources)):
        if source.is_dir() and place.is_relative_to(source):
            raise InputError(
                "lies in a folder of matches that is read",
                path=folder,
                remedy="choose a folder outside it",
            )
