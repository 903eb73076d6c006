"""`intervene`: change a model's attention while a ``with`` block runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace as replaced
from types import FrameType, FunctionType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnlens.errors import InterventionError
from attnlens.recording.axes import Positions
from attnlens.recording.block import (
    Block,
    FoundCall,
    reasons_of,
    some_of,
    thread_state,
)
from attnlens.recording.calls import AttentionCall, arranged
from attnlens.recording.edits import (
    AXES,
    FOLLOWED,
    Array,
    Change,
    Edges,
    Edit,
    Hidden,
    NewValues,
    computed,
    edited,
    edits_asked,
    with_edited_values,
)
from attnlens.recording.follower import following
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.sites import SoftmaxAdapter, Which, adapters_of, matches, module_given
from attnlens.recording.tracking import Pair, plain

_NOT_CHANGED: Final = "the heads' outputs cannot be changed at this site"

_ONLY_SOFTMAXES: Final = (
    "give SoftmaxAdapter(sites): other adapters read a module's output and "
    "cannot change its computation"
)


@contextmanager
def intervene(
    model: nn.Module,
    *,
    hide: Hidden | Mapping[str, Hidden] = None,
    scale: float | Array | Mapping[str, float | Array] | None = None,
    replace: Array | Change | Mapping[str, Array | Change] | None = None,
    values: NewValues | Mapping[str, NewValues] | None = None,
    outputs: NewValues | Mapping[str, NewValues] | None = None,
    renormalise: bool | None = None,
    sites: Which | None = None,
    heads: Positions = None,
    queries: Positions = None,
    keys: Positions = None,
    batch: Positions = None,
    adapters: SoftmaxAdapter | Sequence[SoftmaxAdapter] | None = None,
) -> Iterator[dict[str, int]]:
    """Change a model's attention while the block runs.

    Use the block for knock-out, ablation and activation patching::

        with attnlens.intervene(model, hide=[3, 4]):                # for all queries at all sites
            model(x)
        with attnlens.intervene(model, hide=-1, sites="layers.0.*", heads=2):
            model(x)
        with attnlens.intervene(model, hide={"layers.0.self_attn": Edges(head=1, key=[3, 4])}):
            model(x)
        with attnlens.intervene(model, outputs=another_run, heads=2):
            model(x)

    The model may be any torch module. A recording around or inside the block shows the changed
    weights. In a fused kernel, the weights are changed before dropout. Gradients flow through the
    change. In nested blocks, the outer block's changes are applied first. Other threads are not
    affected.

    Give exactly one of ``hide``, ``scale``, ``replace``, ``values`` and ``outputs``. Each option
    may also be a mapping from site names or patterns to one of the forms below. If ``hide``,
    ``scale`` or ``replace`` is a tensor and no site is named, sites with a different number of keys
    are left unchanged.

    Args:
        hide: the keys to hide, as positions, one or several `Edges`, or a boolean tensor. The
            tensor is true at hidden keys and has the shape ``(key,)``, ``(batch, key)``, ``(batch,
            query, key)`` or ``(batch, head, query, key)``. The other weights of the row are
            rescaled to sum to 1. If all keys of a row are hidden, the row becomes 0.
        scale: a factor for the weights, as a number or as a tensor with a shape as for ``hide``.
        replace: new weights with a shape as for ``hide``, or a function that converts the weights
            of shape ``(batch, head, query, key)``.
        values: new values, as a tensor that can be broadcast to ``(batch, head, key, width)``, a
            function of the old values, or a record with values. A recording gives each site the
            values that were recorded at the site.
        outputs: new outputs of the heads before concatenation and projection, with shape ``(batch,
            head, query, width)``, in the same forms as ``values``.
        renormalise: whether changed rows are rescaled to sum to 1. The default is True for ``hide``
            and False for ``scale`` and ``replace``.
        sites: names as in ``named_modules()``, patterns (``*``, ``?``), or a function of a name;
            None: all sites.
        heads: the heads to change; -1 is the last head; None: all heads.
        queries: the positions of the queries to change; None: all queries.
        keys: the positions of the keys to change; None: all keys.
        batch: the sequences to change; None: all sequences.
        adapters: adapters for modules with custom attention (see `SoftmaxAdapter`).

    Yields:
        a dict from each site to the number of calls changed so far.

    Raises:
        InterventionError: options conflict, or positions or sizes do not fit a call. At the end of
            the block: an edit changed nothing, or some attention could not be changed.
    """
    module_given(model, "intervene", InterventionError)
    options: dict[str, object] = {"hide": hide, "scale": scale, "replace": replace}
    options |= {"values": values, "outputs": outputs}
    scope = Edges(key=keys, query=queries, head=heads, batch=batch)
    edits = edits_asked(options, sites, scope)
    if renormalise is not None:
        if edits[0].name in FOLLOWED:
            raise InterventionError(
                "renormalise= has no effect, because the weights do not change; omit renormalise="
            )
        for edit in edits:
            edit.renormalise = bool(renormalise)
    with ExitStack() as stack:
        run = _InterventionRun(model, edits)
        stack.callback(run.end)
        adapter_list = adapters_of(adapters, SoftmaxAdapter, InterventionError, _ONLY_SOFTMAXES)
        run.begin(adapter_list, InterventionError)
        with following(run), _Changes(run) if run.needs_follower() else nullcontext():
            yield run.changed
        run.judge()


class _InterventionRun(Block):
    """The hooks of one ``with`` block. ``changed`` counts the changed calls of each site."""

    error = InterventionError
    leave_out = "sites"

    def __init__(self, model: nn.Module, edits: list[Edit]) -> None:
        super().__init__(model, lambda site: any(edit.is_wanted(site) for edit in edits))
        self.follows = edits[0].name in FOLLOWED
        self.changed: dict[str, int] = {}
        self._edits = edits

    def tell(
        self, site: str, call: AttentionCall, pair: Pair | None = None, is_again: bool = False
    ) -> None:
        del call, is_again
        if pair is None or pair not in self.claimed:
            # Do not raise here: TorchScript would turn the error into a different one.
            self.refused[site] = (
                "no Python function of torch computes the attention (TorchScript, an "
                "exported module); use the original module"
            )

    def change(self, finding: FoundCall) -> AttentionCall | None:
        """Return the changed attention call; None: the call stays the same."""
        product, site = finding.product, finding.site
        claimed = None if product is None else self.claimed.get(product.pair)
        if (claimed is not None and not self.follows) or not self.asks(site, finding.is_again):
            return None  # a probe was already changed, or the site is not selected
        call = replaced(finding.to_call(), site=site if claimed is None else claimed[0])
        if call.v is None:
            raise InterventionError(f"{site}: every query has different values; {_NOT_CHANGED}")
        if self.follows and finding.is_again:
            raise InterventionError(
                f"{site}: its weights are multiplied with several tensors; {_NOT_CHANGED}"
            )
        changed = (with_edited_values if self.follows else edited)(call, self._edits)
        if changed is not None:
            if not finding.is_again:
                self._note(call.site)
            if not self.follows:
                changed = replaced(changed, output=computed(changed))
        return changed

    def probed(self, site: str, probe: AttentionProbe, weights: Tensor) -> Tensor | None:
        """Return the changed weights of a probe; None: the weights stay the same."""
        is_recomputed = torch._C._current_graph_task_id() != -1
        if not self.in_block_thread(site) or is_recomputed or not self.asks(site):
            return None
        if tuple(probe.axes) != AXES:
            if any(edit.patterns is not None and edit.is_wanted(site) for edit in self._edits):
                raise InterventionError(
                    f"{site}: its axes ({', '.join(probe.axes)}) are not {', '.join(AXES)}, so "
                    "its weights cannot be changed"
                )
            return None
        self.claim(weights, site, self.number(site))
        if self.follows:
            return None
        call = edited(AttentionCall(weights=weights, site=site), self._edits)
        if call is None:
            return None
        self._note(site)
        return call.weights

    def watch_probe(self, site: str, probe: AttentionProbe) -> None:
        self.handles.append(probe.register_forward_hook(_ProbeHook(self, site, probe)))
        hooks = probe._forward_hooks
        # Run these hooks before hooks that only observe, which must see the changed weights. The
        # hook of an outer block runs first.
        for key in reversed([key for key, hook in hooks.items() if isinstance(hook, _ProbeHook)]):
            hooks.move_to_end(key, last=False)  # type: ignore[attr-defined]

    def _note(self, site: str) -> None:
        if _computed_again():
            raise InterventionError(
                f"{site}: gradient checkpointing would compute this attention again without "
                "the intervention; switch off checkpointing or gradients"
            )
        self.changed[site] = self.changed.get(site, 0) + 1

    def judge(self) -> None:
        """Raise InterventionError if an edit changed nothing or attention cannot be changed."""
        if unseen := self.unseen() | self.doubts():
            raise InterventionError(
                f"some attention that ran cannot be changed: {reasons_of(unseen)}"
            )
        for edit in self._edits:
            self._judge(edit)

    def _judge(self, edit: Edit) -> None:
        calls = some_of([f"{site} {count}" for site, count in self.seen.items()])
        if not edit.touched:
            raise InterventionError(f"{edit.name}= changed nothing: {self._why(edit, calls)}")
        if both := [site for site in edit.passed if site in edit.touched]:
            raise InterventionError(
                f"{both[0]}: the tensor of {edit.name}= has a wrong number of keys for "
                "some calls of this site; give positions instead of a tensor"
            )
        for pattern in edit.patterns or ():
            if not any(matches(site, pattern) for site in edit.touched):
                raise InterventionError(
                    f"{edit.name}= changed nothing, because no site that ran is called "
                    f"{pattern!r}; calls of each site: {calls}"
                )

    def _why(self, edit: Edit, calls: str) -> str:
        sites = self.known
        if not self.seen and not sites:
            return self.none_ran()
        if not self.seen:
            return f"the model did not run in the block; its attention sites are {some_of(sites)}"
        if edit.passed:
            assert edit.values is not None
            counts = ", ".join(f"{site} has {count}" for site, count in edit.passed.items())
            return f"the tensor has {edit.values.shape[-1]} keys, but {counts}"
        idle = some_of([site for site in sites if site not in self.seen])
        return (
            f"no selected site with a key axis ran; calls of each site: {calls}; "
            f"known sites that did not run: {idle or 'none'}"
        )


class _Changes(TorchFunctionMode):
    """Changes attention above autograd, so that gradients flow through the changes."""

    def __init__(self, run: _InterventionRun) -> None:
        super().__init__()
        self._run = run

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        by_name = kwargs or {}
        if func is F.multi_head_attention_forward:
            with self:
                return _MULTI_HEAD(*args, **by_name)
        if torch._C._current_graph_task_id() != -1 or thread_state.is_quiet:
            return func(*args, **by_name)
        findings: list[FoundCall] = []
        with thread_state.having(held=findings):
            output = func(*args, **by_name)
        own = [finding for finding in findings if finding.block is self._run]
        changed: AttentionCall | None = None
        if own:
            if torch._C._functorch.peek_interpreter_stack() is not None:
                raise InterventionError(
                    f"{own[0].site}: attention inside a torch.func transform (vmap, grad) "
                    "cannot be changed; in the block, run the model without the transform"
                )
            with thread_state.having(is_quiet=True):
                changed = self._run.change(own[-1])
                if changed is not None:
                    result = self._laid_out(own[-1], changed, output)
                    is_given = any(part is output for part in (*args, *by_name.values()))
                    output = output.copy_(result) if is_given else result
        for finding in findings:
            if finding.block is not self._run:
                replaced(finding, call=changed or finding.call).report()
        return output

    def _laid_out(self, finding: FoundCall, changed: AttentionCall, output: Tensor) -> Tensor:
        """Return the output of the changed call in the shape of ``output``."""
        new, product = changed.output, finding.product
        assert new is not None
        if product is None:
            return new.reshape(output.shape).to(output.dtype)
        axes, layout = self._run.follower.tracker.of(output), product.layout
        groups = plain((layout.batch, layout.head, layout.query, layout.width))
        result = arranged(new, groups, axes.dimensions).to(output.dtype)
        for follower in thread_state.followers:
            follower.tracker.put(result, follower.tracker.of(output))
        return result


_MULTI_HEAD: Final = FunctionType(
    F.multi_head_attention_forward.__code__,
    vars(F) | {"has_torch_function": lambda _: False},
    argdefs=F.multi_head_attention_forward.__defaults__,
)
"""A function mode sees each torch function inside this copy, but not inside the original."""


class _ProbeHook:
    def __init__(self, run: _InterventionRun, site: str, probe: AttentionProbe) -> None:
        self._run, self._site, self._probe = run, site, probe

    def __call__(self, _: nn.Module, __: Any, weights: Tensor) -> Tensor | None:
        return self._run.probed(self._site, self._probe, weights)


_CHECKPOINT: Final = os.path.join(os.path.dirname(torch.utils.__file__), "checkpoint.py")


def _computed_again() -> bool:
    """Whether activation checkpointing would compute this call again."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _CHECKPOINT and (
            # Reentrant checkpointing calls `forward` without gradients. The other kind recomputes
            # activations only if gradients are enabled.
            code.co_name == "forward" or torch.is_grad_enabled()
        ):
            return True
        frame = frame.f_back
    return False
