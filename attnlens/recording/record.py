"""`record`: record the attention of any model while a ``with`` block runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor, nn

from attnlens.errors import IncompleteRecordingError, NothingRecordedError, RecordingError, count
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis, Positions
from attnlens.recording.block import UNCOMPILED, Block, reasons_of, some_of, thread_state
from attnlens.recording.calls import AttentionCall
from attnlens.recording.capture import AXES, Capture
from attnlens.recording.follower import following
from attnlens.recording.lazy import without_autocast
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.recording import Recording
from attnlens.recording.save import Stream, read_folder
from attnlens.recording.sites import (
    Adapter,
    AnyAdapter,
    ByName,
    SoftmaxAdapter,
    Which,
    adapters_of,
    matches,
    module_given,
    no_module,
    sites_meant,
)
from attnlens.recording.tracking import Pair

_UNFOLLOWED: Final = (
    "values and outputs were not recorded, because no product of these weights and values was seen"
)

_FIRST_PRODUCT_NOTE: Final = (
    "the weights were multiplied several times; values and outputs come from the first product"
)


@contextmanager
def record(
    model: nn.Module,
    *,
    rows: Positions = None,
    top_k: int | None = None,
    lazy: bool = False,
    include: Which | None = None,
    dtype: torch.dtype | None = None,
    to: str | os.PathLike[str] | None = None,
    adapters: AnyAdapter | Sequence[AnyAdapter] | None = None,
    expected: int | None = None,
    values: bool = False,
    outputs: bool = False,
) -> Iterator[Recording]:
    """Record the attention of a model while the block runs.

    The model may be any torch module. The recorded weights are the weights that the model
    multiplies with the values, after masks, top-k, mixing of heads and dropout. For fused kernels,
    the weights before dropout are computed from queries and keys, in float32 or float64. A note
    names modules whose operations only resemble attention, such as a router of experts. The model's
    outputs and gradients stay the same to the last bit. Compiled modules run uncompiled in the
    block, and a note says that rounding may change their outputs.

    Only calls in the thread of the block are recorded. All hooks are removed when the block ends.

    Args:
        rows: the positions of the queries to record; -1 is the last query.
        top_k: the number of largest weights to record in each row, with the sum of the others. For
            fused kernels, the whole matrix of weights is never stored.
        lazy: for fused kernels, record queries and keys, from which any row can be computed later.
        include: names or patterns of the sites to record, or a function of a name.
        dtype: the precision of the recorded weights, such as ``torch.float16``.
        to: the path of a new folder, to which records are written during the run. The yielded
            recording is read from the folder when the block ends. See `attnlens.load_recording`.
        adapters: adapters for modules with custom attention (see `Adapter`, `SoftmaxAdapter`).
        expected: the required number of records at the end of the block.
        values: also record the values, with shape ``(batch, head, key, width)`` and the model's
            precision. If heads share values, each head gets a copy.
        outputs: also record the output of each head before concatenation and projection, with shape
            ``(batch, head, query, width)``. If values or outputs could not be recorded, the record
            has a note.

    By default, all weights of a call are recorded. If the weights of a fused kernel exceed
    `capture.WHOLE_CALL_BYTES`, only the `capture.DEFAULT_TOP` largest weights of each row are
    recorded, and a note is added.

    Yields:
        a `Recording`. Sites are the paths of modules, as in ``named_modules()``. The site of the
        model itself is the name of the model's class.

    Raises:
        RecordingError: options conflict or do not fit a call.
        NothingRecordedError: no attention was seen, or an adapter matches no module.
        IncompleteRecordingError: some attention could not be recorded, the number of records is not
            ``expected``, or a pattern of ``include`` matched no site that ran.
        InputError: ``to`` cannot be written.
    """
    module_given(model, "record")
    if expected is not None and (type(expected) is not int or expected < 1):
        raise RecordingError(f"expected={expected!r} is not a number of records; give 1 or more")
    capture = Capture.of(rows, top_k, lazy, dtype)
    patterns, is_wanted = sites_meant("include", include)
    with ExitStack() as stack:
        remedy = (
            "give an object with the methods matches(module) and records(module, args, "
            "kwargs, output), or"
        )
        adapter_list = adapters_of(
            adapters, AnyAdapter, RecordingError, f"{remedy} SoftmaxAdapter(sites)"
        )
        run = _RecordingRun(model, is_wanted, capture)
        run.values, run.outputs, run.follows = values, outputs, values or outputs
        stack.callback(run.end)
        if to is not None:
            run.stream = Stream(to)
            stack.callback(run.stream.drop)
        run.watch(adapter_list)
        with following(run):
            yield run.recording
        run.judge(patterns or (), expected)
        run.close()


class _RecordingRun(Block):
    """The hooks of one ``with`` block, and the records that the block created."""

    leave_out = "include"

    def __init__(
        self,
        model: nn.Module,
        is_wanted: Callable[[str], bool],
        capture: Capture,
    ) -> None:
        super().__init__(model, is_wanted)
        self.recording = Recording()
        self.recorded: dict[str, int] = {}
        self.stream: Stream | None = None
        self.values = self.outputs = False
        self._late: dict[tuple[str, int], AttentionRecord] = {}
        self._again: set[str] = set()
        self._capture = capture

    def watch(self, adapters: Sequence[AnyAdapter]) -> None:
        """Register the hooks. Raise NothingRecordedError if an adapter matches no module."""
        softmaxes = [adapter for adapter in adapters if isinstance(adapter, SoftmaxAdapter)]
        self.begin(softmaxes, NothingRecordedError)
        for adapter in adapters:
            if isinstance(adapter, SoftmaxAdapter):
                continue
            modules = {
                site: module
                for site, module in self.sites.modules.items()
                if site not in self._passed_over and adapter.matches(module)
            }
            if not modules:
                raise NothingRecordedError(f"{type(adapter).__name__} {no_module(self.sites)}")
            for site, module in modules.items():
                self._watch_output(site, module, adapter)

    def tell(
        self, site: str, call: AttentionCall, pair: Pair | None = None, is_again: bool = False
    ) -> None:
        claimed = self.claimed.get(pair) if pair is not None else None
        if is_again:
            self._again.add(site)
        elif claimed is not None:
            if claimed in self._late and not _is_whole(self._late[claimed]):
                self._late[claimed] = self._with_values(self._late[claimed], call)
        else:
            call = replace(call, site=site, number=self.number(site))
            record = self._capture.of_call(call)
            self._add(self._with_values(record, call) if self.follows else record)

    def _with_values(self, record: AttentionRecord, call: AttentionCall) -> AttentionRecord:
        parts: dict[str, Any] = {}
        if self.values and call.v is not None:
            values = call.v.detach().repeat_interleave(record.shape[1] // call.v.shape[1], 1)
            parts["values"] = values.clone()
        if self.outputs and call.output is not None:
            output = call.output.detach()
            parts["outputs"] = output.clone() if record.rows is None else output[:, :, record.rows]
        if len(parts) == 2 and not call.dropout and not call.notes:
            _check_product(record, parts["values"], parts["outputs"])
        notes = (*record.notes, *call.notes) if parts else (*record.notes, _UNFOLLOWED)
        return record.replaced(notes=tuple(dict.fromkeys(notes)), **parts)

    def judge(self, patterns: Sequence[str], expected: int | None) -> None:
        """Raise NothingRecordedError or IncompleteRecordingError unless everything was recorded."""
        recorded, unseen = self.recorded, self.unseen()
        if not recorded:
            raise NothingRecordedError(self._nothing(unseen | self.doubts()))
        if unseen:
            raise IncompleteRecordingError(
                f"{count(len(unseen), 'site')} ran and "
                f"{'was' if len(unseen) == 1 else 'were'} not recorded: {reasons_of(unseen)}"
            )
        idle = f"; sites that did not run: {some_of(self._idle())}" if self._idle() else ""
        for pattern in patterns:
            if not any(matches(site, pattern) for site in recorded):
                raise IncompleteRecordingError(
                    f"include={pattern!r} matches no site that ran; recorded: "
                    f"{some_of(recorded)}{idle}"
                )
        total = sum(recorded.values())
        if expected is not None and total != expected:
            counts = some_of([f"{site} {number}" for site, number in recorded.items()])
            raise IncompleteRecordingError(
                f"{total} records were made, but expected={expected}: {counts}{idle}"
            )

    def close(self) -> None:
        """Add notes about the block, and complete the folder if there is one."""
        for record in self._late.values():
            missing = () if _is_whole(record) else (_UNFOLLOWED,)
            self._sink.add(record.replaced(notes=(*record.notes, *missing)))
        notes = [UNCOMPILED] if self.sites.compiled else []
        if idle := self._idle():
            problem = "did not run in the block, so nothing was recorded"
            notes.insert(0, f"{problem}: {some_of(idle)}")
        if self._again:
            notes.insert(0, f"{_FIRST_PRODUCT_NOTE}: {some_of(sorted(self._again))}")
        if doubtful := self.doubts():
            notes.insert(0, f"not recorded: {reasons_of(doubtful)}")
        if self.stream is not None:
            self.stream.finish(tuple(notes))
            for record in read_folder(self.stream.path):
                self.recording.add(record)
        elif notes:
            # A note about the whole block is stored in its first record.
            records = list(self.recording.records())
            records[0] = records[0].replaced(notes=(*records[0].notes, *notes))
            self.recording.__init__(records)  # type: ignore[misc]

    def watch_probe(self, site: str, probe: AttentionProbe) -> None:
        axes = tuple(Axis(name) for name in probe.axes)

        def hook(
            _: nn.Module, arguments: tuple[Any, ...], by_name: ByName, weights: Tensor
        ) -> None:
            if not self.in_block_thread(site):
                return
            values = dict(zip(("weights", "content", "bias"), arguments, strict=False)) | by_name
            with thread_state.having(is_quiet=True):
                self._keep(site, weights, axes, values.get("content"), values.get("bias"))
            self.claim(weights, site, self._numbers.get(site, 0) - 1)

        self.handles.append(probe.register_forward_hook(hook, with_kwargs=True))

    def _idle(self) -> list[str]:
        return [
            site
            for site in self.known
            if site not in self.recorded and self.is_wanted(site) and not self._is_seen(site)
        ]

    def _nothing(self, unseen: dict[str, str]) -> str:
        name = type(self.model).__name__
        if unseen:
            return f"nothing was recorded for {name}: {reasons_of(unseen)}"
        if idle := self._idle():
            return (
                f"none of the {len(idle)} attention modules ran ({some_of(idle)}); call the "
                "model inside the block and in the same thread"
            )
        if self.seen or self.known:
            has = some_of([*self.seen] or self.known)
            return f"include= matched no attention of {name}; the attention sites are {has}"
        return self.none_ran()

    def _watch_output(self, site: str, module: nn.Module, adapter: Adapter) -> None:
        self._passed_over.add(site)

        def hook(
            module: nn.Module, arguments: tuple[Any, ...], by_name: ByName, output: Any
        ) -> None:
            weights = (
                adapter.records(module, arguments, by_name, output)
                if self.in_block_thread(site)
                else None
            )
            if weights is None:
                return
            if not isinstance(weights, Tensor) or weights.dim() not in (3, 4):
                actual = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights)
                raise RecordingError(
                    f"{site}: an adapter returned {actual}; return weights with four dimensions "
                    "(batch, head, query, key)"
                )
            self._keep(site, weights if weights.dim() == 4 else weights.unsqueeze(1), AXES)

        self.handles.append(module.register_forward_hook(hook, with_kwargs=True))

    def _keep(
        self,
        site: str,
        weights: Tensor,
        axes: tuple[Axis, ...],
        content: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> None:
        self.seen[site] = self.seen.get(site, 0) + 1
        if self.is_wanted(site):
            number = self.number(site)
            self._add(self._capture.of_weights(site, number, weights, axes, content, bias))

    def _add(self, record: AttentionRecord) -> None:
        self.recorded[record.site] = self.recorded.get(record.site, 0) + 1
        if self.follows and record.site in self.probes and not _is_whole(record):
            self._late[record.site, record.call] = record
        else:
            self._sink.add(record)

    @property
    def _sink(self) -> Recording | Stream:
        return self.recording if self.stream is None else self.stream


def _check_product(record: AttentionRecord, values: Tensor, outputs: Tensor) -> None:
    """Raise a RecordingError unless weights times values equal the outputs."""
    if record.keys is not None or record.rows is not None or record.lazy is not None:
        return
    with without_autocast(values.device.type):
        product = (record.weights.double() @ values.double()).nan_to_num(0.0)
    actual = outputs.double().nan_to_num(0.0)
    scale = float(actual.abs().max()) if actual.numel() else 0.0
    # The least precise tensor determines the tolerance, because float16 and bfloat16 are imprecise.
    tensors = (record.weights, values, outputs)
    tolerance = 5e-2 if any(tensor.element_size() < 4 for tensor in tensors) else 1e-3
    if not torch.allclose(product, actual, rtol=0, atol=tolerance * max(1, scale)):
        raise RecordingError(
            f"{record.site}: weights times values differ from the outputs of the heads; "
            "please report this"
        )


def _is_whole(record: AttentionRecord) -> bool:
    return record.values is not None or record.outputs is not None
