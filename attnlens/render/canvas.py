"""Lines of styled text that keep their width, for a terminal that may have no colour.

Names come from files and are not to be trusted: `clean` takes out everything a
terminal would obey, and every line passes `fit`, so that none is too wide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Span = tuple[str, str]
"""Text and the name of its style (``""`` for none)."""

Line = list[Span]

# 256-colour codes; blue against orange stays apart in every common colour blindness.
STYLES: Mapping[str, str] = {
    "title": "1",
    "heading": "1;38;5;74",
    "name": "1",
    "quiet": "38;5;245",
    "bar": "38;5;67",
    "more": "1;38;5;39",
    "less": "38;5;208",
    "boundary": "1;4;38;5;39",
    "wicket": "1;38;5;208",
    "supported": "1;38;5;39",
    "chance": "38;5;245",
    "contradicted": "1;38;5;208",
    "flag": "38;5;178",
    "shade1": "38;5;243",
    "shade2": "38;5;24",
    "shade3": "38;5;31",
    "shade4": "38;5;74",
    "shade5": "38;5;116",
    "shade6": "38;5;186",
    "shade7": "38;5;221",
    "shade8": "38;5;226",
}


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs of a page; ``shades`` from next to nothing to the most."""

    eighths: str
    full: str
    lost: str
    shades: str
    separator: str
    rule: str
    arrow: str
    ellipsis: str
    marker: str
    happened: str
    dot: str
    supported: str
    chance: str
    contradicted: str
    picture: str
    minus: str


UNICODE = Glyphs(
    eighths="▏▎▍▌▋▊▉",
    full="█",
    lost="░",
    shades="▁▂▃▄▅▆▇█",
    separator="│",
    rule="─",
    arrow="→",
    ellipsis="…",
    marker="◂",
    happened="●",
    dot="·",
    supported="✓",
    chance="–",
    contradicted="✗",
    picture="○",
    minus="−",
)
ASCII = Glyphs(
    eighths="",
    full="#",
    lost=".",
    shades="_.:-=+*#",
    separator="|",
    rule="-",
    arrow="->",
    ellipsis="...",
    marker="<",
    happened="*",
    dot=".",
    supported="+",
    chance="~",
    contradicted="x",
    picture="o",
    minus="-",
)

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"  # titles, links, strings
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
_SPACES = frozenset({"Zs", "Zl", "Zp"})
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def clean(text: str, *, ascii_only: bool = False) -> str:
    """Text a terminal only shows: no escape sequences, controls, or direction marks.

    With ``ascii_only`` accents are taken off and what has no ASCII form is ``?``.
    """
    text = _SEQUENCES.sub("", text)
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category in _SPACES or character in "\t\n\r\v\f":
            kept.append(" ")
        elif category not in _UNSEEN:
            kept.append(character)
    text = "".join(kept)
    if not ascii_only:
        return text
    for sign, plain in (("→", "->"), ("–", "-"), ("—", "-"), ("−", "-"), ("’", "'"), ("…", "...")):
        text = text.replace(sign, plain)
    bare = (c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "".join(bare).encode("ascii", "replace").decode("ascii")


def clean_all(value: Any, *, ascii_only: bool = False) -> Any:
    """`clean` on every string of plain data; keys stay as they are."""
    if isinstance(value, str):
        return clean(value, ascii_only=ascii_only)
    if isinstance(value, Mapping):
        return {key: clean_all(member, ascii_only=ascii_only) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [clean_all(member, ascii_only=ascii_only) for member in value]
    return value


def display_width(text: str) -> int:
    """Columns the text takes: two for wide characters, none for combining marks."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(line: Iterable[Span]) -> int:
    return sum(display_width(text) for text, _ in line)


def cut(text: str, width: int, ellipsis: str) -> str:
    """The text, or as much as leaves room for the ellipsis."""
    if display_width(text) <= width:
        return text
    room, kept = width - display_width(ellipsis), ""
    if room < 0:
        return ellipsis[: max(width, 0)]
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept += character
    return kept.rstrip() + ellipsis


def pad(text: str, width: int, ellipsis: str) -> str:
    text = cut(text, width, ellipsis)
    return text + " " * (width - display_width(text))


def pad_line(line: Line, width: int) -> Line:
    return [*line, (" " * max(0, width - width_of(line)), "")]


def fit(line: Line, width: int, ellipsis: str) -> Line:
    """The line, cut where it would pass the width."""
    if width_of(line) <= width:
        return line
    kept: Line = []
    room = width
    for text, style in line:
        if display_width(text) > room - (0 if text.isspace() else display_width(ellipsis)):
            kept.append((cut(text + " " * width, room, ellipsis), style))
            break
        kept.append((text, style))
        room -= display_width(text)
    return kept


@dataclass(slots=True)
class Page:
    """Lines no wider than ``width``, put together from top to bottom."""

    width: int
    glyphs: Glyphs
    lines: list[Line] = field(default_factory=list)

    def add(self, *spans: Span) -> None:
        self.lines.append(fit(list(spans), self.width, self.glyphs.ellipsis))

    def blank(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append([])

    def paragraph(self, text: str, style: str = "", indent: int = 2, lead: str = "") -> None:
        """Words, wrapped; ``lead`` stands before the first line, in the indent."""
        words: list[Line] = [[(word, style)] for word in text.split()]
        self.flow(words, indent=indent, gap=1, lead=[(lead, style)] if lead else None)

    def parts(self, text: str, indent: int = 0) -> None:
        """Parts between bars, each kept whole where the width allows, and a blank line."""
        *parts, last = text.split(" | ")
        items: list[Line] = [[(f"{part} |", "title")] for part in parts]
        self.flow([*items, [(last, "title")]], indent=indent, gap=1)
        self.blank()

    def flow(
        self, items: Sequence[Line], *, indent: int, gap: int, lead: Line | None = None
    ) -> None:
        """Items side by side, as many on a line as go; one too wide is told word by word."""
        line: Line = pad_line(list(lead or []), indent)
        fresh, room = True, self.width - indent
        for item in items:
            between = 0 if fresh else gap
            for piece in [item] if width_of(item) <= room else _words(item):
                used, need = width_of(line), width_of(piece)
                if used > indent and used + between + need > self.width:
                    self.add(*line)
                    line, between = [(" " * indent, "")], 0
                line = [*line, (" " * between, ""), *piece]
                fresh, between = False, 1
        self.add(*line)

    def text(self, *, color: bool) -> str:
        """The page as one string without a final line break."""
        return "\n".join(_written(line, color) for line in self.lines)


def _words(item: Line) -> list[Line]:
    return [[(word, style)] for text, style in item for word in text.split()]


def _written(line: Line, color: bool) -> str:
    while line and not line[-1][0].strip():
        line = line[:-1]
    if not line:
        return ""
    line = [*line[:-1], (line[-1][0].rstrip(), line[-1][1])]
    return "".join(
        f"\x1b[{STYLES[style]}m{text}\x1b[0m" if color and style and text.strip() else text
        for text, style in line
    )
