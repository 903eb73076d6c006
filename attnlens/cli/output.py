"""Where a command's output goes: what may be written over, how it is drawn, and what is said."""

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

from attnlens.errors import InputError
from attnlens.files import check_writable, render_json, write_text, written_beside

if TYPE_CHECKING:
    from attnlens.cricket.errors import MatchFileError

_PLAIN_WIDTH = 100
_BAR_COLUMNS = 24
_BAD = 2


def say(text: str, before: str = "") -> None:
    """One line on stderr for whoever runs the command, whatever is in the text."""
    from attnlens.render.safe import on_one_line

    _tell(f"{before}attnlens: {on_one_line(text)}\n")


def _tell(text: str) -> None:
    """Write to stderr. If nobody reads it any more, or its disk is full, the work goes on."""
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Let nothing come out of a stream any more: Python would try again on the way out."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(text: str) -> int:
    """One line on stderr, over whatever progress stands there; the exit status of bad input."""
    say(text, "\r\x1b[2K" if sys.stderr.isatty() else "")
    return _BAD


def emit(text: str, out: str | None) -> None:
    """Text and a line end, to a file or to stdout."""
    if out is None:
        print(text, flush=True)
    else:
        write_text(out, text + "\n")


@contextmanager
def opened(out: str | None, *, utf8: bool = True) -> Iterator[TextIO]:
    """Stdout, in ``utf8``, or a file that takes its place when all is there; line ends stay."""
    if out is None:
        if utf8:
            utf8_stdout()
        yield sys.stdout
        return
    with written_beside(out) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


def emit_json(data: Any, out: str | None) -> None:
    """Indented JSON, to a file or to stdout."""
    utf8_stdout()
    emit(render_json(data), out)


def utf8_stdout() -> None:
    """JSON is UTF-8, whatever the terminal is."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")


def report_skipped(skipped: Sequence[MatchFileError]) -> None:
    """Every file that was passed over, and why, on stderr; nothing where there was none."""
    if skipped:
        say(f"skipped {len(skipped)} files:")
        for error in skipped:
            say(str(error))


def page(out: str | None) -> dict[str, Any]:
    """Drawn for a terminal, or for the file ``out``.

    The width is ``COLUMNS`` where set, else the terminal's, else 100. Colour only on a terminal
    that has it, and not where NO_COLOR says no.
    """
    plain = out is not None and "COLUMNS" not in os.environ
    width = _PLAIN_WIDTH if plain else shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
    no_color = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = out is None and not no_color and sys.stdout.isatty()
    return {"width": width, "color": color}


def serve_any_terminal() -> None:
    """Where stdout's encoding lacks a sign, what is nearest to it in ASCII is written."""
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
    """A passing line on stderr, on a terminal only; an empty text clears it."""
    if sys.stderr.isatty():
        from attnlens.render.safe import on_one_line

        _tell(f"\r\x1b[2K{on_one_line(text)}")


def progress_bar(done: int, total: int, counted: str) -> None:
    """How much of the work is done, as a passing bar."""
    full = _BAR_COLUMNS * done // total
    progress(f"{'█' * full}{'░' * (_BAR_COLUMNS - full)} {done} of {total} {counted}")


def since_now() -> Callable[[str], None]:
    """What prints a line on stderr that stays, with the seconds since this call."""
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
    """Write what ``--format`` says; the exit status of what is done.

    Args:
        data: what ``json`` holds.
        render: the page that ``text`` is, given its width and whether it has colours.
        documents: by the name of any other format.
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
    """Whether ``--out`` and ``more`` can be written, and are nothing that the options read.

    Raises:
        InputError: as `check_outputs` says.
    """

    def read(*names: str) -> list[str]:
        # What a command only counts is no file: the matches of `planted`.
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
    """Whether what a command writes can be written, and is nothing that it reads.

    Asked before the work, not after it.

    Args:
        outputs: option to file; ``None`` for one that was not given.
        sources: match files, folders and zips, members of zips too.
        inputs: other files and folders that are read, such as checkpoints.

    Raises:
        InputError: a file cannot be written, is read too, or is written twice.
    """
    files = {option: path for option, path in outputs.items() if path is not None}
    for path in files.values():
        check_writable(path)
    for first, other in combinations(files, 2):
        if _same(files[first], files[other]):
            raise InputError(
                f"is the file of {first} and of {other}",
                path=files[first],
                remedy="give each a file of its own",
            )
    for path in files.values():
        problem = None
        if any(_same(path, first) or _inside(path, first) for first in inputs):
            problem = "is read by this command too"
        elif any(_is_match_of(source, path) for source in sources):
            problem = "is one of the matches read"
        if problem is not None:
            raise InputError(problem, path=path, remedy="write to another file")


def _is_match_of(source: str, path: str) -> bool:
    """Whether ``path`` is a match that is read from ``source``, or the info file of one."""
    from attnlens.cricket.readers import INFO_SUFFIX, describes_matches
    from attnlens.cricket.readers.files import source_of

    location = str(source_of(source).path)
    info = f"{os.path.splitext(location)[0]}{INFO_SUFFIX}"
    # What else lies in a folder of matches, such as an answer of yesterday, may go.
    return (
        _same(path, location)
        or (os.path.exists(path) and _same(path, info))
        or (_inside(path, location) and describes_matches(path))
    )


def _same(path: str, other: str) -> bool:
    """Whether two paths lead to one file, whatever their spelling."""
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(path) == os.path.realpath(other)


def _inside(path: str, folder: str) -> bool:
    """Whether a file that exists lies somewhere in a folder."""
    if not os.path.isfile(path) or not os.path.isdir(folder):
        return False
    above = os.path.realpath(folder)
    return os.path.commonpath([above, os.path.realpath(path)]) == above
