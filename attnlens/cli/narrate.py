"""``narrate``: a language model puts an explanation into words, which are then checked."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attnlens.cli.check import by_statement, described, key_of_endpoint
from attnlens.cli.explain import add_ball_options, explained
from attnlens.cli.output import progress, say
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.llm.endpoint import Endpoint


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "narrate",
        help="an explanation in the words of a language model, checked",
        description="Send the prompt of an explanation to an OpenAI-compatible endpoint, show its "
        "answer as it comes, and mark what the explanation does not bear out. The explanation, "
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
        help="show nothing if the explanation does not bear out a statement (exit 1, with which)",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="without a byte; default 60"
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
        key=key_of_endpoint(),
        timeout=options.timeout,
    )
    if endpoint.key is not None and not endpoint.sends_key:
        say("the key is not sent over plain HTTP to another machine")
    explanation = explained(options)
    from attnlens.cricket.pages.prompt import prompt_of

    messages = prompt_of(explanation, template=options.template).chat
    return _narrated(endpoint, messages, explanation, strict=options.strict)


def _narrated(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    explanation: Explanation,
    *,
    strict: bool,
) -> int:
    from attnlens.cricket.words.grounding import check_grounding
    from attnlens.llm.endpoint import Answer, stream

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
    checked = check_grounding(explanation, text)
    if answer.finish_reason == "length":
        say("the answer was cut at its most tokens")
    if strict:
        for statement in checked.faults:
            say(f"not borne out: {described(statement)}")
        if checked.faults:
            return 1
        print(text)
    elif checked.faults:
        print("\nNot borne out:", *by_statement(checked.faults, mark="✗ ")[1:], sep="\n")
    return 0


def _shown(pieces: Iterator[str]) -> Iterator[str]:
    """Pieces as a terminal may show them: lines stay lines, nothing else is obeyed.

    An escape sequence can come in two pieces: without the first sign the rest is only letters.
    """
    from attnlens.show.safe import clean

    for piece in pieces:
        yield "\n".join(map(clean, piece.replace("\r", "").split("\n")))
