"""A text in parts: sentences, their clauses, and what is named in them.

Nothing here knows an explanation. Players, teams and grounds are one private sign each (see
`attnlens.explanation.grounding_names`), so that no name is taken for words or numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from attnlens.explanation.visible import visible

NAME: Final = "[\ue100-\uf8ff]"
"""One name, as a sign that no file and no model can write: private signs are taken out first."""

LONGEST_SENTENCE: Final = 1500

NUMBER_WORDS: Final = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}
ORDINAL_WORDS: Final = {
    word: value
    for value, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ],
        start=1,
    )
}
COUNT: Final = rf"(?:(?<![\d,])\d{{1,3}}(?:,\d{{3}})*|{'|'.join(NUMBER_WORDS)})"
LABEL: Final = r"(?<![\d.,+%-])\d{1,3}\.\d{1,2}(?![\d%]|\.\d)"
LABELS: Final = rf"{LABEL}(?:(?:,| and|, and| or)(?: balls?)? ?{LABEL})*"
"""Several labels in a row."""

_TYPOGRAPHY: Final = str.maketrans(
    {
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "‐": "-",
        "‑": "-",
        "−": "-",
        "–": "-",
        "—": " - ",
        "→": " to ",
        "×": " times ",
        "…": "...",
    }
)
_EMPHASIS: Final = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`")
_LINE_START: Final = re.compile(r"^\s*(?:#{1,6}\s+|[-*•>]\s+|\d{1,2}[.)]\s+(?=[^\W\d]))")
_END: Final = re.compile(
    r"(?<![A-Z])(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\bno)(?<!\bSt)(?<!\bMr)(?<!\bDr)"
    r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9\ue100-\uf8ff+])|\s\|\s"
)
_CLAUSE: Final = re.compile(
    r";\s|\s-\s|,?\s(?:while|whereas|although|though|yet)\s|,\s(?:but|and)\s(?=[^,;]*\b"
    r"(?:hid|remov|without|tak|the model|it |this |that |the ))"
    r"|(?i:(?<!\bbowler)(?<!\bbatter)(?<!\bbatsman)(?<!\bstriker)(?<!\bbowling)(?<!\bbatting)(?<!\d))"
    r":\s(?=[a-zA-Z\ue100-\uf8ff])"
)

_ASIDE: Final = re.compile(
    r"(?P<host>(?:(?!\s-\s)[^;:])+)\s-\s(?P<aside>(?:(?!\s-\s)[^;:]){1,64})\s-\s"
    r"(?P<goes>(?:(?!\s-\s)[^;:])+)"
)
_ANEW: Final = re.compile(r",|(?:and|but|so|or|yet|then|for)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence; ``host`` is what comes before it, where it is an aside."""

    text: str
    host: str | None = None


def plainly(text: str) -> str:
    """A text on one line with nothing unseen in it, its quotes and dashes plain ones."""
    return visible(visible(text).translate(_TYPOGRAPHY))


def lines_of(text: str, marked: Callable[[str], str] = lambda line: line) -> Iterator[str]:
    """Lines of plain text, without marks of Markdown.

    A line that only a narrow page broke is put together again.

    Args:
        marked: puts signs in place of names before any mark is taken out: a name may hold some.
    """
    held = ""
    for raw in re.split(r"[\n\r\v\f\x85\u2028\u2029]", text):
        signed = marked(plainly(raw))
        bare = _LINE_START.sub("", signed)
        line = visible_signs(_EMPHASIS.sub("", bare))
        goes_on = not held.endswith((".", "!", "?", ":"))
        if held and line and bare == signed and (goes_on or line[0].islower()):
            held = f"{held} {line}"
            continue
        if held:
            yield held
        held = line
    if held:
        yield held


def visible_signs(text: str) -> str:
    """A text with single spaces; signs for names stay."""
    return " ".join(text.split())


def sentences_of(line: str) -> list[str]:
    """The sentences of a line; a point in a number or after an initial ends none."""
    return [piece.strip() for part in _END.split(line) for piece in _pieces(part) if piece.strip()]


def _pieces(sentence: str) -> Iterator[str]:
    """A sentence that nobody would write, in parts that can be read in little time."""
    while len(sentence) > LONGEST_SENTENCE:
        end = sentence.rfind(" ", 1, LONGEST_SENTENCE)
        end = LONGEST_SENTENCE if end < 0 else end
        yield sentence[:end]
        sentence = sentence[end:]
    yield sentence


def clauses_of(sentence: str) -> list[Clause]:
    """Parts at semicolons, colons, dashes, and where another statement begins.

    An aside between two dashes is a clause of its own, after the one that goes on around it.
    """
    aside = _ASIDE.fullmatch(sentence)
    if aside is not None and not _ANEW.match(aside["goes"]):
        around = Clause(f"{aside['host']} {aside['goes']}")
        inner = [Clause(part.text, aside["host"]) for part in clauses_of(aside["aside"])]
        return [*clauses_of(around.text), *inner]
    found, at = [], 0
    for match in _CLAUSE.finditer(sentence):
        found.append(Clause(sentence[at : match.start()]))
        at = match.end()
    found.append(Clause(sentence[at:]))
    return [clause for clause in found if clause.text.strip()]


def whole(text: str) -> int:
    """A count in digits or words."""
    plain = text.replace(",", "").lower()
    return NUMBER_WORDS[plain] if plain in NUMBER_WORDS else int(plain)


