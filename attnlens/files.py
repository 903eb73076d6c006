"""Files, read and written whole, and type aliases for JSON and for arrays."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from attnlens.errors import AttnlensError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Floats32: TypeAlias = "NDArray[np.float32]"
Integers: TypeAlias = "NDArray[np.int64]"
Flags: TypeAlias = "NDArray[np.bool_]"

Json: TypeAlias = dict[str, Any]
"""A JSON object: what ``json.loads`` has just read, or what ``json.dumps`` is about to write."""


def read_whole(
    path: str | os.PathLike[str],
    max_bytes: int,
    *,
    kind: str = "file",
    remedy: str,
    error: type[InputError] = InputError,
) -> bytes:
    """The bytes of a file, which is no device: reading a pipe would wait for whoever writes to it.

    Args:
        max_bytes: bytes.
        kind: what it is meant to be, in words.
        remedy: what to do where it is not.

    Raises:
        InputError: of the type given: missing, no file, unreadable or too large.
    """
    if os.path.isdir(path):
        raise error(f"is a directory, not a {kind}", path=path, remedy=remedy)
    if os.path.exists(path) and not os.path.isfile(path):
        raise error(f"is a device or a pipe, not a {kind}", path=path, remedy=remedy)
    try:
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise error(f"no such {kind}", path=path, remedy=remedy) from None
    except (OSError, ValueError) as problem:
        raise error(
            f"cannot be read ({getattr(problem, 'strerror', None) or problem})",
            path=path,
            remedy=remedy,
        ) from None
    if len(data) > max_bytes:
        size = f"{max_bytes >> 20} MB" if max_bytes >> 20 else f"{max_bytes >> 10} kB"
        raise error(f"is larger than {size}", path=path, remedy=remedy)
    return data


def size_of(path: str) -> int:
    """The bytes of a file, or of the files that lie directly in a folder; 0 where there is none."""
    if os.path.isdir(path):
        return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
    return os.path.getsize(path) if os.path.isfile(path) else 0


def is_ours(status: os.stat_result, rights: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
    """Whether nobody but this user, or the system's, can have written a file or folder.

    Args:
        rights: the rights that none but its owner may have.

    Returns:
        on Windows, where rights are told otherwise, always true.
    """
    return os.name == "nt" or (status.st_uid in (os.geteuid(), 0) and not status.st_mode & rights)


@contextmanager
def written_beside(path: str | os.PathLike[str], *, lasting: bool = False) -> Iterator[Path]:
    """A path to write to, beside ``path``; renamed to it if the block ends well.

    Args:
        lasting: have it on the disk itself before and after the renaming, so that a power cut
            leaves the old file or the new one, whole, and after this call the new one.

    Raises:
        InputError: the folder does not exist, or cannot be written to, or its disk is full.
    """
    check_writable(path)
    target = Path(os.path.realpath(path))  # a link stays one: what it points at is replaced
    part = _part_path(target)
    try:
        # Some libraries make files that nobody else may read.
        part.touch()
        mode = part.stat().st_mode
        part.unlink()
        yield part
        part.chmod(stat.S_IMODE(mode))
        if lasting:
            _settle(part, os.O_RDWR)
        os.replace(part, target)
        if lasting and os.name != "nt":  # where folders cannot be opened
            _settle(target.parent, os.O_RDONLY)
    except (AttnlensError, BrokenPipeError):  # a pipe that broke is stdout or stderr
        raise
    except Exception as error:
        if _error_number(error) is None:
            raise
        raise cannot_be_written(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """A block whose errors of the system's become the one line for a file not written."""
    try:
        yield
    except OSError as error:
        raise cannot_be_written(path, error) from error


def cannot_be_written(path: str | os.PathLike[str], error: Exception) -> InputError:
    """The one line for a file that the system refuses to write.

    Args:
        error: an `OSError`, or what a library raised after one.
    """
    number = _error_number(error)
    reason = str(error) if number is None else os.strerror(number)
    remedy = system_remedy(number, "write to another folder")
    return InputError(f"cannot be written ({reason})", path=path, remedy=remedy)


def system_remedy(number: int | None, otherwise: str) -> str:
    """What to do about an error of the system's, by its number."""
    return _SYSTEM_REMEDIES.get(number or 0, otherwise)


_NO_ROOM: Final = "make room on the disk, or write to another one"
_SYSTEM_REMEDIES: Final = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise the limit on open files (ulimit -n)",
    errno.ENAMETOOLONG: "give a shorter name",
}

_NUMBER_IN_TEXT: Final = re.compile(r"\(os error (\d+)\)")
"""How the libraries that are written in Rust name the system's error."""


def _error_number(error: BaseException | None) -> int | None:
    """The system's number of an error, or of the one that it was raised after."""
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None:
            return error.errno
        if found := _NUMBER_IN_TEXT.search(str(error)):
            return int(found[1])
        # torch says nothing of the system's error that it met.
        error = error.__context__ if isinstance(error, RuntimeError) else None
    return None


def _settle(path: Path, how: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Whether ``path`` could be written; nothing is left behind.

    Raises:
        InputError: it is no ordinary file, or its folder does not exist or takes no files.
    """
    if not os.fspath(path):
        raise InputError("the name of the file to write is empty", remedy="give a file to write")
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise InputError("is a directory", path=path, remedy="give a file to write")
        # Of the path, not of the target: what /dev/stdout leads to may have no name.
        if os.path.exists(path) and not os.path.isfile(path):
            # Renaming over a device or a pipe would put a file in its place.
            raise InputError(
                "is a device or a pipe", path=path, remedy="leave --out out and redirect stdout"
            )
        if not target.parent.is_dir():
            raise InputError("its folder does not exist", path=path, remedy="make the folder first")
        # Rights do not tell all: a file system may refuse even whoever may write.
        trial = _part_path(target)
        trial.open("ab").close()
        trial.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_be_written(path, error) from error


_MAX_NAME_BYTES: Final = 200
"""Of the target's name in that of a part: a file system takes 255 in all."""


def _part_path(target: Path) -> Path:
    """Where a file is written before it takes its place.

    The name is new each time: two threads, or two containers that share a folder and number their
    processes alike, must not write to one part.
    """
    name = os.fsencode(target.name)[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
    return target.with_name(f"{name}.{os.getpid()}.{secrets.token_hex(4)}.part")


def lock(file: int) -> bool:
    """Take an open file or folder, until it is closed; whether no other process had taken it.

    Where the system or the file system has no locks (Windows, some network drives), nobody has.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        pass
    return True


@contextmanager
def sharing(folder: Path) -> Iterator[Callable[[], bool]]:
    """A block that many processes may be in at once, of one folder.

    Yields:
        whether no other process is in such a block of this folder.
    """
    if os.name == "nt":  # folders cannot be opened
        yield lambda: True
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)

    def is_alone() -> bool:
        alone = lock(handle)
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH)
        return alone

    try:
        is_alone()  # takes the folder
        yield is_alone
    finally:
        os.close(handle)


def render_json(data: object) -> str:
    """Plain data as indented JSON, keys in their order, no line break at the end."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write one text as UTF-8, whole or not at all."""
    with written_beside(path) as part:
        part.write_text(text, encoding="utf-8")
