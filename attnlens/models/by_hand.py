"""The reference model ``attention``: weights set by hand, so that every number can be checked.

Queries are three times the input; keys, values and output are the input itself. So a row looks
at rows that point its own way, and takes on their mean.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import torch

from attnlens.errors import InputError
from attnlens.models.attention import MultiHeadAttention
from attnlens.models.catalogue import Loaded, Reading
from attnlens.words import count

WIDTH: Final = 4
HEADS: Final = 2
SHARPNESS: Final = 3.0
"""What queries are multiplied by: without it a row would hardly prefer its like."""

MOST_ROWS: Final = 512
REMEDY: Final = f"give at most {MOST_ROWS} rows of {WIDTH} numbers, such as 1,0,0,1;0,1,0,1"


def attention_by_hand() -> MultiHeadAttention:
    """Two heads of width two."""
    module = MultiHeadAttention(WIDTH, HEADS)
    with torch.no_grad():
        for matrix in module.parameters():
            matrix.copy_(torch.eye(WIDTH))
        module.W_Q.mul_(SHARPNESS)
    return module.eval()


def loaded(path: Path | None = None) -> Loaded:
    """`attention_by_hand` for the catalogue; there are no checkpoints of it."""
    del path
    return Loaded(attention_by_hand())


def read_rows(model: Loaded, text: str) -> Reading:
    """Rows written as ``1,0,0,1;0,1,0,1``.

    Raises:
        InputError: not numbers, or rows of another width.
    """
    assert isinstance(model.module, MultiHeadAttention)
    rows = _written(text, model.module.d)
    return Reading(
        inputs=(rows[None],),
        names=("X",),
        axes={"X": ("batch", "token", None)},
        labels={"token": tuple(f"row {place}" for place in range(1, len(rows) + 1))},
        about=count(len(rows), "row"),
    )


def _written(text: str, width: int) -> torch.Tensor:
    rows = []
    for place, line in enumerate(text.split(";"), 1):
        try:
            row = [float(word) for word in line.split(",")]
        except ValueError:
            row = [math.nan]
        if not all(math.isfinite(value) and abs(value) < 1e6 for value in row):
            problem = f"row {place} ({line.strip()[:40]!r}) is no row of numbers"
            raise InputError(problem, remedy=REMEDY)
        if len(row) != width:
            raise InputError(
                f"row {place} has {count(len(row), 'number')}, not {width}", remedy=REMEDY
            )
        rows.append(row)
    if len(rows) > MOST_ROWS:
        raise InputError(f"{len(rows)} rows are too many", remedy=REMEDY)
    return torch.tensor(rows)
