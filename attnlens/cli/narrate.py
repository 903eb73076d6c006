"""``narrate``: a language model puts an explanation into words; ``check``: are they in it?"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnlens.cli.explain import add_ball_options, explained
from attnlens.cli.options import add_formats, add_out, whole
from attnlens.cli.output import emit, emit_json, say
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.words.grounding import Unsupported
    from attnlens.llm.references import Told

KEYS = ("ATTNLENS_API_KEY", "OPENAI_API_KEY")
MOST_BYTES = 1 << 20
MOST_EXPLANATION = 1 << 26


def add_to(commands: Commands) -> None:
    _add_narrate(commands)
    _add_check(commands)


def _add_narrate(commands: Commands) -> None:
    parser = commands.add_parser(
        "narrate",
        help="an explanation in the words of a language model, right by construction",
        description="Send what an explanation holds, each figure and name under an id, to an "
        "OpenAI-compatible endpoint, and fill in the sentences that it writes with these ids. A "
        "sentence that says more than its ids bear out is asked for once more, then dropped. The "
        "explanation, with the players' names, leaves this machine for the address that "
        "--base-url names. The key is taken from the environment: ATTNLENS_API_KEY, else "
        "OPENAI_API_KEY.",
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
        "--strict", action="store_true", help="exit 1 where a sentence had to be dropped"
    )
    parser.add_argument(
        "--max-tokens",
        type=whole(1, 1_000_000),
        default=1000,
        metavar="COUNT",
        help="of an answer, thoughts included; default 1000",
    )
    parser.add_argument(
        "--temperature", type=float, default=0.2, metavar="T", help="0 to 2; default 0.2"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="without a byte; default 300, which a local model may need to begin",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    for name, value in (("--ball", options.ball), ("--base-url", options.base_url)):
        if not value:
            raise InputError(f"{name} is missing", remedy=f"give {name}; see `narrate --help`")
    if not options.llm_model:
        raise InputError("--llm-model is missing", remedy="name the model that is to write")
    if not 0 <= options.temperature <= 2:
        raise InputError("--temperature is from 0 to 2", remedy="give one such as 0.2")
    from attnlens.llm.endpoint import Endpoint

    endpoint = Endpoint(
        options.base_url,
        options.llm_model,
        key=_key(),
        timeout=options.timeout,
    )
    if endpoint.key is not None and not endpoint.sends_key:
        say("the key is not sent over plain HTTP to another machine")
    explanation = explained(options)
    from attnlens.cricket.words.references import references_of, references_prompt
    from attnlens.llm.narration import narrated

    narration = narrated(
        endpoint,
        references_prompt(explanation, template=options.template).chat,
        references_of(explanation),
        _show,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
    )
    if narration.cut:
        say("an answer was cut at its most tokens; give more with --max-tokens")
    if not narration.rendered.text:
        say("nothing that it wrote could be borne out")
        return 1
    return 1 if options.strict and narration.rendered.dropped else 0


def _show(told: Told) -> None:
    """A sentence on stdout, or on stderr what was dropped and why."""
    if told.faults:
        say(f'dropped: "{told.written}": {"; ".join(told.faults)}')
    else:
        print(told.text, flush=True)


def _key() -> str | None:
    """From the environment alone: a command line can be read by others."""
    return next((value for name in KEYS if (value := os.environ.get(name, "").strip())), None)


def _add_check(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="whether the numbers and names of a text are in an explanation",
        description="Look for every number, name, ball label and verdict of a text anywhere in an "
        "explanation. What is not there is listed, each with what comes nearest and its JSON "
        "pointer; the exit status is then 1. Whether a true number stands in the right place is "
        "not read.",
    )
    parser.add_argument(
        "explanation",
        metavar="EXPLANATION.json",
        help="what `attnlens explain --format json` wrote, or - for stdin",
    )
    parser.add_argument("text", metavar="TEXT", help="a file with the text, or - for stdin")
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> int:
    if options.explanation == options.text == "-":
        raise InputError("stdin can be one of the two", remedy="give a file for the other")
    from attnlens.files import check_writable

    if options.out is not None:
        check_writable(options.out)
    document = _read(options.explanation, MOST_EXPLANATION)
    text = _read(options.text, MOST_BYTES)
    from attnlens.cricket.words.grounding import check_grounding

    try:
        unsupported = check_grounding(document, text)
    except InputError as error:
        place = _place(options.explanation)
        raise InputError(error.problem, path=place, remedy=error.remedy) from None
    if options.format == "json":
        listed = [entry.to_dict() for entry in unsupported]
        emit_json({"grounded": not unsupported, "unsupported": listed}, options.out)
    else:
        lines = by_sentence(unsupported)
        told = "Every number, name, ball and verdict that was read is in the explanation."
        if lines:
            count = "1 thing is" if len(unsupported) == 1 else f"{len(unsupported)} things are"
            told = f"{count} not in the explanation:"
        emit("\n".join([told, *lines]), options.out)
    return 1 if unsupported else 0


def by_sentence(unsupported: Sequence[Unsupported], mark: str = "") -> list[str]:
    """Each sentence after an empty line and a mark, and under it what is wrong in it."""
    from attnlens.show.safe import clean

    lines: list[str] = []
    sentence = None
    for entry in unsupported:
        if entry.sentence != sentence:
            sentence = entry.sentence
            lines += ["", f"  {mark}{clean(sentence)}"]
        lines.append(f"    {described(entry)}")
    return lines


def described(entry: Unsupported) -> str:
    """What is wrong, and what comes nearest, on one line."""
    from attnlens.show.safe import clean

    near = "" if entry.nearest is None else f"; nearest: {clean(entry.nearest)}"
    place = "" if entry.pointer is None else f" ({entry.pointer})"
    return f'{entry.kind} "{clean(entry.text)}" {entry.problem}{near}{place}'


def _place(path: str) -> str:
    return "stdin" if path == "-" else path


def _read(path: str, most: int) -> str:
    """A file, or what comes from a pipe, as text.

    Raises:
        InputError: it cannot be read, is no UTF-8 text, or is too large.
    """
    from attnlens.files import read_whole

    if path == "-":
        data = sys.stdin.buffer.read(most + 1)
        if len(data) > most:
            raise InputError("is too large", path="stdin", remedy="give a shorter text")
    else:
        data = read_whole(path, most, remedy="give a file of text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "is not UTF-8 text", path=_place(path), remedy="save it as UTF-8"
        ) from None
