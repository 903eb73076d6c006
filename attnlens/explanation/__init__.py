"""The explanation as plain data: its types, its summary, its sentences.

Nothing here holds a tensor or knows a model. Names are imported when first
used, so that the summary does not wait for pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlens.explanation.narrative import narrate
    from attnlens.explanation.summary import summarize_temporal_attention
    from attnlens.explanation.types import Explanation, HeatmapDocument, json_schema

__all__ = [
    "Explanation",
    "HeatmapDocument",
    "json_schema",
    "narrate",
    "summarize_temporal_attention",
]

_HOMES = {
    "Explanation": "types",
    "HeatmapDocument": "types",
    "json_schema": "types",
    "narrate": "narrative",
    "summarize_temporal_attention": "summary",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
