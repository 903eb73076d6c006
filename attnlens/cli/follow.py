"""``attnlens explain --follow``: each ball as somebody writes it down."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from attnlens.cli.arguments import Parser, number, session_of
from attnlens.cli.output import say, utf8_stdout
from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.readers.following import News
    from attnlens.cricket.session import Session
    from attnlens.files import Json

_POLL_SECONDS = 0.1
"""Seconds between looks at the file."""

_MAX_IDLE_SECONDS = 10_000_000
"""Seconds that anybody waits."""


def add_follow_options(parser: Parser) -> None:
    """``--follow`` and ``--idle``."""
    parser.flag(
        "--follow",
        "stay with a file that grows: a line for each new ball, how surprising it was and "
        "what is expected of the next; --full: the next one explained, --format json: a line each",
    )
    parser.option(
        "--idle",
        "SECONDS",
        "with --follow: end when nothing new has come for so long (default: stay)",
        type=number(0, _MAX_IDLE_SECONDS),
    )


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


def follow(options: argparse.Namespace, show_page: Callable[[Explanation], int]) -> int:
    """Stay with a match until it is left alone for ``--idle`` seconds, or the user ends it.

    Args:
        show_page: print the next ball's explanation, where each ball is not one line.
    """
    from attnlens.cricket.readers.following import Growing

    session = session_of(options)
    growing, last_problem, quiet = Growing(options.match), "", time.monotonic()
    if not growing.is_there:
        session.read(options.match)  # says so
    session.predictor  # noqa: B018  # a wrong --model is told at once
    first = True
    while True:
        news = growing.poll()
        if news is not None:
            _report_news(news, session, options, first, show_page)
            first, last_problem, quiet = False, "", time.monotonic()
        elif growing.error is not None and growing.settled:
            if first:
                raise growing.error
            if last_problem != str(growing.error):
                last_problem = str(growing.error)
                say(f"waiting: {last_problem}")
        if options.idle is not None and time.monotonic() - quiet >= options.idle:
            return 0
        time.sleep(_POLL_SECONDS)


def _report_news(
    news: News,
    session: Session,
    options: argparse.Namespace,
    first: bool,
    show_page: Callable[[Explanation], int],
) -> None:
    """What was bowled since, and what to expect now."""
    if news.another:
        say(f"another match is in the file now: {news.match.match_id}")
    # What was there when we came, or the file, is past; a ball that came later is news.
    past = first or news.another
    bowled = [
        _bowled(session.explain(news.match, ball=ball, evidence=False, outcome=options.outcome))
        for ball in (() if past else news.bowled)
    ]
    explanation, waiting = None, None
    try:
        match, ball = session.ball(news.match, "next", news.innings)
    except InputError as error:
        waiting = error.problem  # the innings is over, or nobody can know who plays
    else:
        tested = not (options.no_evidence or in_lines(options))
        explanation = session.explain(match, ball=ball, evidence=tested, outcome=options.outcome)
    if options.format == "json":
        utf8_stdout()
        line = {
            "bowled": bowled,
            "corrected": news.corrected,
            "next": None if explanation is None else explanation.to_dict(),
            "waiting": waiting,
        }
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), flush=True)
        return
    if news.corrected:
        say("balls that were there before have been changed")
    ahead = f"next: {waiting}" if explanation is None else _forecast(explanation)
    if in_lines(options):
        lines = [_sentence(ball_row) for ball_row in bowled] or [news.match.match_id]
        print("\n".join([*lines[:-1], f"{lines[-1]} · {ahead}"]), flush=True)
        return
    for ball_row in bowled:
        print(f"{_sentence(ball_row)}\n", flush=True)
    if explanation is None:
        say(f"waiting: {waiting}")
    else:
        show_page(explanation)


def in_lines(options: argparse.Namespace) -> bool:
    """Whether a line is told of each ball, not a page."""
    return options.format == "text" and not options.full and options.scale is None


_MIN_LISTED_PROBABILITY = 0.03
"""Outcomes at least so likely stand in a line."""


def _forecast(explanation: Explanation) -> str:
    """What is expected of the ball not yet bowled, and who is winning."""
    from attnlens.cricket.words.facts import OUTCOME_WORDS
    from attnlens.render.numbers import percent_seen

    ball, win = explanation.ball, explanation.win_probability
    outcomes = ", ".join(
        f"{OUTCOME_WORDS[outcome.outcome].removeprefix('a ')} {percent_seen(outcome.probability)}"
        for outcome in explanation.prediction.outcomes
        if outcome.probability >= _MIN_LISTED_PROBABILITY
    )
    winning = "" if win is None else f" · {win.team} to win {percent_seen(win.before)}"
    return f"next {ball.label} {ball.bowler} to {ball.batter}: {outcomes}{winning}"


def _bowled(explanation: Explanation) -> Json:
    """A ball that was bowled, and what the model had given what happened."""
    ball, prediction = explanation.ball, explanation.prediction
    expected = next(row for row in prediction.outcomes if row.outcome == prediction.actual)
    fields = ("innings", "index", "label", "batter", "bowler")
    return {
        **{name: getattr(ball, name) for name in fields},
        "actual": expected.outcome,
        "probability": expected.probability,
        "likeliest": expected.outcome == prediction.top,
        "surprise_bits": prediction.surprise_bits,
    }


def _sentence(ball: Json) -> str:
    from attnlens.cricket.words.facts import OUTCOME_WORDS
    from attnlens.render.numbers import percent_seen

    return (
        f"{ball['label']}  {ball['bowler']} to {ball['batter']}: {OUTCOME_WORDS[ball['actual']]}, "
        f"to which the model had given {percent_seen(ball['probability'])}"
        + (", the likeliest outcome" if ball["likeliest"] else "")
    )
