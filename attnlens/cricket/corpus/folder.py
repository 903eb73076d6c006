"""The folder of a corpus: what it was begun with, its finished parts, and who writes in it.

::

    DIR/manifest.json                             settings, model, sources, how far it is
        sources.jsonl                             every file read, with its digest
        skipped.jsonl                             every file and match passed over, and why
        parts/part-2024-00000.json                one per finished part
        balls/year=2024/part-2024-00000.parquet   and so for every table

A part is finished when its file in ``parts`` is there, which is written last. Every file is
written beside its place and renamed, so whatever is killed leaves whole files only. One process
writes at a time: a lock that the system takes off when that process ends, however it ends.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from attnlens.cricket.corpus.plan import Part, Plan, Skipped
from attnlens.errors import InputError
from attnlens.files import Json, written_beside

if TYPE_CHECKING:
    from attnlens.cricket.corpus.work import PartDone

MANIFEST: Final = "manifest.json"
SOURCES: Final = "sources.jsonl"
SKIPPED: Final = "skipped.jsonl"
PARTS: Final = "parts"
LOCK: Final = ".lock"
YEAR: Final = "year"
"""The folder level of every table: the year of the match's first day, 0 where it has none."""

TABLES: Final = ("balls", "heads", "matches", "evidence", "effects")
KIND: Final = "attnlens corpus"
ANOTHER: Final = "choose another folder, or begin anew with --restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that the rows follow from but the matches: it must be the same to go on.

    Attributes:
        model: its name, digest and dates, and the names its heads have earned.
        history: a digest of the matches that ratings have learnt from.
        evidence: how many balls are tested, and the seed of their draw.
    """

    schema_version: str
    attnlens: str
    model: Json
    history: str | None
    evidence: Mapping[str, int] | None
    matches_per_part: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a corpus was begun with, and how far it is."""

    settings: Settings
    matches: int
    parts: int
    complete: bool

    def to_json(self) -> str:
        """One object, the settings among its fields."""
        how_far = {"matches": self.matches, "parts": self.parts, "complete": self.complete}
        whole = {"kind": KIND, **asdict(self.settings), **how_far}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """The manifest in a file.

        Raises:
            InputError: there is none, or it is damaged.
        """
        try:
            whole = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise InputError(
                "holds no corpus",
                path=path.parent,
                remedy="make one with `attnlens corpus explain SRC --out DIR`",
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"is damaged ({error})", path=path, remedy="explain anew") from None
        if not isinstance(whole, dict) or whole.pop("kind", None) != KIND:
            raise InputError("is no corpus's manifest", path=path, remedy="explain anew")
        try:
            settings = Settings(**{name: whole[name] for name in Settings.__slots__})
            how_far = {name: whole[name] for name in ("matches", "parts", "complete")}
        except KeyError as error:
            reason = f"is damaged (it lacks {error})"
            raise InputError(reason, path=path, remedy="explain anew") from None
        return cls(settings=settings, **how_far)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A part's file of a table."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A finished part, as its file tells."""

    year: int
    digest: str
    matches: int
    balls: int
    tested: int
    tables: Mapping[str, TableFile]
    skipped: tuple[Skipped, ...]

    @classmethod
    def read(cls, path: Path) -> Finished:
        """The part that a file tells of.

        Raises:
            OSError, ValueError, KeyError, TypeError, AttributeError: it is damaged.
        """
        whole = json.loads(path.read_text("utf-8"))
        tables = {name: TableFile(**table) for name, table in whole.pop("tables").items()}
        skipped = tuple(Skipped(**one) for one in whole.pop("skipped"))
        return cls(**whole, tables=tables, skipped=skipped)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus on disk."""

    folder: Path

    @property
    def manifest(self) -> Manifest:
        """What it was begun with, and how far it is.

        Raises:
            InputError: there is none, or it is damaged.
        """
        return Manifest.read(self.folder / MANIFEST)

    def finished(self) -> dict[str, Finished]:
        """The finished parts by name, in order.

        A part whose tables are not there in full counts as unfinished.
        """
        parts: dict[str, Finished] = {}
        folder = self.folder / PARTS
        for path in sorted(folder.glob("part-*.json")) if folder.is_dir() else ():
            try:
                part = Finished.read(path)
                whole = all(
                    self.table_file(name, part.year, path.stem).stat().st_size == table.bytes
                    for name, table in part.tables.items()
                )
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue
            if whole:
                parts[path.stem] = part
        return parts

    def table_file(self, table: str, year: int, part: str) -> Path:
        """Where a part's rows of a table lie."""
        return self.folder / table / f"{YEAR}={year}" / f"{part}.parquet"

    def skipped(self) -> int:
        """How many files and matches were passed over, as far as is known."""
        try:
            return len((self.folder / SKIPPED).read_text("utf-8").splitlines())
        except FileNotFoundError:
            return 0

    def files(self) -> dict[str, list[Path]]:
        """The files of every table, of finished parts only."""
        files: dict[str, list[Path]] = {}
        for name, part in self.finished().items():
            for table in part.tables:
                files.setdefault(table, []).append(self.table_file(table, part.year, name))
        return files

    # Writing: only with the lock.

    def begin(self, settings: Settings, plan: Plan) -> list[Part]:
        """Make the folder ready for a plan; of an earlier run's parts, those that fit stay.

        Returns:
            the parts that are not finished.

        Raises:
            InputError: it was begun with other settings, from other matches, or holds
                something else.
        """
        if (self.folder / MANIFEST).exists():
            self._check(settings, plan)
        elif any(entry.name != LOCK for entry in self.folder.iterdir()):
            raise InputError(
                "is not empty, and holds no corpus",
                path=self.folder,
                remedy="choose another folder",
            )
        for name in (PARTS, *TABLES):
            for left in (self.folder / name).rglob("*.part"):
                left.unlink(missing_ok=True)
        known = {part.name: part.digest for part in plan.parts}
        kept = set()
        for name, part in self.finished().items():
            if known.get(name) == part.digest:
                kept.add(name)
            else:
                (self.folder / PARTS / f"{name}.json").unlink()
                for table in part.tables:
                    self.table_file(table, part.year, name).unlink()
        (self.folder / PARTS).mkdir(exist_ok=True)
        files = sorted(plan.files.items())
        self._write_lines(SOURCES, ({"file": name, "sha256": digest} for name, digest in files))
        self._tell(settings, plan, complete=False)
        return [part for part in plan.parts if part.name not in kept]

    def finish(self, settings: Settings, plan: Plan) -> tuple[Skipped, ...]:
        """Tell that every part is there; what was passed over."""
        return self._tell(settings, plan, complete=True)

    def clear(self) -> None:
        """Take away a whole corpus, and nothing else.

        Raises:
            InputError: the folder holds something else.
        """
        if not (self.folder / MANIFEST).exists():
            return
        assert self.manifest
        # The manifest goes last: what is left of a corpus that was half taken away is one.
        for name in (PARTS, *TABLES):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in (SOURCES, SKIPPED, MANIFEST):
            (self.folder / name).unlink(missing_ok=True)

    def put(self, done: PartDone) -> None:
        """Keep a finished part: its tables, and then the file that says so."""
        part = done.part
        tables = {}
        for table, data in done.tables.items():
            path = self.table_file(table, part.year, part.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_beside(path) as beside:
                beside.write_bytes(data)
            tables[table] = TableFile(len(data), hashlib.sha256(data).hexdigest())
        finished = Finished(
            year=part.year,
            digest=part.digest,
            matches=done.matches,
            balls=done.balls,
            tested=done.tested,
            tables=tables,
            skipped=done.skipped,
        )
        self._write(f"{PARTS}/{part.name}.json", json.dumps(asdict(finished), indent=1) + "\n")

    def _write(self, name: str, text: str) -> None:
        with written_beside(self.folder / name) as beside:
            beside.write_text(text, encoding="utf-8")

    def _write_lines(self, name: str, lines: Iterable[Mapping[str, str]]) -> None:
        self._write(name, "".join(f"{json.dumps(line)}\n" for line in lines))

    def _tell(self, settings: Settings, plan: Plan, *, complete: bool) -> tuple[Skipped, ...]:
        """Write what was passed over, and how far the corpus is."""
        of_parts = [one for part in self.finished().values() for one in part.skipped]
        skipped = (*plan.skipped, *of_parts)
        self._write_lines(SKIPPED, map(asdict, skipped))
        manifest = Manifest(
            settings=settings, matches=plan.matches, parts=len(plan.parts), complete=complete
        )
        self._write(MANIFEST, manifest.to_json())
        return skipped

    def _check(self, settings: Settings, plan: Plan) -> None:
        before = self.manifest.settings
        for name in Settings.__slots__:
            had, now = getattr(before, name), getattr(settings, name)
            if had != now:
                raise InputError(
                    f"was begun with another {_setting(name, had, now)}",
                    path=self.folder,
                    remedy=ANOTHER,
                )
        path = self.folder / SOURCES
        if path.exists():
            lines = path.read_text("utf-8").splitlines()
            had = {json.loads(line)["sha256"] for line in lines}
            lost = len(had - set(plan.digests))
            if lost:
                raise InputError(
                    f"was begun with other matches: {lost} of its {len(had)} files are not among "
                    "those given",
                    path=self.folder,
                    remedy=f"give them too, {ANOTHER}",
                )


def _setting(name: str, before: Any, now: Any) -> str:
    """What differs, in as few words as tell it."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        inner = next(key for key in now if before.get(key) != now[key])
        return f"{name} ({inner} {_short(before.get(inner))}, now {_short(now[inner])})"
    return f"{name} ({_short(before)}, now {_short(now)})"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


@contextmanager
def writing(folder: Path) -> Iterator[Corpus]:
    """The corpus in a folder, which nobody else writes in meanwhile; the folder is made.

    Raises:
        InputError: somebody does, or it cannot be made or written in.
    """
    try:
        folder.mkdir(exist_ok=True)
        lock = (folder / LOCK).open("a+b")
    except OSError as error:
        reason = "its folder does not exist" if isinstance(error, FileNotFoundError) else None
        raise InputError(
            reason or f"cannot be written ({error.strerror or error})",
            path=folder,
            remedy="make the folder first" if reason else "write to another folder",
        ) from error
    with lock:
        if not _locked(lock):
            raise InputError(
                "another process is writing this corpus",
                path=folder,
                remedy="wait for it, or end it: it can be taken up where it was",
            )
        yield Corpus(folder)


if sys.platform == "win32":
    import msvcrt

    def _locked(file: IO[bytes]) -> bool:
        """Whether this process alone holds the file now, until it ends or closes it."""
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _locked(file: IO[bytes]) -> bool:
        """Whether this process alone holds the file now, until it ends or closes it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
