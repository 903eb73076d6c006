"""One line on stderr, whatever is in it."""

from __future__ import annotations

import sys


def one_line(text: str) -> str:
    """Text without line ends, and without what a terminal would obey."""
    return "".join(c if c.isprintable() else "�" for c in " ".join(text.split()))


def say(text: str) -> None:
    """A message for whoever runs the command."""
    print(f"attnlens: {one_line(text)}", file=sys.stderr)


BAD = 2


def complain(text: str) -> int:
    """One line on stderr, over whatever progress stands there; the exit status of bad input."""
    over_progress = "\r\x1b[2K" if sys.stderr.isatty() else ""
    print(f"{over_progress}attnlens: {one_line(text)}", file=sys.stderr)
    return BAD
