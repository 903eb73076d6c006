"""``attnlens view``: any saved recording, as a page to look at or as JSON."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import MAX_COUNT, add_formats, whole_number
from attnlens.cli.output import check_files, emit, progress, say, utf8_stdout
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.recording.recording import Recording


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "view",
        help="look at a saved recording of any model",
        description="Show a recording that was saved with `recording.save(FILE)`: one HTML page "
        "with every site's heat maps, which needs no network and no other file. It is opened in "
        "the browser, or written to FILE with --out. --json tells the sites and the strongest "
        "keys of a query.",
    )
    parser.add_argument("recording", metavar="RECORDING", help="a saved recording")
    parser.add_argument("--site", metavar="NAME", help="only this site")
    parser.add_argument("--batch", metavar="B", help="only this batch: a label, or a number from 0")
    parser.add_argument("--head", metavar="H", help="only this head, likewise")
    parser.add_argument(
        "--query", metavar="Q", help="only this query, likewise; --json: default last"
    )
    parser.add_argument(
        "--top",
        type=whole_number(1, MAX_COUNT),
        default=8,
        metavar="N",
        help="strongest keys told; default 8",
    )
    add_formats(parser, ("html", "json"))
    parser.add_argument("--out", metavar="FILE", help="write there, and open nothing")
    parser.add_argument(
        "--no-browser", action="store_true", help="open nothing; the page's path is printed"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    check_files(options)
    progress("reading the recording")
    recording = _chosen(options)
    if options.format == "html":
        _page(options, recording)
        return 0
    data = _data(options, recording)
    progress("")
    from attnlens.files import render_json

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


def _chosen(options: argparse.Namespace) -> Recording:
    from attnlens.attention.views import choose

    recording = recording_of(options.recording)
    choice = {name: getattr(options, name) for name in ("site", "batch", "head", "query")}
    try:
        return choose(recording, **choice)
    except InputError as error:
        raise InputError(error.problem, path=options.recording, remedy=error.remedy) from None


def _data(options: argparse.Namespace, recording: Recording) -> dict[str, Any]:
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


def _page(options: argparse.Namespace, recording: Recording) -> None:
    from attnlens.attention.views import maps_data
    from attnlens.files import write_text
    from attnlens.render.notebook import render_recording_page

    progress("working out the heat maps")
    data = maps_data(recording)
    text = render_recording_page(data, name=_name(options.recording))
    progress("")
    if options.out is not None:
        write_text(options.out, text)
        return
    from tempfile import mkstemp

    handle, path = mkstemp(prefix="attnlens-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    print(path, flush=True)
    if options.no_browser:
        return
    import webbrowser

    if not webbrowser.open(Path(path).as_uri()):
        say("no browser could be opened; open the file above")
