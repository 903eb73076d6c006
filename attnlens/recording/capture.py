"""Create attention records with the weights that the options of `record` select.

Memory of earlier recordings is reused, because allocation takes as long as the computation.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.errors import RecordingError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis, Positions, places, positions
from attnlens.recording.calls import AttentionCall
from attnlens.recording.lazy import (
    LazyAttention,
    chunks,
    shares,
    top_of,
    top_of_weights,
    without_autocast,
)

AXES: Final = tuple(Axis(name) for name in ("batch", "head", "query", "key"))

WHOLE_CALL_BYTES: Final = 128 << 20
"""By default, all weights of a fused kernel are recorded if they take at most this many bytes."""

DEFAULT_TOP: Final = 64
"""The default ``top_k`` of fused kernels whose weights exceed `WHOLE_CALL_BYTES`."""

_KEPT_DTYPES: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

_DROPPED: Final = "the weights were recorded before dropout, which the kernel applied internally"

_NOT_LAZY: Final = (
    "lazy=True had no effect, because the model returns weights instead of "
    "queries and keys; all weights were recorded"
)


@dataclass(frozen=True, slots=True)
class Capture:
    """The options of `record` that select weights.

    If ``dtype`` is None, weights from the model keep their precision. Other weights are float32, or
    float64 if the queries are float64.
    """

    rows: tuple[int, ...] | slice | None = None
    top_k: int | None = None
    lazy: bool = False
    dtype: torch.dtype | None = None
    _masks: dict[tuple[int, int], tuple[Tensor, Tensor, bool]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rows: Positions, top_k: int | None, lazy: bool, dtype: torch.dtype | None
    ) -> Capture:
        """Check the options and return them as a `Capture`.

        Raises:
            RecordingError: an option is invalid, or two options exclude each other.
        """
        options = {"rows": rows is not None, "top_k": top_k is not None, "lazy": bool(lazy)}
        chosen = [name for name, is_given in options.items() if is_given]
        if len(chosen) > 1:
            raise RecordingError(
                f"{' and '.join(chosen)} exclude each other; choose one of rows= (some "
                "queries), top_k= (the largest weights of each row) and lazy=True (any "
                "row, computed later)"
            )
        if top_k is not None and (type(top_k) is not int or top_k < 1):
            raise RecordingError(f"top_k={top_k!r} is not a number of keys; give 1 or more")
        if dtype is not None and dtype not in _KEPT_DTYPES:
            names = ", ".join(str(kept_dtype) for kept_dtype in _KEPT_DTYPES)
            raise RecordingError(f"dtype={dtype!r} is not supported; choose one of {names}")
        if dtype is not None and lazy:
            raise RecordingError(
                "lazy=True keeps queries and keys in the model's own dtype; leave out "
                "dtype= or lazy="
            )
        return cls(None if rows is None else positions("rows", rows), top_k, bool(lazy), dtype)

    def of_call(self, call: AttentionCall) -> AttentionRecord:
        """Create the record of a call.

        Raises:
            RecordingError: a selected query does not exist, or there are fewer than ``top_k`` keys.
        """
        notes = (*call.notes, _DROPPED) if call.dropout else call.notes
        with torch.no_grad():
            if call.weights is None:
                with without_autocast(call.device.type):
                    return self._of_queries(call, notes)
            weights = _without_nan(call.weights)
            own = call.own or weights is not call.weights
            return self.of_weights(call.site, call.number, weights, AXES, notes=notes, own=own)

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
        """Create a record from existing weights. The weights are copied, unless ``own`` is true."""
        names = [axis.name for axis in axes]
        weights = weights.detach()
        if self.lazy:
            notes = (*notes, _NOT_LAZY)
        rows = None
        if self.rows is not None and "query" not in names:
            notes = (
                *notes,
                f"rows= was ignored, because no axis is called query ({', '.join(names)})",
            )
        elif self.rows is not None:
            query_axis = names.index("query")
            rows = self._queries(weights.shape[query_axis], site)
            if rows is not None:
                weights = _rows_of(weights, query_axis, rows)
                content, bias = (
                    None if part is None else _rows_of(part.detach(), query_axis, rows)
                    for part in (content, bias)
                )
        elif self.top_k is not None and names[-1] == "key" and len(names) > 1:
            count = weights.shape[-1]
            top = top_of_weights(weights.contiguous(), self._top(count, site))
            return self._largest(site, number, top, axes, key_count=count, notes=notes)
        elif self.top_k is not None:
            notes = (
                *notes,
                f"top_k= was ignored, because the last axis is called {names[-1]} and not key",
            )
        return AttentionRecord(
            site,
            number,
            self._as_kept(weights) if own or rows is not None else _copied(weights, self.dtype),
            axes,
            _copied(content),
            _copied(bias),
            rows=None if rows is None else tuple(rows),
            notes=notes,
        )

    def _of_queries(self, call: AttentionCall, notes: tuple[str, ...]) -> AttentionRecord:
        source = self._source(call)
        if self.lazy:
            source = replace(source, q=_copied(source.q), k=_copied(source.k))
            return AttentionRecord.of_lazy(call.site, call.number, source, AXES, notes)
        if not self._is_whole(source.shape):
            keys = source.shape[3]
            if self.top_k is None:
                notes = (*notes, self._too_large(source))
            top = top_of(source, self._top(keys, call.site))
            return self._largest(call.site, call.number, top, AXES, key_count=keys, notes=notes)
        rows = self._queries(source.shape[2], call.site)
        weights = _full_weights(source, self.dtype) if rows is None else source.weights(rows)
        content, bias = self._parts(call, source, rows)
        return AttentionRecord(
            call.site,
            call.number,
            self._as_kept(weights),
            AXES,
            content,
            bias,
            rows=None if rows is None else tuple(rows),
            notes=notes,
        )

    def _queries(self, count: int, site: str) -> list[int] | None:
        """Return the positions of the queries to record; None: all queries."""
        if self.rows is None:
            return None
        chosen = places(self.rows, count, f"{site}: row")
        return None if chosen == list(range(count)) else chosen

    def _top(self, keys: int, site: str) -> int:
        if self.top_k is None:
            return DEFAULT_TOP
        if self.top_k > keys:
            raise RecordingError(
                f"{site}: top_k={self.top_k} is more than the {keys} keys; give at most "
                f"{keys}, or leave top_k out to keep whole rows"
            )
        return self.top_k

    def _source(self, call: AttentionCall) -> LazyAttention:
        source = call.queries
        mask = None if source.mask is None else self._mask(source.mask)[0]
        lse = None if source.lse is None else source.lse.detach()
        return replace(source, q=source.q.detach(), k=source.k.detach(), mask=mask, lse=lse)

    def _mask(self, mask: Tensor) -> tuple[Tensor, bool]:
        """Return the mask to store, and whether the mask adds a bias to visible keys."""
        cache_key = (id(mask), 0 if mask.is_inference() else mask._version)
        if cache_key not in self._masks:
            plain = mask.detach()
            some = False
            if plain.dtype != torch.bool:
                some = bool(((plain != 0) & ~_hides(plain)).any())
            # Keep the mask itself too; otherwise, a new tensor could get the same id.
            self._masks[cache_key] = (mask, plain.clone() if self.lazy else plain, some)
        return self._masks[cache_key][1:]

    def _largest(
        self,
        site: str,
        number: int,
        top: tuple[Tensor, Tensor, Tensor],
        axes: tuple[Axis, ...],
        **parts: Any,
    ) -> AttentionRecord:
        weights, keys, residual = top
        parts |= {"keys": keys, "residual": residual}
        return AttentionRecord(site, number, self._as_kept(weights), axes, **parts)

    def _is_whole(self, shape: tuple[int, ...]) -> bool:
        """Whether to record whole rows."""
        if self.rows is not None or self.top_k is not None:
            return self.top_k is None
        return shape[3] <= DEFAULT_TOP or self._size(shape) <= WHOLE_CALL_BYTES

    def _size(self, shape: tuple[int, ...]) -> int:
        return math.prod(shape) * (self.dtype or torch.float32).itemsize

    def _too_large(self, source: LazyAttention) -> str:
        return (
            f"only the {DEFAULT_TOP} largest weights of each row were kept, because the "
            f"call has {self._size(source.shape) >> 20} MiB of weights and the default limit is "
            f"{WHOLE_CALL_BYTES >> 20} MiB; to keep all weights, set rows=slice(None); "
            "otherwise, choose with rows=, top_k= or lazy=True"
        )

    def _parts(
        self, call: AttentionCall, source: LazyAttention, rows: list[int] | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Return ``content`` and ``bias``; both are None if there is no bias."""
        mask = call.queries.mask
        if mask is None or mask.dtype == torch.bool or not self._mask(mask)[1]:
            return None, None
        mask = self._mask(mask)[0]
        if rows is not None and mask.dim() > 1 and mask.shape[-2] > 1:
            mask = mask[..., rows, :]
        bias = mask.to(source.exact.q.dtype).masked_fill(_hides(mask), -math.inf)
        content = source.content(rows)
        return content, bias.expand(content.shape)

    def _as_kept(self, weights: Tensor) -> Tensor:
        return weights if self.dtype is None else weights.to(self.dtype)


