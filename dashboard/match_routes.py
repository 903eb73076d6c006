"""What the page of a match fetches: its innings, a ball's explanation, files, what-ifs."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from flask import Flask, Response, request

from attnlens.render.safe import cell, on_one_line

from .functions import Data, Functions
from .library import Matches, Shown
from .match_pages import match_link
from .replies import GONE, KINDS, answered, download, gone, problem, sent
from .security import from_our_page
from .work import AHEAD, FIRST, LONG, NOW, Answers

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match


MOST_FOUND: Final = 12
MOST_SOUGHT: Final = 80
"""Characters of a name that is looked for."""
MOST_MATCHES: Final = 256
"""Whose players are remembered."""


def found_in(
    matches: Iterable[Shown[Match]],
    people: Callable[[Match], list[Data]],
    words: list[str],
) -> list[Data]:
    """Players and matches whose names hold all the words, with addresses."""

    def holds(*texts: str | None) -> bool:
        told = " ".join(filter(None, texts)).casefold()
        return all(word in told for word in words)

    def rows() -> Iterator[Data]:
        for shown in matches:
            about = shown.about
            when = " · ".join(filter(None, (about["title"], about["date"])))
            if holds(about["title"], about["date"], about["event"], about["venue"]):
                yield {"text": about["title"], "more": about["date"], "href": match_link(shown)}
            for one in people(shown.value):
                if holds(one["name"]):
                    where = f"innings/{one['innings']}/ball/{one['ball']}"
                    did = f"{one['role']} from {one['label']} on, innings {one['innings']}"
                    href = f"{match_link(shown)}/{where}"
                    yield {"text": one["name"], "more": f"{did} · {when}", "href": href}

    return list(islice(rows(), MOST_FOUND)) if words else []


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

    def told(
        shown: Shown[Match], make: Callable[..., Data], *asked: Any, urgency: int = FIRST
    ) -> Response:
        """What ``make`` tells of a match, as a rule what the first picture of a page waits for."""
        model = model_asked()
        key = (make, shown.key, shown.version, *asked, model)
        work = partial(make, shown.value, *asked, model)
        packed = answers.get(key, work, urgency=urgency, gone=gone())
        return sent(packed, lasting=shown.followed is None)

    def ball_key(shown: Shown[Match], *ball: int) -> tuple[Any, ...]:
        return shown.key, shown.version, *ball, model_asked(), request.args.get("outcome")

    def explained(shown: Shown[Match], innings: int, ball: int) -> bytes:
        """A ball's explanation, compressed."""
        model, outcome = model_asked(), request.args.get("outcome")
        return answers.get(
            ball_key(shown, innings, ball),
            lambda: functions.explain(shown.value, innings, ball, model, outcome),
            urgency=AHEAD if "ahead" in request.args else NOW,
            gone=gone(),
        )

    def story_of(match: Match, evidence: bool, model: str) -> Data:
        return functions.story(match, evidence, model, answers.rest)

    @server.get("/data/<key>/story.json")
    @matched
    def story(shown: Shown[Match]) -> Response:
        evidence = "untested" not in request.args
        return told(shown, story_of, evidence, urgency=LONG if evidence else FIRST)

    @server.get("/data/<key>/next.json")
    @matched
    def next_ball(shown: Shown[Match]) -> Response:
        return told(shown, functions.next_ball)

    @server.get("/data/<key>/<int:innings>/balls.json")
    @matched
    def innings_data(shown: Shown[Match], innings: int) -> Response:
        return told(shown, functions.innings, innings)

    @server.get("/data/<key>/<int:innings>/<int:ball>/explanation.json")
    @matched
    def explanation(shown: Shown[Match], innings: int, ball: int) -> Response:
        return sent(explained(shown, innings, ball), lasting=shown.followed is None)

    @server.get("/data/<key>/<int:innings>/<int:ball>/place.json")
    @matched
    def place(shown: Shown[Match], innings: int, ball: int) -> Response:
        """How many questions are answered before that ball's."""
        said = json.dumps({"before": answers.place(ball_key(shown, innings, ball))})
        response = Response(said, mimetype="application/json")
        response.headers["Cache-Control"] = "no-store"
        return response

    people = lru_cache(maxsize=MOST_MATCHES)(functions.people)

    @server.get("/find.json")
    @answered
    def find() -> Response:
        words = request.args.get("text", "")[:MOST_SOUGHT].casefold().split()
        here = matches.get(request.args.get("match", ""))
        others = [shown for shown in matches.given if here is None or shown.key != here.key]
        found = found_in([here, *others] if here else others, people, words)
        return Response(json.dumps(found, ensure_ascii=False), mimetype="application/json")

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
        data = json.loads(gzip.decompress(explained(shown, innings, ball)))
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
        found = answers.run(
            lambda: functions.what_if(shown.value, innings, ball, model, asked), gone()
        )
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
