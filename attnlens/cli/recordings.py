"""Commands about the attention of any model: ``audit``, ``record`` and ``view``."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
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
    page,
    progress,
    progress_bar,
    say,
    show,
    utf8_stdout,
)
from attnlens.errors import InputError
from attnlens.files import lock, read_whole, render_json, size_of, write_text, writing

if TYPE_CHECKING:
    from io import FileIO

    from attnlens.audits.loading import ModelSource
    from attnlens.child import Report
    from attnlens.files import Json
    from attnlens.recording.recording import Recording

_MODEL_HELP: Final = (
    "a Hugging Face model folder, a GGUF file, or module:function; the function must return "
    "(model, inputs) or (model, inputs, tokens)"
)
_FORMATS: Final = ("text", "html", "json", "md")
_BEGINS: Final = b'{"model":'
"""The start of every line in a file of several audits."""

_MAX_TEXTS_BYTES: Final = 64 << 20

_BASE_MEMORY: Final = 2 << 30
_MEMORY_PER_BYTE: Final = 12
"""The memory in bytes for each byte of the recording: 16-bit weights become 32-bit copies."""
_MAX_CPU_SECONDS: Final = 240
_MAX_SECONDS: Final = 120.0


def add_audit(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit",
        run=_run_audit,
        help="test which inputs a model's answer depends on",
        description="Screen every head of a model in one forward pass with gradients. Then hide "
        "the inputs that the heads attend to, and report which inputs mattered. Attention sinks "
        "are listed and excluded from the claims. Nothing is downloaded.",
    )
    _add_path(parser)
    parser.option(
        "--texts",
        "FILE",
        "a file with one text per line; one JSON object per text is written to --out, and an "
        "interrupted run resumes at the next text",
    )
    parser.option(
        "--target",
        "WHAT",
        "the output to explain: a next token, a class, 'step 3' or 'embedding' "
        "(default: the likeliest token or class, the first step, or the embedding)",
    )
    parser.option(
        "--layers",
        "A-B",
        "report only the heads of these layers, such as 3, 0-5 or 2,7-9",
        type=_layers,
    )
    parser.option(
        "--heads",
        "N",
        "test claims about this many heads: the heads with the highest screening scores (default "
        "8)",
        type=whole_number(0, 10_000),
        default=8,
    )
    add_formats(
        parser,
        _FORMATS,
        help_text="the output format (default: given by the suffix of --out, or "
        "{} without a suffix)",
    )
    add_shared(parser, "--out")
    parser.set_defaults(format=None)


def add_record(commands: Commands) -> None:
    parser = commands.add_parser(
        "record",
        run=_run_record,
        help="save the attention weights of any model, for `attnlens view`",
        description="Run a model once and save every attention weight, with tokens as labels. "
        "Nothing is downloaded. With --from-qk, compute the attention weights from "
        "queries and keys that a serving engine captured.",
    )
    _add_path(parser, nargs="?")
    parser.option(
        "--from-qk",
        "FILE",
        "a safetensors file with SITE.q and SITE.k, and optionally SITE.mask and SITE.scale",
    )
    add_shared(parser, "--out", required=True, help="the recording file to write")


def _add_path(parser: Parser, **more: Any) -> None:
    parser.option("path", "PATH", _MODEL_HELP, **more)
    parser.option("--text", "WORDS", "the input, in quotes")


def _layers(text: str) -> list[int]:
    layers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 9:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a list of layers such as 3, 0-5 or 2,7-9"
            )
        layers += range(int(first), int(last or first) + 1)
    return layers


def _run_audit(options: argparse.Namespace) -> int:
    check_files(options)
    if options.texts is not None:
        return _audit_texts(options)
    options.format = options.format or _format_of(options.out)
    chosen = given_options(options, "target", "layers", "heads")
    form = {"format": options.format, "drawn": page(options.out)}
    (answer,) = _of_model(options, audited, text=options.text, chosen=chosen, **form)
    progress("")
    documents = dict.fromkeys(_FORMATS[1:], lambda: answer)
    return show(options, documents.pop("json"), lambda **_: answer, **documents)


def _of_model(
    options: argparse.Namespace, function: Callable[..., Any], **question: Any
) -> Iterator[Any]:
    """Run ``function`` on the user's model, and yield each result.

    Model files are not trusted, so ``function`` opens them in a separate process. A model given as
    ``module:function`` is the user's own code, and runs in this process.
    """
    from attnlens.audits.loading import check_model, model_bounds
    from attnlens.child import answers_of_child

    question["path"] = options.path
    if check_model(options.path):
        answer = function(**question, report=progress)
        yield from answer if isinstance(answer, Iterator) else (answer,)
        return
    bounds = replace(model_bounds(options.path), writes=function is recorded)
    name = f"{__name__}:{function.__name__}"
    yield from answers_of_child(name, question, bounds, path=options.path, report=progress)


def audited(
    path: str, text: str | None, chosen: Json, format: str, drawn: Json, report: Report
) -> str | Json:
    """Return the audit of a model as a text, or as plain data for the format ``json``."""
    from attnlens.audits import audit
    from attnlens.render.audit import audit_markdown, audit_page, render_audit

    model, inputs = _model_and_inputs(path, text, report)
    result = audit(model.model, inputs, tokens=model.tokens, progress=report, **chosen)
    if format == "json":
        return result.to_dict()
    if format == "text":
        return render_audit(result, **drawn)
    return audit_page(result) if format == "html" else audit_markdown(result)


def audited_texts(path: str, texts: list[str], chosen: Json, report: Report) -> Iterator[Json]:
    """Yield the audit of each text as plain data."""
    from attnlens.audits import audit
    from attnlens.audits.loading import load_model

    report("loading the model")
    model = load_model(path)
    for text in texts:
        yield audit(model.model, text, tokens=model.tokens, **chosen).to_dict()


def recorded(path: str, text: str | None, out: str, report: Report) -> None:
    """Run a model once, and save the recording to ``out``."""
    from attnlens.audits.inputs import record_input

    model, inputs = _model_and_inputs(path, text, report)
    record_input(model.model, inputs, model.tokens).save(out)


def _model_and_inputs(path: str, text: str | None, report: Report) -> tuple[ModelSource, Any]:
    from attnlens.audits.loading import load_model

    report("loading the model")
    model = load_model(path)
    if model.inputs is not None and text is not None:
        raise InputError(
            "the function in PATH returns its own inputs, so --text cannot be used",
            remedy="leave --text out",
        )
    if model.inputs is None and text is None:
        raise InputError("no input was given", remedy="give --text WORDS")
    return model, text if model.inputs is None else model.inputs


def _format_of(out: str | None) -> str:
    ending = os.path.splitext(out or "")[1]
    formats = {"": "text", ".txt": "text", **{f".{name}": name for name in _FORMATS}}
    if ending.lower() not in formats:
        raise InputError(
            f"an audit cannot be written as '{ending}'",
            path=out,
            remedy="end the file name in .html, .json, .md or .txt, or give --format",
        )
    return formats[ending.lower()]


def _audit_texts(options: argparse.Namespace) -> int:
    """Write each audit as one line of JSON, and skip texts that the output file contains."""
    if options.text is not None or options.out is None or options.format not in (None, "json"):
        raise InputError(
            "--texts writes one JSON object per text to a file",
            remedy="give --out FILE, omit --text, and use no --format except json",
        )
    data = read_whole(
        options.texts, _MAX_TEXTS_BYTES, kind="file of texts", remedy="write one text per line"
    )
    texts = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if not texts:
        raise InputError("contains no text", path=options.texts, remedy="write one text per line")
    with writing(options.out):
        done, _ = _audits_in(options.out, texts)
    if done == len(texts):
        return 0
    is_new = not os.path.exists(options.out)
    # With a buffer, unwritten data would remain if the disk is full.
    with writing(options.out), open(options.out, "ab", buffering=0) as file:
        if not lock(file.fileno()):
            raise InputError(
                "is being written by another process",
                path=options.out,
                remedy="wait until that process has ended, or give another --out",
            )
        # Another process may have written to the file before this one locked it.
        done, whole_bytes = _audits_in(options.out, texts)
        file.truncate(whole_bytes)
        if done == len(texts):
            return 0
        chosen = given_options(options, "target", "layers", "heads")
        audits = _of_model(options, audited_texts, texts=texts[done:], chosen=chosen)
        try:
            for number, report in enumerate(audits, done + 1):
                _append(file, json.dumps(report, ensure_ascii=False).encode() + b"\n")
                progress_bar(number, len(texts), "texts audited")
        finally:
            # If no audit was written, leave no empty file behind.
            if is_new and not os.path.getsize(options.out):
                os.unlink(options.out)
    progress("")
    return 0


def _append(file: FileIO, line: bytes) -> None:
    end, written = file.seek(0, os.SEEK_END), 0
    try:
        while written < len(line):
            written += file.write(line[written:])
    except OSError:
        file.truncate(end)
        raise


def _audits_in(out: str, texts: list[str]) -> tuple[int, int]:
    """Return the number of complete lines in an output file, and their length in bytes."""
    if not os.path.exists(out):
        return 0, 0
    with open(out, "rb+") as file:
        *lines, rest = file.read().split(b"\n")
    ours = [_text_of(line) for line in lines] == texts[: len(lines)]
    if not ours or not (rest.startswith(_BEGINS) or _BEGINS.startswith(rest)):
        raise InputError("contains audits of other texts", path=out, remedy="give another --out")
    return len(lines), sum(len(line) + 1 for line in lines)


def _text_of(line: bytes) -> str | None:
    try:
        text: str | None = json.loads(line)["inputs"][0]["text"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return text


def _run_record(options: argparse.Namespace) -> int:
    check_files(options)
    captured = options.from_qk is not None
    if captured and (options.path is not None or options.text is not None):
        raise InputError(
            "--from-qk reads captured queries and keys, so no model or text can be given",
            remedy="leave out PATH and --text",
        )
    if not captured and options.path is None:
        raise InputError("no model was given", remedy="give PATH, or --from-qk FILE")
    from tempfile import TemporaryDirectory

    # The temporary files are in a separate folder. This folder is removed even if the process that
    # writes the files is killed.
    folder = os.path.dirname(os.path.abspath(options.out))
    with writing(options.out), TemporaryDirectory(dir=folder, prefix=".attnlens-") as beside:
        part = os.path.join(beside, "recording")
        try:
            if captured:
                _of_recording(options.from_qk, recorded_captured, {"out": part}, writes=True)
            else:
                list(_of_model(options, recorded, text=options.text, out=part))
        except InputError as error:
            if error.path != part:
                raise
            raise InputError(error.problem, path=options.out, remedy=error.remedy) from None
        os.replace(part, options.out)
    progress("")
    return 0


def recorded_captured(path: str, out: str, report: Report) -> None:
    """Compute a recording from captured queries and keys, and save the recording to ``out``."""
    from attnlens.recording.recording import recording_of_captured

    report("reading the queries and keys")
    recording_of_captured(path).save(out)


def add_view(commands: Commands) -> None:
    parser = commands.add_parser(
        "view",
        run=_run_view,
        help="show a saved recording in the browser",
        description="Show a recording from `recording.save(FILE)` as an HTML page with the heat "
        "maps of every site. The page needs no network and no other file. The page opens in the "
        "browser or, with --out, is written to a file. With --json, print the sites, and the "
        "strongest keys of a query.",
    )
    parser.option("recording", "RECORDING", "a saved recording (.safetensors, or a folder)")
    parser.option("--site", "NAME", "show only this site")
    parser.option("--batch", "B", "show only this batch row: a label, or an index from 0")
    parser.option("--head", "H", "show only this head: a label, or an index from 0")
    parser.option(
        "--query",
        "Q",
        "show only this query: a label, or an index from 0 (default with --json: the last query)",
    )
    parser.option(
        "--top",
        "N",
        "with --json: how many keys to list, strongest first (default 8)",
        type=whole_number(1, MAX_COUNT),
        default=8,
    )
    add_formats(parser, ("html", "json"))
    add_shared(parser, "--out", help="write the page to this file instead of opening the browser")
    parser.flag("--no-browser", "print the path of the page without opening the browser")


def _run_view(options: argparse.Namespace) -> int:
    check_files(options)
    choice = {name: getattr(options, name) for name in ("site", "batch", "head", "query")}
    path, name = options.recording, _name(options.recording)
    if options.format == "html":
        question = {"choice": choice, "name": name}
        _show_page(options, _of_recording(path, page_of_recording, question))
        return 0
    data = _of_recording(path, rows_of_recording, {"choice": choice, "top": options.top})
    progress("")
    utf8_stdout()
    # A label can contain half of a surrogate pair, which UTF-8 cannot encode.
    text = render_json({"recording": name, **data})
    emit(text.encode("utf-8", "replace").decode("utf-8"), options.out)
    return 0


def view_page(path: str, name: str) -> str:
    """Return the page of a recording for the dashboard.

    Raises:
        AttnlensError: the recording cannot be read, or exceeds the limit on memory or time.
    """
    page: str = _of_recording(path, page_of_recording, {"choice": {}, "name": name})
    return page


def _of_recording(
    path: str, function: Callable[..., Any], question: Json, *, writes: bool = False
) -> Any:
    from attnlens.child import Bounds, in_child

    bounds = Bounds(
        memory=_BASE_MEMORY + _MEMORY_PER_BYTE * size_of(path),
        cpu_seconds=_MAX_CPU_SECONDS,
        silent_seconds=_MAX_SECONDS,
        remedy="if you trust the file, open it in Python with attnlens.load_recording",
        writes=writes,
    )
    name = f"{__name__}:{function.__name__}"
    return in_child(name, {"path": path, **question}, bounds, path=path, report=progress)


def page_of_recording(
    path: str, choice: Mapping[str, str | None], name: str, report: Report
) -> str:
    """Return an HTML page with the heat maps of a recording."""
    from attnlens.attention.views import maps_data
    from attnlens.render.page import render_recording_page

    recording = _chosen_records(path, choice, report)
    report("computing the heat maps")
    return render_recording_page(maps_data(recording), name=name)


def rows_of_recording(
    path: str, choice: Mapping[str, str | None], top: int, report: Report
) -> Json:
    """Return the sites of a recording, and for each chosen query the ``top`` keys by weight.

    By default, choose the last query at the first site.
    """
    from attnlens.attention.views import has_weights, rows_data, sites_data, weight_notes

    recording = _chosen_records(path, choice, report)
    rows = []
    if choice["query"] is not None or choice["site"] is not None:
        chosen = recording.records()
    else:
        chosen = recording.records()[:1]
    for record in filter(has_weights, chosen):
        names = [axis.name for axis in record.axes]
        if choice["query"] is None and "query" in names:
            record = record.sel(query=-1)
        if choice["batch"] is None and "batch" in names:
            record = record.sel(batch=0)
        rows += rows_data(record, top)
    sites = sites_data(recording)
    for record, site in zip(recording.records(), sites, strict=True):
        site["notes"] += weight_notes(record) if has_weights(record) else []
    return {"sites": sites, "rows": rows}


def _chosen_records(path: str, choice: Mapping[str, str | None], report: Report) -> Recording:
    from attnlens.attention.views import choose
    from attnlens.recording.recording import load_recording

    report("reading the recording")
    recording = load_recording(path)
    if not recording:
        raise InputError(
            "contains no record", path=path, remedy="record at least one call of a model"
        )
    try:
        return choose(recording, **choice)
    except InputError as error:
        raise InputError(error.problem, path=path, remedy=error.remedy) from None


def _name(path: str) -> str:
    name = os.path.basename(os.path.normpath(path))
    return name.encode("utf-8", "replace").decode("utf-8")


def _show_page(options: argparse.Namespace, text: str) -> None:
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
        say("no browser could be opened; open the file printed above")
