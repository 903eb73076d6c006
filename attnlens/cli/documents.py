"""What the commands that measure a model share: what is checked before, and what comes out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeVar

from attnlens.cli.options import listed
from attnlens.cli.output import check_outputs, emit, emit_json, page, progress, report_skipped
from attnlens.cli.sources import held_out_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.model.timeline import T
    from attnlens.cricket.study.figures import Document
    from attnlens.cricket.study.held_out import HeldOutFor
    from attnlens.show.canvas import Renderer

D = TypeVar("D", bound="Document")

PICTURES: Final = (".svg", ".png", ".pdf")


def check_sample(options: argparse.Namespace, *numbers: str) -> None:
    """Whether ``--balls`` is a sample, and ``--seed`` and other ``numbers`` are not negative.

    Raises:
        InputError: one is not.
    """
    if options.balls < 1:
        raise InputError(f"--balls {options.balls} is no sample", remedy="give a number from 1")
    for name in ("seed", *numbers):
        value = getattr(options, name) or 0
        if value < 0:
            raise InputError(f"--{name} {value} is negative", remedy="give 0 or more")


def check_files(options: argparse.Namespace, *more: str, inputs: tuple[str, ...] = ()) -> None:
    """Whether ``--out``, ``--plot`` and ``more`` can be written, and are nothing that is read.

    Args:
        inputs: checkpoints that are read beside ``--model``.

    Raises:
        InputError: a file cannot be written, or a picture cannot be drawn.
    """
    names = ("out", "plot", *more)
    check_outputs(
        {f"--{name.replace('_', '-')}": getattr(options, name) for name in names},
        sources=(*options.sources, *listed(options.history)),
        inputs=(options.model, *inputs),
    )
    if options.plot is not None:
        suffix = _suffix(options.plot)
        if suffix not in PICTURES:
            raise InputError(
                f"cannot draw {suffix or 'a file without a suffix'}",
                path=options.plot,
                remedy=f"end it in {', '.join(PICTURES)}",
            )
        if find_spec("matplotlib") is None:
            raise InputError(
                "--plot needs matplotlib, which is not installed", remedy="pip install matplotlib"
            )


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def judged(
    options: argparse.Namespace, model: T, work: Callable[[HeldOutFor[T]], D], *, aloud: bool = True
) -> D:
    """What ``work`` makes of the matches that a model may be judged on.

    Args:
        aloud: whether files that were passed over are told on stderr.
    """
    skipped: list[MatchFileError] = []
    try:
        document = work(held_out_of(options, model, skipped))
    finally:
        progress("")
    if aloud:
        report_skipped(f"skipped {len(skipped)} files", skipped)
    return document


def give(
    document: D,
    options: argparse.Namespace,
    render: Renderer[D],
    draw: Callable[[D, Path, str], None] | None = None,
    *,
    digits: int | None = None,
) -> int:
    """Write a document as JSON or as a page, and a picture of it where ``--plot`` asks for one.

    Args:
        render: the page, by width, colour and signs.
        draw: to a path in a format such as ``svg``.
        digits: decimals of JSON's figures; all where not given.
    """
    from attnlens.cricket.study.figures import to_json
    from attnlens.files import written_beside
    from attnlens.show.numbers import rounded_all

    if draw is not None and options.plot is not None:
        with written_beside(options.plot) as part:
            draw(document, part, _suffix(options.plot)[1:])
    if options.format == "json":
        data = to_json(document)
        emit_json(data if digits is None else rounded_all(data, digits), options.out)
    else:
        emit(render(document, **page(options.out)), options.out)
    return 0
