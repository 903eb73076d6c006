"""Build each kind of page: lists, matches, balls, heads and recordings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from dash import dcc, html
from dash.development.base_component import Component

from attnlens.render.safe import on_one_line

from .library import Data, LibraryItem, Matches, Recordings

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match

Page = Sequence[Component | str | None]

FILES: Final = {
    "report.html": "Report (.html)",
    "explanation.txt": "As in the terminal (.txt)",
    "prompt.txt": "Prompt (.txt)",
    "explanation.json": "Everything (.json)",
    "balls.csv": "Past balls (.csv)",
}
"""The files that a ball's page offers for download."""


def hyphenated(**attributes: str) -> dict[str, Any]:
    """Replace underscores by hyphens in attribute names: ``aria_label`` becomes ``aria-label``."""
    return {name.replace("_", "-"): value for name, value in attributes.items()}


def panel(
    name: str, title: str | None, *children: Component | None, beside: Component | None = None
) -> html.Section:
    """Build a section of a page. The component ``beside`` is placed next to the heading."""
    heading = title and html.Div([html.H2(title, id=f"{name}-title"), beside], className="heading")
    named = {"aria_labelledby": f"{name}-title"} if title else {}
    return html.Section([heading, *children], id=name, className="panel", **hyphenated(**named))


def shown(page: str, children: Page, **data: Any) -> html.Div:
    """Build a page. The script named ``page`` receives ``data``."""
    told = json.dumps({"page": page, **data}, ensure_ascii=False)
    return html.Div(children, id="content", key=told, **hyphenated(data_shown=told))


def drop_zone(kind: str, words: str) -> html.Div:
    """Build an area for dropped files. The page's script adds the file input."""
    return html.Div(
        [html.Label(f"Open {words}, or drop the file here. "), html.P("", role="alert")],
        className="drop",
        **hyphenated(data_drop=kind),
    )


def not_found_page(text: str) -> html.Div:
    """Build the page for an address that does not exist."""
    link = dcc.Link("To the matches", href="/", className="button")
    return shown("lost", [html.H1("Nothing is here"), html.P(text, className="lead"), link])


def match_link(item: LibraryItem[Match]) -> str:
    """Return the URL of a match's first page, which shows the story of the match."""
    return f"/match/{quote(item.key)}"


def ball_link(item: LibraryItem[Match], innings: int, ball: int) -> str:
    return f"{match_link(item)}/innings/{innings}/ball/{ball}"


def last_ball_link(item: LibraryItem[Match]) -> str:
    """Return the URL of the last ball bowled, or of the first ball if no ball was bowled."""
    played = [innings for innings in item.summary["innings"] if innings["balls"]]
    last = played[-1] if played else {"number": 1, "balls": 1}
    return ball_link(item, last["number"], last["balls"])


def recording_link(item: LibraryItem[str]) -> str:
    return f"/recording/{quote(item.key)}"


def _facts(item: LibraryItem[Match], *more: str) -> str:
    facts = [*more, *(item.summary[name] for name in ("event", "date", "venue"))]
    return " · ".join(on_one_line(fact) for fact in facts if fact)


def _score(innings: Data) -> Page:
    score = f" {innings['total']}/{innings['wickets']} ({innings['overs']})"
    return [html.B(innings["batting"]), ", super over" if innings["super_over"] else None, score]


def _match_card(item: LibraryItem[Match]) -> html.Li:
    rows: list[Component] = [html.Span(_score(innings)) for innings in item.summary["innings"]]
    sample = ("A sample: a simulated match",) if item.sample else ()
    facts = html.Span(_facts(item, *sample), className="quiet")
    parts = [*(rows or [html.B(item.summary["title"])]), item.summary["result"], facts]
    href = match_link(item) if item.followed is None else last_ball_link(item)
    return html.Li(dcc.Link([html.Span(part) for part in parts if part], href=href))


_LEAD: Final = (
    "Open a match to see who won and where the match turned. For each ball, see which past balls "
    "the model looked at, and how hiding these balls changes the forecast."
)


def home_page(matches: Matches, *, public: bool) -> html.Div:
    kinds = "a match (Cricsheet JSON or CSV, or a Kaggle IPL table)"
    cards = html.Ul([_match_card(item) for item in matches.permanent], className="cards")
    note = html.P(on_one_line(matches.note), className="lead") if matches.note else None
    open_one = None if public else drop_zone("match", kinds)
    title = html.H1("What did the model look at, and did it matter?")
    lead = html.P(_LEAD, className="lead")
    return shown("home", [title, lead, panel("matches", "Matches", note, cards, open_one)])


def heads_page(head: str) -> html.Div:
    """Build the page of one head or of all heads. A script requests the content."""
    return shown("heads", [html.Div(id="story")], head=head)


def story_page(item: LibraryItem[Match], models: tuple[str, ...]) -> html.Div:
    """Build the story page of a match: the result, the turning points and links to the innings."""
    summary = item.summary
    title = summary["result"] or summary["title"]
    links = [
        dcc.Link(
            [*_score(innings), " ball by ball ▸"],
            href=ball_link(item, innings["number"], 1),
            className="button",
        )
        for innings in summary["innings"]
        if innings["balls"]
    ]
    facts = html.P(_facts(item, summary["title"]), className="quiet")
    waiting = html.P("the model is reading the match", className="loading")
    return shown(
        "story",
        [
            html.H1(title[0].upper() + title[1:]),
            facts,
            html.Nav(links, className="row-of", **hyphenated(aria_label="Innings")),
            html.Div(waiting, id="story"),
            html.Div(id="story-status", role="status"),
        ],
        key=item.key,
        models=list(models),
    )


