"""What a corpus is made of: the matches of its sources in order, cut into parts.

Matches are ordered by date and id, and a part holds some consecutive ones of one year. So which
matches share a part follows from the sources alone, not from who works on it, and matches of a
later year leave the parts of earlier years as they are.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import numpy as np

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import INFO, MatchShelf, format_of, match_files
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.history import Report, silent
from attnlens.errors import InputError

BLOCK: Final = 2**20

MATCHES_EACH: Final = 32
"""Matches in a part where nothing else is asked for: about a second's work and 4 MB."""

SEED: Final = 5
"""Of the draw of balls to test."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One match of a source, not read yet.

    Attributes:
        file: as messages name it: a path, or ``archive.zip::member``.
        sha256: of the file's bytes, and of the facts about the match beside it.
        several: whether the file holds other matches too.
        tested: how many of its balls to test.
    """

    file: str
    match_id: str
    date: datetime.date | None
    sha256: str
    several: bool = False
    tested: int = 0

    def read(self, shelf: MatchShelf) -> Match:
        """The match; `MatchFileError` where it cannot be read."""
        return shelf.match(self.file, self.match_id if self.several else None)


@dataclass(frozen=True, slots=True)
class Part:
    """Some matches of one year (0: without a date) that are explained together, one file per table.

    ``number`` is from 0 within the year.
    """

    year: int
    number: int
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        return f"part-{self.year:04d}-{self.number:05d}"

    @property
    def digest(self) -> str:
        """Of everything its rows follow from but the settings of the corpus."""
        lines = [f"{entry.match_id} {entry.sha256} {entry.tested}" for entry in self.entries]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or match that was passed over, and why."""

    file: str
    problem: str

    @classmethod
    def by(cls, error: MatchFileError) -> Skipped:
        line = "" if error.line is None else f"line {error.line}: "
        return cls(error.path or "", f"{line}{error.problem}")


@dataclass(frozen=True, slots=True)
class Plan:
    """Every part of a corpus, in order; the digest of each file; what was passed over before
    reading.
    """

    parts: tuple[Part, ...]
    files: dict[str, str]
    skipped: tuple[Skipped, ...]

    @property
    def matches(self) -> int:
        return sum(len(part.entries) for part in self.parts)

    @property
    def digests(self) -> list[str]:
        """Of the files, in order; where they are the same, the matches are."""
        return sorted(self.files.values())


def plan_of(
    sources: Sequence[str],
    *,
    each: int = MATCHES_EACH,
    tested: int = 0,
    report: Report = silent,
) -> Plan:
    """Find every match of the sources, without reading its balls.

    A match whose id came before is passed over; told where the two differ. Where they do and the
    first cannot be read, it is the first that is passed over. ``tested`` balls are drawn over all.

    Raises:
        MatchFileError: a source cannot be opened.
        InputError: none holds a match.
    """
    files: dict[str, str] = {}
    skipped: list[Skipped] = []
    entries: dict[str, Entry] = {}
    for entry in _all_entries(sources, skipped):
        files[entry.file] = entry.sha256
        first = entries.setdefault(entry.match_id, entry)
        if not len(entries) % 50:
            report(f"finding matches: {len(entries):,}")
        if first.sha256 == entry.sha256:
            continue
        try:
            with closing(MatchShelf()) as shelf:
                first.read(shelf)
        except MatchFileError as error:
            skipped.append(Skipped.by(error))
            entries[entry.match_id] = entry
        else:
            problem = f"match {entry.match_id} came before, from {first.file}"
            skipped.append(Skipped(entry.file, problem))
    if not entries:
        reason = f" ({skipped[0].file}: {skipped[0].problem})" if skipped else ""
        raise InputError(
            f"there is no match to explain{reason}", remedy="give match files, folders or zips"
        )
    ordered = sorted(entries.values(), key=_order)
    # Every match is as likely at each draw.
    drawn = np.random.default_rng(SEED).integers(len(ordered), size=tested)
    counts = np.bincount(drawn, minlength=len(ordered)).tolist()
    chosen = [replace(entry, tested=balls) for entry, balls in zip(ordered, counts, strict=True)]
    return Plan(tuple(_parts(chosen, each)), files, tuple(skipped))


def _order(entry: Entry) -> tuple[datetime.date, str]:
    return entry.date or datetime.date.max, entry.match_id


def _parts(entries: Sequence[Entry], each: int) -> Iterator[Part]:
    for year, group in groupby(entries, key=lambda entry: entry.date.year if entry.date else 0):
        matches = tuple(group)
        for number, start in enumerate(range(0, len(matches), each)):
            yield Part(year, number, matches[start : start + each])


def _all_entries(sources: Sequence[str], skipped: list[Skipped]) -> Iterator[Entry]:
    """The matches of every source; files that hold none are added to ``skipped``."""
    for source in sources:
        refused: list[MatchFileError] = []
        for file in match_files(source, refused):
            try:
                entries = list(_entries(file))
            except MatchFileError as error:
                refused.append(error)
                continue
            yield from entries
        skipped += map(Skipped.by, refused)


def _entries(file: MatchFile) -> Iterator[Entry]:
    parts = list(format_of(file).parts(file))
    digest = hashlib.sha256()
    with file.open() as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    file.forget()
    beside = file.sibling(f"{file.stem}{INFO}")
    if beside is not None:
        digest.update(beside[1])
    for part in parts:
        if file.wanted is None or part.match_id == file.wanted:
            yield Entry(file.display, part.match_id, part.date, digest.hexdigest(), len(parts) > 1)
