"""Options that several commands share, and where their output goes."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from attnlens.cli.messages import one_line, say
from attnlens.errors import InputError

if TYPE_CHECKING:
    import datetime

    from attnlens.cricket.match import Match
    from attnlens.cricket.timeline import T, Timeline
    from attnlens.errors import MatchFileError

PLAIN_WIDTH = 100
ANOTHER_FILE = "write to another file"
MATCHES = "give match files, a folder or a zip of them"
TWO_FILES = "give each a file of its own"


def date(text: str) -> datetime.date:
    """A date such as 2024-10-24."""
    import datetime

    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date like 2024-10-24") from None


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


def whole(least: int, most: int) -> Any:
    """A whole number within limits, as argparse takes it."""

    def read(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return value

    return read


def add_ball(parser: argparse.ArgumentParser) -> None:
    """``MATCH``, ``--ball`` and ``--innings``."""
    parser.add_argument(
        "match",
        metavar="MATCH",
        help="a match file of any format that is read, or ARCHIVE.zip::MEMBER",
    )
    parser.add_argument(
        "--ball",
        metavar="BALL",
        help="47 (delivery, wides and no-balls included), -1, last, 7.4 (the file's label), "
        "legal:47, legal:7.4, 2:47, next (not yet bowled)",
    )
    parser.add_argument("--innings", type=int, metavar="N", help="innings, from 1 (default 1)")


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Matches, the model, and which of their balls: ``SRC``, ``--balls``, ``--from`` and so on."""
    parser.add_argument("sources", metavar="SRC", nargs="+", help="match files, folders or zips")
    add_model_options(parser)
    parser.add_argument("--balls", type=int, default=500, metavar="N", help="default 500")
    parser.add_argument("--seed", type=int, default=5, metavar="N", help="of the sample; default 5")
    parser.add_argument("--from", type=date, dest="first", metavar="DATE", help="from this day on")
    parser.add_argument("--until", type=date, dest="last", metavar="DATE", help="to this day")
    parser.add_argument(
        "--allow-in-sample",
        action="store_true",
        help="take matches inside the model's training dates too",
    )


def add_formats(
    parser: argparse.ArgumentParser,
    formats: Sequence[str] = ("text", "json"),
    *,
    what: str = "default {}",
    short: Sequence[str] = ("json",),
) -> None:
    """``--format``, the first being the default, and ``--json`` for short.

    Args:
        what: the help of ``--format``, with the default put in.
        short: which formats have an option of their own.
    """
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help=what.format(formats[0])
    )
    for name in short:
        parser.add_argument(
            f"--{name}",
            action="store_const",
            const=name,
            dest="format",
            help=f"short for --format {name}",
        )


def add_out(parser: argparse.ArgumentParser) -> None:
    """``--out FILE``."""
    parser.add_argument("--out", metavar="FILE", help="write there instead of to stdout")


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
        say(f"{heading}:")
        for error in skipped:
            say(str(error))


class Page(TypedDict):
    """How a page of text is drawn, as every renderer takes it."""

    width: int
    color: bool
    unicode: bool


def page(out: str | None) -> Page:
    """Drawn for a terminal, or for the file ``out``.

    The width is ``COLUMNS`` where set, else the terminal's, else 100. Colour only on a terminal
    that has it, and not where NO_COLOR says no.
    """
    plain = out is not None and "COLUMNS" not in os.environ
    width = PLAIN_WIDTH if plain else shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
    no_color = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = out is None and not no_color and sys.stdout.isatty()
    return {"width": width, "color": color, "unicode": out is not None or can_draw()}


def can_draw() -> bool:
    """Whether stdout takes the block characters; if not, it is made to take any text."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    if encoding.startswith("utf"):
        return True
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return False


def progress(text: str) -> None:
    """A passing line on stderr, on a terminal only; an empty text clears it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{one_line(text)}", end="", file=sys.stderr, flush=True)


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