def _hides(mask: Tensor) -> Tensor:
    """True where a huge negative number in ``mask`` hides a key."""
    return mask <= torch.finfo(mask.dtype).min / 2


def _copied(value: Tensor | None, dtype: torch.dtype | None = None) -> Any:
    if value is None:
        return None
    return empty(value.shape, dtype or value.dtype, value.device).copy_(value.detach())


def _rows_of(value: Tensor, index: int, rows: list[int]) -> Tensor:
    if len(rows) == 1:
        return value.narrow(index, rows[0], 1).clone()
    return value.index_select(index, torch.tensor(rows, device=value.device))


def _without_nan(weights: Tensor) -> Tensor:
    """Set rows of NaN to 0. Softmax returns NaN for queries without visible keys."""
    if not bool(weights[..., :1].isnan().any()):
        return weights
    return weights.masked_fill(weights.isnan().all(-1, keepdim=True), 0.0)


def _full_weights(source: LazyAttention, dtype: torch.dtype | None) -> Tensor:
    source = source.exact
    hides = source.mask is not None
    make = zeros if source.causal else empty  # weights of later keys are not computed and stay 0
    weights = make(source.shape, dtype or source.q.dtype, source.q.device)
    for start, end, logits in chunks(source):
        weights[:, :, start:end, : logits.shape[-1]] = shares(logits, hides)
    return weights


