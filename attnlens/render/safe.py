"""Make text from files safe to show in a terminal, HTML, a prompt, Markdown, LaTeX or CSV.

A name can contain terminal escapes, invisible characters, marks that change the writing direction,
or HTML. Each output format has its own function. `each_text` applies a function to every text of a
value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final

_MAX_NAME_CHARACTERS: Final = 60
"""The maximum length of a displayed name. The longest of 4,000 player names has 33 characters."""

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SPACES: Final = frozenset({"Zs", "Zl", "Zp"})
# Invisible letters and marks: joiners, fillers, variation selectors and the blank Braille pattern.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)
_SEQUENCES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"  # titles, links, strings
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
_TO_ASCII: Final = str.maketrans({
    "→": ">", "–": "-", "—": "-", "−": "-", "’": "'", "…": "~", "√": "sqrt ", "ᵀ": "^T",
    "⊙": "*", "×": "x", "·": ".", "⟨": "<", "⟩": ">", "σ": "sigma", "Φ": "Phi", "γ": "gamma",
    "β": "beta", "π": "pi", "Δ": "Delta", "∞": "inf", "²": "^2", "³": "^3", "¬": "not ",
    "≤": "<=", "≥": ">=", "≠": "!=", "∧": "and", "∨": "or",
    **dict(zip("▁▂▃▄▅▆▇█▏▎▍▌▋▊▉│◂●✓✗○░▲▼▸", "_.:-=+*#...####|<*+xo.^v>", strict=True)),
})  # fmt: skip


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """Apply ``change`` to every string in a value, except the keys of mappings.

    Args:
        value: plain data, or a frozen model or dataclass that contains strings or plain data.
    """
    if isinstance(value, str):
        return change(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple):
        members = [each_text(member, change) for member in value]
        if all(new is old for new, old in zip(members, value, strict=True)):
            return value
        made = getattr(value, "_make", type(value))
        return made(members)
    if isinstance(value, Mapping):
        return {key: each_text(member, change) for key, member in value.items()}
    copied = getattr(value, "model_copy", None)
    if copied is None and not is_dataclass(value):
        return value
    names = vars(value) if copied else [field.name for field in fields(value)]
    changed = {name: each_text(getattr(value, name), change) for name in names}
    if all(new is getattr(value, name) for name, new in changed.items()):
        return value
    return copied(update=changed) if copied else replace(value, **changed)


def clean(text: str) -> str:
    """Make a text safe for a terminal: remove escape sequences and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return printable(_SEQUENCES.sub("", text))


def to_ascii(text: str) -> str:
    """Convert a text to ASCII: remove accents, replace symbols, and turn the rest into ``?``."""
    bare = unicodedata.normalize("NFKD", text.translate(_TO_ASCII))
    characters = "".join(sign for sign in bare if not unicodedata.combining(sign))
    return characters.encode("ascii", "replace").decode("ascii")


def clean_all(value: Any) -> Any:
    return each_text(value, clean)


@lru_cache(maxsize=4096)
def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category in _SPACES or character in "\t\n\r\v\f\x85":
        return " "
    return "" if category in _UNSEEN or character in _BLANK else character


def printable(text: str) -> str:
    """Remove invisible and control characters. The visible part of an escape sequence stays."""
    return "".join(map(_visible, text))


def visible(text: str, longest: int | None = None) -> str:
    """Remove invisible and control characters, join the lines, and shorten a text that is too long.

    Args:
        longest: the largest number of characters; None for no limit.
    """
    text_line = " ".join(printable(text).split())
    if longest is None or len(text_line) <= longest:
        return text_line
    return text_line[: max(longest - 1, 0)].rstrip() + "…"


def visible_name(text: str) -> str:
    """Format a name for display, or return ``?`` if the name has no visible character."""
    return visible(text, _MAX_NAME_CHARACTERS) or "?"


def visible_all(value: Any, longest: int | None = None) -> Any:
    """Apply `visible` to every string of a value."""
    return each_text(value, lambda text: visible(text, longest))


def on_one_line(text: str) -> str:
    """Replace white space by single spaces, and unprintable characters by ``\\ufffd``."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))


# ---- formats in which some characters have a special meaning

_FORMULA: Final = tuple("=+-@\t\r")
"""The characters that begin a formula in spreadsheets."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def cell(value: Any) -> Any:
    """Make a text safe as a CSV cell; other values stay unchanged.

    A formula gets an apostrophe in front; a number such as ``-3.6`` does not. Control characters
    become ``\\ufffd``.
    """
    if not isinstance(value, str):
        return value
    escaped = _CONTROLS.sub("\ufffd", value)
    try:
        float(escaped)
    except ValueError:
        return f"'{escaped}" if escaped.startswith(_FORMULA) else escaped
    return escaped


_MARKDOWN: Final = re.compile(r"[\\`*_{}\[\]|~$^]")
_HARMLESS: Final = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    # A backslash before these texts would not stop Markdown from making a mention or a link.
    ("@", "＠"),
    ("://", "&#58;//"),
    ("www.", "www&#46;"),
)


def markdown(text: str) -> str:
    """Escape text for a Markdown paragraph or table cell."""
    text = clean(text)
    for sign, escaped in _HARMLESS:
        text = text.replace(sign, escaped)
    return re.sub(r"#(?=\w)", r"\\#", _MARKDOWN.sub(r"\\\g<0>", text))


def markdown_line(text: str) -> str:
    """Escape text for the start of a Markdown line, so that no list or heading starts there."""
    text = markdown(text.strip())
    if re.match(r"[-+=#]", text):
        return f"\\{text}"
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", text)


_LATEX: Final = str.maketrans(
    {
        "\\": "\\textbackslash{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "−": "$-$", "√": "$\\surd$",
        "ᵀ": "$^\\top$", "⊙": "$\\odot$", "∞": "$\\infty$", "σ": "$\\sigma$", "Φ": "$\\Phi$",
        "γ": "$\\gamma$", "β": "$\\beta$", "π": "$\\pi$", "Δ": "$\\Delta$", "²": "$^2$",
        "³": "$^3$", "…": "\\ldots{}", "·": "$\\cdot$", "⟨": "$\\langle$", "⟩": "$\\rangle$",
        "¬": "$\\neg$", "→": "$\\to$", "<": "$<$", ">": "$>$",
    }
)  # fmt: skip


def latex(text: str) -> str:
    """Escape text so that LaTeX prints it literally."""
    return clean(text).translate(_LATEX)
