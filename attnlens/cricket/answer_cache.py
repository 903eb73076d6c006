"""Explanations cached in the user's cache folder.

An answer's key is a digest of everything it follows from (what was read and asked, the checkpoint's
bytes, the code that answers), so a cached answer is never out of date. A folder that cannot be used
costs time and nothing else. Nothing is read that another user can have written, nor written there.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from attnlens._version import VERSION
from attnlens.errors import InputError
from attnlens.files import is_ours, written_beside

_MAX_BYTES: Final = 64 * 2**20

SUFFIX: Final = ".answer"

_NUMERIC_PACKAGES: Final = ("torch", "numpy")
"""Packages whose version an answer's last digits may depend on."""


def default_folder() -> Path | None:
    """Where the system keeps what can be made again; ``None`` where there is no home."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache_home):  # the specification tells to ignore any other
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
    """The SHA-256 of a file's bytes; ``None`` where it is no file that can be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def software() -> str:
    """A digest of what answers: the version, the files of this package, and torch's version.

    The files count by name, size and time of change, so that a checkout under work never
    answers with what it was before. Nothing is imported.
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
    """A name for an answer, from everything it follows from (each by its ``repr``)."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder of answers, a text each.

    Attributes:
        limit: bytes to keep.
    """

    folder: Path
    limit: int = _MAX_BYTES

    def get(self, key: str) -> str | None:
        """The answer of a key; ``None`` where there is none that is ours and undamaged."""
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
            os.utime(path)  # used last now
        return answer

    def put(self, key: str, answer: str) -> None:
        """Keep an answer, and let go of others where there are too many."""
        packed = zlib.compress(answer.encode(), 6)
        with suppress(InputError, OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            self._path(key).unlink(missing_ok=True)  # a link would be followed
            with written_beside(self._path(key)) as part:
                part.write_bytes(_digest(key, packed) + b"\n" + packed)
            self._path(key).chmod(0o600)
            self._make_room()

    def _is_ours(self) -> bool:
        return is_ours(self.folder.stat())

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def _make_room(self) -> None:
        """Delete what was not used for longest, be it what a killed process left behind."""
        with os.scandir(self.folder) as entries:
            answers = [
                (status.st_mtime, status.st_size, entry.path)
                for entry in entries
                if SUFFIX in entry.name
                for status in [entry.stat(follow_symlinks=False)]
            ]
        excess = sum(size for _, size, _ in answers) - self.limit
        for _, size, path in sorted(answers):
            if excess <= 0:
                return
            os.unlink(path)
            excess -= size


def _digest(key: str, packed: bytes) -> bytes:
    """Of the bytes and of the key: an entry under another's name is damaged, too."""
    return hashlib.sha256(key.encode() + packed).hexdigest().encode()
