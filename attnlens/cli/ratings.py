"""``attnlens ratings``: a checkpoint's ratings brought up to date."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from attnlens.cli.options import add_formats, add_model, add_sources
from attnlens.cli.output import check_outputs, emit, emit_json, progress, report_skipped
from attnlens.cli.parser import Commands

if TYPE_CHECKING:
    import datetime

    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.predictor.trained import Added

DONE, NOTHING_NEWER = 0, 1


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "ratings",
        help="bring player and venue ratings up to date without retraining",
        description="Write a copy of the checkpoint whose ratings have learnt every match of SRC "
        "that is later than they are, date by date; the network's weights stay as they are. "
        "Exit status 1 where there is nothing newer.",
    )
    add_sources(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="the checkpoint to write")
    add_model(parser)
    add_formats(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from attnlens.cricket.answers import file_digest
    from attnlens.cricket.predictor.trained import brought_up_to_date, save_predictor
    from attnlens.cricket.readers.history import matches_to_learn
    from attnlens.cricket.session import Session

    # The checkpoint itself may be brought up to date in its place.
    check_outputs({"--out": options.out}, sources=options.sources)
    predictor = Session(options.model).predictor
    skipped: list[MatchFileError] = []
    given = matches_to_learn(options.sources, skipped, progress, "{} matches read")
    now, added = brought_up_to_date(predictor, given)
    if added.matches:
        save_predictor(options.out, now)
    report_skipped(skipped)
    until = now.ratings.until
    if options.format == "json":
        emit_json(
            asdict(added)
            | {
                "dates": [None if day is None else day.isoformat() for day in added.dates],
                "ratings_until": None if until is None else until.isoformat(),
                "sha256": file_digest(options.out) if added.matches else None,
            },
            None,
        )
    else:
        emit(_sentence(predictor.ratings.until, until, added, options.out), None)
    return DONE if added.matches else NOTHING_NEWER


def _sentence(
    before: datetime.date | None, until: datetime.date | None, added: Added, out: str
) -> str:
    """What was learnt, in words, and what was not."""
    from attnlens.words import count

    passed = {
        "up to then teach nothing new": added.already_known,
        "without a date left out": added.undated,
    }
    aside = "".join(
        f"; {count(number, 'match', 'matches')} {why}" for why, number in passed.items() if number
    )
    if not added.matches:
        return f"nothing newer than {before}: no file written{aside}"
    return (
        f"wrote {out}: ratings until {until} (were {before}), "
        f"{count(added.matches, 'match', 'matches')} learnt{aside}"
    )
