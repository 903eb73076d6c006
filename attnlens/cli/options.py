"""Options that several commands share, and where their output goes."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match import Match
    from attnlens.cricket.timeline import Timeline
    from attnlens.cricket.trained import TrainedPredictor
    from attnlens.errors import MatchFileError

PLAIN_WIDTH = 100


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


def timeline(predictor: TrainedPredictor, source: str) -> Timeline:
    """Ratings by date from the matches in ``source``.

    Raises:
        InputError: it holds no match that can be read.
    """
    from attnlens.cricket.readers import read_matches
    from attnlens.cricket.timeline import Timeline

    count = 0

    def counted() -> Iterator[Match]:
        nonlocal count
        for match in read_matches(source, on_error="skip"):
            count += 1
            if count % 20 == 0:
                progress(f"reading the history: {count} matches")
            yield match
        progress("")

    made = Timeline(predictor, counted())
    if not count:
        raise InputError("holds no match to learn from", path=source)
    return made
