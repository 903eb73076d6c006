"""``attnlens audit`` and ``attnlens record``: the attention of any model, tested and kept."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any, Final

from attnlens.cli.options import add_formats, add_out, whole_number
from attnlens.cli.output import check_outputs, emit, page, progress, utf8_stdout
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.audits.loading import ModelSource

MODEL: Final = (
    "a folder of a Hugging Face model, a GGUF file, or module:function, which returns "
    "(model, inputs) or (model, inputs, tokens)"
)
_FORMATS: Final = ("text", "html", "json", "md")
_BEGINS: Final = b'{"model":'
"""How each line of many audits begins."""

_MOST_TEXTS: Final = 64 << 20


def add_to(commands: Commands) -> None:
    _add_audit(commands)
    _add_record(commands)


def _add_audit(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit",
        help="what any model's answer rests on, by its attention, tested",
        description="Screen every head of a model by one forward with gradients, hide what they "
        "point at, and say what mattered. Sinks are named and left out. Nothing is downloaded.",
    )
    _add_path(parser)
    parser.add_argument(
        "--texts",
        metavar="FILE",
        help="many texts, one a line; a JSON object a line goes to "
        "--out, and a run that was stopped goes on where it was",
    )
    parser.add_argument(
        "--target",
        metavar="WHAT",
        help="a next token, a class, 'step 3', 'embedding' (default "
        "the likeliest token or class, the first step, or the embedding)",
    )
    parser.add_argument(
        "--layers", type=_layers, metavar="A-B", help="heads of these layers alone: 3, 0-5, 2,7-9"
    )
    parser.add_argument(
        "--heads",
        type=whole_number(0, 10_000),
        default=8,
        metavar="N",
        help="claims are made of so many heads, those screened highest (default 8)",
    )
    add_formats(parser, _FORMATS, help_text="default by the ending of --out, else {}")
    add_out(parser)
    parser.set_defaults(run=run, format=None)


def _add_record(commands: Commands) -> None:
    parser = commands.add_parser(
        "record",
        help="keep the attention of any model, for `attnlens view`",
        description="Run a model once and save every attention weight, with tokens as labels. "
        "Nothing is downloaded.",
    )
    _add_path(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="the recording to write")
    parser.set_defaults(run=_record)


def _add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help=MODEL)
    parser.add_argument("--text", metavar="WORDS", help="the input, in quotes")


def _layers(text: str) -> list[int]:
    """``2,7-9`` as layers."""
    layers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 9:
            raise argparse.ArgumentTypeError(f"{text!r} are no layers such as 3, 0-5 or 2,7-9")
        layers += range(int(first), int(last or first) + 1)
    return layers


def _inputs(options: argparse.Namespace, model: ModelSource) -> Any:
    """The text, or what the function gave.

    Raises:
        InputError: neither, or both.
    """
    if model.inputs is not None and options.text is not None:
        raise InputError("the function gives its own inputs", remedy="leave --text out")
    if model.inputs is None and options.text is None:
        raise InputError("there is no input", remedy="give --text WORDS")
    return options.text if model.inputs is None else model.inputs


def _check(options: argparse.Namespace, *read: str | None) -> None:
    """Whether ``--out`` can be written, and is nothing that is read."""
    inputs = [options.path, *filter(None, read)]
    check_outputs({"--out": options.out}, inputs=inputs)


def run(options: argparse.Namespace) -> int:
    _check(options, options.texts)
    if options.texts is not None:
        return _many(options)
    from attnlens.audits import audit
    from attnlens.render.audit import audit_markdown, audit_page, render_audit

    form = options.format or _form(options.out)
    model = _model(options)
    report = audit(
        model.model, _inputs(options, model), tokens=model.tokens, **_audit_options(options)
    )
    progress("")
    if form != "text":
        utf8_stdout()
    render = {
        "text": lambda report: render_audit(report, **page(options.out)),
        "html": audit_page,
        "json": lambda report: report.to_json(),
        "md": audit_markdown,
    }[form]
    emit(render(report), options.out)
    return 0


def _form(out: str | None) -> str:
    """What a file holds, by its ending.

    Raises:
        InputError: nothing that is known.
    """
    ending = os.path.splitext(out or "")[1]
    form = {"": "text", ".txt": "text", **{f".{name}": name for name in _FORMATS}}.get(
        ending.lower()
    )
    if form is None:
        raise InputError(
            f"'{ending}' is no form of an audit",
            path=out,
            remedy="end it in .html, .json, .md or .txt, or give --format",
        )
    return form


def _model(options: argparse.Namespace) -> ModelSource:
    from attnlens.audits.loading import load_model

    progress("loading the model")
    return load_model(options.path)


def _audit_options(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "target": options.target,
        "layers": options.layers,
        "heads": options.heads,
        "progress": progress,
    }


def _many(options: argparse.Namespace) -> int:
    """One text after the other, each audit a line of JSON."""
    from attnlens.audits import audit
    from attnlens.files import read_whole

    if options.text is not None or options.out is None or options.format not in (None, "json"):
        raise InputError(
            "--texts writes one JSON object a line", remedy="give --out FILE, and no --text"
        )
    data = read_whole(options.texts, _MOST_TEXTS, kind="file of texts", remedy="give a text a line")
    texts = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if not texts:
        raise InputError("holds no text", path=options.texts, remedy="give a text a line")
    done = _done(options.out, texts)
    model = _model(options) if done < len(texts) else None
    with open(options.out, "a", encoding="utf-8") as file:
        for at, text in enumerate(texts[done:], done):
            assert model is not None
            _bar(at, len(texts))
            report = audit(
                model.model,
                text,
                tokens=model.tokens,
                **{**_audit_options(options), "progress": lambda _: None},
            )
            file.write(json.dumps(report.to_dict(), ensure_ascii=False) + "\n")
            file.flush()
    progress("")
    return 0


def _bar(done: int, of: int) -> None:
    filled = 30 * done // of
    progress(f"{'█' * filled}{'░' * (30 - filled)} {done} of {of}")


def _done(out: str, texts: list[str]) -> int:
    """How many texts a file holds already; a last line cut short is taken away.

    Raises:
        InputError: it holds other texts, or no audits.
    """
    if not os.path.exists(out):
        return 0
    with open(out, "rb+") as file:
        *lines, rest = file.read().split(b"\n")
        ours = [_text_of(line) for line in lines] == texts[: len(lines)]
        if not ours or not (rest.startswith(_BEGINS) or _BEGINS.startswith(rest)):
            raise InputError(
                "holds other audits than of these texts", path=out, remedy="give another --out"
            )
        file.truncate(sum(len(line) + 1 for line in lines))
    return len(lines)


def _text_of(line: bytes) -> str | None:
    """The text that a line is an audit of."""
    try:
        text: str | None = json.loads(line)["inputs"][0]["text"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return text


def _record(options: argparse.Namespace) -> int:
    _check(options)
    from attnlens.audits.inputs import record_input

    model = _model(options)
    recording = record_input(model.model, _inputs(options, model), model.tokens)
    progress("")
    recording.save(options.out)
    return 0
