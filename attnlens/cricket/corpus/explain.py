"""Explaining every ball of thousands of matches: from sources to a corpus on disk."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from attnlens._version import VERSION
from attnlens.cricket.corpus.engines import in_processes, in_ray, in_this_process
from attnlens.cricket.corpus.folder import Corpus, Settings, writing
from attnlens.cricket.corpus.plan import MATCHES_EACH, Plan, Skipped, plan_of, sources_named
from attnlens.cricket.corpus.tables import SCHEMA_VERSION
from attnlens.cricket.corpus.work import PartDone, PartWork, Task, check_device, works_of
from attnlens.cricket.explain.particulars import model_particulars
from attnlens.cricket.match.match import Match
from attnlens.cricket.model.heads import SCALES
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.readers.history import Report, matches_to_learn, silent
from attnlens.cricket.session import Session
from attnlens.errors import InputError

Engine = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        parts: all there are; ``finished``: also before this run; ``here``: in this run.
        balls: of this run; ``matches`` likewise.
        seconds: since the first part was handed out.
    """

    parts: int
    finished: int
    here: int = 0
    balls: int = 0
    matches: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Balls a second."""
        return self.balls / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go, as far as it can be told."""
        if not self.here:
            return None
        return self.seconds / self.here * (self.parts - self.finished)

    def after(self, done: PartDone, seconds: float) -> Progress:
        """How far it is with one more part done."""
        return replace(
            self,
            finished=self.finished + 1,
            here=self.here + 1,
            balls=self.balls + done.balls,
            matches=self.matches + done.matches,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class Explained:
    """A finished corpus.

    Attributes:
        progress: of this run.
        skipped: every file and match passed over, in this run or before.
    """

    corpus: Corpus
    progress: Progress
    skipped: tuple[Skipped, ...]


def explain_corpus(
    sources: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    history: Sequence[str | os.PathLike[str]] = (),
    own_history: bool = False,
    evidence: int = 0,
    seed: int = 5,
    each: int = MATCHES_EACH,
    workers: int = 1,
    engine: Engine = "local",
    address: str | None = None,
    device: str = "cpu",
    restart: bool = False,
    reading: Report = silent,
    report: Callable[[Progress], None] = lambda _: None,
) -> Explained:
    """Explain every ball of the matches in the sources, or go on where an earlier run was.

    Args:
        sources: match files, folders, zips, or patterns of names.
        out: the corpus's folder; made where it is not there.
        history: matches that bring the ratings to each match's date.
        own_history: the sources are (also) the history.
        evidence: test the claims of this many balls, drawn over the whole corpus.
        seed: of that draw.
        each: matches in a part.
        workers: processes, or Ray actors.
        address: of a Ray cluster.
        device: ``cpu`` or ``cuda``.
        restart: take away what is there first.
        reading: takes passing words while matches are found and the history is read.
        report: takes how far the work is.

    Raises:
        InputError: a source cannot be opened or holds no match; the folder holds something
            else, was begun with other settings, or is being written.
    """
    named = sources_named([os.fspath(source) for source in sources])
    past = [os.fspath(source) for source in history]
    folder = Path(out)
    _check_apart(folder, [*named, *past])
    if engine == "local":  # Ray's actors may be on other machines
        check_device(device)
    learnt_from = [*past, *(named if own_history else ())]
    session = Session(model, _Once(learnt_from, reading) if learnt_from else None)
    plan = plan_of(named, each=each, tested=evidence, seed=seed, report=reading)
    settings = Settings(
        schema_version=SCHEMA_VERSION,
        attnlens=VERSION,
        model={
            **model_particulars(session.predictor).model_dump(mode="json"),
            "earned": {scale: session.predictor.earned(scale) for scale in SCALES},
        },
        history=_digest_of(past, plan if own_history else None),
        evidence={"balls": evidence, "seed": seed} if evidence else None,
        matches_per_part=each,
    )
    task = Task(session.model, session.predictor.sha256, evidence > 0, seed, device)
    with writing(folder) as corpus:
        if restart:
            corpus.clear()
        left = corpus.begin(settings, plan)
        progress = Progress(len(plan.parts), len(plan.parts) - len(left))
        report(progress)
        started = time.monotonic()
        works = works_of(session, left)
        crew = min(workers, len(left)) if engine == "local" else workers
        working = _worked_out(task, session.predictor, works, crew, engine, address)
        with closing(working):
            for done in working if left else ():
                corpus.put(done)
                progress = progress.after(done, time.monotonic() - started)
                report(progress)
        skipped = corpus.finish(settings, plan)
    return Explained(corpus, progress, skipped)


def _worked_out(
    task: Task,
    predictor: TrainedPredictor,
    works: Iterator[PartWork],
    workers: int,
    engine: Engine,
    address: str | None,
) -> Generator[PartDone, None, None]:
    if engine == "ray":
        yield from in_ray(task, works, workers, address)
    elif workers == 1:
        yield from in_this_process(task, works, predictor)
    else:
        yield from in_processes(task, works, workers)


@dataclass(frozen=True, slots=True)
class _Once:
    """Every match of some sources that can be read, each id once; read when they are needed."""

    sources: Sequence[str]
    report: Report

    def __iter__(self) -> Iterator[Match]:
        seen: set[str] = set()
        for match in matches_to_learn(self.sources, [], self.report):
            if match.match_id not in seen:
                seen.add(match.match_id)
                yield match


def _digest_of(past: Sequence[str], own: Plan | None) -> str | None:
    """What ratings have learnt from; ``None`` where they are the checkpoint's own.

    Whoever comes later changes nothing, but it cannot be told who is later.
    """
    plans = [*(plan_of([source]) for source in past), *([] if own is None else [own])]
    if not plans:
        return None
    digest = hashlib.sha256()
    for plan in plans:
        digest.update("\n".join(plan.digests).encode())
    return digest.hexdigest()


def _check_apart(folder: Path, sources: Sequence[str]) -> None:
    """Whether the corpus lies outside every folder that is read.

    Raises:
        InputError: it does not.
    """
    place = Path(os.path.realpath(folder))
    for source in sources:
        other = Path(os.path.realpath(source))
        if other.is_dir() and (place == other or other in place.parents):
            raise InputError(
                "lies in a folder of matches that is read",
                path=folder,
                remedy="choose a folder outside it",
            )
