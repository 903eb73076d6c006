"""The course of a training run: loss by epoch, as a table or a picture."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from attnlens.cricket.training.course import Epoch
from attnlens.errors import InputError
from attnlens.files import check_writable, write_text, written_beside

SUFFIXES: Final = (".csv", ".svg", ".png")


def check_curves(path: str | os.PathLike[str]) -> str:
    """Whether `write_curves` could write to ``path``: asked before the work, not after it.

    Returns:
        the suffix, such as ``.csv``.

    Raises:
        InputError: another suffix, matplotlib is not installed, or a place that cannot be
            written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            "curves are a table or a picture", path=path, remedy=f"end it in {', '.join(SUFFIXES)}"
        )
    check_writable(path)
    if suffix != ".csv" and find_spec("matplotlib") is None:
        raise InputError(
            "a picture needs matplotlib", path=path, remedy="pip install 'attnlens[dev]'"
        )
    return suffix


def write_curves(path: str | os.PathLike[str], epochs: Sequence[Epoch]) -> None:
    """Write what the loss was after every epoch, in nats per ball.

    The training loss is of the balls as they were trained on: with dropout, some of the past
    hidden, and the teacher's part.

    Args:
        path: ``.csv``, ``.svg`` or ``.png``.

    Raises:
        InputError: see `check_curves`.
    """
    suffix = check_curves(path)
    if suffix == ".csv":
        text = io.StringIO()
        rows = csv.DictWriter(text, ("epoch", "train", "validation"), lineterminator="\n")
        rows.writeheader()
        for one in epochs:
            cells = {name: f"{loss:.6f}" for name, loss in one.items() if name != "epoch"}
            rows.writerow({"epoch": one["epoch"], **cells})
        write_text(path, text.getvalue())
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    numbers = [one["epoch"] for one in epochs]
    for name, look, color in (("train", "o--", "#999999"), ("validation", "o-", "#0072b2")):
        losses = [one[name] for one in epochs if name in one]
        if losses:
            label = "training" if name == "train" else name
            axes.plot(numbers, losses, look, color=color, label=label)
    axes.set_xlabel("epoch")
    axes.set_ylabel("log-loss, nats per ball")
    axes.set_xticks(numbers)
    axes.legend(frameon=False)
    with written_beside(path) as part:
        figure.savefig(part, format=suffix[1:], metadata={"Date": None} if suffix == ".svg" else {})
