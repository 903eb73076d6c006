"""Run a module once, and record every torch call as an expression."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, from_numpy, nn
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle

from attnlens.errors import RecordingError
from attnlens.recording.probe import AttentionProbe, steps_told_to
from attnlens.recording.sites import module_given
from attnlens.reference.symbolic.expressions import (
    LAYOUT,
    NO_OPTIONS,
    Axes,
    Call,
    Expression,
    Graph,
    Options,
    Step,
    evaluate,
    memory_of,
    tensors_in,
    within,
)
from attnlens.reference.symbolic.torch_calls import (
    FUNCTIONS,
    WRITTEN_OUT,
    agrees,
    parted,
)

_MAX_INLINED_OPERATIONS: Final = 10
"""The maximum number of operations of a submodule without its own equation."""

_MIN_REPEATED_OPERATIONS: Final = 4
"""Repeated expressions with at least this many operations get a name."""


class ModuleHooks:
    """Hooks on every submodule of a module. The method `end` removes the hooks.

    Attributes:
        returned: the path and the step of each submodule that returned a new result.
        naming: the paths of the modules that name steps in their own code.
    """

    def __init__(self, root: nn.Module, graph: Graph) -> None:
        self.returned: list[tuple[str, Step]] = []
        self.naming: set[str] = set()
        self._graph = graph
        self._stack: list[str] = []
        self._handles: list[RemovableHandle] = []
        for path, module in root.named_modules():
            # Probes only return their input, and a hook on a probe makes the model compute more.
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
    def current_path(self) -> str:
        """The path of the module that is running; ``""`` for the root."""
        return self._stack[-1] if self._stack else ""

    def _note(self, path: str, kind: str, args: Any, output: Any) -> None:
        first = next(tensors_in(output), None)
        if first is None or not self._graph.knows(first):
            return
        expression = self._graph.of(first)
        arriving = [self._graph.of(tensor) for tensor in tensors_in(args)]
        if expression.is_leaf or expression in arriving:
            return
        symbol = f"h_{{{path.rpartition('.')[2]}}}"
        step = Step(
            symbol,
            f"output of {path} ({kind})",
            self.current_path,
            expression,
            first.detach().clone(),
        )
        self.returned.append((path, step))


def name_outputs(graph: Graph, output: Any) -> None:
    """Give names to the unnamed outputs of the model."""
    unnamed: dict[int, Tensor] = {}
    for tensor in tensors_in(output):
        expression = graph.of(tensor) if graph.knows(tensor) else None
        if expression is not None and expression.step is None and not expression.is_leaf:
            unnamed.setdefault(id(expression), tensor)
    for index, tensor in enumerate(unnamed.values(), 1):
        symbol = "Y" if len(unnamed) == 1 else f"Y_{index}"
        graph.name(symbol, tensor, "output", "", False)


def name_by_modules(graph: Graph, modules: ModuleHooks) -> None:
    """Give names to submodule outputs, unless the surrounding module names its own steps."""
    needed = {
        id(part)
        for step in graph.steps
        if not step.as_input
        for part in within(step.expression, through_steps=True)
    }
    # Short submodules of modules that name their steps. They are written in full, so the results
    # inside them get no names.
    inlined = tuple(
        f"{path}."
        for path, step in modules.returned
        if step.path in modules.naming
        and path not in modules.naming
        and operation_count(step.expression) <= _MAX_INLINED_OPERATIONS
    )
    for path, step in modules.returned:
        expression = step.expression
        if path.startswith(inlined) or step.path in modules.naming:
            continue
        if expression.step is None and id(expression) in needed:
            expression.step = step
            graph.steps.append(step)


def name_repeated(graph: Graph) -> None:
    """Give names (``u_1``, ``u_2`` and so on) to long repeated expressions."""
    uses: dict[int, list[Expression]] = {}
    for step in graph.steps:
        if step.as_input:
            continue
        for expression in within(step.expression):
            for part in expression.parts:
                if part.step is None and not part.is_leaf:
                    uses.setdefault(id(part), []).append(part)
    often = [
        parts[0]
        for parts in uses.values()
        if len(parts) > 1 and operation_count(parts[0]) >= _MIN_REPEATED_OPERATIONS
    ]
    for expression in sorted(often, key=lambda expression: expression.number):
        count = sum(step.symbol.startswith("u_") for step in graph.steps) + 1
        expression.step = Step(
            f"u_{count}", "used more than once", "", expression, from_numpy(evaluate(expression))
        )
        graph.steps.append(expression.step)


def operation_count(expression: Expression) -> int:
    """Return the number of visible operations in the formula of an expression."""
    return sum(not part.is_leaf and part.kind not in LAYOUT for part in within(expression))


@dataclass(frozen=True, slots=True, eq=False)
class ForwardPass:
    """One forward pass of a module.

    Attributes:
        inputs: the expression of each input, by symbol.
        steps: the named results, in order of computation.
        batched: as in `describe`.
    """

    module: nn.Module
    inputs: Mapping[str, Expression]
    steps: tuple[Step, ...]
    output: Any
    batched: bool


def _changes(args: tuple[Any, ...]) -> int:
    try:
        return int(args[0]._version) if args and isinstance(args[0], Tensor) else 0
    except RuntimeError:
        return 0  # tensors of inference mode have no version counter


class _TorchCalls(TorchFunctionMode):
    def __init__(self, graph: Graph, modules: ModuleHooks) -> None:
        super().__init__()
        self._graph = graph
        self._modules = modules
        self._thread = threading.get_ident()

    def __torch_function__(
        self,
        function: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Options | None = None,
    ) -> Any:
        del types
        by_name = kwargs or {}
        before = _changes(args)
        result = function(*args, **by_name)
        if _name(function).removeprefix("new_") in ("empty", "empty_like"):
            result.zero_()  # uninitialised memory would differ from pass to pass
        if threading.get_ident() == self._thread:
            self._note(function, result, args, by_name)
            in_place = _changes(args) != before and (result is None or result is args[0])
            changed = by_name.get("out", args[0] if in_place else None)
            for tensor in tensors_in(changed):
                self._graph.written_into(tensor)
        return result

    def _note(self, function: Any, result: Any, args: tuple[Any, ...], by_name: Options) -> None:
        name = _name(function)
        if name == "setitem":
            # In `x[0] += 1` the assigned value is a view of x, whose change was already recorded.
            if not isinstance(args[2], Tensor) or memory_of(args[2]) != memory_of(args[0]):
                self._opaque("filled", args[0], args)
            return
        results = list(tensors_in(result))
        if not results or (name in WRITTEN_OUT and self._written_out(name, results, args, by_name)):
            return
        call = Call(self._graph, function, results[0], args, by_name)
        translator = FUNCTIONS.get(name.rstrip("_")) if args else None
        # With an axis, `max` and `min` return the values and their indices.
        single = isinstance(result, Tensor) or name in ("max", "min")
        if single and translator is not None and translator(call) is not None:
            for places in results[1:]:
                self._opaque(f"arg{name}", places, args)
            return
        if isinstance(result, tuple) and parted(call, name, result):
            return
        in_place = name.endswith("_")
        for index, tensor in enumerate(results):
            if in_place or not self._graph.knows(tensor):
                opaque_name = name.rstrip("_") if len(results) == 1 else f"{name}_{index + 1}"
                self._opaque(opaque_name, tensor, (*args, *by_name.values()))

    def _opaque(self, name: str, result: Tensor, args: Sequence[Any]) -> None:
        parts = tuple(self._graph.of(tensor) for tensor in tensors_in(list(args)))
        like = parts[0] if parts and parts[0].shape == tuple(result.shape) else None
        axes = (None,) * result.dim() if like is None else like.axes
        self._graph.operation(result, "opaque", parts, {"name": name}, axes)

    def _written_out(
        self, name: str, results: list[Tensor], args: tuple[Any, ...], by_name: Options
    ) -> bool:
        """Record a fused attention call as steps; return False if they do not give its result."""
        graph, before = self._graph, len(self._graph.steps)

        def say(symbol: str, value: Tensor, description: str) -> Tensor:
            graph.name(symbol, value, description, self._modules.current_path, False)
            return value

        def part(packed: Tensor, rows: Tensor, index: int, symbol: str) -> Tensor:
            leaf = graph.of(packed)
            if leaf.kind == "parameter":
                graph.leaf(rows, "parameter", symbol, f"{leaf.name}[{index}]")
            return rows

        with self:
            written = WRITTEN_OUT[name](say, part, *args, **by_name)
            if written is not None and len(results) == 2 and results[1].dim() < written[1].dim():
                written = written[0], written[1].mean(-3)
        if written is None or not agrees(written[0], results[0]):
            graph.forget_names(before)
            return False
        output, weights = written
        graph.put_again(results[0], graph.of(output))
        if len(results) == 2:
            graph.put_again(results[1], graph.of(weights))
        return True


@contextmanager
def _step_by_step(module: nn.Module) -> Iterator[None]:
    """Turn off training mode, gradients and torch's fast path, which hides the steps of a layer."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    training = [submodule for submodule in module.modules() if submodule.training]
    for submodule in training:
        submodule.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
        for submodule in training:
            submodule.training = True


