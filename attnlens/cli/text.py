"""``attnlens text``: sentences to sentences, explained."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import add_formats, add_out, given, whole
from attnlens.cli.output import (
    check_outputs,
    emit,
    emit_json,
    page,
    progress,
    since_now,
    utf8_stdout,
)
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.text.pairs import Pairs

MODEL = "seq2seq, which comes with attnlens, or a file that `text train` wrote"
MOST_SEED = 2**63 - 1


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "text",
        help="train, explain and examine an encoder-decoder of sentences",
        description="An encoder-decoder that reads a sentence and writes another: train it on a "
        "CSV of pairs, see which words its answer came from, and whether that holds.",
    )
    parser.set_defaults(run=_no_command)
    actions = parser.command_group("text_command")
    _add_train(actions)
    _add_explain(actions)
    _add_evaluate(actions)


def _no_command(options: argparse.Namespace) -> int:
    del options
    raise InputError("say what to do with text", remedy="give train, explain or evaluate")


def _add_csv_options(parser: argparse.ArgumentParser) -> None:
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


def _add_train(actions: Commands) -> None:
    parser = actions.add_parser(
        "train",
        help="train on a CSV of sentence pairs",
        description="Train an encoder-decoder on sentence pairs. A tenth of the inputs, and every "
        "pair of some combinations of answers, is held out, and how many of those are answered "
        "right is said. On one machine, the same pairs and seed give the same weights.",
    )
    _add_csv_options(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="the checkpoint to write")
    parser.add_argument("--epochs", type=whole(1, 10_000), metavar="N", help="default 30")
    parser.add_argument("--seed", type=whole(0, MOST_SEED), metavar="N", help="default 0")
    parser.add_argument("--batch", type=whole(1, 10_000), metavar="N", help="default 64")
    parser.add_argument(
        "--learning-rate", type=_share(1.0), metavar="X", help="at its highest (default 0.003)"
    )
    parser.add_argument(
        "--word-dropout",
        type=_share(0.9),
        metavar="X",
        help="share of words read as unknown, in half of the pairs (default 0.15)",
    )
    parser.add_argument(
        "--least-count",
        type=whole(1, 10_000),
        metavar="N",
        help="input words that occur less often are unknown (default 2)",
    )
    for name, most, told in (
        ("width", 4096, "of the vectors (default 64)"),
        ("heads", 64, "of each attention (default 4)"),
        ("d-ff", 16_384, "width inside the feed-forward networks (default 128)"),
        ("encoder-layers", 24, "default 1"),
        ("decoder-layers", 24, "default 1"),
        ("source-length", 256, "most tokens of an input (default those of the longest)"),
        ("target-length", 257, "most tokens of an output and its end (default likewise)"),
    ):
        parser.add_argument(f"--{name}", type=whole(1, most), metavar="N", help=told)
    parser.add_argument("--dropout", type=_share(0.9), metavar="X", help="default 0.1")
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
    add_formats(parser, ("text", "json", "html"))
    add_out(parser)
    parser.add_argument(
        "--html", metavar="FILE", help="write a page there too, with the positions drawn"
    )
    parser.add_argument(
        "--positions", action="store_true", help="draw what is added to each word for its place"
    )
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


def _add_evaluate(actions: Commands) -> None:
    parser = actions.add_parser(
        "evaluate",
        help="how many of a file's pairs are answered right",
        description="Whole answers and tokens right, on the pairs of a CSV that the model was "
        "kept from by its own rule: single inputs, and whole combinations. Exit 1 where there is "
        "none.",
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    _add_csv_options(parser)
    parser.add_argument(
        "--check",
        type=whole(0, 100_000),
        default=0,
        metavar="N",
        help="also test what every token looked at, on N held-out pairs (a fifth of a second each)",
    )
    parser.add_argument(
        "--seed", type=whole(0, MOST_SEED), default=0, metavar="N", help="of the pairs checked"
    )
    add_formats(parser)
    add_out(parser)
    parser.set_defaults(run=_evaluate, format="text")


def _share(most: float) -> Any:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {most:g}")
        return value

    return read


def _separator(text: str) -> str:
    sign = "\t" if text in ("tab", "\\t") else text
    if len(sign) != 1 or sign in '\r\n"' or not sign.isascii():
        raise argparse.ArgumentTypeError(f"{text!r} is not one sign, such as `;` or `tab`")
    return sign


def _pairs(options: argparse.Namespace) -> Pairs:
    from attnlens.text.pairs import read_pairs

    columns = None
    if options.columns is not None:
        columns = [name.strip() for name in options.columns.split(",")]
        if len(columns) != 2:
            raise InputError(
                f"--columns {options.columns!r} is not two names", remedy="give INPUT,OUTPUT"
            )
    return read_pairs(options.csv, columns=columns, separator=options.separator)


def _train(options: argparse.Namespace) -> int:
    check_outputs({"--out": options.out}, inputs=(options.csv,))
    pairs = _pairs(options)
    from attnlens.text.evaluation import Figures, summary
    from attnlens.text.pairs import Rule
    from attnlens.text.training import TextRecipe, TextSizes, train_text

    report = since_now()
    recipe = given(
        options, "epochs", "batch", "learning_rate", "word_dropout", "least_count", "seed"
    )
    sizes = given(
        options, "width", "heads", "d_ff", "encoder_layers", "decoder_layers", "dropout",
        "source_length", "target_length",
    )  # fmt: skip
    model = train_text(
        pairs,
        recipe=TextRecipe(**recipe),
        sizes=TextSizes(**sizes),
        rule=Rule.of(pairs.pairs, leading=options.leading),
        report=report,
    )
    model.save(options.out)
    held_out, new = (Figures(**one) for one in model.about["figures"].values())
    for line in summary(held_out, new):
        report(line)
    return 0


def _explain(options: argparse.Namespace) -> int:
    check_outputs(
        {"--out": options.out, "--html": options.html, "--record": options.record},
        inputs=(options.model,),
    )
    if options.positions and options.format == "json":
        raise InputError("--positions is a picture", remedy="leave --json out, or --positions")
    from attnlens.models.transformer import sinusoids
    from attnlens.text import TextModel, explain_text

    model = TextModel.load(options.model)
    explanation = explain_text(
        model, options.sentence, evidence=not options.no_evidence, seed=options.seed
    )
    sizes = model.network.sizes
    waves = sinusoids(len(explanation.input.tokens), sizes.width, sizes.base).tolist()
    if options.record is not None:
        from attnlens.text.explain import recorded

        recorded(model, options.sentence).save(options.record)
    if options.html is not None or options.format == "html":
        from attnlens.show.text_html import render_text_html

        told = render_text_html(explanation, waves)
        if options.html is not None:
            emit(told, options.html)
        if options.format == "html":
            utf8_stdout()
            emit(told, options.out)
    if options.format == "json":
        emit_json(explanation.to_dict(), options.out)
    elif options.format == "text":
        from attnlens.show.text_terminal import render_text

        text = render_text(
            explanation,
            **page(options.out),
            positions=waves if options.positions else None,
        )
        emit(text, options.out)
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    check_outputs({"--out": options.out}, inputs=(options.model, options.csv))
    pairs = _pairs(options)
    from attnlens.text import TextModel
    from attnlens.text.evaluation import evaluate, summary

    model = TextModel.load(options.model)
    data = evaluate(
        model,
        pairs,
        checked=options.check,
        seed=options.seed,
        told=lambda done: progress(f"testing claims: {done} of {options.check} answers"),
    )
    progress("")
    if options.format == "json":
        from dataclasses import asdict

        emit_json(asdict(data), options.out)
    else:
        lines = summary(data.held_out, data.new_combinations, data.checked)
        emit("\n".join(lines), options.out)
    return 0 if data.held_out.pairs + data.new_combinations.pairs else 1
