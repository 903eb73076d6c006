"""Store the open matches and recordings, each under the key that its URL contains.

Files named on the command line stay open. The key of an upload is a hash of its name and content.
Uploads are not listed. Above a limit, the least recently used uploads are dropped.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match

Data = dict[str, Any]
"""A JSON object."""


class BusyError(Exception):
    """Too many requests are already waiting."""


class Followed(Protocol):
    """A match that is read again whenever the match file grows.

    Attributes:
        as_of: the time of the last valid state, in seconds since 1970.
        trouble: the reason why the file is invalid, on one line; ``None`` for a valid file.
    """

    as_of: float
    trouble: str | None

    def newer(self) -> Match | None:
        """Return the match if it has changed since the last call."""


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions that compute what the dashboard shows.

    Attributes:
        read: returns the match in the file at a path. Raises `AttnlensError`.
        match: returns the data of a match, without data about single balls.
        people: returns the players of a match, each with the first ball faced or bowled.
        story: returns the ``html`` of a match's story. The arguments are the match, whether to test
            claims, the model, a function that returns a ball's URL, and a function to call between
            steps.
        innings: returns the data of `attnlens.cricket.explain.innings_data`, and ``scores``: the
            score before each ball, as HTML. The arguments are the match, the innings and the model.
        explain: returns a ball's ``explanation`` with evidence, and the parts of the page as
            ``html``. The arguments are the match, the innings, the ball, the model and the outcome
            to explain (``None`` for the default).
        next_ball: returns the forecast of the next ball, or the reason for no forecast as
            ``waiting``. The arguments are the match and the model.
        what_if: returns the answer to a what-if question as HTML. The arguments are the match, the
            innings, the ball, the model and the changes.
        texts: for each file name, such as ``prompt.txt``, a function from an explanation to a text.
        page: returns a page of heat maps. The arguments are the path and the name of a recording.
        models: the names of the available models, the default first.
        heads: the HTML page of each head, such as ``whole-0``, and of all heads (``""``). ``heads``
            is ``None`` without the option ``--heads``.
    """

    read: Callable[[str], Match]
    match: Callable[[Match], Data]
    people: Callable[[Match], list[Data]]
    story: Callable[[Match, bool, str, Callable[[int, int], str], Callable[[], None]], Data]
    innings: Callable[[Match, int, str], Data]
    explain: Callable[[Match, int, int, str, str | None], Data]
    next_ball: Callable[[Match, str], Data]
    what_if: Callable[[Match, int, int, str, Data], str]
    texts: Mapping[str, Callable[[Data], str]]
    page: Callable[[str, str], str]
    models: tuple[str, ...]
    heads: Mapping[str, str] | None = None


_MAX_UPLOADS: Final = 64
_MAX_UPLOADED_CHARACTERS: Final = 32_000_000
"""The largest total size of uploads. A match needs about four times as much memory."""
_PIECE_BYTES: Final = 1 << 16
_MAX_READERS: Final = 2
"""The largest number of uploads read at once. The browser repeats a refused upload later."""
_UNSAFE_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9._-]+")


Content = TypeVar("Content", "Match", str)
"""The content of an item: a match, or the HTML page of a recording."""


@dataclass(frozen=True, slots=True, eq=False)
class LibraryItem(Generic[Content]):
    """An item of the library: a match, or the page of a recording.

    Attributes:
        key: the item's name in the address.
        summary: the match's plain data, or the recording's name.
        sample: whether the item is the simulated match.
        followed: the reader of a growing match file, or ``None`` for other files.
        version: a random text for each state of a followed match; empty for other items.
        size: the size of an upload in characters.
    """

    key: str
    value: Content
    summary: Data
    sample: bool = False
    followed: Followed | None = None
    version: str = ""
    size: int = 0


def safe_name(text: str) -> str:
    """Convert a name to a form that is safe in an address."""
    return _UNSAFE_CHARACTERS.sub("-", text).strip("-.")[:80] or "match"


