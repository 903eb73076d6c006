"""The command ``explain``, which explains the forecast of a ball, and the command ``schema``."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from attnlens.cli.arguments import (
    Commands,
    Parser,
    add_formats,
    add_shared,
    ball_of,
    number,
    session_of,
    whole_number,
)
from attnlens.cli.output import check_files, emit, opened, progress, say, show, utf8_stdout
from attnlens.errors import InputError, count

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.readers import News
    from attnlens.cricket.session import Session
    from attnlens.files import Json


_POLL_SECONDS = 0.1
"""The time between two checks for a change of the match file."""

_MAX_IDLE_SECONDS = 10_000_000
"""The largest accepted value of ``--idle``."""
_FORMATS = ("text", "json", "heatmap", "summary", "prompt", "markdown", "html")


def add_explain(commands: Commands) -> None:
    from attnlens.cricket.predictor.scales import SCALE_NAMES

    parser = commands.add_parser(
        "explain",
        run=_run,
        help="explain the prediction for one ball",
        description="Explain how the model predicts one ball from the earlier balls. Test the "
        "explanation by hiding earlier balls from the model.",
    )
    add_ball_options(parser, nargs="+")
    parser.flag(
        "--all",
        "print one JSON line for every ball of one match; with --out DIR, write "
        "DIR/MATCH_ID.parquet with one row per ball for every MATCH (files, folders, zip files); "
        "to resume, run the same command again",
    )
    parser.option(
        "--workers",
        "N",
        "number of worker processes (default 1; only with --all --out)",
        type=whole_number(1, 4096),
        default=1,
    )
    parser.flag("--ray", "let Ray start the worker processes (only with --all --out)")
    parser.add_argument(
        "--scale",
        choices=SCALE_NAMES,
        help="the scale whose attention is shown (default: whole for text, medium for heatmap)",
    )
    parser.flag(
        "--full",
        "with --format text: list every claim, every head, and the balls that each head attended "
        "to",
    )
    add_formats(parser, _FORMATS)
    parser.add_argument(
        "--messages",
        choices=("openai", "anthropic"),
        help="print the prompt as JSON messages for this API (implies --format prompt)",
    )
    parser.option(
        "--template",
        "FILE",
        "a Jinja template that replaces the built-in prompt (implies --format prompt)",
    )
    parser.flag(
        "--clauses",
        "print a prompt that lists attnlens's own sentences with their ids and asks a language "
        "model to choose some; `attnlens.render_text` returns the chosen sentences (implies "
        "--format prompt)",
    )
    add_shared(parser, "--out")
    parser.option(
        "--cache",
        "FOLDER",
        "the folder in which explanations are stored for reuse (default: attnlens in the user's "
        "cache folder)",
    )
    parser.flag("--no-cache", "compute the explanation again, and do not store it")
    parser.flag(
        "--follow",
        "watch a file that is still being written, and print one line per new ball: the outcome, "
        "the probability that the model gave to the outcome, and the forecast of the next ball; "
        "with --full, print a page about the next ball; with --format json, print one JSON line "
        "per ball",
    )
    parser.option(
        "--idle",
        "SECONDS",
        "with --follow: stop if no new ball arrives for this many seconds (default: never)",
        type=number(0, _MAX_IDLE_SECONDS),
    )


def add_ball_options(parser: Parser, *, nargs: str | None = None) -> None:
    """Add the options that choose the match, the ball, the model and the outcome."""
    from attnlens.cricket.match.match import OUTCOMES, parse_outcome

    add_shared(parser, "match", nargs=nargs)
    add_shared(parser, "--ball", "--innings")
    parser.option(
        "--batter",
        "NAME",
        "the batter on strike, or new:NAME for a debutant (only with --ball next)",
    )
    parser.option("--bowler", "NAME", "the bowler (only with --ball next)")
    add_shared(parser, "--model", "--history")
    parser.add_argument(
        "--outcome",
        type=parse_outcome,
        choices=(*OUTCOMES, "all"),
        help="the outcome to explain: a code, or a name such as six. Effects and verdicts refer "
        "to the probability of this outcome or, with `all`, to the whole distribution. Default: "
        "the actual outcome if it was a wicket, a four or a six; otherwise an outcome whose "
        "probability is far from usual; otherwise the actual outcome if it was a dot or a single; "
        "otherwise the most likely common outcome",
    )
    add_shared(parser, "--no-evidence")


def add_schema(commands: Commands) -> None:
    parser = commands.add_parser(
        "schema",
        run=_run_schema,
        help="print the JSON Schema of an explanation",
        description="Print the JSON Schema (draft 2020-12) of `explain --format json`.",
    )
    add_shared(parser, "--out")


def _run_schema(options: argparse.Namespace) -> int:
    from importlib.resources import files

    # The types would give the same schema, but importing them is slow. A test compares both.
    text = files("attnlens.cricket.explain").joinpath("schema.json").read_text(encoding="utf-8")
    utf8_stdout()
    emit(text.rstrip("\n"), options.out)
    return 0


def _run(options: argparse.Namespace) -> int:
    if options.all and options.out is not None:
        return _export(options)
    if options.workers > 1 or options.ray:
        raise InputError(
            "--workers and --ray work only when explanations are written to a folder",
            remedy="add --all --out DIR",
        )
    if len(options.match) > 1:
        raise InputError(
            "the explanations of several matches need an output folder",
            remedy="add --all --out DIR",
        )
    [options.match] = options.match
    check_follow(options)
    _check_form(options)
    if options.all and options.ball is not None:
        raise InputError(
            "--all means every ball, but --ball names one ball",
            remedy="give only one of the two options",
        )
    if options.follow:
        return follow(options, partial(_show, options))
    # Check first, so that the answer is not lost because the output cannot be written.
    check_files(options)
    if options.all:
        return _explain_all(options)
    return _show(options, explain_named_ball(options))


def _check_form(options: argparse.Namespace) -> None:
    for name in ("messages", "template", "clauses"):
        if getattr(options, name) not in (None, False):
            if options.format not in ("text", "prompt"):
                raise InputError(
                    f"--{name} applies to prompts, not to --format {options.format}",
                    remedy="use --format prompt, or leave --format out",
                )
            options.format = "prompt"
    if options.outcome is not None and options.format == "heatmap":
        raise InputError(
            "--format heatmap shows attention weights, which are the same for every outcome",
            remedy="leave --outcome out, or use --format text or json",
        )
    if options.all and options.format not in ("text", "json"):
        raise InputError(
            "--all writes each explanation as a JSON line and does not support "
            f"--format {options.format}",
            remedy="leave --format out",
        )


def explain_named_ball(options: argparse.Namespace) -> Explanation:
    """Explain the ball named by the options.

    Raises:
        AttnlensError: the match file, the ball or the model cannot be used.
    """
    session = session_of(options, cache=_answers_folder(options))
    match, reference = ball_of(session, options)
    evidence, outcome = not options.no_evidence, options.outcome
    return session.explain(match, ball=reference, evidence=evidence, outcome=outcome)


def _answers_folder(options: argparse.Namespace) -> Path | None:
    if getattr(options, "no_cache", False):
        return None
    from pathlib import Path

    from attnlens.cricket.session import default_folder

    folder = getattr(options, "cache", None)
    return Path(folder) if folder else default_folder()


def _export(options: argparse.Namespace) -> int:
    """Export all matches to Parquet files. Return 1 if a match could not be read."""
    from attnlens.cricket.export import export_matches

    for name in ("follow", "ball", "innings", "batter", "bowler", "scale", "full", "template"):
        if getattr(options, name) not in (None, False):
            raise InputError(
                f"--{name} cannot be combined with --all --out DIR", remedy="leave it out"
            )
    if options.format not in ("text", "json") or os.path.isfile(options.out):
        raise InputError(
            "--all --out writes Parquet files into a folder, but this is a file",
            path=options.out,
            remedy="name a folder; to write one match as JSON lines, omit --out and redirect "
            "stdout",
        )
    try:
        failed = export_matches(
            options.match,
            options.out,
            model=options.model,
            history=[] if options.history is None else [options.history],
            outcome=options.outcome,
            evidence=not options.no_evidence,
            workers=options.workers,
            ray=options.ray,
            report=progress,
            warn=say,
        )
    finally:
        progress("")
    if failed:
        say(f"{count(failed, 'match', 'matches')} could not be read")
    return 1 if failed else 0


def _explain_all(options: argparse.Namespace) -> int:
    from attnlens.cricket.match.naming import BallReference, innings_numbered

    session = session_of(options)
    match = session.read(options.match)
    number = options.innings
    sides = match.innings if number is None else [innings_numbered(match, number)]
    evidence, outcome = not options.no_evidence, options.outcome

    with opened(options.out) as file:
        for side in sides:
            for ball in side.deliveries:
                progress(f"innings {side.number}, ball {ball.index} of {len(side.deliveries)}")
                reference = BallReference(side.number, ball.index)
                explanation = session.explain(
                    match, ball=reference, evidence=evidence, outcome=outcome
                )
                file.write(f"{explanation.to_json()}\n")
        progress("")
    return 0


def _show(options: argparse.Namespace, explanation: Explanation) -> int:
    from attnlens.cricket.pages import ball_page

    scale = options.scale or ("medium" if options.format == "heatmap" else "whole")
    render = partial(ball_page.render_ball, explanation)
    if options.format == "text" and (options.full or options.scale is not None):
        from attnlens.cricket.pages.full_page import render_full_page

        render = partial(render_full_page, explanation, scale=scale)
    return show(
        options,
        explanation.to_dict,
        render,
        heatmap=lambda: ball_page.render_heatmap(explanation, scale),
        summary=lambda: ball_page.render_summary(explanation),
        prompt=lambda: _prompt(explanation, options),
        markdown=lambda: _document(explanation, "markdown"),
        html=lambda: _document(explanation, "html"),
    )


def _document(explanation: Explanation, form: str) -> str:
    from attnlens.cricket.pages import documents

    return str(getattr(documents, f"render_{form}")(explanation))


def _prompt(explanation: Explanation, options: argparse.Namespace) -> str:
    import json

    from attnlens.cricket.pages.prompt import prompt_of
    from attnlens.cricket.words.clauses import clauses_prompt

    make_prompt = clauses_prompt if options.clauses else prompt_of
    prompt = make_prompt(explanation, template=options.template)
    if options.messages is None:
        return prompt.text
    return json.dumps(prompt.messages(options.messages), ensure_ascii=False, indent=2)


def check_follow(options: argparse.Namespace) -> None:
    """Check that the other options can be combined with ``--follow``.

    Raises:
        InputError: an option conflicts with ``--follow``, or works only with ``--follow``.
    """
    if not options.follow:
        if options.idle is not None:
            raise InputError(
                "--idle works only with --follow", remedy="leave --idle out, or add --follow"
            )
        return
    if options.all or options.ball not in (None, "next"):
        raise InputError(
            "--follow explains only the next ball, which is not yet bowled",
            remedy="use --ball next, or leave --ball out",
        )
    for name in ("innings", "batter", "bowler"):
        if getattr(options, name) is not None:
            raise InputError(
                f"--follow reads the innings and the players from the file, so --{name} "
                "cannot be given",
                remedy="leave it out",
            )
    if options.out is not None:
        raise InputError(
            "--follow writes only to stdout, so --out cannot be given",
            remedy="redirect stdout: > FILE",
        )


def follow(options: argparse.Namespace, show_page: Callable[[Explanation], int]) -> int:
    """Read the file of a live match repeatedly, and print every new ball.

    Stop when the file has not changed for ``--idle`` seconds, or when the user stops the command.

    Args:
        show_page: prints the explanation of the next ball, unless each ball is printed as one line.
    """
    from attnlens.cricket.readers import Growing

    session = session_of(options)
    growing, last_problem, quiet = Growing(options.match), "", time.monotonic()
    if not growing.is_there:
        session.read(options.match)  # raises an error with the reason
    session.predictor  # noqa: B018  # a wrong --model fails at once
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
    if news.another:
        say(f"the file now contains another match: {news.match.match_id}")
    # Balls that are in the file at the start are not printed.
    past = first or news.another
    bowled = [
        _bowled(session.explain(news.match, ball=ball, evidence=False, outcome=options.outcome))
        for ball in (() if past else news.bowled)
    ]
    explanation, waiting = None, None
    try:
        match, ball = session.ball(news.match, "next", news.innings)
    except InputError as error:
        waiting = error.problem  # the innings is over, or the next players are not known yet
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
        say("the file has changed balls that were already printed")
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
    """Return whether each ball is printed as one line and not as a page."""
    return options.format == "text" and not options.full and options.scale is None


_MIN_LISTED_PROBABILITY = 0.03
"""The smallest probability that a one-line forecast lists."""


def _forecast(explanation: Explanation) -> str:
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
        f"{ball['label']}  {ball['bowler']} to {ball['batter']}: {OUTCOME_WORDS[ball['actual']]}; "
        f"its forecast probability was {percent_seen(ball['probability'])}"
        + (" (the likeliest outcome)" if ball["likeliest"] else "")
    )
