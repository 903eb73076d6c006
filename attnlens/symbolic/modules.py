"""Which module runs at the moment, what each returned, and which names its steps itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnlens.probe import AttentionProbe
from attnlens.symbolic.expressions import Expression, kept
from attnlens.symbolic.graph import Graph, tensors_in


@dataclass(frozen=True, slots=True, eq=False)
class Returned:
    """What a module returned.

    Attributes:
        path: of the module.
        kind: its class.
        around: path of the module that called it.
        value: a copy of the first tensor.
    """

    path: str
    kind: str
    around: str
    expression: Expression
    value: Tensor


class Modules:
    """Hooks on every part of a module, until `end`.

    Attributes:
        returned: what parts returned, in order; those that only hand on their input left out.
        naming: paths of modules that named a step themselves.
    """

    def __init__(self, root: nn.Module, graph: Graph) -> None:
        self.returned: list[Returned] = []
        self.naming: set[str] = set()
        self._root, self._graph = root, graph
        self._stack: list[str] = []
        self._handles: list[RemovableHandle] = []

    def watch(self) -> None:
        for path, module in self._root.named_modules():
            # A probe works out more while it is watched, and is an identity anyway.
            if path and not isinstance(module, AttentionProbe):
                self._handles.append(module.register_forward_pre_hook(self._enter(path)))
                self._handles.append(module.register_forward_hook(self._leave(path)))

    def end(self) -> None:
        for handle in self._handles:
            handle.remove()

    @property
    def here(self) -> str:
        """The path of the module that runs; ``""``: the root."""
        return self._stack[-1] if self._stack else ""

    def note_step(self) -> None:
        self.naming.add(self.here)

    def _enter(self, path: str) -> Callable[..., None]:
        def enter(*_: Any) -> None:
            self._stack.append(path)

        return enter

    def _leave(self, path: str) -> Callable[..., None]:
        def leave(module: nn.Module, args: Any, output: Any) -> None:
            self._stack.pop()
            first = next(tensors_in(output), None)
            if first is None or not self._graph.knows(first):
                return
            expression = self._graph.of(first)
            came = [self._graph.of(one) for one in tensors_in(args)]
            if expression.is_leaf or expression in came:
                return
            kind = type(module).__name__
            self.returned.append(Returned(path, kind, self.here, expression, kept(first)))

        return leave
