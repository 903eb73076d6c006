"""What attention looks at and how it differs, for any model.

Works on records, torch tensors (a Hugging Face model's ``attentions`` among them) and numpy
arrays alike. Measures of faithfulness, which run the model again, have modules of their own.
Names are imported when they are first used, so a command pays only for those it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlens.analysis.differences import Difference, Moved, aligned, compare, difference
    from attnlens.analysis.flow import rollout, value_norms
    from attnlens.analysis.focus import (
        GroupShares,
        Strongest,
        effective_keys,
        entropy,
        entropy_bounds,
        group_shares,
        highest_weight,
        strongest_keys,
    )
    from attnlens.analysis.importance import gate_slopes, gradient_importance, importance_of_slopes
    from attnlens.analysis.patterns import (
        RelationScores,
        duplicate_token,
        earlier_token,
        first_token,
        head_correlation,
        head_divergence,
        induction,
        relation_scores,
    )

__all__ = [
    "Difference",
    "GroupShares",
    "Moved",
    "RelationScores",
    "Strongest",
    "aligned",
    "compare",
    "difference",
    "duplicate_token",
    "earlier_token",
    "effective_keys",
    "entropy",
    "entropy_bounds",
    "first_token",
    "gate_slopes",
    "gradient_importance",
    "group_shares",
    "head_correlation",
    "head_divergence",
    "highest_weight",
    "importance_of_slopes",
    "induction",
    "relation_scores",
    "rollout",
    "strongest_keys",
    "value_norms",
]

_HOMES = {
    "Difference": "attnlens.analysis.differences",
    "GroupShares": "attnlens.analysis.focus",
    "Moved": "attnlens.analysis.differences",
    "RelationScores": "attnlens.analysis.patterns",
    "Strongest": "attnlens.analysis.focus",
    "aligned": "attnlens.analysis.differences",
    "compare": "attnlens.analysis.differences",
    "difference": "attnlens.analysis.differences",
    "duplicate_token": "attnlens.analysis.patterns",
    "earlier_token": "attnlens.analysis.patterns",
    "effective_keys": "attnlens.analysis.focus",
    "entropy": "attnlens.analysis.focus",
    "entropy_bounds": "attnlens.analysis.focus",
    "first_token": "attnlens.analysis.patterns",
    "gate_slopes": "attnlens.analysis.importance",
    "gradient_importance": "attnlens.analysis.importance",
    "group_shares": "attnlens.analysis.focus",
    "head_correlation": "attnlens.analysis.patterns",
    "head_divergence": "attnlens.analysis.patterns",
    "highest_weight": "attnlens.analysis.focus",
    "importance_of_slopes": "attnlens.analysis.importance",
    "induction": "attnlens.analysis.patterns",
    "relation_scores": "attnlens.analysis.patterns",
    "rollout": "attnlens.analysis.flow",
    "strongest_keys": "attnlens.analysis.focus",
    "value_norms": "attnlens.analysis.flow",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
