"""Sentences that something else wrote, in the form that ``narrative`` has."""

from __future__ import annotations

from typing import Final

from pydantic import Field, ValidationError

from attnlens.cricket.explain.attention_types import Plain
from attnlens.cricket.explain.types import Explanation, Fact, Sentence
from attnlens.cricket.words.facts import FORMATS, resolve
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.show.safe import visible

MOST_SENTENCES: Final = 40


class Spoken(Plain):
    """The ``narrative`` of an explanation by itself, its sentences as the schema has them."""

    narrative: tuple[Sentence, ...] = Field(max_length=MOST_SENTENCES)


def narrative_schema() -> Json:
    """The JSON Schema of `Spoken`: closed objects, every key required, as services ask."""
    schema = Spoken.model_json_schema(mode="serialization")
    # Some services refuse bounds on lists; they are checked when the answer comes.
    del schema["properties"]["narrative"]["maxItems"]
    return schema


def narrative_of(answer: object, explanation: Explanation) -> tuple[Sentence, ...]:
    """An answer as sentences, each with those of its facts that hold.

    A fact holds where its text is in the sentence and is how the value at its pointer is written.

    Raises:
        InputError: the answer is not of that form.
    """
    try:
        spoken = Spoken.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"/{step}" for step in first["loc"])
        raise InputError(
            f"answers JSON of another form: {place} {first['msg']}",
            remedy="use a model that has structured output",
        ) from None
    return tuple(
        Sentence(
            text=visible(sentence.text),
            facts=tuple(
                fact
                for fact in sentence.facts
                if fact.text in sentence.text and _holds(fact, explanation)
            ),
        )
        for sentence in spoken.narrative
    )


def _holds(fact: Fact, explanation: Explanation) -> bool:
    try:
        value = resolve(explanation, fact.pointer)
    except (LookupError, ValueError):
        return False
    for form in FORMATS:
        try:
            if form(value) == fact.text:
                return True
        except (LookupError, ValueError, TypeError, AttributeError):
            continue
    return False
