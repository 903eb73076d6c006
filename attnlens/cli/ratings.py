"""``attnlens ratings``: a checkpoint's ratings brought up to date, or shown."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from attnlens.cli.options import add_formats, date
from attnlens.cli.output import check_outputs, emit, emit_json, page, report_skipped
from attnlens.cli.sources import matches_to_learn
from attnlens.errors import InputError
from attnlens.words import count as counted

if TYPE_CHECKING:
    from attnlens.cricket.ratings_update import Added
    from attnlens.cricket.trained import TrainedPredictor
    from attnlens.errors import MatchFileError

DONE, NOTHING_NEWER = 0, 1


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
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
    from attnlens.cricket.ratings_update import brought_up_to_date
    from attnlens.cricket.trained import load_predictor, save_predictor

    # The checkpoint itself may be brought up to date in its place.
    check_outputs({"--out": options.out}, sources=options.sources)
    predictor = load_predictor(options.model)
    skipped: list[MatchFileError] = []
    given = matches_to_learn(options.sources, skipped, "{} matches read")
    now, added = brought_up_to_date(predictor, given, until=options.until)
    if added.matches:
        save_predictor(options.out, now)
    report_skipped(f"skipped {len(skipped)} files", skipped)
    if added.other:
        kinds = ", ".join(f"{count} {kind}" for kind, count in added.other.items())
        print(
            f"attnlens: {sum(added.other.values())} of the {added.matches} matches learnt are of "
            f"a kind the model was not trained on ({kinds})",
            file=sys.stderr,
        )
    sha256 = _digest(options.out) if added.matches else None
    if options.format == "json":
        emit_json(_data(now, added, sha256), None)
    else:
        emit(_sentence(predictor, now, added, options.out), None)
    return DONE if added.matches else NOTHING_NEWER


def _digest(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _data(now: TrainedPredictor, added: Added, sha256: str | None) -> dict[str, Any]:
    until = now.ratings.until
    ends = (added.first, added.last)
    return {
        "matches": added.matches,
        "dates": [None if day is None else day.isoformat() for day in ends],
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
        "ratings_until": None if until is None else until.isoformat(),
        "sha256": sha256,
    }


def _sentence(predictor: TrainedPredictor, now: TrainedPredictor, added: Added, out: str) -> str:
    before = predictor.ratings.until
    passed = []
    if added.known:
        passed.append(f"{counted(added.known, 'match', 'matches')} up to then teach nothing new")
    if added.after:
        passed.append(f"{counted(added.after, 'match', 'matches')} after --until left out")
    if added.undated:
        passed.append(f"{counted(added.undated, 'match', 'matches')} without a date left out")
    aside = "".join(f"; {text}" for text in passed)
    if not added.matches:
        return f"nothing newer than {before}: no file written{aside}"
    return (
        f"wrote {out}: ratings until {now.ratings.until} (were {before}), "
        f"{counted(added.matches, 'match', 'matches')} learnt, "
        f"{counted(added.players, 'player')} ({added.new_players} new), "
        f"{counted(added.venues, 'venue')} ({added.new_venues} new){aside}"
    )


def _show(options: argparse.Namespace) -> int:
    if options.sources or options.out is not None:
        raise InputError("--player only shows", remedy="leave SRC and --out out")
    from attnlens.cricket.ratings_update import player_data
    from attnlens.cricket.trained import load_predictor

    predictor = load_predictor(options.model)
    until = predictor.ratings.until
    data = {
        **player_data(predictor, options.player),
        "model": predictor.name,
        "ratings_until": None if until is None else until.isoformat(),
    }
    if options.format == "json":
        emit_json(data, None)
        return DONE
    from attnlens.render.player import render_player

    emit(render_player(data, **page(None)), None)
    return DONE
