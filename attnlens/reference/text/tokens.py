"""From a sentence to tokens, and from tokens to numbers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

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
    seen = "".join(one for one in text if one.isspace() or unicodedata.category(one) not in _UNSEEN)
    plain = unicodedata.normalize("NFC", seen).translate(_ONE_SIGN).lower()
    return _TOKEN.findall(plain)


def joined(tokens: Iterable[str]) -> str:
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
    def of(cls, sentences: Iterable[Sequence[str]], least: int = 1) -> Vocabulary:
        """Every token that occurs ``least`` times, the most frequent first."""
        counts = Counter(token for tokens in sentences for token in tokens)
        kept = [word for word, count in counts.items() if count >= least]
        return cls((*SPECIAL, *sorted(kept, key=lambda word: (-counts[word], word))))

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


def padded(rows: Iterable[Tensor]) -> Tensor:
    """Inputs or outputs as ``(row, longest)``, with padding at their ends."""
    return pad_sequence(list(rows), batch_first=True, padding_value=PAD)
