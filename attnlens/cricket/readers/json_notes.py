"""Sentences for what Cricsheet JSON tells of an innings beside its deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attnlens.cricket.readers.json_values import Path, Wrong, list_at, mapping_at
from attnlens.cricket.readers.text import shown

_MOST_TOLD = 40


def innings_notes(innings: dict[str, Any], number: int, path: Path) -> Iterator[str]:
    """Who was absent hurt, and whether the innings was declared or forfeited.

    Raises:
        Wrong: ``absent_hurt`` is no list of names.
    """
    if innings.get("forfeited") is True:
        yield f"innings {number} was forfeited"
    if innings.get("declared") is True:
        yield f"innings {number} was declared"
    for position, name in enumerate(list_at(innings, "absent_hurt", path)[:_MOST_TOLD]):
        if not isinstance(name, str):
            raise Wrong(f"is {shown(name)}, not a name", (*path, "absent_hurt", position))
        yield f"innings {number}: {name} was absent hurt"


def miscounted_overs(innings: dict[str, Any], path: Path) -> frozenset[int]:
    """The overs, as labelled, in which the file says that the umpires miscounted.

    Raises:
        Wrong: the key is no object.
    """
    overs = mapping_at(innings, "miscounted_overs", path)
    return frozenset(
        int(over) for over in overs if over.isascii() and over.isdigit() and len(over) < 5
    )


def replacement_notes(replacements: Any, number: int, label: str) -> Iterator[str]:
    """Who came in for whom before the delivery that carries this; nothing of what is not clear."""
    if not isinstance(replacements, dict):
        return
    for kind in ("match", "role"):
        changes = replacements.get(kind)
        for change in changes[:_MOST_TOLD] if isinstance(changes, list) else ():
            if not isinstance(change, dict):
                continue
            incoming, outgoing = change.get("in"), change.get("out")
            reason = change.get("reason")
            if not isinstance(incoming, str):
                continue
            does = "came in"
            if kind == "role":
                role = change.get("role")
                does = f"became {role}" if isinstance(role, str) else "changed role"
            instead = f" for {outgoing}" if isinstance(outgoing, str) else ""
            why = f" ({reason.replace('_', ' ')})" if isinstance(reason, str) else ""
            yield f"innings {number}, before ball {label}: {incoming} {does}{instead}{why}"
