"""Do scores tell some members from others? The area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.faithfulness import ranks

Floats = NDArray[np.float64]


def auc(scores: Floats, positive: NDArray[np.bool_]) -> float | None:
    """How often a positive scores above one that is not; equal scores count half.

    1 is perfect, 0.5 is chance.

    Args:
        scores: ``(n,)``, the higher the more.
        positive: which of them are, ``(n,)``.

    Returns:
        ``None`` where there are none of one kind.

    Reference:
        Mann & Whitney 1947; Hanley & McNeil 1982.
    """
    hits = int(positive.sum())
    misses = len(positive) - hits
    if not hits or not misses:
        return None
    above = float(ranks(scores)[positive].sum()) - hits * (hits + 1) / 2
    return above / (hits * misses)
