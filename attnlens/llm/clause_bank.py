"""Assemble texts from a clause bank, which contains complete sentences written by attnlens.

A language model selects sentences by id and writes no prose. All numbers come from attnlens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any, Final

from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.safe import visible

MAX_IDS: Final = 200
_MAX_JSON_CHARACTERS: Final = 1 << 26
_MAX_ID_CHARACTERS: Final = 60
_LIST: Final = re.compile(r"\[[^\[\]{}]*\]")
_THOUGHTS: Final = re.compile(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)|^(?:(?!<think).)*</think(?:ing)?>", re.DOTALL
)
_NUMBER_AT_THE_END: Final = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence of the bank.

    Attributes:
        id: the id of the clause, such as ``claim2``.
        text: the sentence.
        pointers: the JSON pointers (RFC 6901) of the numbers and names in the sentence, in order.
        required: whether every text must include the clause.
    """

    id: str
    text: str
    pointers: tuple[str, ...] = ()
    required: bool = False

    def to_dict(self) -> Json:
        """Return the clause as a dictionary."""
        return {**asdict(self), "pointers": list(self.pointers)}


@dataclass(frozen=True, slots=True)
class DroppedId:
    """An id that selects no clause, and the reason."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class RenderedText:
    """The selected clauses in order, followed by required clauses that were not selected.

    Attributes:
        dropped: repeated ids, and ids that are not in the bank.
    """

    clauses: tuple[Clause, ...]
    dropped: tuple[DroppedId, ...]

    @property
    def text(self) -> str:
        """The clauses as one paragraph."""
        return " ".join(clause.text for clause in self.clauses)

    def to_dict(self) -> Json:
        """Return the text, the ids of its clauses, and the dropped ids with their reasons."""
        ids = [clause.id for clause in self.clauses]
        return {"text": self.text, "ids": ids, "dropped": list(map(asdict, self.dropped))}

    def __str__(self) -> str:
        return self.text


def render_clauses(clauses: Iterable[Clause], ids: object) -> RenderedText:
    """Return the clauses that ``ids`` selects, followed by the required clauses not in ``ids``.

    Args:
        clauses: the bank.
        ids: a list of ids, or a mapping with this list under the key ``ids``. JSON text is
            accepted.

    Raises:
        InputError: ``ids`` has another form.
    """
    bank = {clause.id: clause for clause in clauses}
    chosen: dict[str, Clause] = {}
    dropped = []
    for clause_id in _id_list(ids):
        if clause_id in bank and clause_id not in chosen:
            chosen[clause_id] = bank[clause_id]
        else:
            reason = "it is repeated" if clause_id in bank else _unknown(clause_id, bank)
            dropped.append(DroppedId(visible(clause_id, _MAX_ID_CHARACTERS), reason))
    chosen |= {clause.id: clause for clause in bank.values() if clause.required}
    return RenderedText(tuple(chosen.values()), tuple(dropped))


def clauses_from(facts: object) -> tuple[Clause, ...]:
    """Build a clause bank from plain data.

    Args:
        facts: a list of clauses, a list of mappings with ``id`` and ``text``, or one mapping from
            ids to sentences.

    Raises:
        InputError: ``facts`` has another form, or is empty.
    """
    if isinstance(facts, Mapping):
        facts = [{"id": name, "text": text} for name, text in facts.items()]
    items: Sequence[Any] = facts if isinstance(facts, list | tuple) else ()
    clauses = tuple(map(_clause, items))
    if not clauses or None in clauses:
        raise InputError(
            "the facts are neither an explanation nor a mapping of ids to sentences",
            remedy='give an explanation, its JSON, its clauses(), or {"id": "sentence"}',
        )
    return tuple(clause for clause in clauses if clause is not None)


def _clause(item: object) -> Clause | None:
    if isinstance(item, Clause):
        return item
    if not isinstance(item, Mapping):
        return None
    name, text = item.get("id"), item.get("text")
    if not isinstance(name, str) or not isinstance(text, str):
        return None
    pointers = tuple(map(str, item.get("pointers") or ()))
    return Clause(name, visible(text), pointers, item.get("required") is True)


def ids_in(answer: str, bank_ids: Collection[str]) -> list[str]:
    """Return the ids listed in a language model's answer, in order.

    The ids come from the first JSON list of strings. Without such a list, every word that is or
    resembles an id is used. Text between ``<think>`` and ``</think>`` is ignored.
    """
    text = _THOUGHTS.sub("", answer)
    ids = next(_json_lists(text), None)
    if ids is None:
        kinds = {_NUMBER_AT_THE_END.sub("", name) for name in bank_ids}
        words = re.findall(r"\w(?:[\w.-]*\w)?", text)
        candidates = (
            word for word in words if word in bank_ids or _NUMBER_AT_THE_END.sub("", word) in kinds
        )
        ids = [word for word in dict.fromkeys(candidates) if word in bank_ids or word not in kinds]
    return ids[:MAX_IDS]


def _json_lists(text: str) -> Iterator[list[str]]:
    for match in _LIST.finditer(text):
        try:
            items = json.loads(match.group())
        except ValueError:
            continue
        if ids := [item for item in items if isinstance(item, str)]:
            yield ids


def parsed_json(data: object, name: str) -> object:
    """Parse ``data`` if it is JSON text, and return any other value unchanged.

    Args:
        name: a plural noun for the data in error messages.

    Raises:
        InputError: the text is not JSON, or it is too long.
    """
    if not isinstance(data, str | bytes):
        return data
    if len(data) > _MAX_JSON_CHARACTERS:
        problem = f"{name} have more than {_MAX_JSON_CHARACTERS:,} characters"
        raise InputError(problem, remedy="give a shorter text")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(f"{name} are not valid JSON", remedy="give a list or an object") from None


def _id_list(ids: object) -> list[str]:
    parsed: Any = parsed_json(ids, "the ids")
    if isinstance(parsed, Mapping):
        parsed = parsed.get("ids")
    if not isinstance(parsed, list | tuple) or not all(isinstance(name, str) for name in parsed):
        raise InputError(
            "the ids are neither a list of texts nor a mapping with such a list",
            remedy='give ["sentence1"] or {"ids": ["sentence1"]}',
        )
    return list(parsed)


def _unknown(clause_id: str, bank: Mapping[str, Clause]) -> str:
    nearest = get_close_matches(clause_id[:_MAX_ID_CHARACTERS], bank, 1)
    return "there is no such id" + (f"; nearest: {nearest[0]}" if nearest else "")
