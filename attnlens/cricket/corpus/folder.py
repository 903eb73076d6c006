"""The folder of a corpus: what it was begun with, its finished parts, and who writes in it.

::

    DIR/manifest.json                             settings, model, how far it is
        sources.jsonl                             every file read, with its digest
        skipped.jsonl                             every file and match passed over, and why
        parts/part-2024-00000.json                one per finished part
        balls/year=2024/part-2024-00000.parquet   and so for every table that has rows

A part is finished when its file in ``parts`` is there, which is written last. Every file is
written beside its place and renamed, so whatever is killed leaves whole files only. One process
writes at a time: a lock that the system takes off when that process ends, however it ends.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

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

TOLD: Final = (*SETTINGS, "matches", "parts", "complete")
RECORDED: Final = ("year", "digest", "tables", "skipped")


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
        try:
            whole = json.loads(path.read_text("utf-8"))
            if whole["kind"] != KIND:
                raise ValueError("it is of another kind")
            return {name: whole[name] for name in TOLD}
        except FileNotFoundError:
            raise InputError(
                "holds no corpus",
                path=self.folder,
                remedy="make one with `attnlens corpus explain SRC --out DIR`",
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"is damaged ({error!r})", path=path, remedy="explain anew") from None

    def finished(self) -> dict[str, Json]:
        """The fields `RECORDED` of the finished parts, by name, in order.

        A part whose tables are not there in full counts as unfinished.
        """
        parts: dict[str, Json] = {}
        for path in sorted((self.folder / PARTS).glob("part-*.json")):
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                whole = json.loads(path.read_text("utf-8"))
                sizes = {
                    self.table_file(table, whole["year"], path.stem).stat().st_size - about["bytes"]
                    for table, about in whole["tables"].items()
                }
                if sizes <= {0}:
                    parts[path.stem] = {name: whole[name] for name in RECORDED}
        return parts

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

    def begin(self, settings: Json, plan: Plan) -> list[Part]:
        """Make the folder ready for a plan; of an earlier run's parts, those that fit stay.

        Args:
            settings: by the names `SETTINGS`.

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
        for left in self.folder.rglob("*.part"):
            left.unlink(missing_ok=True)
        known = {part.name: part.digest for part in plan.parts}
        kept = set()
        for name, part in self.finished().items():
            if known.get(name) == part["digest"]:
                kept.add(name)
            else:
                (self.folder / PARTS / f"{name}.json").unlink()
                for table in part["tables"]:
                    self.table_file(table, part["year"], name).unlink()
        (self.folder / PARTS).mkdir(exist_ok=True)
        files = sorted(plan.files.items())
        self._write_lines(SOURCES, ({"file": name, "sha256": digest} for name, digest in files))
        self.tell(settings, plan, complete=False)
        return [part for part in plan.parts if part.name not in kept]

    def put(self, done: PartDone) -> None:
        """Keep a finished part: its tables, and then the file that says so."""
        part, tables = done.part, {}
        for table, data in done.tables.items():
            path = self.table_file(table, part.year, part.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_beside(path) as beside:
                beside.write_bytes(data)
            tables[table] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        whole = {
            "year": part.year,
            "digest": part.digest,
            "tables": tables,
            "skipped": [asdict(one) for one in done.skipped],
        }
        self._write(f"{PARTS}/{part.name}.json", json.dumps(whole, indent=1) + "\n")

    def tell(self, settings: Json, plan: Plan, *, complete: bool) -> tuple[Skipped, ...]:
        """Write how far the corpus is, and what was passed over, which is returned."""
        of_parts = [Skipped(**one) for part in self.finished().values() for one in part["skipped"]]
        skipped = (*plan.skipped, *of_parts)
        self._write_lines(SKIPPED, map(asdict, skipped))
        how_far = {"matches": plan.matches, "parts": len(plan.parts), "complete": complete}
        whole = {"kind": KIND, **settings, **how_far}
        self._write(MANIFEST, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        return skipped

    def _check(self, settings: Json, plan: Plan) -> None:
        before = self.manifest
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

    def _write(self, name: str, text: str) -> None:
        with written_beside(self.folder / name) as beside:
            beside.write_text(text, encoding="utf-8")

    def _write_lines(self, name: str, lines: Iterable[Mapping[str, str]]) -> None:
        self._write(name, "".join(f"{json.dumps(line)}\n" for line in lines))


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
