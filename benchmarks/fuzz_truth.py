"""Make real matches wrong in known ways and see that readers say so.

    python benchmarks/fuzz_truth.py SHARED_DATA --mutants 20000 --page docs/formats.md

Four measurements: how many real matches are doubted, and by which rule; matches made impossible,
of each kind some; an over cut out of a CSV2 table; and mutants of all kinds in numbers. A mutant
is told where reading it is refused, or its notes have one that the match as it was had not.

Of each mutant it is known beforehand, from the change alone and without the rules, whether no
such match can have been played. Of the other kinds some leave a match that could have been
played, and nobody can tell: they are counted apart. The exit code is 1 where one of the first is
not told. A mutant is made again with --only NUMBER and the same seed, and written to --out.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wrong_matches import KINDS, Change, NoWay, Play

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.doubts import RULES
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_match, read_matches

REAL = (
    ("t20s_male_json.zip", "men's internationals, JSON"),
    ("t20_leagues_male_json.zip", "men's leagues, JSON"),
    ("t20s_female_csv2.zip", "women's internationals, CSV2"),
    ("t20_leagues_female_json.zip", "women's leagues, JSON"),
)
BASES = 400
"""Sound matches of which mutants are made: decided, without a rain rule, of twenty overs."""

LEAST_TOLD = 0.95
MOST_FALSE = 0.005
FALSE_ALARMS = {
    "1147717": "the umpires may have miscounted the last over, which CSV2 cannot say",
}
"""Doubted matches in which nothing is wrong, by who looked at each of them: why it is doubted."""

MEANING = {
    "both-sides": "two players have one name and one id in the file; what they did is added up",
    "squad": "the table of balls and the `_info.csv` beside it spell a name in two ways",
    "over-length": "an over has a ball too many or too few, and the file does not say so",
    "bowlers": "one bowler is credited with an over that another bowled",
    "spell": "one bowler is credited with an over that another bowled",
    "ends": "the two batters are exchanged on a ball, or for a few balls",
    "wicket": "the kind of wicket or of extra is wrong",
    "runs": "the kind of extra is wrong",
    "too-long": "three wickets stand in a super over, which ends with two",
    "after-the-end": "the last runs stand on the wrong ball, or penalty runs are missing",
    "ended-early": "a ball is missing, or the umpires miscounted",
    "target": "rain or a penalty changed the target, and the file has neither",
    "result": "runs or a wicket are missing, or the result is wrong",
}
"""What is wrong in the matches that a rule doubts."""


# ---- measuring


@dataclass
class Tally:
    """Mutants of one kind."""

    told: int = 0
    silent: int = 0
    open_told: int = 0
    open_silent: int = 0
    refused: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    numbers: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Base:
    """A sound match: its text and its notes."""

    name: str
    text: str
    notes: frozenset[str]


def bases(shared: Path, folder: Path, count: int, seed: int) -> list[Base]:
    """Sound matches of three sets, decided by runs or wickets, without a rain rule."""
    found: list[Base] = []
    for archive in (
        "t20s_male_json.zip",
        "t20_leagues_male_json.zip",
        "t20_leagues_female_json.zip",
    ):
        kept: list[Base] = []
        with zipfile.ZipFile(shared / archive) as opened:
            names = sorted(name for name in opened.namelist() if name.endswith(".json"))
            random.Random(seed).shuffle(names)
            for name in names:
                text = opened.read(name).decode()
                match = told_of(text, folder)
                if isinstance(match, Match) and sound(match):
                    kept.append(Base(name, text, frozenset(match.notes)))
                if len(kept) >= count // 3 + 1:
                    break
        found += kept
    return found[:count]


def sound(match: Match) -> bool:
    """Whether nothing is doubted, and nothing is left open that a mutant would change."""
    settled = "by" in match.outcome and "method" not in match.outcome
    plain_innings = len(match.innings) == 2 and all(map(len, match.players.values()))
    return not match.doubts and settled and plain_innings and len(match.players) == 2


def told_of(text: str, folder: Path) -> Match | MatchFileError:
    """The match of a text, or why there is none."""
    path = folder / "mutant.json"
    path.write_text(text, encoding="utf-8")
    try:
        return read_match(path)
    except MatchFileError as error:
        return error


def mutant(base: Base, kind: Change, dice: random.Random) -> tuple[str, bool] | None:
    """The text of a match made wrong, and whether nobody can have played it; ``None``: no way."""
    match = json.loads(base.text)
    try:
        impossible = kind(Play(match, dice))
    except NoWay:
        return None
    return json.dumps(match, ensure_ascii=False), impossible


def judge(tally: Tally, base: Base, result: tuple[str, bool], number: int, folder: Path) -> None:
    """Read a mutant and count whether it is told."""
    text, impossible = result
    read = told_of(text, folder)
    if isinstance(read, MatchFileError):
        told = True
        tally.refused += 1
        doubt = getattr(read, "doubt", None)
        tally.rules[doubt.kind if doubt is not None else "the file's own rules"] += 1
    else:
        told = bool(set(read.notes) - base.notes)
        tally.rules.update({doubt.kind for doubt in read.doubts})
    if impossible:
        tally.told += told
        tally.silent += not told
        if not told:
            tally.numbers.append(number)
    else:
        tally.open_told += told
        tally.open_silent += not told


def made(
    found: Sequence[Base], number: int, seed: int
) -> tuple[Base, Change, tuple[str, bool] | None]:
    """Mutant of a number: its match, its kind, and what came of it."""
    dice = random.Random(f"{seed}/{number}")
    kind, base = KINDS[number % len(KINDS)], dice.choice(found)
    return base, kind, mutant(base, kind, dice)


def many(found: Sequence[Base], count: int, seed: int, folder: Path) -> dict[str, Tally]:
    """So many mutants, of all kinds in turn."""
    tallies = {kind.__name__: Tally() for kind in KINDS}
    number = done = 0
    while done < count:
        base, kind, result = made(found, number, seed)
        if result is not None:
            judge(tallies[kind.__name__], base, result, number, folder)
            done += 1
            if sys.stderr.isatty() and done % 100 == 0:
                print(f"\r{done} mutants", end="", file=sys.stderr)
        number += 1
    return tallies


def impossible_ones(
    found: Sequence[Base], each: int, seed: int, folder: Path
) -> dict[str, tuple[int, int]]:
    """Of each kind so many impossible matches: how many there are and how many are told."""
    rows = {}
    for kind in KINDS:
        tally = Tally()
        for number, base in enumerate(found):
            result = mutant(base, kind, random.Random(f"{seed}/{kind.__name__}/{number}"))
            if result is not None and result[1]:
                judge(tally, base, result, number, folder)
            if tally.told + tally.silent == each:
                break
        if tally.told + tally.silent:
            rows[kind.__name__] = (tally.told + tally.silent, tally.told)
    return rows


def overs_cut_from_csv2(shared: Path, count: int, seed: int, folder: Path) -> tuple[int, int]:
    """So many CSV2 matches without one over: how many there are and how many are told."""
    dice, told, done = random.Random(seed), 0, 0
    with zipfile.ZipFile(shared / "t20s_female_csv2.zip") as opened:
        names = sorted(
            name for name in opened.namelist() if name.endswith(".csv") and "_info" not in name
        )
        dice.shuffle(names)
        for name in names:
            info = f"{name.removesuffix('.csv')}_info.csv"
            if done == count or info not in opened.namelist():
                continue
            path = folder / name
            (folder / info).write_bytes(opened.read(info))
            path.write_bytes(opened.read(name))
            before = read_match(path)
            head, *rows = path.read_text(encoding="utf-8").splitlines()
            column = head.split(",").index("innings")
            overs = sorted({tuple(_over_of(row, column)) for row in rows})
            gone = dice.choice(overs)
            kept = [row for row in rows if _over_of(row, column) != gone]
            path.write_text("\n".join((head, *kept)) + "\n", encoding="utf-8")
            done += 1
            try:
                told += bool(set(read_match(path).notes) - set(before.notes))
            except MatchFileError:
                told += 1
    return done, told


def _over_of(row: str, column: int) -> tuple[str, str]:
    """Innings and over of a row; no field before them has a comma in quotes but the venue."""
    fields = next(csv.reader([row]))
    return fields[column], fields[column + 1].partition(".")[0]


@dataclass
class Doubted:
    """How many real matches there are, and of what is doubted: set, match, rule, sentence."""

    matches: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)


def real(shared: Path) -> Doubted:
    """Read every real match."""
    found = Doubted()
    for archive, name in REAL:
        skipped: list[MatchFileError] = []
        for match in read_matches(shared / archive, on_error="skip", skipped=skipped):
            found.matches[name] += 1
            found.rows += [(name, match.match_id, one.kind, str(one)) for one in match.doubts]
        found.refused += [str(error) for error in skipped]
    return found


# ---- telling


def words(kind: str) -> str:
    return kind.replace("_", " ")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; columns after the first are figures."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join(lines)


def real_tables(found: Doubted) -> tuple[str, bool]:
    """The tables of real matches, and whether few enough are false alarms."""
    by_rule = Counter(kind for kind, _ in {(row[2], row[1]) for row in found.rows})
    false = Counter(
        kind for kind, name in {(r[2], r[1]) for r in found.rows} if name in FALSE_ALARMS
    )
    all_matches = sum(found.matches.values())
    doubted = {row[1] for row in found.rows}
    rows = [
        (f"`{rule.kind}`", rule.holds, "refused" if rule.refused else "doubt",
         by_rule[rule.kind], false[rule.kind])
        for rule in RULES
    ]  # fmt: skip
    rules = "\n".join(
        (
            "| rule | what holds | broken: | real matches doubted | false alarms |",
            "|---|---|---|---:|---:|",
            *(f"| {' | '.join(map(str, row))} |" for row in rows),
        )
    )
    wrong = len(doubted & FALSE_ALARMS.keys())
    summary = (
        f"{len(doubted)} of {all_matches:,} real matches are doubted "
        f"({len(doubted) / all_matches:.2%}), {len(found.refused)} refused; "
        f"{wrong} of them ({wrong / all_matches:.3%}) without a fault in the file."
    )
    sets = table(
        ("set", "matches", "doubted"),
        [
            (n, f"{c:,}", len({r[1] for r in found.rows if r[0] == n}))
            for n, c in found.matches.items()
        ],
    )
    listed = ["| match | rule | what is said |", "|---|---|---|"]
    listed += [f"| {name} | `{kind}` | {said} |" for _, name, kind, said in found.rows]
    meant = "\n".join(f"- `{kind}`: {MEANING[kind]}." for kind in sorted(by_rule) if by_rule[kind])
    excused = "\n".join(f"- {name}: {why}." for name, why in FALSE_ALARMS.items())
    good = wrong / all_matches <= MOST_FALSE and not found.refused
    text = (
        f"{summary}\n\n{sets}\n\n{rules}\n\n## Every doubted match\n\n"
        f"Each was looked at. What is wrong in them, by rule:\n\n{meant}\n\n"
        f"False alarms:\n\n{excused}\n\n" + "\n".join(listed)
    )
    return text, good


def mutants_table(tallies: dict[str, Tally]) -> str:
    rows: list[tuple[object, ...]] = []
    totals = [0, 0, 0, 0]
    for kind, tally in tallies.items():
        usual = ", ".join(f"`{rule}`" for rule, _ in tally.rules.most_common(2))
        sure, left = tally.told + tally.silent, tally.open_told + tally.open_silent
        figures = (sure, tally.told, left, tally.open_told)
        rows.append((words(kind), *figures, usual))
        totals = [total + figure for total, figure in zip(totals, figures, strict=True)]
    rows.append(("**all**", *totals, ""))
    head = ("what was done", "impossible", "told", "perhaps possible", "told", "mostly by")
    return table(head, rows)


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shared_data", type=Path)
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--each", type=int, default=20, help="impossible matches of each kind")
    parser.add_argument("--overs", type=int, default=60, help="CSV2 matches that lose an over")
    parser.add_argument("--bases", type=int, default=BASES, help="matches that mutants are made of")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-real", action="store_true", help="leave the real matches out")
    parser.add_argument("--page", type=Path, help="write the tables there")
    parser.add_argument("--only", type=int, help="make this one mutant and say what is read")
    parser.add_argument("--out", type=Path, help="where --only writes it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = bases(options.shared_data, folder, options.bases, options.seed)
        if options.only is not None:
            base, kind, result = made(found, options.only, options.seed)
            print(base.name, words(kind.__name__), None if result is None else result[1])
            if result is not None:
                read = told_of(result[0], folder)
                print(read if isinstance(read, MatchFileError) else read.notes)
                if options.out is not None:
                    options.out.write_text(result[0], encoding="utf-8")
            return 0
        kinds = impossible_ones(found, options.each, options.seed, folder)
        cut, cut_told = overs_cut_from_csv2(
            options.shared_data, options.overs, options.seed, folder
        )
        tallies = many(found, options.mutants, options.seed, folder)
    rows = [(words(kind), count, told) for kind, (count, told) in kinds.items()]
    short = [row for row in rows if row[2] < LEAST_TOLD * row[1]]
    silent = {words(kind): tally.numbers for kind, tally in tallies.items() if tally.silent}
    parts = {
        "impossible": table(("kind", "matches", "told"), rows),
        "overs": f"{cut_told} of {cut} CSV2 matches from which one over was cut out are told.",
        "mutants": mutants_table(tallies),
    }
    good = not short and not silent
    if not options.no_real:
        parts["real"], few = real_tables(real(options.shared_data))
        good = good and few
    for text in parts.values():
        print(text, end="\n\n")
    print(f"kinds told too seldom: {len(short)}; impossible and not told: {silent or 'none'}")
    if options.page is not None:
        options.page.write_text(PAGE.format(**parts, seed=options.seed, count=options.mutants))
    return 0 if good else 1


PAGE = """# Doubts

