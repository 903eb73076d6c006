"""``narrate``: a language model chooses which sentences of an explanation to print."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from attnlens.cli.explain import add_ball_options, explained
from attnlens.cli.options import whole_number
from attnlens.cli.output import say
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.llm.endpoint import Endpoint

_NARRATIVE = "sentence"
_KEYS = ("ATTNLENS_API_KEY", "OPENAI_API_KEY")


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "narrate",
        help="a language model chooses and orders the sentences of an explanation",
        description="Send the sentences that attnlens wrote about a ball, each under an id, to an "
        "OpenAI-compatible endpoint, and print those that it chooses, in its order. Cautions are "
        "always printed. If the answer names no sentence, attnlens's own narrative is printed. The "
        "sentences, with the players' names, leave this machine for the address that "
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
        "--strict",
        action="store_true",
        help="exit 1 if an id is unknown or stands twice, or if no sentence is named",
    )
    parser.add_argument(
        "--max-tokens",
        type=whole_number(1, 1_000_000),
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
    from attnlens.cricket.words.clauses import clauses_prompt, explanation_clauses
    from attnlens.llm.clause_bank import render_clauses
    from attnlens.llm.narration import chosen_ids

    clauses = explanation_clauses(explanation)
    ids, cut = chosen_ids(
        endpoint,
        clauses_prompt(explanation, template=options.template).chat,
        clauses,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
    )
    rendered = render_clauses(clauses, ids)
    if cut:
        say("the answer was cut at its most tokens; give more with --max-tokens")
    for entry in rendered.dropped:
        say(f"dropped {entry.id!r}: {entry.reason}")
    failed = all(clause.required for clause in rendered.clauses)
    if failed:
        say("the answer names no sentence; this is attnlens's own narrative")
        own = [clause.id for clause in clauses if clause.id.startswith(_NARRATIVE)]
        rendered = render_clauses(clauses, own)
    print(*(clause.text for clause in rendered.clauses), sep="\n")
    return 1 if options.strict and (failed or rendered.dropped) else 0


def endpoint_at(url: str, model: str, **patience: float) -> Endpoint:
    """Whom to ask, with the key of the environment alone: a command line can be read by others."""
    from attnlens.llm.endpoint import Endpoint

    key = next((value for name in _KEYS if (value := os.environ.get(name, "").strip())), None)
    endpoint = Endpoint(url, model, key=key, **patience)
    if key is not None and not endpoint.sends_key:
        say("the key is not sent over plain HTTP to another machine")
    return endpoint
