"""Running a module once and seeing what it computes, call by call.

The module runs as it always does: nothing of it is changed, and its output is what it would be.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnlens.errors import RecordingError
from attnlens.recording.probe import steps_told_to
from attnlens.symbolic import shapes
from attnlens.symbolic.graph import (
    Arguments,
    Axes,
    ByName,
    Call,
    Expression,
    Graph,
    Named,
    memory_of,
    tensors_in,
)
from attnlens.symbolic.naming import Modules, name_by_modules, name_outputs, name_repeated
from attnlens.symbolic.translate import FUNCTIONS
from attnlens.symbolic.written_out import WRITTEN_OUT, NotWrittenOut, agrees


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """One forward pass.

    Attributes:
        module: what ran.
        inputs: the leaves that came in, by symbol.
        named: results with names, in the order in which they were computed.
        output: what the module returned.
        batched: whether the first axis of the input is a batch of one that nobody is told of.
    """

    module: nn.Module
    inputs: Mapping[str, Expression]
    named: tuple[Named, ...]
    output: Any
    batched: bool


def _changes(args: Arguments) -> int:
    """How often the first tensor of a call has been changed in place, as torch counts it."""
    try:
        return int(args[0]._version) if args and isinstance(args[0], Tensor) else 0
    except RuntimeError:
        return 0  # those of inference mode are not counted


class _Watch(TorchFunctionMode):
    """Builds the graph from every call of torch."""

    def __init__(self, graph: Graph, modules: Modules) -> None:
        super().__init__()
        self._graph = graph
        self._modules = modules
        self._thread = threading.get_ident()

    def __torch_function__(
        self,
        function: Any,
        types: Any,
        args: Arguments = (),
        kwargs: ByName | None = None,
    ) -> Any:
        del types
        named = kwargs or {}
        before = _changes(args)
        result = function(*args, **named)
        if threading.get_ident() == self._thread:
            self._note(function, result, args, named)
            in_place = _changes(args) != before and (result is None or result is args[0])
            changed = named.get("out", args[0] if in_place else None)
            for one in tensors_in(changed):
                self._graph.written_into(one)
        return result

    def _note(self, function: Any, result: Any, args: Arguments, named: ByName) -> None:
        name = _name(function)
        if name == "setitem":
            # After `x[0] += 1` what is put there is a view, and was noted when it changed.
            if not isinstance(args[2], Tensor) or memory_of(args[2]) != memory_of(args[0]):
                self._opaque("filled", args[0], args)
            return
        results = list(tensors_in(result))
        if not results or (name in WRITTEN_OUT and self._written_out(name, results, args, named)):
            return
        call = Call(self._graph, function, results[0], args, named)
        translator = FUNCTIONS.get(name.rstrip("_")) if args else None
        if isinstance(result, Tensor) and translator is not None and translator(call) is not None:
            return
        if isinstance(result, tuple) and shapes.parted(call, name, result):
            return
        in_place = name.endswith("_")
        for place, one in enumerate(results):
            if in_place or not self._graph.knows(one):
                told = name.rstrip("_") if len(results) == 1 else f"{name}_{place + 1}"
                self._opaque(told, one, (*args, *named.values()))

    def _opaque(self, name: str, result: Tensor, given: Sequence[Any]) -> None:
        parts = tuple(self._graph.of(one) for one in tensors_in(list(given)))
        like = parts[0] if parts and parts[0].shape == tuple(result.shape) else None
        axes = (None,) * result.dim() if like is None else like.axes
        self._graph.operation(result, "opaque", parts, {"name": name}, axes)

    def _written_out(
        self, name: str, results: list[Tensor], args: Arguments, named: ByName
    ) -> bool:
        """Attention in one call: its steps, where they give the same."""
        graph, before = self._graph, len(self._graph.named)

        def say(symbol: str, value: Tensor, description: str) -> Tensor:
            graph.name(symbol, value, description, self._modules.here, False)
            return value

        def part(whole: Tensor, rows: Tensor, place: int, symbol: str) -> Tensor:
            leaf = graph.of(whole)
            if leaf.kind == "parameter":
                graph.leaf(rows, "parameter", symbol, f"{leaf.name}[{place}]")
            return rows

        try:
            with self:
                output, weights = WRITTEN_OUT[name](say, part, *args, **named)
                if len(results) == 2 and results[1].dim() < weights.dim():
                    weights = weights.mean(-3)
        except NotWrittenOut:
            output = None
        if output is None or not agrees(output, results[0]):
            graph.forget_names(before)
            return False
        graph.put_again(results[0], graph.of(output))
        if len(results) == 2:
            graph.put_again(results[1], graph.of(weights))
        return True


@contextmanager
def _step_by_step(module: nn.Module) -> Iterator[None]:
    """No dropout, and torch's own layers do not compute in one call that shows nothing.

    Afterwards every part of the module is as it was.
    """
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    training = [one for one in module.modules() if one.training]
    for one in training:
        one.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
        for one in training:
            one.training = True


def run(
    module: nn.Module,
    inputs: Sequence[Any],
    *,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    batched: bool = False,
) -> Pass:
    """Run the module once, in evaluation mode and without gradients.

    Args:
        inputs: what it is called with; tensors may lie in mappings and lists.
        names: the symbols of the tensors in ``inputs``, in their order.
        axes: what the axes of inputs (by symbol) and parameters (by name) are.
        batched: the first axis of every input is a batch of one.

    Raises:
        RecordingError: no tensor comes in, or none that depends on the input comes out.
    """
    kind = type(module).__name__
    graph, known = Graph(), dict(axes or {})
    arriving = list(tensors_in(list(inputs)))
    if not arriving:
        raise RecordingError(f"{kind}: nothing to run it on; give an example of its input")
    leaves = {}
    for symbol, tensor in zip(_symbols(arriving, names, kind), arriving, strict=True):
        given = known.get(symbol, (None,) * tensor.dim())
        lead = ("batch", *given[1:]) if batched and tensor.dim() else given
        leaves[symbol] = graph.leaf(tensor, "input", symbol, axes=lead)
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        graph.leaf(value, "parameter", name=name, axes=known.get(name))
    modules = Modules(module, graph)

    def told(symbol: str, value: Tensor, description: str, given: bool) -> None:
        modules.naming.add(modules.here)
        graph.name(symbol, value, description, modules.here, given)

    with ExitStack() as stack:
        stack.callback(modules.end)
        stack.enter_context(_step_by_step(module))
        stack.enter_context(steps_told_to(told))
        stack.enter_context(_Watch(graph, modules))
        output = module(*inputs)
    name_outputs(graph, output)
    name_by_modules(graph, modules)
    name_repeated(graph)
    named = tuple(sorted(graph.named, key=lambda one: one.expression.number))
    if not named:
        raise RecordingError(f"{kind}: nothing that it returns depends on the input")
    return Pass(module, leaves, named, output, batched)


def _name(function: Any) -> str:
    """``matmul`` for a function, a method or an operator; a property by its name."""
    name: str = getattr(function, "__name__", type(function).__name__)
    if name == "__get__":
        name = getattr(getattr(function, "__self__", None), "__name__", name)
    return name.strip("_") if name.startswith("__") else name


def _symbols(arriving: Sequence[Tensor], names: Sequence[str], kind: str) -> list[str]:
    if names and len(names) != len(arriving):
        raise RecordingError(f"{kind}: {len(names)} names for {len(arriving)} tensors that come in")
    if names:
        return list(names)
    return ["x"] if len(arriving) == 1 else [f"x_{at}" for at in range(1, len(arriving) + 1)]
