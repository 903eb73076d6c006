"""Add the routes for JSON data, downloads and uploads, with their error responses."""

from __future__ import annotations

import csv
import gzip
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as TookTooLong
from functools import lru_cache, partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from flask import Flask, Response, request

from attnlens.errors import AttnlensError, InputError
from attnlens.files import system_remedy
from attnlens.render.safe import cell, on_one_line

from .answer_queue import (
    AHEAD,
    FIRST,
    LONG,
    ON_DEMAND,
    AnswerQueue,
    DisconnectedError,
    never_disconnected,
)
from .library import BusyError, Data, Functions, LibraryItem, Matches, Recordings
from .pages import ball_link, match_link, recording_link
from .serving import from_our_page

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match

_NOT_OPEN: Final = "is not open; open or upload the file again"


def error_response(text: str, status: int) -> Response:
    """Build an error response with one line of text as JSON."""
    return plain_json({"error": on_one_line(text)}, status)


def plain_json(value: Any, status: int = 200) -> Response:
    """Build a JSON response that is neither compressed nor cached."""
    text = json.dumps(value, ensure_ascii=False)
    response = Response(text, status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def errors_as_json(make: Callable[..., Response]) -> Callable[..., Response]:
    """Decorate a route so that expected errors give one line of JSON instead of a traceback."""

    @wraps(make)
    def answer(*arguments: Any, **parameters: Any) -> Response:
        try:
            return make(*arguments, **parameters)
        except InputError as error:
            return error_response(error.without_folder(), 422)
        except AttnlensError as error:
            return error_response(str(error), 422)
        except OSError as error:  # an upload is stored in a temporary file
            remedy = system_remedy(error.errno, "check the folder for temporary files")
            reason = error.strerror or error
            return error_response(f"the server cannot store the file ({reason}); {remedy}", 507)
        except RecursionError:
            return error_response("the request is nested too deeply", 400)
        except BusyError:
            return error_response("too many requests are being computed; try again", 503)
        except DisconnectedError:
            return error_response("the client closed the request", 499)
        except TookTooLong:
            return error_response("the computation took too long and was stopped; try again", 504)

    return answer


def disconnected() -> Callable[[], bool]:
    """Return a function that checks whether this request's client has disconnected."""
    check: Callable[[], bool] = request.environ.get(
        "waitress.client_disconnected", never_disconnected
    )
    return check


def json_response(packed: bytes, *, lasting: bool = True) -> Response:
    """Build a response from compressed JSON. Clients without gzip receive plain JSON.

    Args:
        lasting: whether browsers may cache the response.
    """
    accepted = "gzip" in request.headers.get("Accept-Encoding", "")
    content = packed if accepted else gzip.decompress(packed)
    response = Response(content, mimetype="application/json")
    if accepted:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = "private, max-age=3600" if lasting else "no-store"
    return response


def download(text: str, name: str, kind: str) -> Response:
    """Build a download response in which no script can run."""
    response = Response(text.encode("utf-8", "replace"), mimetype=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


_MIN_COMPRESSED_BYTES: Final = 1400
"""Responses below this size fit in one packet and are not compressed."""
_TEXT_TYPES: Final = ("text/", "application/json", "application/javascript", "image/svg")


@lru_cache(maxsize=64)
def _compressed_once(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def compress_text(response: Response) -> Response:
    """Compress text responses for clients that accept gzip."""
    accepts_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
    if not accepts_gzip or response.status_code != 200 or "Content-Encoding" in response.headers:
        return response
    if not (response.mimetype or "").startswith(_TEXT_TYPES):
        return response
    response.direct_passthrough = False
    content = response.get_data()
    if len(content) > _MIN_COMPRESSED_BYTES:
        lasting = response.mimetype in ("text/javascript", "application/javascript", "text/css")
        response.set_data(_compressed_once(content) if lasting else gzip.compress(content, 3))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    return response


_POLICY: Final = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def add_uploads(server: Flask, matches: Matches, recordings: Recordings, *, public: bool) -> None:
    """Add the routes for uploads, unless the dashboard is ``public``."""

    @server.post("/upload/<kind>")
    @errors_as_json
    def upload(kind: str) -> Response:
        if public:
            return error_response("this dashboard is read-only: nobody can upload a file", 403)
        if not from_our_page(request) or kind not in ("match", "recording"):
            return error_response("only the dashboard's own pages may upload files", 403)
        file = request.args.get("name", kind), request.stream
        if kind == "match":
            return plain_json({"path": match_link(matches.upload(*file))})
        return plain_json({"path": recording_link(recordings.upload(*file))})


def add_recordings(server: Flask, recordings: Recordings) -> None:
    """Add the route for pages of recordings, which are shown in frames."""

    @server.get("/page/<key>")
    def recording_page(key: str) -> Response:
        item = recordings.get(key)
        if item is None:
            return Response(f"this recording {_NOT_OPEN}\n", 404, mimetype="text/plain")
        policy = _POLICY.search(item.value)
        assert policy is not None, "a page of a recording has its own policy"
        response = Response(item.value, mimetype="text/html")
        response.headers["Content-Security-Policy"] = (
            f"{html.unescape(policy[1])}; frame-ancestors 'self'"
        )
        return response


_MAX_HITS: Final = 12
_MAX_SEARCH_CHARACTERS: Final = 160


def search_hits(
    matches: Matches, people: Callable[[Match], list[Data]], text: str, first: str = ""
) -> list[Data]:
    """Return players and matches whose descriptions contain all words of ``text``, with URLs.

    Args:
        first: the key of the match whose results come first.
    """
    words = text[:_MAX_SEARCH_CHARACTERS].casefold().split()
    current = matches.get(first)
    others = [item for item in matches.permanent if item.key != first]

    def rows() -> Iterator[Data]:
        for item in [current, *others] if current else others:
            facts = (item.summary["title"], item.summary["date"])
            match = [on_one_line(fact) for fact in facts if fact]
            yield {"text": " · ".join(match), "href": match_link(item)}
            for player in people(item.value):
                role = f"{player['role']} from {player['label']}, innings {player['innings']}"
                row = " · ".join([on_one_line(player["name"]), role, *match])
                yield {"text": row, "href": ball_link(item, player["innings"], player["ball"])}

    def holds(row: Data) -> bool:
        return all(word in row["text"].casefold() for word in words)

    return list(islice(filter(holds, rows()), _MAX_HITS)) if words else []


def add_match_routes(
    server: Flask, functions: Functions, matches: Matches, answers: AnswerQueue
) -> None:
    """Add the routes of a match."""

    def of_open_match(make: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(make)
        def answer(key: str, **parameters: Any) -> Response:
            item = matches.get(key)
            if item is None:
                return error_response(f"the match {key} {_NOT_OPEN}", 404)
            return make(item, **parameters)

        return errors_as_json(answer)

    def chosen_model() -> str:
        name = request.args.get("model") or functions.models[0]
        return name if name in functions.models else functions.models[0]

    def respond(
        item: LibraryItem[Match], make: Callable[..., Data], *arguments: Any, urgency: int = FIRST
    ) -> Response:
        model = chosen_model()
        key = (make, item.key, item.version, *arguments, model)
        work = partial(make, item.value, *arguments, model)
        packed = answers.get(key, work, urgency=urgency, disconnected=disconnected())
        return json_response(packed, lasting=item.followed is None)

    def ball_key(item: LibraryItem[Match], *ball: int) -> tuple[Any, ...]:
        return item.key, item.version, *ball, chosen_model(), request.args.get("outcome")

    def explained(item: LibraryItem[Match], innings: int, ball: int) -> bytes:
        model, outcome = chosen_model(), request.args.get("outcome")
        return answers.get(
            ball_key(item, innings, ball),
            lambda: functions.explain(item.value, innings, ball, model, outcome),
            urgency=AHEAD if "ahead" in request.args else ON_DEMAND,
            disconnected=disconnected(),
        )

    def story_of(match: Match, key: str, evidence: bool, model: str) -> Data:
        query = "" if model == functions.models[0] else f"?{urlencode({'model': model})}"

        def address(innings: int, ball: int) -> str:
            return f"/match/{quote(key)}/innings/{innings}/ball/{ball}{query}"

        return functions.story(match, evidence, model, address, answers.let_others_run)

    @server.get("/data/<key>/story.json")
    @of_open_match
    def story(item: LibraryItem[Match]) -> Response:
        evidence = "untested" not in request.args
        urgency = LONG if evidence else FIRST
        return respond(item, story_of, item.key, evidence, urgency=urgency)

    @server.get("/data/<key>/next.json")
    @of_open_match
    def next_ball(item: LibraryItem[Match]) -> Response:
        return respond(item, functions.next_ball)

    @server.get("/data/<key>/<int:innings>/balls.json")
    @of_open_match
    def innings_data(item: LibraryItem[Match], innings: int) -> Response:
        return respond(item, functions.innings, innings)

    @server.get("/data/<key>/<int:innings>/<int:ball>/explanation.json")
    @of_open_match
    def explanation(item: LibraryItem[Match], innings: int, ball: int) -> Response:
        return json_response(explained(item, innings, ball), lasting=item.followed is None)

    @server.get("/heads.json")
    @errors_as_json
    def heads() -> Response:
        html = (functions.heads or {}).get(request.args.get("head", ""))
        if html is None:
            return error_response("there is no head of this name", 404)
        return plain_json({"html": html})

    @server.get("/data/<key>/<int:innings>/<int:ball>/place.json")
    @of_open_match
    def queue_position(item: LibraryItem[Match], innings: int, ball: int) -> Response:
        return plain_json({"before": answers.position(ball_key(item, innings, ball))})

    @server.get("/live/<key>.json")
    @errors_as_json
    def live(key: str) -> Response:
        item = matches.refreshed(key)
        if item is None:
            return error_response(f"the match {key} {_NOT_OPEN}", 404)
        followed = item.followed
        state = {
            "version": item.version,
            "summary": item.summary,
            "as_of": followed and followed.as_of,
            "trouble": followed and followed.trouble and on_one_line(followed.trouble),
        }
        return plain_json(state)

    @server.get("/files/<key>/<int:innings>/<int:ball>/<name>")
    @of_open_match
    def file(item: LibraryItem[Match], innings: int, ball: int, name: str) -> Response:
        data = json.loads(gzip.decompress(explained(item, innings, ball)))["explanation"]
        stem = f"{item.key}-{innings}-{ball}"
        if name == "explanation.json":
            text = json.dumps(data, ensure_ascii=False, indent=2)
            return download(text, f"{stem}.json", "application/json")
        if name == "balls.csv":
            return download(_csv(data), f"{stem}.csv", "text/csv")
        make = functions.texts.get(name)
        if make is None:
            return error_response(f"there is no file called {name}", 404)
        kind = "text/html" if name.endswith(".html") else "text/plain"
        return download(make(data), f"{stem}-{name}", kind)

    @server.post("/ask/<key>/<int:innings>/<int:ball>/what-if")
    @of_open_match
    def what_if(item: LibraryItem[Match], innings: int, ball: int) -> Response:
        if not from_our_page(request):
            return error_response("only the dashboard's own pages may send requests", 403)
        changes = request.get_json(silent=True)
        if not isinstance(changes, dict):
            return error_response("the request is not a valid question", 400)
        model = chosen_model()
        answer = answers.run(
            lambda: functions.what_if(item.value, innings, ball, model, changes), disconnected()
        )
        return plain_json({"html": answer})


def _csv(data: Data) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ["index", "label", "batter", "bowler", "outcome", "runs", "attention"]
    columns += ["effect_log_odds", "effect_points", "effect_nats"]
    writer.writerow(columns)
    for row in data["past_balls"]:
        writer.writerow([cell(row[name]) for name in columns])
    return out.getvalue()
