"""Render prompt templates in a sandbox that rejects undefined names.

A user's template is rendered in a separate process with limited time and memory, because a sandbox
could not stop ``10 ** 10 ** 10``.
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
"""The number of characters per token for the groups of `_PIECES`: names, words, numbers."""

_MAX_SOURCE_BYTES: Final = 1 << 20
_MAX_MESSAGE_CHARACTERS: Final = 100_000
"""The largest size of one message of a rendered template."""

_BOUNDS: Final = Bounds(
    memory=1 << 30,
    cpu_seconds=5,
    silent_seconds=50,
    remedy="make the template's loops and numbers smaller",
)
"""The limits of the process that renders a user's template."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt for a language model. ``system`` is empty without a system block."""

    system: str
    user: str

    @property
    def text(self) -> str:
        """The whole prompt as one text."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user

    @property
    def tokens(self) -> int:
        """An upper bound on the number of tokens, including a final line break."""
        return token_bound(self.text) + 1

    @property
    def chat(self) -> list[dict[str, str]]:
        """The messages of the prompt in order, each with its role and content."""
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, {"role": "user", "content": self.user}]

    def messages(self, kind: str) -> Json:
        """Return the messages of a request to ``openai`` or ``anthropic``, without a model name."""
        if kind == "openai":
            return {"messages": self.chat}
        system = {"system": self.system} if self.system else {}
        return {**system, "messages": self.chat[-1:]}


def token_bound(text: str) -> int:
    """Return an upper bound on the number of tokens of a prompt.

    The bound is a few per cent above the counts of two tokenizers (`benchmarks/prompt_tokens.py`).
    """
    tokens = 0
    for piece in _PIECES.finditer(text):
        letters = _LETTERS.get(piece.lastindex or 0)
        tokens += -(-len(piece[0]) // letters) if letters else len(piece[0].encode())
    return tokens


def new_nonce() -> str:
    """Return 16 random digits for a tag. Every result has the same number of tokens."""
    return f"{secrets.randbelow(10**16):016d}"


def fence(data: Json, nonce: str) -> Json:
    """Encode the data of a prompt as JSON inside a tag that no text in the data can close.

    Returns:
        a mapping: ``data`` is the tag with the JSON inside, and ``tag`` is the name of the tag.
    """
    tag = f"data-{nonce}"
    return {"data": f"<{tag}>\n{inert(data, ascii_only=False)}\n</{tag}>", "tag": tag}


def render(name: str, context: Json, template: str | Path | None = None) -> Prompt:
    """Render the user's template, or a built-in template if the user gave none.

    Args:
        name: the file of the built-in template in `attnlens.templates`.
        template: the file of the user's template.

    Raises:
        InputError: the file cannot be read, is not a template, uses a name that does not exist, or
            takes too long to render.
    """
    if template is not None:
        return _of_file(template, context)
    return _messages(_compiled(template_text(name), name), context)


def _of_file(path: str | Path, context: Json) -> Prompt:
    content = read_whole(path, _MAX_SOURCE_BYTES, kind="template", remedy="give a Jinja template")
    try:
        source = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path=path, remedy="save it as UTF-8") from None
    question = {"source": source, "name": str(path), "context": context}
    return Prompt(*in_child(f"{__name__}:_answered", question, _BOUNDS, path=str(path)))


@lru_cache(maxsize=8)
def _compiled(source: str, name: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=True,  # so that a name inserted by a user's template cannot close the fence
        trim_blocks=True,
        lstrip_blocks=True,
    )
    code = environment.compile(source, name=name, filename=name)
    return Template.from_code(environment, code, environment.make_globals(None))


def _messages(template: Template, context: Json) -> Prompt:
    """Render the blocks ``system`` and ``user``, or the whole template if ``user`` is missing."""
    # The data is already escaped as JSON. Escaping the data again would change the data.
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
            raise ValueError(f"the result has more than {_MAX_MESSAGE_CHARACTERS:,} characters")
        parts.append(chunk)
    return "".join(parts).strip()


def _answered(source: str, name: str, context: Json, report: Report) -> tuple[str, str]:
    """Render the messages of a template, in the child process."""
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
            remedy=f"the known names are {', '.join(context)}",
        ) from None
    return prompt.system, prompt.user


def _line_of(error: BaseException, name: str) -> int | None:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
