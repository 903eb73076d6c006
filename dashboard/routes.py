"""What the page fetches: plain data by address, files to take away, and what somebody brings."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from concurrent.futures import TimeoutError as TookTooLong
from functools import wraps
from typing import Any, Final

from dash import Dash
from flask import Response, request

from attnlens.dashboard.functions import Functions, Summed
from attnlens.dashboard.library import Library, Shown
from attnlens.dashboard.security import from_our_page, plain
from attnlens.dashboard.work import Answers, BusyError
from attnlens.errors import AttnlensError

MOST_UPLOAD: Final = 32_000_000
"""Bytes of a file that somebody brings."""
MOST_INPUT: Final = 400
"""Characters of an input of a reference model."""
MOST_SOUGHT: Final = 80
"""Characters of a name that is looked for."""
KINDS: Final = {
    "txt": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "tex": "application/x-tex",
}
MAPS: Final = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)
SCRIPT_HASH: Final = re.compile(r"script-src (&#x27;sha256-[A-Za-z0-9+/=]+&#x27;)")


def _problem(text: str, status: int) -> Response:
    said = json.dumps({"error": plain(text)}, ensure_ascii=False)
    return Response(said, status, mimetype="application/json")


def _answered(make: Callable[..., Response]) -> Callable[..., Response]:
    """Errors of ours as one line, never as a page with a trace."""

    @wraps(make)
    def answer(*arguments: Any, **named: Any) -> Response:
        try:
            return make(*arguments, **named)
        except AttnlensError as error:
            return _problem(str(error), 422)
        except BusyError:
            return _problem("too much is being worked out; ask again", 503)
        except TookTooLong:
            return _problem("it took too long and was given up; ask again", 504)

    return answer


def _sent(packed: bytes, *, lasting: bool = True) -> Response:
    """Compressed JSON as it is, or unpacked for who cannot take it.

    Args:
        lasting: whether the same address will always answer the same.
    """
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response = Response(packed, mimetype="application/json")
        response.headers["Content-Encoding"] = "gzip"
    else:
        response = Response(gzip.decompress(packed), mimetype="application/json")
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = "private, max-age=3600" if lasting else "no-store"
    return response


def _file(text: str, name: str, kind: str) -> Response:
    response = Response(text.encode("utf-8", "replace"), mimetype=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def add_routes(
    app: Dash,
    functions: Functions,
    matches: Library,
    recordings: Library,
    answers: Answers,
    *,
    public: bool,
) -> None:
    """Every address but the pages' own."""
    server = app.server
    server.config["MAX_CONTENT_LENGTH"] = MOST_UPLOAD
    gone = "is not here (any more): it has to be opened or uploaded again"

    def explained(shown: Shown, innings: int, ball: int, model: str, ahead: bool = False) -> bytes:
        found: bytes = answers.get(
            ("explain", shown.key, shown.version, innings, ball, model),
            lambda: functions.explain(shown.value, innings, ball, model),
            ahead=ahead,
        )
        return found

    def model_asked() -> str:
        name = request.args.get("model") or functions.models[0]
        return name if name in functions.models else functions.models[0]

    def matched(make: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(make)
        def answer(key: str, **named: Any) -> Response:
            shown = matches.get(key)
            if shown is None:
                return _problem(f"the match {key} {gone}", 404)
            return make(shown, **named)

        return _answered(answer)

    @server.get("/data/<key>/<int:innings>/balls.json")
    @matched
    def innings_data(shown: Shown, innings: int) -> Response:
        model = model_asked()
        return _sent(
            answers.get(
                ("innings", shown.key, shown.version, innings, model),
                lambda: {"key": shown.key, **functions.innings(shown.value, innings, model)},
            ),
            lasting=shown.look is None,
        )

    @server.get("/data/<key>/<int:innings>/<int:ball>/explanation.json")
    @matched
    def explanation(shown: Shown, innings: int, ball: int) -> Response:
        ahead = "ahead" in request.args
        packed = explained(shown, innings, ball, model_asked(), ahead)
        return _sent(packed, lasting=shown.look is None)

    @server.get("/data/<key>/<int:innings>/<int:ball>/effects.json")
    @matched
    def effects(shown: Shown, innings: int, ball: int) -> Response:
        model = model_asked()
        return _sent(
            answers.get(
                ("effects", shown.key, shown.version, innings, ball, model),
                lambda: functions.effects(shown.value, innings, ball, model),
            ),
            lasting=shown.look is None,
        )

    @server.get("/live/<key>.json")
    @_answered
    def live(key: str) -> Response:
        shown = matches.refreshed(key)
        if shown is None:
            return _problem(f"the match {key} {gone}", 404)
        told = {
            "version": shown.version,
            "about": shown.about,
            "as_of": shown.as_of,
            "trouble": None if shown.trouble is None else plain(shown.trouble),
        }
        said = json.dumps(told, ensure_ascii=False)
        response = Response(said, mimetype="application/json")
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.get("/files/<key>/<int:innings>/<int:ball>/<name>")
    @matched
    def file(shown: Shown, innings: int, ball: int, name: str) -> Response:
        data = json.loads(gzip.decompress(explained(shown, innings, ball, model_asked())))
        stem = f"{shown.key}-{innings}-{ball}"
        if name == "explanation.json":
            return _file(
                json.dumps(data, ensure_ascii=False, indent=2), f"{stem}.json", "application/json"
            )
        if name == "balls.csv":
            return _file(_csv(data), f"{stem}.csv", "text/csv")
        make = functions.texts.get(name)
        if make is None:
            return _problem(f"there is no file {name}", 404)
        kind = KINDS[name.rpartition(".")[2]]
        return _file(make(data), f"{stem}-{name}", kind)

    @server.get("/data/<key>/<int:innings>/<int:ball>/prompt.txt")
    @matched
    def prompt(shown: Shown, innings: int, ball: int) -> Response:
        data = json.loads(gzip.decompress(explained(shown, innings, ball, model_asked())))
        text = functions.texts["prompt.txt"](data)
        return Response(text.encode("utf-8", "replace"), mimetype="text/plain")

    @server.post("/ask/<key>/<int:innings>/<int:ball>/what-if")
    @matched
    def what_if(shown: Shown, innings: int, ball: int) -> Response:
        if not from_our_page(request):
            return _problem("only the dashboard's own pages may ask", 403)
        asked = request.get_json(silent=True)
        if not isinstance(asked, dict):
            return _problem("that is no question", 400)
        model = model_asked()
        found = answers.run(lambda: functions.what_if(shown.value, innings, ball, model, asked))
        return Response(json.dumps(found, ensure_ascii=False), mimetype="application/json")

    @server.post("/upload/<kind>")
    @_answered
    def upload(kind: str) -> Response:
        if public:
            return _problem("this dashboard is read-only: nothing can be uploaded", 403)
        if not from_our_page(request) or kind not in ("match", "recording"):
            return _problem("only the dashboard's own pages may upload", 403)
        if (request.content_length or 0) > MOST_UPLOAD:
            return _problem(f"the file is larger than {MOST_UPLOAD // 1_000_000} MB", 413)
        recording = kind == "recording"
        library = recordings if recording else matches
        name, content = request.args.get("name", kind), request.get_data()
        shown = library.upload(name, content, recording=recording)
        said = {"key": shown.key, "about": shown.about}
        return Response(json.dumps(said, ensure_ascii=False), mimetype="application/json")

    @server.get("/page/<key>")
    def recording_page(key: str) -> Response:
        shown = recordings.get(key)
        if shown is None:
            return Response(f"this recording {gone}\n", 404, mimetype="text/plain")
        found = SCRIPT_HASH.search(shown.value)
        allowed = found[1].replace("&#x27;", "'") if found else "'none'"
        response = Response(shown.value, mimetype="text/html")
        response.headers["Content-Security-Policy"] = (
            f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        )
        return response

    @server.get("/maps/<key>.json")
    def recording_maps(key: str) -> Response:
        shown = recordings.get(key)
        if shown is None:
            return _problem(f"the recording {key} {gone}", 404)
        data = MAPS.search(shown.value)
        assert data is not None, "a page of a recording holds its maps"
        return _sent(gzip.compress(data[1].encode(), 1))

    @server.get("/trace/<name>.json")
    @_answered
    def trace(name: str) -> Response:
        if name not in functions.inside.models:
            return _problem(f"there is no model {name}", 404)
        text = request.args.get("input")
        if text is not None and len(text) > MOST_INPUT:
            return _problem(f"an input may have {MOST_INPUT} characters", 413)
        key = ("trace", name, text)
        return _sent(answers.get(key, lambda: functions.inside.trace(name, text)))

    @server.get("/models/<name>/<file>")
    @_answered
    def about_model(name: str, file: str) -> Response:
        make = functions.inside.texts.get(file)
        if name not in functions.inside.models or make is None:
            return _problem(f"there is no file {file} of {name}", 404)
        kind = KINDS[file.rpartition(".")[2]]
        return _file(answers.run(lambda: make(name)), f"{name}-{file}", kind)

    def figures_of(corpus: Summed) -> bytes:
        found: bytes = answers.get(("corpus", corpus.finished()), corpus.figures)
        return found

    @server.get("/data/corpus/figures.json")
    @_answered
    def corpus_figures() -> Response:
        if functions.corpus is None:
            return _problem("no corpus is open", 404)
        return _sent(figures_of(functions.corpus), lasting=False)

    @server.get("/data/corpus/balls.json")
    @_answered
    def corpus_balls() -> Response:
        corpus = functions.corpus
        if corpus is None:
            return _problem("no corpus is open", 404)
        player, phase, outcome = (
            request.args.get(name, "")[:MOST_SOUGHT] for name in ("player", "phase", "outcome")
        )
        key = ("corpus balls", corpus.finished(), player, phase, outcome)
        found = answers.get(key, lambda: corpus.balls(player, phase, outcome))
        return _sent(found, lasting=False)

    @server.get("/files/corpus/<name>")
    @_answered
    def corpus_file(name: str) -> Response:
        if functions.corpus is None or name not in ("report.html", "report.json"):
            return _problem(f"there is no file {name}", 404)
        told = json.loads(gzip.decompress(figures_of(functions.corpus)))
        if name == "report.html":
            return _file(functions.corpus.page(told), "attnlens-corpus-report.html", "text/html")
        text = json.dumps(told, ensure_ascii=False)
        return _file(text, "attnlens-corpus-report.json", "application/json")

    @server.errorhandler(413)
    def too_large(_: Exception) -> Response:
        return _problem(f"the file is larger than {MOST_UPLOAD // 1_000_000} MB", 413)


def _csv(data: dict[str, Any]) -> str:
    """The past balls of a ball as a table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ["index", "label", "batter", "bowler", "outcome", "runs", "attention", "effect_nats"]
    writer.writerow(columns)
    for row in data["history"]:
        writer.writerow([_unarmed(row[name]) for name in columns])
    return out.getvalue()


def _unarmed(value: Any) -> Any:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" else value
