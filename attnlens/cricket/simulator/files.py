"""Simulated matches as files: one, or a folder or zip of them laid out as Cricsheet's, and
the truth beside."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TextIO

from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.readers.writers import TEAM_TYPE, text_of, texts_of, write_match
from attnlens.cricket.simulator.causes import CAUSES, PLANTED, Coefficients
from attnlens.cricket.simulator.rules import Rule
from attnlens.cricket.simulator.simulate import Simulated, TrueBall, simulate
from attnlens.errors import InputError
from attnlens.files import check_writable, write_text, written_beside

FORMATS: Final = ("csv2", "json")
TRUTH_SUFFIX: Final = "_planted.csv"
RULES_SUFFIX: Final = "_rules.jsonl"
TRUTH_COLUMNS: Final = (
    "match_id",
    "innings",
    "index",
    *(f"p_{name}" for name in OUTCOMES),
    *(f"{cause}_{what}" for cause in CAUSES for what in ("log_odds", "nats")),
    *(f"{cause}_balls" for cause in PLANTED),
)

_SUFFIX_OF = {"csv2": ".csv", "json": ".json"}
_FORMAT_OF = {suffix: name for name, suffix in _SUFFIX_OF.items()}
_FIRST_DAY_OF_ZIP = (1980, 1, 1, 0, 0, 0)

Put = Callable[[str, str], None]
"""Receives a file's name and text."""

_README = """\
Simulated Twenty20 matches. No one and nothing in them is real.

{count} written by attnlens, in the layout of Cricsheet's {layout} downloads
(https://cricsheet.org/downloads/). What each ball truly depended on is in {truth},
beside this {place}.

The first field is the date of the match, the second the type of teams, the third the
type of match, the fourth the gender of the players, the fifth the id of the match, and
the rest the teams.

"""


def save_simulated(
    out: str | os.PathLike[str],
    seeds: Sequence[int],
    *,
    coefficients: Coefficients | None = None,
    rules: tuple[Rule, ...] = (),
    file_format: str | None = None,
    told: Callable[[int], None] = lambda _: None,
) -> None:
    """Simulate matches and write them, with the truth in ``<stem>_planted.csv`` beside.

    With planted rules, what they did to each ball is in ``<stem>_rules.jsonl`` too.

    ``out`` ending in .csv or .json holds one match (a CSV2 file has its
    ``_info.csv`` beside); ending in .zip it is an archive, and without a suffix a
    new folder. Nothing is seen of the output until it is whole.

    Args:
        seeds: of the matches, each 0 or more.
        file_format: ``csv2`` or ``json``; as ``out`` ends, else ``csv2``.
        told: called with the number of matches done, after each.

    Raises:
        InputError: ``out`` has another ending, is for one match and there are
            several, does not fit the format, exists as a folder with files in it, or
            cannot be written.
    """
    path = Path(out)
    form = _form(path, file_format, len(seeds))
    suffix = _suffix(path)
    stem = path.stem if suffix else path.name
    truth_path = path.with_name(f"{stem}{TRUTH_SUFFIX}")
    rules_path = path.with_name(f"{stem}{RULES_SUFFIX}")
    if suffix in _FORMAT_OF:
        check_writable(path)
        made = simulate(seeds[0], coefficients=coefficients, rules=rules)
        _save_one(made, form, path, truth_path, rules_path if rules else None)
        told(1)
        return
    with ExitStack() as stack:
        put = stack.enter_context(_collection(path, suffix))
        part = stack.enter_context(written_beside(truth_path))
        ruled = stack.enter_context(written_beside(rules_path)) if rules else None
        listed = []
        with part.open("w", encoding="utf-8", newline="") as stream:
            _write_rows(stream, [TRUTH_COLUMNS])
            for done, seed in enumerate(seeds, 1):
                made = simulate(seed, coefficients=coefficients, rules=rules)
                if ruled is not None:
                    with ruled.open("a", encoding="utf-8", newline="") as lines:
                        lines.write(rules_text(made))
                texts = texts_of(made.match, form, made.match.match_id, elevens=made.elevens)
                for name, text in texts.items():
                    put(name, text)
                _write_rows(stream, truth_rows(made))
                listed.append(_line(made))
                told(done)
        count = f"{len(seeds)} match{'es' if len(seeds) > 1 else ''}"
        heading = _README.format(
            count=count,
            layout="JSON" if form == "json" else "CSV",
            truth=truth_path.name,
            place="archive" if suffix else "folder",
        )
        put("README.txt", heading + "\n".join(listed) + "\n")


