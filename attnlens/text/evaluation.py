"""How often a model's answers are right: whole answers, and token by token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from attnlens.text.pairs import Pair
from attnlens.text.trained import TextModel

_Z = 1.959963984540054


def figures(model: TextModel, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Whole answers right and tokens right among ``pairs``, as plain data.

    A token is right where the answer written has it at the same place; the places are those of
    the longer of the two answers. An expected word that the vocabulary has not is never right.

    Returns:
        ``pairs``, ``exact``, ``exact_ci`` (Wilson's 95% interval), ``tokens``; the last three
        ``None`` where there is no pair.
    """
    if not pairs:
        return {"pairs": 0, "exact": None, "exact_ci": None, "tokens": None}
    answers = model.answers([pair.source for pair in pairs])
    exact = hits = places = 0
    for pair, answer in zip(pairs, answers, strict=True):
        exact += tuple(answer) == pair.target
        hits += sum(one == other for one, other in zip(answer, pair.target, strict=False))
        places += max(len(answer), len(pair.target))
    return {
        "pairs": len(pairs),
        "exact": round(exact / len(pairs), 6),
        "exact_ci": [round(end, 6) for end in wilson(exact, len(pairs))],
        "tokens": round(hits / places, 6),
    }


def wilson(hits: int, count: int) -> tuple[float, float]:
    """A 95% interval for a share.

    Reference:
        Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    """
    share, spread = hits / count, _Z * _Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
