"""What is written to a file as JSON, and read back and checked."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Self

from pydantic import ValidationError

from attnlens.cricket.explain.attention_types import Plain
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.shown import drawn


class Document(Plain):
    """Plain JSON types all through; `to_json` and `from_json` are exact inverses.

    Attributes:
        noun: what it is, as in "not an explanation".
        remedy: what to do about a file that is none.
    """

    noun: ClassVar[str]
    remedy: ClassVar[str]

    def to_dict(self) -> Json:
        """The same as dictionaries and lists, keys in the order in which they are written."""
        return self.model_dump(mode="json")

    def to_json(self, indent: int | None = None) -> str:
        """One JSON document; on one line without ``indent``."""
        separators = (",", ":") if indent is None else None
        return json.dumps(
            self.to_dict(),
            ensure_ascii=False,
            allow_nan=False,
            indent=indent,
            separators=separators,
        )

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Checks plain data.

        Raises:
            InputError: with the JSON pointer of the first thing that is wrong.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise cls._in_one_line(error) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Reads what `to_json` wrote.

        Raises:
            InputError: not JSON, or another document; it names the JSON pointer of the first
                thing that is wrong.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise cls._in_one_line(error) from None

    def __repr__(self) -> str:
        return drawn(self, "line")

    def __str__(self) -> str:
        return drawn(self, "text")

    def _repr_html_(self) -> str:
        return drawn(self, "html")

    @classmethod
    def _in_one_line(cls, error: ValidationError) -> InputError:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        first, others = errors[0], len(errors) - 1
        steps = [str(step) for step in first["loc"]]
        # After a head's key pydantic puts the kind of head it tried, which the data does not have.
        if "attention_by_head" in steps:
            kind = steps.index("attention_by_head") + 2
            del steps[kind : kind + 1]
        place = "".join(f"/{step}" for step in steps)
        said = first["msg"].removeprefix("Value error, ")
        problem = " ".join(filter(None, [f"not {cls.noun}:", place, said]))
        if others:
            problem = f"{problem} (and {others} more)"
        return InputError(problem, remedy=cls.remedy)
