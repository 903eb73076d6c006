"""``narrate``: a language model puts an explanation into words."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from attnlens.cli.explain import add_ball_options, explained
from attnlens.cli.options import whole
from attnlens.cli.output import say
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.llm.endpoint import Endpoint
    from attnlens.llm.references import Told

KEYS = ("ATTNLENS_API_KEY", "OPENAI_API_KEY")


def add_to(commands: Commands) -> None:
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
    parser.add_argument(
        "--deadline",
        type=float,
        default=900.0,
        metavar="SECONDS",
        help="for all that is asked, whatever comes; default 900",
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
    endpoint = endpoint_at(
        options.base_url, options.llm_model, timeout=options.timeout, deadline=options.deadline
    )
    explanation = explained(options)
    from attnlens.cricket.words.references import references_of, references_prompt
    from attnlens.llm.narration import narrated

    rendered, cut = narrated(
        endpoint,
        references_prompt(explanation, template=options.template).chat,
        references_of(explanation),
        _show,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
    )
    if cut:
        say("an answer was cut at its most tokens; give more with --max-tokens")
    if not rendered.text:
        say("nothing that it wrote could be borne out")
        return 1
    return 1 if options.strict and rendered.dropped else 0


def endpoint_at(url: str, model: str, **patience: float) -> Endpoint:
    """Whom to ask, with the key of the environment alone: a command line can be read by others."""
    from attnlens.llm.endpoint import Endpoint

    key = next((value for name in KEYS if (value := os.environ.get(name, "").strip())), None)
    endpoint = Endpoint(url, model, key=key, **patience)
    if key is not None and not endpoint.sends_key:
        say("the key is not sent over plain HTTP to another machine")
    return endpoint


def _show(told: Told) -> None:
    """A sentence on stdout, or on stderr what was dropped and why."""
    if told.faults:
        say(f'dropped: "{told.written}": {"; ".join(told.faults)}')
    else:
        print(told.text, flush=True)
