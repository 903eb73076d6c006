"""``attnlens explain``, why the model expects what it expects of one ball; and its ``schema``."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from attnlens.cli.arguments import (
    Commands,
    Parser,
    add_formats,
    add_shared,
    ball_of,
    session_of,
    whole_number,
)
from attnlens.cli.follow import add_follow_options, check_follow, follow
from attnlens.cli.output import check_files, emit, opened, progress, say, show, utf8_stdout
from attnlens.errors import InputError, count

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.explain.types import Explanation

_FORMATS = ("text", "json", "heatmap", "summary", "prompt", "markdown", "html")


def add_explain(commands: Commands) -> None:
    from attnlens.cricket.predictor.scales import SCALE_NAMES

    parser = commands.add_parser(
        "explain",
        run=_run,
        help="why the model expects what it expects of a ball",
        description="Explain the prediction for one ball from the balls before it, "
        "and test the explanation against the model.",
    )
    add_ball_options(parser, nargs="+")
    parser.flag(
        "--all",
        "every ball: of one match a JSON line each; with --out DIR, of every MATCH (files, "
        "folders, zips) DIR/MATCH_ID.parquet, a row each; the same command resumes",
    )
    parser.option(
        "--workers",
        "N",
        "with --all --out: processes (default 1)",
        type=whole_number(1, 4096),
        default=1,
    )
    parser.flag("--ray", "with --all --out: let Ray run the processes")
    parser.add_argument(
        "--scale",
        choices=SCALE_NAMES,
        help="the scale to show (default whole for text, medium for heatmap)",
    )
    parser.flag("--full", "every claim, every head, and where they looked (text)")
    add_formats(parser, _FORMATS)
    parser.add_argument(
        "--messages",
        choices=("openai", "anthropic"),
        help="the prompt as the JSON messages of such an API (implies --format prompt)",
    )
    parser.option(
        "--template",
        "FILE",
        "a Jinja template in place of the prompt's own (implies --format prompt)",
    )
    parser.flag(
        "--clauses",
        "the prompt that lists attnlens's own sentences by id and asks which to print, for "
        "`attnlens.render_text` (implies --format prompt)",
    )
    add_shared(parser, "--out")
    parser.option(
        "--cache",
        "FOLDER",
        "keep answers there, to give them again at once (default attnlens in the user's "
        "cache folder)",
    )
    parser.flag("--no-cache", "work it out anew, and keep no answer")
    add_follow_options(parser)


def add_ball_options(parser: Parser, *, nargs: str | None = None) -> None:
    """The match (``nargs`` of them), the ball, the model and what is asked of them."""
    from attnlens.cricket.match.match import OUTCOMES, parse_outcome

    add_shared(parser, "match", nargs=nargs)
    add_shared(parser, "--ball", "--innings")
    parser.option("--batter", "NAME", "who faces (only with --ball next); new:NAME is a debutant")
    parser.option("--bowler", "NAME", "who bowls (only with --ball next)")
    add_shared(parser, "--model", "--history")
    parser.add_argument(
        "--outcome",
        type=parse_outcome,
        choices=(*OUTCOMES, "all"),
        help="explain this outcome: effects and verdicts are about its chance alone; "
        "its code, or its name such as six (default what came, if a wicket or a boundary, "
        "else what is far from usual, else what came; all: the whole distribution)",
    )
    add_shared(parser, "--no-evidence")


def add_schema(commands: Commands) -> None:
    parser = commands.add_parser(
        "schema",
        run=_run_schema,
        help="the JSON Schema of an explanation",
        description="Print the JSON Schema (draft 2020-12) of `explain --format json`.",
    )
    add_shared(parser, "--out")


def _run_schema(options: argparse.Namespace) -> int:
    from importlib.resources import files

    # The shipped file is the schema; a test holds it equal to the types, which are slow to load.
    text = files("attnlens.cricket.explain").joinpath("schema.json").read_text(encoding="utf-8")
    utf8_stdout()
    emit(text.rstrip("\n"), options.out)
    return 0


def _run(options: argparse.Namespace) -> int:
    if options.all and options.out is not None:
        return _export(options)
    if options.workers > 1 or options.ray:
        raise InputError("--workers and --ray need a folder", remedy="add --all --out DIR")
    if len(options.match) > 1:
        raise InputError("several matches need a folder", remedy="add --all --out DIR")
    [options.match] = options.match
    check_follow(options)
    _check_form(options)
    if options.all and options.ball is not None:
        raise InputError("--all is every ball, --ball is one", remedy="give one of the two")
    if options.follow:
        return follow(options, partial(_show, options))
    # The answer should not be lost for want of a place.
    check_files(options)
    if options.all:
        return _explain_all(options)
    return _show(options, explain_named_ball(options))


def _check_form(options: argparse.Namespace) -> None:
    """Which format goes with what else is asked for."""
    for name in ("messages", "template", "clauses"):
        if getattr(options, name) not in (None, False):
            if options.format not in ("text", "prompt"):
                raise InputError(
                    f"--{name} is about prompts, not about --format {options.format}",
                    remedy="use --format prompt, or leave it out",
                )
            options.format = "prompt"
    if options.outcome is not None and options.format == "heatmap":
        raise InputError(
            "--format heatmap shows where attention went, which is the same for every outcome",
            remedy="leave --outcome out, or use --format text or json",
        )
    if options.all and options.format not in ("text", "json"):
        raise InputError(
            f"--all writes whole explanations as JSON lines, not --format {options.format}",
            remedy="leave --format out",
        )


def explain_named_ball(options: argparse.Namespace) -> Explanation:
    """The explanation of the ball that the options name.

    Raises:
        AttnlensError: the file, the ball or the checkpoint cannot be used.
    """
    session = session_of(options, cache=_answers_folder(options))
    match, reference = ball_of(session, options)
    evidence, outcome = not options.no_evidence, options.outcome
    return session.explain(match, ball=reference, evidence=evidence, outcome=outcome)


def _answers_folder(options: argparse.Namespace) -> Path | None:
    """Where answers are kept; ``None`` where none are."""
    if getattr(options, "no_cache", False):
        return None
    from pathlib import Path

    from attnlens.cricket.session import default_folder

    folder = getattr(options, "cache", None)
    return Path(folder) if folder else default_folder()


def _export(options: argparse.Namespace) -> int:
    """Every ball of every match to Parquet files; 1 if a match could not be read."""
    from attnlens.cricket.export import export_matches

    for name in ("follow", "ball", "innings", "batter", "bowler", "scale", "full", "template"):
        if getattr(options, name) not in (None, False):
            raise InputError(f"--{name} is not for --all --out DIR", remedy="leave it out")
    if options.format not in ("text", "json") or os.path.isfile(options.out):
        raise InputError(
            "--all --out writes Parquet files to a folder",
            path=options.out,
            remedy="name a folder; for JSON lines of one match leave --out out",
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
    """Every ball of a match, or of one of its innings, a JSON line each."""
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
    """Write one explanation in the form that was asked for."""
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
    from attnlens.cricket.pages.documents import render_html, render_markdown

    return (render_html if form == "html" else render_markdown)(explanation)


def _prompt(explanation: Explanation, options: argparse.Namespace) -> str:
    """The prompt as text to pipe, or as messages."""
    import json

    from attnlens.cricket.pages.prompt import prompt_of
    from attnlens.cricket.words.clauses import clauses_prompt

    make_prompt = clauses_prompt if options.clauses else prompt_of
    prompt = make_prompt(explanation, template=options.template)
    if options.messages is None:
        return prompt.text
    return json.dumps(prompt.messages(options.messages), ensure_ascii=False, indent=2)
