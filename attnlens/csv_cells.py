"""Values as cells of a CSV: names that a spreadsheet or a terminal would obey do nothing there."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

FORMULA: Final = tuple("=+-@\t\r")
"""What begins a formula in one spreadsheet or another."""


def cell(value: Any) -> Any:
    """Text that is shown as text; what is no text, and text that is a number, as it is.

    An apostrophe goes before what a spreadsheet would take for a formula, as spreadsheets write
    it themselves, and ``\\ufffd`` takes the place of control characters, such as begin what a
    terminal obeys.
    """
    if not isinstance(value, str):
        return value
    told = "".join("\ufffd" if _obeyed(character) else character for character in value)
    return f"'{told}" if told.startswith(FORMULA) and not _is_number(told) else told


def _obeyed(character: str) -> bool:
    return unicodedata.category(character) == "Cc" and character not in "\t\n\r"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
