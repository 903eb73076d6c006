"""The folder of a corpus: what it was begun with, its finished parts, and who writes in it.

::

    DIR/manifest.json                             settings, model, how far it is
        sources.jsonl                             every file read, with its digest
        skipped.jsonl                             every file and match passed over, and why
        parts/part-2024-00000.json                one per finished part
        balls/year=2024/part-2024-00000.parquet   and so for every table that has rows

A part is finished when its file in ``parts`` is there, which is written last. Every file is
written beside its place, put on the disk and renamed, so whatever is killed leaves whole files
only. One process writes at a time: a lock that the system takes off when that process ends,
however it ends.

Every file's digest is kept: of a table in its part's file, of a list in the manifest, and of both
of these in themselves, as their last field. They are looked at before anything is made of them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from attnlens.cricket.answers import file_digest
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

KIND: Final = "attnlens corpus"
SETTINGS: Final = (
    "schema_version",
    "attnlens",
    "model",
    "history",
    "evidence",
    "matches_per_part",
)
"""Fields of the manifest that all rows follow from: they must be the same to go on."""

TOLD: Final = (*SETTINGS, "matches", "parts", "complete", "lists")
RECORDED: Final = ("year", "digest", "tables", "skipped")
TABLES: Final = frozenset({"balls", "heads", "matches", "evidence"})
SEAL: Final = "seal"
AGAIN: Final = "run `attnlens corpus explain` as before: what is damaged is worked out anew"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus on disk."""

    folder: Path

    @property
    def manifest(self) -> Json:
        """What it was begun with, and how far it is: the fields `TOLD`.

        Raises:
            InputError: there is none, or it is damaged.
        """
        path = self.folder / MANIFEST
        if not path.exists():
            raise InputError(
                "holds no corpus",
                path=self.folder,
                remedy="make one with `attnlens corpus explain SRC --out DIR`",
            )
        whole = _unsealed(path, "explain anew, in another folder")
        if whole.get("kind") != KIND or not set(TOLD) <= whole.keys():
            raise InputError("is no corpus's", path=path, remedy="explain anew, in another folder")
        return {name: whole[name] for name in TOLD}

    def finished(self, damaged: list[InputError] | None = None) -> dict[str, Json]:
        """The fields `RECORDED` of the finished parts, by name, in order.

        Every byte is looked at, once by each process. A part that is not as it was written counts
        as unfinished; ``damaged`` takes in what is wrong, a file each.
        """
        damaged = [] if damaged is None else damaged
        parts: dict[str, Json] = {}
        for name, part in self._records(damaged):
            wrong = [
                _damaged(path)
                for table, about in part["tables"].items()
                if _digest(path := self.table_file(table, part["year"], name)) != about["sha256"]
            ]
            damaged += wrong
            if not wrong:
                parts[name] = part
        return parts

    def damage(self) -> list[InputError]:
        """What is wrong with the files, one by one; nothing where all are as they were written.

        Raises:
            InputError: there is no corpus, or its manifest is damaged.
        """
        manifest = self.manifest
        lists = {self.folder / name: digest for name, digest in (manifest["lists"] or {}).items()}
        damaged = [_damaged(path) for path, digest in lists.items() if _digest(path) != digest]
        finished = len(self.finished(damaged))
        if manifest["complete"] and finished < manifest["parts"] and not damaged:
            lost = f"has lost {manifest['parts'] - finished} of its {manifest['parts']} parts"
            damaged.append(InputError(lost, path=self.folder, remedy=AGAIN))
        return damaged

    def check(self) -> None:
        """Whether every file is as it was written.

        Raises:
            InputError: as `damage`, or a file is not; how many others there are is told.
        """
        damage = self.damage()
        if damage:
            more = f", and so are {len(damage) - 1} more files" if len(damage) > 1 else ""
            raise InputError(f"{damage[0].problem}{more}", path=damage[0].path, remedy=AGAIN)

    def _records(self, damaged: list[InputError]) -> Iterator[tuple[str, Json]]:
        """What the file of each part says."""
        for path in sorted((self.folder / PARTS).glob("part-*.json")):
            try:
                part = _unsealed(path, AGAIN)
            except InputError as error:
                damaged.append(error)
                continue
            # Of these a path is made: it must not lead out of the folder.
            fits = part.keys() == set(RECORDED) and isinstance(part["year"], int)
            if fits and part["tables"].keys() <= TABLES:
                yield path.stem, part
            else:
                damaged.append(_damaged(path))

    def table_file(self, table: str, year: int, part: str) -> Path:
        """Where a part's rows of a table lie."""
        return self.folder / table / f"{YEAR}={year}" / f"{part}.parquet"

    def skipped(self) -> int:
        """How many files and matches were passed over, as far as is known."""
        return len(self._lines(SKIPPED))

    def files(self) -> dict[str, list[Path]]:
        """The files of every table, of finished parts only."""
        files: dict[str, list[Path]] = {}
        for name, part in self.finished().items():
            for table in part["tables"]:
                files.setdefault(table, []).append(self.table_file(table, part["year"], name))
        return files

    # Writing: only with the lock.

    def begin(self, settings: Json, plan: Plan) -> tuple[list[Part], list[InputError]]:
        """Make the folder ready for a plan; of an earlier run's parts, those that fit stay.

        The parts that are not finished are returned, and what was found to be damaged.

        Raises:
            InputError: it was begun with other settings, from other matches, or holds
                something else or a link.
        """
        damaged: list[InputError] = []
        if (self.folder / MANIFEST).exists():
            self._check(settings, plan)
            damaged = self.damage()
        elif any(entry.name != LOCK for entry in self.folder.iterdir()):
            raise InputError(
                "is not empty, and holds no corpus",
                path=self.folder,
                remedy="choose another folder",
            )
        for path in self.folder.rglob("*"):
            if path.is_symlink():  # what it leads to would be written over
                raise InputError("is a link", path=path, remedy="put the file in its place")
            if path.suffix == ".part":
                path.unlink()
        known = {part.name: part.digest for part in plan.parts}
        finished = self.finished()
        kept = {name for name, part in finished.items() if known.get(name) == part["digest"]}
        for kind in (f"{PARTS}/part-*.json", f"*/{YEAR}=*/part-*.parquet"):
            for path in self.folder.glob(kind):
                if path.stem not in kept:
                    path.unlink()
        (self.folder / PARTS).mkdir(exist_ok=True)
        self.tell(settings, plan, complete=False)
        return [part for part in plan.parts if part.name not in kept], damaged

    def put(self, done: PartDone) -> None:
        """Keep a finished part: its tables, and then the file that says so."""
        part, tables = done.part, {}
        for table, data in done.tables.items():
            path = self.table_file(table, part.year, part.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, data)
            tables[table] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        whole = {
            "year": part.year,
            "digest": part.digest,
            "tables": tables,
            "skipped": [asdict(one) for one in done.skipped],
        }
        self._write(self.folder / PARTS / f"{part.name}.json", sealed(whole))

    def tell(self, settings: Json, plan: Plan, *, complete: bool) -> tuple[Skipped, ...]:
        """Write how far the corpus is, and what was passed over, which is returned."""
        of_parts = [Skipped(**one) for _, part in self._records([]) for one in part["skipped"]]
        skipped = (*plan.skipped, *of_parts)
        files = ({"file": name, "sha256": plan.files[name]} for name in sorted(plan.files))
        lists = {SOURCES: _lines_of(files), SKIPPED: _lines_of(map(asdict, skipped))}
        whole = {"kind": KIND, **settings, "matches": plan.matches, "parts": len(plan.parts)}
        # Whatever is killed meanwhile leaves lists that nothing is said of, not damaged ones.
        self._write(self.folder / MANIFEST, sealed({**whole, "complete": False, "lists": None}))
        for name, data in lists.items():
            self._write(self.folder / name, data)
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in lists.items()}
        whole |= {"complete": complete, "lists": digests}
        self._write(self.folder / MANIFEST, sealed(whole))
        return skipped

    def _check(self, settings: Json, plan: Plan) -> None:
        before, sources = self.manifest, self.folder / SOURCES
        if before["lists"] and sources.exists() and _digest(sources) != before["lists"][SOURCES]:
            remedy = "remove it, if you give the matches that the corpus was begun with"
            raise InputError("is damaged", path=sources, remedy=remedy)
        had = {line["sha256"] for line in self._lines(SOURCES)}
        lost = len(had - set(plan.digests))
        other = [f"another {name}" for name, now in settings.items() if before[name] != now]
        if lost:
            other.append(f"other matches: {lost} of its {len(had)} files are not among those given")
        if other:
            raise InputError(
                f"was begun with {other[0]}",
                path=self.folder,
                remedy="give what it was begun with, or choose another folder",
            )

    def _lines(self, name: str) -> list[Json]:
        """What a list in the folder holds; nothing where it is not there."""
        path = self.folder / name
        lines = path.read_text("utf-8").splitlines() if path.exists() else ()
        return [json.loads(line) for line in lines]

    def _write(self, path: Path, data: bytes) -> None:
        with written_beside(path, lasting=True) as beside:
            beside.write_bytes(data)


