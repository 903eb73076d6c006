"""``attnlens models``, ``describe`` and ``trace``: the reference models from the inside."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import can_draw, check_outputs, emit, page_width, utf8_stdout

if TYPE_CHECKING:
    from attnlens.models.catalogue import Loaded, Reading, ReferenceModel

MODEL = "a name that `attnlens models` lists, or a checkpoint's file"


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    models = commands.add_parser(
        "models",
        help="list the reference models",
        description="List the reference models: what each is, where it comes from, how large it "
        "is, and what `trace` takes as its input.",
    )
    models.add_argument("--json", action="store_true", help="for programs")
    models.add_argument("--out", metavar="FILE", help="write there instead of to stdout")
    models.set_defaults(run=run_models)

    describe = commands.add_parser(
        "describe",
        help="a model as sizes, parameters and equations",
        description="Print a model's sizes, notation, parameters and equations with their "
        "shapes. All of it is derived from the live model by running it once: another model, "
        "another text.",
    )
    describe.add_argument("model", metavar="MODEL", help=MODEL)
    describe.add_argument(
        "--format",
        choices=("text", "markdown", "json", "latex"),
        default="text",
        help="default text; latex is a whole document",
    )
    _add_json(describe)
    describe.add_argument("--out", metavar="FILE", help="write there instead of to stdout")
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
        help="what comes in: for tiny 3,1,4,1,5; for attention rows such as 1,0,0,1;0,1,0,1 or "
        "a number of rows; for temporal a match file",
    )
    trace.add_argument("--ball", metavar="N", help="temporal: the ball, as `explain` names it")
    trace.add_argument("--innings", type=int, metavar="N", help="temporal: the innings")
    for who, does in (("batter", "faces"), ("bowler", "bowls")):
        words = f"temporal: who {does} (only with --ball next)"
        trace.add_argument(f"--{who}", metavar="NAME", help=words)
    _add_json(trace)
    trace.add_argument("--html", metavar="FILE", help="write a page of small heat maps")
    trace.add_argument("--out", metavar="FILE", help="write there instead of to stdout")
    trace.set_defaults(run=run_trace, format="text")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_const", const="json", dest="format", help="short for --format json"
    )


def run_models(options: argparse.Namespace) -> int:
    from attnlens.render.models import render_models

    check_outputs({"--out": options.out})
    listed = [_about(entry) for entry in _catalogue()]
    if options.json:
        _emit_json(listed, options.out)
        return 0
    unicode = options.out is not None or can_draw()
    emit(render_models(listed, width=page_width(options.out), unicode=unicode), options.out)
    return 0


def _catalogue() -> tuple[ReferenceModel, ...]:
    from attnlens.models.catalogue import MODELS

    return MODELS


def _about(entry: ReferenceModel) -> dict[str, Any]:
    """An entry as plain data, with the sizes of the model that comes with attnlens."""
    from attnlens.symbolic.description import sizes_of

    sizes = sizes_of(entry.loaded().module)
    return {
        "name": entry.name,
        "title": entry.title,
        "source": entry.source,
        "purpose": entry.purpose,
        "input": entry.written,
        "parameters": sizes.pop("parameters"),
        "sizes": sizes,
    }


def run_describe(options: argparse.Namespace) -> int:
    check_outputs({"--out": options.out})
    entry, loaded = _loaded(options.model)
    from attnlens.symbolic import describe

    reading = entry.reading(loaded)
    with _one_thread():
        told = describe(loaded.module, *reading.inputs, name=entry.name, **_of(reading)).to_dict()
    if options.format == "json":
        _emit_json(told, options.out)
        return 0
    from attnlens.render import description as forms

    if options.format == "text":
        unicode = options.out is not None or can_draw()
        emit(forms.render_description(told, unicode=unicode), options.out)
        return 0
    utf8_stdout()
    if options.format == "latex":
        emit(forms.render_description_latex(told), options.out)
    else:
        emit(forms.render_description_markdown(told), options.out)
    return 0


def run_trace(options: argparse.Namespace) -> int:
    check_outputs({"--out": options.out, "--html": options.html})
    entry, loaded = _loaded(options.model)
    from attnlens.symbolic import trace

    reading = entry.reading(loaded, options.input, vars(options))
    with _one_thread():
        traced = trace(
            loaded.module,
            *reading.inputs,
            name=entry.name,
            labels=reading.labels,
            about=reading.about,
            **_of(reading),
        ).to_dict()
    if options.html is not None:
        from attnlens.files import write_text
        from attnlens.render.trace_html import render_trace_html

        write_text(options.html, render_trace_html(traced) + "\n")
        if options.format == "text" and options.out is None:
            return 0
    if options.format == "json":
        _emit_json(traced, options.out)
        return 0
    from attnlens.render.trace import render_trace

    unicode = options.out is not None or can_draw()
    emit(render_trace(traced, width=page_width(options.out), unicode=unicode), options.out)
    return 0


def _loaded(name: str) -> tuple[ReferenceModel, Loaded]:
    from attnlens.models.catalogue import reference_model

    entry, path = reference_model(name)
    return entry, entry.loaded(path)


def _of(reading: Reading) -> dict[str, Any]:
    return {"names": reading.names, "axes": reading.axes, "batched": reading.batched}


def _one_thread() -> Any:
    from attnlens.cricket.window import one_thread

    return one_thread()


def _emit_json(data: Any, out: str | None) -> None:
    import json

    utf8_stdout()
    emit(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False), out)
