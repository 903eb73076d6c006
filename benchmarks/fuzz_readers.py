"""Damage real match files, and check that the readers return a match or raise a plain error.

    python benchmarks/fuzz_readers.py SHARED_DATA --mutants 20000 --seed 1

A mutant is a copy of a real file with one to four kinds of damage. When it is read, the reader must
return a match, or raise a `MatchFileError` whose message is one line and names the file. Time and
memory are limited. The exit status is 1 if the reading of any mutant breaks these rules. To repeat
one mutant, give its number with --only, and the same seed.
"""

from __future__ import annotations

import argparse
import gc
import io
import random
import re
import sys
import tempfile
import time
import traceback
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.readers import read_matches

MAX_SECONDS = 2.0
MEMORY_EVERY = 40
ROWS_KEPT = 700
"""A table of many matches is cut to this number of rows, so that a mutant is read in
milliseconds."""


SOURCES = {
    "JSON": "json/misc_torture/1208093.json",
    "JSON, five-ball overs": "json/hundred_men/1252690.json",
    "JSON 1.2": "json_1.2.0_SYNTHETIC/1123206.json",
    "CSV2 27": "csv2_27col/t20i/1439814.csv",
    "CSV2 22": "csv2_22col/ipl/1216517.csv",
    "original 16": "csv_original_1.6_1.7/ipl/1082640.csv",
    "original 21": "csv_original_1.8/ipl/1216517.csv",
    "spreadsheet": "spreadsheet_damaged/deliveries_cwc2023_excerpt.csv",
    "Kaggle 2019": "kaggle_ipl/deliveries_2008_2019_excerpt.csv",
    "Kaggle 2024": "kaggle_ipl/deliveries_2008_2024_excerpt.csv",
    "Kaggle 2025": "kaggle_ipl/deliveries_2025.csv",
}


@dataclass(frozen=True)
class Seed:
    """A real file to be damaged, its format, and the related files in its folder."""

    form: str
    name: str
    data: bytes
    beside: tuple[tuple[str, bytes], ...] = ()


def seeds(shared: Path) -> list[Seed]:
    """Return real files of every format. Related files, such as info files, are damaged, too."""
    found = []
    for form, place in SOURCES.items():
        path = shared / "formats" / place
        lines = path.read_bytes().splitlines(keepends=True)
        if form == "Kaggle 2019":
            # The seasons whose rows count extras twice are at the end.
            lines = lines[:250] + lines[-500:]
        data = b"".join(lines[:ROWS_KEPT] if path.suffix == ".csv" else lines)
        season = path.stem.removeprefix("deliveries_").removesuffix("_excerpt")
        names = f"{path.stem}_info.csv", f"matches_{season}.csv"
        existing = filter(Path.exists, map(path.with_name, names))
        beside = tuple((other.name, other.read_bytes()) for other in existing)
        found.append(Seed(form, path.name, data, beside))
        found += [
            Seed(f"{form} beside", name, other, ((path.name, data),)) for name, other in beside
        ]
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ((found[3].name, found[3].data), *found[3].beside):
            archive.writestr(name, data)
    return [*found, Seed("zip", "m.zip", zipped.getvalue())]


VALUES = (
    b"", b" ", b"0", b"-1", b"1e999", b"NaN", b"null", b"true", b"[]", b"{}", b'"x"', b"1.5",
    b"9" * 400, b"9" * 5000, b"999999999999", b"-0", b"0x10", b"\xc2\xa0", b"\xe2\x80\xa8", b"NA",
    b"2.0", b"\xd9\xa3", b"'", b'"', b'""', b"a,b", b"05-10-2023", b"\x00",
)  # fmt: skip
JSON_VALUES = (
    b"null", b"true", b"-1", b"1e400", b"1.5", b'""', b'"x"', b"[]", b"{}", b"[[]]", b'{"a":1}',
    b"123456789012345678901234567890", b"9" * 5000, b'"\\ud800"', b'[{"name":5}]',
)  # fmt: skip
RUBBISH = (b'"', b"\x00", b"\xef\xbb\xbf", b",", b"\n", b"{}", b"]", b"x" * 200_000, b"\xff" * 5)
LINE_ENDS = ("\n", "\n", "\r\n", "\r", "\n\n", "\x0b", "\u2028", "")
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-32", "cp1252", "cp500", "utf-7", "utf-8-sig")
JSON_TOKEN = re.compile(rb'"[^"\\\n]{0,60}"(?=\s*[,\]}])|-?\d+(?:\.\d+)?(?=\s*[,\]}])|\[|\{')
FIELD = re.compile(rb"(?<=[,\n])[^,\n]*(?=[,\n])")


