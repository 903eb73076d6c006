"""An attention call turned into what is kept of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.recorder.choice import DEFAULT_TOP, WHOLE_BLOCK_BYTES, WHOLE_CALL_BYTES, Choice
from attnlens.recorder.interception import AttentionCall, Modify
from attnlens.recorder.selection import chunks, top_of, top_of_weights
from attnlens.recording.axes import Axis
from attnlens.recording.lazy import LazyAttention, shares, without_autocast
from attnlens.recording.record import AttentionRecord

AXES: Final = tuple(Axis(name) for name in ("batch", "head", "query", "key"))

DROPPED: Final = "weights are those before dropout, which the model applied to them"

TOGETHER: Final = (
    "only the softmax was seen, so the parts of the logits (content, bias) are not told apart"
)

_SMALL_CELLS: Final = 1 << 20
"""Weights of so few cells are worked out in one go."""


@dataclass(frozen=True, slots=True, eq=False)
class ModifiedAttention(LazyAttention):
    """Logits with a function applied to them, as flex attention has it."""

    modify: Modify | None = None
    batch: int = 0

    def logits(
        self, rows: Any = None, keys: int | None = None, out: Tensor | None = None
    ) -> Tensor:
        plain = LazyAttention.logits(self, rows, keys, out)
        assert self.modify is not None
        places = torch.arange(self.shape[2], device=plain.device)
        return self.modify(plain, self.batch, places if rows is None else places[rows])

    def batches(self, first: int, end: int) -> LazyAttention:
        return replace(self, q=self.q[first:end], k=self.k[first:end], batch=self.batch + first)

    @property
    def may_hide(self) -> bool:
        return True


class Capture:
    """Makes records of calls, by one choice of what to keep.

    Attributes:
        wants_lse: whether log-sum-exps are of use.
        bytes: of the weights kept whole so far because nothing was chosen.
    """

    def __init__(self, choice: Choice, in_memory: bool = True) -> None:
        self._choice = choice
        self._in_memory = in_memory
        self._masks: dict[tuple[int, int], tuple[Tensor, Tensor, bool]] = {}
        self.wants_lse = choice.top_k is not None or choice.lazy
        self.bytes = 0

    def prefers_weights(self, shape: tuple[int, ...]) -> bool:
        """Whole weights, or queries and keys; see `interception.Handler`."""
        choice = self._choice
        if choice.lazy:
            return False
        if choice.top_k is not None:
            return math.prod(shape) <= _SMALL_CELLS
        return not choice.open or self._fits(shape, count=False)

    def of_call(self, call: AttentionCall) -> AttentionRecord:
        """What is kept of a call.

        Raises:
            RecordingError: the call has no such query, or fewer keys than asked for.
        """
        notes = (*call.notes, DROPPED) if call.dropout else call.notes
        with torch.no_grad():
            if call.weights is None:
                assert call.q is not None
                with without_autocast(call.q.device.type):
                    return self._of_queries(call, notes)
            weights = call.weights
            if not call.own or call.mask is not None:
                weights = _without_nan(weights)
            elif self._choice.open:
                self.bytes += self._size(weights.shape)
            if call.kind == "softmax":
                notes = (*notes, TOGETHER)
            return self.of_weights(call.site, call.number, weights, AXES, notes=notes, own=call.own)

    def of_weights(
        self,
        site: str,
        number: int,
        weights: Tensor,
        axes: tuple[Axis, ...],
        content: Tensor | None = None,
        bias: Tensor | None = None,
        notes: tuple[str, ...] = (),
        own: bool = False,
    ) -> AttentionRecord:
        """What is kept of weights that are there already.

        Args:
            own: whether they were made for the record and need not be copied.
        """
        choice, names = self._choice, [axis.name for axis in axes]
        weights = weights.detach()
        if choice.lazy:
            notes = (*notes, _NOT_LAZY)
        rows = None
        if choice.rows is not None:
            if "query" not in names:
                notes = (*notes, f"rows= left aside: no axis is called query ({', '.join(names)})")
            else:
                place = names.index("query")
                rows = choice.queries(weights.shape[place], site)
                if rows is not None:
                    weights = _rows_of(weights, place, rows)
                    content, bias = (
                        None if part is None else _rows_of(part.detach(), place, rows)
                        for part in (content, bias)
                    )
                    own = True
        elif choice.top_k is not None:
            if names[-1] == "key" and len(names) > 1:
                count = weights.shape[-1]
                top = top_of_weights(weights.contiguous(), choice.top(count, site))
                return self._largest(site, number, top, axes, count, notes)
            notes = (*notes, f"top_k= left aside: the last axis is not called key ({names[-1]})")
        return AttentionRecord(
            site,
            number,
            self._kept(weights) if own else _copied(weights, choice.dtype),
            axes,
            _copied(content),
            _copied(bias),
            rows=None if rows is None else tuple(rows),
            notes=notes,
        )

    def _of_queries(self, call: AttentionCall, notes: tuple[str, ...]) -> AttentionRecord:
        choice, source = self._choice, self._source(call)
        queries, keys = source.shape[2:]
        if choice.lazy:
            if isinstance(source, ModifiedAttention):
                whole = source.exact.weights()
                return self.of_weights(call.site, call.number, whole, AXES, notes=notes)
            return self._lazily(call, source, notes)
        if choice.top_k is not None or (choice.open and not self._fits(source.shape)):
            if choice.top_k is None:
                notes = (*notes, self._too_large(source))
            top = top_of(source, choice.top(keys, call.site))
            return self._largest(call.site, call.number, top, AXES, keys, notes)
        rows = choice.queries(queries, call.site)
        weights = _whole(source, choice.dtype) if rows is None else source.weights(rows)
        content, bias = self._parts(call, source, rows)
        return AttentionRecord(
            call.site,
            call.number,
            self._kept(weights),
            AXES,
            content,
            bias,
            rows=None if rows is None else tuple(rows),
            notes=notes,
        )

    def _source(self, call: AttentionCall) -> LazyAttention:
        assert call.q is not None
        assert call.k is not None
        mask = None if call.mask is None else self._mask(call.mask)[0]
        lse = None if call.lse is None else call.lse.detach()
        q, k = call.q.detach(), call.k.detach()
        if call.modify is None:
            return LazyAttention(q, k, call.scale, mask, call.causal, lse)
        return ModifiedAttention(q, k, call.scale, mask, call.causal, lse, call.modify)

    def _mask(self, mask: Tensor) -> tuple[Tensor, bool]:
        """A copy of a mask, one for all calls that share it, and whether it is more than that."""
        place = (id(mask), mask._version)
        if place not in self._masks:
            plain = mask.detach()
            some = False
            if plain.dtype != torch.bool:
                hidden = plain <= torch.finfo(plain.dtype).min / 2
                some = bool(((plain != 0) & ~hidden).any())
            # The mask itself is kept too, or another could come to have its id.
            self._masks[place] = (mask, plain.clone() if self._choice.lazy else plain, some)
        return self._masks[place][1:]

    def _lazily(
        self, call: AttentionCall, source: LazyAttention, notes: tuple[str, ...]
    ) -> AttentionRecord:
        kept = source
        if not call.own:
            q, k = (
                part.clone(memory_format=torch.contiguous_format) for part in (source.q, source.k)
            )
            kept = replace(source, q=q, k=k)
        return AttentionRecord.of_lazy(call.site, call.number, kept, AXES, notes)

    def _largest(
        self,
        site: str,
        number: int,
        top: tuple[Tensor, Tensor, Tensor],
        axes: tuple[Axis, ...],
        count: int,
        notes: tuple[str, ...],
    ) -> AttentionRecord:
        weights, keys, residual = top
        return AttentionRecord(
            site,
            number,
            self._kept(weights),
            axes,
            keys=keys,
            residual=residual,
            key_count=count,
            notes=notes,
        )

    def _fits(self, shape: tuple[int, ...], count: bool = True) -> bool:
        """Whether weights are small enough to be kept whole unasked; counts them if so."""
        size = self._size(shape)
        if shape[3] <= DEFAULT_TOP:
            return True
        if size > WHOLE_CALL_BYTES:
            return False
        if self._in_memory and self.bytes + size > WHOLE_BLOCK_BYTES:
            return False
        if count:
            self.bytes += size
        return True

    def _size(self, shape: tuple[int, ...]) -> int:
        dtype = self._choice.dtype or torch.float32
        return math.prod(shape) * dtype.itemsize

    def _too_large(self, source: LazyAttention) -> str:
        size = self._size(source.shape) >> 20
        return (
            f"the {DEFAULT_TOP} largest weights of each row were kept: whole weights of a call "
            f"are kept unasked up to {WHOLE_CALL_BYTES >> 20} MiB a call and "
            f"{WHOLE_BLOCK_BYTES >> 20} MiB in all, and these have {size} MiB; choose with "
            "rows=slice(None) (all), rows=, top_k= or lazy=True"
        )

    def _parts(
        self, call: AttentionCall, source: LazyAttention, rows: list[int] | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Logits from query times key and from the bias apart, where a bias is added."""
        if call.mask is None or call.mask.dtype == torch.bool or not self._mask(call.mask)[1]:
            return None, None
        assert source.mask is not None
        bias = source.mask.to(source.exact.q.dtype)
        if rows is not None and bias.dim() > 1 and bias.shape[-2] > 1:
            bias = bias[..., rows, :]
        hidden = source.mask <= torch.finfo(source.mask.dtype).min / 2
        if rows is not None and hidden.dim() > 1 and hidden.shape[-2] > 1:
            hidden = hidden[..., rows, :]
        content = source.content(rows)
        return content, bias.masked_fill(hidden, -math.inf).expand(content.shape)

    def _kept(self, weights: Tensor) -> Tensor:
        return weights if self._choice.dtype is None else weights.to(self._choice.dtype)


