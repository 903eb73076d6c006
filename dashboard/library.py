"""The matches and recordings that the dashboard knows, by the name that stands in the address.

What was given on the command line stays; what was uploaded is reached by a name that only who
has the file can work out, is listed nowhere, and goes when there is too much of it.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from .functions import Data, Followed, Functions

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match

MOST_UPLOADED: Final = 64
UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


Value = TypeVar("Value", "Match", str)
"""A match as the reader gave it, or a recording's page as text."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown(Generic[Value]):
    """A match, or a recording's page.

    Attributes:
        key: its name in the address.
        about: the match's plain data, or the recording's name.
        sample: whether it is the one that is there where none was given.
        followed: tells how the match stands now; ``None`` where it is not being followed.
        version: how often it has changed.
    """

    key: str
    value: Value
    about: Data
    sample: bool = False
    followed: Followed | None = None
    version: int = 0


def safe_name(text: str) -> str:
    """What stands in an address for a name."""
    return UNSAFE.sub("-", text).strip("-.")[:80] or "match"


class Library(ABC, Generic[Value]):
    """What is open, by key."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._given: dict[str, Shown[Value]] = {}
        self._uploaded: OrderedDict[str, Shown[Value]] = OrderedDict()
        self._lock = threading.Lock()

    @abstractmethod
    def _read(self, path: str, name: str) -> tuple[Value, Data]:
        """What a file holds, and its plain data. Raises what the reader raises."""

    @property
    def given(self) -> list[Shown[Value]]:
        """What was there at the start, in order."""
        return list(self._given.values())

    def get(self, key: str) -> Shown[Value] | None:
        """What has that key, or ``None`` where it was never there or has gone."""
        with self._lock:
            if key in self._uploaded:
                self._uploaded.move_to_end(key)
                return self._uploaded[key]
        return self._given.get(key)

    def _give(self, name: str, shown: Shown[Value]) -> Shown[Value]:
        """Keep it from the start, under a key like its name that nothing else has."""
        wanted = key = safe_name(name)
        number = 2
        while key in self._given:
            key, number = f"{wanted}-{number}", number + 1
        self._given[key] = replace(shown, key=key)
        return self._given[key]

    def upload(self, name: str, content: bytes) -> Shown[Value]:
        """A file that somebody brought.

        Raises:
            AttnlensError: it cannot be read; the reader's own words.
        """
        key = "u-" + hashlib.sha256(content).hexdigest()[:32]
        known = self.get(key)
        if known is not None:
            return known
        short = safe_name(os.path.basename(name.replace("\\", "/")))
        with tempfile.TemporaryDirectory(prefix="attnlens-") as folder:
            path = Path(folder) / short
            path.write_bytes(content)
            value, about = self._read(str(path), short)
        shown = Shown(key, value, about)
        with self._lock:
            self._uploaded[key] = shown
            while len(self._uploaded) > MOST_UPLOADED:
                self._uploaded.popitem(last=False)
        return shown


class Matches(Library["Match"]):
    """Matches by key.

    Attributes:
        note: what to know of those that were given.
    """

    def __init__(self, functions: Functions) -> None:
        super().__init__(functions)
        self.note = ""
        self._following = threading.Lock()

    def _read(self, path: str, name: str) -> tuple[Match, Data]:
        del name
        match = self._functions.read(path)
        return match, self._functions.match(match)

    def give(
        self, match: Match, *, sample: bool = False, followed: Followed | None = None
    ) -> Shown[Match]:
        """A match from the command line."""
        about = self._functions.match(match)
        return self._give(about["match_id"], Shown("", match, about, sample, followed))

    def refreshed(self, key: str) -> Shown[Match] | None:
        """What has that key, as it stands now where it is being followed."""
        with self._following:
            shown = self.get(key)
            match = None if shown is None or shown.followed is None else shown.followed.newer()
            if shown is not None and match is not None:
                about = self._functions.match(match)
                shown = replace(shown, value=match, about=about, version=shown.version + 1)
                self._given[key] = shown
            return shown


class Recordings(Library[str]):
    """Pages of recordings by key."""

    def _read(self, path: str, name: str) -> tuple[str, Data]:
        return self._functions.page(path, name), {"name": name}

    def give(self, path: str) -> Shown[str]:
        """A recording from the command line."""
        name = os.path.basename(os.path.normpath(path))
        page, about = self._read(path, name)
        return self._give(name, Shown("", page, about))
