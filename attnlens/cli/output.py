"""Functions for the output of commands: files, page settings, progress and messages."""

from __future__ import annotations

import argparse
import codecs
import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations
from typing import TYPE_CHECKING, Any, TextIO

from attnlens.errors import InputError, count
from attnlens.files import check_writable, render_json, write_text, written_beside

if TYPE_CHECKING:
    from attnlens.cricket.errors import MatchFileError

_PLAIN_WIDTH = 100
_BAR_COLUMNS = 24
_BAD = 2


def say(text: str, before: str = "") -> None:
    """Print one line on stderr, without control characters."""
    from attnlens.render.safe import on_one_line

    _tell(f"{before}attnlens: {on_one_line(text)}\n")


def _tell(text: str) -> None:
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Discard buffered output that Python would otherwise write to the stream at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(text: str) -> int:
    """Replace the progress line by an error message, and return the exit status for bad input."""
    say(text, "\r\x1b[2K" if sys.stderr.isatty() else "")
    return _BAD


def emit(text: str, out: str | None) -> None:
    """Write a text and a line break to the file ``out``, or to stdout if ``out`` is ``None``."""
    if out is None:
        print(text, flush=True)
    else:
        write_text(out, text + "\n")


@contextmanager
def opened(out: str | None, *, utf8: bool = True) -> Iterator[TextIO]:
    """Yield stdout, or a temporary file that replaces ``out`` if the block raises no error.

    A file is written in UTF-8. Stdout is set to UTF-8 if ``utf8`` is true.
    """
    if out is None:
        if utf8:
            utf8_stdout()
        yield sys.stdout
        return
    with written_beside(out) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


def emit_json(data: Any, out: str | None) -> None:
    """Write indented JSON to the file ``out``, or to stdout if ``out`` is ``None``."""
    utf8_stdout()
    emit(render_json(data), out)


def utf8_stdout() -> None:
    """Set the encoding of stdout to UTF-8, because JSON requires UTF-8 on every terminal."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")


def report_skipped(skipped: Sequence[MatchFileError]) -> None:
    """Report on stderr which files were skipped, and why."""
    if skipped:
        say(f"skipped {count(len(skipped), 'file')}:")
        for error in skipped:
            say(str(error))


def page(out: str | None) -> dict[str, Any]:
    """Return the width of a page in columns, and whether the page has colours.

    ``COLUMNS`` sets the width. By default, a file has 100 columns, and stdout has the terminal's
    width. Only a terminal gets colours, unless ``NO_COLOR`` is set or ``TERM`` is ``dumb``.
    """
    plain = out is not None and "COLUMNS" not in os.environ
    width = _PLAIN_WIDTH if plain else shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
    no_color = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = out is None and not no_color and sys.stdout.isatty()
    return {"width": width, "color": color}


def serve_any_terminal() -> None:
    """Replace characters that stdout cannot encode by similar ASCII characters."""
    encoding = (sys.stdout.encoding or "ascii").lower()
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and not encoding.startswith("utf"):
        codecs.register_error("attnlens", _nearest)
        reconfigure(errors="attnlens")


def _nearest(error: UnicodeError) -> tuple[str, int]:
    from attnlens.render.safe import to_ascii

    assert isinstance(error, UnicodeEncodeError)
    return to_ascii(error.object[error.start : error.end]), error.end


def progress(text: str) -> None:
    """If stderr is a terminal, show a temporary line there. An empty text clears the line."""
    if sys.stderr.isatty():
        from attnlens.render.safe import on_one_line

        _tell(f"\r\x1b[2K{on_one_line(text)}")


def progress_bar(done: int, total: int, counted: str) -> None:
    """Show a temporary progress bar on stderr."""
    full = _BAR_COLUMNS * done // total
    progress(f"{'█' * full}{'░' * (_BAR_COLUMNS - full)} {done} of {total} {counted}")


def since_now() -> Callable[[str], None]:
    """Return a function that prints lines on stderr, each with the seconds since this call."""
    started = time.perf_counter()

    def report(text: str) -> None:
        _tell(f"[{time.perf_counter() - started:6.0f} s] {text}\n")

    return report


def show(
    options: argparse.Namespace,
    data: Callable[[], Any],
    render: Callable[..., str],
    **documents: Callable[[], str],
) -> int:
    """Write the output in the format of ``--format``, and return 0.

    Args:
        data: returns the data for the format ``json``.
        render: returns the page for the format ``text``, given the result of `page`.
        documents: for each other format, a function that returns the text.
    """
    if options.format == "text":
        text = render(**page(options.out))
        if options.ascii:
            from attnlens.render.safe import to_ascii

            text = to_ascii(text)
        emit(text, options.out)
    elif options.format == "json":
        emit_json(data(), options.out)
    else:
        utf8_stdout()
        emit(documents[options.format](), options.out)
    return 0


def check_files(options: argparse.Namespace, *more: str) -> None:
    """Check that the output files can be written and are not also inputs of the command.

    The output files are the values of ``--out`` and of the options in ``more``.

    Raises:
        InputError: as in `check_outputs`.
    """

    def read(*names: str) -> list[str]:
        # In some commands an option is a number and not a file, such as `planted --matches`.
        values = [getattr(options, name, None) for name in names]
        paths = [value for value in values if isinstance(value, str)]
        return paths + [path for value in values if isinstance(value, list) for path in value]

    check_outputs(
        {f"--{name.replace('_', '-')}": getattr(options, name) for name in ("out", *more)},
        sources=read("match", "matches", "sources", "history"),
        inputs=read("model", "against", "csv", "recording", "path", "texts"),
    )


def check_outputs(
    outputs: Mapping[str, str | None],
    *,
    sources: Collection[str] = (),
    inputs: Collection[str] = (),
) -> None:
    """Before the work starts, check that outputs can be written and are not also inputs.

    Args:
        outputs: the output file of each option, or ``None`` for an option without a value.
        sources: the match files, folders, zip files and zip members that the command reads.
        inputs: the other files and folders that the command reads.

    Raises:
        InputError: an output file cannot be written, is also an input, or belongs to two options.
    """
    files = {option: path for option, path in outputs.items() if path is not None}
    for path in files.values():
        check_writable(path)
    for first, other in combinations(files, 2):
        if _same(files[first], files[other]):
            raise InputError(
                f"cannot hold the outputs of both {first} and {other}",
                path=files[first],
                remedy="give each option a different file",
            )
    for path in files.values():
        problem = None
        if any(_same(path, first) or _inside(path, first) for first in inputs):
            problem = "is also read by this command"
        elif any(_is_match_of(source, path) for source in sources):
            problem = "is one of the matches that this command reads"
        if problem is not None:
            raise InputError(problem, path=path, remedy="write to another file")


def _is_match_of(source: str, path: str) -> bool:
    """Return whether ``path`` is a match file in ``source`` or the info file of a match."""
    from attnlens.cricket.readers import INFO_SUFFIX, describes_matches
    from attnlens.cricket.readers.files import source_of

    location = str(source_of(source).path)
    info = f"{os.path.splitext(location)[0]}{INFO_SUFFIX}"
    # A folder of matches may also contain other files, such as earlier output. Other files may be
    # overwritten.
    return (
        _same(path, location)
        or (os.path.exists(path) and _same(path, info))
        or (_inside(path, location) and describes_matches(path))
    )


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of them does not exist yet
        return os.path.realpath(path) == os.path.realpath(other)


def _inside(path: str, folder: str) -> bool:
    if not os.path.isfile(path) or not os.path.isdir(folder):
        return False
    above = os.path.realpath(folder)
    return os.path.commonpath([above, os.path.realpath(path)]) == above
