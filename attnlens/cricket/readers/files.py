"""Read the bytes of match files from a path, a folder or a zip. The size of a file is limited.

The size of a zip member is checked before and during unpacking. No file is written to disk.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers.text import quoted
from attnlens.files import system_remedy

MEMBER_SEPARATOR = "::"
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

_MAX_MEMBER_RATIO = 300
"""The largest accepted ratio of unpacked to packed size. Real files have ratios of 10 to 40."""

_MAX_MEMBERS = 200_000
"""A zip with more members is refused. The largest known zip has about 22,000 members."""

_RATIO_APPLIES_FROM = 2**20
_ENCRYPTED = 0x1
# A NotImplementedError is a RuntimeError, so it is included here.
_DAMAGE = (OSError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, ValueError)


def unreadable(path: Path | str, error: OSError) -> MatchFileError:
    remedy = system_remedy(error.errno, "check the file permissions and the disk")
    return MatchFileError(f"cannot be read: {error.strerror or error}", path=path, remedy=remedy)


class Archive:
    """An open zip file, which is closed when it is no longer referenced."""

    def __init__(self, path: Path) -> None:
        self.display = str(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise unreadable(path, error) from None
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise MatchFileError(f"is not a zip that can be opened: {error}", path=path) from None
        entries = [entry for entry in self._zip.infolist() if not entry.is_dir()]
        if len(entries) > _MAX_MEMBERS:
            raise MatchFileError(f"contains more than {_MAX_MEMBERS} files", path=path)
        times = Counter(_normal(entry.filename) for entry in entries)
        self._twice = {name for name, count in times.items() if count > 1}
        self._entries = {entry.filename: entry for entry in entries}
        self.names = sorted(self._entries)

    def name_of(self, member: str) -> str:
        return f"{self.display}{MEMBER_SEPARATOR}{member}"

    def siblings(self, member: str) -> list[str]:
        folder = PurePosixPath(member).parent
        return [
            PurePosixPath(name).name
            for name in self._entries
            if name != member and PurePosixPath(name).parent == folder
        ]

    def size_of(self, member: str) -> int:
        parts = PurePosixPath(member.replace("\\", "/")).parts
        if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
            raise self._wrong(
                member, "the name of this file leads out of the zip, so the file is not read"
            )
        entry = self._entries.get(member)
        if entry is None:
            raise self._wrong(
                member, "the zip contains no such file", "list its files with unzip -l"
            )
        if _normal(member) in self._twice:
            raise self._wrong(member, "the zip contains two files of this name")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise self._wrong(member, "is a symbolic link, which attnlens does not follow")
        if entry.flag_bits & _ENCRYPTED:
            raise self._wrong(member, "is encrypted", "unpack it first")
        if entry.file_size > _RATIO_APPLIES_FROM and (
            entry.file_size > _MAX_MEMBER_RATIO * max(entry.compress_size, 1)
        ):
            times = f"{_MAX_MEMBER_RATIO} times its size"
            raise self._wrong(member, f"unpacks to more than {times}, so it is not a match file")
        return entry.file_size

    def _wrong(self, member: str, problem: str, remedy: str | None = None) -> MatchFileError:
        return MatchFileError(problem, path=self.name_of(member), remedy=remedy)

    def __contains__(self, member: str) -> bool:
        return member in self._entries

    def open(self, member: str) -> BinaryIO:
        display = self.name_of(member)
        self.size_of(member)  # raises an error for a member that must not be read
        try:
            stream = self._zip.open(self._entries[member])
        except _DAMAGE as error:
            raise _damaged(display, error) from None
        return io.BufferedReader(_Guarded(stream, display))


class _Guarded(io.RawIOBase):
    """A stream that reads a zip member and converts read errors to `MatchFileError`."""

    def __init__(self, stream: IO[bytes], display: str) -> None:
        super().__init__()
        self._stream = stream
        self._display = display

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's Buffer has no len
        try:
            data = self._stream.read(len(buffer))
        except _DAMAGE as error:
            raise _damaged(self._display, error) from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _damaged(display: str, error: Exception) -> MatchFileError:
    return MatchFileError(
        f"is damaged in the zip: {str(error) or 'it ends too early'}", path=display
    )


def _normal(name: str) -> str:
    return str(PurePosixPath(name.replace("\\", "/")))


_MAX_BYTES = 64 * 2**20
"""The largest size of a file that is read into memory. A five-day match has 3 MB as JSON."""

_MAX_TABLE_BYTES = 2 * 2**30
"""The largest accepted table. A table of all one-day matches has about 300 MB."""

_HEAD_BYTES = 2**16
"""The number of bytes read to detect a file's format."""

