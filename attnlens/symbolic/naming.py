"""Names for what the model does not name itself, from the modules that run meanwhile."""

from __future__ import annotations

from typing import Any, Final

from torch import Tensor, from_numpy, nn
from torch.utils.hooks import RemovableHandle

from attnlens.recording.probe import AttentionProbe
from attnlens.symbolic.graph import Expression, Graph, Named, kept, tensors_in, within
from attnlens.symbolic.operations import LAYOUT, Unknown, evaluated

SHORT: Final = 10
"""What has no more operations needs no names inside."""

LONG: Final = 4
"""Something of so many written operations is not written twice."""


class Modules:
    """Hooks on every part of a module, until `end`.

    Attributes:
        returned: what parts returned, in order, as it may be named, each with the path of the
            part; those that only hand on their input left out.
        naming: paths of modules that named a step themselves.
    """

    def __init__(self, root: nn.Module, graph: Graph) -> None:
        self.returned: list[tuple[str, Named]] = []
        self.naming: set[str] = set()
        self._graph = graph
        self._stack: list[str] = []
        self._handles: list[RemovableHandle] = []
        for path, module in root.named_modules():
            # A probe works out more while it is watched, and is an identity anyway.
            if path and not isinstance(module, AttentionProbe):
                self._watch(path, module)

    def _watch(self, path: str, module: nn.Module) -> None:
        def enter(*_: Any) -> None:
            self._stack.append(path)

        def leave(_: nn.Module, args: Any, output: Any) -> None:
            self._stack.pop()
            self._note(path, type(module).__name__, args, output)

        self._handles.append(module.register_forward_pre_hook(enter))
        self._handles.append(module.register_forward_hook(leave))

    def end(self) -> None:
        for handle in self._handles:
            handle.remove()

    @property
    def here(self) -> str:
        """The path of the module that runs; ``""``: the root."""
        return self._stack[-1] if self._stack else ""

    def _note(self, path: str, kind: str, args: Any, output: Any) -> None:
        """Keep the first tensor that a module returned."""
        first = next(tensors_in(output), None)
        if first is None or not self._graph.knows(first):
            return
        expression = self._graph.of(first)
        came = [self._graph.of(one) for one in tensors_in(args)]
        if expression.is_leaf or expression in came:
            return
        symbol = f"h_{{{path.rpartition('.')[2]}}}"
        named = Named(symbol, f"output of {path} ({kind})", self.here, expression, kept(first))
        self.returned.append((path, named))


def name_outputs(graph: Graph, output: Any) -> None:
    """What comes out is named even where the model names no step."""
    unnamed: list[Tensor] = []
    for tensor in tensors_in(output):
        expression = graph.of(tensor) if graph.knows(tensor) else None
        if expression is None or expression.named is not None or expression.is_leaf:
            continue
        if all(expression is not graph.of(other) for other in unnamed):
            unnamed.append(tensor)
    for place, tensor in enumerate(unnamed, 1):
        symbol = "Y" if len(unnamed) == 1 else f"Y_{place}"
        graph.name(symbol, tensor, "output", "", False)


def name_by_modules(graph: Graph, modules: Modules) -> None:
    """What a module returned has its name where the module around it names no steps."""
    needed = {
        id(one)
        for named in graph.named
        if not named.given
        for one in within(named.expression, whole=True)
    }
    inlined = _short(modules)
    for path, named in modules.returned:
        expression = named.expression
        inside = any(path.startswith(f"{short}.") for short in inlined)
        if inside or named.path in modules.naming:
            continue
        if expression.named is None and id(expression) in needed:
            expression.named = named
            graph.named.append(named)


def _short(modules: Modules) -> set[str]:
    """Modules inside others that name their steps, short enough to be written in full there."""
    return {
        path
        for path, named in modules.returned
        if named.path in modules.naming
        and path not in modules.naming
        and written(named.expression) <= SHORT
    }


def name_repeated(graph: Graph) -> None:
    """Long parts that equations would repeat are written once, as ``u_1`` and so on."""
    uses: dict[int, list[Expression]] = {}
    for named in graph.named:
        if named.given:
            continue
        for one in within(named.expression):
            for part in one.parts:
                if part.named is None and not part.is_leaf:
                    uses.setdefault(id(part), []).append(part)
    # Of parts within one another the longest comes first, and may make the rest needless.
    often = [parts[0] for parts in uses.values() if len(parts) > 1 and written(parts[0]) >= LONG]
    for one in sorted(often, key=lambda one: one.number):
        try:
            value = evaluated(one)
        except Unknown:
            continue
        place = sum(named.symbol.startswith("u_") for named in graph.named) + 1
        one.named = Named(f"u_{place}", "used more than once", "", one, from_numpy(value))
        graph.named.append(one.named)


def written(expression: Expression) -> int:
    """How many operations would be written."""
    return sum(not one.is_leaf and one.kind not in LAYOUT for one in within(expression))
