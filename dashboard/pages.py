"""The pages: matches, a match's story, a ball, recordings, and heads across matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from dash import dcc, html
from dash.development.base_component import Component

from attnlens.render.safe import on_one_line

from .library import Data, LibraryItem, Matches, Recordings

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Match

Page = list[Component | None]


def hyphenated(**attributes: str) -> dict[str, Any]:
    """Attributes with a hyphen in their names: ``aria_label`` is ``aria-label``."""
    return {name.replace("_", "-"): value for name, value in attributes.items()}


def loading(text: str) -> html.P:
    return html.P(text, className="loading")


def panel(
    name: str,
    title: str,
    *children: Component | None,
    lead: str = "",
    tools: bool = False,
    controls: Component | None = None,
    visible: bool = True,
) -> html.Section:
    """A part of a page with its heading.

    Args:
        tools: whether the page's script puts buttons into its corner.
        controls: in line with the heading.
        visible: whether the heading is drawn; screen readers read it anyway.
    """
    return html.Section(
        [
            html.Div(
                [
                    html.H2(title, id=f"{name}-title", className=None if visible else "unseen"),
                    html.P(lead, className="lead") if lead else None,
                    controls,
                    html.Div(id=f"{name}-tools", className="panel-tools") if tools else None,
                ],
                className="panel-head",
            ),
            *children,
        ],
        id=name,
        className="panel",
        **hyphenated(aria_labelledby=f"{name}-title"),
    )


def plot(name: str, title: str, *above: Component | None) -> html.Section:
    """A panel with a drawing, which the page's script makes."""
    return panel(name, title, *above, html.Div(id=f"{name}-plot", className="plot"))


def columns(kind: str, *children: Component) -> html.Div:
    """Side by side where the window is wide."""
    return html.Div(list(children), className=f"columns {kind}")


def drop_zone(kind: str, kind_words: str) -> html.Div:
    """A place to upload a file; the page's script wires it."""
    return html.Div(
        [
            html.Button(
                f"Open {kind_words}", className="drop-button", **hyphenated(data_upload=kind)
            ),
            html.Span("or drop it here", className="quiet"),
            html.P("", className="drop-message", role="alert"),
        ],
        className="drop",
        **hyphenated(data_drop=kind),
    )


def store(page: str, data: Data) -> dcc.Store:
    return dcc.Store(id="page-data", data={"page": page, **data})


def not_found_page(text: str) -> Page:
    """The page of an address that leads nowhere."""
    return [
        html.Div(
            [
                html.H1("Nothing is here"),
                html.P(text, className="lead"),
                dcc.Link("To the matches", href="/", className="button"),
            ],
            className="hero",
        ),
        store("lost", {}),
    ]


_LEAD: Final = (
    "Open a match: who won, and when it turned; then walk through it ball by ball. Every claim "
    "about the model's attention carries the verdict of a test: what it pointed at was hidden, "
    "beside other balls like it."
)


def match_link(item: LibraryItem[Match]) -> str:
    """The address of a match's first page, its story."""
    return f"/match/{quote(item.key)}"


def last_ball_link(item: LibraryItem[Match]) -> str:
    """The address of the last ball that was bowled, where one was."""
    played = [innings for innings in item.summary["innings"] if innings["balls"]]
    last = played[-1] if played else {"number": 1, "balls": 1}
    return f"{match_link(item)}/innings/{last['number']}/ball/{last['balls']}"


def _title(item: LibraryItem[Match], title: str, *links: Component) -> html.Div:
    """The head of a match's page: its title, where and when, ways on, and what to know first."""
    summary = item.summary
    facts = [summary[name] for name in ("event", "date", "venue") if summary[name]]
    if title != summary["title"]:
        facts.insert(0, summary["title"])
    return html.Div(
        [
            html.H1(title),
            html.P(" · ".join(map(on_one_line, facts)), className="quiet"),
            *links,
            html.Ul(id="cautions", className="cautions"),
        ],
        className="title",
    )


def _score(innings: Data) -> str:
    return f" {innings['total']}/{innings['wickets']} ({innings['overs']})"


def _match_card(item: LibraryItem[Match]) -> html.Li:
    summary = item.summary
    scores = [
        html.Span(
            [html.B(innings["batting"]), _score(innings)],
            className="line",
        )
        for innings in summary["innings"]
        if not innings["super_over"]
    ]
    facts = [summary["event"], summary["date"], summary["venue"]]
    if not scores:
        scores = [html.Span(html.B(summary["title"]), className="line")]
    return html.Li(
        dcc.Link(
            [
                html.Span(
                    ("A sample to begin with: an invented match. " if item.sample else "")
                    + " · ".join(on_one_line(fact) for fact in facts if fact),
                    className="quiet",
                ),
                html.Span(scores, className="lines"),
                html.Span(summary["result"] or "", className="result"),
            ],
            href=match_link(item) if item.followed is None else last_ball_link(item),
            className="card",
        )
    )


def home_page(matches: Matches, *, public: bool) -> Page:
    return [
        html.Div(
            [
                html.H1("What did the model look at, and did it matter?"),
                html.P(_LEAD, className="lead"),
            ],
            className="hero",
        ),
        panel(
            "matches",
            "Matches",
            html.Ul([_match_card(item) for item in matches.permanent], className="cards"),
            html.Ul(id="brought", className="cards"),
            None
            if public
            else drop_zone("match", "a match (Cricsheet JSON or CSV, or a Kaggle IPL table)"),
            lead=on_one_line(matches.note),
        ),
        store("home", {}),
    ]


