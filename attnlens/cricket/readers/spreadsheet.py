"""What spreadsheets do to tables, and how much of it can be told and undone."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable

_NUMBERS = re.compile(r"([0-9]{1,4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,4})")
_MONTH_NAMED = re.compile(r"([A-Za-z]{3,9})\.? ?([0-9]{1,2}), ?([0-9]{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIRST_YEAR = 1700
_CENTURY_TURN = 70


def date_from(text: str, *, day_first: bool = True) -> datetime.date | None:
    """The date of ``2023-10-05``, ``05-10-2023``, ``07/04/18`` or ``Mar 22, 2025``.

    Args:
        day_first: whether the day comes before the month where the year is last.

    Returns:
        ``None`` where it is no date.
    """
    numbers = _NUMBERS.fullmatch(text.strip())
    named = _MONTH_NAMED.fullmatch(text.strip())
    try:
        if named is not None:
            month = _MONTHS.index(named[1][:3].lower()) + 1
            return datetime.date(int(named[3]), month, int(named[2]))
        if numbers is None:
            return None
        if len(numbers[1]) > 2:
            return datetime.date(int(numbers[1]), int(numbers[2]), int(numbers[3]))
        year = int(numbers[3])
        if len(numbers[3]) == 2:
            year += 2000 if year < _CENTURY_TURN else 1900
        first, second = int(numbers[1]), int(numbers[2])
        day, month = (first, second) if day_first else (second, first)
        date = datetime.date(year, month, day)
    except ValueError:
        return None
    return date if date.year >= _FIRST_YEAR else None


def is_rewritten(text: str) -> bool:
    """Whether a date has its year last, as spreadsheets write it and Cricsheet does not."""
    match = _NUMBERS.fullmatch(text.strip())
    return match is not None and len(match[1]) <= 2


def day_comes_first(texts: Iterable[str]) -> bool | None:
    """Whether the day comes before the month in these dates; ``None`` where all could be both."""
    for text in texts:
        match = _NUMBERS.fullmatch(text.strip())
        if match is not None and len(match[1]) <= 2:
            if int(match[1]) > 12:
                return True
            if int(match[2]) > 12:
                return False
    return None


def restored_label(label: str, over: int, in_over: int) -> str:
    """The label of the delivery at this place of its over, where ``0.10`` became ``0.1``.

    Only a label that is the right one without its last zeros is changed.
    """
    if in_over % 10 == 0:
        right = f"{over}.{in_over}"
        if label == right.rstrip("0"):
            return right
    return label
