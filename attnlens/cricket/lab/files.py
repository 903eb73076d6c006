"""Simulated matches as files: one match, or a zip laid out as Cricsheet's."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from attnlens.cricket.lab.simulate import simulate
from attnlens.cricket.readers.writers import texts_of, write_match
from attnlens.errors import InputError
from attnlens.files import check_writable, written_beside

FORMATS: Final = ("csv2", "json")
_FORMAT_OF = {".csv": "csv2", ".json": "json"}
_FIRST_DAY_OF_ZIP = (1980, 1, 1, 0, 0, 0)


def save_simulated(
    out: str | os.PathLike[str],
    seeds: Sequence[int],
    *,
    file_format: str | None = None,
    report: Callable[[int], None] = lambda _: None,
) -> None:
    """Simulate matches and write them.

    ``out`` ending in .csv or .json holds one match (a CSV2 file has its ``_info.csv`` in the same
    folder); ending in .zip it is an archive. An unfinished output is never visible.

    Args:
        seeds: of the matches, each 0 or more.
        file_format: ``csv2`` or ``json``; as ``out`` ends, else ``csv2``.
        report: called with the number of finished matches, after each.

    Raises:
        InputError: ``out`` has another ending, is for one match and there are several, does not fit
            the format, or cannot be written.
    """
    path = Path(out)
    form = _form(path, file_format, len(seeds))
    check_writable(path)
    if path.suffix.lower() != ".zip":
        simulated = simulate(seeds[0])
        write_match(simulated.match, path, elevens=simulated.elevens)
        report(1)
        return
    with written_beside(path) as part, zipfile.ZipFile(part, "w") as archive:
        for count, seed in enumerate(seeds, 1):
            simulated = simulate(seed)
            stem = simulated.match.match_id
            texts = texts_of(simulated.match, form, stem, elevens=simulated.elevens)
            for name, text in texts.items():
                archive.writestr(_member(name), text)
            report(count)


def _form(path: Path, file_format: str | None, matches: int) -> str:
    """The format, where what is asked for goes together."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        return file_format or FORMATS[0]
    if suffix not in _FORMAT_OF:
        raise InputError(
            f"ends in {suffix or 'no suffix'}, which is no form of a match",
            path=path,
            remedy="end it in .csv, .json or .zip",
        )
    if file_format not in (None, _FORMAT_OF[suffix]):
        raise InputError(
            f"ends in {suffix}, and --format is {file_format}",
            path=path,
            remedy="leave --format out",
        )
    if matches > 1:
        raise InputError(f"is one file, for {matches} matches", path=path, remedy="end it in .zip")
    return _FORMAT_OF[suffix]


def _member(name: str) -> zipfile.ZipInfo:
    """A member with a fixed time, so that the same matches are the same bytes."""
    member = zipfile.ZipInfo(name, _FIRST_DAY_OF_ZIP)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member
