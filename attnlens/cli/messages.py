"""One line on stderr, whatever is in it."""

from __future__ import annotations

import sys


def one_line(text: str) -> str:
    """Text without line ends, and without what a terminal would obey."""
    return "".join(c if c.isprintable() else "�" for c in " ".join(text.split()))


def say(text: str) -> None:
    """A message for whoever runs the command."""
    print(f"attnlens: {one_line(text)}", file=sys.stderr)
