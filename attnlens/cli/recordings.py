"""``attnlens audit``, ``record`` and ``view``: the attention of any model, tested, kept, seen."""

from __future__ import annotations

import argparse
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attnlens.cli.arguments import (
    MAX_COUNT,
    Commands,
    Parser,
    add_formats,
    add_shared,
    given_options,
    whole_number,
)
from attnlens.cli.output import (
    check_files,
    emit,
    progress,
    progress_bar,
    say,
    show,
    utf8_stdout,
)
from attnlens.errors import InputError
from attnlens.files import lock, read_whole, render_json, write_text, writing

if TYPE_CHECKING:
    from io import FileIO

    from attnlens.audits.loading import ModelSource
    from attnlens.files import Json
    from attnlens.recording.recording import Recording

_MODEL_HELP: Final = (
    "a folder of a Hugging Face model, a GGUF file, or module:function, which returns "
    "(model, inputs) or (model, inputs, tokens)"
)
_FORMATS: Final = ("text", "html", "json", "md")
_BEGINS: Final = b'{"model":'
"""How each line of many audits begins."""

_MAX_TEXTS_BYTES: Final = 64 << 20


def add_audit(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit",
        run=_run_audit,
        help="what any model's answer rests on, by its attention, tested",
        description="Screen every head of a model by one forward with gradients, hide what they "
        "point at, and say what mattered. Sinks are named and left out. Nothing is downloaded.",
    )
    _add_path(parser)
    parser.option(
        "--texts",
        "FILE",
        "many texts, one a line; a JSON object a line goes to "
        "--out, and a run that was stopped goes on where it was",
    )
    parser.option(
        "--target",
        "WHAT",
        "a next token, a class, 'step 3', 'embedding' (default "
        "the likeliest token or class, the first step, or the embedding)",
    )
    parser.option("--layers", "A-B", "heads of these layers alone: 3, 0-5, 2,7-9", type=_layers)
    parser.option(
        "--heads",
        "N",
        "claims are made of so many heads, those screened highest (default 8)",
        type=whole_number(0, 10_000),
        default=8,
    )
    add_formats(parser, _FORMATS, help_text="default by the ending of --out, else {}")
    add_shared(parser, "--out")
    parser.set_defaults(format=None)


def add_record(commands: Commands) -> None:
    parser = commands.add_parser(
        "record",
        run=_run_record,
        help="keep the attention of any model, for `attnlens view`",
        description="Run a model once and save every attention weight, with tokens as labels. "
        "Nothing is downloaded. With --from-qk: the attention of queries and keys that a serving "
        "engine captured.",
    )
    _add_path(parser, nargs="?")
    parser.option(
        "--from-qk",
        "FILE",
        "a safetensors file with SITE.q, SITE.k, and if known SITE.mask and SITE.scale",
    )
    add_shared(parser, "--out", required=True, help="the recording to write")


def _add_path(parser: Parser, **more: Any) -> None:
    parser.option("path", "PATH", _MODEL_HELP, **more)
    parser.option("--text", "WORDS", "the input, in quotes")


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
    """The text, or what the function gave."""
    if model.inputs is not None and options.text is not None:
        raise InputError("the function gives its own inputs", remedy="leave --text out")
    if model.inputs is None and options.text is None:
        raise InputError("there is no input", remedy="give --text WORDS")
    return options.text if model.inputs is None else model.inputs


def _run_audit(options: argparse.Namespace) -> int:
    check_files(options)
    if options.texts is not None:
        return _audit_texts(options)
    from attnlens.audits import audit
    from attnlens.render.audit import audit_markdown, audit_page, render_audit

    options.format = options.format or _format_of(options.out)
    model = _model(options)
    inputs = _inputs(options, model)
    chosen = given_options(options, "target", "layers", "heads")
    report = audit(model.model, inputs, tokens=model.tokens, progress=progress, **chosen)
    progress("")
    return show(
        options,
        report.to_dict,
        partial(render_audit, report),
        html=lambda: audit_page(report),
        md=lambda: audit_markdown(report),
    )


def _format_of(out: str | None) -> str:
    """What a file holds, by its ending."""
    ending = os.path.splitext(out or "")[1]
    formats = {"": "text", ".txt": "text", **{f".{name}": name for name in _FORMATS}}
    if ending.lower() not in formats:
        raise InputError(
            f"'{ending}' is no form of an audit",
            path=out,
            remedy="end it in .html, .json, .md or .txt, or give --format",
        )
    return formats[ending.lower()]


def _model(options: argparse.Namespace) -> ModelSource:
    from attnlens.audits.loading import load_model

    progress("loading the model")
    return load_model(options.path)


def _audit_texts(options: argparse.Namespace) -> int:
    """One text after the other, each audit a line of JSON."""
    from attnlens.audits import audit

    if options.text is not None or options.out is None or options.format not in (None, "json"):
        raise InputError(
            "--texts writes one JSON object a line", remedy="give --out FILE, and no --text"
        )
    data = read_whole(
        options.texts, _MAX_TEXTS_BYTES, kind="file of texts", remedy="give a text a line"
    )
    texts = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if not texts:
        raise InputError("holds no text", path=options.texts, remedy="give a text a line")
    with writing(options.out):
        done, _ = _audits_in(options.out, texts)
    if done == len(texts):
        return 0
    model = _model(options)
    chosen = given_options(options, "target", "layers", "heads")
    # Unbuffered, so that nothing is left to write if the disk is full.
    with writing(options.out), open(options.out, "ab", buffering=0) as file:
        if not lock(file.fileno()):
            raise InputError(
                "is being written by another process",
                path=options.out,
                remedy="wait until that has ended, or give another --out",
            )
        # Another process may have gone on while the model was read.
        done, whole_bytes = _audits_in(options.out, texts)
        file.truncate(whole_bytes)
        for number in range(done, len(texts)):
            progress_bar(number, len(texts), "texts audited")
            report = audit(model.model, texts[number], tokens=model.tokens, **chosen)
            _append(file, json.dumps(report.to_dict(), ensure_ascii=False).encode() + b"\n")
    progress("")
    return 0