_NOT_MATCHES = ("_info.csv", "_planted.csv")
_NOT_MATCH_NAMES = frozenset({"readme.txt", "readme.md"})
_ALL_IN_ONE = "all_matches.csv"
_MATCH_SUFFIXES = frozenset({".json", ".csv"})


@dataclass(frozen=True)
class MatchFile:
    """One file, with access to the other files in its folder.

    Attributes:
        name: the file's own name, without folders.
        display: the file's name in messages: the path, or ``archive.zip::member``.
        size: the size in bytes, as stated by the file system or the zip.
        open: opens a new stream of the file's bytes.
        sibling: returns the file with a given name in the same folder, or ``None``.
        siblings: returns the names of the other files in the same folder.
        selected_id: the match id, if the user wrote ``file::match_id``.
    """

    name: str
    display: str
    size: int
    open: Callable[[], BinaryIO]
    sibling: Callable[[str], MatchFile | None]
    siblings: Callable[[], Sequence[str]]
    selected_id: str | None = None

    def __post_init__(self) -> None:
        if self.size > _MAX_TABLE_BYTES:
            raise self.wrong(f"is larger than {_MAX_TABLE_BYTES // 2**30} GB")

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem or self.name

    @property
    def expected(self) -> bool:
        """Whether the name has an extension of match files: ``.json`` or ``.csv``."""
        return _is_expected(self.name)

    @property
    def is_zip(self) -> bool:
        return self.head[:4] in _ZIP_MAGIC

    @property
    def is_json(self) -> bool:
        return self.head[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")

    @cached_property
    def data(self) -> bytes:
        data = b""
        if self.size <= _MAX_BYTES:
            try:
                with self.open() as stream:
                    data = stream.read(self.size + 1)  # the file may be larger than the stated size
            except OSError as error:
                raise unreadable(self.display, error) from None
        if max(self.size, len(data)) > _MAX_BYTES:
            problem = f"is larger than {_MAX_BYTES // 2**20} MB, which is too large for a match"
            raise self.wrong(problem, "split it into one file per match")
        return data

    @cached_property
    def head(self) -> bytes:
        if self.size <= _HEAD_BYTES * 4:
            return self.data[:_HEAD_BYTES]
        with self.open() as stream:
            return stream.read(_HEAD_BYTES)

    def wrong(
        self, problem: str, remedy: str | None = None, line: int | None = None
    ) -> MatchFileError:
        return MatchFileError(problem, path=self.display, line=line, remedy=remedy)

    def check_selected(self, match_id: str) -> None:
        if self.selected_id not in (None, match_id):
            raise self.wrong(f"has no match {quoted(self.selected_id)}", f"the file has {match_id}")

    def whole_lines(self) -> MatchFile:
        """Return the file without an unfinished last line; a JSON file is returned unchanged."""
        if self.is_json:
            return self
        data = self.data[: self.data.rfind(b"\n") + 1]
        return replace(self, size=len(data), open=lambda: io.BytesIO(data))


Refused = Callable[[MatchFileError], None]
"""Receives the error of a match that cannot be read. Reading then continues."""


@dataclass(frozen=True)
class DocumentFormat:
    """A format with one match in each file."""

    recognises: Callable[[MatchFile], bool]
    match: Callable[[MatchFile], Match]

    def matches(
        self,
        file: MatchFile,
        refused: Refused | None = None,  # noqa: ARG002  # the file has no second match
    ) -> Generator[Match, None, None]:
        yield self.match(file)


FileOrError = MatchFile | MatchFileError
"""A file, or the error that was raised when the file was opened."""


@dataclass(frozen=True)
class Source:
    """A path, and optionally the name of a zip member and a match id."""

    path: Path
    member: str | None = None
    selected_id: str | None = None

    @property
    def is_collection(self) -> bool:
        """Whether the location is a folder or a zip rather than one file."""
        if self.member is not None or self.selected_id is not None:
            return False
        return stat.S_ISDIR(_status(self.path).st_mode) or is_zip(self.path)


def source_of(source: str | os.PathLike[str]) -> Source:
    text = os.fspath(source)
    if not isinstance(text, str) or not text or "\0" in text:
        raise MatchFileError(f"{text!r} is not a file name")
    if MEMBER_SEPARATOR not in text or os.path.exists(text):
        return Source(Path(text))
    first, *rest = text.split(MEMBER_SEPARATOR)
    if not first or not all(rest):
        raise MatchFileError(
            f"{text!r} is not a file name; write archive.zip::member or file.csv::match_id"
        )
    path = Path(first)
    member = rest.pop(0) if is_zip(path) else None
    if len(rest) > 1:
        raise MatchFileError(f"{text!r} has too many `::`", remedy="write archive.zip::member")
    return Source(path, member, rest[0] if rest else None)


def is_zip(path: Path) -> bool:
    if not stat.S_ISREG(_status(path).st_mode):
        return False
    with _stream(path) as stream:
        try:
            return stream.read(4) in _ZIP_MAGIC
        except OSError as error:
            raise unreadable(path, error) from None


def open_one(source: Source) -> MatchFile:
    if source.member is not None:
        return _member_file(Archive(source.path), source.member, source.selected_id)
    return _open_path(source.path, source.selected_id)


def files_in(path: Path) -> Iterator[FileOrError]:
    """Yield the files of a zip or a folder, sorted by name. Inner folders and zips are read too.

    Hidden files, README files, ``_info.csv`` and ``_planted.csv`` files are left out.
    ``all_matches.csv`` is left out if the folder also contains one file per match.
    """
    return _in_folder(path) if path.is_dir() else _in_zip(path)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        raise MatchFileError("no such file", path=path, remedy="check the path") from None
    except OSError as error:
        raise unreadable(path, error) from None


def _open_path(path: Path, match_id: str | None = None) -> MatchFile:
    status = _status(path)
    if stat.S_ISDIR(status.st_mode):
        raise MatchFileError(
            "is a folder, not a match file",
            path=path,
            remedy="give a file in the folder; `attnlens match` lists the matches",
        )
    # Opening a pipe or a device could block for ever.
    if not stat.S_ISREG(status.st_mode):
        raise MatchFileError("is not a regular file", path=path)

    def sibling(name: str) -> MatchFile | None:
        other = path.with_name(name)
        return _open_path(other) if os.path.exists(other) else None

    return MatchFile(
        name=path.name,
        display=str(path),
        size=status.st_size,
        open=partial(_stream, path),
        sibling=sibling,
        siblings=lambda: sorted(name for name in _entries(path.parent) if name != path.name),
        selected_id=match_id,
    )


def _stream(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None


def _entries(folder: Path) -> dict[str, Path]:
    try:
        return {entry.name: entry for entry in folder.iterdir()}
    except OSError as error:
        raise unreadable(folder, error) from None


def _is_expected(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in _MATCH_SUFFIXES


def _without_doubles(names: Sequence[str]) -> list[str]:
    """Leave out files without matches, and ``all_matches.csv`` if other files hold the matches."""
    candidates = []
    for name in names:
        # Some zips use backslashes to separate folders.
        own = PurePosixPath(name).name.lower().rpartition("\\")[2]
        if not own.startswith(".") and own not in _NOT_MATCH_NAMES:
            candidates += [] if own.endswith(_NOT_MATCHES) else [name]
    singles = [name for name in candidates if PurePosixPath(name).name.lower() != _ALL_IN_ONE]
    return singles if any(_is_expected(name) for name in singles) else candidates


def _in_folder(folder: Path) -> Iterator[FileOrError]:
    entries = _entries(folder)
    for name in sorted(_without_doubles(list(entries))):
        entry = entries[name]
        if entry.is_dir():
            # A link may lead back to this folder, and reading would then never end.
            if not entry.is_symlink():
                yield from _in_inner_folder(entry)
        elif entry.is_file():
            if entry.suffix.lower() == ".zip":
                yield from _in_zip(entry)
            else:
                yield _or_error(partial(_open_path, entry))
        elif _is_expected(name) and not entry.exists():
            yield MatchFileError("is a link to a file that does not exist", path=entry)


def _in_inner_folder(folder: Path) -> Iterator[FileOrError]:
    try:
        yield from _in_folder(folder)
    except MatchFileError as error:
        yield error


def _in_zip(path: Path) -> Iterator[FileOrError]:
    try:
        archive = Archive(path)
    except MatchFileError as error:
        yield error
        return
    by_folder: dict[PurePosixPath, list[str]] = {}
    for member in archive.names:
        by_folder.setdefault(PurePosixPath(member).parent, []).append(member)
    for member in sorted(name for names in by_folder.values() for name in _without_doubles(names)):
        yield _or_error(partial(_member_file, archive, member))


def _or_error(open_: Callable[[], MatchFile]) -> FileOrError:
    try:
        return open_()
    except MatchFileError as error:
        return error


def _member_file(archive: Archive, member: str, match_id: str | None = None) -> MatchFile:
    def sibling(name: str) -> MatchFile | None:
        other = str(PurePosixPath(member).with_name(name))
        return _member_file(archive, other) if other in archive else None

    return MatchFile(
        name=PurePosixPath(member).name,
        display=archive.name_of(member),
        size=archive.size_of(member),
        open=partial(archive.open, member),
        sibling=sibling,
        siblings=partial(archive.siblings, member),
        selected_id=match_id,
    )
