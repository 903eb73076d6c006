"""The list of reference models for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnlens.show.canvas import Page, terminal_page

MOST = 1000
"""Columns: as wide as the terminal."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A reference model as ``attnlens models`` lists it.

    Attributes:
        input: how the input of ``trace`` is written.
        parameters: how many.
        sizes: of the model that comes along.
    """

    name: str
    title: str
    source: str
    purpose: str
    input: str
    parameters: int
    sizes: Mapping[str, float]


@terminal_page(least=1, most=MOST)
def render_models(page: Page, models: Sequence[ListedModel]) -> None:
    """A paragraph for each model: name, title, source, purpose, input, parameters and sizes."""
    for model in models:
        page.blank()
        page.paragraph(f"{model.name}: {model.title}, {model.parameters:,} parameters", indent=0)
        page.paragraph(f"for: {model.purpose}")
        sizes = ", ".join(f"{name} {value}" for name, value in model.sizes.items())
        if sizes:
            page.paragraph(f"sizes: {sizes}")
        page.paragraph(f"source: {model.source}")
        page.paragraph(f"input of `trace`: {model.input}")
