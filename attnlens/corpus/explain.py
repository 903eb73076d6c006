"""Explaining every ball of thousands of matches: from sources to a corpus on disk."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from attnlens._version import VERSION
from attnlens.corpus.dated import DatedWork
from attnlens.corpus.engines import in_processes, in_ray, in_this_process
from attnlens.corpus.folder import Corpus, pending, writing
from attnlens.corpus.plan import MATCHES_EACH, Plan, Skipped, plan_of, sources_named
from attnlens.corpus.schema import SCHEMA_VERSION
from attnlens.corpus.shard import PartDone, PartWork, Task, check_device
from attnlens.cricket.match import Match
from attnlens.cricket.particulars import model_particulars
from attnlens.cricket.readers import read_matches
from attnlens.cricket.timeline import Timeline
from attnlens.cricket.trained import TrainedPredictor, load_predictor
from attnlens.errors import InputError, MatchFileError
from attnlens.models.temporal import SCALES

Engine = Literal["local", "ray"]
OWN: Final = "own"
"""What `Settings.history` says of sources that are their own history."""


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
    here: int
    balls: int
    matches: int
    seconds: float

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


@dataclass(frozen=True, slots=True)
class Explained:
    """A finished corpus.

    Attributes:
        progress: of this run.
        skipped: every file and match passed over, in this run or before.
        twice: matches that came again, the same to the last byte.
    """

    corpus: Corpus
    progress: Progress
    skipped: tuple[Skipped, ...]
    twice: int


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
    reading: Callable[[int], None] = lambda _: None,
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
        reading, report: told how many matches were found, and how far the work is.

    Raises:
        InputError: a source cannot be opened or holds no match; the folder holds something
            else, was begun with other settings, or is being written.
    """
    named = sources_named([os.fspath(source) for source in sources])
    learnt_from = [os.fspath(source) for source in history]
    folder = Path(out)
    _check_apart(folder, [*named, *learnt_from])
    if engine == "local":  # Ray's actors may be on other machines
        check_device(device)
    predictor = load_predictor(model)
    plan = plan_of(named, each=each, tested=evidence, seed=seed, report=reading)
    past = [*learnt_from, *(named if own_history else ())]
    told = _settings(predictor, plan, learnt_from, own_history, evidence, seed, each)
    with writing(folder) as corpus:
        if restart:
            corpus.clear()
        corpus.begin(told, plan)
        finished = corpus.finished()
        left = pending(plan, finished)
        task = Task(
            None if model is None else os.fspath(model),
            predictor.sha256,
            evidence > 0,
            seed,
            device,
        )
        timeline = Timeline(predictor, _each_once(past, reading)) if past and left else None
        works = DatedWork(timeline)(left)
        started = time.monotonic()
        here = balls = matches = 0
        progress = Progress(len(plan.parts), len(finished), 0, 0, 0, 0.0)
        report(progress)
        working = _worked_out(task, predictor, works, len(left), workers, engine, address)
        with closing(working):
            for done in working:
                corpus.put(done)
                here, balls, matches = here + 1, balls + done.balls, matches + done.matches
                progress = Progress(
                    len(plan.parts),
                    len(finished) + here,
                    here,
                    balls,
                    matches,
                    time.monotonic() - started,
                )
                report(progress)
        skipped = corpus.finish(told, plan)
    return Explained(corpus, progress, tuple(skipped), plan.twice)


def _worked_out(
    task: Task,
    predictor: TrainedPredictor,
    works: Iterator[PartWork],
    parts: int,
    workers: int,
    engine: Engine,
    address: str | None,
) -> Generator[PartDone, None, None]:
    if not parts:
        return
    if engine == "ray":
        yield from in_ray(task, works, workers, address)
    elif min(workers, parts) == 1:
        yield from in_this_process(task, works, predictor)
    else:
        yield from in_processes(task, works, min(workers, parts))


def _each_once(sources: Sequence[str], reading: Callable[[int], None]) -> Iterator[Match]:
    """Every match of the history that can be read, each id once."""
    seen: set[str] = set()
    skipped: list[MatchFileError] = []
    for source in sources:
        for match in read_matches(source, on_error="skip", skipped=skipped):
            if match.match_id not in seen:
                seen.add(match.match_id)
                reading(len(seen))
                yield match
    if not seen:
        reason = f" ({skipped[0].problem})" if skipped else ""
        raise InputError(
            f"the history holds no match to learn from{reason}",
            path=sources[0],
            remedy="give match files, a folder or a zip of them",
        )


def _settings(
    predictor: TrainedPredictor,
    plan: Plan,
    history: Sequence[str],
    own_history: bool,
    evidence: int,
    seed: int,
    each: int,
) -> dict[str, Any]:
    """Everything that the rows follow from but the matches: it must be the same to go on."""
    learnt = None
    if history or own_history:
        digest = hashlib.sha256()
        for source in history:
            files = plan_of([source]).files
            digest.update("\n".join(sorted(files.values())).encode())
        if own_history:
            # Whoever comes later changes nothing, but it cannot be told who is later.
            digest.update("\n".join(sorted(plan.files.values())).encode())
        learnt = digest.hexdigest()
    return {
        "schema_version": SCHEMA_VERSION,
        "attnlens": VERSION,
        "model": {
            **model_particulars(predictor),
            "earned": {scale: predictor.earned(scale) for scale in SCALES},
        },
        "history": learnt,
        "evidence": {"balls": evidence, "seed": seed} if evidence else None,
        "matches_per_part": each,
    }


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