_MOST_BYTES: Final = 192 << 20
"""The maximum amount of unused memory, in bytes. GPT-2 at 512 tokens needs 144 MiB."""

_idle: Final[dict[int, list[Tensor]]] = {}
"""Maps sizes in bytes to unused memory. ``append`` and ``pop`` need no lock."""


def empty(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return an uninitialised tensor. Its memory is reused after the tensor is freed."""
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or not 0 < size <= _MOST_BYTES:
        return torch.empty(shape, dtype=dtype, device=device)
    try:
        memory = _idle[size].pop()
    except (KeyError, IndexError):
        memory = torch.empty(size, dtype=torch.uint8)
    # Only the returned tensor's storage refers to this array. When the storage is freed, the
    # array's finalizer gives the memory back.
    lent = memory.numpy()
    weakref.finalize(lent, _take_back, memory).atexit = False
    return torch.from_numpy(lent).view(dtype).view(shape)


def zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return a tensor of zeros."""
    if math.prod(shape) * dtype.itemsize > _MOST_BYTES:
        # The system provides pages of zeros only when they are written, so this is cheap.
        return torch.zeros(shape, dtype=dtype, device=device)
    return empty(shape, dtype, device).zero_()


def _take_back(memory: Tensor) -> None:
    idle = sum(size * len(some) for size, some in [*_idle.items()])
    if idle + memory.nbytes > _MOST_BYTES:
        _idle.clear()
    _idle.setdefault(memory.nbytes, []).append(memory)
