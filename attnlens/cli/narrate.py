"""``attnlens narrate``: a language model puts an explanation into words, and is checked."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attnlens.cli.explain import add_ball_options, explained
from attnlens.cli.options import add_formats
from attnlens.cli.output import can_draw, emit_json, progress
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.words.grounding import Unsupported
    from attnlens.llm.endpoint import Endpoint

KEYS = ("ATTNLENS_API_KEY", "OPENAI_API_KEY")
AS_JSON = (
    '\nAnswer as JSON, {"narrative": [{"text": "a sentence", "facts": []}]}; facts may stay empty.'
)


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "narrate",
        help="an explanation in the words of a language model, checked",
        description="Send the prompt of an explanation to an OpenAI-compatible endpoint, show its "
        "answer as it comes, and mark what stands nowhere in the explanation. The explanation, "
        "with the players' names, leaves this machine for the address that --base-url names. The "
        "key is taken from the environment: ATTNLENS_API_KEY, else OPENAI_API_KEY.",
    )
    add_ball_options(parser)
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="the endpoint, such as https://host/v1 or http://localhost:11434/v1",
    )
    parser.add_argument("--llm-model", metavar="NAME", help="the language model's name there")
    parser.add_argument(
        "--template", metavar="FILE", help="a Jinja template in place of the prompt's own"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="show nothing unless all that is checked is found (else exit 1, with what is not)",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="without a byte; default 60"
    )
    parser.add_argument(
        "--retries", type=int, default=3, metavar="N", help="tries after the first; default 3"
    )
    add_formats(
        parser,
        what="json asks for structured output and prints it with what was found; default {}",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    for name, value in (("--ball", options.ball), ("--base-url", options.base_url)):
        if not value:
            raise InputError(f"{name} is missing", remedy=f"give {name}; see `narrate --help`")
    if not options.llm_model:
        raise InputError("--llm-model is missing", remedy="name the model that is to write")
    from attnlens.llm.endpoint import Endpoint

    endpoint = Endpoint(
        options.base_url,
        options.llm_model,
        key=_key(),
        timeout=options.timeout,
        retries=options.retries,
    )
    if endpoint.key is not None and not endpoint.sends_key:
        print("attnlens: the key is not sent over plain HTTP to another machine", file=sys.stderr)
    explanation = explained(options)
    from attnlens.cricket.pages.prompt import prompt_of

    messages = prompt_of(explanation, template=options.template).chat
    if options.format == "json":
        return _as_json(endpoint, messages, explanation, strict=options.strict)
    return _as_text(endpoint, messages, explanation, strict=options.strict)


def _key() -> str | None:
    """From the environment alone: a command line can be read by others."""
    return next((value for name in KEYS if (value := os.environ.get(name, "").strip())), None)


def _as_text(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    explanation: Explanation,
    *,
    strict: bool,
) -> int:
    from attnlens.cli.check import by_sentence
    from attnlens.cricket.words.grounding import check_grounding
    from attnlens.llm.endpoint import Answer, stream

    can_draw()
    answer = Answer()
    parts: list[str] = []
    for piece in _shown(stream(endpoint, messages, answer=answer)):
        parts.append(piece)
        if strict:
            progress(f"{sum(map(len, parts))} characters")
        else:
            print(piece, end="", flush=True)
    progress("")
    if not strict:
        print()
    text = "".join(parts)
    unsupported = check_grounding(explanation, text)
    if answer.finish_reason == "length":
        print("attnlens: the answer was cut at its most tokens", file=sys.stderr)
    if strict:
        if unsupported:
            return _refused(unsupported)
        print(text)
    elif unsupported:
        print("\nNot in the explanation:", *by_sentence(unsupported, mark="✗ ")[1:], sep="\n")
    return 0


def _refused(unsupported: Sequence[Unsupported]) -> int:
    from attnlens.cli.check import described

    for entry in unsupported:
        print(f"attnlens: not in the explanation: {described(entry)}", file=sys.stderr)
    return 1


def _as_json(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    explanation: Explanation,
    *,
    strict: bool,
) -> int:
    """Structured output by the schema of ``narrative``; facts that do not hold are taken out."""
    from attnlens.cricket.words.grounding import check_grounding
    from attnlens.cricket.words.spoken import narrative_of, narrative_schema
    from attnlens.llm.endpoint import structured

    *before, last = messages
    asked = [*before, {**last, "content": last["content"] + AS_JSON}]
    answer = structured(endpoint, asked, narrative_schema(), name="narrative")
    try:
        sentences = narrative_of(answer, explanation)
    except InputError as error:
        raise endpoint.failure(error.problem, error.remedy) from None
    text = "\n\n".join(sentence.text for sentence in sentences)
    unsupported = check_grounding(explanation, text)
    if strict and unsupported:
        return _refused(unsupported)
    answer_checked = {
        "model": endpoint.model,
        "grounded": not unsupported,
        "narrative": [sentence.model_dump(mode="json") for sentence in sentences],
        "unsupported": [entry.to_dict() for entry in unsupported],
    }
    emit_json(answer_checked, None)
    return 0


def _visible(text: str) -> str:
    from attnlens.show.safe import clean

    return clean(text)


def _shown(pieces: Iterator[str]) -> Iterator[str]:
    """Pieces as a terminal may show them: lines stay lines, nothing else is obeyed.

    An escape sequence can come in two pieces: without the first sign the rest is only letters.
    """
    for piece in pieces:
        yield "\n".join(_visible(line) for line in piece.replace("\r", "").split("\n"))
