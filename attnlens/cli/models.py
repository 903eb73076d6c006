"""``attnlens models``, ``describe`` and ``trace``: the reference models from the inside."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from attnlens.cli.options import add_formats, add_out
from attnlens.cli.output import check_files, emit, show, utf8_stdout
from attnlens.cli.parser import Commands

if TYPE_CHECKING:
    from attnlens.files import Json
    from attnlens.reference.catalogue import LoadedModel, ReferenceModel
    from attnlens.reference.symbolic import Description, Trace
    from attnlens.render.canvas import Page

MODEL = "a name that `attnlens models` lists, or a checkpoint's file"


def add_to(commands: Commands) -> None:
    models = commands.add_parser(
        "models",
        help="list the reference models",
        description="List the reference models: what each is, where it comes from, how large it "
        "is, and what `trace` takes as its input.",
    )
    add_formats(models)
    add_out(models)
    models.set_defaults(run=run_models)

    describe = commands.add_parser(
        "describe",
        help="a model as sizes, parameters and equations",
        description="Print a model's sizes, notation, parameters and equations with their "
        "shapes. All of it is derived from the live model by running it once: another model, "
        "another text.",
    )
    describe.add_argument("model", metavar="MODEL", help=MODEL)
    add_formats(
        describe,
        ("text", "markdown", "json", "latex"),
        help_text="default {}; latex is a whole document",
    )
    add_out(describe)
    describe.set_defaults(run=run_describe)

    trace = commands.add_parser(
        "trace",
        help="every number of a forward pass, named as in the equations",
        description="Run a model on one input and print every intermediate result under its "
        "equation. Each equation is worked out again by numpy from the numbers shown, and the "
        "largest difference is told.",
    )
    trace.add_argument("model", metavar="MODEL", help=MODEL)
    trace.add_argument(
        "input",
        metavar="INPUT",
        help="what comes in: for tiny 3,1,4,1,5; for attention rows such as 1,0,0,1;0,1,0,1; "
        "for temporal and cricket a match file",
    )
    trace.add_argument("--ball", metavar="N", help="temporal: the ball, as `explain` names it")
    trace.add_argument("--over", metavar="N", help="cricket: the over, as `over` names it")
    trace.add_argument("--innings", type=int, metavar="N", help="temporal, cricket: the innings")
    add_formats(trace)
    add_out(trace)
    # Rows of numbers may begin with a minus, and are no option.
    trace._negative_number_matcher = re.compile(r"-[0-9.]")
    trace.set_defaults(run=run_trace)


def run_models(options: argparse.Namespace) -> int:
    from attnlens.render.canvas import terminal_page

    check_files(options)
    listed = [model_summary(entry) for entry in catalogue()]
    render_models = terminal_page(min_width=1, max_width=1000)(_add_models)
    return show(options, lambda: listed, partial(render_models, listed))


def _add_models(page: Page, models: Sequence[Json]) -> None:
    """A paragraph for each model."""
    for model in models:
        page.blank()
        heading = "{name}: {title}, {parameters:,} parameters"
        page.paragraph(heading.format(**model), indent=0)
        page.paragraph(f"for: {model['purpose']}")
        if sizes := ", ".join(f"{name} {value}" for name, value in model["sizes"].items()):
            page.paragraph(f"sizes: {sizes}")
        page.paragraph(f"source: {model['source']}")
        page.paragraph(f"input of `trace`: {model['input']}")


def catalogue() -> tuple[ReferenceModel, ...]:
    """Every reference model."""
    from attnlens.cricket.reference_models import MODELS

    return MODELS


def model_summary(entry: ReferenceModel) -> Json:
    """An entry with the sizes of the model that comes with attnlens."""
    from attnlens.reference.symbolic.equations import sizes_of

    sizes = sizes_of(entry.loaded().module)
    return {
        **{name: getattr(entry, name) for name in ("name", "title", "source", "purpose")},
        "input": entry.written,
        "parameters": int(sizes.pop("parameters")),
        "sizes": sizes,
    }


def run_describe(options: argparse.Namespace) -> int:
    check_files(options)
    description = describe_entry(*_loaded(options.model))
    if options.format in ("text", "json"):
        return show(options, description.to_dict, lambda **_: str(description))
    utf8_stdout()
    document = description.latex() if options.format == "latex" else description.markdown()
    emit(document, options.out)
    return 0


def run_trace(options: argparse.Namespace) -> int:
    check_files(options)
    entry, loaded = _loaded(options.model)
    input_options = {name: getattr(options, name) for name in entry.options}
    trace = trace_entry(entry, loaded, options.input, **input_options)
    return show(options, trace.to_dict, lambda width, **_: trace.text(width))


def _loaded(name: str) -> tuple[ReferenceModel, LoadedModel]:
    from attnlens.cricket.reference_models import reference_model

    entry, path = reference_model(name)
    return entry, entry.loaded(path)


def describe_entry(entry: ReferenceModel, loaded: LoadedModel) -> Description:
    """The description of a model."""
    from attnlens.reference import one_thread
    from attnlens.reference.symbolic import describe

    reading = entry.reading(loaded)
    with one_thread():
        return describe(loaded.module, *reading.inputs, name=entry.name, **reading.describe_args)


def trace_entry(
    entry: ReferenceModel,
    loaded: LoadedModel,
    text: str | None = None,
    **kwargs: str | int | None,
) -> Trace:
    """A forward pass.

    Raises:
        InputError: the text is no input of this model.
    """
    from attnlens.reference import one_thread
    from attnlens.reference.symbolic import trace

    reading = entry.reading(loaded, text, **kwargs)
    with one_thread():
        return trace(
            loaded.module,
            *reading.inputs,
            name=entry.name,
            labels=reading.labels,
            caption=reading.caption,
            **reading.describe_args,
        )
