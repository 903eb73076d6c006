"""Options that several commands share, and where their output goes."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match import Match
    from attnlens.cricket.timeline import T, Timeline
    from attnlens.errors import MatchFileError

PLAIN_WIDTH = 100
ANOTHER_FILE = "write to another file"
MATCHES = "give match files, a folder or a zip of them"
TWO_FILES = "give each a file of its own"


class Given(argparse.Action):
    """Each value that is given; the first takes the place of a default."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  # argparse names it
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002  # argparse names it
    ) -> None:
        given = getattr(namespace, self.dest, None)
        kept = given if isinstance(given, list) else []
        setattr(namespace, self.dest, [*kept, values])


def listed(value: list[str] | str | None) -> list[str]:
    """What `Given` collected, which is one text where it comes from a setting."""
    return [value] if isinstance(value, str) else value or []


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """``--model`` and ``--history``."""
    parser.add_argument(
        "--model",
        metavar="PATH",
        help="a checkpoint, or `bundled` (default) or `measured`",
    )
    parser.add_argument(
        "--history",
        metavar="SRC",
        help="matches (a zip, a folder or a file) that bring the ratings to the match's date",
    )


def emit(text: str, out: str | None) -> None:
    """Text and a line end, to a file or to stdout."""
    if out is None:
        print(text)
        return
    from attnlens.files import write_text

    write_text(out, text + "\n")


def utf8_stdout() -> None:
    """JSON is UTF-8, whatever the terminal is."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")


def report_skipped(heading: str, skipped: Sequence[MatchFileError]) -> None:
    """Every file that was passed over, and why, on stderr; nothing where there was none."""
    if skipped:
        print(f"attnlens: {heading}:", file=sys.stderr)
        for error in skipped:
            print(f"attnlens: {error}", file=sys.stderr)


def can_draw() -> bool:
    """Whether stdout takes the block characters; if not, it is made to take any text."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    if encoding.startswith("utf"):
        return True
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return False


def color_wanted(out: str | None) -> bool:
    """Colour only on a terminal that has it, and not where NO_COLOR says no."""
    if out is not None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def page_width(out: str | None) -> int:
    """The terminal's width, ``COLUMNS`` where set, else 100."""
    if out is not None and "COLUMNS" not in os.environ:
        return PLAIN_WIDTH
    return shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns


def progress(text: str) -> None:
    """A passing line on stderr, on a terminal only; an empty text clears it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


def timeline(predictor: T, source: str) -> Timeline[T]:
    """Ratings by date from the matches in ``source``.

    Raises:
        InputError: it holds no match that can be read.
    """
    from attnlens.cricket.readers import read_matches
    from attnlens.cricket.timeline import Timeline

    count = 0
    skipped: list[MatchFileError] = []

    def counted() -> Iterator[Match]:
        nonlocal count
        for match in read_matches(source, on_error="skip", skipped=skipped):
            count += 1
            if count % 20 == 0:
                progress(f"reading the history: {count} matches")
            yield match
        progress("")

    made = Timeline(predictor, counted())
    if not count:
        reason = f" ({skipped[0].problem})" if skipped else ""
        raise InputError(f"holds no match to learn from{reason}", path=source, remedy=MATCHES)
    return made


def check_outputs(
    outputs: Mapping[str, str | None],
    *,
    sources: Iterable[str | None] = (),
    inputs: Iterable[str | None] = (),
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
    from attnlens.files import check_writable

    given = {option: path for option, path in outputs.items() if path is not None}
    for path in given.values():
        check_writable(path)
    for option, path in given.items():
        twin = next((name for name in given if name != option and _same(given[name], path)), None)
        if twin is not None:
            raise InputError(f"is the file of {option} and of {twin}", path=path, remedy=TWO_FILES)
    read = [path for path in inputs if path is not None]
    for path in given.values():
        if any(_same(path, one) or _inside(path, one) for one in read):
            raise InputError("is read by this command too", path=path, remedy=ANOTHER_FILE)
    if given:
        _check_sources(list(given.values()), [path for path in sources if path is not None])


def _check_sources(outputs: Sequence[str], sources: Sequence[str]) -> None:
    """Whether no output takes the place of a match that is read."""
    from attnlens.cricket.readers import INFO, tells_of_matches
    from attnlens.cricket.readers.files import source_of

    for source in sources:
        place = str(source_of(source).path)
        for path in outputs:
            # What else lies in a folder of matches, such as an answer of yesterday, may go.
            beside = f"{os.path.splitext(place)[0]}{INFO}"
            if (
                _same(path, place)
                or (os.path.exists(path) and _same(path, beside))
                or (_inside(path, place) and tells_of_matches(path))
            ):
                raise InputError("is one of the matches read", path=path, remedy=ANOTHER_FILE)


def _same(one: str, other: str) -> bool:
    """Whether two paths lead to one file, whatever their spelling."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def _inside(path: str, folder: str) -> bool:
    """Whether a file that exists lies somewhere in a folder."""
    if not os.path.isfile(path) or not os.path.isdir(folder):
        return False
    above = os.path.realpath(folder)
    return os.path.commonpath([above, os.path.realpath(path)]) == above
