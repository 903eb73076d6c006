"""`record`: the attention of any model, for as long as a ``with`` block lasts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnlens.errors import NothingRecordedError, RecordingError
from attnlens.recorder.adapters import (
    Adapter,
    Given,
    SoftmaxAdapter,
    adapters_of,
    of_function,
)
from attnlens.recorder.capture import AXES, Capture
from attnlens.recorder.choice import Choice, Rows, Which, sites_meant
from attnlens.recorder.completeness import Known, judge
from attnlens.recorder.interception import AttentionCall, Listener
from attnlens.recorder.patches import intercepting
from attnlens.recorder.sites import ByName, Hook
from attnlens.recorder.stream import Stream
from attnlens.recorder.torch_calls import UNCOMPILED
from attnlens.recorder.written import watch_softmaxes
from attnlens.recording.axes import Axis
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.record import AttentionRecord
from attnlens.recording.recording import Recording
from attnlens.recording.save import read_folder


@contextmanager
def record(
    model: nn.Module,
    *,
    rows: Rows = None,
    top_k: int | None = None,
    lazy: bool = False,
    include: Which | None = None,
    dtype: torch.dtype | None = None,
    to: str | os.PathLike[str] | None = None,
    adapters: Given | Sequence[Given] | None = None,
    expected: int | None = None,
) -> Iterator[Recording]:
    """Record the attention of a model while the block runs.

    Any module of torch will do: what comes through an `AttentionProbe`,
    ``nn.MultiheadAttention``, torch's transformer layers,
    ``F.scaled_dot_product_attention``, ``flex_attention`` or the attention of Hugging Face
    models is seen as it runs; for the rest there are adapters. Weights are those of softmax,
    before dropout, worked out in float32 from the queries and keys the model used. Outputs and
    gradients are what they would have been, to the last bit; where torch's fused encoder kernel
    has to be left, and where compiled modules run uncompiled, within rounding, and a note says so.

    Calls are seen in the thread the block is in. Nothing of the model is changed, and nothing
    of torch is once the block ends, by an exception too.

    Args:
        rows: only these queries: one, a list or a slice; -1 is the last.
        top_k: only so many largest weights of each row, and what the others hold together;
            a whole matrix of weights is never formed.
        lazy: queries and keys instead of weights, from which any row can be worked out later.
        include: only sites of these names or patterns, or of which a function says so.
        dtype: of the weights kept, such as ``torch.float16``.
        to: a folder to be made; records are written there as they come, and
            `attnlens.load_recording` opens it. The recording yielded is filled at the end of
            the block, from the folder.
        adapters: for modules with attention of their own: see `Adapter`, `SoftmaxAdapter`.
        expected: how many records there must be in the end.

    With none of rows, top_k and lazy, whole weights are kept up to a size
    (`choice.WHOLE_CALL_BYTES` a call, `choice.WHOLE_BLOCK_BYTES` in all), above it the
    `choice.DEFAULT_TOP` largest of each row; a note says so.

    Yields:
        a `Recording` whose sites are the paths of modules, as in ``named_modules()``; the model
        itself goes by the name of its class.

    Raises:
        RecordingError: options that exclude each other, or do not fit a call (from that call).
        NothingRecordedError: no attention was seen.
        IncompleteRecordingError: attention ran that could not be seen, or ``expected`` or
            ``include`` does not hold.
        InputError: ``to`` cannot be written.
    """
    if not isinstance(model, nn.Module):
        raise RecordingError(f"record needs a torch.nn.Module, not {type(model).__name__}")
    if expected is not None and (type(expected) is not int or expected < 1):
        raise RecordingError(f"expected={expected!r}; give how many records there must be")
    choice = Choice.of(rows, top_k, lazy, dtype)
    patterns, wanted = ((), None) if include is None else sites_meant("include", include)
    with ExitStack() as stack:
        run = _Run(model, choice, wanted, adapters_of(adapters), to)
        stack.callback(run.end)
        if run.stream is not None:
            stack.callback(run.stream.drop)
        with intercepting(run.listener):
            yield run.recording
        note = judge(
            run.listener, run.known, run.recorded, model, patterns, wanted is not None, expected
        )
        run.close(note)


class _Run:
    """One block: the hooks it set, and the records it made.

    Attributes:
        listener: of calls of torch's functions.
        known: attention modules of the model.
        recorded: how many records each site has.
    """

    changes = False

    def __init__(
        self,
        model: nn.Module,
        choice: Choice,
        wanted: Callable[[str], bool] | None,
        adapters: list[Adapter | SoftmaxAdapter],
        to: str | os.PathLike[str] | None,
    ) -> None:
        self.recording = Recording()
        self.recorded: dict[str, int] = {}
        self._thread = threading.get_ident()
        self._capture = Capture(choice, in_memory=to is None)
        self.wants_lse = self._capture.wants_lse
        self._handles: list[RemovableHandle] = []
        self.listener = Listener(model, self, wanted)
        sites = self.listener.sites
        self.known = Known.of(sites)
        self.listener.softmaxes = {**self.known.torch, **self.known.eager}
        self.stream = None if to is None else Stream(to)
        try:
            for site, probe in self.known.probes.items():
                if wanted is None or wanted(site):
                    self._watch_probe(site, probe)
            written = [one for one in adapters if isinstance(one, SoftmaxAdapter)]
            self._handles += watch_softmaxes(self.listener, written, NothingRecordedError)
            for adapter in adapters:
                if not isinstance(adapter, SoftmaxAdapter):
                    self._watch_adapted(adapter, adapters)
            if self.known.eager or self.known.opaque:
                self._handles += self.known.count_runs(self.listener)
        except BaseException:
            self.end()
            if self.stream is not None:
                self.stream.drop()
            raise

    def prefers_weights(self, shape: tuple[int, int, int, int]) -> bool:
        """What there is most use for; see `interception.Handler`."""
        return self._capture.prefers_weights(shape)

    def attention(self, call: AttentionCall) -> None:
        """Keep one call; see `interception.Handler`."""
        self._add(self._capture.of_call(call))

    def close(self, note: str | None) -> None:
        """Finish a block that went well."""
        notes = () if note is None else (note,)
        if self.listener.sites.compiled:
            notes = (*notes, UNCOMPILED)
        if self.stream is not None:
            self.stream.finish(notes)
            for record in read_folder(self.stream.path):
                self.recording.add(record)
        elif notes:
            records = list(self.recording.records())
            # A note on the whole block stands with its first record.
            records[0] = records[0].replaced(notes=(*records[0].notes, *notes))
            self.recording.__init__(records)  # type: ignore[misc]

    def end(self) -> None:
        """Take every hook away."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _add(self, record: AttentionRecord) -> None:
        self.recorded[record.site] = self.recorded.get(record.site, 0) + 1
        if self.stream is None:
            self.recording.add(record)
        else:
            self.stream.add(record)

    def _here(self) -> bool:
        return threading.get_ident() == self._thread

    def _watch_probe(self, site: str, probe: AttentionProbe) -> None:
        axes = tuple(Axis(name) for name in probe.axes)

        def hook(_: nn.Module, arguments: tuple[Any, ...], named: ByName, weights: Tensor) -> None:
            if not self._here():
                self.listener.elsewhere.add(site)
                return
            told = dict(zip(("weights", "content", "bias"), arguments, strict=False)) | named
            self.listener.seen[site] = self.listener.seen.get(site, 0) + 1
            self._add(
                self._capture.of_weights(
                    site,
                    self.listener.number(site),
                    weights,
                    axes,
                    told.get("content"),
                    told.get("bias"),
                )
            )

        self._handles.append(probe.register_forward_hook(Hook(hook), with_kwargs=True))

    def _watch_adapted(self, adapter: Adapter, adapters: list[Adapter | SoftmaxAdapter]) -> None:
        found = False
        for site, module in self.listener.sites.modules.items():
            if adapter.matches(module) and not self._spoken_for(module, adapter, adapters):
                found = True
                self._watch_output(site, module, adapter)
        if not found:
            names = ", ".join(list(self.listener.sites.modules)[:8])
            raise NothingRecordedError(
                f"{type(adapter).__name__} matches no module; modules: {names}, ..."
            )

    @staticmethod
    def _spoken_for(
        module: nn.Module, adapter: Adapter, adapters: list[Adapter | SoftmaxAdapter]
    ) -> bool:
        """Whether an adapter further up in the list matches the module."""
        for one in adapters:
            if one is adapter:
                return False
            if not isinstance(one, SoftmaxAdapter) and not of_function(one) and one.matches(module):
                return True
        return False

    def _watch_output(self, site: str, module: nn.Module, adapter: Adapter) -> None:
        if not of_function(adapter):
            self.listener.passed_over.add(site)

        def hook(module: nn.Module, arguments: tuple[Any, ...], named: ByName, output: Any) -> None:
            if not self._here():
                return
            weights = adapter.records(module, arguments, named, output)
            if weights is not None:
                self._keep(site, weights)

        self._handles.append(module.register_forward_hook(Hook(hook), with_kwargs=True))

    def _keep(self, site: str, weights: Tensor) -> None:
        self.listener.adapted.add(site)
        self.listener.seen[site] = self.listener.seen.get(site, 0) + 1
        if not self.listener.is_wanted(site):
            return
        if not isinstance(weights, Tensor) or weights.dim() not in (3, 4):
            raise RecordingError(
                f"{site}: an adapter gave {_told(weights)}; weights have four dimensions "
                "(batch, head, query, key)"
            )
        if weights.dim() == 3:
            weights = weights.unsqueeze(1)
        number = self.listener.number(site)
        self._add(self._capture.of_weights(site, number, weights, AXES))


def _told(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return type(value).__name__
