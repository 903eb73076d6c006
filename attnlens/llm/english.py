"""The English that `grounding` and `references` know: ``english.toml`` of the templates, read."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from attnlens.files import Json

VERDICTS: Final = (
    *("cannot be told", "not better than chance", "unsupported", "contradicted", "supported"),
)
"""Kinds of phrases that tell a verdict; those of an earlier one may hold those of a later."""

WORD: Final = re.compile(r"\w[\w'’.-]*\w|\w")
NUMBER: Final = re.compile(
    r"(?<![\w.,:])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?: (?P<large>thousand|million|billion)\b)?"
    r"(?:(?P<share> ?%| ?per ?cent\b)|(?P<points>[ -](?:percentage[ -])?points?\b| ?pp\b))?",
    re.IGNORECASE,
)
LARGE: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
CLAUSE: Final = re.compile(
    r"[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|where|though|than|against|to)\b", re.IGNORECASE
)
SENTENCE: Final = re.compile(r"(?<![A-Z])[.!?][\"')\]’”]*\s+(?=[\"'(\[“]?[^\Wa-z])|;\s+|\s\|\s")
MARKS: Final = re.compile(
    r"\*\*|__|[*`]|^\s*(?:>|[-+•]\s|\d+[.)]\s)\s*|^\||\|$|\]\([^)]*\)|\[(?=\w)"
)
CAPITALS: Final = re.compile(r"(?<!\w)[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*")
START: Final = re.compile(r"(?:^|[.!?:;(—–-]\s|[\"“‘(])[^\w□]*$")
"""What ends where a word with a capital need not be a name."""

DENIED: Final = re.compile(r"(?:\b(?:not|no|never|hardly|nor|neither)|n't)(?: \w+)?\s*$", re.I)
ENDING: Final = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|ly|[sey])$|(?<=\w{4})ers?$")


@cache
def lexicon() -> Json:
    """The tables of ``english.toml``."""
    return tomllib.loads(files("attnlens.templates").joinpath("english.toml").read_text("utf-8"))


@cache
def words(name: str) -> frozenset[str]:
    """A list of words, in small letters."""
    return frozenset(lexicon()["words"][name].split())


@lru_cache(maxsize=64)
def phrases(kind: str, nouns: str = "(?!)") -> re.Pattern[str]:
    """A pattern of all phrases of a kind, each from the start of a word or a comma."""
    told = (re.sub("-$", r"\\w*", phrase) for phrase in lexicon()["phrases"][kind])
    whole = "|".join(told).replace("NOUN", nouns)
    return re.compile(rf"(?:(?<!\w)|(?=,))(?:{whole})(?!\w)", re.IGNORECASE)


COMPARED: Final = re.compile(
    rf"(?: [^\W\d][\w³/]*)? (?:{'|'.join(lexicon()['phrases']['compared'])})\b|[^\W\d]| ?[-–:]\d"
)


def ends(text: str, kind: str) -> bool:
    """Whether a text, up to a number, ends with a phrase of a kind."""
    end = re.sub(r" ?[£$€]?$", "", text)
    return any(match.end() == len(end) for match in phrases(kind).finditer(end))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word as it is compared: small letters without accents and without a common ending."""
    signs = unicodedata.normalize("NFKD", word.casefold())
    bare = ENDING.sub("", "".join(sign for sign in signs if not unicodedata.combining(sign)))
    return re.sub(r"([^\Waeiou\d])\1$", r"\1", bare)


@cache
def _common() -> frozenset[str]:
    return frozenset(map(stem, words("common") | words("stop")))


@lru_cache(maxsize=4096)
def is_common(word: str) -> bool:
    """Whether a word, or what it is a form of, is a common one. "-er" makes names, too."""
    small = re.sub(r"(?:n't|['’]\w*)$", "", word.casefold())
    parts = [part for part in small.split("-") if part]
    if len(parts) > 1:
        return all(map(is_common, parts))
    return small in words("common") or (not small.endswith("er") and stem(small) in _common())


def is_read(text: str, known: frozenset[str] | set[str] = frozenset()) -> bool:
    """Whether most small words of a sentence are common English, or among the known stems."""
    small = [word for word in WORD.findall(text) if word[0].isalpha() and word[0] == word[0].lower()]
    strange = [word for word in small if not is_common(word) and stem(word) not in known]
    return 2 * len(strange) <= len(small) or (len(small) < 4 and text.isascii())


def verdicts(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Phrases that tell a verdict, each with its kind."""
    taken: set[int] = set()
    for kind in VERDICTS:
        for match in phrases(kind).finditer(text):
            if taken.isdisjoint(range(*match.span())):
                taken.update(range(*match.span()))
                denied = kind == "supported" and is_denied(text, match.start())
                yield match, "unsupported" if denied else kind


def is_denied(text: str, at: int) -> bool:
    """Whether what stands at a place of a text is said not to be."""
    return DENIED.search(text[:at]) is not None


def names(text: str) -> Iterator[tuple[re.Match[str], list[str], bool]]:
    """Runs of words with a capital, their words, and whether a sentence or a quote begins there."""
    for run in CAPITALS.finditer(text):
        told = [re.sub(r"['’]s?$", "", word) for word in run.group().split()]
        yield run, told, START.search(text[: run.start()]) is not None


def numbers_in_words(text: str, nouns: str) -> Iterator[str]:
    """Numbers that are no digits, and signs that are others: ``half``, ``twenty``, ``½``, ``one``."""
    yield from (match.group() for match in phrases("one", nouns).finditer(text))
    for word in re.findall(r"[^\W_]+", text):
        small = word.casefold()
        forms = {small, re.sub("s$", "", small), re.sub("ie$", "y", re.sub("th$", "", small))}
        if any(sign.isnumeric() for sign in word) or forms & words("numbers"):
            yield word


def value(number: re.Match[str]) -> tuple[float, float]:
    """What a match of `NUMBER` says, and half of its last digit that counts."""
    digits = number["digits"].replace(",", "")
    scale = LARGE.get((number["large"] or "").lower(), 1.0)
    zeros = len(digits) - len(digits.rstrip("0")) if digits.endswith("000") else 0
    last = 10.0 ** min(-len(digits.partition(".")[2]) or zeros, 300)
    return min(float(digits) * scale, 1e300), 0.505 * last * scale


def statements(text: str) -> list[str]:
    """The statements of plain text or Markdown: sentences, and their parts between semicolons."""
    cut = []
    for line in text.splitlines():
        if not re.match(r"\s*(?:#|\|?[-:| ]+$|```)", line):
            shown = MARKS.sub("", line)
            ends = [0, *(match.end() for match in SENTENCE.finditer(shown)), len(shown)]
            cut += [shown[start:end].strip(" |") for start, end in pairwise(ends)]
    return [one for one in cut if re.search(r"[^\W\d]{2}", one)]
