"""One forward with gradients: what every head looks at, and what that weighs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from attnlens.attention.sinks import sink_items
from attnlens.audits.head_table import HeadTable, heads, whole_records
from attnlens.audits.inputs import AuditInput
from attnlens.audits.target import Target, TargetChoice, resolve_target
from attnlens.errors import InputError
from attnlens.files import Floats
from attnlens.recording import intervene, record
from attnlens.recording.recording import Recording

_PROBES: Final = 4
"""Directions that an answer of many numbers is followed in."""


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """What one input's attention shows, before anything is hidden.

    Attributes:
        attention: of each head to each item, ``(head, item)`` by site, at the query that the answer
            is read from: one position, the last under a causal mask, else a mean over queries.
        shuffled: the same if the features of keys stood in another order than those of queries,
            of sites whose queries and keys were recorded.
        importance: gradient times attention, summed over queries, not negative, likewise.
        items: positions that claims are about: no sinks, and not the answer's own.
        left_out: padding, and the answer's own position.
    """

    target: Target
    labels: tuple[str, ...]
    sites: tuple[str, ...]
    attention: Mapping[str, Floats]
    shuffled: Mapping[str, Floats]
    importance: Mapping[str, Floats]
    sinks: tuple[int, ...]
    items: tuple[int, ...]
    left_out: frozenset[int]
    table: HeadTable


def screen(
    single_input: AuditInput, target: TargetChoice, *, sinks: Collection[int] | None, seed: int
) -> Screening:
    """Screen one input.

    Raises:
        InputError: no attention over its items, or no such target.
    """
    with torch.no_grad(), record(single_input.model, lazy=True) as recording:
        output = single_input.ask()
    keys = _keys(recording, single_input.labels)
    records = list(whole_records(recording, keys))
    single_input.folds = {each.site: each.shape[0] for each in records}
    causal = _causal(recording)
    resolved_target = resolve_target(single_input, output, target, causal=causal)
    labels = single_input.labels or tuple(f"item {at}" for at in range(keys))
    if strange := [at for at in sinks or () if not (isinstance(at, int) and 0 <= at < keys)]:
        raise InputError(f"there is no item {strange[0]}", remedy=f"items are 0 to {keys - 1}")
    if sinks is None:
        sinks = sink_items(records, single_input.labels, single_input.special)
    padding = (~single_input.attention_mask(keys)[0]).nonzero()[:, 0].tolist()
    left_out = {*padding}
    if resolved_target.query is not None and resolved_target.places == keys:
        left_out.add(resolved_target.query)
    left = {*sinks, *single_input.special, *left_out}

    def paid(weights: Tensor) -> Floats:
        queries, count = weights.shape[-2:]
        read = resolved_target.query if resolved_target.places == queries else None
        if read is None and queries == count in causal:
            read = -1
        rows = weights.double().mean(0).cpu()
        return np.asarray(rows.mean(1) if read is None else rows[:, read])

    generator = torch.Generator().manual_seed(seed)
    lazy = {each.site: recording.calls(each.site)[0].lazy for each in records}
    shapes = {each.site: each.shape for each in records}
    return Screening(
        resolved_target,
        labels,
        tuple(shapes),
        {each.site: paid(each.weights) for each in records},
        {
            site: paid(weights.shuffled(generator).weights())
            for site, weights in lazy.items()
            if weights
        },
        importance(single_input, resolved_target, shapes, seed=seed),
        tuple(sorted(sinks)),
        tuple(at for at in range(keys) if at not in left),
        frozenset(left_out),
        heads(Recording(records), labels, sinks=sinks),
    )


def _causal(recording: Recording) -> frozenset[int]:
    """The lengths of which no position sees a later one, at any site."""
    square = [each for each in recording.records() if each.shape[-2] == each.shape[-1]]
    bidirectional = {each.shape[-1] for each in square if bool(each.weights.triu(1).any())}
    return frozenset({each.shape[-1] for each in square} - bidirectional)


def _keys(recording: Recording, labels: Sequence[str] | None) -> int:
    """How many items there are: labels, else the commonest number of keys."""
    counts = Counter(each.shape[-1] for each in recording.records())
    if labels is None:
        return counts.most_common(1)[0][0]
    if len(labels) not in counts:
        raise InputError(
            f"there are {len(labels)} labels, and no attention over so many keys",
            remedy=f"attention is over {', '.join(map(str, sorted(counts)))} keys",
        )
    return len(labels)


def importance(
    single_input: AuditInput, target: Target, shapes: Mapping[str, Sequence[int]], *, seed: int = 0
) -> dict[str, Floats]:
    """Gradient times attention, summed over queries: how fading a key in one head moves the target.

    Each head's column of weights is multiplied by a gate of 1, so that one backward pass gives
    ``sum over queries of A ∂s/∂A`` of every head and key. Of an answer of many numbers it is the
    root mean square over `_PROBES` random directions; log-probabilities are weighed by the root of
    their probability (Fisher's metric).

    Args:
        shapes: of each site's weights, ``(batch, head, query, key)``.

    Returns:
        by site ``(head, key)``, not negative.

    Reference:
        Michel et al. 2019, "Are Sixteen Heads Really Better than One?"; Barkan et al. 2021,
        "Grad-SAM", for gradient times attention.
    """
    gates = {
        site: torch.ones(1, shape[1], 1, shape[3], requires_grad=True)
        for site, shape in shapes.items()
    }
    with torch.enable_grad(), intervene(single_input.model, scale=gates):
        output = single_input.ask()
        keys = next(iter(shapes.values()))[3]
        scores = target.scores(output, single_input.attention_mask(keys))[0].cpu()
    squares: list[Tensor] = [torch.zeros(gate.shape[1:]) for gate in gates.values()]
    directions = _directions(scores.detach(), target, seed)
    for direction in directions:
        moves = torch.autograd.grad(
            (direction * scores).sum(), list(gates.values()), retain_graph=True, allow_unused=True
        )
        for square, move in zip(squares, moves, strict=True):
            square += 0 if move is None else move[0].cpu() ** 2
    importances = [(square[:, 0] / len(directions)).sqrt().double().numpy() for square in squares]
    return dict(zip(gates, importances, strict=True))


def _directions(scores: Tensor, target: Target, seed: int) -> list[Any]:
    if len(scores) == 1:
        return [1.0]
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (_PROBES, len(scores)), generator=generator).double() * 2 - 1
    return list(signs * (scores / 2).exp() if target.kind == "all" else signs)
