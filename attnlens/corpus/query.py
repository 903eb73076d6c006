"""Answers to SQL over a corpus, as CSV or JSON lines."""

from __future__ import annotations

import csv
import json
import math
import os
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TextIO

from attnlens.corpus.database import answered, opened
from attnlens.corpus.folder import Corpus
from attnlens.csv_cells import cell


def query(folder: str | os.PathLike[str], question: str) -> list[dict[str, Any]]:
    """The rows of an answer, by column.

    Args:
        question: one SELECT over the views ``balls``, ``heads``, ``matches`` and, where balls
            were tested, ``evidence`` and ``effects``.

    Raises:
        InputError: there is no corpus, or the question cannot be answered.
    """
    with (
        opened(Corpus(Path(folder))) as connection,
        answered(connection, question) as (names, rows),
    ):
        return [dict(zip(names, row, strict=True)) for row in rows]


def write_answer(
    folder: str | os.PathLike[str],
    question: str,
    out: TextIO,
    file_format: Literal["csv", "json"] = "csv",
) -> None:
    """Write an answer as it comes.

    Raises:
        InputError: as `query`.
    """
    with (
        opened(Corpus(Path(folder))) as connection,
        answered(connection, question) as (names, rows),
    ):
        if file_format == "csv":
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(map(cell, names))
            writer.writerows([_cell(value) for value in row] for row in rows)
            return
        for row in rows:
            told = {name: _plain(value) for name, value in zip(names, row, strict=True)}
            out.write(json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n")


def _cell(value: Any) -> Any:
    """As CSV tells it: nothing for null, JSON for lists and structures."""
    if isinstance(value, list | dict | tuple):
        return json.dumps(_plain(value), ensure_ascii=False)
    return cell(value)


def _plain(value: Any) -> Any:
    """As JSON tells it; what JSON has no form for is text."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, Decimal):  # what SQL makes of 0.5
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
