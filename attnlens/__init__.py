"""attnlens: sequence models explained through their attention, each explanation checked.

Names are imported when they are first used, so ``import attnlens`` is cheap.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnlens._version import VERSION as __version__
from attnlens.shown import drawn_by

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation
    from attnlens.cricket.model.predictor import FullModel, Sizes
    from attnlens.cricket.model.temporal import (
        MultiScaleTemporalEncoder,
        SpecializedTemporalAttention,
        TemporalEncoder,
    )
    from attnlens.cricket.session import (
        Session,
        explain,
        next_over,
        predict,
        read_match,
        read_matches,
        what_if,
    )
    from attnlens.cricket.whatif.types import WhatIf
    from attnlens.cricket.words.grounding import check_grounding
    from attnlens.cricket.words.summary import summarize_temporal_attention
    from attnlens.errors import AttnlensError
    from attnlens.recorder import Edges, intervene, record
    from attnlens.recording.record import AttentionRecord
    from attnlens.recording.recording import Recording, load_recording
    from attnlens.symbolic import describe, trace

__all__ = [
    "AttentionRecord",
    "AttnlensError",
    "Edges",
    "Explanation",
    "FullModel",
    "MultiScaleTemporalEncoder",
    "Recording",
    "Session",
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
    "AttentionRecord": "attnlens.recording.record",
    "AttnlensError": "attnlens.errors",
    "Edges": "attnlens.recorder",
    "Explanation": "attnlens.cricket.explain.types",
    "FullModel": "attnlens.cricket.model.predictor",
    "MultiScaleTemporalEncoder": "attnlens.cricket.model.temporal",
    "Recording": "attnlens.recording.recording",
    "Session": "attnlens.cricket.session",
    "Sizes": "attnlens.cricket.model.predictor",
    "SpecializedTemporalAttention": "attnlens.cricket.model.temporal",
    "TemporalEncoder": "attnlens.cricket.model.temporal",
    "WhatIf": "attnlens.cricket.whatif.types",
    "check_grounding": "attnlens.cricket.words.grounding",
    "describe": "attnlens.symbolic",
    "explain": "attnlens.cricket.session",
    "intervene": "attnlens.recorder",
    "load_recording": "attnlens.recording.recording",
    "next_over": "attnlens.cricket.session",
    "predict": "attnlens.cricket.session",
    "read_match": "attnlens.cricket.session",
    "read_matches": "attnlens.cricket.session",
    "record": "attnlens.recorder",
    "summarize_temporal_attention": "attnlens.cricket.words.summary",
    "trace": "attnlens.symbolic",
    "what_if": "attnlens.cricket.session",
}

# Who draws what Python and Jupyter show of these, so that they need not know it.
drawn_by(
    {
        "Explanation": "attnlens.cricket.pages.notebook",
        "Recording": "attnlens.show.notebook",
        "WhatIf": "attnlens.cricket.pages.notebook",
    }
)


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
