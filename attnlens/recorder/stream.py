"""Records written to a folder while the model runs, so that memory does not grow with them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Final

from attnlens.errors import InputError
from attnlens.files import write_text
from attnlens.recording.record import AttentionRecord
from attnlens.recording.save import FORMAT, INDEX, Entry, tensors_of, write_part

PART_BYTES: Final = 64 << 20
"""So much of records is held before it is written."""


class Stream:
    """A folder of recordings in the making; it gets its name when it is whole.

    Raises:
        InputError: something of that name is there, or the folder around it is not.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"to={path!r} is no path", remedy="give a folder to be made")
        self.path = Path(os.path.abspath(path))
        if self.path.exists():
            raise InputError("is there already", path=path, remedy="give a folder to be made")
        if not self.path.parent.is_dir():
            raise InputError("its folder does not exist", path=path, remedy="make the folder first")
        self._making = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            self._making.mkdir()
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot be written ({reason})", path=path) from error
        self._held: list[AttentionRecord] = []
        self._bytes = 0
        self._parts: list[Entry] = []

    def add(self, record: AttentionRecord) -> None:
        """Take one record; write those held if they are many."""
        self._held.append(record)
        self._bytes += sum(
            value.numel() * value.element_size() for value in tensors_of(record).values()
        )
        if self._bytes >= PART_BYTES:
            self._write()

    def finish(self, notes: tuple[str, ...]) -> None:
        """Write the rest and the index, and give the folder its name."""
        self._write()
        index = {"format": FORMAT, "notes": notes, "parts": self._parts}
        write_text(self._making / INDEX, json.dumps(index))
        try:
            os.rename(self._making, self.path)
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror or error})", path=self.path
            ) from error

    def drop(self) -> None:
        """Leave nothing behind of what was not finished."""
        self._held.clear()
        shutil.rmtree(self._making, ignore_errors=True)

    def _write(self) -> None:
        if not self._held:
            return
        name = f"part-{len(self._parts):05}.safetensors"
        entries = write_part(self._making / name, self._held)
        self._parts.append({"file": name, "records": entries})
        self._held.clear()
        self._bytes = 0
