"""A language model asked for sentences with references, once more for those that do not hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from attnlens.errors import EndpointError
from attnlens.files import Json
from attnlens.llm.endpoint import Answer, Endpoint, stream, without_thoughts
from attnlens.llm.references import References, Rendered, Told

if TYPE_CHECKING:
    Messages = Sequence[dict[str, str]]

MOST_SENTENCES: Final = 20
MOST_ANSWER: Final = 20_000
"""Characters of one answer that are read."""

LISTED: Final = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": {"type": "string"}}},
    "required": ["sentences"],
    "additionalProperties": False,
}
SCHEMA: Final = {"name": "sentences", "strict": True, "schema": LISTED}
NO_SCHEMA: Final = frozenset({400, 415, 422, 501})
"""What endpoints answer that do not take a schema; they are asked again without."""

OF_SCHEMA: Final = re.compile(r"format|schema|grammar|json", re.IGNORECASE)
"""What an error of the server speaks of where it is the schema that it does not take."""

LIST: Final = re.compile(r"\bsentences[\"']?\s*:\s*\[|(?:^|```(?:json)?)\s*\[(?=\s*[\"\]])")
STRING: Final = re.compile(r"[\s,]*(\"(?:[^\"\\]|\\.)*\")", re.DOTALL)
BULLET: Final = re.compile(r"^\s*(?:(?:[-*•]|\d+[.)])\s+)?[\"'\s]*|[\"'\s,]+$")
NEXT: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z{\"“])")
AGAIN: Final = (
    "Write these sentences anew, one for one, in this order. They were thrown away:\n{faults}\n"
    'Answer with JSON alone: {{"sentences": ["...", "..."]}}, with ids in braces from the data.'
)
NOTHING: Final = "- there was no sentence in your answer"


def narrated(
    endpoint: Endpoint,
    messages: Messages,
    references: References,
    show: Callable[[Told], None],
    **settings: Any,
) -> tuple[Rendered, bool]:
    """Sentences from an endpoint, filled in; asked once more with the faults where there are some.

    Args:
        show: is called with each sentence in order as soon as it and those before it are settled:
            cleared, or dropped for good.
        settings: further keys of the requests, such as ``max_tokens``.

    Returns:
        the sentences, those that were mended in their places, and whether an answer was cut.

    Raises:
        EndpointError: as `stream` says.
    """
    chat = _Chat(endpoint, settings)
    told: list[Told] = []
    first = 0
    for sentence in chat.ask(messages):
        told.append(references.told(sentence))
        if first == len(told) - 1 and not told[-1].faults:
            show(told[-1])
            first += 1
    if first < len(told) or not told:
        lines = [f'- "{one.written}": {"; ".join(one.faults)}' for one in told if one.faults]
        asked = AGAIN.format(faults="\n".join(lines) or NOTHING)
        said = [{"role": "assistant", "content": chat.said}] if chat.said else []
        again = [*messages, *said, {"role": "user", "content": asked}]
        mended = map(references.told, chat.ask(again))
        for at, one in enumerate(told):
            told[at] = next(mended, one) if one.faults else one
            if at >= first:
                show(told[at])
        for one in mended:
            told.append(one)
            show(one)
    return Rendered(tuple(told)), chat.cut


class _Chat:
    """Asks, with a schema as long as the endpoint takes one.

    Attributes:
        said: the last answer, without what was thought.
        cut: whether an answer was cut.
    """

    def __init__(self, endpoint: Endpoint, settings: Json) -> None:
        form = {"type": "json_schema", "json_schema": SCHEMA}
        self.endpoint, self.settings = endpoint, {**settings, "response_format": form}
        self.said, self.cut = "", False
        self._until = endpoint.until()

    def ask(self, messages: Messages) -> Iterator[str]:
        """The sentences of an answer, those of JSON as they come."""
        answer, text, seen = Answer(), "", 0
        for piece in self._pieces(messages, answer):
            text += piece
            if '"' in piece:
                sentences = sentences_in(text, whole=False)
                yield from sentences[seen:]
                seen = max(seen, len(sentences))
            if len(text) > MOST_ANSWER or seen >= MOST_SENTENCES:
                break
        self.said = without_thoughts(text).strip()[:MOST_ANSWER]
        self.cut = self.cut or answer.finish_reason == "length" or len(text) > MOST_ANSWER
        yield from sentences_in(text)[seen:]

    def _pieces(self, messages: Messages, answer: Answer) -> Iterator[str]:
        shared: Json = {"answer": answer, "until": self._until}
        pieces = stream(self.endpoint, messages, **shared, **self.settings)
        try:
            return chain([next(pieces)], pieces)
        except EndpointError as error:
            unsure = error.status == 500 and OF_SCHEMA.search(error.problem)
            if not (error.status in NO_SCHEMA or unsure):
                raise
            if not self.settings.pop("response_format", None):
                raise
        return stream(self.endpoint, messages, **shared, **self.settings)


def sentences_in(answer: str, *, whole: bool = True) -> list[str]:
    """The sentences of an answer: JSON, fenced or plain, else those of its lines.

    Args:
        whole: whether all of the answer is there; until then only JSON's complete texts are read.
    """
    text, found = without_thoughts(answer).lstrip(), list[str]()
    if begin := LIST.search(text):
        at = begin.end()
        while match := STRING.match(text, at):
            at = match.end()
            with suppress(ValueError):
                found.append(json.loads(match[1], strict=False))
    elif whole:
        lines = (line for line in text.splitlines() if not line.lstrip().startswith("```"))
        found = [BULLET.sub("", line) for line in lines]
    parts = (part.strip() for one in found for part in NEXT.split(one))
    return [part for part in parts if part][:MOST_SENTENCES]
