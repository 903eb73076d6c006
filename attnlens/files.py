"""Read and write whole files, and define type aliases for JSON and arrays."""

from __future__ import annotations

import errno
import json
import os
import re
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
"""A JSON object, as returned by ``json.loads`` or accepted by ``json.dumps``."""


def read_whole(
    path: str | os.PathLike[str],
    max_bytes: int,
    *,
    kind: str = "file",
    remedy: str,
    error: type[InputError] = InputError,
) -> bytes:
    """Read the bytes of a regular file. Refuse a pipe, because reading a pipe could block forever.

    Args:
        max_bytes: the largest accepted size in bytes.
        kind: a noun for the file in error messages.
        remedy: advice for the user in error messages.
        error: the class of the error.

    Raises:
        InputError: the file is missing, not a regular file, unreadable or too large.
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
    """Return the size in bytes of a file or a folder (without subfolders); 0 if missing."""
    if os.path.isdir(path):
        return sum(size_of(entry.path) for entry in os.scandir(path) if entry.is_file())
    status = os.stat(path) if os.path.isfile(path) else None
    if status is None:
        return 0
    # The stated size of a sparse file is larger than the space on the disk.
    return min(status.st_size, 512 * getattr(status, "st_blocks", status.st_size))


def is_ours(status: os.stat_result, rights: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
    """Return whether only this user or the administrator could have written a file or folder.

    On Windows, the result is always true.

    Args:
        rights: the permission bits that must not be set.
    """
    return os.name == "nt" or (status.st_uid in (os.geteuid(), 0) and not status.st_mode & rights)


@contextmanager
def written_beside(path: str | os.PathLike[str], *, lasting: bool = False) -> Iterator[Path]:
    """Yield a temporary path. Its file replaces ``path`` if the ``with`` block raises no error.

    Args:
        lasting: whether to flush to the disk, so that ``path`` is complete even after a power cut.

    Raises:
        InputError: the folder does not exist or is not writable, or the disk is full.
    """
    check_writable(path)
    target = Path(os.path.realpath(path))  # keep a link and replace its target
    part = _part_path(target)
    try:
        # Some libraries create files that only the owner can read. The usual mode is restored.
        part.touch()
        mode = part.stat().st_mode
        part.unlink()
        yield part
        part.chmod(stat.S_IMODE(mode))
        if lasting:
            _settle(part, os.O_RDWR)
        os.replace(part, target)
        if lasting and os.name != "nt":  # Windows cannot open folders
            _settle(target.parent, os.O_RDONLY)
    except (AttnlensError, BrokenPipeError):  # the pipe is stdout or stderr, not the file
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
    """Convert an `OSError` in the ``with`` block to an `InputError` about the file at ``path``."""
    try:
        yield
    except OSError as error:
        raise cannot_be_written(path, error) from error


def cannot_be_written(path: str | os.PathLike[str], error: Exception) -> InputError:
    """Return an error that says why the operating system could not write a file.

    Args:
        error: an `OSError`, or a library's error with an `OSError` as its cause.
    """
    number = _error_number(error)
    reason = str(error) if number is None else os.strerror(number)
    remedy = system_remedy(number, "write to another folder")
    return InputError(f"cannot be written ({reason})", path=path, remedy=remedy)


def system_remedy(number: int | None, otherwise: str) -> str:
    """Return advice about a system error number, or ``otherwise`` for an unknown number."""
    return _SYSTEM_REMEDIES.get(number or 0, otherwise)


_NO_ROOM: Final = "free space on the disk, or write to another disk"
_SYSTEM_REMEDIES: Final = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: "raise the limit on file size (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise the limit on open files (ulimit -n)",
    errno.ENAMETOOLONG: "give a shorter name",
}

_NUMBER_IN_TEXT: Final = re.compile(r"\(os error (\d+)\)")
"""Matches the system error number in an error message of a Rust library."""


def _error_number(error: BaseException | None) -> int | None:
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None:
            return error.errno
        if found := _NUMBER_IN_TEXT.search(str(error)):
            return int(found[1])
        # torch raises a RuntimeError without the number. The error before it may have the number.
        error = error.__context__ if isinstance(error, RuntimeError) else None
    return None


def _settle(path: Path, how: int) -> None:
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that a file can be written at ``path``. The check leaves no file there.

    Raises:
        InputError: the path is not a regular file, or its folder does not exist or is not writable.
    """
    if not os.fspath(path):
        raise InputError("the name of the output file is empty", remedy="give a file name")
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise InputError("is a directory", path=path, remedy="give the name of a file")
        # Check the path and not its target, because the target of /dev/stdout may have no name.
        if os.path.exists(path) and not os.path.isfile(path):
            # Renaming would replace a device or a pipe by a file.
            raise InputError(
                "is a device or a pipe, which the output would replace",
                path=path,
                remedy="omit --out and redirect stdout",
            )
        if not target.parent.is_dir():
            raise InputError(
                "cannot be created, because its folder does not exist",
                path=path,
                remedy="create the folder first",
            )
        # The permissions are not enough: a file system may refuse to write despite them.
        trial = _part_path(target)
        trial.open("ab").close()
        trial.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_be_written(path, error) from error


_MAX_NAME_BYTES: Final = 200
"""The longest part of the target's name in a temporary name. File systems allow 255 bytes."""


def _part_path(target: Path) -> Path:
    """Return a random path next to ``target``. Threads and containers may share process ids."""
    name = os.fsencode(target.name)[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
    return target.with_name(f"{name}.{os.getpid()}.{os.urandom(4).hex()}.part")


def lock(file: int) -> bool:
    """Lock an open file or folder until it is closed. Return False if another lock exists.

    On systems without locks (Windows, some network drives), the result is always True.
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
    """Register this process as a user of a shared folder.

    Yields:
        a function that returns whether this process is the only user of the folder.
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
        is_alone()  # takes the shared lock
        yield is_alone
    finally:
        os.close(handle)


def render_json(data: object) -> str:
    """Return plain data as indented JSON, without a final line break."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8, completely or not at all."""
    with written_beside(path) as part:
        part.write_text(text, encoding="utf-8")
