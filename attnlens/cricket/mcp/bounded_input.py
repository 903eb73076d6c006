"""Standard input in lines of bounded length, for the protocol's stdio transport."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any, BinaryIO, Final

MAX_REQUEST_BYTES: Final = 4 << 20

_CHUNK_BYTES: Final = 1 << 16
_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,15}|"[^"\\\x00-\x1f]{0,64}")')


class BoundedLines(io.RawIOBase):
    """The lines of a stream; a request that is too long is never held whole.

    A request of the same id for a method that no server has takes its place. The method's name says
    what is wrong, so the client is answered. Without an id near its start nothing is answered.
    """

    def __init__(self, stream: BinaryIO, max_bytes: int = MAX_REQUEST_BYTES) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._ready = bytearray()
        self._too_long = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            chunk = self._stream.read1(_CHUNK_BYTES)  # type: ignore[attr-defined]  # of stdin
            for part in chunk.splitlines(keepends=True):
                self._take(part)
            if not chunk:
                self._end_line()
                break
        view = memoryview(buffer)
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        del self._ready[:count]
        return count

    def _take(self, part: bytes) -> None:
        if not self._too_long:
            self._line += part
        if len(self._line) > self._max_bytes:
            self._too_long = True
            del self._line[_CHUNK_BYTES:]
        if part.endswith(b"\n"):
            self._end_line()

    def _end_line(self) -> None:
        if self._too_long:
            self._ready += self._refused()
        self._ready += b"" if self._too_long else self._line
        self._line.clear()
        self._too_long = False

    def _refused(self) -> bytes:
        found = _ID.search(self._line)
        method = f"a request of more than {self._max_bytes >> 20} MB is refused"
        request = {"jsonrpc": "2.0", "method": method}
        if found:
            request["id"] = json.loads(found[1])
        return json.dumps(request).encode() + b"\n"


def bound_standard_input() -> None:
    """Replace ``sys.stdin`` by one whose lines are bounded."""
    lines = io.BufferedReader(BoundedLines(sys.stdin.buffer))
    sys.stdin = io.TextIOWrapper(lines, encoding="utf-8")
