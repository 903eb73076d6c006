"""Models of which it is known what their items do, and claims about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from attnlens.evidence.claim import Claim

Floats = NDArray[np.float64]
Predict = Callable[[NDArray[np.bool_]], Floats]
ITEMS = tuple(range(100, 130))
EVERY = {"all": list(ITEMS)}


def additive(weights: Floats) -> Predict:
    """A model whose logits are sums over the visible items, ``weights (item, outcome)``."""
    return lambda masks: softmax(masks @ weights, -1)


def claim(*removed: int, **fields: Any) -> Claim:
    """A claim about items of `ITEMS`, or of another ``window``."""
    return Claim(text=f"it looked at {removed}", removed=removed, **{"window": ITEMS, **fields})
