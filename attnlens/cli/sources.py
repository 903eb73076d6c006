"""The matches that options name: to bring ratings up to date, and to judge a model on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
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
    from attnlens.cricket.timeline import Timeline

    return Timeline(predictor, matches_to_learn([source], [], "reading the history: {} matches"))


def matches_to_learn(
    sources: Sequence[str], skipped: list[MatchFileError], told: str
) -> Iterator[Match]:
    """Every match that ratings can learn from.

    Args:
        skipped: takes in the files that could not be read; they are passed over.
        told: words of progress, with a place for the number of matches.

    Raises:
        InputError: after the last one, where there was none.
    """
    from attnlens.cricket.readers import read_matches

    number = 0
    for source in sources:
        for match in read_matches(source, on_error="skip", skipped=skipped):
            number += 1
            if number % 20 == 0:
                progress(told.format(number))
            yield match
    progress("")
    if not number:
        reason = f" ({skipped[0].problem})" if skipped else ""
        raise InputError(f"holds no match to learn from{reason}", path=sources[0], remedy=MATCHES)


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
