"""``attnlens ratings``: a checkpoint's ratings brought up to date, or shown."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from attnlens.cli.options import add_formats, date
from attnlens.cli.output import check_outputs, emit, emit_json, page, progress, report_skipped, say
from attnlens.cli.parser import Commands
from attnlens.errors import InputError

if TYPE_CHECKING:
    import datetime

    from attnlens.cricket.errors import MatchFileError
    from attnlens.cricket.model.timeline import Added
    from attnlens.cricket.model.trained import TrainedPredictor

DONE, NOTHING_NEWER = 0, 1


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "ratings",
        help="bring player and venue ratings up to date without retraining",
        description="Write a copy of the checkpoint whose ratings have learnt every match of SRC "
        "that is later than they are, date by date; the network's weights stay as they are. "
        "Exit status 1 where there is nothing newer. With --player, show what the checkpoint "
        "knows of a player instead.",
    )
    parser.add_argument("sources", metavar="SRC", nargs="*", help="match files, folders or zips")
    parser.add_argument("--out", metavar="FILE", help="the checkpoint to write")
    parser.add_argument(
        "--model", metavar="PATH", help="a checkpoint, or `bundled` (default) or `measured`"
    )
    parser.add_argument("--until", type=date, metavar="DATE", help="learn no match after this day")
    parser.add_argument(
        "--player", metavar="NAME", help="show what the checkpoint knows of this player"
    )
    add_formats(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.player is not None:
        return _show(options)
    if not options.sources:
        raise InputError(
            "no matches to learn from", remedy="give SRC and --out FILE, or --player NAME"
        )
    if options.out is None:
        raise InputError("no checkpoint to write", remedy="give --out FILE")
    from attnlens.cricket.model.timeline import brought_up_to_date
    from attnlens.cricket.model.trained import save_predictor
    from attnlens.cricket.readers.history import matches_to_learn
    from attnlens.cricket.session import Session

    # The checkpoint itself may be brought up to date in its place.
    check_outputs({"--out": options.out}, sources=options.sources)
    predictor = Session(options.model).predictor
    skipped: list[MatchFileError] = []
    given = matches_to_learn(options.sources, skipped, progress, "{} matches read")
    now, added = brought_up_to_date(predictor, given, until=options.until)
    if added.matches:
        save_predictor(options.out, now)
    report_skipped(f"skipped {len(skipped)} files", skipped)
    if added.other:
        kinds = ", ".join(f"{number} {kind}" for kind, number in added.other.items())
        say(
            f"{sum(added.other.values())} of the {added.matches} matches learnt are of "
            f"a kind the model was not trained on ({kinds})"
        )
    if options.format == "json":
        _emit_data(now, added, options.out)
    else:
        emit(_sentence(predictor, now, added, options.out), None)
    return DONE if added.matches else NOTHING_NEWER


def _emit_data(now: TrainedPredictor, added: Added, out: str) -> None:
    """What was learnt, as JSON, with the hash of the checkpoint where one was written."""
    from attnlens.cricket.answers import file_digest

    def day(date: datetime.date | None) -> str | None:
        return None if date is None else date.isoformat()

    emit_json(
        {
            "matches": added.matches,
            "dates": [day(added.first), day(added.last)],
            "days": added.days,
            "players": added.players,
            "new_players": added.new_players,
            "venues": added.venues,
            "new_venues": added.new_venues,
            "already_known": added.known,
            "after_until": added.after,
            "undated": added.undated,
            "of_another_kind": sum(added.other.values()),
            "other_kinds": added.other,
            "ratings_until": day(now.ratings.until),
            "sha256": file_digest(out) if added.matches else None,
        },
        None,
    )


def _sentence(predictor: TrainedPredictor, now: TrainedPredictor, added: Added, out: str) -> str:
    from attnlens.words import count

    def matches(number: int) -> str:
        return count(number, "match", "matches")

    passed = {
        "up to then teach nothing new": added.known,
        "after --until left out": added.after,
        "without a date left out": added.undated,
    }
    aside = "".join(f"; {matches(number)} {why}" for why, number in passed.items() if number)
    before = predictor.ratings.until
    if not added.matches:
        return f"nothing newer than {before}: no file written{aside}"
    return (
        f"wrote {out}: ratings until {now.ratings.until} (were {before}), "
        f"{matches(added.matches)} learnt, "
        f"{count(added.players, 'player')} ({added.new_players} new), "
        f"{count(added.venues, 'venue')} ({added.new_venues} new){aside}"
    )


def _show(options: argparse.Namespace) -> int:
    """What the checkpoint knows of one player."""
    if options.sources or options.out is not None:
        raise InputError("--player only shows", remedy="leave SRC and --out out")
    from dataclasses import asdict

    from attnlens.cricket.model.people import player_known
    from attnlens.cricket.pages.player import render_player
    from attnlens.cricket.session import Session

    player = player_known(Session(options.model).predictor, options.player)
    if options.format == "json":
        emit_json(asdict(player), None)
    else:
        emit(render_player(player, **page(None)), None)
    return DONE
