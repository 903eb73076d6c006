"""attnlens: sequence models explained through their attention, each explanation checked.

Names are imported when they are first used, so ``import attnlens`` is cheap.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnlens._version import VERSION as __version__

if TYPE_CHECKING:
    from attnlens.api import explain, next_over, predict, read_match, read_matches, what_if
    from attnlens.errors import AttnlensError
    from attnlens.explanation.grounding import check_grounding
    from attnlens.explanation.summary import summarize_temporal_attention
    from attnlens.explanation.types import Explanation
    from attnlens.explanation.what_if_types import WhatIf
    from attnlens.models.predictor import FullModel, Sizes
    from attnlens.models.temporal import (
        MultiScaleTemporalEncoder,
        SpecializedTemporalAttention,
        TemporalEncoder,
    )
    from attnlens.recorder import Edges, intervene, record
    from attnlens.records import AttentionRecord, Recording, load_recording
    from attnlens.symbolic import describe, trace

__all__ = [
    "AttentionRecord",
    "AttnlensError",
    "Edges",
    "Explanation",
    "FullModel",
    "MultiScaleTemporalEncoder",
    "Recording",
    "Sizes",
    "SpecializedTemporalAttention",
    "TemporalEncoder",
    "WhatIf",
    "__version__",
    "check_grounding",
    "describe",
    "explain",
    "intervene",
    "load_recording",
    "next_over",
    "predict",
    "read_match",
    "read_matches",
    "record",
    "summarize_temporal_attention",
    "trace",
    "what_if",
]

_HOMES = {
    "AttentionRecord": "attnlens.records",
    "AttnlensError": "attnlens.errors",
    "Edges": "attnlens.recorder",
    "Explanation": "attnlens.explanation.types",
    "FullModel": "attnlens.models.predictor",
    "MultiScaleTemporalEncoder": "attnlens.models.temporal",
    "Recording": "attnlens.records",
    "Sizes": "attnlens.models.predictor",
    "SpecializedTemporalAttention": "attnlens.models.temporal",
    "TemporalEncoder": "attnlens.models.temporal",
    "WhatIf": "attnlens.explanation.what_if_types",
    "check_grounding": "attnlens.explanation.grounding",
    "describe": "attnlens.symbolic",
    "explain": "attnlens.api",
    "intervene": "attnlens.recorder",
    "load_recording": "attnlens.records",
    "next_over": "attnlens.api",
    "predict": "attnlens.api",
    "read_match": "attnlens.api",
    "read_matches": "attnlens.api",
    "record": "attnlens.recorder",
    "summarize_temporal_attention": "attnlens.explanation.summary",
    "trace": "attnlens.symbolic",
    "what_if": "attnlens.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# An uninstalled checkout keeps dashboard/ and templates/ beside this package.
_checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if all(
    os.path.isfile(os.path.join(_checkout, *name))
    for name in (("pyproject.toml",), ("dashboard", "__init__.py"))
):
    __path__.append(_checkout)
