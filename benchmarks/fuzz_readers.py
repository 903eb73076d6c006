"""Damage real match files in every way and see that readers give a match or a plain error.

    python benchmarks/fuzz_readers.py SHARED_DATA --mutants 20000 --seed 1

Each mutant is a real file of some format with one to four kinds of damage: bytes
flipped, lines cut, doubled or exchanged, columns exchanged, values of other types,
deep nesting, giant numbers, other encodings, the file cut short. What is read must be
a Match, or an AttnlensError on one line that names the file; the time and the memory
must stay in bounds. Counts are printed; the exit code is 1 when a mutant broke a rule.
A mutant is made again with --only NUMBER and the same seed.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import resource
import sys
import tempfile
import time
import traceback
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attnlens.cricket.match import Match
from attnlens.cricket.readers import read_matches
from attnlens.errors import AttnlensError, MatchFileError

MOST_SECONDS = 2.0
MEMORY_EVERY = 40
ROWS_KEPT = 700
"""Tables of many matches are cut to their first rows, so that a mutant takes milliseconds."""


@dataclass(frozen=True)
class Seed:
    """A real file, what stands beside it, and the format it is in."""

    form: str
    name: str
    data: bytes
    beside: tuple[tuple[str, bytes], ...] = ()


def seeds(shared: Path) -> list[Seed]:
    """Real files of every format, the damaged ones first in each group."""
    formats = shared / "formats"
    found = []
    for form, place in (
        ("JSON", "json/misc_torture/1208093.json"),
        ("JSON", "json/misc_torture/1402765.json"),
        ("JSON", "json/hundred_men/1252690.json"),
        ("JSON", "json/ipl/1216517.json"),
        ("JSON 1.2", "json_1.2.0_SYNTHETIC/1123206.json"),
        ("CSV2 27", "csv2_27col/t20i/1439814.csv"),
        ("CSV2 27", "csv2_27col/odi/1158067.csv"),
        ("CSV2 22", "csv2_22col/ipl/1216517.csv"),
        ("original 16", "csv_original_1.6_1.7/ipl/1082640.csv"),
        ("original 21", "csv_original_1.8/ipl/1216517.csv"),
        ("spreadsheet", "spreadsheet_damaged/deliveries_cwc2023_excerpt.csv"),
        ("Kaggle 2019", "kaggle_ipl/deliveries_2008_2019_excerpt.csv"),
        ("Kaggle 2024", "kaggle_ipl/deliveries_2008_2024_excerpt.csv"),
        ("Kaggle 2025", "kaggle_ipl/deliveries_2025.csv"),
    ):
        path = formats / place
        lines = path.read_bytes().splitlines(keepends=True)
        if form == "Kaggle 2019":
            # The seasons whose rows count extras twice stand at the end.
            lines = lines[:250] + lines[-500:]
        data = b"".join(lines[:ROWS_KEPT] if path.suffix == ".csv" else lines)
        names = [f"{path.stem}_info.csv"]
        if form.startswith("Kaggle"):
            season = path.stem.removeprefix("deliveries_").removesuffix("_excerpt")
            names = [f"matches_{season}.csv"]
        beside = tuple(
            (name, (path.with_name(name)).read_bytes())
            for name in names
            if path.with_name(name).exists()
        )
        found.append(Seed(form, path.name, data, beside))
        found += [
            Seed(f"{form} beside", name, other, ((path.name, data),)) for name, other in beside
        ]
    found.append(Seed("zip", "m.zip", _zipped(found[5])))
    return found


def _zipped(seed: Seed) -> bytes:
    with tempfile.TemporaryFile() as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in ((seed.name, seed.data), *seed.beside):
                archive.writestr(name, data)
        stream.seek(0)
        return stream.read()


# Kinds of damage. Each takes the bytes and a source of chance, and gives other bytes.

VALUES = (
    b"", b" ", b"0", b"-1", b"1e999", b"NaN", b"null", b"true", b"[]", b"{}", b'"x"', b"1.5",
    b"9" * 400, b"999999999999", b"-0", b"0x10", b"\xc2\xa0", b"\xe2\x80\xa8", b"NA", b"2.0",
    b"\xd9\xa3", b"'", b'"', b'""', b"a,b", b"05-10-2023", b"\x00",
)  # fmt: skip
JSON_VALUES = (
    b"null", b"true", b"-1", b"1e400", b"1.5", b'""', b'"x"', b"[]", b"{}", b"[[]]", b'{"a":1}',
    b"123456789012345678901234567890", b"9" * 5000, b'"\\ud800"', b'[{"name":5}]',
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "cp500", "utf-7", "utf-8-sig")
TOKEN = re.compile(rb'"[^"\\\n]{0,60}"(?=\s*[,\]}])|-?\d+(?:\.\d+)?(?=\s*[,\]}])|\[|\{')


def flip_bytes(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        if out:
            out[chance.randrange(len(out))] = chance.randrange(256)
    return bytes(out)


def cut_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    start = chance.randrange(len(lines) + 1)
    del lines[start : start + chance.choice([1, 1, 2, 7, len(lines)])]
    return b"".join(lines)


def double_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        start = chance.randrange(len(lines))
        lines[start:start] = lines[start : start + chance.choice([1, 1, 3, 40])] * chance.choice(
            [1, 1, 2, 30]
        )
    return b"".join(lines)


def exchange_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(chance.randint(1, 5)):
        if lines:
            a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def cut_short(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def exchange_columns(data: bytes, chance: random.Random) -> bytes:
    rows = [line.split(b",") for line in data.split(b"\n")]
    width = max(map(len, rows))
    a, b = chance.randrange(width), chance.randrange(width)
    first = chance.choice([0, 1, chance.randrange(len(rows))])
    for row in rows[first:]:
        if max(a, b) < len(row):
            row[a], row[b] = row[b], row[a]
    return b"\n".join(b",".join(row) for row in rows)


def other_values(data: bytes, chance: random.Random) -> bytes:
    if data.lstrip()[:1] == b"{":
        places = list(TOKEN.finditer(data))
        for _ in range(chance.randint(1, 4)):
            place = chance.choice(places)
            data = data[: place.start()] + chance.choice(JSON_VALUES) + data[place.end() :]
            places = [one for one in places if one.end() < place.start()] or list(
                TOKEN.finditer(data)
            )
            if not places:
                break
        return data
    lines = data.split(b"\n")
    for _ in range(chance.randint(1, 6)):
        number = chance.randrange(len(lines))
        fields = lines[number].split(b",")
        fields[chance.randrange(len(fields))] = chance.choice(VALUES)
        lines[number] = b",".join(fields)
    return b"\n".join(lines)


def nest_deeply(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    opening = chance.choice([b"[", b'{"a":', b'"', b"("])
    return data[:place] + opening * chance.choice([50, 1000, 100_000]) + data[place:]


def giant_numbers(data: bytes, chance: random.Random) -> bytes:
    places = list(re.finditer(rb"\d+", data))
    for _ in range(min(chance.randint(1, 3), len(places))):
        place = chance.choice(places)
        giant = b"9" * chance.choice([3, 5, 18, 400, 5000])
        data = data[: place.start()] + giant + data[place.end() :]
        places = [one for one in places if one.end() < place.start()]
        if not places:
            break
    return data


def other_encoding(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(chance.choice(ENCODINGS), "replace")


def other_line_ends(data: bytes, chance: random.Random) -> bytes:
    ends = [b"\r\n", b"\r", b"\n\n", b"\x0b", b"\xe2\x80\xa8", b""]
    return data.replace(b"\n", chance.choice(ends))


def insert_rubbish(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    rubbish = chance.choice(
        [b'"', b"\x00", b"\xef\xbb\xbf", b",", b"\n", b"{}", b"]", b"x" * 200_000, b"\xff" * 5]
    )
    return data[:place] + rubbish + data[place:]


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip_bytes,
    cut_lines,
    double_lines,
    exchange_lines,
    cut_short,
    exchange_columns,
    other_values,
    other_values,
    nest_deeply,
    giant_numbers,
    other_encoding,
    other_line_ends,
    insert_rubbish,
)


@dataclass
class Tally:
    """What became of the mutants."""

    matches: Counter[str]
    errors: Counter[str]
    with_line: int
    by_kind: Counter[str]
    broken: list[str]
    slowest: tuple[float, int]
    most_memory: tuple[float, int]


def mutant(seed: Seed, chance: random.Random) -> tuple[bytes, list[str]]:
    """A damaged copy, and the kinds of damage."""
    data = seed.data
    kinds = [chance.choice(KINDS) for _ in range(chance.choice([1, 1, 1, 2, 4]))]
    for kind in kinds:
        if data:
            data = kind(data, chance)
    return data, [kind.__name__ for kind in kinds]


def look_at(match: Match) -> None:
    """What any use of a match would touch."""
    hash(match)
    str(match).encode()
    "\n".join(match.notes).encode()
    for innings in match.innings:
        assert innings.total >= 0
        assert 0 <= innings.legal_balls <= len(innings.deliveries)
        assert [ball.index for ball in innings.deliveries] == list(
            range(1, len(innings.deliveries) + 1)
        )


def read(path: Path) -> tuple[int, list[MatchFileError]]:
    """How many matches a file gives, and its errors.

    Raises:
        Exception: a reader raised what it should not.
    """
    skipped: list[MatchFileError] = []
    count = 0
    try:
        for match in read_matches(path, on_error="skip", skipped=skipped):
            look_at(match)
            count += 1
    except MatchFileError as error:
        skipped.append(error)
    for one in skipped:
        text = str(one)
        text.encode()
        assert "\n" not in text, "an error of several lines"
        assert one.path is not None, "an error that names no file"
        assert one.path in text
        assert Path(one.path.split("::")[0]).parent == path.parent, one.path
    assert count or skipped, "neither a match nor an error"
    return count, skipped


def run(shared: Path, mutants: int, seed: int, only: int | None) -> Tally:
    """Make the mutants and read them."""
    tally = Tally(Counter(), Counter(), 0, Counter(), [], (0.0, -1), (0.0, -1))
    sources = seeds(shared)
    with tempfile.TemporaryDirectory() as folder:
        # Each source has a folder: what stands beside it is written once.
        folders = []
        for number, source in enumerate(sources):
            folders.append(Path(folder) / str(number))
            folders[-1].mkdir()
            for name, data in source.beside:
                (folders[-1] / name).write_bytes(data)
        for number in range(mutants) if only is None else (only,):
            chance = random.Random(f"{seed}/{number}")
            which = number % len(sources)
            source = sources[which]
            data, kinds = mutant(source, chance)
            path = folders[which] / source.name
            path.write_bytes(data)
            # What is read is the match; a damaged file beside it is met on the way.
            target = path
            if source.form.endswith(" beside"):
                target = path.with_name(source.beside[0][0])
            _one(
                tally,
                target,
                source.form,
                number,
                kinds,
                len(data) + sum(len(other) for _, other in source.beside),
            )
            if (number + 1) % 2000 == 0:
                print(f"{number + 1} of {mutants}", file=sys.stderr, flush=True)
    return tally


def _one(tally: Tally, path: Path, form: str, number: int, kinds: list[str], size: int) -> None:
    weigh = number % MEMORY_EVERY == 0
    if weigh:
        gc.collect()
        tracemalloc.start()
    start = time.process_time()
    try:
        count, errors = read(path)
        if count:
            tally.matches[form] += 1
        else:
            tally.errors[form] += 1
            tally.with_line += any(error.line is not None for error in errors)
        tally.by_kind.update({f"{kind} {'read' if count else 'refused'}" for kind in kinds})
    except AttnlensError as error:
        tally.broken.append(f"mutant {number} ({form}, {kinds}): {type(error).__name__} {error}")
    except Exception:
        tally.broken.append(f"mutant {number} ({form}, {kinds}): {traceback.format_exc(limit=-3)}")
    seconds = time.process_time() - start
    if weigh:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        bound = 10 * size + 32 * 2**20
        tally.most_memory = max(tally.most_memory, (peak / bound, number))
        if peak > bound:
            tally.broken.append(f"mutant {number} ({form}, {kinds}): {peak} bytes for {size}")
    else:
        tally.slowest = max(tally.slowest, (seconds, number))
        if seconds > MOST_SECONDS:
            tally.broken.append(f"mutant {number} ({form}, {kinds}): {seconds:.1f} s")


def main() -> int:
    """Run and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shared_data", type=Path)
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="make and read this one mutant")
    options = parser.parse_args()
    start = time.process_time()
    tally = run(options.shared_data, options.mutants, options.seed, options.only)
    forms = sorted({*tally.matches, *tally.errors})
    print(f"{'format':<22}{'read':>8}{'refused':>9}")
    for form in forms:
        print(f"{form:<22}{tally.matches[form]:>8}{tally.errors[form]:>9}")
    read_count, refused = tally.matches.total(), tally.errors.total()
    print(f"{'all':<22}{read_count:>8}{refused:>9}")
    print(f"\n{'damage':<22}{'read':>8}{'refused':>9}")
    for kind in dict.fromkeys(kind.__name__ for kind in KINDS):
        print(f"{kind:<22}{tally.by_kind[kind + ' read']:>8}{tally.by_kind[kind + ' refused']:>9}")
    print(f"\nof the refused, {tally.with_line} name a line")
    print(f"slowest: {tally.slowest[0] * 1000:.0f} ms of CPU (mutant {tally.slowest[1]})")
    print(
        f"most memory: {tally.most_memory[0]:.0%} of ten times the files and 32 MB "
        f"(mutant {tally.most_memory[1]}; every {MEMORY_EVERY}th is weighed)"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"process: {peak:.0f} MB at most, {time.process_time() - start:.0f} s of CPU")
    print(f"broken: {len(tally.broken)}")
    for line in tally.broken[:20]:
        print(line)
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
