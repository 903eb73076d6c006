"""Templates of prompts: rendered in a sandbox, strict about names that nobody gave.

The template that comes along is rendered here. One of the user's is rendered in a process of its
own with little time and memory: no sandbox within a process can stop ``10 ** 10 ** 10``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from attnlens.errors import InputError
from attnlens.show.page import template_text

Json: TypeAlias = dict[str, Any]
"""What a template is given, and what its process is asked and answers, both written as JSON."""

MOST_SOURCE: Final = 200_000
MOST_CHARACTERS: Final = 100_000
"""Of one message of a rendered template."""

SECONDS: Final = 5
"""Of processor time for a template of the user's; ten times as long by the clock."""

_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Rendered:
    """The two messages of a prompt; ``system`` is empty where the template has no such block."""

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class _Wrong(Exception):
    """A template that cannot be rendered: what is wrong, and on which line where that is known."""

    problem: str
    line: int | None


def render_default(name: str, context: Json) -> Rendered:
    """A template that comes along.

    Args:
        name: its file in `attnlens.templates`.
    """
    return _messages(_default(name), context)


@lru_cache(maxsize=8)
def _default(name: str) -> Template:
    return _compiled(template_text(name), name)


def render_file(path: str | Path, context: Json) -> Rendered:
    """A template of the user's.

    Raises:
        InputError: it cannot be read, is not a template, uses a name that does not exist, or
            takes too long; FILE:LINE where the line is known.
    """
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read(MOST_SOURCE + 1)
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot be read ({said})", path=path, remedy="give a template") from None
    if len(source) > MOST_SOURCE:
        raise InputError("is too long for a template", path=path, remedy="give a shorter one")
    question = json.dumps({"source": source, "name": str(path), "context": context})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "attnlens.show.prompt_template"],
            input=question.encode(),
            capture_output=True,
            timeout=10 * SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else {}
    except (subprocess.TimeoutExpired, ValueError):
        answer = {}
    if "user" in answer:
        return Rendered(answer["system"], answer["user"])
    raise InputError(
        answer.get("problem", f"takes more than {SECONDS} seconds or 1 GB to render"),
        path=path,
        line=answer.get("line"),
        remedy=answer.get("remedy", "make its loops and numbers smaller"),
    )


def _compiled(source: str, name: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=True,  # a name that a template of the user's picks out cannot close the fence
        trim_blocks=True,
        lstrip_blocks=True,
    )
    code = environment.compile(source, name=name, filename=name)
    return Template.from_code(environment, code, environment.make_globals(None))


def _messages(template: Template, context: Json) -> Rendered:
    """The blocks ``system`` and ``user``; without ``user``, all of it is the user's message."""
    # The data is escaped as JSON is, and no other text of the context has a sign to escape.
    given = {**context, "data": Markup(context["data"])}
    blocks = template.blocks
    if "user" not in blocks:
        return Rendered("", _joined(template.generate(given)))
    system = _block(template, "system", given) if "system" in blocks else ""
    return Rendered(system, _block(template, "user", given))


def _block(template: Template, name: str, given: Json) -> str:
    context: Context = template.new_context(given)
    return _joined(template.blocks[name](context))


def _joined(chunks: Any) -> str:
    parts, length = [], 0
    for chunk in chunks:
        length += len(chunk)
        if length > MOST_CHARACTERS:
            raise _Wrong(f"renders to more than {MOST_CHARACTERS:,} characters", None)
        parts.append(chunk)
    return "".join(parts).strip()


def _answered(question: Json) -> Json:
    """What the process of its own answers: the two messages, or what is wrong."""
    name = question["name"]
    remedy = f"known names: {', '.join(question['context'])}"
    line: int | None
    try:
        found = _messages(_compiled(question["source"], name), question["context"])
    except TemplateSyntaxError as error:
        said, line, remedy = f"is not a template: {error.message}", error.lineno, "mend that line"
    except _Wrong as error:
        said, line, remedy = error.problem, error.line, "make it shorter"
    except MemoryError:
        said, line, remedy = "takes more than 1 GB to render", None, "make its texts shorter"
    except TemplateError as error:
        said, line = f"cannot be rendered: {error.message}", _line_of(error, name)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        said, line, remedy = f"cannot be rendered: {problem}", _line_of(error, name), "mend it"
    else:
        return {"system": found.system, "user": found.user}
    return {"problem": said[:300], "line": line, "remedy": remedy}


def _line_of(error: BaseException, name: str) -> int | None:
    """The template's line: Jinja gives its frames the template's name and lines."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _limit() -> None:
    """Little time and memory, where the system can be told."""
    try:
        import resource
    except ImportError:  # not on Windows: the clock alone ends it there
        return
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))


if __name__ == "__main__":
    _limit()
    json.dump(_answered(json.load(sys.stdin)), sys.stdout)
