"""Explain sequence models through their attention, and test each explanation.

Each name is imported on first use, so ``import attnlens`` is fast.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnlens._version import VERSION as __version__

if TYPE_CHECKING:
    from attnlens.audits import ablate, audit, heads
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.explain.what_if_types import WhatIf
    from attnlens.cricket.predictor.predictor import FullModel, Sizes
    from attnlens.cricket.predictor.temporal import (
        MultiScaleTemporalEncoder,
        SpecializedTemporalAttention,
        TemporalEncoder,
    )
    from attnlens.cricket.readers import read_match, read_matches
    from attnlens.cricket.session import Session, explain, next_over, predict, story, what_if
    from attnlens.cricket.words.clauses import render_text
    from attnlens.cricket.words.grounding import check_grounding
    from attnlens.cricket.words.summary import summarize_temporal_attention
    from attnlens.errors import AttnlensError
    from attnlens.recording import Adapter, Edges, SoftmaxAdapter, intervene, record
    from attnlens.recording.attention_record import AttentionRecord
    from attnlens.recording.probe import AttentionProbe
    from attnlens.recording.recording import Recording, load_recording
    from attnlens.reference.symbolic import describe, trace
    from attnlens.render.heat_map import figure

__all__ = [
    "Adapter",
    "AttentionProbe",
    "AttentionRecord",
    "AttnlensError",
    "Edges",
    "Explanation",
    "FullModel",
    "MultiScaleTemporalEncoder",
    "Recording",
    "Session",
    "Sizes",
    "SoftmaxAdapter",
    "SpecializedTemporalAttention",
    "TemporalEncoder",
    "WhatIf",
    "__version__",
    "ablate",
    "audit",
    "check_grounding",
    "describe",
    "explain",
    "figure",
    "heads",
    "intervene",
    "load_recording",
    "next_over",
    "predict",
    "read_match",
    "read_matches",
    "record",
    "render_text",
    "story",
    "summarize_temporal_attention",
    "trace",
    "what_if",
]

_HOMES = {
    name: f"attnlens.{home}"
    for home, names in {
        "audits": "ablate audit heads",
        "cricket.explain.types": "Explanation",
        "cricket.predictor.predictor": "FullModel Sizes",
        "cricket.predictor.temporal": "MultiScaleTemporalEncoder SpecializedTemporalAttention "
        "TemporalEncoder",
        "cricket.readers": "read_match read_matches",
        "cricket.session": "Session explain next_over predict story what_if",
        "cricket.explain.what_if_types": "WhatIf",
        "cricket.words.grounding": "check_grounding",
        "cricket.words.clauses": "render_text",
        "cricket.words.summary": "summarize_temporal_attention",
        "errors": "AttnlensError",
        "recording": "Adapter Edges SoftmaxAdapter intervene record",
        "recording.probe": "AttentionProbe",
        "recording.attention_record": "AttentionRecord",
        "recording.recording": "Recording load_recording",
        "render.heat_map": "figure",
        "reference.symbolic": "describe trace",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
