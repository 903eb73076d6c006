"""Sessions answer questions about matches, and cache the explanations.

The cache key of an explanation is a digest of all its inputs: the match, the question, the bytes of
the checkpoint, and the code. A cached explanation is therefore never out of date. Without a usable
cache folder, explanations are computed every time. Files that another user could have written are
not read. Large packages are imported only when they are needed.
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
"""Packages whose version may change the last digits of an answer."""


def default_folder() -> Path | None:
    """Return the default cache folder on this system, or ``None`` if there is no home folder."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache_home):  # the XDG specification ignores relative paths
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
    """Return the SHA-256 of a file, or ``None`` if the file cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def software() -> str:
    """Return a digest of attnlens's version and files, and of torch's and numpy's versions.

    The digest covers the name, size and modification time of each file. No package is imported.
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
    """Return a cache key: a digest of the ``repr`` of each part."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder with one compressed text file for each answer, and at most ``limit`` bytes."""

    folder: Path
    limit: int = _MAX_BYTES

    def get(self, key: str) -> str | None:
        """Return the answer with this key, or ``None`` if there is no valid file.

        A file is valid if it is undamaged and no other user could have written it.
        """
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
            os.utime(path)  # `_make_room` deletes the least recently used files
        return answer

    def put(self, key: str, answer: str) -> None:
        """Store an answer, and delete the least recently used answers above the limit."""
        packed = zlib.compress(answer.encode(), 6)
        with suppress(InputError, OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            self._path(key).unlink(missing_ok=True)  # because `written_beside` would follow a link
            with written_beside(self._path(key)) as part:
                part.write_bytes(_digest(key, packed) + b"\n" + packed)
            self._path(key).chmod(0o600)
            self._make_room()

    def _is_ours(self) -> bool:
        return is_ours(self.folder.stat())

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{ANSWER_SUFFIX}"

    def _make_room(self) -> None:
        """Delete the least recently used files, including temporary files of killed processes."""
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
    """Return a digest of the content and the key, so that a renamed file counts as damaged."""
    return hashlib.sha256(key.encode() + packed).hexdigest().encode()


BallName: TypeAlias = int | str | BallReference
Changes: TypeAlias = (
    Mapping[int, int | str] | Mapping[str, int | str] | Mapping[int | str, int | str]
)
"""Maps the names of past balls to new outcomes."""

_MAX_EXPLANATIONS: Final = 32
_MAX_DATED_MODELS: Final = 8
_MAX_SESSIONS: Final = 4


class Session:
    """A session answers questions about matches with one model.

    A history updates the ratings to the date of each match. Files are read when an answer needs
    them. The session caches the latest explanations and the latest models with updated ratings.
    Methods accept a match or the path of a match file.

    Args:
        model: the path of a checkpoint, ``bundled`` (the default) or ``measured``.
        history: earlier matches, or the path of a file, folder or zip that contains matches. The
            history is read once.
        overs: the checkpoint for the method `over`: a path or ``cricket`` (the default).
        cache: a folder for explanations, which several processes may share.
        report: receives progress messages.
        tell: receives a warning if files of the history cannot be read.

    Raises:
        AttnlensError: a method cannot use the file, the ball or the checkpoint.
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
        """The model, with the ratings that its checkpoint contains."""
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
        """Return ``match`` if it is a match. Otherwise read the match file."""
        return match if isinstance(match, Match) else read_match(match)

    def find(self, match: Match, ball: BallName, innings: int | None = None) -> BallReference:
        """Return the ball with this name; see `find_ball`."""
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
        """Return the match and a reference to the ball. An unbowled ball is added to the match."""
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
                "batter and bowler can be chosen only for a ball that has not been bowled yet",
                remedy="choose the ball `next`, or leave out batter and bowler",
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
        """Explain the model's forecast for one ball; see `attnlens.explain`."""
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
        # A cached answer would hide the warning that files of the history cannot be read.
        complete = history is None or not history.skipped
        if key is not None and self._answers is not None and complete:
            self._answers.put(key, explanation.to_json())
        return explanation

    def _key(self, *question: object) -> str | None:
        """Return a cache key, or ``None`` if the explanation must not be cached."""
        from attnlens.cricket.predictor.calibration import SUFFIX, named_checkpoint

        path = None if self.history is None else self.history.path
        if self._answers is None or (self.history is not None and path is None):
            return None
        name, checkpoint = named_checkpoint(self.model)
        model = file_digest(checkpoint)
        # Explanations contain numbers from the calibration file next to the checkpoint.
        quoted = file_digest(checkpoint.with_name(checkpoint.stem + SUFFIX))
        past = None if path is None else file_digest(path)
        if model is None or (path is not None and past is None):
            return None  # the file does not exist, or the path is a folder of matches
        return key_of("explain", software(), name, model, quoted, past, *question)

    def what_if(
        self,
        match: Match | File,
        question: WhatIfQuestion,
        *,
        ball: BallName,
        innings: int | None = None,
    ) -> WhatIf:
        """Return the forecast for a ball after changes of inputs; see `attnlens.what_if`."""
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
        """Return the forecast of the encoder-decoder for an over; see `attnlens.next_over`."""
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
        """Return the story of a match; see `attnlens.story`.

        Args:
            report: receives the number of tested balls and the number of balls to test.
        """
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
        """Return the decisive ball and a sentence; see `attnlens.cricket.story.decisive_ball`."""
        from attnlens.cricket.story import decisive_ball

        match = self.read(match)
        return decisive_ball(match, self.dated(match), innings)

    def rows(self, match: Match | File) -> Iterator[Row]:
        """Yield every delivery of a match with its probabilities; see `attnlens.predict`."""
        from attnlens.cricket.predictor.window import predict_match

        match = self.read(match)
        return predict_match(match, self.dated(match))

    def predict(self, match: Match | File) -> pandas.DataFrame:
        """Return the rows of a match as a table; see `attnlens.predict`."""
        import pandas

        from attnlens.cricket.predictor.window import COLUMNS

        return pandas.DataFrame(self.rows(match), columns=list(COLUMNS))


_sessions: list[Session] = []
_lock = threading.Lock()


def _session(
    model: File | None, history: Iterable[Match] | None = None, overs: File | None = None
) -> Session:
    """Return an earlier session with this model and history, or a new session."""
    new = Session(model, overs=overs)
    with _lock:
        past = [session for session in _sessions if _has_history(session, history)]
        # Sessions with other models share the history, because an iterator can be read only once.
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
    """Explain the model's forecast for one ball, and test the claims of the explanation.

    Args:
        match: a match, or the path of a match file.
        ball: the position in the innings from 1 (wides and no-balls count), ``"last"``, ``"next"``,
            a label such as ``"7.4"``, or any other form that `find_ball` accepts. The default is
            the ball that changed the win probability most.
        innings: the innings, counted from 1. A name such as ``"2:47"`` contains the innings.
            Otherwise, the default is the last innings for ``"next"``, and the first innings for
            every other name.
        model: the path of a checkpoint, ``bundled`` (the default) or ``measured``.
        evidence: whether to run the interventions, which test the claims.
        history: earlier matches, which update the ratings to the date of the match.
        outcome: the outcome whose probability is explained, such as ``"4"``.
        batter: the batter for ``"next"``, required if the last ball does not determine the batter.
        bowler: the bowler for ``"next"``, required if the last ball does not determine the bowler.

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
    """Return a table of the model's probabilities, with a row for every delivery of a match.

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
    """Return the story of a match: win probabilities, turning points, and players' results.

    Args:
        match: as in `explain`.
        model: as in `explain`.
        history: as in `explain`.
        evidence: whether to test the claims about turning points and surprising balls.

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
    """Return the forecast for one ball after a change of players, target or past outcomes.

    Args:
        match: as in `explain`.
        innings: as in `explain`.
        model: as in `explain`.
        history: as in `explain`.
        ball: as in `explain`, but required. The batter and the bowler of ``"next"`` are optional.
        bowler: the new bowler: a name or registry id from the match or from the ratings.
        batter: the new batter: a name or registry id from the match or from the ratings.
        target: a different target for the chase.
        changes: past balls and their new outcomes, such as ``{43: 6, "7.1": "W"}``. In ``changes``,
            ``"last"`` is the ball immediately before ``ball``.

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
    """Return the forecast for an over, in the JSON format of the command ``attnlens over --json``.

    Args:
        match: as in `explain`.
        innings: as in `explain`.
        history: as in `explain`.
        over: the over in the file, counted from 0, or ``"last"``. ``"next"`` is the over in
            progress, or the next over if the last over is complete. ``"2:12"`` is over 12 of the
            second innings.
        model: the path of an encoder-decoder's checkpoint, or ``cricket`` (the default).
        samples: the number of overs to sample for the distribution of runs and wickets.
        temperature: the temperature at which tokens are sampled.
        top_k: the number of most likely tokens to sample from. Without ``temperature`` and
            ``top_k``, the most likely token is chosen at each step.
        seed: the seed of all random numbers.
        evidence: whether to run the interventions, which test the attention.

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
