"""The matches that options name: to bring ratings up to date, and to judge a model on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attnlens.cli.options import listed
from attnlens.cli.output import progress
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.held_out import HeldOutFor
    from attnlens.cricket.match import Match
    from attnlens.cricket.timeline import T, Timeline
    from attnlens.errors import MatchFileError

MATCHES = "give match files, a folder or a zip of them"


def timeline(predictor: T, source: str) -> Timeline[T]:
    """Ratings by date from the matches in ``source``.

    Raises:
        InputError: it holds no match that can be read.
    """
    from attnlens.cricket.readers import read_matches
    from attnlens.cricket.timeline import Timeline

    count = 0
    skipped: list[MatchFileError] = []

    def counted() -> Iterator[Match]:
        nonlocal count
        for match in read_matches(source, on_error="skip", skipped=skipped):
            count += 1
            if count % 20 == 0:
                progress(f"reading the history: {count} matches")
            yield match
        progress("")

    made = Timeline(predictor, counted())
    if not count:
        reason = f" ({skipped[0].problem})" if skipped else ""
        raise InputError(f"holds no match to learn from{reason}", path=source, remedy=MATCHES)
    return made


def held_out_of(
    options: argparse.Namespace, model: T, skipped: list[MatchFileError]
) -> HeldOutFor[T]:
    """What to judge a model on, by ``SRC``, ``--history``, ``--from``, ``--until`` and so on.

    Args:
        skipped: takes in the files that could not be read.

    Raises:
        AttnlensError: as `attnlens.cricket.held_out.held_out` says.
    """
    from attnlens.cricket.held_out import held_out

    return held_out(
        model,
        options.sources,
        history=listed(options.history),
        first=options.first,
        last=options.last,
        allow_in_sample=options.allow_in_sample,
        skipped=skipped,
        report=progress,
    )
