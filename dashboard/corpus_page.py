"""The page of a corpus: what its balls have in common, to be sorted, narrowed and followed."""

from __future__ import annotations

from typing import Final

from dash import html

from .library import Matches
from .parts import Page, loading, marked, panel, store

PANELS: Final = (
    ("fit", "How well it fits", ""),
    ("sources", "What the prediction is made of", "Mean fusion weights: shares of 100%."),
    (
        "attention",
        "Where attention goes",
        "How many times as much of a head's past attention as uniform attention would give: 2.0 is "
        "twice, 0.5 half. Blue is more, orange less. In green stands the name that a head has "
        "earned, if any. Looking is not using: the claims say when it mattered.",
    ),
    ("claims", "When claims hold", ""),
    (
        "calibration",
        "Calibration",
        "How likely an outcome was said to be (across) and how often it came (up), in bins of "
        "about as many balls, with intervals. On the dotted line, what was said came true.",
    ),
    ("surprises", "The most surprising balls", ""),
    ("players", "Who surprises the model", ""),
)


def corpus_page(matches: Matches) -> Page:
    """What stands there before its figures come.

    Args:
        matches: what is open; a ball of it can be gone to.
    """
    places = [html.A(title, href=f"#{name}") for name, title, _ in PANELS]
    return [
        html.H1("Corpus", id="corpus-title"),
        html.Div(loading("summing up every ball"), id="corpus-about"),
        html.Nav(places, className="places", **marked(aria_label="On this page")),
        html.Div(id="corpus-filters", className="filters"),
        *(
            panel(name, title, html.Div(id=f"{name}-shown"), lead=lead)
            for name, title, lead in PANELS
        ),
        store(
            "corpus",
            {
                "open": [
                    {"key": shown.key, "about": shown.about}
                    for shown in matches.given
                    if not shown.sample
                ]
            },
        ),
    ]