def story_page(item: LibraryItem[Match], models: tuple[str, ...]) -> Page:
    """The match as a story: who won, when it turned, and where to go on."""
    summary = item.summary
    title = summary["result"] or summary["title"]
    return [
        _title(item, title[0].upper() + title[1:], html.Nav(id="innings-links")),
        html.Div(id="story"),
        html.Div(id="story-status", role="status"),
        store("story", {"key": item.key, "models": list(models), "summary": summary}),
    ]


def ball_page(item: LibraryItem[Match], models: tuple[str, ...], files: Data) -> Page:
    """A ball: the innings, what is expected of it, why, and where the heads look.

    Args:
        files: names of files to download, and what each is.
    """
    return [
        _title(item, item.summary["title"]),
        html.Section(
            id="score", className="score", **hyphenated(aria_label="Score", data_shown="match")
        ),
        html.P(id="live", className="quiet", role="status") if item.followed is not None else None,
        html.P(id="next", className="next") if item.followed is not None else None,
        panel(
            "timeline",
            "The innings",
            html.Div(id="timeline-plot", className="plot"),
            controls=html.Div(id="timeline-controls", className="controls"),
        ),
        html.Div(
            [
                html.Div(
                    [
                        panel(
                            "narrative",
                            "The story of this ball",
                            html.Div(id="narrative-text"),
                            tools=True,
                            visible=False,
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
                            tools=True,
                        ),
                    ],
                    className="reasons",
                ),
                panel(
                    "heads",
                    "Its heads",
                    html.Div(id="heads-maps", className="maps"),
                    html.Div(id="heads-legend"),
                    controls=html.Div(id="heads-controls", className="controls"),
                ),
            ],
            className="columns ball-screen",
        ),
        html.Section(
            [
                html.Div(id="head-one"),
                html.Div(
                    id="head-figure",
                    tabIndex="0",
                    role="application",
                    **hyphenated(aria_label="Heat map of the head. Arrow keys move the cell."),
                ),
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
                "key": item.key,
                "models": list(models),
                "summary": item.summary,
                "files": files,
                "live": item.followed is not None,
                "version": item.version,
            },
        ),
    ]


def recording_link(item: LibraryItem[str]) -> str:
    """The address of a recording's page."""
    return f"/recording/{quote(item.key)}"


def recordings_page(recordings: Recordings, *, public: bool) -> Page:
    cards = [
        html.Li(
            dcc.Link(
                [html.B(item.summary["name"]), html.Span("heat maps of every site and head")],
                href=recording_link(item),
                className="card",
            )
        )
        for item in recordings.permanent
    ]
    none = html.P(
        "No recording is open. One is made with attnlens.record(model) and saved with "
        "recording.save(FILE); any PyTorch model with attention will do.",
        className="empty",
    )
    return [
        html.H1("Recordings"),
        panel(
            "recordings",
            "Open",
            html.Ul(cards, className="cards") if cards else none,
            html.Ul(id="brought-recordings", className="cards"),
            None if public else drop_zone("recording", "a saved recording (.safetensors)"),
        ),
        store("recordings", {}),
    ]


def recording_page(item: LibraryItem[str]) -> Page:
    name = item.summary["name"]
    return [
        html.H1(name),
        html.Iframe(
            src=f"/page/{quote(item.key)}", title=f"Heat maps of {name}", className="recording"
        ),
        store("recording", {}),
    ]


_SHOWN_RELATIONS: Final = 3
"""Relations of a head in its row."""


def is_measured(data: Data) -> bool:
    """Whether a document is of ``attnlens lab heads --json``."""
    try:
        heads_page(data)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        return False
    return True


def heads_page(data: Data) -> Page:
    """Every head, by scale."""
    lead = (
        f"Over {data['balls']:,} balls; matches: {data['matches']:,}. ×2 of a relation: twice as "
        "much of its past attention as even attention would pay, with 95% intervals over matches. "
        "A name is earned where looking and mattering both hold."
    )
    headings = ("looks at", "without it", "rank", "on itself", "built in", "began as")
    scales = [
        panel(
            scale["scale"],
            f"{scale['scale']}: {scale['question']}",
            _table(("head", "name earned", *headings), map(_head, scale["heads"])),
            lead=f"{scale['window']} {scale['unit']}",
        )
        for scale in data["scales"]
    ]
    return [
        html.H1("Heads across matches"),
        html.P(lead, className="lead"),
        *scales,
        store("measured", {}),
    ]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> html.Div:
    """Rows under their heads; it slides where the window is narrow."""
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in heads]))
    lines = [
        html.Tr([html.Th(first, scope="row"), *(html.Td(cell) for cell in cells)])
        for first, *cells in rows
    ]
    return html.Div(html.Table([head, html.Tbody(lines)]), className="scroll wide", tabIndex="0")


def _head(head: Data) -> list[str]:
    rows = sorted(head["relations"], key=lambda row: -(row["lift"] or 0.0))
    return [
        f"head {head['number']}",
        "none" if head["earned"] == "unspecialised" else _words(head["earned"]),
        ", ".join(map(_favoured, rows[:_SHOWN_RELATIONS])),
        *_importance(head["importance"]),
        _share(head["self_attention"]),
        _share(head["bias_share"]),
        _words(head["pattern"]),
    ]


def _favoured(row: Data) -> str:
    lift, ends = row["lift"], row["lift_ci"]
    interval = "" if ends is None or ends[0] == ends[1] else f" [{ends[0]:.2f}, {ends[1]:.2f}]"
    return f"{_words(row['relation'])} {'–' if lift is None else f'×{lift:.2f}'}{interval}"


def _importance(importance: Data) -> tuple[str, str]:
    points = importance["points"]
    return "not known" if points is None else f"{points:.2f} points", str(importance["rank"])


def _share(value: float | None) -> str:
    return "not known" if value is None else f"{value:.0%}"


def _words(name: str) -> str:
    return name.replace("_", " ").replace("batsman", "batter")
