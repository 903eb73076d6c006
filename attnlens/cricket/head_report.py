"""What heads do, as plain data: the document of ``attnlens heads --json``.

Every figure that has an interval has it beside it under the same name with ``_ci``: 95%,
whole matches resampled. What could not be measured is null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.heads import Bootstrap, Estimates
from attnlens.cricket.head_looks import NEAR, Looks
from attnlens.cricket.heads import Focus, HeadStudy, Hiding, Importance, Named, name_heads
from attnlens.cricket.reading import SITES, SLOT_SITE
from attnlens.explanation.heatmap import (
    QUESTIONS,
    SCALE_QUESTIONS,
    UNNAMED,
    UNSPECIALISED,
    head_key,
    rounded,
)
from attnlens.models.predictor import FUSED, FullModel
from attnlens.models.relation_attention import STARTING_PATTERNS, RelationAttention, starting_table
from attnlens.models.relations import RELATIONS
from attnlens.models.slots import SLOTS
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]

NATS_DIGITS: Final = 9


def told(value: float, digits: int = 6) -> float | None:
    """A figure for JSON; null where there is none."""
    return rounded(float(value), digits) if math.isfinite(value) else None


def figure(
    name: str, estimates: Estimates, place: tuple[int, ...] = (), digits: int = 6
) -> dict[str, Any]:
    """A figure and its interval: ``{"lift": 1.3, "lift_ci": [1.2, 1.4]}``."""
    ends = [told(part[place], digits) for part in (estimates.low, estimates.high)]
    return {
        name: told(estimates.value[place], digits),
        f"{name}_ci": None if None in ends else ends,
    }


def head_report(
    study: HeadStudy, *, report: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Every head, slot and fusion gate of a study's predictor.

    Returns:
        ``balls``, ``matches``, ``relations``, ``nearest``, ``scales``, ``slots`` and
        ``fusion``; empty lists where no ball could be sampled.
    """
    names = name_heads(study, report=report)
    data: dict[str, Any] = {
        "balls": len(study.sample),
        "matches": len(set(study.sample.matches)),
        "relations": list(RELATIONS),
        "nearest": dict(NEAR),
    }
    if study.passed is None:
        return {**data, "scales": [], "slots": [], "fusion": []}
    gates = study.passed.gates
    scales: list[dict[str, Any]] = []
    for scale in SITES:
        report(f"importance of heads: {scale}")
        scales.append(
            {
                "scale": scale,
                "question": SCALE_QUESTIONS[scale],
                "window": SCALES[scale],
                "unit": "overs" if scale == "long" else "balls",
                "weight": told(gates[:, FUSED.index(scale)].mean()),
                "heads": _heads(study, scale, names[scale]),
            }
        )
    _rank([head["importance"] for scale in scales for head in scale["heads"]])
    report("importance of slots and gates")
    return {**data, "scales": scales, "slots": _slots(study), "fusion": _fusion(study)}


def _heads(study: HeadStudy, scale: str, names: Sequence[Named]) -> list[dict[str, Any]]:
    passed = study.passed
    assert passed is not None
    looks, focus = passed.looks[scale], study.focus[scale]
    table = bias_table(study.model, SITES[scale])
    start = starting_table(len(names)).double().numpy()
    found = []
    for number, named in enumerate(names):
        pattern = STARTING_PATTERNS[number] if number < len(STARTING_PATTERNS) else None
        asked = pattern or UNNAMED if named.earned == UNSPECIALISED else named.earned
        found.append(
            {
                "head": head_key(number, pattern),
                "number": number,
                "pattern": pattern or UNNAMED,
                "earned": named.earned,
                "question": QUESTIONS[asked],
                "biases": [
                    {
                        "relation": relation,
                        "value": rounded(float(table[number, place])),
                        "start": rounded(float(start[number, place])),
                    }
                    for place, relation in enumerate(RELATIONS)
                ],
                **_paid(study.bootstrap, looks, number),
                "relations": _relations(focus, number, named),
                "importance": _importance(study.importance(SITES[scale], number, len(names))),
            }
        )
    return found


