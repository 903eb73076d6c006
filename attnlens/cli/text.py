"""``attnlens text``: sentences to sentences, explained."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from attnlens.cli.options import MOST_SEED, add_formats, add_out, given, number, whole
from attnlens.cli.output import check_files, show, since_now
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.reference.text.sentences import SentencePairs

MODEL = "seq2seq, which comes with attnlens, or a file that `text train` wrote"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "text",
        help="train and explain an encoder-decoder of sentences",
        description="An encoder-decoder that reads a sentence and writes another: train it on a "
        "CSV of pairs, see which words its answer came from, and whether that holds.",
    )
    actions = parser.command_group("text_command", required=True)
    _add_train(actions)
    _add_explain(actions)


def _add_train(actions: Commands) -> None:
    parser = actions.add_parser(
        "train",
        help="train on a CSV of sentence pairs",
        description="Train an encoder-decoder on sentence pairs. A tenth of the inputs, and every "
        "pair of some combinations of answers, is held out, and how many of those are answered "
        "right is said. On one machine, the same pairs and seed give the same weights.",
    )
    parser.add_argument(
        "csv", metavar="CSV", help="sentence pairs, a pair a row, columns named in the first row"
    )
    parser.add_argument(
        "--columns",
        metavar="A,B",
        help="the names of the two columns, input first (default the first two)",
    )
    parser.add_argument(
        "--separator", type=_separator, default=",", metavar="C", help="default a comma; or `tab`"
    )
    parser.add_argument("--out", metavar="FILE", required=True, help="the checkpoint to write")
    for name, least, most, told in (
        ("epochs", 1, 10_000, "default 30"),
        ("seed", 0, MOST_SEED, "default 0"),
        ("batch", 1, 10_000, "default 64"),
        ("width", 1, 4096, "of the vectors (default 64)"),
        ("heads", 1, 64, "of each attention (default 4)"),
        ("d-ff", 1, 16_384, "width inside the feed-forward networks (default 128)"),
        ("encoder-layers", 1, 24, "default 1"),
        ("decoder-layers", 1, 24, "default 1"),
    ):
        parser.add_argument(f"--{name}", type=whole(least, most), metavar="N", help=told)
    parser.add_argument(
        "--learning-rate", type=number(0, 1), metavar="X", help="at its highest (default 0.003)"
    )
    parser.add_argument(
        "--leading",
        type=whole(0, 100),
        default=0,
        metavar="N",
        help="the first N tokens of an answer say who, not what: they are no part of the "
        "combinations that are held out (default 0)",
    )
    parser.set_defaults(run=_train)


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
        "--seed", type=whole(0, MOST_SEED), default=0, metavar="N", help="of control sets"
    )
    parser.set_defaults(run=_explain)


def _separator(text: str) -> str:
    sign = "\t" if text in ("tab", "\\t") else text
    if len(sign) != 1 or sign in '\r\n"' or not sign.isascii():
        raise argparse.ArgumentTypeError(f"{text!r} is not one sign, such as `;` or `tab`")
    return sign


def _pairs(options: argparse.Namespace) -> SentencePairs:
    from attnlens.reference.text.sentences import read_pairs

    columns = None
    if options.columns is not None:
        columns = [name.strip() for name in options.columns.split(",")]
        if len(columns) != 2:
            raise InputError(
                f"--columns {options.columns!r} is not two names", remedy="give INPUT,OUTPUT"
            )
    return read_pairs(options.csv, columns=columns, separator=options.separator)


def _train(options: argparse.Namespace) -> int:
    check_files(options)
    pairs = _pairs(options)
    from attnlens.reference.text.sentences import HeldOutRule
    from attnlens.reference.text.text_model import TextRecipe, TextSizes, train_text

    sizes = given(options, "width", "heads", "d_ff", "encoder_layers", "decoder_layers")
    model = train_text(
        pairs,
        recipe=TextRecipe(**given(options, "epochs", "batch", "learning_rate", "seed")),
        sizes=TextSizes(**sizes),
        rule=HeldOutRule.of(pairs.pairs, leading=options.leading),
        report=since_now(),
    )
    model.save(options.out)
    return 0


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
