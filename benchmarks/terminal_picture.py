"""Draw docs/terminal.svg, a picture of a terminal in which attnlens explains a ball.

    python benchmarks/terminal_picture.py docs/terminal.svg

The picture shows the output of the command, in the colours that it has on a terminal. This script
needs `rich`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

REPOSITORY = Path(__file__).resolve().parent.parent
WORDS = ("explain", "sample_data/match.csv", "--ball", "47")
WIDTH = 88
THEME = TerminalTheme(
    (16, 24, 32),
    (222, 229, 236),
    [(60, 70, 80), (240, 138, 75), (127, 214, 160), (255, 201, 77),
     (98, 176, 239), (195, 161, 230), (108, 196, 220), (222, 229, 236)],
    [(140, 152, 165), (255, 158, 112), (150, 230, 180), (255, 215, 120),
     (130, 195, 250), (215, 185, 245), (140, 215, 235), (255, 255, 255)],
)  # fmt: skip


def printed() -> str:
    """Return the output of the command on a terminal of `WIDTH` columns."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "NO_COLOR": ""}
    words = shlex.join([sys.executable, "-m", "attnlens", *WORDS])
    on_a_terminal = ["script", "-qec", words, os.devnull]
    text = subprocess.check_output(on_a_terminal, cwd=REPOSITORY, env=environment, text=True)
    return text.replace("\r\n", "\n")


def main() -> None:
    console = Console(record=True, width=WIDTH + 2, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text(f"$ attnlens {' '.join(WORDS)}", style="bold"))
    page = Text.from_ansi(printed().split("\r\x1b[2K")[-1])
    for line in page.split("\n"):
        console.print(line)
    svg = console.export_svg(title="attnlens", theme=THEME)
    # Otherwise the picture would load a font from the network.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, DejaVu Sans Mono, Menlo, monospace")
    svg = svg.replace(
        "font-family: Fira Code", "font-family: ui-monospace, DejaVu Sans Mono, Menlo"
    )
    Path(sys.argv[1]).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
