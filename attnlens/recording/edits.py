"""Convert the options of `intervene` to edits, and apply the edits to attention calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from attnlens.errors import InterventionError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Positions, broadcasts, places, positions
from attnlens.recording.calls import AttentionCall
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.sites import Which, sites_meant

AXES: Final = ("batch", "head", "query", "key")

_REMEDY: Final = "; choose other positions, or name the sites with sites="


@dataclass(frozen=True)
class Edges:
    """The query-key pairs that match every field.

    ::

        Edges(head=1, query=-1, key=[3, 4])   # head 1, from the last query to keys 3 and 4

    A field is a position (-1 is the last), several positions, a slice, or None for all positions.

    Attributes:
        key: the attended positions.
        query: the attending positions.
        head: the query heads, even if several query heads share a key head.
        batch: the sequences of the batch.

    Raises:
        InterventionError: a field is empty or has a wrong type.
    """

    key: Positions = None
    query: Positions = None
    head: Positions = None
    batch: Positions = None

    def __post_init__(self) -> None:
        for axis in fields(self):
            value = getattr(self, axis.name)
            if value is not None:
                checked = positions(axis.name, value, InterventionError)
                object.__setattr__(self, axis.name, checked)

    def cells(self, shape: tuple[int, ...], site: str, device: Any = None) -> Tensor:
        """Return a boolean mask of the selected cells, broadcastable to the weights.

        Raises:
            InterventionError: a position does not exist.
        """
        chosen = torch.ones(1, 1, 1, 1, dtype=torch.bool)
        for index, name in enumerate(AXES):
            choice = getattr(self, name)
            if choice is None:
                continue
            flags = torch.zeros(shape[index], dtype=torch.bool)
            subject = f"{site}: {name}"
            flags[places(choice, shape[index], subject, InterventionError, _REMEDY)] = True
            chosen = chosen & flags.view([-1 if axis == index else 1 for axis in range(4)])
        return chosen.to(device)


_TENSORS: Final = (
    "a tensor must have the axes (key), (batch, key), (batch, query, key) or "
    "(batch, head, query, key)"
)


Array = Tensor | np.ndarray[Any, Any]
Hidden = Positions | Array | Edges | Sequence[Edges]
Change = Callable[[Tensor], Tensor]
NewValues = Array | Change | AttentionRecord

FOLLOWED: Final = ("values", "outputs")
"""The options that change values or outputs instead of weights."""

_VALUES_CHANGED: Final = "recorded under an intervention, which changed the outputs of the heads"
_WEIGHTS_CHANGED: Final = "recorded under an intervention, which changed the weights"


@dataclass(slots=True, eq=False)
class Edit:
    """One edit of weights, values or outputs.

    Attributes:
        name: the option of `intervene`, such as ``hide``.
        patterns: patterns of site names; None if no site was named.
        edges: the cells to change, as a union of selections.
        values: the tensor given to the option, if any.
        change: the function given to ``replace``, ``values`` or ``outputs``, if any.
        renormalise: whether changed rows are rescaled to sum to 1.
        touched: maps each edited site to the number of edited calls.
        passed: the number of keys of each site that ``values`` does not fit.
    """

    name: str
    patterns: tuple[str, ...] | None
    is_wanted: Callable[[str], bool]
    edges: Sequence[Edges]
    values: Tensor | None = None
    change: Change | None = None
    renormalise: bool = False
    touched: dict[str, int] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)

    def chosen(self, call: AttentionCall) -> Tensor | None:
        """Return a broadcastable mask of the weights to change; None: the edit does not apply."""
        site, keys = call.site, call.shape[-1]
        if not self.is_wanted(site):
            return None
        if self.values is not None and not self.patterns and self.values.shape[-1] not in (1, keys):
            self.passed[site] = keys
            return None
        chosen = torch.zeros(1, 1, 1, 1, dtype=torch.bool, device=call.device)
        for edges in self.edges:
            chosen = chosen | edges.cells(call.shape, site, call.device)
        self.touched[site] = self.touched.get(site, 0) + 1
        hidden = self.name == "hide" and self.values is not None
        return chosen & self._on_grid(call) if hidden else chosen

    def changed(self, weights: Tensor, chosen: Tensor, call: AttentionCall) -> Tensor:
        """Return the changed weights, with shape ``(batch, head, query, key)``."""
        exact = weights.to(torch.promote_types(weights.dtype, torch.float32))
        if self.name == "hide":
            new = exact.new_zeros(())
        elif self.change is not None:
            new = self._fitted(self.change(exact), exact, call.site, "query, key")
        else:
            new = self._on_grid(call)
            new = exact * new if self.name == "scale" else new.to(exact.dtype)
        edited = torch.where(chosen, new, exact)
        if self.renormalise:
            total = edited.sum(-1, keepdim=True)
            rescaled = edited / total.masked_fill(total == 0, 1.0)
            edited = torch.where(chosen.any(-1, keepdim=True), rescaled, edited)
        return edited.to(weights.dtype)

    def with_edited_values(self, before: Tensor, site: str) -> Tensor:
        """Return edited values or outputs, with shape ``(batch, head, position, width)``."""
        self.touched[site] = self.touched.get(site, 0) + 1
        batch, heads, places, _ = before.shape
        if self.name == "values":
            cells = self.edges[0].cells((batch, heads, 1, places), site, before.device)
            chosen = cells.transpose(2, 3)
        else:
            chosen = self.edges[0].cells((batch, heads, places, 1), site, before.device)
        made = self.values if self.change is None else self.change(before)
        return torch.where(chosen, self._fitted(made, before, site, "position, width"), before)

    def _fitted(self, made: Any, before: Tensor, site: str, axes: str) -> Tensor:
        try:
            fitted: Tensor = made.to(before).expand(before.shape)
        except (AttributeError, RuntimeError):
            actual = (
                f"shape {tuple(made.shape)}" if isinstance(made, Tensor) else type(made).__name__
            )
            raise InterventionError(
                f"{site}: {self.name}= returned {actual} for an input of (batch, head, "
                f"{axes}) = {tuple(before.shape)}; return a tensor of the same shape"
            ) from None
        return fitted

    def _on_grid(self, call: AttentionCall) -> Tensor:
        """Return ``values`` with four dimensions, broadcastable to the weights.

        The shape of ``values`` is ``(key,)``, ``(batch, key)``, ``(batch, query, key)`` or
        ``(batch, head, query, key)``.

        Raises:
            InterventionError: the sizes do not fit the weights of the call.
        """
        assert self.values is not None
        four = self.values
        while four.dim() < 4:
            four = four.unsqueeze(min(1, four.dim() - 1))
        if not broadcasts(four.shape, call.shape):
            shape = tuple(self.values.shape)
            axes = {1: "key", 2: "batch, key", 3: "batch, query, key"}.get(
                len(shape), ", ".join(AXES)
            )
            raise InterventionError(
                f"{call.site}: {self.name}= has shape {shape}, which was read as ({axes}), but the "
                f"weights are (batch, head, query, key) = {call.shape}; name the sites to change "
                "with sites="
            )
        return four.to(call.device)


def edits_asked(options: Mapping[str, object], sites: Which | None, scope: Edges) -> list[Edit]:
    """Return the edits that the options of `intervene` request.

    Args:
        options: the value of each option; None: not used.
        sites: the sites to edit; None: all sites. If an option is a mapping, ``sites`` must be
            None.
        scope: the cells to edit.

    Raises:
        InterventionError: options conflict or are invalid.
    """
    chosen = [name for name, value in options.items() if value is not None]
    if len(chosen) != 1:
        problem = (
            f"{' and '.join(chosen)} were given together" if chosen else "no intervention was given"
        )
        raise InterventionError(
            f"{problem}; give exactly one of hide=, scale=, replace=, values= and "
            "outputs=, and nest blocks for several interventions"
        )
    name, option = chosen[0], options[chosen[0]]
    if not isinstance(option, Mapping):
        return [_edit(name, option, sites, scope)]
    if sites is not None or not option:
        problem = "already names its sites; leave sites= out" if option else "names no site"
        raise InterventionError(f"{name}= {problem}")
    return [_edit(name, site_value, site, scope) for site, site_value in option.items()]


def _edit(name: str, value: Any, sites: Which | None, scope: Edges) -> Edit:
    patterns, is_wanted = sites_meant("sites", sites, InterventionError)
    edit = Edit(name, patterns, is_wanted, [scope], renormalise=name == "hide")
    if name in FOLLOWED:
        return _edit_of_values(edit, value, scope)
    if name == "hide":
        if scope.key is not None:
            raise InterventionError("hide= already selects the keys; leave keys= out")
        if not _is_grid(value):
            edit.edges = _edges_of(value, scope)
            return edit
    elif name == "scale" and not (isinstance(value, Tensor | np.ndarray) and value.ndim):
        value = torch.tensor([_factor(value)], dtype=torch.float64)
    elif name == "replace" and callable(value) and not isinstance(value, Tensor):
        edit.change = value
        return edit
    elif not isinstance(value, Tensor | np.ndarray):
        raise InterventionError(
            f"{name}= cannot be of type {type(value).__name__}; give a tensor, or a "
            "function that receives the weights (batch, head, query, key) and returns "
            f"new weights; {_TENSORS}"
        )
    edit.values = torch.as_tensor(value)
    if not 1 <= edit.values.dim() <= 4 or not edit.values.numel():
        raise InterventionError(f"{name}= has shape {tuple(edit.values.shape)}; {_TENSORS}")
    if name == "hide" and edit.values.dtype != torch.bool:
        raise InterventionError(
            f"hide= has dtype {edit.values.dtype}; give booleans that are True at the keys to hide"
        )
    return edit


def _edit_of_values(edit: Edit, value: Any, scope: Edges) -> Edit:
    name, other = edit.name, "queries" if edit.name == "values" else "keys"
    if (scope.query if name == "values" else scope.key) is not None:
        raise InterventionError(f"{other}= cannot be used with {name}=; leave {other}= out")
    if isinstance(value, AttentionRecord):
        site, value = value.site, getattr(value, name)
        if value is None:
            raise InterventionError(f"{site} has no recorded {name}; record it with {name}=True")
    if isinstance(value, Tensor | np.ndarray):
        edit.values = torch.as_tensor(value)
    elif callable(value):
        edit.change = value
    else:
        raise InterventionError(
            f"{name}= cannot be of type {type(value).__name__}; give a tensor (batch, "
            "head, position, width), a record or recording with such a tensor, or a "
            "function that returns a new tensor"
        )
    return edit


def _edges_of(value: Any, scope: Edges) -> list[Edges]:
    """Convert positions or `Edges` to a list of `Edges`."""
    many = [value] if isinstance(value, Edges) else value
    is_list = isinstance(many, Sequence) and not isinstance(many, str | bytes)
    if not (is_list and any(isinstance(item, Edges) for item in many)):
        return [replace(scope, key=positions("hide", value, InterventionError))]
    if not all(isinstance(item, Edges) for item in many):
        raise InterventionError("hide= mixes Edges with positions; give only Edges")
    if scope != Edges():
        raise InterventionError(
            "hide=Edges(...) already selects the cells; leave the other options out"
        )
    return list(many)


def _factor(value: Any) -> float:
    try:
        factor = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        factor = math.nan
    if not math.isfinite(factor):
        raise InterventionError(
            f"scale={value!r} is not a number; give a number, or a tensor of numbers; {_TENSORS}"
        )
    return factor


def _is_grid(value: Any) -> bool:
    """Whether ``value`` has one entry per cell. A 1-D array of integers is read as positions."""
    if not isinstance(value, Tensor | np.ndarray):
        return False
    kind = torch.as_tensor(value).dtype
    numbers = kind != torch.bool and not kind.is_floating_point
    return value.ndim > 1 or (value.ndim == 1 and not numbers)


def edited(call: AttentionCall, edits: Sequence[Edit]) -> AttentionCall | None:
    """Return the call with edited weights; None if no edit applies.

    If possible, hidden keys are added to a fused kernel's mask, and no weights are computed.

    Raises:
        InterventionError: an edit does not fit the call.
    """
    before = call
    for edit in edits:
        chosen = edit.chosen(call)
        if chosen is None:
            continue
        if call.weights is None and edit.name == "hide" and edit.renormalise:
            call = without(call, chosen)
            continue
        with torch.autocast(call.device.type, enabled=False):
            changed = edit.changed(weights_of(call), chosen, call).contiguous()
        call = replace(call, weights=changed)
    if call is before:
        return None
    return replace(call, notes=tuple(dict.fromkeys((*call.notes, _WEIGHTS_CHANGED))))


def with_edited_values(call: AttentionCall, edits: Sequence[Edit]) -> AttentionCall | None:
    """Return the call with edited values or outputs; None if no edit applies."""
    v, output = call.v, call.output
    assert v is not None
    assert output is not None
    applicable = [edit for edit in edits if edit.is_wanted(call.site)]
    for edit in applicable:
        if edit.name == "outputs":
            output = edit.with_edited_values(output, call.site)
            continue
        v = edit.with_edited_values(
            v.repeat_interleave(output.shape[1] // v.shape[1], 1), call.site
        )
        with torch.autocast(v.device.type, enabled=False):
            weights = weights_of(call)
        output = computed(replace(call, weights=weights, v=v))
    notes = (*call.notes, _VALUES_CHANGED)
    return replace(call, v=v, output=output, notes=notes) if applicable else None


def computed(call: AttentionCall) -> Tensor:
    """Compute the output of each head, with shape ``(batch, head, query, width)``."""
    assert call.v is not None
    weights, v = call.weights, call.v
    if weights is None:
        source = call.queries
        return F.scaled_dot_product_attention(
            source.q,
            source.k,
            v,
            attn_mask=source.mask,
            dropout_p=call.dropout,
            is_causal=source.causal,
            scale=source.scale,
            enable_gqa=source.q.shape[1] != source.k.shape[1],
        )
    with torch.autocast(v.device.type, enabled=False):
        if v.shape[1] != weights.shape[1]:
            v = v.repeat_interleave(weights.shape[1] // v.shape[1], 1)
        if call.dropout:
            weights = F.dropout(weights, call.dropout)
        return torch.matmul(weights, v.to(weights.dtype)).to(v.dtype)


def without(call: AttentionCall, cells: Tensor) -> AttentionCall:
    """Return the call with a mask that also hides ``cells``."""
    source = call.queries
    mask = source.mask
    if mask is None or mask.dtype == torch.bool:
        visible = ~cells
        if mask is not None:
            visible = visible & mask
        if source.causal:
            visible = visible & _earlier(source)
    else:
        # Replace the lowest finite number by -inf: the number hides no key if it is added to every
        # key of the row.
        low = mask <= torch.finfo(mask.dtype).min / 2
        gone = cells | (low & cells.any(-1, keepdim=True))
        visible = torch.where(gone, -math.inf, mask)
    return replace(call, source=replace(source, mask=visible, causal=False, lse=None))


def weights_of(call: AttentionCall) -> Tensor:
    """Return the differentiable weights of a call, with shape ``(batch, head, query, key)``.

    Computed weights are float32, or float64 if the queries are float64. Each computed row sums to
    1, or is all 0 if every key is hidden.
    """
    if call.weights is not None:
        return call.weights
    source = call.queries
    dtype = torch.promote_types(source.q.dtype, torch.float32)
    q, k = source.q.to(dtype), source.k.to(dtype)
    if k.shape[1] != q.shape[1]:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    logits = torch.matmul(q, k.transpose(-1, -2)) * source.scale
    if source.mask is not None:
        if source.mask.dtype == torch.bool:
            logits = logits.masked_fill(~source.mask, -math.inf)
        else:
            logits = logits + source.mask
    if source.causal:
        logits = logits.masked_fill(~_earlier(source), -math.inf)
    empty = (logits == -math.inf).all(-1, keepdim=True)
    return logits.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


def _earlier(source: LazyAttention) -> Tensor:
    """Return a causal mask, true at visible keys, with shape ``(query, key)``."""
    return torch.ones(source.shape[2:], dtype=torch.bool, device=source.q.device).tril()
