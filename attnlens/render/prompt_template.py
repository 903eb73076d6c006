"""Templates of prompts: rendered in a sandbox, strict about names that nobody gave.

A user's template is rendered in a process of its own with little time and memory: no sandbox within
a process can stop ``10 ** 10 ** 10``.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from attnlens.child import Bounds, Report, in_child
from attnlens.errors import InputError
from attnlens.files import Json, read_whole
from attnlens.render.page import inert, template_text

MAX_PROMPT_TOKENS: Final = 2000

_PIECES: Final = re.compile(r"([A-Z][a-z]*)|([a-z]+)|(\d+)|\S", re.ASCII)
_LETTERS: Final = {1: 2, 2: 6, 3: 3}
"""Signs for a token: of a name, of a word in small letters, of a number. All others are tokens."""

_MAX_SOURCE_BYTES: Final = 1 << 20
_MAX_MESSAGE_CHARACTERS: Final = 100_000
"""Of one message of a rendered template."""

_BOUNDS: Final = Bounds(
    memory=1 << 30,
    cpu_seconds=5,
    silent_seconds=50,
    remedy="make its loops and numbers smaller",
)
"""Of the process that renders a template of the user's."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is sent; ``system`` is empty where a template has no such block."""

    system: str
    user: str

    @property
    def text(self) -> str:
        """All of it, to pipe."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user

    @property
    def tokens(self) -> int:
        """No fewer tokens than it has, with the line end that a printed prompt ends with."""
        return token_bound(self.text) + 1

    @property
    def chat(self) -> list[dict[str, str]]:
        """Its messages in order, each with its role and content."""
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, {"role": "user", "content": self.user}]

    def messages(self, kind: str) -> Json:
        """The messages of a request to ``openai`` or ``anthropic``, without a model's name."""
        if kind == "openai":
            return {"messages": self.chat}
        system = {"system": self.system} if self.system else {}
        return {**system, "messages": self.chat[-1:]}


def token_bound(text: str) -> int:
    """No fewer tokens than two tokenizers make of a prompt, and a few per cent more.

    A capital and the small letters after it, which is what names are made of, count one for every
    two; a word in small letters one for every six, digits one for every three, any other sign
    one, and one beyond ASCII as many as it has bytes. `benchmarks/prompt_tokens.py` measured it.
    """
    tokens = 0
    for piece in _PIECES.finditer(text):
        letters = _LETTERS.get(piece.lastindex or 0)
        tokens += -(-len(piece[0]) // letters) if letters else len(piece[0].encode())
    return tokens


def new_nonce() -> str:
    """The part of a fence's name that nobody can know beforehand, always of as many tokens."""
    return f"{secrets.randbelow(10**16):016d}"


def fence(data: Json, nonce: str) -> Json:
    """``data`` as JSON inside a tag that no text in it can close, and the name of the ``tag``."""
    tag = f"data-{nonce}"
    return {"data": f"<{tag}>\n{inert(data, ascii_only=False)}\n</{tag}>", "tag": tag}


def render(name: str, context: Json, template: str | Path | None = None) -> Prompt:
    """The template that comes along, or one of the user's in its place.

    Args:
        name: the first one's file in `attnlens.templates`.
        template: the file of the other.

    Raises:
        InputError: the file cannot be read, is not a template, uses a name that does not exist,
            or takes too long; FILE:LINE where the line is known.
    """
    if template is not None:
        return _of_file(template, context)
    return _messages(_compiled(template_text(name), name), context)


def _of_file(path: str | Path, context: Json) -> Prompt:
    content = read_whole(path, _MAX_SOURCE_BYTES, kind="template", remedy="give a template")
    try:
        source = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path=path, remedy="give a template") from None
    question = {"source": source, "name": str(path), "context": context}
    return Prompt(*in_child(f"{__name__}:_answered", question, _BOUNDS, path=str(path)))


@lru_cache(maxsize=8)
def _compiled(source: str, name: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=True,  # a name that a template of the user's picks out cannot close the fence
        trim_blocks=True,
        lstrip_blocks=True,
    )
    code = environment.compile(source, name=name, filename=name)
    return Template.from_code(environment, code, environment.make_globals(None))


def _messages(template: Template, context: Json) -> Prompt:
    """The blocks ``system`` and ``user``; without ``user``, all of it is the user's message."""
    # The data is escaped as JSON is, and no other text of the context has a sign to escape.
    values = {**context, "data": Markup(context["data"])}
    blocks = template.blocks
    if "user" not in blocks:
        return Prompt("", _joined(template.generate(values)))
    system = _block(template, "system", values) if "system" in blocks else ""
    return Prompt(system, _block(template, "user", values))


def _block(template: Template, name: str, values: Json) -> str:
    context: Context = template.new_context(values)
    return _joined(template.blocks[name](context))


def _joined(chunks: Iterable[str]) -> str:
    parts, length = [], 0
    for chunk in chunks:
        length += len(chunk)
        if length > _MAX_MESSAGE_CHARACTERS:
            raise ValueError(f"it has more than {_MAX_MESSAGE_CHARACTERS:,} characters")
        parts.append(chunk)
    return "".join(parts).strip()


def _answered(source: str, name: str, context: Json, report: Report) -> tuple[str, str]:
    """What the child answers: the messages of a template."""
    del report
    try:
        prompt = _messages(_compiled(source, name), context)
    except MemoryError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        if isinstance(error, TemplateError):
            problem = str(error.message)
        raise InputError(
            f"cannot be rendered: {problem}"[:300],
            path=name,
            line=error.lineno if isinstance(error, TemplateSyntaxError) else _line_of(error, name),
            remedy=f"known names: {', '.join(context)}",
        ) from None
    return prompt.system, prompt.user


def _line_of(error: BaseException, name: str) -> int | None:
    """The template's line: Jinja gives its frames the template's name and lines."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
