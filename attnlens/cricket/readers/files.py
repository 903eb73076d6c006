"""Bytes of match files: from a path, a folder or a zip, within limits.

Nothing is ever written to disk, and nothing is read that is larger than a match
could be: a zip member is weighed before and while it is unpacked.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from attnlens.errors import MatchFileError

MAX_BYTES = 64 * 2**20
"""The largest file read. A five-day match is about 3 MB of JSON."""

MAX_MEMBER_RATIO = 300
"""The most a zip member may unpack to, relative to its packed size (real ones: 10 to 40)."""

_RATIO_APPLIES_FROM = 2**20
_MEMBER_SEPARATOR = "::"
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_NOT_MATCHES = ("_info.csv", "_planted.csv")
_NOT_MATCH_NAMES = frozenset({"readme.txt", "readme.md", "all_matches.csv"})
_MATCH_SUFFIXES = frozenset({".json", ".csv"})


@dataclass(frozen=True)
class MatchFile:
    """One file's bytes and what is around it.

    Attributes:
        name: the file's own name, without folders.
        display: how messages name it: the path, or ``archive.zip::member``.
        sibling: the display name and bytes of a file of that name beside this
            one, or ``None`` where there is none.
    """

    name: str
    display: str
    data: bytes
    sibling: Callable[[str], tuple[str, bytes] | None]

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem or self.name


@dataclass(frozen=True)
class Candidate:
    """A file in a folder or zip that may be a match; ``open`` reads it.

    ``expected`` says that its suffix promises a match, so that a file which is
    none is an error and not a bystander.
    """

    display: str
    expected: bool
    open: Callable[[], MatchFile]


def open_one(source: str | os.PathLike[str]) -> MatchFile:
    """The single match file that ``source`` names: a path, or ``archive.zip::member``.

    A zip that holds exactly one match file stands for that file.

    Raises:
        MatchFileError: it does not exist, cannot be read, is too large, or
            holds several files.
    """
    path, member = _split(source)
    if member is not None:
        return _open_member(path, member)
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        raise MatchFileError(
            "this is a folder, not a match file",
            path=path,
            remedy="name a file in it, or read them all with read_matches",
        )
    if stat.S_ISREG(mode) and _is_zip(path):
        return _only_member(path)
    return _open_path(path)


def _only_member(path: Path) -> MatchFile:
    members = [candidate for candidate in candidates(path) if candidate.expected]
    if not members:
        raise MatchFileError("this zip holds no match files (.json, .csv)", path=path)
    if len(members) > 1:
        raise MatchFileError(
            f"this zip holds {len(members)} match files",
            path=path,
            remedy=f"name one, such as {members[0].display}",
        )
    return members[0].open()


def is_collection(source: str | os.PathLike[str]) -> bool:
    """Whether ``source`` is a folder or a zip (not a member of one).

    Raises:
        MatchFileError: there is no such file.
    """
    path, member = _split(source)
    if member is not None:
        return False
    mode = _mode(path)
    return stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and _is_zip(path))


def candidates(source: str | os.PathLike[str]) -> Iterator[Candidate]:
    """Files of a folder (and the folders and zips in it) or zip, by name.

    Files that are known not to be a match (README, ``_info.csv``, the all-in-one
    table) and hidden files are left out.
    """
    path, _ = _split(source)
    if path.is_dir():
        yield from _in_folder(path)
    else:
        yield from _in_zip(path)


def _split(source: str | os.PathLike[str]) -> tuple[Path, str | None]:
    text = os.fspath(source)
    if not isinstance(text, str) or not text or "\0" in text:
        raise MatchFileError(f"{text!r} is not a file name")
    if _MEMBER_SEPARATOR in text and not _exists(Path(text)):
        archive, _, member = text.partition(_MEMBER_SEPARATOR)
        if not archive or not member:
            raise MatchFileError(f"{text!r} is not a file name; write archive.zip::member")
        return Path(archive), member
    return Path(text), None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        raise MatchFileError("no such file", path=path, remedy="check the path") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path | str, error: OSError) -> MatchFileError:
    return MatchFileError(f"cannot be read: {error.strerror or error}", path=path)


def _too_large(path: Path | str) -> MatchFileError:
    return MatchFileError(
        f"larger than {MAX_BYTES // 2**20} MB, which no match is",
        path=path,
        remedy="split it into one file per match",
    )


def _open_path(path: Path) -> MatchFile:
    return MatchFile(
        name=path.name,
        display=str(path),
        data=_read_path(path),
        sibling=partial(_sibling_path, path),
    )


def _sibling_path(path: Path, name: str) -> tuple[str, bytes] | None:
    beside = path.with_name(name)
    return (str(beside), _read_path(beside)) if _exists(beside) else None


def _read_path(path: Path) -> bytes:
    try:
        about = path.stat()
        # A pipe or a device would be waited for, perhaps for ever.
        if not stat.S_ISREG(about.st_mode):
            raise MatchFileError("not a regular file", path=path)
        if about.st_size > MAX_BYTES:
            raise _too_large(path)
        with path.open("rb", buffering=0) as stream:
            data = stream.readall()
    except OSError as error:
        raise _unreadable(path, error) from None
    return data


def _skipped_name(name: str) -> bool:
    lower = name.lower()
    return lower.startswith(".") or lower in _NOT_MATCH_NAMES or lower.endswith(_NOT_MATCHES)


def _in_folder(folder: Path) -> Iterator[Candidate]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise _unreadable(folder, error) from None
    for entry in entries:
        if _skipped_name(entry.name):
            continue
        if entry.is_dir():
            # A link to a folder may lead back here.
            if not entry.is_symlink():
                yield from _in_folder(entry)
        elif entry.is_file():
            suffix = entry.suffix.lower()
            if suffix == ".zip":
                yield from _in_zip(entry)
            else:
                yield Candidate(
                    display=str(entry),
                    expected=suffix in _MATCH_SUFFIXES,
                    open=partial(_open_path, entry),
                )


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb", buffering=0) as stream:
            return stream.read(4) in _ZIP_MAGIC
    except OSError as error:
        raise _unreadable(path, error) from None


def _open_archive(path: Path) -> zipfile.ZipFile:
    if not stat.S_ISREG(_mode(path)):
        raise MatchFileError("not a zip", path=path)
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise MatchFileError(f"not a zip that can be opened: {error}", path=path) from None


def _in_zip(path: Path) -> Iterator[Candidate]:
    with _open_archive(path) as archive:
        members = sorted(
            (member for member in archive.infolist() if not member.is_dir()),
            key=lambda member: member.filename,
        )
        for member in members:
            name = PurePosixPath(member.filename).name
            if name and not _skipped_name(name):
                yield Candidate(
                    display=f"{path}{_MEMBER_SEPARATOR}{member.filename}",
                    expected=PurePosixPath(name).suffix.lower() in _MATCH_SUFFIXES,
                    open=partial(_member_file, path, member.filename, archive),
                )


def _open_member(path: Path, member: str) -> MatchFile:
    with _open_archive(path) as archive:
        return _member_file(path, member, archive)


def _member_file(path: Path, member: str, archive: zipfile.ZipFile) -> MatchFile:
    # Candidates may be opened after their listing ended and closed the archive.
    if archive.fp is None:
        return _open_member(path, member)
    name = PurePosixPath(member).name
    sibling_names: dict[str, tuple[str, bytes] | None] = {}
    info_name = f"{PurePosixPath(name).stem}_info.csv"
    beside = str(PurePosixPath(member).with_name(info_name)) if name else info_name
    if name.lower().endswith(".csv") and beside in archive.NameToInfo:
        display = f"{path}{_MEMBER_SEPARATOR}{beside}"
        sibling_names[info_name] = (display, _unpack(path, beside, archive))
    return MatchFile(
        name=name,
        display=f"{path}{_MEMBER_SEPARATOR}{member}",
        data=_unpack(path, member, archive),
        sibling=sibling_names.get,
    )


def _unpack(path: Path, member: str, archive: zipfile.ZipFile) -> bytes:
    display = f"{path}{_MEMBER_SEPARATOR}{member}"
    parts = PurePosixPath(member.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
        raise MatchFileError(
            "this member's name leads out of the zip; it is not read", path=display
        )
    try:
        entry = archive.getinfo(member)
    except KeyError:
        raise MatchFileError(
            "the zip has no such member", path=display, remedy="list it with unzip -l"
        ) from None
    if entry.file_size > MAX_BYTES:
        raise _too_large(display)
    if entry.file_size > _RATIO_APPLIES_FROM and (
        entry.file_size > MAX_MEMBER_RATIO * max(entry.compress_size, 1)
    ):
        raise MatchFileError(
            f"unpacks to more than {MAX_MEMBER_RATIO} times its size, as no match does",
            path=display,
        )
    try:
        with archive.open(entry) as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(display, error) from None
    except RuntimeError:
        raise MatchFileError("is encrypted", path=display, remedy="unpack it first") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise MatchFileError(f"is damaged in the zip: {error}", path=display) from None
    if len(data) > MAX_BYTES:
        raise _too_large(display)
    return data
