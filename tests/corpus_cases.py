"""Corpora of simulated matches for tests, and how two of them are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas

from attnlens.cricket.corpus.folder import LOCK
from attnlens.cricket.lab.files import save_simulated

MATCHES = 8
EACH = 2
TESTED = 4


def season(folder: Path, matches: int = MATCHES) -> Path:
    """A zip of simulated matches."""
    path = folder / "season.zip"
    save_simulated(path, range(matches), file_format="json")
    return path


def tree(folder: Path) -> dict[str, bytes]:
    """Every file but the lock, by its path in the folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LOCK
    }


def rows(folder: Path, table: str) -> Any:
    """A table of a corpus, read without attnlens."""
    return pandas.read_parquet(folder / table)
