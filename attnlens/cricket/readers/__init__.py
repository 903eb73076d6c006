"""Match files to `Match` values.

A format is one file with ``recognises(file)`` and ``matches(file)``; the short
list `FORMATS` is asked in order and the first that recognises a file reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Literal

from attnlens.cricket.match import Match
from attnlens.cricket.readers import cricsheet_csv2, cricsheet_json
from attnlens.cricket.readers.files import MatchFile, candidates, is_collection, open_one
from attnlens.cricket.readers.text import binary_kind, decoded, shown
from attnlens.errors import InputError, MatchFileError

__all__ = ["FORMATS", "Format", "read_match", "read_matches"]


@dataclass(frozen=True)
class Format:
    """A way to write matches down: how to know it and how to read it."""

    name: str
    recognises: Callable[[MatchFile], bool]
    matches: Callable[[MatchFile], Iterator[Match]]


FORMATS = (
    Format("Cricsheet JSON", cricsheet_json.recognises, cricsheet_json.matches),
    Format("Cricsheet CSV2", cricsheet_csv2.recognises, cricsheet_csv2.matches),
)


def read_match(source: str | PathLike[str]) -> Match:
    """The match in one file.

    Args:
        source: a path, or ``archive.zip::member``. The format is told by content.

    Raises:
        MatchFileError: what is wrong, and on which line where there is one.
    """
    file = open_one(source)
    found = _format_of(file).matches(file)
    match = next(found)
    second = next(found, None)
    if second is not None:
        raise MatchFileError(
            f"holds several matches ({shown(match.match_id)}, {shown(second.match_id)}, ...)",
            path=file.display,
            remedy="read them with read_matches",
        )
    return match


def read_matches(
    source: str | PathLike[str],
    *,
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[MatchFileError] | None = None,
) -> Iterator[Match]:
    """The matches of a file, a folder (with the folders in it) or a zip, one at a time.

    They come in the order of their files' names. README files, ``_info.csv``,
    ``all_matches.csv`` and files that promise no match are passed over.

    Args:
        on_error: ``stop`` raises at the first file that cannot be read; ``skip``
            goes on with the next one.
        skipped: receives the errors that ``skip`` passed over.

    Raises:
        MatchFileError: at once, where the source itself cannot be opened; while
            iterating, where a file in it cannot be read.
        InputError: ``on_error`` is neither.
    """
    if on_error not in ("stop", "skip"):
        raise InputError(f"on_error is {shown(on_error)}; it is stop or skip")
    if is_collection(source):
        return _from_collection(source, on_error, skipped)
    return _from_file(source, on_error, skipped)


def _from_file(
    source: str | PathLike[str], on_error: str, skipped: list[MatchFileError] | None
) -> Iterator[Match]:
    try:
        file = open_one(source)
        yield from _format_of(file).matches(file)
    except MatchFileError as error:
        if on_error == "stop":
            raise
        if skipped is not None:
            skipped.append(error)


def _from_collection(
    source: str | PathLike[str], on_error: str, skipped: list[MatchFileError] | None
) -> Iterator[Match]:
    seen_any = False
    for candidate in candidates(source):
        try:
            file = candidate.open()
            if not candidate.expected and not any(form.recognises(file) for form in FORMATS):
                continue
            seen_any = True
            yield from _format_of(file).matches(file)
        except MatchFileError as error:
            seen_any = True
            if on_error == "stop":
                raise
            if skipped is not None:
                skipped.append(error)
    if not seen_any:
        raise MatchFileError("there are no match files in it", path=source)


def _format_of(file: MatchFile) -> Format:
    for form in FORMATS:
        if form.recognises(file):
            return form
    raise MatchFileError(
        f"{_looks_like(file)}, not a match file",
        path=file.display,
        remedy="give Cricsheet JSON or CSV2",
    )


def _looks_like(file: MatchFile) -> str:
    kind = binary_kind(file.data)
    if kind is not None:
        return f"looks like {kind}"
    text = decoded(file.data, file.display)
    first = text.lstrip().partition("\n")[0].strip()
    lower = first.lower()
    if lower.startswith(("<!doctype html", "<html")):
        return "looks like an HTML page"
    if lower.startswith("<"):
        return "looks like XML"
    if first.startswith("---"):
        return "looks like YAML"
    if first.startswith("version,"):
        if text.count("\nball,"):
            return "looks like Cricsheet's original CSV, which is not read yet"
        return "looks like the _info.csv that stands beside a match"
    if first.count(",") >= 2:
        return f"looks like a table that begins with {shown(first)}"
    return f"looks like text that begins with {shown(first)}"
