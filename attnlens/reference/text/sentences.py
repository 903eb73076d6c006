"""Sentence pairs from a CSV file, as tokens and as numbers, and which of them are held out."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attnlens.errors import InputError, count
from attnlens.files import read_whole
from attnlens.reference.transformer import BOS, EOS, PAD, SPECIAL, UNK

_TOKEN: Final = re.compile(
    r"\d+(?:[.,]\d+)*(?!\w)"  # 7, 7.4, 1,000
    r"|\w+(?:['\-]\w+)*"  # words, with what joins their parts: O'Tarrigan's, mid-off
    r"|\S"
)
_ONE_SIGN: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-"})
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Cn"})
_CLOSE_UP: Final = re.compile(r" ([,.;:!?)])")


def tokenise(text: str) -> list[str]:
    """Words, numbers and single signs, in lower case.

    Hyphens and apostrophes stay inside words. Case is dropped, since a sentence's first word is
    the same word in its middle; letters are composed (NFC), and the several signs for an
    apostrophe or a hyphen are made one. What cannot be seen (controls, marks of direction, joiners)
    is left out. No text can be read as a special token: ``<pad>`` is three tokens.
    """
    visible = "".join(
        character
        for character in text
        if character.isspace() or unicodedata.category(character) not in _UNSEEN
    )
    plain = unicodedata.normalize("NFC", visible).translate(_ONE_SIGN).lower()
    return _TOKEN.findall(plain)


def join_tokens(tokens: Iterable[str]) -> str:
    """Tokens as a line of text, signs close to the word before them."""
    return _CLOSE_UP.sub(r"\1", " ".join(tokens))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens that a model knows, by number.

    Attributes:
        words: `SPECIAL` first.

    Raises:
        ValueError: they do not begin so, or a word is there twice.
    """

    words: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {word: number for number, word in enumerate(self.words)}
        if self.words[: len(SPECIAL)] != SPECIAL or len(numbers) != len(self.words):
            raise ValueError(f"a vocabulary begins with {' '.join(SPECIAL)} and repeats no word")
        object.__setattr__(self, "_numbers", numbers)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], min_count: int = 1) -> Vocabulary:
        """Every token that occurs ``min_count`` times, the most frequent first."""
        counts = Counter(token for tokens in sentences for token in tokens)
        words = [word for word in counts if counts[word] >= min_count]
        return cls((*SPECIAL, *sorted(words, key=lambda word: (-counts[word], word))))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    def number(self, word: str) -> int:
        """The number of a word, `UNK` for one that is not known."""
        return self._numbers.get(word, UNK)

    def numbers(self, tokens: Sequence[str]) -> Tensor:
        """An input ``(word,)``."""
        return torch.tensor([self.number(token) for token in tokens])

    def target(self, tokens: Sequence[str]) -> Tensor:
        """An output with its beginning and its end: ``<bos>``, numbers, ``<eos>``."""
        return torch.tensor([BOS, *map(self.number, tokens), EOS])

    def read(self, numbers: Iterable[int]) -> list[str]:
        """Tokens up to ``<eos>`` or padding."""
        before_end = takewhile(lambda number: number not in (EOS, PAD), numbers)
        return [self.words[number] for number in before_end]


def pad_batch(rows: Iterable[Tensor]) -> Tensor:
    return pad_sequence(list(rows), batch_first=True, padding_value=PAD)


