"""The checkpoints of cricket that come with attnlens, and where a checkpoint's file is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from attnlens.reference.checkpoint import shipped

SHIPPED: Final[tuple[str, ...]] = ("bundled", "measured")
"""Predictors of balls that come with attnlens, by name; the first is the default."""

OVERS: Final = "cricket"
"""The encoder-decoder of overs that comes with attnlens."""


def named_checkpoint(model: str | os.PathLike[str] | None = None) -> tuple[str, Path]:
    """A checkpoint's name and its file, which need not exist.

    Args:
        model: a name of `SHIPPED`, `OVERS`, or a file, whose name is then its stem.
    """
    name = SHIPPED[0] if model is None else str(model)
    if name in (*SHIPPED, OVERS):
        return name, shipped(name)
    path = Path(name)
    return path.stem, path
