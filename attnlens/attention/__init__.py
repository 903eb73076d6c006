"""What attention looks at, for any model.

Works on records, torch tensors (a Hugging Face model's ``attentions`` among them) and numpy
arrays alike. Measures of faithfulness, which run the model again, have modules of their own.
"""

from attnlens.attention.flow import rollout, value_norms
from attnlens.attention.focus import (
    Strongest,
    entropy,
    entropy_bounds,
    group_shares,
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
    "group_shares",
    "induction",
    "relation_scores",
    "rollout",
    "strongest_keys",
    "value_norms",
]
