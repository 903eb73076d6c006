"""How often a model's answers are right: whole answers, and token by token."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from attnlens.text.checks import WAYS
from attnlens.text.pairs import Pair, Pairs
from attnlens.text.trained import TextModel

_Z: Final = 1.959963984540054


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


def evaluate(
    model: TextModel,
    data: Pairs,
    *,
    checked: int = 0,
    seed: int = 0,
    told: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """`figures` on the pairs that the model's rule kept from training, as plain data.

    Args:
        checked: on how many of those pairs to test what every token looked at as well.
        seed: of which pairs those are.
        told: called with the number of answers tested so far.
    """
    _, held_out, new = model.rule.split(data.pairs)
    found = {
        "model": {"name": model.name, "sha256": model.sha256, "parameters": model.parameters},
        "pairs": len(data.pairs),
        "held_out": figures(model, held_out),
        "new_combinations": figures(model, new),
        "checked": None,
    }
    if checked:
        pairs = [*held_out, *new]
        chosen = Random(seed).sample(pairs, min(checked, len(pairs)))
        found["checked"] = _checked(model, chosen, told)
    return found


def _checked(
    model: TextModel, pairs: Sequence[Pair], told: Callable[[int], None]
) -> dict[str, Any]:
    """Verdicts on what every token of the answers looked at, counted for each way."""
    from attnlens.text.explain import explain_text

    verdicts: dict[str, Counter[str]] = {way: Counter() for way in WAYS}
    strongest = dict.fromkeys(WAYS, 0)
    by_chance = dict.fromkeys(WAYS, 0.0)
    for done, pair in enumerate(pairs, 1):
        data = explain_text(model, " ".join(pair.source))
        for claim in data["evidence"]:
            verdicts[claim["removed_from"]][claim["verdict"] or "no claim"] += 1
        for one in data["overall"]:
            strongest[one["removed_from"]] += one["strongest"]
            by_chance[one["removed_from"]] += one["strongest_by_chance"]
        told(done)
    ways = {}
    for way, counts in verdicts.items():
        tested = sum(counts.values()) - counts["no claim"]
        ways[way] = {
            "tokens": sum(counts.values()),
            "tested": tested,
            **{
                verdict.replace(" ", "_"): round(counts[verdict] / tested, 6) if tested else None
                for verdict in ("supported", "not better than chance", "contradicted")
            },
            "strongest": round(strongest[way] / tested, 6) if tested else None,
            "strongest_by_chance": round(by_chance[way] / tested, 6) if tested else None,
        }
    return {"answers": len(pairs), "ways": ways}


def wilson(hits: int, count: int) -> tuple[float, float]:
    """A 95% interval for a share.

    Reference:
        Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    """
    share, spread = hits / count, _Z * _Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
