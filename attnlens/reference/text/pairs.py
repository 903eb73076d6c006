"""Pairs of sentences from a CSV file, and which of them a model is not to be trained on."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from attnlens.errors import InputError
from attnlens.files import read_whole
from attnlens.reference.text.tokens import tokenise

LARGEST: Final = 256 * 2**20
LONGEST: Final = 256
"""Most tokens of a sentence: attention takes their square."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences as tokens, and the line of the file they are from."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """What a file holds.

    Attributes:
        columns: the names of the two columns.
        sha256: of the file's bytes.
    """

    pairs: tuple[Pair, ...]
    columns: tuple[str, str]
    sha256: str
    path: str


def read_pairs(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    separator: str = ",",
) -> Pairs:
    """Pairs of sentences from a CSV file, UTF-8 with or without a byte order mark.

    The first row names the columns; empty lines are passed over.

    Args:
        columns: the two to read, by name; the first two unless given.
        separator: between columns.

    Raises:
        InputError: the file, a row or a sentence cannot be used; it says which line.
    """
    data = read_whole(path, LARGEST, remedy="give a CSV file of sentence pairs")
    rows = _rows(_text(data, path), separator, path)
    line, header = next(rows, (1, []))
    if not header:
        raise InputError("holds nothing", path=path, remedy="give a CSV file of sentence pairs")
    names = [name.strip() for name in header]
    chosen = _chosen(names, columns, path, line)
    pairs = []
    for line, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"has {len(row)} column{'s' * (len(row) != 1)}, not {len(names)}",
                path=path,
                line=line,
                remedy="put quotes around a sentence that holds the separator",
            )
        source, target = (tuple(tokenise(row[names.index(name)])) for name in chosen)
        for name, tokens in zip(chosen, (source, target), strict=True):
            if not 0 < len(tokens) <= LONGEST:
                problem = f"has {len(tokens)} tokens, more than {LONGEST}" if tokens else "is empty"
                remedy = "shorten or remove the row" if tokens else "fill or remove the row"
                raise InputError(f"the {name!r} {problem}", path=path, line=line, remedy=remedy)
        pairs.append(Pair(source, target, line))
    if not pairs:
        raise InputError("has no row below its header", path=path, remedy="add sentence pairs")
    return Pairs(tuple(pairs), chosen, hashlib.sha256(data).hexdigest(), str(path))


def _chosen(
    names: Sequence[str], columns: Sequence[str] | None, path: str | os.PathLike[str], line: int
) -> tuple[str, str]:
    """The names of the two columns to read."""
    if len(names) < 2:
        raise InputError(
            "has one column where a pair needs two",
            path=path,
            line=line,
            remedy="give two, the input and the output, and say what stands between: --separator",
        )
    source, target = names[:2] if columns is None else columns
    for name in (source, target):
        if names.count(name) != 1:
            message = f"has no column {name!r}" if name not in names else f"has {name!r} twice"
            raise InputError(message, path=path, line=line, remedy=f"columns: {', '.join(names)}")
    return source, target


def _text(data: bytes, path: str | os.PathLike[str]) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", path=path, line=line, remedy="save it as UTF-8") from None


def _rows(
    text: str, separator: str, path: str | os.PathLike[str]
) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, each with the line that it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begins = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        message = f"is not CSV ({error})"
        raise InputError(message, path=path, line=begins, remedy="mend its quotes") from None


@dataclass(frozen=True, slots=True)
class Rule:
    """Which pairs are kept from training.

    Single pairs go by a hash of their input: the same sentence always falls on the same side,
    in any file, so nothing that was trained on is ever asked about as new. Beside them, whole
    combinations are held out with every pair they have: a combination is an answer without its
    first tokens, which may say who and not what.

    Attributes:
        share: of the inputs that are held out.
        leading: tokens at an answer's start that are no part of its combination.
        combinations: those that are held out, tokens with spaces between.
    """

    share: float = 0.1
    leading: int = 0
    combinations: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], share: float = 0.1, leading: int = 0, new: float = 0.05
    ) -> Rule:
        """A rule that holds out a share ``new`` of the combinations, chosen by hash.

        Of those, only the ones of whose tokens each occurs in other combinations too: of what
        was never seen in any of them nothing can be known.
        """
        found = dict.fromkeys(pair.target[leading:] for pair in pairs)
        chosen = {one for one in found if _point("combination", one) < new}
        known = Counter(token for one in found if one not in chosen for token in set(one))
        kept = (one for one in chosen if all(known[token] > 1 for token in one))
        return cls(share, leading, frozenset(" ".join(one) for one in kept if one))

    def split(self, pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair], list[Pair]]:
        """To train on, held out, and held out with their combination, none in two of them."""
        train: list[Pair] = []
        held_out: list[Pair] = []
        new: list[Pair] = []
        for pair in pairs:
            if " ".join(pair.target[self.leading :]) in self.combinations:
                new.append(pair)
            elif _point("input", pair.source) < self.share:
                held_out.append(pair)
            else:
                train.append(pair)
        return train, held_out, new


def _point(what: str, tokens: Sequence[str]) -> float:
    """A number from 0 to 1 that depends on the tokens alone."""
    digest = hashlib.sha256(" ".join((what, *tokens)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56