def _append(file: FileIO, line: bytes) -> None:
    """Write a whole line or, where the disk is full, none."""
    end, written = file.seek(0, os.SEEK_END), 0
    try:
        while written < len(line):
            written += file.write(line[written:])
    except OSError:
        file.truncate(end)
        raise


def _audits_in(out: str, texts: list[str]) -> tuple[int, int]:
    """How many texts a file holds already, and their bytes: a last line may be cut short."""
    if not os.path.exists(out):
        return 0, 0
    with open(out, "rb+") as file:
        *lines, rest = file.read().split(b"\n")
    ours = [_text_of(line) for line in lines] == texts[: len(lines)]
    if not ours or not (rest.startswith(_BEGINS) or _BEGINS.startswith(rest)):
        raise InputError(
            "holds other audits than of these texts", path=out, remedy="give another --out"
        )
    return len(lines), sum(len(line) + 1 for line in lines)


def _text_of(line: bytes) -> str | None:
    """The text that a line is an audit of."""
    try:
        text: str | None = json.loads(line)["inputs"][0]["text"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return text


def _run_record(options: argparse.Namespace) -> int:
    check_files(options)
    if options.from_qk is not None:
        from attnlens.recording.recording import recording_of_captured

        if options.path is not None or options.text is not None:
            raise InputError("--from-qk needs no model", remedy="leave PATH and --text out")
        recording_of_captured(options.from_qk).save(options.out)
        return 0
    if options.path is None:
        raise InputError("there is no model", remedy="give PATH, or --from-qk FILE")
    from attnlens.audits.inputs import record_input

    model = _model(options)
    recording = record_input(model.model, _inputs(options, model), model.tokens)
    progress("")
    recording.save(options.out)
    return 0


def add_view(commands: Commands) -> None:
    parser = commands.add_parser(
        "view",
        run=_run_view,
        help="look at a saved recording of any model",
        description="Show a recording that was saved with `recording.save(FILE)`: one HTML page "
        "with every site's heat maps, which needs no network and no other file. It is opened in "
        "the browser, or written to FILE with --out. --json tells the sites and the strongest "
        "keys of a query.",
    )
    parser.option("recording", "RECORDING", "a saved recording")
    parser.option("--site", "NAME", "only this site")
    parser.option("--batch", "B", "only this batch: a label, or a number from 0")
    parser.option("--head", "H", "only this head, likewise")
    parser.option("--query", "Q", "only this query, likewise; --json: default last")
    parser.option(
        "--top", "N", "strongest keys told; default 8", type=whole_number(1, MAX_COUNT), default=8
    )
    add_formats(parser, ("html", "json"))
    add_shared(parser, "--out", help="write there, and open nothing")
    parser.flag("--no-browser", "open nothing; the page's path is printed")


def _run_view(options: argparse.Namespace) -> int:
    check_files(options)
    progress("reading the recording")
    recording = _chosen_records(options)
    if options.format == "html":
        _show_page(options, recording)
        return 0
    data = _recording_data(options, recording)
    progress("")
    utf8_stdout()
    # A label can hold half a character, which UTF-8 cannot.
    emit(render_json(data).encode("utf-8", "replace").decode("utf-8"), options.out)
    return 0


def recording_of(path: str) -> Recording:
    """A saved recording that holds a record at least."""
    from attnlens.recording.recording import load_recording

    recording = load_recording(path)
    if not recording:
        raise InputError("holds no record", path=path, remedy="record something")
    return recording


def _chosen_records(options: argparse.Namespace) -> Recording:
    from attnlens.attention.views import choose

    recording = recording_of(options.recording)
    choice = {name: getattr(options, name) for name in ("site", "batch", "head", "query")}
    try:
        return choose(recording, **choice)
    except InputError as error:
        raise InputError(error.problem, path=options.recording, remedy=error.remedy) from None


def _recording_data(options: argparse.Namespace, recording: Recording) -> Json:
    """Sites, and rows of the first: the last query of each head, unless others were asked for."""
    from attnlens.attention.views import has_weights, rows_data, sites_data

    rows = []
    if options.query is not None or options.site is not None:
        chosen = recording.records()
    else:
        chosen = recording.records()[:1]
    for record in filter(has_weights, chosen):
        names = [axis.name for axis in record.axes]
        if options.query is None and "query" in names:
            record = record.sel(query=-1)
        if options.batch is None and "batch" in names:
            record = record.sel(batch=0)
        rows += rows_data(record, options.top)
    return {
        "recording": _name(options.recording),
        "sites": sites_data(recording),
        "rows": rows,
    }


def _name(path: str) -> str:
    name = os.path.basename(os.path.normpath(path))
    return name.encode("utf-8", "replace").decode("utf-8")


def _show_page(options: argparse.Namespace, recording: Recording) -> None:
    from attnlens.attention.views import maps_data
    from attnlens.render.page import render_recording_page

    progress("working out the heat maps")
    data = maps_data(recording)
    text = render_recording_page(data, name=_name(options.recording))
    progress("")
    if options.out is not None:
        write_text(options.out, text)
        return
    from tempfile import mkstemp

    handle, path = mkstemp(prefix="attnlens-", suffix=".html")
    with writing(path), os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    print(path, flush=True)
    if options.no_browser:
        return
    import webbrowser

    if not webbrowser.open(Path(path).as_uri()):
        say("no browser could be opened; open the file above")