def _lines_of(objects: Iterable[Mapping[str, str]]) -> bytes:
    return "".join(f"{json.dumps(one)}\n" for one in objects).encode()


def sealed(whole: Json) -> bytes:
    """JSON whose last field is the digest of the rest."""
    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
    return f"{json.dumps({**whole, SEAL: digest}, indent=1)}\n".encode()


def _unsealed(path: Path, remedy: str) -> Json:
    """What was sealed; an InputError if a bit of it has changed, or it never was."""
    try:
        data = path.read_bytes()
        whole: Json = json.loads(data)
        seal = whole.pop(SEAL, None)
        if seal is None:
            problem = "is damaged, or of an older version"
            raise InputError(problem, path=path, remedy="explain anew, in another folder")
        if sealed(whole) == data:
            return whole
    except (OSError, ValueError, AttributeError, RecursionError):
        pass
    raise _damaged(path, remedy)


def _damaged(path: Path, remedy: str = AGAIN) -> InputError:
    return InputError("is damaged: its bytes are not those written", path=path, remedy=remedy)


def _digest(path: Path) -> str | None:
    """The SHA-256 of a file; ``None`` where it cannot be read."""
    try:
        about = path.stat()
    except OSError:
        return None
    return _digest_once(path, about.st_size, about.st_mtime_ns, about.st_ino)


@lru_cache(maxsize=1 << 16)
def _digest_once(path: Path, *as_it_stands: int) -> str | None:  # noqa: ARG001
    """A file that has not been written to since is not read again."""
    return file_digest(path)


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
        reason = f"cannot be written ({error.strerror or error})"
        raise InputError(reason, path=folder, remedy="write to another folder") from error
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
