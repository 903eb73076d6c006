"""`AttentionProbe` and `step`, which let a model expose its attention and its equations.

A model passes attention weights through an `AttentionProbe`, and intermediate results through
`step`. Both return their input unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

StepListener = Callable[[str, Tensor, str, bool], None]
_listeners: tuple[StepListener, ...] = ()


def step(symbol: str, value: Tensor, description: str = "", *, as_input: bool = False) -> Tensor:
    """Return ``value`` unchanged, and report the step to the listeners.

    Args:
        symbol: the symbol in the equations, in LaTeX without dollar signs, such as ``h_{attn}``.
        value: the intermediate result, of any shape.
        description: a few words, such as "after the feed-forward network".
        as_input: whether to show the value as an input instead of an equation.
    """
    for listener in _listeners:
        listener(symbol, value, description, as_input)
    return value


@contextmanager
def steps_told_to(listener: StepListener) -> Iterator[None]:
    """Inside this ``with`` block, report every `step` call in any thread to ``listener``."""
    global _listeners
    _listeners = (*_listeners, listener)
    try:
        yield
    finally:
        _listeners = tuple(other for other in _listeners if other is not listener)


class AttentionProbe(nn.Module):
    """An identity module that exposes attention weights to hooks.

    Args:
        axes: the names of the dimensions of the weights, in order.
    """

    def __init__(self, axes: tuple[str, ...] = ("batch", "head", "query", "key")) -> None:
        super().__init__()
        self.axes = axes

    def forward(
        self, weights: Tensor, content: Tensor | None = None, bias: Tensor | None = None
    ) -> Tensor:
        """Return ``weights`` unchanged.

        Args:
            weights: weights that sum to 1 along the last axis; a row may also be all 0.
            content: optionally, the logits' part from query times key, in the shape of ``weights``.
            bias: optionally, the logits' part from built-in biases, in the shape of ``weights``.
        """
        del content, bias  # only the hooks use these
        return weights

    @property
    def watched(self) -> bool:
        """Whether a hook is registered. Without a hook, ``content`` and ``bias`` are not needed."""
        return bool(self._forward_hooks or self._forward_pre_hooks)

    def extra_repr(self) -> str:
        return ", ".join(self.axes)
