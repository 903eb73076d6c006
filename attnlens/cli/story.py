"""``attnlens story``: who won a match, where it turned, and who beat expectation."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from attnlens.cli.options import add_formats, add_match, add_model_options, add_out
from attnlens.cli.output import check_files, emit, progress, show, utf8_stdout
from attnlens.cli.parser import Commands
from attnlens.cli.sources import session_of
from attnlens.errors import InputError

_FORMATS = ("text", "json", "markdown", "html", "prompt", "card")
_CARDS = (".svg", ".png")
_BAR = 24
"""Columns of the progress bar."""


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "story",
        help="a match told: who was winning, where it turned, who beat expectation",
        description="The story of a match: the result, who was winning ball by ball, where it "
        "turned, what surprised, and who beat what was expected of the balls they played.",
    )
    add_match(parser)
    add_model_options(parser)
    parser.add_argument(
        "--no-evidence", action="store_true", help="skip the interventions: faster, nothing tested"
    )
    add_formats(
        parser, _FORMATS, help_text="default {}; card: a picture to post, SVG or --out X.png"
    )
    add_out(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    check_files(options)
    suffix = Path(options.out or "").suffix.lower()
    if options.format == "text" and suffix in _CARDS:
        options.format = "card"
    if options.format == "card" and suffix not in ("", *_CARDS):
        raise InputError("a card is SVG or PNG", path=options.out, remedy="end it in .svg or .png")
    try:
        evidence = not options.no_evidence
        story = session_of(options).story(options.match, evidence=evidence, report=_bar)
    finally:
        progress("")
    from attnlens.cricket.pages import match_story
    from attnlens.files import written_beside

    if options.format in ("text", "json"):
        return show(options, story.to_dict, partial(match_story.render_match_story, story))
    if options.format == "card" and suffix == ".png":
        with written_beside(options.out) as part:
            match_story.save_card(story, part)
        return 0
    render = {
        "markdown": match_story.render_story_markdown,
        "html": match_story.render_story_html,
        "prompt": lambda story: match_story.story_prompt(story).text,
        "card": match_story.render_card,
    }
    utf8_stdout()
    emit(render[options.format](story), options.out)
    return 0


def _bar(done: int, of: int) -> None:
    """How much of the work is done, as a passing bar on stderr."""
    full = _BAR * done // of
    progress(f"{'█' * full}{'░' * (_BAR - full)} {done} of {of} balls tested")
