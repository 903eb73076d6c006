"""A language model chooses clauses: it is asked once, with a JSON schema where it takes one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from attnlens.errors import EndpointError
from attnlens.files import Json
from attnlens.llm.clause_bank import MAX_IDS, Clause, ids_in
from attnlens.llm.endpoint import Endpoint, ask

_REFUSES_SCHEMA: Final = frozenset({400, 415, 422, 501})
"""HTTP statuses of endpoints that do not take a schema; they are asked again without one."""

_ABOUT_SCHEMA: Final = re.compile(r"format|schema|grammar|json", re.IGNORECASE)
"""What an HTTP 500 speaks of where the schema is what the server cannot take."""


def chosen_ids(
    endpoint: Endpoint,
    messages: Sequence[dict[str, str]],
    clauses: Sequence[Clause],
    **settings: Any,
) -> tuple[list[str], bool]:
    """The ids that a language model chooses from a bank, in its order.

    Args:
        messages: the prompt with the bank.
        settings: further keys of the request, such as ``max_tokens``.

    Returns:
        the ids, of which some may not be in the bank, and whether the answer was cut.

    Raises:
        EndpointError: as `attnlens.llm.endpoint.ask`.
    """
    ids, until = [clause.id for clause in clauses], endpoint.until()
    try:
        answer = ask(endpoint, messages, until=until, response_format=_schema(ids), **settings)
    except EndpointError as error:
        unsure = error.status == 500 and _ABOUT_SCHEMA.search(error.problem)
        if not (error.status in _REFUSES_SCHEMA or unsure):
            raise
        answer = ask(endpoint, messages, until=until, **settings)
    return ids_in(answer.text, set(ids)), answer.cut


def _schema(ids: list[str]) -> Json:
    """The response format: an object with a list of these ids."""
    items = {"type": "array", "items": {"type": "string", "enum": ids}, "maxItems": MAX_IDS}
    schema = {
        "type": "object",
        "properties": {"ids": items},
        "required": ["ids"],
        "additionalProperties": False,
    }
    wrapped = {"name": "ids", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": wrapped}
