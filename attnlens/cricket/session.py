"""Sessions: read a match, find the ball, load the model, date its ratings, answer, cache.

An answer's key in the cache is a digest of everything the answer follows from: what was read and
asked, the checkpoint's bytes, and the code. A cached answer is therefore never out of date. A cache
folder that cannot be used costs time and nothing else, and files that another user can have written
are not read. Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.explain.what_if_types import WhatIf, WhatIfQuestion
from attnlens.cricket.match.match import Match, Player
from attnlens.cricket.match.naming import BallReference, find_ball, innings_numbered, with_next_ball
from attnlens.cricket.readers import File, History, Report, read_match, silent, warn_caller
from attnlens.errors import InputError
from attnlens.files import Json

if TYPE_CHECKING:
    import pandas

    from attnlens.cricket.explain.story_types import MatchStory
    from attnlens.cricket.over.next_over import NextOver, TrainedOvers
    from attnlens.cricket.predictor.trained import Timeline, TrainedPredictor
    from attnlens.cricket.predictor.window import Row


import hashlib
import stat
import sys
import zlib
from dataclasses import dataclass
from importlib.util import find_spec

from attnlens._version import VERSION
from attnlens.files import is_ours, written_beside

_MAX_BYTES: Final = 64 * 2**20

ANSWER_SUFFIX: Final = ".answer"

_NUMERIC_PACKAGES: Final = ("torch", "numpy")
"""Packages whose version an answer's last digits may depend on."""