def flip_bytes(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        out[chance.randrange(len(out))] = chance.randrange(256)
    return bytes(out)


def change_lines(data: bytes, chance: random.Random) -> bytes:
    """Remove, repeat or reverse some lines."""
    lines = data.splitlines(keepends=True)
    start, length = chance.randrange(len(lines)), chance.choice([1, 1, 2, 7, 40, len(lines)])
    some = lines[start : start + length]
    lines[start : start + length] = chance.choice([[], some * 2, some * 30, some[::-1]])
    return b"".join(lines)


def cut_short(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def exchange_columns(data: bytes, chance: random.Random) -> bytes:
    rows = [line.split(b",") for line in data.split(b"\n")]
    width = max(map(len, rows))
    a, b = chance.randrange(width), chance.randrange(width)
    for row in rows[chance.choice([0, 1, chance.randrange(len(rows))]) :]:
        if max(a, b) < len(row):
            row[a], row[b] = row[b], row[a]
    return b"\n".join(b",".join(row) for row in rows)


def other_values(data: bytes, chance: random.Random) -> bytes:
    token, values = (JSON_TOKEN, JSON_VALUES) if data.lstrip()[:1] == b"{" else (FIELD, VALUES)
    for _ in range(chance.randint(1, 4)):
        places = list(token.finditer(data))
        if places:
            place = chance.choice(places)
            data = data[: place.start()] + chance.choice(values) + data[place.end() :]
    return data


def insert_rubbish(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    deep = chance.choice([b"[", b'{"a":', b'"', b"("]) * chance.choice([1, 50, 1000, 100_000])
    return data[:place] + chance.choice([deep, *RUBBISH]) + data[place:]


def other_encoding(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("utf-8", "replace").replace("\n", chance.choice(LINE_ENDS))
    return text.encode(chance.choice(ENCODINGS), "replace")


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip_bytes, change_lines, cut_short, exchange_columns, other_values, other_values,
    insert_rubbish, other_encoding,
)  # fmt: skip


@dataclass
class Tally:
    """The result of a run: how many mutants were read or refused, the failures, and the slowest and
    largest mutant.
    """

    matches: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    largest: tuple[float, int] = (0.0, -1)


def mutant(seed: Seed, chance: random.Random) -> tuple[bytes, list[str]]:
    """Return a damaged copy of a file, and the kinds of damage that were done."""
    data = seed.data
    kinds = [chance.choice(KINDS) for _ in range(chance.choice([1, 1, 1, 2, 4]))]
    for kind in kinds:
        if data:
            data = kind(data, chance)
    return data, [kind.__name__ for kind in kinds]


def read(path: Path) -> int:
    """Read a file, check its matches and the error messages, and return the number of matches."""
    skipped: list[MatchFileError] = []
    count = 0
    try:
        for match in read_matches(path, on_error="skip", skipped=skipped):
            count += 1
            hash(match)
            "\n".join((str(match), *match.notes)).encode()
            for innings in match.innings:
                indices = [ball.index for ball in innings.deliveries]
                assert indices == list(range(1, len(indices) + 1))
                assert 0 <= innings.legal_balls <= len(indices)
    except MatchFileError as error:
        skipped.append(error)
    for error in skipped:
        text = str(error).encode().decode()
        assert "\n" not in text, "an error of several lines"
        assert error.path is not None
        assert error.path in text
        assert Path(error.path.split("::")[0]).parent == path.parent, error.path
    assert count or skipped, "neither a match nor an error"
    return count


def run(shared: Path, numbers: Iterable[int], seed: int) -> Tally:
    """Make and read the mutants with these numbers."""
    tally = Tally()
    sources = seeds(shared)
    with tempfile.TemporaryDirectory() as folder:
        # Each source has its own folder, so its related files are written only once.
        folders = [Path(folder) / str(number) for number in range(len(sources))]
        for source, place in zip(sources, folders, strict=True):
            place.mkdir()
            for name, data in source.beside:
                (place / name).write_bytes(data)
        for number in numbers:
            chance = random.Random(f"{seed}/{number}")
            source, place = sources[number % len(sources)], folders[number % len(sources)]
            data, kinds = mutant(source, chance)
            path = place / source.name
            path.write_bytes(data)
            # A damaged related file is read together with its match.
            if source.form.endswith(" beside"):
                path = path.with_name(source.beside[0][0])
            size = len(data) + sum(len(other) for _, other in source.beside)
            judge(tally, path, source.form, f"mutant {number} ({source.form}, {kinds})", size)
    return tally


def judge(tally: Tally, path: Path, form: str, name: str, size: int) -> None:
    """Read one mutant, and add the result to the tally."""
    number = tally.matches.total() + tally.errors.total()
    weigh = number % MEMORY_EVERY == 0
    if weigh:
        gc.collect()
        tracemalloc.start()
    start = time.process_time()
    try:
        (tally.matches if read(path) else tally.errors)[form] += 1
    except Exception:
        tally.errors[form] += 1
        tally.broken.append(f"{name}: {traceback.format_exc(limit=-3)}")
    seconds = time.process_time() - start
    if weigh:
        share = tracemalloc.get_traced_memory()[1] / (10 * size + 32 * 2**20)
        tracemalloc.stop()
        tally.largest = max(tally.largest, (share, number))
        if share > 1:
            tally.broken.append(f"{name}: {share:.1f} times the memory it may take")
    else:
        tally.slowest = max(tally.slowest, (seconds, number))
        if seconds > MAX_SECONDS:
            tally.broken.append(f"{name}: {seconds:.1f} s")


def main() -> int:
    """Make and read all mutants, and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shared_data", type=Path)
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="make and read this one mutant")
    options = parser.parse_args()
    numbers = range(options.mutants) if options.only is None else (options.only,)
    tally = run(options.shared_data, numbers, options.seed)
    print(f"{'format':<22}{'read':>8}{'refused':>9}")
    for form in sorted({*tally.matches, *tally.errors}):
        print(f"{form:<22}{tally.matches[form]:>8}{tally.errors[form]:>9}")
    print(f"{'all':<22}{tally.matches.total():>8}{tally.errors.total():>9}")
    print(f"\nslowest: {tally.slowest[0] * 1000:.0f} ms of CPU (mutant {tally.slowest[1]})")
    print(f"largest: {tally.largest[0]:.0%} of ten times the files and 32 MB "
          f"(mutant {tally.largest[1]}; every {MEMORY_EVERY}th is measured)")  # fmt: skip
    print(f"broken: {len(tally.broken)}", *tally.broken[:20], sep="\n")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
