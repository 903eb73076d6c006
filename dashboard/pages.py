"""The pages: what stands in them before anything is drawn. The page's scripts fill them in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from dash import dcc, html

from attnlens.dashboard.functions import Data, Inside
from attnlens.dashboard.library import Library, Shown
from attnlens.dashboard.security import plain

Page = list[Any]


def marked(**named: str) -> dict[str, Any]:
    """Attributes with a hyphen in their names: ``aria_label`` is ``aria-label``."""
    return {name.replace("_", "-"): value for name, value in named.items()}


def frame(*, public: bool, heads: bool, corpus: bool) -> html.Div:
    """What is on every page."""
    links = [
        ("/", "Matches"),
        ("/compare", "Compare"),
        ("/models", "Models"),
        ("/recordings", "Recordings"),
    ]
    if heads:
        links.insert(2, ("/heads", "Heads"))
    if corpus:
        links.append(("/corpus", "Corpus"))
    return html.Div(
        [
            html.A("Skip to the content", href="#page", className="skip"),
            html.Header(
                [
                    dcc.Link(
                        [html.Span(className="logo", **marked(aria_hidden="true")), "attnlens"],
                        href="/",
                        className="brand",
                    ),
                    html.Nav(
                        [dcc.Link(text, href=href) for href, text in links],
                        **marked(aria_label="Pages"),
                    ),
                    html.Div(
                        [
                            html.Span("read-only", className="chip") if public else None,
                            html.Button("?", id="keys-button", **marked(aria_label="Keyboard")),
                            html.Button("theme", id="theme-button"),
                        ],
                        className="tools",
                    ),
                ],
                className="top",
            ),
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="page-key"),
            dcc.Store(id="drawn"),
            html.Main(id="page", tabIndex="-1", children=loading("opening")),
            html.Div(id="say", className="unseen", role="status", **marked(aria_live="polite")),
            html.Div(id="toast", **marked(aria_hidden="true")),
        ],
        id="frame",
    )


def loading(text: str) -> html.P:
    return html.P(text, className="loading")


def _panel(
    name: str, title: str, *children: Any, lead: str = "", files: bool = True, **more: Any
) -> html.Section:
    """A part of a page with its heading, and a place for what can be taken away."""
    return html.Section(
        [
            html.Div(
                [
                    html.H2(title, id=f"{name}-title"),
                    html.P(lead, className="lead") if lead else None,
                    html.Div(id=f"{name}-tools", className="panel-tools") if files else None,
                ],
                className="panel-head",
            ),
            *children,
        ],
        id=name,
        className="panel",
        **marked(aria_labelledby=f"{name}-title"),
        **more,
    )


def _drop(kind: str, what: str) -> html.Div:
    """A place to bring a file; the page's script wires it."""
    return html.Div(
        [
            html.Button(f"Open {what}", className="drop-button", **marked(data_upload=kind)),
            html.Span("or drop it here", className="quiet"),
            html.P("", className="drop-said", role="alert"),
        ],
        className="drop",
        **marked(data_drop=kind),
    )


def match_link(shown: Shown) -> str:
    innings = shown.about["innings"]
    number = next((one["number"] for one in innings if one["balls"]), 1)
    return f"/match/{quote(shown.key)}/innings/{number}/ball/1"


def _match_card(shown: Shown) -> html.Li:
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
                    + " · ".join(plain(fact) for fact in facts if fact),
                    className="quiet",
                ),
                html.Span(scores, className="lines"),
                html.Span(about["result"] or "", className="result"),
            ],
            href=match_link(shown),
            className="card",
        )
    )


def home(matches: Library, *, public: bool) -> Page:
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
        _panel(
            "matches",
            "Matches",
            html.Div(id="find"),
            html.Ul([_match_card(shown) for shown in matches.given], className="cards"),
            html.Ul(id="brought", className="cards"),
            None
            if public
            else _drop("match", "a match (Cricsheet JSON or CSV, or a Kaggle IPL table)"),
            files=False,
        ),
        _store("home", {}),
    ]


def recordings_page(recordings: Library, *, public: bool) -> Page:
    cards = [
        html.Li(
            dcc.Link(
                [html.B(shown.about["name"]), html.Span("heat maps of every site and head")],
                href=f"/recording/{quote(shown.key)}",
                className="card",
            )
        )
        for shown in recordings.given
    ]
    none = html.P(
        "No recording is open. One is made with attnlens.record(model) and saved with "
        "recording.save(FILE); any PyTorch model with attention will do.",
        className="empty",
    )
    return [
        html.H1("Recordings"),
        _panel(
            "recordings",
            "Open",
            html.Ul(cards, className="cards") if cards else none,
            html.Ul(id="brought-recordings", className="cards"),
            None if public else _drop("recording", "a saved recording (.safetensors)"),
            files=False,
        ),
        html.P(dcc.Link("Compare two recordings", href="/recordings/compare", className="button")),
        _store("recordings", {}),
    ]


def recording_page(shown: Shown) -> Page:
    name = shown.about["name"]
    return [
        html.H1(name, className="unseen"),
        html.Iframe(
            src=f"/page/{quote(shown.key)}", title=f"Heat maps of {name}", className="recording"
        ),
        _store("recording", {}),
    ]


