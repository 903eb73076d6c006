"""Where a model says: this is attention, and these are its axes.

A model that wants to be seen passes its attention weights through an `AttentionProbe`.
The probe is an identity with a name (its path in ``named_modules()``), so a forward hook
on it sees the weights and the model cannot tell whether anyone looks.

A model that wants its forward pass to be read as equations names its intermediate results
with `step`; that too is an identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

StepListener = Callable[[str, Tensor, str, bool], None]
_listeners: tuple[StepListener, ...] = ()


def step(symbol: str, value: Tensor, description: str = "", *, as_input: bool = False) -> Tensor:
    """``value`` unchanged; whoever listens learns what the paper calls it.

    Args:
        symbol: as in the equations, LaTeX without the dollars, such as ``h_{attn}``.
        value: the intermediate result, any shape.
        description: a few words, such as "after the feed-forward network".
        as_input: it is worked out by rules that no equation tells better than the description,
            such as which words are the same.
    """
    for listener in _listeners:
        listener(symbol, value, description, as_input)
    return value


@contextmanager
def steps_told_to(listener: StepListener) -> Iterator[None]:
    """Tell ``listener`` every `step` of the block, of whichever thread."""
    global _listeners
    _listeners = (*_listeners, listener)
    try:
        yield
    finally:
        _listeners = tuple(other for other in _listeners if other is not listener)


class AttentionProbe(nn.Module):
    """Returns the attention weights it is given.

    Args:
        axes: the name of each dimension of the weights, first to last, such as
            ``("batch", "head", "query", "key")``.
    """

    def __init__(self, axes: tuple[str, ...] = ("batch", "head", "query", "key")) -> None:
        super().__init__()
        self.axes = axes

    def forward(
        self, weights: Tensor, content: Tensor | None = None, bias: Tensor | None = None
    ) -> Tensor:
        """``weights`` unchanged.

        Args:
            weights: shares that sum to 1 along the last axis (or are all 0).
            content: the part of the logits from query times key, same shape, if told.
            bias: the part of the logits from built-in biases, same shape, if told.
        """
        del content, bias  # for the hooks
        return weights

    @property
    def watched(self) -> bool:
        """Whether a hook listens, so that parts told only to hooks are worth working out."""
        return bool(self._forward_hooks or self._forward_pre_hooks)

    def extra_repr(self) -> str:
        return ", ".join(self.axes)
