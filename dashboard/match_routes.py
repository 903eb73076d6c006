"""What the page of a match fetches: its innings, a ball's explanation, files, what-ifs."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request

from attnlens.show.safe import cell, on_one_line

from .functions import Data, Functions
from .library import Matches, Shown
from .replies import GONE, KINDS, answered, download, problem, sent
from .security import from_our_page
from .work import Answers

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match


def add_match_routes(
    server: Flask, functions: Functions, matches: Matches, answers: Answers
) -> None:
    """Every address below a match."""

    def matched(make: Callable[..., Response]) -> Callable[..., Response]:
        """Of a match that is open."""

        @wraps(make)
        def answer(key: str, **named: Any) -> Response:
            shown = matches.get(key)
            if shown is None:
                return problem(f"the match {key} {GONE}", 404)
            return make(shown, **named)

        return answered(answer)

    def model_asked() -> str:
        name = request.args.get("model") or functions.models[0]
        return name if name in functions.models else functions.models[0]

    def worked_out(shown: Shown[Match], what: str, make: Callable[..., Data], *ball: int) -> bytes:
        """What ``make`` tells of an innings or of a ball, compressed."""
        model, ahead = model_asked(), "ahead" in request.args
        key = (what, shown.key, shown.version, *ball, model)
        return answers.get(key, lambda: make(shown.value, *ball, model), ahead=ahead)

    @server.get("/data/<key>/<int:innings>/balls.json")
    @matched
    def innings_data(shown: Shown[Match], innings: int) -> Response:
        def make(*asked: Any) -> Data:
            return {"key": shown.key, **functions.innings(*asked)}

        return sent(worked_out(shown, "innings", make, innings), lasting=shown.followed is None)

    @server.get("/data/<key>/<int:innings>/<int:ball>/explanation.json")
    @matched
    def explanation(shown: Shown[Match], innings: int, ball: int) -> Response:
        packed = worked_out(shown, "explain", functions.explain, innings, ball)
        return sent(packed, lasting=shown.followed is None)

    @server.get("/live/<key>.json")
    @answered
    def live(key: str) -> Response:
        shown = matches.refreshed(key)
        if shown is None:
            return problem(f"the match {key} {GONE}", 404)
        followed = shown.followed
        told = {
            "version": shown.version,
            "about": shown.about,
            "as_of": followed and followed.as_of,
            "trouble": followed and followed.trouble and on_one_line(followed.trouble),
        }
        said = json.dumps(told, ensure_ascii=False)
        response = Response(said, mimetype="application/json")
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.get("/files/<key>/<int:innings>/<int:ball>/<name>")
    @matched
    def file(shown: Shown[Match], innings: int, ball: int, name: str) -> Response:
        packed = worked_out(shown, "explain", functions.explain, innings, ball)
        data = json.loads(gzip.decompress(packed))
        stem = f"{shown.key}-{innings}-{ball}"
        if name == "explanation.json":
            text = json.dumps(data, ensure_ascii=False, indent=2)
            return download(text, f"{stem}.json", "application/json")
        if name == "balls.csv":
            return download(_csv(data), f"{stem}.csv", "text/csv")
        make = functions.texts.get(name)
        if make is None:
            return problem(f"there is no file {name}", 404)
        kind = KINDS[name.rpartition(".")[2]]
        return download(make(data), f"{stem}-{name}", kind)

    @server.post("/ask/<key>/<int:innings>/<int:ball>/what-if")
    @matched
    def what_if(shown: Shown[Match], innings: int, ball: int) -> Response:
        if not from_our_page(request):
            return problem("only the dashboard's own pages may ask", 403)
        asked = request.get_json(silent=True)
        if not isinstance(asked, dict):
            return problem("that is no question", 400)
        model = model_asked()
        found = answers.run(lambda: functions.what_if(shown.value, innings, ball, model, asked))
        return Response(json.dumps(found, ensure_ascii=False), mimetype="application/json")


def _csv(data: Data) -> str:
    """The past balls of a ball as a table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ["index", "label", "batter", "bowler", "outcome", "runs", "attention", "effect_nats"]
    writer.writerow(columns)
    for row in data["history"]:
        writer.writerow([cell(row[name]) for name in columns])
    return out.getvalue()
