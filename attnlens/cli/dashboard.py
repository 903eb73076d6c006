"""The command ``attnlens dashboard``, which shows matches and recordings in the browser."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attnlens.cli.arguments import Commands, add_shared, whole_number
from attnlens.cli.output import progress, say
from attnlens.cli.recordings import view_page
from attnlens.cli.signals import end_at_once
from attnlens.errors import InputError, count
from attnlens.files import read_whole

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match
    from attnlens.cricket.session import Session
    from attnlens.dashboard.library import Data, Functions, Matches, Recordings

_MAX_MATCHES = 200
_MAX_HEADS_BYTES = 50_000_000
"""The largest accepted file from `attnlens lab heads --json`."""


def add_dashboard(commands: Commands) -> None:
    parser = commands.add_parser(
        "dashboard",
        run=_run,
        help="explore matches ball by ball in the browser, and ask what-if questions",
        description="Serve a page for each ball. The page shows the predicted outcomes, the "
        "reasons for the prediction, every attention head and every tested claim. A form on the "
        "page answers what-if questions. The dashboard also shows saved recordings "
        "(.safetensors). Without a file argument, the dashboard shows a simulated match.",
    )
    parser.option(
        "files",
        "MATCH",
        "match files, folders of match files, zip files, or recordings (.safetensors)",
        nargs="*",
    )
    parser.add_argument(
        "--host",
        type=str.lower,
        default="127.0.0.1",
        help="the address to serve on (default 127.0.0.1: only this machine can connect)",
    )
    parser.option(
        "--port",
        "N",
        "the port to serve on (default 8050; 0: any free port)",
        type=whole_number(0, 65535),
        default=8050,
    )
    parser.flag("--no-browser", "do not open the browser")
    parser.flag("--follow", "watch the match files, and show each new ball")
    parser.flag("--public", "make the dashboard read-only: nobody can upload a file")
    parser.option(
        "--heads",
        "FILE",
        "show the heads from this JSON file, which `attnlens lab heads --json` writes",
    )
    add_shared(parser, "--model", "--history")


def _run(options: argparse.Namespace) -> int:
    try:
        from attnlens.dashboard.app import create_app
        from attnlens.dashboard.library import Matches, Recordings
        from attnlens.dashboard.serving import is_loopback, listen
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dash", "plotly", "flask", "waitress"):
            raise
        raise InputError(
            f"the dashboard needs {error.name}, which is not installed",
            remedy="run: pip install 'attnlens[dashboard]'",
        ) from None
    functions = _functions(options)
    matches, recordings = Matches(functions), Recordings(functions)
    _open(options, matches, recordings)
    app = create_app(functions, matches, recordings, host=options.host, public=options.public)
    server = listen(app, options.host, options.port, public=options.public)
    name = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{name}:{server.effective_port}"
    progress("")
    if not is_loopback(options.host):
        more = "" if options.public else ", and can upload files (--public forbids uploads)"
        say(
            f"WARNING: {options.host} can be reached from other machines; anyone who "
            f"reaches this port sees every open match{more}"
        )
    print(f"{address}/", flush=True)
    say("the dashboard is running; press Ctrl-C to stop it")
    if not options.no_browser:
        import webbrowser

        webbrowser.open(address + _first_page(matches, recordings))
    end_at_once()
    server.run()
    return 0


def _first_page(matches: Matches, recordings: Recordings) -> str:
    from attnlens.dashboard.pages import last_ball_link, match_link, recording_link

    if len(matches.permanent) == 1:
        match = matches.permanent[0]
        return str(match_link(match) if match.followed is None else last_ball_link(match))
    if matches.permanent:
        return "/"
    only = len(recordings.permanent) == 1
    return str(recording_link(recordings.permanent[0])) if only else "/recordings"


def _open(options: argparse.Namespace, matches: Matches, recordings: Recordings) -> None:
    """Open the files of the command line. Without files, open the simulated match."""
    from attnlens.cricket.readers import Growing, read_match, read_matches
    from attnlens.cricket.reference_inputs import sample_match

    for path in options.files:
        progress(f"reading {path}")
        if path.lower().endswith(".safetensors"):
            recordings.add(path)
            continue
        is_file = os.path.isfile(path) and not path.lower().endswith(".zip")
        if options.follow and is_file:
            match = read_match(path, growing=True)
            matches.add(match, followed=Growing(path, match=match))
            continue
        skipped: list[Any] = []
        for match in read_matches(path, on_error="stop" if is_file else "skip", skipped=skipped):
            if len(matches.permanent) == _MAX_MATCHES:
                matches.note = f"{path}: only the first {_MAX_MATCHES} matches were opened"
                say(matches.note)
                return
            matches.add(match)
            progress(f"reading {path}: {len(matches.permanent)} matches")
        if skipped:
            say(f"{path}: {count(len(skipped), 'file')} could not be read")
    if options.follow and not any(item.followed for item in matches.permanent):
        raise InputError(
            "--follow needs a match file to follow", remedy="give a match file instead of a folder"
        )
    if not options.files:
        matches.add(sample_match(), sample=True)


def _functions(options: argparse.Namespace) -> Functions:
    from functools import lru_cache

    from attnlens.cricket.explain import what_if_types as types
    from attnlens.cricket.explain.innings_data import (
        shown_innings,
        shown_match,
        shown_people,
        sides_of_innings,
    )
    from attnlens.cricket.match.naming import innings_numbered
    from attnlens.cricket.pages.dashboard_parts import (
        render_ball_parts,
        render_scores,
        render_what_if_part,
    )
    from attnlens.cricket.pages.match_story import render_story_parts
    from attnlens.cricket.predictor.calibration import SHIPPED
    from attnlens.cricket.readers.uploaded import read_uploaded
    from attnlens.cricket.session import Session
    from attnlens.dashboard.library import Functions

    default_model = options.model or SHIPPED[0]

    @lru_cache(maxsize=4)
    def session(model: str) -> Session:
        return Session(model, options.history, report=progress, tell=say)

    def explain(match: Match, innings: int, ball: int, model: str, outcome: str | None) -> Data:
        answer = session(model).explain(match, ball=ball, innings=innings, outcome=outcome)
        sides = sides_of_innings(match, innings_numbered(match, innings))
        return {"explanation": answer.to_dict(), "html": render_ball_parts(answer, *sides)}

    def every_ball(match: Match, innings: int, model: str) -> Data:
        document = shown_innings(match, innings, session(model).dated(match))
        return {**document, "scores": render_scores(innings_numbered(match, innings), document)}

    def story(
        match: Match,
        evidence: bool,
        model: str,
        address: Callable[[int, int], str],
        rest: Callable[[], None],
    ) -> Data:
        answer = session(model).story(match, evidence=evidence, report=lambda *_: rest())
        return {"html": render_story_parts(answer, address)}

    def next_ball(match: Match, model: str) -> Data:
        try:
            answer = session(model).explain(match, ball="next", evidence=False)
        except InputError as error:
            return {"waiting": error.problem}  # the next players are not known yet
        return {**answer.ball.model_dump(), "outcomes": answer.to_dict()["prediction"]["outcomes"]}

    def what_if(match: Match, innings: int, ball: int, model: str, changes: Data) -> str:
        answer = session(model).what_if(
            match, types.question_of_page(changes), ball=ball, innings=innings
        )
        return render_what_if_part(answer)

    session(default_model).predictor  # noqa: B018  # a wrong --model fails before anything is served
    return Functions(
        read=read_uploaded,
        match=shown_match,
        # Every letter typed into the search field requests the players of all matches.
        people=lru_cache(maxsize=_MAX_MATCHES)(shown_people),
        story=story,
        innings=every_ball,
        explain=explain,
        next_ball=next_ball,
        what_if=what_if,
        texts=_texts(),
        page=view_page,
        models=tuple(dict.fromkeys((default_model, *SHIPPED))),
        heads=None if options.heads is None else _heads(options.heads),
    )


def _heads(path: str) -> dict[str, str]:
    import json

    from attnlens.cricket.pages.dashboard_parts import render_heads

    remedy = "write one with `attnlens lab heads SRC --json`"
    content = read_whole(path, _MAX_HEADS_BYTES, kind="document of heads", remedy=remedy)
    try:
        return render_heads(json.loads(content))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, IndexError):
        raise InputError(
            "is not a document that `attnlens lab heads --json` wrote", path=path, remedy=remedy
        ) from None


def _texts() -> dict[str, Callable[[Data], str]]:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.pages.documents import render_html
    from attnlens.cricket.pages.full_page import render_full_page
    from attnlens.cricket.pages.prompt import prompt_of

    return {
        "prompt.txt": lambda data: prompt_of(Explanation.from_dict(data)).text,
        "explanation.txt": lambda data: render_full_page(
            Explanation.from_dict(data), width=100, color=False
        ),
        "report.html": lambda data: render_html(Explanation.from_dict(data)),
    }
