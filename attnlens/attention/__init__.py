"""Functions that describe the attention weights of records, torch tensors and numpy arrays."""

from attnlens.attention.flow import rollout
from attnlens.attention.focus import (
    Strongest,
    entropy,
    entropy_bounds,
    strongest_keys,
)
from attnlens.attention.heads import (
    RelationScores,
    duplicate_token,
    earlier_token,
    first_token,
    induction,
    relation_scores,
)

__all__ = [
    "RelationScores",
    "Strongest",
    "duplicate_token",
    "earlier_token",
    "entropy",
    "entropy_bounds",
    "first_token",
    "induction",
    "relation_scores",
    "rollout",
    "strongest_keys",
]
