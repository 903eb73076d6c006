"""The pages of matches: those that are open, a match ball by ball, two balls side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from dash import dcc, html

from attnlens.show.safe import on_one_line

from .library import Matches, Shown
from .parts import Page, columns, drop, marked, panel, plot, store

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match


LEAD: Final = (
    "Walk through a match ball by ball. Every claim about the model's attention carries the "
    "verdict of a test: what it pointed at was hidden, beside other balls like it."
)


def match_link(shown: Shown[Match]) -> str:
    innings = shown.about["innings"]
    number = next((one["number"] for one in innings if one["balls"]), 1)
    return f"/match/{quote(shown.key)}/innings/{number}/ball/1"


def _match_card(shown: Shown[Match]) -> html.Li:
    about = shown.about
    scores = [
        html.Span(
            [html.B(one["batting"]), f" {one['total']}/{one['wickets']} ({one['overs']})"],
            className="line",
        )
        for one in about["innings"]
        if not one["super_over"]
    ]
    facts = [about["event"], about["date"], about["venue"]]
    if not scores:
        scores = [html.Span(html.B(about["title"]), className="line")]
    return html.Li(
        dcc.Link(
            [
                html.Span(
                    ("A sample to begin with: an invented match. " if shown.sample else "")
                    + " · ".join(on_one_line(fact) for fact in facts if fact),
                    className="quiet",
                ),
                html.Span(scores, className="lines"),
                html.Span(about["result"] or "", className="result"),
            ],
            href=match_link(shown),
            className="card",
        )
    )


def home(matches: Matches, *, public: bool) -> Page:
    return [
        html.Div(
            [
                html.H1("What did the model look at, and did it matter?"),
                html.P(LEAD, className="lead"),
            ],
            className="hero",
        ),
        panel(
            "matches",
            "Matches",
            html.Div(id="find"),
            html.Ul([_match_card(shown) for shown in matches.given], className="cards"),
            html.Ul(id="brought", className="cards"),
            None
            if public
            else drop("match", "a match (Cricsheet JSON or CSV, or a Kaggle IPL table)"),
            files=False,
        ),
        store("home", {}),
    ]


def match_page(shown: Shown[Match], models: tuple[str, ...], texts: Iterable[str]) -> Page:
    return [
        html.H1(shown.about["title"], className="unseen"),
        html.Section(
            id="score", className="score", **marked(aria_label="Score", data_shown="match")
        ),
        html.P(id="live", className="quiet", role="status") if shown.followed is not None else None,
        plot("timeline", "The innings", html.Div(id="timeline-controls", className="controls")),
        columns(
            "three",
            plot("outcomes", "What it expects of this ball"),
            html.Div(
                [
                    plot("contributions", "What moves it"),
                    plot("gates", "What reached the prediction"),
                ],
                className="stack",
            ),
            panel("narrative", "In words", html.Div(id="narrative-text")),
        ),
        panel(
            "heads",
            "Where its heads look",
            html.Div(id="heads-controls", className="controls"),
            html.Div(id="heads-maps", className="maps"),
            html.Div(id="head-one", hidden=True),
            html.Div(id="head-figure", hidden=True),
            dcc.Store(id="head-wanted"),
        ),
        columns(
            "two",
            panel(
                "evidence",
                "Claims, tested",
                html.Div(id="evidence-list"),
                lead="Choose one: its balls light up.",
            ),
            html.Div(
                [
                    plot("inside", "Inside the ball"),
                    panel(
                        "what-if",
                        "What if",
                        html.Div(id="what-if-form"),
                        html.Div(id="what-if-answer"),
                    ),
                ],
                className="stack",
            ),
        ),
        store(
            "match",
            {
                "key": shown.key,
                "models": list(models),
                "about": shown.about,
                "texts": list(texts),
                "live": shown.followed is not None,
                "version": shown.version,
            },
        ),
    ]


def compare_page(matches: Matches, models: tuple[str, ...]) -> Page:
    given = [{"key": shown.key, "about": shown.about} for shown in matches.given]
    return [
        html.H1("Compare"),
        html.P(
            [
                "Two balls, two innings or two models, side by side, and the difference. For ",
                dcc.Link("two recordings", href="/recordings/compare"),
                " there is a page of its own.",
            ],
            className="lead",
        ),
        columns(
            "two", *(html.Section(id=f"compare-{side}", className="panel") for side in ("a", "b"))
        ),
        plot("difference", "The difference"),
        plot("gates-both", "What reached the prediction"),
        plot("lines", "Through both innings"),
        store("compare", {"matches": given, "models": list(models)}),
    ]