A file can be written without a fault and tell of a match that nobody played. Readers look for
that by a table of rules (`attnlens/cricket/match/doubts.py`). What they find is told in the notes
of the match, which the scorecard, the JSON and every page show; where no answer about the match
could be right, the match is refused, with the line. `attnlens match --check FILE-OR-FOLDER ...`
lists both; its exit status is 1 where a match is refused.

This page is written by `python benchmarks/fuzz_truth.py SHARED_DATA --mutants {count}
--seed {seed} --page docs/formats.md`. Real matches are those of [Cricsheet](https://cricsheet.org).

## Real matches

{real}

## Impossible matches

Real matches of which nothing is doubted, made impossible in one way each:

{impossible}

{overs}

## Mutants

{count} matches made wrong. *Impossible*: from the change alone it is known that nobody can have
played such a match. *Perhaps possible*: the change may leave a match that somebody could have
played, so that nobody can tell from the file: two balls on which the same batters faced the same
bowler change places; the batters are exchanged on one ball beside a wicket or a no-ball; another
bowler takes over for the last ball of an over, as one does who is hurt; two overs of the same two
bowlers and batters change places; a scoreless over is cut out and the rest renumbered; one of the
batters is called otherwise throughout. What is told of those is told because a neighbour gives
it away.

{mutants}

What no rule looks for: who keeps or loses the strike once (a short run looks the same), runs that
move from one ball to another of the same batter and bowler, and facts of which the file has no
second witness, such as the venue or a fielder's name.
"""


if __name__ == "__main__":
    sys.exit(main())