_NOT_LAZY: Final = "lazy=True: kept whole, because the model gives weights, not queries and keys"


def _copied(value: Tensor | None, dtype: torch.dtype | None = None) -> Any:
    if value is None:
        return None
    if dtype is not None and dtype != value.dtype:
        return value.detach().to(dtype)
    return value.detach().clone()


def _rows_of(value: Tensor, place: int, rows: list[int]) -> Tensor:
    """A copy of some places of an axis."""
    if len(rows) == 1:
        return value.narrow(place, rows[0], 1).clone()
    return value.index_select(place, torch.tensor(rows, device=value.device))


def _without_nan(weights: Tensor) -> Tensor:
    """Weights the model computed; a row that is NaN throughout, as of hidden keys, is 0."""
    first = weights.detach()[..., :1].isnan()
    if not bool(first.any()):
        return weights
    return weights.detach().masked_fill(weights.detach().isnan().all(-1, keepdim=True), 0.0)


def _whole(source: LazyAttention, dtype: torch.dtype | None) -> Tensor:
    """All weights of a call, ``(batch, head, query, key)``."""
    source = source.exact
    if dtype in (None, source.q.dtype) and math.prod(source.shape) <= _SMALL_CELLS:
        return source.weights()
    hides = source.may_hide
    make = torch.zeros if source.causal else torch.empty
    whole = make(source.shape, dtype=dtype or source.q.dtype, device=source.q.device)
    for start, end, logits in chunks(source):
        # Of a causal call later keys stay 0: such memory is never touched.
        whole[:, :, start:end, : logits.shape[-1]] = shares(logits, hides)
    return whole