# What may stand after "four" where it counts something and is no outcome.
_COUNTED: Final = (
    r"(?!\s(?:of|runs? (?:in|off|from|on|scored|came)|balls?|deliver|overs?|past|earlier|recent|"
    r"previous|attended|listed|other|more|last|heads?|claims?|tests?|groups?|wickets?|dots?|"
    r"boundar|singles?|points?|percent|bits?|nats?|times|sentences?|matches|dot balls|years|"
    r"different|latest|such|scales?|were|was)\b)"
)
_BEFORE: Final = r"(?<!last )(?<!the first )(?<!all )(?<!past )(?<!those )(?<!these )"
OUTCOMES: Final = tuple(
    (outcome, re.compile(pattern, re.IGNORECASE))
    for outcome, pattern in (
        ("nb", r"\bno-balls?\b|\ba no ball\b"),
        ("bye", r"\b(?:byes? or )?leg[- ]byes?\b|\bbyes?\b"),
        ("wd", r"\bwides\b|\b(?:a|an|the|another|one|that|called) wide\b(?! (?:of|range|margin))"),
        (
            "0",
            r"\bdot(?:[ -]balls?)?s?\b|\b(?:a|the|no) (?:scoreless|runless|blank) (?:ball"
            r"|delivery)\b|\bno run\b",
        ),
        (
            "1",
            r"\bsingles?\b|\b(?:a|exactly) one(?: run)?\b(?! of)|\bone run\b(?! (?:in|off|from))",
        ),
        (
            "2",
            r"\ba two\b|\btwos\b|\btwo runs\b(?! (?:in\b(?! the e| fact| truth)|off|on(?! top| \d)"
            r"|came(?! (?:about |around )?\d)"
            r"|scored)| from (?!\d+(?:\.\d+)?%))|\ba couple\b",
        ),
        (
            "3",
            r"\ba three\b|\bthrees\b|\bthree runs\b(?! (?:in\b(?! the e| fact| truth)|off|on(?!"
            r" top| \d)|came(?! (?:about |around )?\d)"
            r"|scored)| from (?!\d+(?:\.\d+)?%))",
        ),
        (
            "5",
            r"\ba five\b|\bfives\b|\bfive runs\b(?! (?:in\b(?! the e| fact| truth)|off|on(?! top"
            r"| \d)"
            r"|came(?! (?:about |around )?\d)"
            r"|scored)| from (?!\d+(?:\.\d+)?%))",
        ),
        (
            "4",
            rf"\bfours\b|{_BEFORE}\b(?:a|(?<!of )the|another|for|of|hit|struck"
            rf"|off) four\b{_COUNTED}"
            r"|\bfour runs\b(?! (?:in\b(?! the e| fact| truth)|off|on(?! top| \d)|came|scored)"
            r"| from (?!\d+(?:\.\d+)?%))|\bfour(?= (?:at|off) (?:ball )?\d)"
            r"|^four(?=$|[,:.!])|\bfour(?= (?:at |on |has |is )?\d+(?:\.\d+)? ?(?:%|per ?cent))",
        ),
        (
            "6",
            rf"\bsixes\b|{_BEFORE}\b(?:a|(?<!of )the|another|for|of|hit|struck|off) six\b{_COUNTED}"
            r"|\bsix(?= (?:at|off) (?:ball )?\d)|^six(?=$|[,:.!])"
            r"|\bsix(?= (?:at |on |has |is )?\d+(?:\.\d+)? ?(?:%|per ?cent))"
            r"|\b(?:a|the|another) maximum\b(?! of| \w+ of)|\bmaximums\b"
            r"|(?:\bclear(?:s|ed|ing) |(?<!or )(?<!to )\bover )the (?:ropes?|fence|boundary)\b"
            r"|\binto the (?:stands?|crowd)\b",
        ),
        ("boundary", r"\bboundar(?:y|ies)\b|(?<=the )(?:ropes?|fence)\b"),
        (
            "W",
            r"\bwickets?\b|\bdismissals?\b|\bdismissed\b|\b(?:a|the|another|his|her) (?:scalp"
            r"|breakthrough)\b",
        ),
    )
)
_NOTATION: Final = re.compile(r"\bP\s?\(\s?(bye|byes|wd|nb|wide|no-ball|wicket|W|[0-6])\s?\)")
_NOTED: Final = {"byes": "bye", "wide": "wd", "no-ball": "nb", "wicket": "W"}
_EXPECTED: Final = re.compile(
    r"(?:chances?|probabilit(?:y|ies)|likelihood|odds|risk|prospects?|share|expectation|that|those"
    r"|figure"
    r"|price|rating) "
    r"(?:of|for|at)(?: \w+){0,2} ?$|(?:likelier|likely|likeliest|expects?|expecting|leans? to|"
    r"backs?|favou?rs?|predicts?|towards?) ?(?:\w+ )?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome that is named: which, where, and whether as something expected, not past."""

    outcome: str
    start: int
    end: int
    expected: bool
    plural: bool


def outcomes_in(text: str) -> list[Outcome]:
    """Every outcome named in a text, in order; ``boundary`` stands for fours and sixes."""
    found: list[Outcome] = []
    taken: list[tuple[int, int]] = []

    def add(outcome: str, start: int, end: int, expected: bool) -> None:
        if any(start < last and first < end for first, last in taken):
            return
        taken.append((start, end))
        plural = text[start:end].lower().endswith("s") and outcome != "bye"
        found.append(Outcome(outcome, start, end, expected, plural))

    for match in _NOTATION.finditer(text):
        add(_NOTED.get(match[1], match[1]), match.start(), match.end(), True)
    for outcome, pattern in OUTCOMES:
        for match in pattern.finditer(text):
            start = match.start()
            before = text[max(0, start - 48) : start]
            article = re.match(r"(?:a|an|the|another|for|of|hit|struck|off)\s", match.group())
            if article and match.group().startswith("of"):
                before += "of "
            add(outcome, start, match.end(), bool(_EXPECTED.search(before)))
    return sorted(found, key=lambda one: one.start)
