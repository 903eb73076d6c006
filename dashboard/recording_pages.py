"""The pages of recordings: those that are open, one, and two beside each other."""

from __future__ import annotations

from urllib.parse import quote

from dash import dcc, html

from .library import Recordings, Shown
from .parts import Page, columns, drop, panel, store


def recording_link(shown: Shown[str]) -> str:
    """The address of a recording's page."""
    return f"/recording/{quote(shown.key)}"


def recordings_page(recordings: Recordings, *, public: bool) -> Page:
    cards = [
        html.Li(
            dcc.Link(
                [html.B(shown.about["name"]), html.Span("heat maps of every site and head")],
                href=recording_link(shown),
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
        panel(
            "recordings",
            "Open",
            html.Ul(cards, className="cards") if cards else none,
            html.Ul(id="brought-recordings", className="cards"),
            None if public else drop("recording", "a saved recording (.safetensors)"),
            files=False,
        ),
        html.P(dcc.Link("Compare two recordings", href="/recordings/compare", className="button")),
        store("recordings", {}),
    ]


def recording_page(shown: Shown[str]) -> Page:
    name = shown.about["name"]
    return [
        html.H1(name),
        html.Iframe(
            src=f"/page/{quote(shown.key)}", title=f"Heat maps of {name}", className="recording"
        ),
        store("recording", {}),
    ]


def compare_recordings_page(recordings: Recordings) -> Page:
    given = [{"key": shown.key, "title": shown.about["name"]} for shown in recordings.given]
    return [
        html.H1("Compare two recordings"),
        html.Div(id="recording-sides"),
        html.Div(id="recording-apart"),
        columns(
            "overview",
            panel(
                "overview",
                "Where they differ",
                html.Div(id="overview-list"),
                lead="Mean distance of their rows: 0 is the same, 1 nothing in common.",
            ),
            panel(
                "both",
                "Side by side",
                html.Div(id="maps-both"),
                lead="Square roots are drawn, so that small weights show.",
            ),
        ),
        store("compare-recordings", {"recordings": given}),
    ]
