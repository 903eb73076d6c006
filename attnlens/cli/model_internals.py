"""Commands about reference models: ``models``, ``describe``, ``trace`` and ``text``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from attnlens.cli.arguments import MAX_SEED, Commands, add_formats, add_shared, whole_number
from attnlens.cli.output import check_files, show

if TYPE_CHECKING:
    from attnlens.files import Json
    from attnlens.reference.catalogue import LoadedModel, ReferenceModel
    from attnlens.render.canvas import Page

_MODEL_HELP = "a name from the list of `attnlens models`, or a checkpoint file"
_TEXT_MODEL_HELP = "seq2seq (included in attnlens), or a file written by `lab text-train`"


def add_models(commands: Commands) -> None:
    parser = commands.add_parser(
        "models",
        run=_run_models,
        help="list the reference models, which `describe` and `trace` accept",
        description="List the reference models. For each model, print its source, purpose and "
        "sizes, and the kind of input that `trace` accepts.",
    )
    add_formats(parser)
    add_shared(parser, "--out")


def _run_models(options: argparse.Namespace) -> int:
    from attnlens.cricket.reference_models import MODELS
    from attnlens.render.canvas import terminal_page

    check_files(options)
    models = [_model_data(model) for model in MODELS]
    render_models = terminal_page(min_width=1, max_width=1000)(_add_models_to_page)
    return show(options, lambda: models, partial(render_models, models))


def _add_models_to_page(page: Page, models: Sequence[Json]) -> None:
    for model in models:
        page.blank()
        heading = "{name}: {title}, {parameters:,} parameters"
        page.paragraph(heading.format(**model), indent=0)
        page.paragraph(f"purpose: {model['purpose']}")
        if sizes := ", ".join(f"{name} {value}" for name, value in model["sizes"].items()):
            page.paragraph(f"sizes: {sizes}")
        page.paragraph(f"source: {model['source']}")
        page.paragraph(f"input of `trace`: {model['input']}")


def _model_data(entry: ReferenceModel) -> Json:
    from attnlens.reference.symbolic.equations import sizes_of

    sizes = sizes_of(entry.loaded().module)
    return {
        **{name: getattr(entry, name) for name in ("name", "title", "source", "purpose")},
        "input": entry.written,
        "parameters": int(sizes.pop("parameters")),
        "sizes": sizes,
    }


def add_describe(commands: Commands) -> None:
    parser = commands.add_parser(
        "describe",
        run=_run_describe,
        help="print a model's sizes, parameters and equations",
        description="Print a model's sizes, notation, parameters, and equations with their "
        "shapes. attnlens derives the equations from one run of the model.",
    )
    parser.option("model", "MODEL", _MODEL_HELP)
    formats = ("text", "markdown", "json", "latex")
    add_formats(
        parser, formats, help_text="the output format (default {}); latex is a complete document"
    )
    add_shared(parser, "--out")


def _run_describe(options: argparse.Namespace) -> int:
    check_files(options)
    from attnlens.reference import one_thread
    from attnlens.reference.symbolic import describe

    entry, loaded = _load(options.model)
    reading = entry.reading(loaded)
    with one_thread():
        description = describe(
            loaded.module, *reading.inputs, name=entry.name, **reading.describe_args
        )
    return show(
        options,
        description.to_dict,
        lambda **_: str(description),
        latex=description.latex,
        markdown=description.markdown,
    )


def add_trace(commands: Commands) -> None:
    parser = commands.add_parser(
        "trace",
        run=_run_trace,
        help="print every intermediate result of a forward pass, named as in the equations",
        description="Run a model on one input, and print every intermediate result below its "
        "equation. Then recompute each equation in NumPy from the printed numbers, and print the "
        "largest difference from the model's result.",
    )
    parser.option("model", "MODEL", _MODEL_HELP)
    parser.option(
        "input",
        "INPUT",
        "the input: five tokens such as 3,1,4,1,5 for the model tiny; rows such as "
        "1,0,0,1;0,1,0,1 for attention; a sentence for seq2seq; a match file for temporal and "
        "cricket",
    )
    parser.option(
        "--ball",
        "N",
        "the ball to trace, named as for `explain --ball` (only for the model temporal)",
    )
    parser.option(
        "--over", "N", "the over to trace, named as for `over --over` (only for the model cricket)"
    )
    parser.option(
        "--innings",
        "N",
        "the innings, counted from 1 (only for the models temporal and cricket)",
        type=int,
    )
    add_formats(parser)
    add_shared(parser, "--out")
    # A row of numbers that begins with a minus sign is not an option.
    parser._negative_number_matcher = re.compile(r"-[0-9.]")


def _run_trace(options: argparse.Namespace) -> int:
    check_files(options)
    from attnlens.reference import one_thread
    from attnlens.reference.symbolic import trace

    entry, loaded = _load(options.model)
    input_options = {name: getattr(options, name) for name in entry.options}
    reading = entry.reading(loaded, options.input, **input_options)
    with one_thread():
        result = trace(
            loaded.module,
            *reading.inputs,
            name=entry.name,
            labels=reading.labels,
            caption=reading.caption,
            **reading.describe_args,
        )
    return show(options, result.to_dict, lambda width, **_: result.text(width))


def _load(name: str) -> tuple[ReferenceModel, LoadedModel]:
    from attnlens.cricket.reference_models import reference_model

    entry, path = reference_model(name)
    return entry, entry.loaded(path)


def add_text(commands: Commands) -> None:
    parser = commands.add_parser(
        "text",
        help="explain an encoder-decoder for sentences",
        description="Explain an encoder-decoder, which reads one sentence and writes another. "
        "Show which words the model attended to while it wrote the answer, and test whether "
        "hiding those words changes the answer. `lab text-train` trains such a model.",
    )
    actions = parser.command_group("text_command", required=True)
    parser = actions.add_parser(
        "explain",
        run=_run_text_explain,
        help="show which words of a sentence the model attended to for each word of the answer",
        description="Print the answer token by token, with the probability of each token, and "
        "the words that each token attended to. Then test whether removing those "
        "words has a larger effect than removing other words.",
    )
    parser.option("model", "MODEL", _TEXT_MODEL_HELP)
    parser.option("sentence", "WORDS", "the sentence, in quotes")
    add_formats(parser)
    add_shared(parser, "--out")
    parser.option(
        "--record",
        "FILE",
        "save all attention weights of the answer in this .safetensors file, for `attnlens view`",
    )
    add_shared(parser, "--no-evidence", help="do not hide any word, so no claim is tested")
    parser.option(
        "--seed",
        "N",
        "seed of the random control sets (default 0)",
        type=whole_number(0, MAX_SEED),
        default=0,
    )


def _run_text_explain(options: argparse.Namespace) -> int:
    check_files(options, "record")
    from attnlens.reference.text import explain_text, record_answer
    from attnlens.reference.text_model import TextModel
    from attnlens.render.text_terminal import render_text

    model = TextModel.load(options.model)
    explanation = explain_text(
        model, options.sentence, evidence=not options.no_evidence, seed=options.seed
    )
    if options.record is not None:
        record_answer(model, options.sentence).save(options.record)
    return show(options, explanation.to_dict, partial(render_text, explanation))
