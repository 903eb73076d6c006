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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from attnlens.corpus.plan import Part, Plan, Skipped
from attnlens.errors import InputError
from attnlens.files import written_beside

if TYPE_CHECKING:
    from attnlens.corpus.shard import PartDone

MANIFEST: Final = "manifest.json"
SOURCES: Final = "sources.jsonl"
SKIPPED: Final = "skipped.jsonl"
PARTS: Final = "parts"
LOCK: Final = ".lock"
YEAR: Final = "year"
"""The folder level of every table: the year of the match's first day, 0 where it has none."""

KIND: Final = "attnlens corpus"
TOLD: Final = ("schema_version", "model", "history", "evidence", "parts", "complete")
"""What every manifest tells."""

ANOTHER: Final = "choose another folder, or begin anew with --restart"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus on disk."""

    folder: Path

    @property
    def manifest(self) -> dict[str, Any]:
        """What it was begun with, and how far it is.

        Raises:
            InputError: there is none, or it is damaged.
        """
        path = self.folder / MANIFEST
        try:
            told = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise InputError(
                "holds no corpus",
                path=self.folder,
                remedy="make one with `attnlens corpus explain SRC --out DIR`",
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"is damaged ({error})", path=path, remedy="explain anew") from None
        if not isinstance(told, dict) or told.get("kind") != KIND:
            raise InputError("is no corpus's manifest", path=path, remedy="explain anew")
        lost = [name for name in TOLD if name not in told]
        if lost:
            raise InputError(f"is damaged (it lacks {lost[0]!r})", path=path, remedy="explain anew")
        return told

    def finished(self) -> dict[str, dict[str, Any]]:
        """The finished parts by name, in order, each as its file tells.

        A part whose tables are not there in full counts as unfinished.
        """
        found: dict[str, dict[str, Any]] = {}
        folder = self.folder / PARTS
        for path in sorted(folder.glob("part-*.json")) if folder.is_dir() else ():
            try:
                told = json.loads(path.read_text("utf-8"))
                whole = all(
                    self.table_file(name, told["year"], path.stem).stat().st_size == table["bytes"]
                    for name, table in told["tables"].items()
                )
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if whole:
                found[path.stem] = told
        return found

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
        found: dict[str, list[Path]] = {}
        for name, told in self.finished().items():
            for table in told["tables"]:
                found.setdefault(table, []).append(self.table_file(table, told["year"], name))
        return found

    # Writing: only with the lock.

    def begin(self, settings: Mapping[str, Any], plan: Plan) -> None:
        """Make the folder ready for a plan; of an earlier run's parts, those that fit stay.

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
        for name in self._folders():
            if (self.folder / name).is_dir():
                for left in (self.folder / name).rglob("*.part"):
                    left.unlink(missing_ok=True)
        known = {part.name: part.digest for part in plan.parts}
        for name, told in self.finished().items():
            if known.get(name) != told["digest"]:
                self._forget(name, told)
        (self.folder / PARTS).mkdir(exist_ok=True)
        lines = [json.dumps({"file": f, "sha256": d}) for f, d in sorted(plan.files.items())]
        self._write(SOURCES, "".join(f"{line}\n" for line in lines))
        self._tell_skipped(plan)
        self._tell(settings, plan, complete=False)

    def finish(self, settings: Mapping[str, Any], plan: Plan) -> list[Skipped]:
        """Tell that every part is there; what was passed over."""
        skipped = self._tell_skipped(plan)
        self._tell(settings, plan, complete=True)
        return skipped

    def clear(self) -> None:
        """Take away a whole corpus, and nothing else.

        Raises:
            InputError: the folder holds something else.
        """
        if not (self.folder / MANIFEST).exists():
            return
        assert self.manifest
        # The manifest goes last: what is left of a corpus that was half taken away is one.
        for name in self._folders():
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in (SOURCES, SKIPPED, MANIFEST):
            (self.folder / name).unlink(missing_ok=True)

    @staticmethod
    def _folders() -> tuple[str, ...]:
        # What only asks a corpus needs no torch, which the tables' columns are told with.
        from attnlens.corpus.schema import TABLES

        return (PARTS, *TABLES)

    def put(self, done: PartDone) -> None:
        """Keep a finished part: its tables, and then the file that says so."""
        tables = {}
        for table, data in done.tables.items():
            path = self.table_file(table, done.year, done.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_beside(path) as beside:
                beside.write_bytes(data)
            tables[table] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        told = {
            "year": done.year,
            "digest": done.digest,
            "matches": done.matches,
            "balls": done.balls,
            "tested": done.tested,
            "tables": tables,
            "skipped": [{"file": one.file, "problem": one.problem} for one in done.skipped],
        }
        self._write(f"{PARTS}/{done.name}.json", json.dumps(told, indent=1) + "\n")

    def _forget(self, name: str, told: Mapping[str, Any]) -> None:
        (self.folder / PARTS / f"{name}.json").unlink(missing_ok=True)
        for table in told["tables"]:
            self.table_file(table, told["year"], name).unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        with written_beside(self.folder / name) as beside:
            beside.write_text(text, encoding="utf-8")

    def _tell_skipped(self, plan: Plan) -> list[Skipped]:
        skipped = list(plan.skipped)
        for told in self.finished().values():
            skipped += [Skipped(one["file"], one["problem"]) for one in told["skipped"]]
        lines = [json.dumps({"file": one.file, "problem": one.problem}) for one in skipped]
        self._write(SKIPPED, "".join(f"{line}\n" for line in lines))
        return skipped

    def _tell(self, settings: Mapping[str, Any], plan: Plan, *, complete: bool) -> None:
        told = {
            "kind": KIND,
            **settings,
            "matches": plan.matches,
            "parts": len(plan.parts),
            "complete": complete,
        }
        self._write(MANIFEST, json.dumps(told, indent=1, ensure_ascii=False) + "\n")

    def _check(self, settings: Mapping[str, Any], plan: Plan) -> None:
        before = self.manifest
        for name, value in settings.items():
            if before.get(name) != value:
                raise InputError(
                    f"was begun with another {_setting(name, before.get(name), value)}",
                    path=self.folder,
                    remedy=ANOTHER,
                )
        path = self.folder / SOURCES
        if path.exists():
            lines = path.read_text("utf-8").splitlines()
            had = {json.loads(line)["sha256"] for line in lines}
            lost = len(had - set(plan.files.values()))
            if lost:
                raise InputError(
                    f"was begun with other matches: {lost} of its {len(had)} files are not among "
                    "those given",
                    path=self.folder,
                    remedy=f"give them too, {ANOTHER}",
                )


def _setting(name: str, before: Any, now: Any) -> str:
    """What differs, in as few words as tell it."""
    if isinstance(before, dict) and isinstance(now, dict):
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


def pending(plan: Plan, finished: Mapping[str, Any]) -> Sequence[Part]:
    """The parts that are not finished."""
    return [part for part in plan.parts if part.name not in finished]
