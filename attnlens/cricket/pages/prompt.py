"""An explanation as a prompt for a language model: instructions, and data it cannot mistake.

Players' names are input. The data is JSON in which no ``<``, ``>`` or ``&`` is left as such, inside
a tag whose name nobody could know beforehand; the instructions stand outside it, before and after.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from attnlens.cricket.pages.prompt_data import fitted, tables_of
from attnlens.errors import InputError
from attnlens.show.prompt_template import Json, render_default, render_file

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation

DEFAULT: Final = "cricket/prompt.j2"
"""The template that comes along, in `attnlens.templates`."""

MOST_TOKENS: Final = 2000
CHARACTERS_PER_TOKEN: Final = 2.1
"""Fewer than compact columnar JSON has with the tokenizers in use: no prompt has more tokens."""

Messages: TypeAlias = dict[str, str | list[dict[str, str]]]
"""The body of a request: each message's role and content, and perhaps a system's text."""

KINDS: Final = ("openai", "anthropic")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is sent; ``system`` is empty where a template has none.

    ``left_out`` counts rows by table that were cut to keep to the length.
    """

    system: str
    user: str
    left_out: Mapping[str, int]

    @property
    def text(self) -> str:
        """All of it, to pipe."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user

    @property
    def tokens(self) -> int:
        """No fewer tokens than it has, with the line end that a printed prompt ends with."""
        return token_bound(self.text + "\n")

    @property
    def chat(self) -> list[dict[str, str]]:
        """Its messages in order, each with its role and content."""
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, {"role": "user", "content": self.user}]

    def messages(self, kind: str) -> Messages:
        """The body of a request to an API of that kind: its messages, without a model's name.

        Raises:
            InputError: no such kind.
        """
        if kind == "openai":
            return {"messages": self.chat}
        if kind == "anthropic":
            system: Messages = {"system": self.system} if self.system else {}
            return system | {"messages": self.chat[-1:]}
        raise InputError(f"no messages of kind {kind!r}", remedy=f"choose {' or '.join(KINDS)}")


def token_bound(text: str) -> int:
    """At most so many tokens: ceil(characters / 2.1)."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def prompt_of(
    explanation: Explanation,
    *,
    template: str | Path | None = None,
    nonce: str | None = None,
) -> Prompt:
    """The prompt for an explanation; at most `MOST_TOKENS` with the template that comes along.

    Args:
        template: a Jinja file in place of the one that comes along.
        nonce: the part of the fence's name that is random otherwise.

    Raises:
        InputError: the template cannot be read or rendered; one line says where.
    """
    tag = f"data-{nonce or secrets.token_hex(8)}"
    room = math.floor(MOST_TOKENS * CHARACTERS_PER_TOKEN)
    tables = tables_of(explanation)

    def made(chosen: Json) -> Prompt:
        context = _context(explanation, chosen, tag)
        rendered = (
            render_default(DEFAULT, context) if template is None else render_file(template, context)
        )
        return Prompt(rendered.system, rendered.user, chosen["left_out"])

    whole = made(tables)
    excess = len(whole.text) + 1 - room
    if excess <= 0:
        return whole
    # The words do not change with the data, so its length alone decides.
    most = len(_fenced(tables, tag)) - excess
    return made(fitted(tables, lambda chosen: len(_fenced(chosen, tag)) <= most))


def _fenced(tables: Json, tag: str) -> str:
    text = json.dumps(tables, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"<{tag}>\n{text}\n</{tag}>"


def _context(explanation: Explanation, tables: Json, tag: str) -> Json:
    ball, prediction = explanation.ball, explanation.prediction
    return {
        "data": _fenced(tables, tag),
        "tag": tag,
        "tables": tables,
        "ball": f"innings {ball.innings}, delivery {ball.index}",
        "tested": bool(explanation.evidence),
        "happened": prediction.actual is not None,
        "asked": prediction.explained,
    }
