"""Is what a text says in the explanation? A look-up of numbers, names, ball labels and verdicts.

Each is looked for anywhere in the explanation's data, whatever the words around it say. A true
number in the wrong place, or the bowler named as the batter, is therefore not noticed;
`docs/check.md` lists what else is not read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from calendar import day_name, month_name
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any, Final

from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words.facts import NUMBERS
from attnlens.show.safe import visible, visible_name

SHARE, POINTS, FIGURE = "share", "points", "number"

FIGURES: Final = re.compile(r"points|effects|attention|ratio|p|q|\w+_(?:rate|bits|nats)")
"""Keys of fractions that are not shares of 1."""

UNREAD: Final = frozenset(
    {"row", "nodes", "self_attention", "past_attention", "bias_share", "single_effects"}
    | {"narrative", "summary", "schema_version", "sha256"}
)
"""Keys that nothing is looked for under."""

QUOTED: Final = re.compile(r"/(?:model|match|ball|flags/\d+)/|/history/\d+/(?:batter|bowler)$")
"""Where names and texts stand that may be quoted as they are."""

LABELS: Final = frozenset({"label", "labels", "ball_labels", "actual_delivery"})

NUMBER: Final = re.compile(
    r"(?<![\w.,])(?<!\ba )(?<!\bthe )"
    rf"(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|(?:{'|'.join(NUMBERS)})\b)"
    r"(?:(?P<share> ?%| ?per ?cent\b)|(?P<points>[ -](?:percentage[ -])?points?\b| ?pp\b)"
    r"| nats?\b| bits?\b)?",
    re.IGNORECASE,
)
WORD: Final = re.compile(r"[^\W\d_][\w.'-]*")
CAPITALISED: Final = re.compile(r"(?<!\w)[A-ZÀ-ÖØ-Þ][\w.'-]*(?: [A-ZÀ-ÖØ-Þ][\w.'-]*)*")
SENTENCE_END: Final = re.compile(r"(?<![A-Z])[.!?][\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\s\|\s")

NAMELESS: Final = frozenset(
    {*month_name, *day_name}
    | {"Ball", "Balls", "Delivery", "English", "Head", "I", "Innings", "ODI", "ODIs", "Over"}
    | {"Overs", "P", "Scale", "Shapley", "T20", "T20I", "T20s", "Test", "Tests", "W"}
)
"""Words with a capital that name nobody."""

SUPPORTED, CHANCE, CONTRADICTED = "supported", "not better than chance", "contradicted"
UNTOLD = "cannot be told"
VERDICTS: Final = (
    (r"\b(?:cannot|can't|can not) be told\b", "verdict", (UNTOLD,)),
    (r"\b(?:no|not) better than (?:by )?chance\b", "verdict", (CHANCE,)),
    (r"\b(?:unsupported|not supported|not borne out)\b", "verdict", (CHANCE, CONTRADICTED, UNTOLD)),
    (r"\bcontradicted\b", "verdict", (CONTRADICTED,)),
    (r"(?<!not )\b(?:supported|borne out|confirmed|proven?|proves)\b", "verdict", (SUPPORTED,)),
    (r"\b(?:because|due to|thanks to|caused by|the reason)\b", "cause", (SUPPORTED,)),
)
"""Words of a verdict or a cause, and the verdicts one claim must have for them."""

NOT_THERE: Final = "is not in the explanation"
NO_CLAIM: Final = "is the verdict of no claim"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something a text says that the explanation does not hold.

    Attributes:
        sentence: where it is said.
        text: the words in question.
        kind: ``number``, ``name``, ``ball``, ``verdict`` or ``cause``.
        problem: what is wrong, in a few words.
        nearest: of a number or a ball, what comes nearest in the explanation; else ``None``.
        pointer: where in the explanation that stands (RFC 6901).
    """

    sentence: str
    text: str
    kind: str
    problem: str
    nearest: str | None = None
    pointer: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The same as plain data."""
        return asdict(self)


def check_grounding(explanation: object, text: str) -> list[Unsupported]:
    """What a text says that stands nowhere in the explanation, in the order of the text.

    Args:
        explanation: an `Explanation`, the same as plain data, or its JSON.
        text: plain text or Markdown, in English.

    Returns:
        Each once per sentence; nothing where all that is read was found.

    Raises:
        InputError: ``explanation`` is none.
    """
    if isinstance(explanation, str | bytes):
        return _Known(Explanation.from_json(explanation)).missing(text)
    if not isinstance(explanation, Explanation):
        explanation = Explanation.from_dict(explanation)
    return _Known(explanation).missing(text)


class _Known:
    """All that a text may say of an explanation."""

    def __init__(self, explanation: Explanation) -> None:
        self._numbers: dict[str, list[tuple[float, str]]] = defaultdict(list)
        self._labels: dict[str, str] = {}
        self._quoted: dict[str, str] = {}
        self._verdicts = {one.verdict for one in explanation.evidence if not one.reference}
        for key, pointer, value in _leaves(explanation.to_dict()):
            if isinstance(value, str):
                self._add_text(key, pointer, value)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                self._add_number(key, pointer, value)
        for place, entry in enumerate(explanation.prediction.outcomes):
            difference = 100 * (entry.probability - entry.baseline)
            pointer = f"/prediction/outcomes/{place}/probability"
            self._numbers[POINTS].append((abs(difference), pointer))
        for values in self._numbers.values():
            values.sort()
        self._words = {word for text in self._quoted for word in _words_of(text)}
        forms = {_plain(form) for text in self._quoted for form in (text, visible_name(text))}
        ordered = sorted((form for form in forms if len(form) > 2), key=len, reverse=True)
        self._names = re.compile("|".join(map(re.escape, ordered)) or r"(?!)")

    def _add_text(self, key: str, pointer: str, value: str) -> None:
        if key in LABELS:
            self._labels.setdefault(value, pointer)
        elif QUOTED.match(pointer):
            self._quoted.setdefault(value, pointer)
            for digits in re.findall(r"(?<!\d)\d{1,9}(?!\d)", value):
                self._numbers[FIGURE].append((float(digits), pointer))

    def _add_number(self, key: str, pointer: str, value: float) -> None:
        unit = POINTS if key == "points" else SHARE
        if isinstance(value, int) or (unit == SHARE and FIGURES.fullmatch(key)):
            unit = FIGURE
        self._numbers[unit].append((abs(float(value)), pointer))
        if key == "over":  # overs are counted from 0, and spoken of from the first
            self._numbers[unit].append((value + 1.0, pointer))

    def missing(self, text: str) -> list[Unsupported]:
        """What is not found, sentence by sentence."""
        for name in self._quoted:
            text = text.replace(name, _plain(name))  # what cannot be seen may be an end of a line
        missing: dict[tuple[str, str, str], Unsupported] = {}
        for sentence in _sentences(text, self._masked):
            masked = self._masked(sentence)
            for part in (self._missing_numbers, self._missing_names, self._missing_verdicts):
                for entry in part(sentence, masked):
                    missing.setdefault((entry.sentence, entry.kind, entry.text), entry)
        return list(missing.values())

    def _masked(self, sentence: str) -> str:
        """The sentence with quoted names as so many letters x, so that places stay."""
        return self._names.sub(lambda match: "x" * len(match.group()), sentence)

    def _missing_numbers(self, sentence: str, masked: str) -> Iterator[Unsupported]:
        for match in NUMBER.finditer(masked):
            digits, unit = match["number"], match.lastgroup or FIGURE
            decimals = len(digits.partition(".")[2])
            bare = match.group() == digits
            if bare and digits in self._labels:
                continue
            # Prompts round to three decimals before.
            rounding = 0.05 if unit == SHARE and not decimals else 0.0005
            away, nearest, pointer = self._nearest(_value(digits), unit, decimals)
            if away <= 0.5 * 10.0**-decimals + rounding + 1e-9:
                continue
            kind = "number"
            shown = f"{nearest:,.{decimals}f}{masked[match.end('number') : match.end()]}"
            if bare and decimals == 1 and self._labels:
                kind, (shown, *_) = "ball", get_close_matches(digits, self._labels, 1, 0.0)
                pointer = self._labels[shown]
            yield Unsupported(sentence, match.group(), kind, NOT_THERE, shown, pointer)

    def _nearest(self, value: float, unit: str, decimals: int) -> tuple[float, float, str]:
        """Of the known numbers of a unit the nearest: how far it is, itself, its pointer.

        Without a unit a fraction may have any.
        """
        near = []
        for kind in (FIGURE, SHARE, POINTS) if unit == FIGURE and decimals > 1 else (unit,):
            scale = 100 if unit == SHARE else 1
            known = self._numbers[kind]
            place = bisect_left(known, (value / scale, ""))
            for number, pointer in known[max(place - 1, 0) : place + 1]:
                near.append((abs(scale * number - value), scale * number, pointer))
        return min(near)

    def _missing_names(self, sentence: str, masked: str) -> Iterator[Unsupported]:
        first = WORD.search(masked)  # the first word of a sentence has a capital anyhow
        for match in CAPITALISED.finditer(masked, first.end() if first else 0):
            if not all(self._is_known(_bare(word)) for word in match.group().split()):
                yield Unsupported(sentence, match.group().rstrip("."), "name", NOT_THERE)

    def _is_known(self, word: str) -> bool:
        if len(word) < 2 or word in NAMELESS:
            return True
        return word in self._words or all(part in self._words for part in word.split("-"))

    def _missing_verdicts(self, sentence: str, masked: str) -> Iterator[Unsupported]:
        for words, kind, verdicts in VERDICTS:
            match = re.search(words, masked, re.IGNORECASE)
            if match is not None and self._verdicts.isdisjoint(verdicts):
                yield Unsupported(sentence, match.group(), kind, NO_CLAIM)


def _leaves(value: Any, key: str = "", pointer: str = "") -> Iterator[tuple[str, str, object]]:
    """Every value of plain data with its key and pointer; of a list its length, too."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            if name not in UNREAD:
                yield from _leaves(member, name, f"{pointer}/{name}")
    elif isinstance(value, list):
        yield "", pointer, len(value)
        for place, member in enumerate(value):
            yield from _leaves(member, key, f"{pointer}/{place}")
    else:
        yield key, pointer, value


def _sentences(text: str, masked: Callable[[str], str]) -> Iterator[str]:
    """The sentences of a text; no name is cut in two."""
    for line in text.splitlines():
        shown = _plain(line)
        start = 0
        for match in SENTENCE_END.finditer(masked(shown)):
            yield shown[start : match.end()].strip(" |")
            start = match.end()
        if shown[start:]:
            yield shown[start:]


def _value(digits: str) -> float:
    """A number in digits, or in a word up to twelve."""
    word = digits.lower()
    return float(NUMBERS.index(word) if word in NUMBERS else digits.replace(",", ""))


def _words_of(text: str) -> Iterator[str]:
    for match in WORD.finditer(_plain(text)):
        yield _bare(match.group())
        yield from _bare(match.group()).split("-")


def _plain(text: str) -> str:
    return visible(text).replace("’", "'")


def _bare(word: str) -> str:
    """A word without points and the sign of a possessive."""
    return word.replace(".", "").rstrip("'-").removesuffix("'s")
