"""Edits of attention weights, and how a call is made to compute with them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.errors import InterventionError, RecordingError
from attnlens.recorder.edges import AXES, Edges, grid
from attnlens.recorder.interception import AttentionCall
from attnlens.recording.record import AttentionRecord

Change = Callable[[Tensor], Tensor]

CHANGED: Final = "recorded under an intervention: weights are those it made"


@dataclass(frozen=True, slots=True)
class Place:
    """Where weights are edited.

    Attributes:
        site, number: of the call.
        shape: of the weights, ``(batch, head, query, key)``.
        axes: those the site has, the last of them for keys whatever it is called; the others
            are one position long.
        device: where the weights are.
    """

    site: str
    number: int
    shape: tuple[int, ...]
    axes: tuple[str, ...] = AXES
    device: Any = None


@dataclass(slots=True, eq=False)
class Edit(ABC):
    """Puts new weights into chosen cells.

    Attributes:
        name: of the option it came from.
        patterns: over site names; None: every site with keys.
        edges: cells, each a choice of its own; a cell of any of them is chosen.
        values: of a tensor of one value per cell: `grid` says how it is laid out.
        renormalise: whether rows with a chosen cell are scaled to sum to 1 afterwards.
        touched: how many calls each site had that were edited.
        used: which of the edges chose cells.
        passed: sites left alone because they have another number of keys than ``values``, and
            how many.
    """

    name: str
    patterns: tuple[str, ...] | None
    wanted: Callable[[str], bool]
    edges: Sequence[Edges]
    values: Tensor | None = None
    renormalise: bool = False
    touched: dict[str, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    passed: dict[str, int] = field(default_factory=dict)

    def chosen(self, place: Place) -> Tensor | None:
        """The cells to change, boolean, broadcastable to the weights; None: leave the call.

        Raises:
            InterventionError: positions or sizes that are not those of the weights.
        """
        if not self.wanted(place.site) or (self.patterns is None and place.axes[-1] != "key"):
            return None
        meant = [number for number, edge in enumerate(self.edges) if edge.of_call(place.number)]
        if not meant or not self._has_keys(place):
            return None
        cells = [
            self.edges[number].cells(place.shape, place.site, place.axes, place.device)
            for number in meant
        ]
        self.used.update(meant)
        self.touched[place.site] = self.touched.get(place.site, 0) + 1
        chosen = cells[0]
        for other in cells[1:]:
            chosen = chosen | other
        return chosen

    def changed(self, weights: Tensor, chosen: Tensor, place: Place) -> Tensor:
        """Weights with the chosen cells changed, ``(batch, head, query, key)``."""
        exact = weights.to(torch.promote_types(weights.dtype, torch.float32))
        edited = torch.where(chosen, self.new(exact, place), exact)
        if self.renormalise:
            total = edited.sum(-1, keepdim=True)
            whole = edited / total.masked_fill(total == 0, 1.0)
            edited = torch.where(chosen.any(-1, keepdim=True), whole, edited)
        return edited.to(weights.dtype)

    @abstractmethod
    def new(self, weights: Tensor, place: Place) -> Tensor:
        """What chosen cells get, broadcastable to the weights."""

    def laid(self, place: Place) -> Tensor:
        """``values`` over the weights of a call."""
        assert self.values is not None
        return grid(self.values, place.shape, self.name, place.site).to(place.device)

    def _has_keys(self, place: Place) -> bool:
        """Whether a call has as many keys as ``values``; others are left where no site is named."""
        if self.values is None or self.patterns is not None:
            return True
        keys = self.values.shape[-1]
        fits = keys in (1, place.shape[-1])
        if fits and place.site not in self.passed:
            return True
        if place.site in (self.passed if fits else self.touched):
            raise InterventionError(
                f"{place.site}: {self.name}= has {keys} keys, which some calls of this site have "
                f"and others do not (call {place.number} has {place.shape[-1]}); give positions "
                "instead of a tensor, or choose calls="
            )
        self.passed[place.site] = place.shape[-1]
        return False


@dataclass(slots=True, eq=False)
class Hide(Edit):
    """Chosen keys are not seen; what they had goes to the others of the row."""

    def chosen(self, place: Place) -> Tensor | None:
        cells = Edit.chosen(self, place)
        return cells if cells is None or self.values is None else cells & self.laid(place)

    def new(self, weights: Tensor, place: Place) -> Tensor:
        del place
        return weights.new_zeros(())


@dataclass(slots=True, eq=False)
class Scale(Edit):
    """Chosen weights are multiplied."""

    factor: float = 1.0

    def new(self, weights: Tensor, place: Place) -> Tensor:
        return weights * (self.laid(place) if self.values is not None else self.factor)


@dataclass(slots=True, eq=False)
class Replace(Edit):
    """Chosen weights are others."""

    change: Change | None = None

    def new(self, weights: Tensor, place: Place) -> Tensor:
        if self.change is None:
            return self.laid(place).to(weights.dtype)
        made = self.change(weights)
        if not isinstance(made, Tensor):
            raise InterventionError(
                f"{place.site}: replace= returned {type(made).__name__}; return a tensor"
            )
        try:
            return made.to(weights).expand(weights.shape)
        except RuntimeError:
            raise InterventionError(
                f"{place.site}: replace= returned shape {tuple(made.shape)} for weights of "
                f"(batch, head, query, key) = {place.shape}"
            ) from None


@dataclass(slots=True, eq=False)
class Freeze(Edit):
    """Chosen weights are those of a recording."""

    records: Mapping[str, tuple[AttentionRecord, ...]] = field(default_factory=dict)

    def new(self, weights: Tensor, place: Place) -> Tensor:
        calls = self.records[place.site]
        # What ran once is for every call; else each call has its own.
        if len(calls) > 1 and place.number >= len(calls):
            raise InterventionError(
                f"{place.site}: call {place.number} has no weights to be frozen to; the recording "
                f"has {len(calls)} calls; choose calls="
            )
        record = calls[0 if len(calls) == 1 else place.number]
        kept = four(record.weights, place.axes)
        fits = kept.dim() == 4 and all(
            size in (1, whole) for size, whole in zip(kept.shape, place.shape, strict=True)
        )
        if not fits:
            raise InterventionError(
                f"{place.site}: the recording has weights of shape {record.shape}, this call "
                f"(batch, head, query, key) = {place.shape}; freeze inputs of the same shape"
            )
        return kept.to(weights)


def four(weights: Tensor, axes: Sequence[str]) -> Tensor:
    """Weights as ``(batch, head, query, key)``; axes that are not there become 1 long."""
    for place, name in enumerate(AXES[:-1]):
        if name not in axes[:-1]:
            weights = weights.unsqueeze(place)
    return weights


def axes_of(axes: Sequence[str], weights: Tensor, site: str) -> tuple[str, ...]:
    """The axes of a probe's weights.

    Raises:
        InterventionError: they are not some of batch, head and query, in this order, and one more.
    """
    names = tuple(axes)
    order = [name for name in AXES[:-1] if name in names[:-1]]
    if not names or list(names[:-1]) != order or len(names) != weights.dim():
        raise InterventionError(
            f"{site}: its axes ({', '.join(names)}), weights of shape {tuple(weights.shape)}, are "
            "not batch, head, query and one more; an intervention cannot tell what is what"
        )
    return names


def edited(call: AttentionCall, edits: Sequence[Edit]) -> AttentionCall | None:
    """The call that edits make of a call; None: none of them is for it.

    Where torch takes a mask hidden keys become part of it, so its kernel still computes the
    output, and no weights are formed; the other edits form them.

    Raises:
        InterventionError: an edit does not fit the call.
    """
    shape = call.weights.shape if call.weights is not None else _shape(call)
    device = (call.q if call.weights is None else call.weights).device  # type: ignore[union-attr]
    place = Place(call.site, call.number, tuple(shape), device=device)
    before = call
    for edit in edits:
        chosen = edit.chosen(place)
        if chosen is None:
            continue
        masked = call.kind in _MASKED and call.weights is None and isinstance(edit, Hide)
        if masked and edit.renormalise:
            call = without(call, chosen)
            continue
        with torch.autocast(device.type, enabled=False):
            weights = weights_of(call) if call.weights is None else call.weights
            changed = edit.changed(weights, chosen, place).contiguous()
        call = call.with_changes(weights=changed, lse=None)
    if call is before:
        return None
    return call.with_changes(notes=tuple(dict.fromkeys((*call.notes, CHANGED))))


_MASKED: Final = ("sdpa", "encoder")
"""Kinds of calls that are computed with a mask."""


def without(call: AttentionCall, cells: Tensor) -> AttentionCall:
    """A call with cells hidden by its mask."""
    mask = call.mask
    if mask is None or mask.dtype == torch.bool:
        seen = ~cells
        if mask is not None:
            seen = seen & mask
        if call.causal:
            seen = seen & _earlier(call, cells.device)
    else:
        # The lowest number hides a key only while others of the row are seen.
        low = mask <= torch.finfo(mask.dtype).min / 2
        gone = cells | (low & cells.any(-1, keepdim=True))
        seen = torch.where(gone, -math.inf, mask)
    # Not loose: a row that is empty now is 0, and NaN only if the model made it so.
    return call.with_changes(mask=seen, causal=False, lse=None, loose=False)


def weights_of(call: AttentionCall) -> Tensor:
    """A call's weights, with gradients, worked out from its queries and keys.

    Returns:
        ``(batch, head, query, key)`` in float32, or float64 if the queries are. Each row sums
        to 1, or is all 0 when every key is hidden.
    """
    assert call.q is not None
    assert call.k is not None
    dtype = torch.promote_types(call.q.dtype, torch.float32)
    q, k = call.q.to(dtype), call.k.to(dtype)
    if k.shape[1] != q.shape[1]:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    logits = torch.matmul(q, k.transpose(-1, -2)) * call.scale
    if call.modify is not None:
        logits = call.modify(logits, 0, torch.arange(q.shape[2], device=q.device))
    if call.mask is not None:
        if call.mask.dtype == torch.bool:
            logits = logits.masked_fill(~call.mask, -math.inf)
        else:
            logits = logits + call.mask
    if call.causal:
        logits = logits.masked_fill(~_earlier(call, q.device), -math.inf)
    empty = (logits == -math.inf).all(-1, keepdim=True)
    return logits.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


def _shape(call: AttentionCall) -> tuple[int, ...]:
    assert call.q is not None
    assert call.k is not None
    return (*call.q.shape[:3], call.k.shape[2])


def _earlier(call: AttentionCall, device: Any) -> Tensor:
    """What a causal call sees, ``(query, key)``."""
    return torch.ones(_shape(call)[2:], dtype=torch.bool, device=device).tril()


def whole_records(
    recording: Mapping[str, AttentionRecord],
) -> dict[str, tuple[AttentionRecord, ...]]:
    """The records of a recording by site, all of them whole.

    Raises:
        InterventionError: no recording, an empty one, or one of parts.
    """
    calls = getattr(recording, "calls", None)
    if calls is None:
        raise InterventionError(
            f"freeze={type(recording).__name__}; give a Recording, as record() yields it"
        )
    try:
        found: dict[str, tuple[AttentionRecord, ...]] = {site: calls(site) for site in recording}
    except RecordingError as error:
        raise InterventionError(f"freeze: {error}") from None
    if not found:
        raise InterventionError("freeze: nothing was recorded; open intervene after record ended")
    for site, records in found.items():
        if any(record.rows is not None or record.keys is not None for record in records):
            raise InterventionError(
                f"freeze: {site} was not recorded whole; record with rows=slice(None)"
            )
    return found
