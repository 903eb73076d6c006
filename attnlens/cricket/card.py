"""The card of a checkpoint: what it tells of its training, checked when it is read."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

DATES: Final = ("trained_from", "trained_until", "weights_until", "ratings_until")
LISTS: Final[Mapping[str, type]] = {
    "match_types": str,
    "teams": str,
    "overs": int,
    "balls_per_over": int,
    "ratings_added": dict,
}


def checked_card(told: Any) -> dict[str, Any]:
    """The card, as it stands.

    Raises:
        ValueError: something that is read of it is not what it has to be.
    """
    if not isinstance(told, dict):
        raise ValueError("its card is no table")
    for name in DATES:
        if told.get(name) is not None:
            try:
                datetime.date.fromisoformat(told[name])
            except (TypeError, ValueError):
                raise ValueError(f"its {name} is no date") from None
    for name, kind in LISTS.items():
        if not _is_list(told.get(name, []), kind):
            raise ValueError(f"its {name} are no list of the kind {kind.__name__}")
    if not isinstance(told.get("gender"), str | None):
        raise ValueError("its gender is no word")
    earned = told.get("earned", {})
    if not isinstance(earned, dict) or not all(_is_list(names, str) for names in earned.values()):
        raise ValueError("the names its heads have earned are no lists of words")
    return dict(told)


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, kind) for one in value)
