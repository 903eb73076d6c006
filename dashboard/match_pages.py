"""The pages of matches: those that are open, a match ball by ball, two balls side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from dash import dcc, html
from dash.development.base_component import Component

from attnlens.render.safe import on_one_line

from .library import Matches, Shown
from .parts import Page, columns, drop, marked, panel, plot, store

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match


LEAD: Final = (
    "Open a match: who won, and when it turned; then walk through it ball by ball. Every claim "
    "about the model's attention carries the verdict of a test: what it pointed at was hidden, "
    "beside other balls like it."
)


def match_link(shown: Shown[Match]) -> str:
    """The address of a match's first page, its story."""
    return f"/match/{quote(shown.key)}"


def last_ball_link(shown: Shown[Match]) -> str:
    """The address of the last ball that was bowled, where one was."""
    played = [one for one in shown.about["innings"] if one["balls"]]
    last = played[-1] if played else {"number": 1, "balls": 1}
    return f"{match_link(shown)}/innings/{last['number']}/ball/{last['balls']}"


def _title(shown: Shown[Match], title: str, *beside: Component) -> html.Div:
    """The head of a match's page: its title, where and when, ways on, and what to know first."""
    about = shown.about
    known = [about[name] for name in ("event", "date", "venue") if about[name]]
    facts = " · ".join(
        map(on_one_line, known if title == about["title"] else [about["title"], *known])
    )
    return html.Div(
        [
            html.H1(title),
            html.P(facts, className="quiet"),
            *beside,
            html.Ul(id="cautions", className="cautions"),
        ],
        className="title",
    )


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
            href=match_link(shown) if shown.followed is None else last_ball_link(shown),
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
            html.Ul([_match_card(shown) for shown in matches.given], className="cards"),
            html.Ul(id="brought", className="cards"),
            None
            if public
            else drop("match", "a match (Cricsheet JSON or CSV, or a Kaggle IPL table)"),
            lead=on_one_line(matches.note),
            files=False,
        ),
        store("home", {}),
    ]


def story_page(shown: Shown[Match], models: tuple[str, ...]) -> Page:
    """The match as a story: who won, when it turned, and where to go on."""
    about = shown.about
    title = about["result"] or about["title"]
    return [
        _title(shown, title[0].upper() + title[1:], html.Nav(id="innings-links")),
        columns(
            "story",
            plot("win", "Who was winning, ball by ball"),
            panel("turning", "Where it turned", html.Div(id="turning-list")),
            columns(
                "two",
                panel("expected", "Against expectation", html.Div(id="expected-shown")),
                panel("surprises", "Most surprising", html.Div(id="surprises-list")),
            ),
        ),
        store("story", {"key": shown.key, "models": list(models), "about": about}),
    ]


def ball_page(shown: Shown[Match], models: tuple[str, ...], texts: Iterable[str]) -> Page:
    """A ball: the innings, what is expected of it, why, and where the heads look."""
    return [
        _title(shown, shown.about["title"]),
        html.Section(
            id="score", className="score", **marked(aria_label="Score", data_shown="match")
        ),
        html.P(id="live", className="quiet", role="status") if shown.followed is not None else None,
        html.P(id="next", className="next") if shown.followed is not None else None,
        panel(
            "timeline",
            "The innings",
            html.Div(id="timeline-plot", className="plot"),
            beside=html.Div(id="timeline-controls", className="controls"),
        ),
        html.Div(
            [
                html.Div(
                    [
                        panel(
                            "narrative",
                            "The story of this ball",
                            html.Div(id="narrative-text"),
                            seen=False,
                        ),
                        columns(
                            "two",
                            plot("outcomes", "What it expects"),
                            plot("contributions", "Why"),
                        ),
                        panel(
                            "evidence",
                            "Claims, tested",
                            html.Div(id="evidence-list"),
                            lead="Choose one: its balls light up above and beside.",
                        ),
                    ],
                    className="told",
                ),
                panel(
                    "heads",
                    "Its heads",
                    html.Div(id="heads-maps", className="maps"),
                    html.Div(id="heads-legend"),
                    beside=html.Div(id="heads-controls", className="controls"),
                ),
            ],
            className="columns ball-screen",
        ),
        html.Section(
            [
                html.Div(id="head-one"),
                html.Div(id="head-figure"),
                dcc.Store(id="head-wanted"),
            ],
            id="enlarged",
            className="panel",
            hidden=True,
        ),
        columns(
            "two",
            html.Div(
                [
                    plot("gates", "What reached the prediction"),
                    panel(
                        "what-if",
                        "What if",
                        html.Div(id="what-if-form"),
                        html.Div(id="what-if-answer"),
                    ),
                ]
            ),
            plot("inside", "Inside the ball"),
        ),
        store(
            "ball",
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
