"""``attnlens explain --follow``: each ball as somebody writes it down."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from attnlens.cli.messages import say
from attnlens.cli.output import check_outputs, utf8_stdout
from attnlens.cli.sources import timeline
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.following import News
    from attnlens.cricket.naming import BallReference
    from attnlens.cricket.trained import TrainedPredictor

EVERY = 0.1
"""Seconds between looks at the file."""


def add_follow_options(parser: argparse.ArgumentParser) -> None:
    """``--follow`` and ``--idle``."""
    parser.add_argument(
        "--follow",
        action="store_true",
        help="stay, read the file as it grows, and for each new ball tell how surprising it was "
        "and explain the next one; with --format json a line each",
    )
    parser.add_argument(
        "--idle",
        type=_seconds,
        metavar="SECONDS",
        help="with --follow: end when nothing new has come for so long (default: stay)",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds: give 0 or more")
    return value


def check_follow(options: argparse.Namespace) -> None:
    """Whether the options go together.

    Raises:
        InputError: they do not.
    """
    if not options.follow:
        if options.idle is not None:
            raise InputError("--idle is for --follow", remedy="leave it out, or follow")
        return
    if options.all or options.ball not in (None, "next"):
        raise InputError(
            "--follow explains the ball not yet bowled",
            remedy="use --ball next, or leave --ball out",
        )
    for name in ("innings", "batter", "bowler"):
        if getattr(options, name) is not None:
            raise InputError(
                f"--follow takes the innings in play, and who plays, from the file, not --{name}",
                remedy="leave it out",
            )
    if options.out is not None:
        raise InputError("--follow writes to stdout, not to a file", remedy="use > FILE")


def follow(options: argparse.Namespace) -> int:
    """Stay with a match until it is left alone for ``--idle`` seconds, or the user ends it."""
    from attnlens.cricket.following import Growing
    from attnlens.cricket.readers import read_match
    from attnlens.cricket.trained import load_predictor
    from attnlens.cricket.window import one_thread

    check_outputs({}, sources=(options.match, options.history), inputs=(options.model,))
    growing, told, quiet = Growing(options.match), "", time.monotonic()
    if not growing.is_there:
        read_match(options.match)  # says so
    with one_thread():
        predictor = load_predictor(options.model)
    dated = None if options.history is None else timeline(predictor, options.history)
    first = True
    while True:
        news = growing.poll()
        if news is not None:
            _tell(
                news,
                predictor if dated is None else dated.predictor_for(news.match),
                options,
                first,
            )
            first, told, quiet = False, "", time.monotonic()
        elif growing.trouble is not None and growing.settled:
            if first:
                raise growing.trouble
            if told != str(growing.trouble):
                told = str(growing.trouble)
                say(f"waiting: {told}")
        if options.idle is not None and time.monotonic() - quiet >= options.idle:
            return 0
        time.sleep(EVERY)


def _tell(
    news: News, predictor: TrainedPredictor, options: argparse.Namespace, first: bool
) -> None:
    """What was bowled since, and what to expect now."""
    from attnlens.cricket.explain import explain_ball
    from attnlens.cricket.naming import BallReference, innings_numbered
    from attnlens.cricket.next_ball import with_next_ball

    def explained(match: Any, reference: BallReference, evidence: bool) -> dict[str, Any]:
        return explain_ball(
            match,
            reference,
            predictor,
            evidence=evidence,
            history=options.history is not None,
            outcome=options.outcome,
        )

    if news.another:
        say(f"another match is in the file now: {news.match.match_id}")
    # What was there when we came, or the file, is past; a ball that came later is news.
    past = first or news.another
    bowled = [_bowled(explained(news.match, one, False)) for one in (() if past else news.bowled)]
    number = news.innings
    reference = BallReference(number, len(innings_numbered(news.match, number).deliveries) + 1)
    data, waiting = None, None
    try:
        longer = with_next_ball(news.match, number)
    except InputError as error:
        waiting = error.problem  # the innings is over, or nobody can know who plays
    else:
        data = explained(longer, reference, not options.no_evidence)
    if options.format == "json":
        utf8_stdout()
        line = {"bowled": bowled, "corrected": news.corrected, "next": data, "waiting": waiting}
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), flush=True)
        return
    if news.corrected:
        say("balls that were there before have been changed")
    for one in bowled:
        print(_sentence(one))
    if data is not None:
        from attnlens.cli.explain import render

        print(render(data, options), flush=True)
        return
    say(f"waiting: {waiting}")
    sys.stdout.flush()


def _bowled(data: dict[str, Any]) -> dict[str, Any]:
    ball, prediction = data["ball"], data["prediction"]
    actual = prediction["actual"]
    expected = next(one for one in prediction["outcomes"] if one["outcome"] == actual)
    return {
        "innings": ball["innings"],
        "index": ball["index"],
        "label": ball["label"],
        "batter": ball["batter"],
        "bowler": ball["bowler"],
        "actual": actual,
        "probability": expected["probability"],
        "surprise_bits": prediction["surprise_bits"],
    }


def _sentence(one: dict[str, Any]) -> str:
    from attnlens.explanation.facts import OUTCOME_WORDS
    from attnlens.explanation.narrative import surprise_word
    from attnlens.render.parts import percent

    bits = one["surprise_bits"]
    return (
        f"{one['label']}  {one['bowler']} to {one['batter']}: {OUTCOME_WORDS[one['actual']]}, to "
        f"which the model had given {percent(one['probability'])}"
        + ("" if bits is None else f": {surprise_word(bits)} ({bits:.1f} bits)")
        + "\n"
    )
