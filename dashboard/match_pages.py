"""The pages of matches: those that are open, a match ball by ball, two balls side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from dash import dcc, html

from attnlens.show.safe import on_one_line

from .library import Matches, Shown
from .parts import Page, drop, marked, panel, store

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match


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
                html.P(
                    "Walk through a match ball by ball. Every claim about the model's attention "
                    "carries the verdict of a test: what it pointed at was hidden, beside other "
                    "balls like it.",
                    className="lead",
                ),
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
        panel(
            "timeline",
            "The innings",
            html.Div(id="timeline-controls", className="controls"),
            html.Div(id="timeline-plot", className="plot"),
        ),
        html.Div(
            [
                panel(
                    "outcomes",
                    "What it expects of this ball",
                    html.Div(id="outcomes-plot", className="plot"),
                ),
                html.Div(
                    [
                        panel(
                            "contributions",
                            "What moves it",
                            html.Div(id="contributions-plot", className="plot"),
                        ),
                        panel(
                            "gates",
                            "What reached the prediction",
                            html.Div(id="gates-plot", className="plot"),
                        ),
                    ],
                    className="stack",
                ),
                panel("narrative", "In words", html.Div(id="narrative-text")),
            ],
            className="columns three",
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
        html.Div(
            [
                panel(
                    "evidence",
                    "Claims, tested",
                    html.Div(id="evidence-list"),
                    lead="Choose one: its balls light up everywhere.",
                ),
                html.Div(
                    [
                        panel(
                            "inside",
                            "Inside the ball",
                            html.Div(id="inside-plot", className="plot"),
                        ),
                        panel(
                            "what-if",
                            "What if",
                            html.Div(id="what-if-form"),
                            html.Div(id="what-if-answer"),
                        ),
                    ],
                    className="stack",
                ),
            ],
            className="columns two",
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
        html.Div(
            [html.Section(id=f"compare-{side}", className="panel") for side in ("a", "b")],
            className="columns two",
        ),
        panel("difference", "The difference", html.Div(id="difference-plot", className="plot")),
        panel(
            "gates-both",
            "What reached the prediction",
            html.Div(id="gates-both-plot", className="plot"),
        ),
        panel("lines", "Through both innings", html.Div(id="lines-plot", className="plot")),
        store("compare", {"matches": given, "models": list(models)}),
    ]
