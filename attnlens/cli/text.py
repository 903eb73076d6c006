"""``attnlens text``: sentences to sentences, explained."""

from __future__ import annotations

import argparse
from functools import partial

from attnlens.cli.options import MAX_SEED, add_formats, add_out, whole_number
from attnlens.cli.output import check_files, show
from attnlens.cli.parser import Commands

MODEL = "seq2seq, which comes with attnlens, or a file that `lab text-train` wrote"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "text",
        help="explain an encoder-decoder of sentences",
        description="An encoder-decoder that reads a sentence and writes another: which words its "
        "answer came from, and whether that holds. `lab text-train` trains one.",
    )
    actions = parser.command_group("text_command", required=True)
    _add_explain(actions)


def _add_explain(actions: Commands) -> None:
    parser = actions.add_parser(
        "explain",
        help="answer a sentence, and say which words the answer came from",
        description="The answer, token by token, with how sure the model is; the words that each "
        "token looked at; and whether taking those away does more than taking away others.",
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("sentence", metavar="WORDS", help="the sentence, in quotes")
    add_formats(parser)
    add_out(parser)
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="keep all attention of the answer, for `attnlens view` (.safetensors)",
    )
    parser.add_argument(
        "--no-evidence", action="store_true", help="skip the interventions: nothing tested"
    )
    parser.add_argument(
        "--seed", type=whole_number(0, MAX_SEED), default=0, metavar="N", help="of control sets"
    )
    parser.set_defaults(run=_explain)


def _explain(options: argparse.Namespace) -> int:
    check_files(options, "record")
    from attnlens.reference.text import TextModel, explain_text
    from attnlens.render.text_terminal import render_text

    model = TextModel.load(options.model)
    explanation = explain_text(
        model, options.sentence, evidence=not options.no_evidence, seed=options.seed
    )
    if options.record is not None:
        from attnlens.reference.text.text_claims import record_answer

        record_answer(model, options.sentence).save(options.record)
    return show(options, explanation.to_dict, partial(render_text, explanation))
