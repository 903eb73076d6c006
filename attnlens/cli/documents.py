"""What the commands that measure a model share: what is checked before, and what comes out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from attnlens.cli.options import listed
from attnlens.cli.output import check_outputs, emit, emit_json, page, progress, report_skipped
from attnlens.cli.sources import held_out_of
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.model.trained import TrainedPredictor
    from attnlens.cricket.study.figures import Document
    from attnlens.cricket.study.held_out import HeldOut
    from attnlens.show.canvas import Renderer

D = TypeVar("D", bound="Document")


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


def check_files(options: argparse.Namespace, *more: str) -> None:
    """Whether ``--out`` and ``more`` can be written, and are nothing that is read.

    Raises:
        InputError: a file cannot be written.
    """
    check_outputs(
        {f"--{name.replace('_', '-')}": getattr(options, name) for name in ("out", *more)},
        sources=(*options.sources, *listed(options.history)),
        inputs=(options.model,),
    )


def judged(options: argparse.Namespace, model: TrainedPredictor, work: Callable[[HeldOut], D]) -> D:
    """What ``work`` makes of the matches that a model may be judged on."""
    skipped: list[MatchFileError] = []
    try:
        document = work(held_out_of(options, model, skipped))
    finally:
        progress("")
    report_skipped(skipped)
    return document


def give(
    document: D, options: argparse.Namespace, render: Renderer[D], *, digits: int | None = None
) -> int:
    """Write a document as JSON or as a page.

    Args:
        render: the page, by width, colour and signs.
        digits: decimals of JSON's figures; all where not given.
    """
    from attnlens.cricket.study.figures import to_json
    from attnlens.show.numbers import rounded_all

    if options.format == "json":
        data = to_json(document)
        emit_json(data if digits is None else rounded_all(data, digits), options.out)
    else:
        emit(render(document, **page(options.out)), options.out)
    return 0