def run(
    module: nn.Module,
    inputs: Sequence[Any],
    by_name: Options = NO_OPTIONS,
    *,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    batched: bool = False,
) -> ForwardPass:
    """Run the module once, in evaluation mode; arguments and errors are as in `describe`."""
    kind = type(module).__name__
    module_given(module, "describe or trace")
    graph, known_axes = Graph(), dict(axes or {})
    arriving = list(tensors_in([*inputs, by_name]))
    if not arriving:
        raise RecordingError(
            f"{kind} cannot be run without an input; give torch tensors as an example"
        )
    leaves = {}
    for symbol, tensor in zip(_symbols(arriving, names, kind), arriving, strict=True):
        input_axes = known_axes.get(symbol, (None,) * tensor.dim())
        if len(input_axes) != tensor.dim():
            raise RecordingError(
                f"{symbol} has shape {tuple(tensor.shape)}, but its axes are {input_axes}; "
                "give one axis per dimension"
            )
        lead = ("batch", *input_axes[1:]) if batched and tensor.dim() else input_axes
        leaves[symbol] = graph.leaf(tensor, "input", symbol, axes=lead)
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        graph.leaf(value, "parameter", name=name, axes=known_axes.get(name))
    modules = ModuleHooks(module, graph)

    def name_step(symbol: str, value: Tensor, description: str, as_input: bool) -> None:
        modules.naming.add(modules.current_path)
        graph.name(symbol, value, description, modules.current_path, as_input)

    with ExitStack() as stack:
        stack.callback(modules.end)
        stack.enter_context(_step_by_step(module))
        stack.enter_context(steps_told_to(name_step))
        stack.enter_context(_TorchCalls(graph, modules))
        output = module(*inputs, **by_name)
    name_outputs(graph, output)
    name_by_modules(graph, modules)
    name_repeated(graph)
    steps = tuple(sorted(graph.steps, key=lambda step: step.expression.number))
    if not steps:
        raise RecordingError(
            f"{kind} returns nothing that depends on its input, so there is no equation to show"
        )
    return ForwardPass(module, leaves, steps, output, batched)


def _name(function: Any) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    if name == "__get__":
        name = getattr(getattr(function, "__self__", None), "__name__", name)
    return name.strip("_") if name.startswith("__") else name


def _symbols(arriving: Sequence[Tensor], names: Sequence[str], kind: str) -> list[str]:
    if names and len(names) != len(arriving):
        raise RecordingError(
            f"{kind} has {len(arriving)} input tensors, but {len(names)} names were "
            "given; give one name per tensor"
        )
    if names:
        return list(names)
    return ["x"] if len(arriving) == 1 else [f"x_{at}" for at in range(1, len(arriving) + 1)]
