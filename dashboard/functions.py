"""What the dashboard is handed: everything it cannot do itself, as plain functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match

Data = dict[str, Any]
"""A JSON document: the page's script reads it, and nothing here looks deep into it."""


class Followed(Protocol):
    """A match that is being followed.

    Attributes:
        as_of: when its last good state was read, in seconds since 1970.
        trouble: why the file is not in that state any more, in one line; ``None`` where it is.
    """

    as_of: float
    trouble: str | None

    def newer(self) -> Match | None:
        """The match where it has changed since it was last asked."""


@dataclass(frozen=True, slots=True)
class Functions:
    """Each takes plain data or a match, which the dashboard only passes on.

    Attributes:
        read: a file's path to its match. Raises `AttnlensError` with the reader's words.
        match: the match without its balls.
        people: the match's players, by where they faced or bowled first.
        story: match, whether its claims are tested, model, and what is called now and then while
            they are, to the match as a story (``attnlens story --json``).
        innings: match, innings and model to every ball (`attnlens.cricket.explain.showing`).
        explain: match, innings, ball, model and an outcome, or ``None`` for the story's, to an
            explanation with evidence.
        next_ball: match and model to the forecast of the ball not yet bowled, or why it is
            ``waiting``.
        what_if: match, innings, ball, model and what is to be different, to the answer.
        texts: names of files to what makes one of an explanation, such as ``prompt.txt``.
        page: a recording's path and name to a page of its heat maps.
        models: the models that may be asked, the default first.
        heads: what heads do across matches (``attnlens lab heads --json``), where it was given.
    """

    read: Callable[[str], Match]
    match: Callable[[Match], Data]
    people: Callable[[Match], list[Data]]
    story: Callable[[Match, bool, str, Callable[[], None]], Data]
    innings: Callable[[Match, int, str], Data]
    explain: Callable[[Match, int, int, str, str | None], Data]
    next_ball: Callable[[Match, str], Data]
    what_if: Callable[[Match, int, int, str, Data], Data]
    texts: Mapping[str, Callable[[Data], str]]
    page: Callable[[str, str], str]
    models: tuple[str, ...]
    heads: Data | None = None
