"""The English that `grounding` and `references` know: ``english.toml`` of the templates, read."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, pairwise
from typing import Final

from attnlens.files import Json

VERDICTS: Final = ("supported", "not better than chance", "contradicted", "cannot be told")
WORD: Final = re.compile(r"\w[\w'’.-]*\w|\w")
NUMBER: Final = re.compile(
    r"(?<![\w.,:])(?<!\d[-–])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![-–:]\d|\w)"
    r"(?: (?P<large>thousand|million|billion)\b)?"
    r"(?:(?P<share> ?%| ?per ?cent\b)|(?P<points>[ -](?:percentage[ -])?points?\b| ?pp\b))?",
    re.IGNORECASE,
)
LARGE: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
SENTENCE: Final = re.compile(r"(?<![A-Z])[.!?][\"')\]’”]*\s+(?=[\"'(\[“]?[^\Wa-z])|;\s+|\s\|\s")
MARKS: Final = re.compile(
    r"\*\*|__|[*`]|^\s*(?:>|[-+•]\s|\d+[.)]\s)\s*|^\||\|$|\]\([^)]*\)|\[(?=\w)"
)
CAPITALS: Final = re.compile(r"(?<![\w°])[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*")
START: Final = re.compile(r"(?:^|[.!?:;(—–-]\s|[\"“‘(])[^\w□]*$")
"""What ends where a word with a capital need not be a name."""

ENDING: Final = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|ly|[sey])$|(?<=\w{4})ers?$")

AFFIX: Final = re.compile(
    r"^(?:un|re|dis|over|under|out)(?=\w{4})"
    r"|(?<=\w{4})(?:ation|ion|ment|able|ful|ness|al|ity|ive|ous|[ae]nce)s?$"
)


@cache
def words(name: str) -> tuple[str, ...]:
    """A list of ``english.toml``."""
    text: str = _lexicon()[name]
    return tuple(text.split())


@cache
def _lexicon() -> Json:
    return tomllib.loads(files("attnlens.templates").joinpath("english.toml").read_text("utf-8"))


@lru_cache(maxsize=64)
def phrases(kind: str, nouns: str = "(?!)") -> re.Pattern[str]:
    """A pattern of all phrases of a kind, each from the start of a word or a comma."""
    told = "|".join(words(kind)).replace("_", " ").replace("~", r"\w*")
    return re.compile(rf"(?:(?<!\w)|(?=,))(?:{told.replace('NOUN', nouns)})(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word as it is compared: small letters without accents and without a common ending."""
    signs = unicodedata.normalize("NFKD", word.casefold())
    bare = ENDING.sub("", "".join(sign for sign in signs if not unicodedata.combining(sign)))
    return re.sub(r"([^\Waeiou\d])\1$", r"\1", bare)


@cache
def _common() -> frozenset[str]:
    told = (*words("common"), *words("stop"))
    return frozenset((*told, *map(stem, told)))


def is_common(word: str) -> bool:
    """Whether a word, or what it is a form of, is a common one; forms in "-er" may be names."""
    for part in re.sub(r"(?:n't|['’]\w*)$", "", word.casefold()).split("-"):
        forms = {stem(one) for one in (part, AFFIX.sub("", part), AFFIX.sub("", stem(part)))}
        if part not in _common() and (part.endswith("er") or forms.isdisjoint(_common())):
            return False
    return True


def is_read(text: str, known: Collection[str]) -> bool:
    """Whether most small words of a sentence are common English, or among known stems."""
    small = [word for word in WORD.findall(text) if word[0].isalpha() and word == word.lower()]
    strange = [word for word in small if not is_common(word) and stem(word) not in known]
    return 2 * len(strange) <= len(small) or (len(small) < 4 and text.isascii())


def clauses(text: str) -> list[int]:
    """Where parts of a sentence begin: at marks and conjunctions."""
    marks = re.finditer(r"[;:()–—]|,(?!\d)", text)
    return sorted(match.start() for match in chain(marks, phrases("clause").finditer(text)))


def is_denied(text: str, at: int) -> bool:
    """Whether what stands at a place of a text is said not to be."""
    return phrases("denied").search(text, 0, at) is not None


def verdicts(text: str) -> Iterator[tuple[re.Match[str], set[str]]]:
    """Phrases that tell a verdict, each with the verdicts that it fits."""
    taken: set[int] = set()
    for kind in (*VERDICTS[1:], "unsupported", "supported"):
        for match in phrases(kind).finditer(text):
            if taken.isdisjoint(range(*match.span())):
                taken.update(range(*match.span()))
                right = (kind == "supported") != is_denied(text, match.start())
                whole = set(VERDICTS[:1] if right else VERDICTS[1:])
                yield match, {kind} if kind in VERDICTS[1:] else whole


def names(text: str) -> Iterator[tuple[re.Match[str], list[str], bool]]:
    """Runs of words with a capital, their words, and whether a sentence or a quote begins there."""
    for run in CAPITALS.finditer(text):
        told = [re.sub(r"['’]s?$", "", word) for word in run.group().split()]
        yield run, told, START.search(text[: run.start()]) is not None


def value(number: re.Match[str]) -> tuple[float, float]:
    """What a match of `NUMBER` says, and half of its last digit that counts."""
    digits = number["digits"].replace(",", "")
    scale = LARGE.get((number["large"] or "").lower(), 1.0)
    zeros = len(digits) - len(digits.rstrip("0")) if digits.endswith("000") else 0
    last = 10.0 ** min(-len(digits.partition(".")[2]) or zeros, 300)
    return min(float(digits) * scale, 1e300), 0.505 * last * scale


def in_digits(text: str, things: Collection[str] = ()) -> str:
    """A text with numbers in words as digits, those of one word that are no thing's name."""

    def digits(word: re.Match[str]) -> str:
        counted = phrases("counted").match(text, word.end() + 1)
        times = counted and counted.group().startswith("times")
        if times or (word[0].lower() in things and not counted):
            return word[0]
        at = words("counts").index(word[0].lower())
        return str(at if at <= 20 else 10 * (at - 18))

    told = "|".join(words("counts"))
    return re.sub(rf"(?<![\w-])(?:{told})(?![\w-])", digits, text, flags=re.IGNORECASE)


def statements(text: str) -> list[str]:
    """The statements of plain text or Markdown: sentences, and their parts between semicolons."""
    cut = []
    for line in text.splitlines():
        if not re.match(r"\s*(?:#|\|?[-:| ]+$|```)", line):
            shown = MARKS.sub("", line)
            ends = [0, *(match.end() for match in SENTENCE.finditer(shown)), len(shown)]
            cut += [shown[start:end].strip(" |") for start, end in pairwise(ends)]
    return [one for one in cut if re.search(r"[^\W\d]{2}", one)]
