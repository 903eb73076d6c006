"""`record`: hooks on a model's attention probes for as long as a ``with`` block lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from attnlens.axes import Axis
from attnlens.errors import NothingRecordedError
from attnlens.probe import AttentionProbe
from attnlens.records import AttentionRecord, Recording


@contextmanager
def record(model: nn.Module) -> Iterator[Recording]:
    """Record the attention of every probe in ``model`` while the block runs.

    Tensors are detached and copied, so nothing that happens to them later changes the
    record, and the model's outputs and gradients are what they would have been. The hooks
    are removed when the block ends, also by an exception.

    Yields:
        a `Recording` whose sites are the paths of the modules that hold the probes.

    Raises:
        NothingRecordedError: the model has no probe, or none ran in the block.
    """
    probes = {
        name.removesuffix(".probe"): module
        for name, module in model.named_modules()
        if isinstance(module, AttentionProbe)
    }
    if not probes:
        raise NothingRecordedError(
            f"{type(model).__name__} has no AttentionProbe; "
            "pass its attention weights through one (attnlens.probe.AttentionProbe)"
        )
    recording = Recording()
    seen: dict[str, int] = {}

    def hook_for(site: str, probe: AttentionProbe) -> Any:
        def hook(
            _: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], weights: Tensor
        ) -> None:
            told = dict(zip(("weights", "content", "bias"), arguments, strict=False)) | named
            content, bias = told.get("content"), told.get("bias")
            call = seen.get(site, 0)
            seen[site] = call + 1
            recording.add(
                AttentionRecord(
                    site,
                    call,
                    _copy(weights),
                    tuple(Axis(name) for name in probe.axes),
                    None if content is None else _copy(content),
                    None if bias is None else _copy(bias),
                )
            )

        return hook

    handles = [
        probe.register_forward_hook(hook_for(site, probe), with_kwargs=True)
        for site, probe in probes.items()
    ]
    try:
        yield recording
    finally:
        for handle in handles:
            handle.remove()
    if not recording:
        raise NothingRecordedError(
            f"none of the {len(probes)} attention probes ran; call the model inside the block"
        )


def _copy(value: Tensor) -> Tensor:
    return value.detach().clone()