_MAX_FILE_BYTES: Final = 256 * 2**20
_MAX_SENTENCE_TOKENS: Final = 256
"""Most tokens of a sentence: attention takes their square."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences as tokens, and the line of the file they are from."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """What a file holds.

    Attributes:
        columns: the names of the two columns.
        sha256: of the file's bytes.
    """

    pairs: tuple[SentencePair, ...]
    columns: tuple[str, str]
    sha256: str
    path: str


def read_pairs(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    separator: str = ",",
) -> SentencePairs:
    """Pairs of sentences from a CSV file, UTF-8 with or without a byte order mark.

    The first row names the columns; empty lines are skipped.

    Args:
        columns: the two to read, by name; the first two unless given.
        separator: between columns.

    Raises:
        InputError: the file, a row or a sentence cannot be used; it says which line.
    """
    content = read_whole(path, _MAX_FILE_BYTES, remedy="give a CSV file of sentence pairs")
    pairs: list[SentencePair] = []
    try:
        rows = _rows(content, separator)
        line, header = next(rows, (1, []))
        if not header:
            raise InputError("holds nothing", remedy="give a CSV file of sentence pairs")
        names = [name.strip() for name in header]
        chosen = _chosen(names, columns, line)
        for line, row in rows:
            if len(row) != len(names):
                raise InputError(
                    f"has {count(len(row), 'column')}, not {len(names)}",
                    line=line,
                    remedy="put quotes around a sentence that holds the separator",
                )
            source, target = (_sentence(row[names.index(name)], name, line) for name in chosen)
            pairs.append(SentencePair(source, target, line))
        if not pairs:
            raise InputError("has no row below its header", remedy="add sentence pairs")
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line, remedy=error.remedy) from None
    return SentencePairs(tuple(pairs), chosen, hashlib.sha256(content).hexdigest(), str(path))


def _sentence(text: str, name: str, line: int) -> tuple[str, ...]:
    tokens = tuple(tokenise(text))
    if not tokens:
        raise InputError(f"the {name!r} is empty", line=line, remedy="fill or remove the row")
    if len(tokens) > _MAX_SENTENCE_TOKENS:
        raise InputError(
            f"the {name!r} has {len(tokens)} tokens, more than {_MAX_SENTENCE_TOKENS}",
            line=line,
            remedy="shorten or remove the row",
        )
    return tokens


def _chosen(names: Sequence[str], columns: Sequence[str] | None, line: int) -> tuple[str, str]:
    if len(names) < 2:
        raise InputError(
            "has one column where a pair needs two",
            line=line,
            remedy="give two, the input and the output, and say what stands between: --separator",
        )
    source, target = names[:2] if columns is None else columns
    for name in (source, target):
        if names.count(name) != 1:
            problem = f"has no column {name!r}" if name not in names else f"has {name!r} twice"
            raise InputError(problem, line=line, remedy=f"columns: {', '.join(names)}")
    return source, target


def _rows(content: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, each with the line that it begins on."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", line=line, remedy="save it as UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begins = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"is not CSV ({error})", line=begins, remedy="mend its quotes") from None


@dataclass(frozen=True, slots=True)
class HeldOutRule:
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
        cls, pairs: Sequence[SentencePair], share: float = 0.1, leading: int = 0, new: float = 0.05
    ) -> HeldOutRule:
        """A rule that holds out a share ``new`` of the combinations, chosen by hash.

        Of those, only the ones of whose tokens each occurs in other combinations too: of what
        was never seen in any of them nothing can be known.
        """
        combinations = {pair.target[leading:] for pair in pairs}
        chosen = {tokens for tokens in combinations if _point("combination", tokens) < new}
        counts = Counter(token for tokens in combinations - chosen for token in set(tokens))
        recombined = (tokens for tokens in chosen if all(counts[token] > 1 for token in tokens))
        return cls(share, leading, frozenset(" ".join(tokens) for tokens in recombined if tokens))

    def split(
        self, pairs: Sequence[SentencePair]
    ) -> tuple[list[SentencePair], list[SentencePair], list[SentencePair]]:
        """To train on, held out, and held out with their combination, none in two of them."""
        train: list[SentencePair] = []
        held_out: list[SentencePair] = []
        new: list[SentencePair] = []
        for pair in pairs:
            if " ".join(pair.target[self.leading :]) in self.combinations:
                new.append(pair)
            else:
                (held_out if _point("input", pair.source) < self.share else train).append(pair)
        return train, held_out, new


def _point(purpose: str, tokens: Sequence[str]) -> float:
    """A number from 0 to 1 that depends on the tokens alone."""
    digest = hashlib.sha256(" ".join((purpose, *tokens)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56
