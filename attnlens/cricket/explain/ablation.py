"""Asking the predictor about one ball with some of the past, or of what is known, taken away."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.arrays import Floats
from attnlens.cricket.model.predictor import KNOWLEDGE, FullModel
from attnlens.cricket.model.relations import Balls, Batch, take

MASKS_AT_ONCE = 1024


def ask(model: FullModel, graph: Batch, sequence: dict[str, Any]) -> Floats:
    """Outcome probabilities of one row of a batch, ``(query, outcome)``."""
    with torch.no_grad():
        logits = model({"graph_data": graph, "sequence": sequence})
    result: Floats = logits[0].double().softmax(-1).numpy()
    return result


def under_masks(model: FullModel, batch: Batch, visible: NDArray[np.bool_]) -> Floats:
    """Outcome probabilities of one ball under many masks, ``(mask, outcome)``.

    Args:
        batch: `window_batch`'s, one row and one query.
        visible: which past balls exist, ``(mask, key)``. What is not visible is hidden
            from every scale and every slot.
    """
    results = []
    for start in range(0, len(visible), MASKS_AT_ONCE):
        masks = torch.from_numpy(visible[start : start + MASKS_AT_ONCE])[None]
        sequence = {**batch["sequence"], "visible": masks}
        sequence["now"] = repeat(batch["sequence"]["now"], masks.shape[1])
        results.append(ask(model, batch["graph_data"], sequence))
    if not results:
        return np.zeros((0, model.sizes.outcomes))
    return np.concatenate(results)


def repeat(balls: Balls, queries: int) -> Balls:
    """One query ball, ``queries`` times over."""
    return take(balls, [0] * queries)  # type: ignore[no-any-return]  # a Balls gives a Balls


def under_knowledge(
    model: FullModel,
    batch: Batch,
    visible: NDArray[np.bool_],
    known: dict[str, NDArray[np.bool_]],
) -> Floats:
    """Probabilities with past balls *and* groups of knowledge taken away, ``(row, outcome)``.

    A player's record that is taken away is taken from the past balls that player played
    in too, not only from the current ball.

    Args:
        visible: ``(row, key)``.
        known: group of `KNOWLEDGE` to flags ``(row,)``.
    """
    results = np.zeros((len(visible), model.sizes.outcomes))
    now, past = batch["sequence"]["now"], batch["sequence"]["balls"]
    striker, bowler = known["striker's record"], known["bowler's record"]
    for has_striker in (False, True):
        for has_bowler in (False, True):
            rows = np.flatnonzero((striker == has_striker) & (bowler == has_bowler))
            if not len(rows):
                continue
            tokens = dict(batch["sequence"]["past"])
            tokens["striker_known"] = (past.batter != now.batter) | has_striker
            tokens["bowler_known"] = (past.bowler != now.bowler) | has_bowler
            graph = dict(batch["graph_data"])
            graph["known"] = {
                group: torch.from_numpy(known[group][rows])[None] for group in KNOWLEDGE
            }
            graph["nodes"] = {
                name: features.expand(1, len(rows), -1) for name, features in graph["nodes"].items()
            }
            sequence = {
                **batch["sequence"],
                "past": tokens,
                "now": repeat(now, len(rows)),
                "visible": torch.from_numpy(visible[rows])[None],
            }
            results[rows] = ask(model, graph, sequence)
    return results