def _button(text: str, label: str, **data: str) -> html.Button:
    return html.Button(text, type="button", **hyphenated(aria_label=label, **data))


def _ways(item: LibraryItem[Match], models: tuple[str, ...]) -> html.Div:
    innings = [
        html.Button(_score(row), type="button", **hyphenated(data_innings=str(row["number"])))
        for row in item.summary["innings"]
        if row["balls"]
    ]
    play = html.Button("▶ Play", id="play", type="button", **hyphenated(data_step="play"))
    field = dcc.Input(type="text", name="ball", placeholder="ball 47 or 7.2", autoComplete="off")
    options = [html.Option(PurePath(model).name, value=model) for model in models]
    choice = html.Label(["Model ", html.Select(options, id="model")]) if len(models) > 1 else None
    steps = [_button("◀", "the previous ball", data_step="-1"), play]
    steps += [_button("▶", "the next ball", data_step="1")]
    go_to = html.Form([field, html.Button("Go", type="submit")], id="go-to")
    story = dcc.Link("◂ Match", href=match_link(item), className="button")
    return html.Div([story, *innings, *steps, go_to, choice], className="row-of ways")


def _empty(name: str) -> html.Div:
    """Build an element that the page's script fills."""
    return html.Div(id=name)


def ball_page(item: LibraryItem[Match], models: tuple[str, ...]) -> html.Div:
    """Build the page of a ball: its score, innings, forecast, reasons and attention heads."""
    is_live = item.followed is not None
    ways = _ways(item, models)
    files = [
        html.A(words, href="", download="", **hyphenated(data_file=name))
        for name, words in FILES.items()
    ]
    copy = html.Button("Copy the prompt for a language model", id="copy-prompt", type="button")
    save = html.Details([html.Summary("Save"), html.Div([copy, *files])], className="menu")
    left = [
        panel(
            "subject", None, html.H2("What is expected", id="headline"), _empty("outcomes"), _USUAL
        ),
        panel("hide", "Effect of hiding past balls", _empty("hidden")),
        panel("words", "In words", _empty("narrative")),
        panel("reasons", "Differences from the usual forecast", _empty("groups")),
        panel("what-if", "What if", html.Form(id="what-if-form"), _empty("what-if-answer")),
    ]
    scale = html.Span(
        [html.I(className="ramp"), "row: a ball; column: a past ball; 0% to 50% of attention"],
        className="quiet",
    )
    heads = panel(
        "heads",
        "Heads, sorted by share of the effect of past balls",
        _empty("maps"),
        html.Div(id="head", hidden=True),
        beside=scale,
    )
    state = html.P(id="live", className="quiet", role="status")
    live = [state, html.P(id="next")] if is_live else []
    claims = [html.Summary("All claims and their tests"), _empty("claims-list")]
    waiting = html.P("the model is reading the innings", className="loading")
    content = [
        html.H1(item.summary["title"], className="unseen"),
        html.A("Skip to the heads", href="#heads", className="skip"),
        html.Section(waiting, id="score", **hyphenated(aria_label="Score")),
        *live,
        panel("timeline", None, ways, _empty("timeline-plot"), html.P(id="most"), _KEY),
        html.Div([html.Div(left), heads], className="columns"),
        html.Section(html.Details(claims, id="claims"), className="panel"),
        html.P([_facts(item, item.summary["title"]), save], className="quiet foot"),
    ]
    summary = {"innings": item.summary["innings"]}
    data = {"models": list(models), "summary": summary, "live": is_live, "version": item.version}
    return shown("ball", content, key=item.key, **data)


_KINDS: Final = {"four": "■ four", "six": "■ six", "extra": "■ extra", "wicket": "● wicket"}
_KEY: Final = html.P(
    ["Runs: ", *(html.Span(f"{name}  ", className=kind) for kind, name in _KINDS.items())],
    className="quiet key",
)
_USUAL: Final = html.P(
    "│ usual probability at a similar scoreboard; right: difference in percentage points; ● actual "
    "outcome",
    className="quiet",
)
_NO_RECORDING: Final = (
    "No recording is open. Make one with attnlens.record(model), and save it with "
    "recording.save(FILE). Any PyTorch model with attention works."
)


def recordings_page(recordings: Recordings, *, public: bool) -> html.Div:
    cards = [
        html.Li(dcc.Link(html.B(item.summary["name"]), href=recording_link(item)))
        for item in recordings.permanent
    ]
    listed = html.Ul(cards, className="cards") if cards else html.P(_NO_RECORDING)
    open_one = None if public else drop_zone("recording", "a saved recording (.safetensors)")
    return shown("recordings", [html.H1("Recordings"), panel("recordings", None, listed, open_one)])


def recording_page(item: LibraryItem[str]) -> html.Div:
    name = item.summary["name"]
    frame = html.Iframe(src=f"/page/{quote(item.key)}", title=f"Heat maps of {name}")
    return shown("recording", [html.H1(name), frame], key=item.key)
