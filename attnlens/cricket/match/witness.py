"""Witnesses of what a file states: what each compares a field with, and what it can say of it.

A value that the balls determine is derived; one that another statement confirms agrees; one that
nothing in the file can confirm is unwitnessed; and one that cannot be true beside the balls or
another statement contradicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from attnlens.cricket.match.match import CONTRADICTS, DERIVED, UNWITNESSED
from attnlens.cricket.match.scan import Case

_MAX_NAMES_LISTED = 3


class Verdict(NamedTuple):
    """What the rest of a file shows of a stated value.

    Attributes:
        status: one of ``derived agrees contradicts unwitnessed``.
        derived: the value that follows from the rest of the file, where one does.
        problem: of a contradiction, a sentence.
        over: of a contradiction, the over of which it is.
    """

    status: str
    derived: Any = None
    problem: str = ""
    over: int | None = None


NOTHING = Verdict(UNWITNESSED)

Check = Callable[[Case, Any, str], Verdict]


class Witness(NamedTuple):
    """What can confirm a field.

    Attributes:
        kind: the kind of doubt where it contradicts.
        holds: what confirms it, in words; empty where nothing can.
        check: compares a stated value; takes the case, the value, and the part of the field's name
            that stands for ``*`` in its pattern: an innings' number, a team or a role.
    """

    kind: str
    holds: str
    check: Check


NO_CLAIM: Final = frozenset({"meta.revision"})
"""Fields that say nothing about the match."""


class Witnesses(dict[str, Witness]):
    """Witnesses by the pattern of their field: a path in Cricsheet JSON without ``info``, with
    ``*`` for an innings' number, a team or a role.
    """

    def of(self, kind: str, holds: str, *patterns: str) -> Callable[[Check], Check]:
        """Add the function that follows as the witness of these fields."""

        def add(check: Check) -> Check:
            self.update(dict.fromkeys(patterns, Witness(kind, holds, check)))
            return check

        return add


def contradiction(problem: str, derived: Any = None, over: int | None = None) -> Verdict:
    return Verdict(CONTRADICTS, derived, problem, over)


def listed(names: Any) -> str:
    names = sorted(names)
    more = f" and {len(names) - _MAX_NAMES_LISTED} more" if len(names) > _MAX_NAMES_LISTED else ""
    return ", ".join(names[:_MAX_NAMES_LISTED]) + more


def compared(value: Any, derived: Any, problem: str, status: str = DERIVED) -> Verdict:
    return Verdict(status, derived) if value == derived else contradiction(problem, derived)