class Library(ABC, Generic[Content]):
    """A library of open items, each stored under a unique key."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._permanent: dict[str, LibraryItem[Content]] = {}
        self._uploaded: OrderedDict[str, LibraryItem[Content]] = OrderedDict()
        self._lock = threading.Lock()
        self._reading = threading.Semaphore(_MAX_READERS)

    @abstractmethod
    def _size(self, content: Content) -> int:
        """Return the size of the content in characters."""

    @abstractmethod
    def _read(self, path: str, name: str) -> tuple[Content, Data]:
        """Return the content and the summary of a file."""

    @property
    def permanent(self) -> list[LibraryItem[Content]]:
        """The items named on the command line, in order."""
        return list(self._permanent.values())

    def get(self, key: str) -> LibraryItem[Content] | None:
        """Return the item with this key, or ``None`` if there is no such item."""
        with self._lock:
            if key in self._uploaded:
                self._uploaded.move_to_end(key)
                return self._uploaded[key]
        return self._permanent.get(key)

    def _add(self, name: str, item: LibraryItem[Content]) -> LibraryItem[Content]:
        base = key = safe_name(name)
        number = 2
        while key in self._permanent:
            key, number = f"{base}-{number}", number + 1
        self._permanent[key] = replace(item, key=key)
        return self._permanent[key]

    def upload(self, name: str, stream: IO[bytes]) -> LibraryItem[Content]:
        """Open an uploaded file.

        Raises:
            AttnlensError: the file cannot be read, or is too large to be kept open.
            BusyError: too many uploads are being read.
        """
        name = os.path.basename(name.replace("\\", "/"))
        digest, short = hashlib.sha256(name.encode("utf-8", "replace") + b"\0"), safe_name(name)
        with tempfile.TemporaryDirectory(prefix="attnlens-") as folder:
            path = Path(folder) / short
            # The file is read in pieces, so that no server thread needs memory for a whole file.
            with path.open("wb") as file:
                while piece := stream.read(_PIECE_BYTES):
                    digest.update(piece)
                    file.write(piece)
            key = f"u-{digest.hexdigest()[:32]}"
            if (item := self.get(key)) is not None:
                return item
            if not self._reading.acquire(blocking=False):
                raise BusyError
            try:
                value, summary = self._read(str(path), short)
            finally:
                self._reading.release()
        size = self._size(value)
        if size > _MAX_UPLOADED_CHARACTERS:
            remedy = "open it from the terminal: attnlens dashboard FILE"
            raise InputError(
                "is too large to be kept open after the upload", path=short, remedy=remedy
            )
        item = LibraryItem(key, value, summary, size=size)
        with self._lock:
            self._uploaded[key] = item
            while (
                len(self._uploaded) > _MAX_UPLOADS
                or sum(item.size for item in self._uploaded.values()) > _MAX_UPLOADED_CHARACTERS
            ):
                self._uploaded.popitem(last=False)
        return item


class Matches(Library["Match"]):
    """A library of open matches, each stored under a unique key.

    Attributes:
        note: a remark about the matches named on the command line.
    """

    def __init__(self, functions: Functions) -> None:
        super().__init__(functions)
        self.note = ""
        self._refreshing = threading.Lock()

    def _read(self, path: str, name: str) -> tuple[Match, Data]:
        del name
        match = self._functions.read(path)
        return match, self._functions.match(match)

    def _size(self, content: Match) -> int:
        return len(content.content) + len(repr(content.statements))

    def add(
        self, match: Match, *, sample: bool = False, followed: Followed | None = None
    ) -> LibraryItem[Match]:
        """Open a match named on the command line."""
        summary = self._functions.match(match)
        version = "" if followed is None else secrets.token_hex(4)
        item = LibraryItem("", match, summary, sample, followed, version)
        return self._add(summary["match_id"], item)

    def refreshed(self, key: str) -> LibraryItem[Match] | None:
        """Return the match with this key. A followed match is read again if its file changed."""
        with self._refreshing:
            item = self.get(key)
            match = None if item is None or item.followed is None else item.followed.newer()
            if item is not None and match is not None:
                summary = self._functions.match(match)
                item = replace(item, value=match, summary=summary, version=secrets.token_hex(4))
                self._permanent[key] = item
            return item


class Recordings(Library[str]):
    """A library of recordings' pages, each stored under a unique key."""

    def _read(self, path: str, name: str) -> tuple[str, Data]:
        return self._functions.page(path, name), {"name": name}

    def _size(self, content: str) -> int:
        return len(content)

    def add(self, path: str) -> LibraryItem[str]:
        """Open a recording named on the command line."""
        name = os.path.basename(os.path.normpath(path))
        page, summary = self._read(path, name)
        return self._add(name, LibraryItem("", page, summary))