def compare_recordings_page(recordings: Library) -> Page:
    given = [{"key": shown.key, "title": shown.about["name"]} for shown in recordings.given]
    return [
        html.H1("Compare two recordings"),
        html.Div(id="recording-sides"),
        html.Div(id="recording-apart"),
        html.Div(
            [
                _panel(
                    "overview",
                    "Where they differ",
                    html.Div(id="overview-list"),
                    lead="Mean distance of their rows: 0 is the same, 1 nothing in common.",
                ),
                _panel(
                    "both",
                    "Side by side",
                    html.Div(id="maps-both"),
                    lead="Square roots are drawn, so that small weights show.",
                ),
            ],
            className="columns overview",
        ),
        _store("compare-recordings", {"recordings": given}),
    ]


def models_page(models: Mapping[str, Data]) -> Page:
    cards = [
        html.Li(
            dcc.Link(
                [
                    html.B(name),
                    html.Span(about["title"]),
                    html.Span(_said(about["purpose"]), className="quiet"),
                    html.Span(f"{about['parameters']:,} parameters", className="result"),
                ],
                href=f"/models/{quote(name)}",
                className="card",
            )
        )
        for name, about in models.items()
    ]
    return [
        html.H1("Inside a transformer"),
        html.P(
            "Small, exact models. Pick one, give it an input, and step through every number of its "
            "forward pass, each under the equation that made it.",
            className="lead",
        ),
        html.Ul(cards, className="cards"),
        _store("models", {}),
    ]


def _said(text: str) -> str:
    """Words of a terminal as a sentence."""
    return (text[:1].upper() + text[1:]).replace("`", "")


def model_page(name: str, inside: Inside) -> Page:
    about = inside.models[name]
    sizes = "".join(f", {size} {value}" for size, value in about["sizes"].items())
    return [
        html.H1(f"{name}: {about['title']}"),
        html.P(f"{_said(about['purpose'])}. {about['source']}.", className="lead"),
        html.P(f"{about['parameters']:,} parameters{sizes}", className="quiet"),
        html.Div(id="model-input"),
        html.Div(
            [
                _panel("steps", "Steps", html.Div(id="steps-list")),
                _panel("step", "This step", html.Div(id="step-shown")),
            ],
            className="columns overview",
        ),
        _store(
            "model",
            {
                "name": name,
                "input": about["input"].removesuffix(", in quotes"),  # as a terminal wants it
                "example": about["example"],
                "from_file": about["from_file"],
                "texts": list(inside.texts),
            },
        ),
    ]


def corpus_page() -> Page:
    return [
        html.H1("The corpus", className="unseen"),
        html.P(
            [
                "Every ball of every match in it, summed up. To take away: ",
                html.A("this page", href="/files/corpus/report.html", download=""),
                ", ",
                html.A("its figures", href="/files/corpus/report.json", download=""),
                ".",
            ],
            className="lead",
        ),
        html.Iframe(src="/corpus/report.html", title="Report of the corpus", className="recording"),
        _store("corpus", {}),
    ]


def match_page(shown: Shown, models: tuple[str, ...], texts: Iterable[str]) -> Page:
    return [
        html.H1(shown.about["title"], className="unseen"),
        html.Section(
            id="score", className="score", **marked(aria_label="Score", data_shown="match")
        ),
        html.P(id="live", className="quiet", role="status") if shown.look is not None else None,
        _panel(
            "timeline",
            "The innings",
            html.Div(id="timeline-controls", className="controls"),
            html.Div(id="timeline-plot", className="plot"),
        ),
        html.Div(
            [
                _panel(
                    "outcomes",
                    "What it expects of this ball",
                    html.Div(id="outcomes-plot", className="plot"),
                ),
                html.Div(
                    [
                        _panel(
                            "contributions",
                            "What moves it",
                            html.Div(id="contributions-plot", className="plot"),
                        ),
                        _panel(
                            "gates",
                            "What reached the prediction",
                            html.Div(id="gates-plot", className="plot"),
                        ),
                    ],
                    className="stack",
                ),
                _panel("narrative", "In words", html.Div(id="narrative-text")),
            ],
            className="columns three",
        ),
        _panel(
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
                _panel(
                    "evidence",
                    "Claims, tested",
                    html.Div(id="evidence-list"),
                    lead="Choose one: its balls light up everywhere.",
                ),
                html.Div(
                    [
                        _panel(
                            "inside",
                            "Inside the ball",
                            html.Div(id="inside-plot", className="plot"),
                        ),
                        _panel(
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
        _store(
            "match",
            {
                "key": shown.key,
                "models": list(models),
                "about": shown.about,
                "texts": list(texts),
                "live": shown.look is not None,
                "version": shown.version,
            },
        ),
    ]


def compare_page(matches: Library, models: tuple[str, ...]) -> Page:
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
        _panel("difference", "The difference", html.Div(id="difference-plot", className="plot")),
        _panel(
            "gates-both",
            "What reached the prediction",
            html.Div(id="gates-both-plot", className="plot"),
        ),
        _panel("lines", "Through both innings", html.Div(id="lines-plot", className="plot")),
        _store("compare", {"matches": given, "models": list(models)}),
    ]


def lost(text: str) -> Page:
    """Where an address leads nowhere."""
    return [
        html.Div(
            [
                html.H1("Nothing is here"),
                html.P(text, className="lead"),
                dcc.Link("To the matches", href="/", className="button"),
            ],
            className="hero",
        ),
        _store("lost", {}),
    ]


def _store(page: str, data: dict[str, Any]) -> dcc.Store:
    return dcc.Store(id="page-data", data={"page": page, **data})