def _save_one(
    made: Simulated, form: str, path: Path, truth_path: Path, rules_path: Path | None
) -> None:
    """One match in files of its own, the match itself last."""
    if form == "json":
        # The format holds no id: this is what a reader will call the match.
        made = dataclasses.replace(made, match=dataclasses.replace(made.match, match_id=path.stem))
    write_text(truth_path, text_of([TRUTH_COLUMNS, *truth_rows(made)]))
    if rules_path is not None:
        write_text(rules_path, rules_text(made))
    write_match(made.match, path, elevens=made.elevens)


def truth_rows(made: Simulated) -> Iterator[list[str]]:
    """The rows of `TRUTH_COLUMNS`, one per delivery."""
    for ball in made.truth:
        yield [
            made.match.match_id,
            str(ball.innings),
            str(ball.index),
            *(f"{share:.6f}" for share in ball.probabilities),
            *_causes(ball),
        ]


def rules_text(made: Simulated) -> str:
    """What the rules did, one JSON object per delivery and line.

    ``rules`` has the past balls that each rule counts and ``effects`` the true effect of each
    planted ball alone, ``KL(true ‖ true without it)`` in nats, unrounded; every past ball
    that is not named has an effect of exactly 0.
    """
    lines = [
        json.dumps(
            {
                "match_id": made.match.match_id,
                "innings": ball.innings,
                "index": ball.index,
                "probabilities": dict(zip(OUTCOMES, ball.probabilities(), strict=True)),
                "rules": ball.balls,
                "effects": ball.effects(),
            }
        )
        for ball in made.ruled
    ]
    return "".join(f"{line}\n" for line in lines)


def _causes(ball: TrueBall) -> Iterator[str]:
    for cause in CAUSES:
        yield f"{ball.log_odds[cause]:.4f}" if cause in ball.log_odds else "0"
        yield f"{ball.nats[cause]:.6f}" if cause in ball.nats else "0"
    for cause in PLANTED:
        yield " ".join(map(str, ball.balls.get(cause, ())))


def _suffix(path: Path) -> str:
    """The ending that says what is to be written; empty for a folder."""
    suffix = path.suffix.lower()
    return suffix if suffix in (*_FORMAT_OF, ".zip") else ""


def _form(path: Path, wanted: str | None, matches: int) -> str:
    suffix = _suffix(path)
    if path.suffix and not suffix and not path.is_dir():
        raise InputError(
            f"ends in {path.suffix}, which is no form of a match",
            path=path,
            remedy="end it in .csv, .json or .zip, or name a folder without a dot",
        )
    ends_as = _FORMAT_OF.get(suffix)
    if ends_as is None:
        return wanted or FORMATS[0]
    if wanted not in (None, ends_as):
        raise InputError(
            f"ends in {suffix}, and --format is {wanted}",
            path=path,
            remedy=f"end it in {_SUFFIX_OF[wanted or ends_as]}, or leave --format out",
        )
    if matches > 1:
        raise InputError(
            f"is one file, for {matches} matches",
            path=path,
            remedy="name a folder, or end it in .zip",
        )
    return ends_as


@contextmanager
def _collection(path: Path, suffix: str) -> Iterator[Put]:
    """Where to put the files of a folder or zip that is to be at ``path``."""
    if suffix == ".zip":
        with written_beside(path) as part, zipfile.ZipFile(part, "w") as archive:

            def put_member(name: str, text: str) -> None:
                # A fixed time, so that the same matches are the same bytes.
                member = zipfile.ZipInfo(name, _FIRST_DAY_OF_ZIP)
                member.compress_type = zipfile.ZIP_DEFLATED
                member.external_attr = 0o644 << 16
                archive.writestr(member, text)

            yield put_member
        return
    if path.is_dir() and any(path.iterdir()):
        raise InputError("is a folder with files in it", path=path, remedy="name a new folder")
    if path.exists() and not path.is_dir():
        raise InputError("is a file", path=path, remedy="name a new folder, or end it in .csv")
    if not path.parent.is_dir():
        raise InputError("its folder does not exist", path=path, remedy="make the folder first")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.mkdir()
        yield lambda name, text: _write_plain(part / name, text)
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", path=path) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_plain(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _write_rows(stream: TextIO | io.StringIO, rows: Iterable[Sequence[str]]) -> None:
    csv.writer(stream, lineterminator="\n").writerows(rows)


def _line(made: Simulated) -> str:
    match = made.match
    day = match.dates[0].isoformat()
    sides = " vs ".join(match.teams)
    return f"{day} - {TEAM_TYPE} - {match.match_type} - {match.gender} - {match.match_id} - {sides}"
