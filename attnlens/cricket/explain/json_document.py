"""The base class of JSON documents, and the upgrade of documents that attnlens 0.2 wrote."""

from __future__ import annotations

import copy
import json
from pkgutil import resolve_name
from typing import Any, ClassVar, Self, get_args

from pydantic import ValidationError, model_validator

from attnlens.errors import InputError
from attnlens.evidence.result import Plain
from attnlens.files import Json
from attnlens.render.safe import visible


class JsonDocument(Plain):
    """The base class of documents whose values have plain JSON types.

    `from_json` restores a document exactly from the output of `to_json`.

    Attributes:
        noun: the name of the document in error messages.
        remedy: the advice in error messages about invalid documents.
        rendered_as: the prefix of the render functions in `attnlens.cricket.pages.documents`.
        earlier_schemas: the earlier schema versions that can be read. Missing fields become null or
            empty.
    """

    noun: ClassVar[str]
    remedy: ClassVar[str]
    rendered_as: ClassVar[str]
    earlier_schemas: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_schema(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("schema_version") not in cls.earlier_schemas:
            return data
        (current,) = get_args(cls.model_fields["schema_version"].annotation)
        return {**data, "schema_version": current}

    def to_dict(self) -> Json:
        """Return the document as dictionaries and lists, in the order of the fields."""
        return self.model_dump(mode="json")

    def to_json(self, indent: int | None = None) -> str:
        """Return the document as JSON, on one line if ``indent`` is None."""
        pair = (",", ":") if indent is None else None
        return json.dumps(
            self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent, separators=pair
        )

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Validate plain data and return the document.

        Raises:
            InputError: the data is not a document of this class. The message gives the JSON pointer
                to the first error.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise cls._in_one_line(error) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the JSON that `to_json` wrote.

        Raises:
            InputError: the text is not a document of this class.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise cls._in_one_line(error) from None

    def __repr__(self) -> str:
        return self._rendered("line")

    def __str__(self) -> str:
        return self._rendered("text")

    def _repr_html_(self) -> str:
        return self._rendered("html")

    def _rendered(self, form: str) -> str:
        pages = "attnlens.cricket.pages.documents"
        return str(resolve_name(f"{pages}:{self.rendered_as}_{form}")(self))

    @classmethod
    def _in_one_line(cls, error: ValidationError) -> InputError:
        errors = error.errors(include_url=False, include_context=False)
        for entry in errors:
            if entry["loc"] == ("schema_version",) and isinstance(entry["input"], str):
                own = cls.model_fields["schema_version"].annotation
                version = visible(repr(entry["input"]))
                return InputError(
                    f"{cls.noun} of schema version {version} cannot be read; this attnlens "
                    f"reads version {get_args(own)[0]}",
                    remedy="read it with the version of attnlens that wrote it, or write it again",
                )
        first, further = errors[0], len(errors) - 1
        steps = [str(step) for step in first["loc"]]
        # After the key of a head, pydantic adds the head's type to the path. The data has no such
        # level, so it is left out.
        if "attention_by_head" in steps:
            kind = steps.index("attention_by_head") + 2
            del steps[kind : kind + 1]
        pointer = "".join(f"/{step}" for step in steps)
        message = first["msg"].removeprefix("Value error, ")
        problem = " ".join(filter(None, [f"not {cls.noun}:", pointer, message]))
        if further:
            problem = f"{problem} (and {further} more)"
        return InputError(problem, remedy=cls.remedy)


def upgraded(data: Json) -> Json:
    """Convert an explanation from schema 1.0 to 2.0. The changelog lists the renamed keys."""
    data = copy.deepcopy(data)
    prediction = data["prediction"]
    prediction["subject"] = subject = prediction.pop("story_outcome")
    data["past_balls"] = data.pop("history")
    for ball in data["past_balls"]:
        points = {change["outcome"]: change["points"] for change in ball.pop("changes")}
        ball["effect_points"] = -points[subject] if points else None
        ball["effect_log_odds"] = ball["rarity"] = None
    for claim in data["evidence"]:
        claim["control_sets"] = claim["controls"]
        claim["controls"] = claim["about"] = claim["replaced"] = None
        claim["opposing"] = 0
        if claim.get("effect_log_odds") is not None:  # 1.0 has the change, 2.0 the decrease
            claim["effect_log_odds"] = -claim["effect_log_odds"]
    for layer in data["within_ball"]["layers"]:
        for node in layer["nodes"]:
            del node["visible"]
    for heat_map in data["across_balls"].values():
        for head in heat_map["attention_by_head"].values():
            head["carries"] = head["sees"] = None
    data["across_balls"]["whole"] = None
    data["fusion_weights"]["whole"] = 0.0
    return data
