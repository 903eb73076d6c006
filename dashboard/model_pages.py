"""The pages of the reference models: all, and one step by step."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from dash import dcc, html

from .functions import Data, Inside
from .parts import Page, columns, panel, store


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
        store("models", {}),
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
        columns(
            "overview",
            panel("steps", "Steps", html.Div(id="steps-list")),
            panel("step", "This step", html.Div(id="step-shown")),
        ),
        store(
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