def bias_table(model: FullModel, site: str) -> Floats:
    """The learnt biases of an attention module, ``(head, relation)``."""
    attention = model.get_submodule(site)
    assert isinstance(attention, RelationAttention)
    table: Floats = attention.bias.detach().double().numpy()
    return table


def _paid(bootstrap: Bootstrap, looks: Looks, head: int) -> dict[str, Any]:
    return {
        **figure("bias_share", bootstrap.mean(looks.bias_share[:, head])),
        **figure("self_attention", bootstrap.mean(looks.own[:, head])),
    }


def _relations(focus: Focus, head: int, named: Named | None = None) -> list[dict[str, Any]]:
    rows = []
    for place, relation in enumerate(RELATIONS):
        at = (head, place)
        test = None if named is None else named.tests.get(place)
        rows.append(
            {
                "relation": relation,
                "uniform": told(focus.uniform[at]),
                **figure("share", focus.full, at),
                **figure("lift", focus.lift, at),
                "bias_only": {
                    **figure("share", focus.bias_only, at),
                    **figure("lift", focus.bias_lift, at),
                },
                "content_only": {
                    **figure("share", focus.content_only, at),
                    **figure("lift", focus.content_lift, at),
                },
                "by_distance": {
                    "share": told(focus.by_distance[at]),
                    **figure("lift", focus.beyond, at),
                },
                "departure_nats": told(focus.departure[at]),
                "hiding": None if test is None else _hiding(test),
            }
        )
    return rows


def _hiding(test: Hiding) -> dict[str, Any]:
    return {
        **figure("nats", test.nats, digits=NATS_DIGITS),
        **figure("control_nats", test.control, digits=NATS_DIGITS),
        **figure("margin_nats", test.margin, digits=NATS_DIGITS),
        **figure("matters", test.matters),
        "supports": test.supports,
    }


def _importance(found: Importance) -> dict[str, Any]:
    return {
        **figure("nats", found.nats, digits=NATS_DIGITS),
        **figure("log_loss_change", found.log_loss, digits=NATS_DIGITS),
        **figure("points", found.points),
        **figure("matters", found.matters),
    }


def _rank(importances: Sequence[dict[str, Any]]) -> None:
    """1 for the one whose ablation moves the prediction most."""
    order = sorted(importances, key=lambda one: -(one["nats"] or 0.0))
    for place, one in enumerate(order, 1):
        one["rank"] = place


def _slots(study: HeadStudy) -> list[dict[str, Any]]:
    passed = study.passed
    assert passed is not None
    table = bias_table(study.model, SLOT_SITE)
    found = []
    for number, (slot, reads) in enumerate(SLOTS.items()):
        looks, focus = passed.looks[f"slots.{slot}"], study.focus[f"slots.{slot}"]
        found.append(
            {
                "slot": slot,
                "reads": reads,
                "visible": told(looks.visible.sum(-1).mean()),
                "biases": [
                    {"relation": relation, "value": rounded(float(value)), "start": 0.0}
                    for relation, value in zip(RELATIONS, table[number].tolist(), strict=True)
                ],
                **_paid(study.bootstrap, looks, 0),
                "relations": _relations(focus, 0),
                "importance": _importance(study.importance(SLOT_SITE, number, len(SLOTS))),
            }
        )
    _rank([slot["importance"] for slot in found])
    return found


def _fusion(study: HeadStudy) -> list[dict[str, Any]]:
    passed = study.passed
    assert passed is not None
    weights = study.bootstrap.mean(passed.gates)
    found = [
        {
            "source": source,
            **figure("weight", weights, (number,)),
            "importance": _importance(study.source_importance(source)),
        }
        for number, source in enumerate(FUSED)
    ]
    _rank([source["importance"] for source in found])
    return found
