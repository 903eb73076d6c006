"""Text of match files: decoding, and values shown inside messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attnlens.errors import MatchFileError

_LONGEST_SHOWN = 40
_BINARY_KINDS = (
    (b"PK\x03\x04", "a zip or a spreadsheet"),
    (b"PAR1", "a Parquet table"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet or document"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


def decoded(data: bytes, display: str) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises:
        MatchFileError: the file is empty or not UTF-8, with the line.
    """
    if not data.strip():
        raise MatchFileError("the file is empty", path=display)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = binary_kind(data)
        if kind is not None:
            raise MatchFileError(f"looks like {kind}, not a match file", path=display) from None
        raise MatchFileError(
            f"not UTF-8 text (byte 0x{data[error.start]:02x})",
            path=display,
            line=data.count(b"\n", 0, error.start) + 1,
            remedy="save it as UTF-8",
        ) from None


def binary_kind(data: bytes) -> str | None:
    """What a file that is not text seems to be, in words."""
    for magic, kind in _BINARY_KINDS:
        if data.startswith(magic):
            return kind
    return "a binary file" if b"\0" in data[:4096] else None


def shown(value: Any) -> str:
    """A foreign value inside a message: short, printable, on one line."""
    if value is None:
        return "missing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**12 else "a huge number"
    text = str(value)
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…")


def lines(text: str) -> Iterator[str]:
    """The lines of a text with their ends, split at line feeds only.

    ``str.splitlines`` would also split at characters that may stand in a name.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def looks_like(data: bytes, display: str) -> str:
    """What a file that is no match seems to be, in words.

    Raises:
        MatchFileError: it is empty or not text.
    """
    kind = binary_kind(data)
    if kind is not None:
        return f"looks like {kind}"
    text = decoded(data, display)
    first = text.lstrip().partition("\n")[0].strip()
    lower = first.lower()
    if lower.startswith(("<!doctype html", "<html")):
        return "looks like an HTML page"
    if lower.startswith("<"):
        return "looks like XML"
    if first.startswith("---"):
        return "looks like YAML"
    if first.startswith("version,"):
        return "looks like the _info.csv that stands beside a match"
    if first.count(",") >= 2:
        return f"looks like a table that begins with {shown(first)}"
    return f"looks like text that begins with {shown(first)}"