def default_folder() -> Path | None:
    """The folder of caches of this system; ``None`` without a home folder."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache_home):  # the XDG specification ignores any other
        return Path(cache_home) / "attnlens"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or home) / "attnlens" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "attnlens"
    return home / ".cache" / "attnlens"


def file_digest(path: str | os.PathLike[str]) -> str | None:
    """The SHA-256 of a file's bytes; ``None`` where it is no file that can be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def software() -> str:
    """A digest of the version, the files of this package, and the versions of torch and numpy.

    Files count by name, size and time of change, so that an edited checkout does not answer from
    the cache. Nothing is imported.
    """
    parts = [VERSION]
    root = Path(__file__).resolve().parents[1]
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".json")):
        status = path.stat()
        parts.append(f"{path.relative_to(root)} {status.st_size} {status.st_mtime_ns}")
    for package in _NUMERIC_PACKAGES:
        spec = find_spec(package)
        origin = None if spec is None else spec.origin
        version = None if origin is None else file_digest(Path(origin).with_name("version.py"))
        parts.append(f"{package} {version}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def key_of(*parts: object) -> str:
    """A name for an answer, from everything it follows from (each by its ``repr``)."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder of answers, a text each.

    Attributes:
        limit: bytes to keep.
    """

    folder: Path
    limit: int = _MAX_BYTES

    def get(self, key: str) -> str | None:
        """The answer of a key; ``None`` where there is none that is ours and undamaged."""
        path = self._path(key)
        try:
            status = path.lstat()
            is_small_file = stat.S_ISREG(status.st_mode) and status.st_size <= self.limit
            if not (is_small_file and is_ours(status) and self._is_ours()):
                return None
            digest, _, packed = path.read_bytes().partition(b"\n")
            if digest != _digest(key, packed):
                return None
            answer = zlib.decompress(packed).decode()
        except (OSError, ValueError, zlib.error):
            return None
        with suppress(OSError):
            os.utime(path)  # used last now
        return answer

    def put(self, key: str, answer: str) -> None:
        """Keep an answer, and delete old ones where there are too many."""
        packed = zlib.compress(answer.encode(), 6)
        with suppress(InputError, OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            self._path(key).unlink(missing_ok=True)  # a link would be followed
            with written_beside(self._path(key)) as part:
                part.write_bytes(_digest(key, packed) + b"\n" + packed)
            self._path(key).chmod(0o600)
            self._make_room()

    def _is_ours(self) -> bool:
        return is_ours(self.folder.stat())

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{ANSWER_SUFFIX}"

    def _make_room(self) -> None:
        """Delete the least recently used files, also those that a killed process left behind."""
        with os.scandir(self.folder) as entries:
            answers = [
                (status.st_mtime, status.st_size, entry.path)
                for entry in entries
                if ANSWER_SUFFIX in entry.name
                for status in [entry.stat(follow_symlinks=False)]
            ]
        excess = sum(size for _, size, _ in answers) - self.limit
        for _, size, path in sorted(answers):
            if excess <= 0:
                return
            os.unlink(path)
            excess -= size


def _digest(key: str, packed: bytes) -> bytes:
    """Includes the key: an entry under another's name is damaged, too."""
    return hashlib.sha256(key.encode() + packed).hexdigest().encode()


BallName: TypeAlias = int | str | BallReference
Changes: TypeAlias = (
    Mapping[int, int | str] | Mapping[str, int | str] | Mapping[int | str, int | str]
)
"""Past balls by name, and the outcomes they had instead."""

_MAX_EXPLANATIONS: Final = 32
_MAX_DATED_MODELS: Final = 8
_MAX_SESSIONS: Final = 4


class Session:
    """Answers about balls by one model, with the ratings of each match's date.

    The model is loaded and the history read when the first answer needs them. Ratings of a day and
    the last explanations are cached. Every method takes a match or a file to read one from.

    Args:
        model: a checkpoint, or ``bundled`` (the default) or ``measured``.
        history: earlier matches to update the ratings with: any iterable, or a file, a folder or
            a zip of them. It is read once.
        overs: the encoder-decoder for `over`; ``cricket`` by default.
        cache: a folder of explanations that other processes use, too.
        report: receives lines of progress.
        tell: receives a warning about files of the history that cannot be read.

    Raises:
        AttnlensError: from every method, where the file, the ball or the checkpoint cannot be used.
    """

    def __init__(
        self,
        model: File | None = None,
        history: Iterable[Match] | File | None = None,
        *,
        overs: File | None = None,
        cache: File | None = None,
        report: Report = silent,
        tell: Report = warn_caller,
    ) -> None:
        self.model = None if model is None else os.fspath(model)
        self.overs = None if overs is None else os.fspath(overs)
        if not isinstance(history, History | None):
            history = History(history, report, tell)
        self.history = history
        self._answers = None if cache is None else AnswerCache(Path(cache))
        self._lock = threading.RLock()
        self._explained = lru_cache(_MAX_EXPLANATIONS)(self._explain)
        self.dated = lru_cache(_MAX_DATED_MODELS)(self._dated)

    @cached_property
    def predictor(self) -> TrainedPredictor:
        """The model, with its own ratings."""
        from attnlens.cricket.predictor.trained import load_predictor

        return load_predictor(self.model)

    @cached_property
    def _balls(self) -> Timeline[TrainedPredictor]:
        from attnlens.cricket.predictor.trained import Timeline
        from attnlens.cricket.predictor.window import one_thread

        with one_thread():
            return Timeline(self.predictor, self.history)

    @cached_property
    def _overs(self) -> Timeline[TrainedOvers]:
        from attnlens.cricket.over.next_over import load_overs
        from attnlens.cricket.predictor.trained import Timeline
        from attnlens.cricket.predictor.window import one_thread

        with one_thread():
            return Timeline(load_overs(self.overs), self.history)

    def _dated(self, match: Match) -> TrainedPredictor:
        with self._lock:
            return self._balls.predictor_for(match)

    def read(self, match: Match | File) -> Match:
        """The match itself, or the match in a file."""
        return match if isinstance(match, Match) else read_match(match)

    def find(self, match: Match, ball: BallName, innings: int | None = None) -> BallReference:
        """The ball of a name, see `find_ball`."""
        return ball if isinstance(ball, BallReference) else find_ball(match, ball, innings)

    def ball(
        self,
        match: Match | File,
        ball: BallName,
        innings: int | None = None,
        *,
        batter: str | None = None,
        bowler: str | None = None,
    ) -> tuple[Match, BallReference]:
        """The match and the reference of a ball; one not yet bowled is added to the match."""
        match = self.read(match)
        reference = self.find(match, ball, innings)
        if reference.index > len(innings_numbered(match, reference.innings).deliveries):
            players = {
                option: self._person(name, match, reference.innings, option)
                for option, name in (("batter", batter), ("bowler", bowler))
                if name is not None
            }
            return with_next_ball(match, reference.innings, **players), reference
        if batter or bowler:
            raise InputError(
                "batter and bowler can be chosen only for the next ball, which is not yet bowled",
                remedy="ask about ball next, or leave them out",
            )
        return match, reference

    def _person(self, name: str, match: Match, innings: int, option: str) -> Player:
        from attnlens.cricket.predictor.trained import person_called, refuse_wrong_side

        player = person_called(name, match, self.predictor, option)
        refuse_wrong_side(match, innings_numbered(match, innings), player, option)
        return player

    def explain(
        self,
        match: Match | File,
        *,
        ball: BallName | None = None,
        innings: int | None = None,
        evidence: bool = True,
        outcome: str | None = None,
        batter: str | None = None,
        bowler: str | None = None,
    ) -> Explanation:
        """Why the model expects what it expects of one ball; see `explain`."""
        if ball is None:
            match = self.read(match)
            ball, _ = self.decisive_ball(match, innings)
        match, reference = self.ball(match, ball, innings, batter=batter, bowler=bowler)
        return self._explained(match, reference, evidence, outcome)

    def _explain(
        self, match: Match, reference: BallReference, evidence: bool, outcome: str | None
    ) -> Explanation:
        key = self._key(match.content, reference, outcome, evidence)
        cached = None if key is None or self._answers is None else self._answers.get(key)
        if cached is not None:
            with suppress(InputError):
                return Explanation.from_json(cached)
        from attnlens.cricket.explain.explain_ball import explain_ball
        from attnlens.cricket.words.narrative import in_words

        history = self.history
        predictor, dated = self.dated(match), history is not None
        explanation = in_words(
            explain_ball(
                match, reference, predictor, evidence=evidence, history=dated, outcome=outcome
            )
        )
        complete = history is None or not history.skipped  # else the warning comes every time
        if key is not None and self._answers is not None and complete:
            self._answers.put(key, explanation.to_json())
        return explanation

    def _key(self, *question: object) -> str | None:
        """The cache key of an explanation; ``None`` where nothing is cached.

        The match counts as it was read, not by its bytes: that includes the files beside it.
        """
        from attnlens.cricket.predictor.calibration import SUFFIX, named_checkpoint

        path = None if self.history is None else self.history.path
        if self._answers is None or (self.history is not None and path is None):
            return None
        name, checkpoint = named_checkpoint(self.model)
        model = file_digest(checkpoint)
        # The calibration file beside the checkpoint is quoted in explanations.
        quoted = file_digest(checkpoint.with_name(checkpoint.stem + SUFFIX))
        past = None if path is None else file_digest(path)
        if model is None or (path is not None and past is None):
            return None  # no such file, or a folder of matches
        return key_of("explain", software(), name, model, quoted, past, *question)

    def what_if(
        self,
        match: Match | File,
        question: WhatIfQuestion,
        *,
        ball: BallName,
        innings: int | None = None,
    ) -> WhatIf:
        """What the model would have expected of a ball, had something been different: `what_if`."""
        match = self.read(match)
        reference = self.find(match, ball, innings)
        from attnlens.cricket.what_if import what_if as answered

        predictor = self.dated(match)
        return answered(match, reference, predictor, question, history=self.history is not None)

    def over(
        self,
        match: Match | File,
        *,
        over: int | str,
        innings: int | None = None,
        samples: int = 0,
        temperature: float | None = None,
        top_k: int | None = None,
        seed: int = 0,
        evidence: bool = True,
    ) -> NextOver:
        """What the encoder-decoder expects of an over; see `next_over`."""
        from attnlens.cricket.over.next_over import choice_of, find_over
        from attnlens.cricket.over.next_over import next_over as answered

        match = self.read(match)
        question = find_over(match, over, innings)
        with self._lock:
            trained = self._overs.predictor_for(match)
        return answered(
            question,
            trained,
            choice=choice_of(temperature, top_k),
            seed=seed,
            samples=samples,
            evidence=evidence,
            history=self.history is not None,
        )

    def story(
        self,
        match: Match | File,
        *,
        evidence: bool = True,
        report: Callable[[int, int], None] | None = None,
    ) -> MatchStory:
        """A match's story, see `story`; ``report`` receives the balls tested and their number."""
        from attnlens.cricket.story import tell

        match = self.read(match)
        return tell(
            match,
            self.dated(match),
            lambda ball, outcome: self._explained(match, ball, evidence, outcome),
            history=self.history is not None,
            report=report,
        )

    def decisive_ball(
        self, match: Match | File, innings: int | None = None
    ) -> tuple[BallReference, str]:
        """The ball that moved the match most, see `attnlens.cricket.story.decisive_ball`."""
        from attnlens.cricket.story import decisive_ball

        match = self.read(match)
        return decisive_ball(match, self.dated(match), innings)

    def rows(self, match: Match | File) -> Iterator[Row]:
        """Every delivery of a match with the model's probabilities; see `predict`."""
        from attnlens.cricket.predictor.window import predict_match

        match = self.read(match)
        return predict_match(match, self.dated(match))

    def predict(self, match: Match | File) -> pandas.DataFrame:
        """The same as a table; see `predict`."""
        import pandas

        from attnlens.cricket.predictor.window import COLUMNS

        return pandas.DataFrame(self.rows(match), columns=list(COLUMNS))


_sessions: list[Session] = []
_lock = threading.Lock()


def _session(
    model: File | None, history: Iterable[Match] | None = None, overs: File | None = None
) -> Session:
    """A session of this model and history, a former one where possible."""
    new = Session(model, overs=overs)
    with _lock:
        past = [session for session in _sessions if _has_history(session, history)]
        # Another model uses the same history, since an iterator can be read only once.
        new.history = past[0].history if past else None if history is None else History(history)
        names = new.model, new.overs
        session = next((old for old in past if (old.model, old.overs) == names), new)
        older = (old for old in _sessions if old is not session)
        _sessions[:] = [session, *older][:_MAX_SESSIONS]
        return session


def _has_history(session: Session, history: Iterable[Match] | None) -> bool:
    if session.history is None or history is None:
        return session.history is history
    return session.history.is_same(history)


def explain(
    match: Match | File,
    *,
    ball: int | str | None = None,
    innings: int | None = None,
    model: File | None = None,
    evidence: bool = True,
    history: Iterable[Match] | None = None,
    outcome: str | None = None,
    batter: str | None = None,
    bowler: str | None = None,
) -> Explanation:
    """Why the model expects what it expects of one ball, tested against the model.

    Args:
        match: a match, or a file to read one from.
        ball: position in the innings from 1 (wides and no-balls included), ``"last"``, a label
            such as ``"7.4"``, or any other form of `find_ball`; by default the ball that moved
            the match most.
        innings: from 1; the first unless ``ball`` names one.
        model: a checkpoint, or ``bundled`` (the default) or ``measured``.
        evidence: run the interventions; without them attention is shown, not tested.
        history: earlier matches to update the ratings with.
        outcome: explain the probability of this outcome, such as ``"4"``.
        batter: who faces ``"next"``, where the last ball does not determine it.
        bowler: who bowls it, likewise.

    Raises:
        AttnlensError: the file, the ball or the checkpoint cannot be used.
    """
    return _session(model, history).explain(
        match,
        ball=ball,
        innings=innings,
        evidence=evidence,
        outcome=outcome,
        batter=batter,
        bowler=bowler,
    )


def predict(match: Match | File, *, model: File | None = None) -> pandas.DataFrame:
    """Every delivery of a match with the model's probabilities, one row each.

    Columns: ``match_id, innings, index, label, batter, bowler, actual``, then
    ``p_0 p_1 p_2 p_3 p_4 p_5 p_6 p_W p_wd p_nb p_bye``, ``win_before win_expected``,
    ``win_0 … win_bye`` and ``free_hit`` (0 or 1).

    Raises:
        AttnlensError: the file or the checkpoint cannot be used.
    """
    return _session(model).predict(match)


def story(
    match: Match | File,
    *,
    model: File | None = None,
    history: Iterable[Match] | None = None,
    evidence: bool = True,
) -> MatchStory:
    """The story of a match: win probabilities, turning points, and players above expectation.

    Args:
        match: as for `explain`, as are ``model`` and ``history``.
        evidence: test the claims about turning points and the most surprising balls.

    Raises:
        AttnlensError: the file or the checkpoint cannot be used.
    """
    return _session(model, history).story(match, evidence=evidence)


def what_if(
    match: Match | File,
    *,
    ball: int | str,
    innings: int | None = None,
    bowler: str | None = None,
    batter: str | None = None,
    target: int | None = None,
    changes: Changes | None = None,
    model: File | None = None,
    history: Iterable[Match] | None = None,
) -> WhatIf:
    """What the model would have expected of one ball, had something been different.

    Args:
        match: as for `explain`, as are ``innings``, ``model`` and ``history``.
        ball: as for `explain`; ``"next"`` needs no names.
        bowler: who bowls instead, by name or registry id: a player of the match or of the ratings.
        batter: who faces instead, likewise.
        target: the target of the chase.
        changes: past balls and the outcomes they had instead, ``{43: 6, "7.1": "W"}``;
            ``"last"`` is the ball before the one asked about.

    Raises:
        AttnlensError: the file, the ball, the checkpoint or a change cannot be used.
    """
    balls = tuple((str(name), str(outcome)) for name, outcome in (changes or {}).items())
    question = WhatIfQuestion(bowler, batter, target, balls)
    return _session(model, history).what_if(match, question, ball=ball, innings=innings)


def next_over(
    match: Match | File,
    *,
    over: int | str,
    innings: int | None = None,
    model: File | None = None,
    samples: int = 0,
    temperature: float | None = None,
    top_k: int | None = None,
    seed: int = 0,
    evidence: bool = True,
    history: Iterable[Match] | None = None,
) -> Json:
    """What the encoder-decoder expects of an over: the document of ``attnlens over --json``.

    Args:
        match: as for `explain`, as are ``innings`` and ``history``.
        over: its label in the file, from 0; ``"last"``, or ``"next"`` for the one not yet bowled;
            ``"2:12"`` of the second innings.
        model: an encoder-decoder's checkpoint, or ``cricket`` (the default).
        samples: overs to draw, for the distribution of runs and wickets.
        temperature: draw the over's tokens at this temperature, instead of taking the likeliest.
        top_k: draw from this number of likeliest tokens only.
        seed: of all draws.
        evidence: run the interventions; without them attention is shown, not tested.

    Raises:
        AttnlensError: the file, the over or the checkpoint cannot be used.
    """
    answer = _session(None, history, model).over(
        match,
        over=over,
        innings=innings,
        samples=samples,
        temperature=temperature,
        top_k=top_k,
        seed=seed,
        evidence=evidence,
    )
    return answer.to_dict()
