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
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from attnlens.dashboard.functions import Functions, Looked
from attnlens.errors import InputError

MOST_UPLOADED: Final = 64
UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A match, or a recording's page.

    Attributes:
        key: its name in the address.
        value: the match as the reader gave it, or the page as text.
        about: the match's plain data, or the recording's name.
        sample: whether it is the one that is there where none was given.
        look: how the match stands now; ``None`` where it is not being followed.
        version: how often it has changed.
        as_of: when it was read, in seconds since 1970, where it is being followed.
        trouble: why its file is not as it was then, where it is not.
    """

    key: str
    value: Any
    about: dict[str, Any]
    sample: bool = False
    look: Callable[[], Looked] | None = None
    version: int = 0
    as_of: float | None = None
    trouble: str | None = None


def safe_name(text: str) -> str:
    """What stands in an address for a name."""
    return UNSAFE.sub("-", text).strip("-.")[:80] or "match"


class Library:
    """Matches or recordings by key."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._given: dict[str, Shown] = {}
        self._uploaded: OrderedDict[str, Shown] = OrderedDict()
        self._lock = threading.Lock()
        self._following = threading.Lock()

    @property
    def given(self) -> list[Shown]:
        """What was there at the start, in order."""
        return list(self._given.values())

    def get(self, key: str) -> Shown | None:
        """What has that key, or ``None`` where it was never there or has gone."""
        with self._lock:
            if key in self._uploaded:
                self._uploaded.move_to_end(key)
                return self._uploaded[key]
        return self._given.get(key)

    def give(
        self, match: Any, *, sample: bool = False, look: Callable[[], Looked] | None = None
    ) -> Shown:
        """A match from the command line."""
        about = self._functions.match(match)
        return self._add_given(about["match_id"], match, about, sample, look)

    def refreshed(self, key: str) -> Shown | None:
        """What has that key, as it stands now where it is being followed."""
        shown = self.get(key)
        if shown is None or shown.look is None:
            return shown
        look = shown.look
        with self._following:
            shown, found = self._given[key], look()
            shown = replace(shown, as_of=found.as_of, trouble=found.trouble)
            if found.match is not None:
                about = self._functions.match(found.match)
                shown = replace(shown, value=found.match, about=about, version=shown.version + 1)
            self._given[key] = shown
        return shown

    def give_recording(self, path: str) -> Shown:
        """A recording from the command line."""
        name = os.path.basename(os.path.normpath(path))
        return self._add_given(name, self._functions.page(path, name), {"name": name})

    def _add_given(
        self,
        name: str,
        value: Any,
        about: dict[str, Any],
        sample: bool = False,
        look: Callable[[], Looked] | None = None,
    ) -> Shown:
        wanted = key = safe_name(name)
        number = 2
        while key in self._given:
            key, number = f"{wanted}-{number}", number + 1
        self._given[key] = Shown(key, value, about, sample, look)
        return self._given[key]

    def upload(self, name: str, content: bytes, *, recording: bool = False) -> Shown:
        """A file that somebody brought.

        Raises:
            AttnlensError: it cannot be read; the reader's own words, with the file's name only.
        """
        key = "u-" + hashlib.sha256(content).hexdigest()[:32]
        known = self.get(key)
        if known is not None:
            return known
        short = safe_name(os.path.basename(name.replace("\\", "/")))
        with tempfile.TemporaryDirectory(prefix="attnlens-") as folder:
            path = Path(folder) / short
            path.write_bytes(content)
            try:
                if recording:
                    value: Any = self._functions.page(str(path), short)
                    about: dict[str, Any] = {"name": short}
                else:
                    value = self._functions.read(str(path))
                    about = self._functions.match(value)
            except InputError as error:
                remedy = (error.remedy or "").replace(f"{folder}{os.sep}", "") or None
                if remedy and f"{short}::" in remedy:  # which nobody can name in a browser
                    remedy = f"bring one of them, or run `attnlens dashboard {short}`"
                raise type(error)(
                    error.problem.replace(f"{folder}{os.sep}", ""),
                    path=short,
                    line=error.line,
                    remedy=remedy,
                ) from None
        shown = Shown(key, value, about)
        with self._lock:
            self._uploaded[key] = shown
            while len(self._uploaded) > MOST_UPLOADED:
                self._uploaded.popitem(last=False)
        return shown
