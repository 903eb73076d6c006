"""``attnlens explain``: why the model expects what it expects of one ball."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from attnlens.cli.follow import add_follow_options, check_follow, follow
from attnlens.cli.messages import say
from attnlens.cli.options import add_ball, add_formats, add_model_options, add_out
from attnlens.cli.output import check_outputs, emit, page, progress, utf8_stdout
from attnlens.cli.sources import timeline
from attnlens.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.match import Match
    from attnlens.cricket.naming import BallReference

FORMATS = ("text", "json", "heatmap", "summary", "prompt", "markdown", "html")
SCALES = ("micro", "short", "medium", "long")
OUTCOMES = ("0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye")


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "explain",
        help="why the model expects what it expects of a ball",
        description="Explain the prediction for one ball from the balls before it, "
        "and test the explanation against the model.",
    )
    add_ball_options(parser)
    parser.add_argument("--all", action="store_true", help="every ball, one JSON line each")
    parser.add_argument(
        "--scale", choices=SCALES, help="the scale to show (text and heatmap; default medium)"
    )
    add_formats(parser, FORMATS)
    parser.add_argument(
        "--messages",
        choices=("openai", "anthropic"),
        help="the prompt as the JSON messages of such an API (implies --format prompt)",
    )
    parser.add_argument(
        "--template",
        metavar="FILE",
        help="a Jinja template in place of the prompt's own (implies --format prompt)",
    )
    add_out(parser)
    parser.add_argument(
        "--cache",
        metavar="FOLDER",
        help="keep answers there, to give them again at once (default attnlens in the user's "
        "cache folder)",
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="work it out anew, and keep no answer"
    )
    add_follow_options(parser)
    parser.set_defaults(run=run)


def add_ball_options(parser: argparse.ArgumentParser) -> None:
    """The match, the ball, the model and what is asked of them."""
    add_ball(parser)
    parser.add_argument("--batter", metavar="NAME", help="who faces (only with --ball next)")
    parser.add_argument("--bowler", metavar="NAME", help="who bowls (only with --ball next)")
    add_model_options(parser)
    parser.add_argument(
        "--outcome",
        choices=OUTCOMES,
        help="explain this outcome: effects and verdicts are about its chance alone (default the "
        "whole distribution)",
    )
    parser.add_argument(
        "--no-evidence", action="store_true", help="skip the interventions: faster, nothing tested"
    )


def run(options: argparse.Namespace) -> int:
    check_follow(options)
    for name in ("messages", "template"):
        if getattr(options, name) is not None:
            if options.format not in ("text", "prompt"):
                raise InputError(
                    f"--{name} is about prompts, not about --format {options.format}",
                    remedy="use --format prompt, or leave it out",
                )
            options.format = "prompt"
    if options.all and options.ball is not None:
        raise InputError("--all is every ball, --ball is one", remedy="give one of the two")
    if not (options.all or options.follow) and options.ball is None:
        raise InputError("say which ball", remedy="give --ball 47, --ball last, or --all")
    if options.outcome is not None and options.format in ("heatmap", "summary"):
        raise InputError(
            f"--format {options.format} tells where attention went, which is the same for every "
            "outcome",
            remedy="leave --outcome out, or use --format text or json",
        )
    if options.all and options.format not in ("text", "json"):
        raise InputError(
            f"--all writes whole explanations as JSON lines, not --format {options.format}",
            remedy="leave --format out",
        )
    if options.follow:
        return follow(options)
    # The answer should not be lost for want of a place.
    check_outputs(
        {"--out": options.out},
        sources=(options.match, options.history),
        inputs=(options.model,),
    )
    if options.all:
        from attnlens.cricket.naming import innings_numbered
        from attnlens.cricket.readers import read_match

        match = read_match(options.match)
        if options.innings is not None:
            innings_numbered(match, options.innings)
        _explain_all(match, options)
        return 0
    emit(render(explained(options), options), options.out)
    return 0


def explained(options: argparse.Namespace) -> dict[str, Any]:
    """The explanation of the ball that the options name.

    Raises:
        AttnlensError: the file, the ball or the checkpoint cannot be used.
    """
    from attnlens.cricket.naming import balls_of, find_ball, hint
    from attnlens.cricket.readers import read_match

    # A wrong name should not wait for torch.
    match = read_match(options.match)
    with balls_of(options.match):
        reference = find_ball(match, options.ball, options.innings)
    note = hint(match, options.ball, reference)
    if note:
        say(note)
    match = _with_players(match, reference, options)
    return _explained(match, reference, options)


def _explained(
    match: Match, reference: BallReference, options: argparse.Namespace
) -> dict[str, Any]:
    """The explanation of one ball: as it was worked out before, where it was."""
    from attnlens.answers import Answers

    folder = _folder(options)
    key = None if folder is None else _key(match, reference, options)
    if folder is None or key is None:
        return _explainer(match, options)(reference)
    answers = Answers(folder)
    kept: dict[str, Any] | None = answers.get(key)
    if kept is not None:
        return kept
    data = _explainer(match, options)(reference)
    answers.put(key, data)
    return data


def _folder(options: argparse.Namespace) -> Path | None:
    """Where answers are kept; ``None`` where none are."""
    if getattr(options, "no_cache", False):
        return None
    from pathlib import Path

    from attnlens.answers import default_folder

    given = getattr(options, "cache", None)
    return Path(given) if given else default_folder()


def _key(match: Match, reference: BallReference, options: argparse.Namespace) -> str | None:
    """What the answer follows from; ``None`` where that cannot be told without working it out.

    The match counts as it was read, not by its bytes: that holds the files beside it, too, and
    a match in another format that reads alike has the same explanation.
    """

    from attnlens.answers import file_digest, key_of, software
    from attnlens.cricket.calibration import SUFFIX
    from attnlens.models.shipped import named_checkpoint

    name, path = named_checkpoint(options.model)
    model = file_digest(path)
    # How often a checkpoint's calls came true lies in a file beside it.
    quoted = file_digest(path.with_name(path.stem + SUFFIX))
    history = None if options.history is None else file_digest(options.history)
    if model is None or (options.history is not None and history is None):
        return None  # no such file, or a folder of matches
    asked = (quoted, reference, options.outcome, not options.no_evidence, history)
    return key_of("explain", software(), name, model, match.content, *asked)


def _explainer(
    match: Match, options: argparse.Namespace
) -> Callable[[BallReference], dict[str, Any]]:
    """What explains a ball of this match as the options ask."""
    from attnlens.cricket.explain import explain_ball
    from attnlens.cricket.trained import load_predictor
    from attnlens.cricket.window import one_thread

    with one_thread():
        predictor = load_predictor(options.model)
    dated = options.history is not None
    if dated:
        predictor = timeline(predictor, options.history).predictor_for(match)
    return lambda reference: explain_ball(
        match,
        reference,
        predictor,
        evidence=not options.no_evidence,
        history=dated,
        outcome=options.outcome,
    )


def _explain_all(match: Match, options: argparse.Namespace) -> None:
    import json

    from attnlens.cricket.naming import BallReference
    from attnlens.files import written_beside

    explain = _explainer(match, options)

    def write(file: TextIO) -> None:
        for side in match.innings:
            if options.innings not in (None, side.number):
                continue
            for ball in side.deliveries:
                progress(f"innings {side.number}, ball {ball.index} of {len(side.deliveries)}")
                data = explain(BallReference(side.number, ball.index))
                line = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
                file.write(f"{line}\n")
        progress("")

    if options.out is None:
        utf8_stdout()
        write(sys.stdout)
        return
    with written_beside(options.out) as part, part.open("w", encoding="utf-8") as file:
        write(file)


def _with_players(match: Match, reference: BallReference, options: argparse.Namespace) -> Match:
    """The match, with the ball not yet bowled where that is the one asked for."""
    from attnlens.cricket.naming import innings_numbered

    if reference.index <= len(innings_numbered(match, reference.innings).deliveries):
        if options.batter or options.bowler:
            raise InputError(
                "--batter and --bowler are for the ball not yet bowled",
                remedy="use --ball next, or leave them out",
            )
        return match
    from attnlens.cricket.next_ball import with_next_ball

    return with_next_ball(match, reference.innings, batter=options.batter, bowler=options.bowler)


def render(data: dict[str, Any], options: argparse.Namespace) -> str:
    """One explanation in the form that was asked for."""
    from attnlens.render.plain import render_heatmap, render_json, render_summary

    if options.format != "text":
        utf8_stdout()
    if options.format == "json":
        return render_json(data)
    if options.format == "heatmap":
        return render_heatmap(data, options.scale or "medium")
    if options.format == "summary":
        return render_summary(data)
    if options.format == "prompt":
        return _prompt(data, options)
    if options.format == "markdown":
        from attnlens.render.markdown import render_markdown

        return render_markdown(data)
    if options.format == "html":
        from attnlens.render.html import render_html

        return render_html(data)
    from attnlens.render.terminal import render_terminal

    return render_terminal(
        data,
        outcome=options.outcome,
        scale=options.scale or "medium",
        **page(options.out),
    )


def _prompt(data: dict[str, Any], options: argparse.Namespace) -> str:
    """The prompt as text to pipe, or as messages."""
    from attnlens.render.prompt import MOST_TOKENS, prompt_of

    prompt = prompt_of(data, template=options.template)
    if prompt.tokens > MOST_TOKENS:
        # Only a template of the user's can be so long.
        said = f"the prompt may have {prompt.tokens:,} tokens, more than {MOST_TOKENS:,}"
        print(f"attnlens: {options.template}: {said}", file=sys.stderr)
    if options.messages is None:
        return prompt.text
    import json

    return json.dumps(prompt.messages(options.messages), ensure_ascii=False, indent=2)
