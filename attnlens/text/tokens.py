"""From a sentence to tokens, and from tokens to numbers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from attnlens.models.seq2seq import BOS, EOS, PAD, SPECIAL, UNK

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

    def source(self, tokens: Sequence[str], length: int) -> list[int]:
        """An input: numbers, and padding up to ``length``.

        Raises:
            ValueError: there are more tokens than that.
        """
        return self._padded([self.number(token) for token in tokens], length)

    def target(self, tokens: Sequence[str], length: int) -> list[int]:
        """An output with its beginning: ``<bos>``, numbers, ``<eos>``, padding.

        Args:
            length: of what is to be written, ``<eos>`` included; one less than is returned.

        Raises:
            ValueError: the tokens and ``<eos>`` are more than that.
        """
        return self._padded([BOS, *map(self.number, tokens), EOS], length + 1)

    def read(self, numbers: Iterable[int]) -> list[str]:
        """Tokens up to ``<eos>`` or padding."""
        tokens = []
        for number in numbers:
            if number in (EOS, PAD):
                break
            tokens.append(self.words[number])
        return tokens

    @staticmethod
    def _padded(numbers: list[int], length: int) -> list[int]:
        if len(numbers) > length:
            raise ValueError(f"{len(numbers)} tokens do not fit into {length}")
        return numbers + [PAD] * (length - len(numbers))
