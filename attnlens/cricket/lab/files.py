"""Simulated matches as files: one, or a zip of them laid out as Cricsheet's, and the truth
beside."""

from __future__ import annotations

import csv
import dataclasses
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from attnlens.cricket.lab.causes import CAUSES, PLANTED
from attnlens.cricket.lab.simulate import Simulated, simulate
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.readers.writers import texts_of, write_match
from attnlens.errors import InputError
from attnlens.files import check_writable, written_beside

FORMATS: Final = ("csv2", "json")
TRUTH_SUFFIX: Final = "_planted.csv"
TRUTH_COLUMNS: Final = (
    "match_id",
    "innings",
    "index",
    *(f"p_{name}" for name in OUTCOMES),
    *(f"{cause}_{what}" for cause in CAUSES for what in ("log_odds", "nats")),
    *(f"{cause}_balls" for cause in PLANTED),
)

_FORMAT_OF = {".csv": "csv2", ".json": "json"}
_FIRST_DAY_OF_ZIP = (1980, 1, 1, 0, 0, 0)


def save_simulated(
    out: str | os.PathLike[str],
    seeds: Sequence[int],
    *,
    strength: float = 1.0,
    file_format: str | None = None,
    told: Callable[[int], None] = lambda _: None,
) -> None:
    """Simulate matches and write them, with the truth in ``<stem>_planted.csv`` beside.

    ``out`` ending in .csv or .json holds one match (a CSV2 file has its
    ``_info.csv`` beside); ending in .zip it is an archive. Nothing is seen of the
    output until it is whole.

    Args:
        seeds: of the matches, each 0 or more.
        strength: as for `simulate`.
        file_format: ``csv2`` or ``json``; as ``out`` ends, else ``csv2``.
        told: called with the number of matches done, after each.

    Raises:
        InputError: ``out`` has another ending, is for one match and there are
            several, does not fit the format, or cannot be written.
    """
    path = Path(out)
    form = _form(path, file_format, len(seeds))
    truth_path = path.with_name(f"{path.stem}{TRUTH_SUFFIX}")
    check_writable(path)
    with ExitStack() as stack:
        part = stack.enter_context(written_beside(truth_path))
        stream = stack.enter_context(part.open("w", encoding="utf-8", newline=""))
        truth = csv.writer(stream, lineterminator="\n")
        truth.writerow(TRUTH_COLUMNS)
        archive = None
        if path.suffix.lower() == ".zip":
            part = stack.enter_context(written_beside(path))
            archive = stack.enter_context(zipfile.ZipFile(part, "w"))
        for done, seed in enumerate(seeds, 1):
            made = simulate(seed, strength=strength)
            if archive is None and form == "json":
                # The format holds no id: this is what a reader will call the match.
                match = dataclasses.replace(made.match, match_id=path.stem)
                made = dataclasses.replace(made, match=match)
            truth.writerows(truth_rows(made))
            if archive is None:
                write_match(made.match, path, elevens=made.elevens)
            else:
                stem = made.match.match_id
                for name, text in texts_of(made.match, form, stem, elevens=made.elevens).items():
                    archive.writestr(_member(name), text)
            told(done)


def truth_rows(made: Simulated) -> Iterator[list[str]]:
    """The rows of `TRUTH_COLUMNS`, one per delivery."""
    for ball in made.truth:
        row = [made.match.match_id, str(ball.innings), str(ball.index)]
        row += (f"{share:.6f}" for share in ball.probabilities)
        for cause in CAUSES:
            row.append(f"{ball.log_odds[cause]:.4f}" if cause in ball.log_odds else "0")
            row.append(f"{ball.nats[cause]:.6f}" if cause in ball.nats else "0")
        yield row + [" ".join(map(str, ball.balls.get(cause, ()))) for cause in PLANTED]


def _form(path: Path, wanted: str | None, matches: int) -> str:
    """The format, where what is asked for goes together."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        return wanted or FORMATS[0]
    if suffix not in _FORMAT_OF:
        raise InputError(
            f"ends in {suffix or 'no suffix'}, which is no form of a match",
            path=path,
            remedy="end it in .csv, .json or .zip",
        )
    if wanted not in (None, _FORMAT_OF[suffix]):
        raise InputError(
            f"ends in {suffix}, and --format is {wanted}", path=path, remedy="leave --format out"
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
