"""Zips of match files: members within limits, and nothing that leads out of the zip.

A member is weighed before and while it is unpacked, and nothing is written to a
place that a member names.
"""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from collections import Counter, OrderedDict
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from attnlens.cricket.errors import MatchFileError

MEMBER_SEPARATOR = "::"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

MAX_MEMBER_RATIO = 300
"""The most a zip member may unpack to, relative to its packed size (real ones: 10 to 40)."""

MAX_MEMBERS = 200_000
"""The most members a zip may have; the largest zip of matches has some 22,000."""

_RATIO_APPLIES_FROM = 2**20
_MOST_OPEN = 8
_ENCRYPTED = 0x1
# What is not implemented is a RuntimeError.
_DAMAGE = (OSError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, ValueError)


def unreadable(path: Path | str, error: OSError) -> MatchFileError:
    """The error of a file that the system does not let be read."""
    return MatchFileError(f"cannot be read: {error.strerror or error}", path=path)


class Archive:
    """An open zip.

    Raises:
        MatchFileError: it is no zip that can be opened, or has too many members.
    """

    def __init__(self, path: Path) -> None:
        self.display = str(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise unreadable(path, error) from None
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise MatchFileError(f"not a zip that can be opened: {error}", path=path) from None
        entries = [entry for entry in self._zip.infolist() if not entry.is_dir()]
        if len(entries) > MAX_MEMBERS:
            raise MatchFileError(f"has more than {MAX_MEMBERS} members", path=path)
        times = Counter(_normal(entry.filename) for entry in entries)
        self._twice = {name for name, count in times.items() if count > 1}
        self._entries = {entry.filename: entry for entry in entries}

    def close(self) -> None:
        """Close the zip; streams that are still open keep what they need."""
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """The members, by name."""
        return sorted(self._entries)

    def name_of(self, member: str) -> str:
        """How messages name a member."""
        return f"{self.display}{MEMBER_SEPARATOR}{member}"

    def beside(self, member: str) -> list[str]:
        """The names of the members in the same folder of the zip, that member left out."""
        folder = PurePosixPath(member).parent
        return [
            PurePosixPath(name).name
            for name in self._entries
            if name != member and PurePosixPath(name).parent == folder
        ]

    def size_of(self, member: str) -> int:
        """The bytes of a member that may be read, as the zip says.

        Raises:
            MatchFileError: there is none, or it is a trick: a path out of the
                zip, a name given twice, a link, encrypted, a bomb.
        """
        parts = PurePosixPath(member.replace("\\", "/")).parts
        if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
            raise self._wrong(member, "this member's name leads out of the zip; it is not read")
        entry = self._entries.get(member)
        if entry is None:
            raise self._wrong(member, "the zip has no such member", "list it with unzip -l")
        if _normal(member) in self._twice:
            raise self._wrong(member, "the zip has two members of this name")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise self._wrong(member, "is a link, which is not followed")
        if entry.flag_bits & _ENCRYPTED:
            raise self._wrong(member, "is encrypted", "unpack it first")
        if entry.file_size > _RATIO_APPLIES_FROM and (
            entry.file_size > MAX_MEMBER_RATIO * max(entry.compress_size, 1)
        ):
            times = f"{MAX_MEMBER_RATIO} times its size"
            raise self._wrong(member, f"unpacks to more than {times}, as no match does")
        return entry.file_size

    def _wrong(self, member: str, problem: str, remedy: str | None = None) -> MatchFileError:
        return MatchFileError(problem, path=self.name_of(member), remedy=remedy)

    def __contains__(self, member: str) -> bool:
        return member in self._entries

    def open(self, member: str) -> BinaryIO:
        """A stream of a member; damage met while reading is a `MatchFileError`."""
        display = self.name_of(member)
        self.size_of(member)  # refuses what may not be read
        try:
            stream = self._zip.open(self._entries[member])
        except _DAMAGE as error:
            raise _damaged(display, error) from None
        return io.BufferedReader(_Guarded(stream, display))


class _Guarded(io.RawIOBase):
    """A member's stream, of the length the zip says, that raises only `MatchFileError`."""

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
    return MatchFileError(f"is damaged in the zip: {error}", path=display)


def _normal(name: str) -> str:
    return str(PurePosixPath(name.replace("\\", "/")))


class Shelf:
    """Zips kept open, a few at a time, so that each is not opened anew for every member."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, Archive] = OrderedDict()

    def archive(self, path: Path) -> Archive:
        """The zip at a path.

        Raises:
            MatchFileError: as `Archive` does.
        """
        if path not in self._open:
            self._open[path] = Archive(path)
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(path)
        return self._open[path]

    def close(self) -> None:
        """Close every zip."""
        while self._open:
            self._open.popitem()[1].close()
