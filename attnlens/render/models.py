"""The list of reference models for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnlens.render.canvas import ASCII, UNICODE, Page
from attnlens.render.trace import to_ascii


def render_models(
    listed: Sequence[Mapping[str, Any]], *, width: int = 100, unicode: bool = True
) -> str:
    """A paragraph for each model.

    Args:
        listed: name, title, source, purpose, input, parameters and sizes of each.
    """
    page = Page(width, UNICODE if unicode else ASCII)
    for one in listed:
        page.blank()
        page.paragraph(f"{one['name']}: {one['title']}, {one['parameters']:,} parameters", indent=0)
        page.paragraph(f"for: {one['purpose']}")
        sizes = ", ".join(f"{name} {value}" for name, value in one["sizes"].items())
        if sizes:
            page.paragraph(f"sizes: {sizes}")
        page.paragraph(f"source: {one['source']}")
        page.paragraph(f"input of `trace`: {one['input']}")
    text = page.text(color=False)
    return text if unicode else to_ascii(text)
