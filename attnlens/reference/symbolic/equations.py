"""`describe` and `trace`: the equations and the numbers of a module, from one forward pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from attnlens.reference.symbolic.description import (
    Description,
    Equation,
    Parameter,
    Trace,
    Value,
    shape_text,
)
from attnlens.reference.symbolic.expressions import (
    ALONG,
    OPERATIONS,
    Axes,
    Expression,
    difference,
    within,
)
from attnlens.reference.symbolic.forward_pass import ForwardPass, run
from attnlens.reference.symbolic.notation import (
    Symbol,
    Writer,
    label_steps,
    only_number,
    over_another_axis,
    parameter_symbols,
)


class PassSymbols:
    """The symbols of a forward pass.

    Attributes:
        steps: the named results that have an equation.
        symbols: the symbol of each leaf, by ``id(leaf)``.
        text, latex: the writers for plain text and for LaTeX.
    """

    def __init__(self, forward_pass: ForwardPass) -> None:
        self.forward_pass = forward_pass
        label_steps(forward_pass.steps)
        self.steps = [step for step in forward_pass.steps if not step.as_input]
        used = self._used()
        pieces = [leaf for leaf in used if leaf.kind == "parameter" and "[" in leaf.name]
        self._by_name = parameter_symbols(forward_pass.module, pieces)
        self._axes = {leaf.name: leaf.axes for leaf in used if leaf.kind == "parameter"}
        self.symbols: dict[int, Symbol] = {}
        for leaf in (*used, *forward_pass.inputs.values()):
            if leaf.kind == "parameter":
                self.symbols[id(leaf)] = self._by_name[leaf.name]
            elif leaf.kind == "input":
                self.symbols[id(leaf)] = Symbol(leaf.symbol)
        self.symbols |= constants_of(used)
        self.text = Writer(False, self.symbols, forward_pass.batched)
        self.latex = Writer(True, self.symbols, forward_pass.batched)

    def _used(self) -> list[Expression]:
        leaves: dict[int, Expression] = {}
        for step in self.steps:
            for expression in within(step.expression):
                for part in (expression, *expression.parts):
                    if part.is_leaf and part.step is None:
                        leaves.setdefault(id(part), part)
        return sorted(leaves.values(), key=lambda leaf: leaf.number)

    def equation(self, left: Expression) -> Equation:
        """Return the equation of a step; ``text`` and ``latex`` are empty for an input."""
        step = left.step
        derived = step is not None and not step.as_input
        return Equation(
            symbol=self.text.name(left),
            latex=self.latex.equation(left) if derived else "",
            text=self.text.equation(left) if derived else "",
            shape=self.shape(left),
            axes=tuple(left.axes[at] or "" for at in self._of_a_head(left)),
            description="input" if step is None else step.description,
        )

    def places(self, expression: Expression) -> list[int]:
        """Return the indices of the displayed axes, with the head axis first.

        A head axis of size 1 and, in a batched pass, a batch axis of size 1 are not displayed.
        """
        silent = ("batch", "head") if self.forward_pass.batched else ("head",)
        visible = [
            at
            for at, (size, axis) in enumerate(zip(expression.shape, expression.axes, strict=True))
            if size != 1 or axis not in silent
        ]
        return sorted(visible, key=lambda at: expression.axes[at] != "head")

    def shape(self, expression: Expression) -> tuple[int, ...]:
        """Return the sizes of the displayed axes, without the head axis."""
        return tuple(expression.shape[at] for at in self._of_a_head(expression))

    def _of_a_head(self, expression: Expression) -> list[int]:
        return [at for at in self.places(expression) if expression.axes[at] != "head"]

    def parameters(self) -> list[Parameter]:
        """Return every parameter and buffer of the module, in the order of their first use."""
        module, roles = self.forward_pass.module, self._roles()
        made = []
        for name, value in (*module.named_parameters(), *module.named_buffers()):
            pieces = [part for part in self._by_name if part.startswith(f"{name}[")]
            used = [part for part in (name, *pieces) if part in roles] or [name]
            first_use, words = roles.get(
                used[0], (len(self.forward_pass.steps), "not used in this pass")
            )
            parameter = Parameter(
                name,
                ", ".join(self._by_name[part].text() for part in used),
                tuple(value.shape),
                tuple(axis or "" for axis in self._axes.get(name, (None,) * value.dim())),
                str(value.dtype).removeprefix("torch."),
                words,
            )
            made.append((first_use, parameter))
        return [parameter for _, parameter in sorted(made, key=lambda pair: pair[0])]

    def _roles(self) -> dict[str, tuple[int, str]]:
        """Map each parameter to its first equation's index and its role in the equation."""
        roles: dict[str, tuple[int, str]] = {}
        for at, step in enumerate(self.forward_pass.steps):
            for expression in within(step.expression):
                for index, part in enumerate(expression.parts):
                    leaf = part.parts[0] if part.kind == "transpose" else part
                    if leaf.kind == "parameter" and leaf.name not in roles:
                        symbol = self.text.name(step.expression)
                        words = f" ({step.description})" if step.description else ""
                        roles[leaf.name] = (at, f"{_role(expression, index)} {symbol}{words}")
        return roles

    def notation(self) -> Iterator[str]:
        """Yield sentences that explain the symbols and signs in the equations."""
        operations = [
            expression
            for step in self.steps
            for expression in within(step.expression)
            if not expression.is_leaf
        ]
        yield from self._leaves(operations)
        kinds = {operation.kind for operation in operations}
        if "rows" in kinds:
            yield "T[i]: the rows of T at the indices i"
        yield from _heads(operations)
        yield from _norms(operations, self.symbols)
        yield from (
            operation.meaning
            for kind, operation in OPERATIONS.items()
            if kind in kinds and operation.meaning
        )
        if any(
            operation.kind in ALONG and over_another_axis(operation) for operation in operations
        ):
            yield "f_n(M): f along axis n of M, where n is a number or a name"
        if "multiply" in kinds:
            yield "a ⊙ b: element by element"

    def _leaves(self, operations: Iterable[Expression]) -> Iterator[str]:
        used = [part for operation in operations for part in operation.parts]
        for leaf in self.forward_pass.inputs.values():
            if leaf in used:
                axes = " by ".join(axis for axis in leaf.axes if axis and axis != "batch")
                words = f"{shape_text(self.shape(leaf))}{f', {axes}' if axes else ''}"
                yield f"{self.text.name(leaf)}: the input, {words}"
        for step in self.forward_pass.steps:
            if step.as_input:
                words = f": {step.description}" if step.description else ""
                shape = shape_text(step.expression.shape[1 if self.forward_pass.batched else 0 :])
                yield f"{self.text.name(step.expression)}{words}, {shape}"
        constants = {
            self.symbols[id(part)].text(): part.name
            for part in used
            if part.kind == "constant" and id(part) in self.symbols
        }
        yield from (f"{symbol}: {words}" for symbol, words in constants.items())


def _role(expression: Expression, index: int) -> str:
    if expression.kind == "rows" and index == 0:
        return "table whose rows are"
    if expression.kind in ("norm", "rms_norm"):
        scales = index == 1 and expression.options["weight"]
        return "scale of the norm in" if scales else "shift of the norm in"
    if expression.kind == "matmul":
        return "weights of"
    return "added in" if expression.kind == "add" else "in"


def constants_of(leaves: Iterable[Expression]) -> dict[int, Symbol]:
    """Map the ``id`` of each constant to a symbol, and set the ``name`` of the constant.

    Equal constants share a symbol. A constant whose elements are all the same number is left out.
    """
    symbols: dict[int, Symbol] = {}
    constants: list[tuple[Tensor, Symbol]] = []
    for leaf in leaves:
        value = leaf.value
        if leaf.kind != "constant" or value is None or only_number(value) is not None:
            continue
        later = _is_later(value)
        alike = (
            its
            for other, its in constants
            if other.dtype == value.dtype and torch.equal(other, value)
        )
        symbol = next(alike, None)
        if symbol is None:
            symbol = Symbol("later" if later else f"C_{len(constants) + 1}")
            constants.append((value, symbol))
        symbols[id(leaf)] = symbol
        kind = "truth values" if value.dtype == torch.bool else "numbers"
        leaf.name = f"fixed {kind}, {shape_text(value.shape)}"
        if later:
            leaf.name = "true where a key comes after the query"
    return symbols


def _is_later(value: Tensor) -> bool:
    if value.dtype != torch.bool or value.dim() < 2:
        return False
    queries, keys = value.shape[-2:]
    return bool((value == torch.ones_like(value).triu(keys - queries + 1)).all())


_NORMS: Final = {
    "norm": "(v − mean(v)) / √(var(v) + {eps})",
    "rms_norm": "v / √(mean(v²) + {eps})",
}


def _heads(operations: Iterable[Expression]) -> Iterator[str]:
    counts = sorted(
        {operation.options["into"] for operation in operations if operation.kind == "split"}
    )
    if not counts or counts == [1]:
        return
    counts_text = " or ".join(str(count) for count in counts)
    shared = "; if W has fewer parts than there are heads, consecutive heads use the same part"
    yield (
        f"i: the head number, 1 to {counts_text}; W_i and b_i: the parts of W and b for head i; "
        f"concat_i: the heads side by side{shared if len(counts) > 1 else ''}"
    )


def _norms(operations: Iterable[Expression], symbols: Mapping[int, Symbol]) -> Iterator[str]:
    """Yield the definition of each norm, with the letter p as the label of the parameters."""
    places: dict[str, list[str]] = {}
    for operation in operations:
        if operation.kind in _NORMS:
            scale = [symbols[id(part)] for part in operation.parts[1:]]
            label = scale[0].label if scale else ""
            norm_labels = places.setdefault(
                _norm_words(operation, [part.raw for part in scale], label), []
            )
            if label and label not in norm_labels:
                norm_labels.append(label)
    for words, labels in places.items():
        yield words + (f"; p is {' or '.join(labels)}" if labels else "")


def _norm_words(expression: Expression, scale: list[str], label: str) -> str:
    rest = [Symbol(raw, "p" if label else "").text() for raw in scale]
    formula = _NORMS[expression.kind].format(eps=f"{expression.options['eps']:.6g}")
    if expression.options["weight"]:
        formula = f"{rest.pop(0)} ⊙ {formula}"
    formula = " + ".join([formula, *rest])
    count = expression.options["last"]
    over = "the last axis" if count == 1 else f"the last {count} axes"
    return f"{OPERATIONS[expression.kind].text}{'_p' if label else ''}(v) = {formula}, over {over}"


def describe(
    module: nn.Module,
    *inputs: Any,
    name: str | None = None,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    batched: bool = False,
    **by_name: Any,
) -> Description:
    """Run a module once, and return its sizes, parameters and equations.

    ::

        print(attnlens.describe(model, torch.randn(3, 8)))

    The module runs in evaluation mode. Each equation defines a result that the module names with
    `attnlens.recording.probe.step`, or otherwise the output of a submodule.

    Args:
        inputs: example arguments of the module; tensors may be inside mappings and lists.
        name: the model's name; by default the name of its class.
        names: the symbols of the input tensors; by default ``x``, or ``x_1``, ``x_2`` and so on.
        axes: the axis names by input symbol or parameter name: ``{"x": ("batch", "token")}``.
        batched: whether every input begins with a batch axis of size 1, which is not displayed.
        by_name: keyword arguments of the module, such as ``input_ids``.

    Raises:
        RecordingError: the object is not a module, no input is a tensor, ``names`` or ``axes`` do
            not fit the inputs, or no output depends on an input.
    """
    pass_symbols = PassSymbols(
        run(module, inputs, by_name, names=names, axes=axes, batched=batched)
    )
    return Description(
        name=type(module).__name__ if name is None else name,
        sizes=sizes_of(module),
        notation=tuple(pass_symbols.notation()),
        parameters=tuple(pass_symbols.parameters()),
        equations=tuple(pass_symbols.equation(step.expression) for step in pass_symbols.steps),
    )


def sizes_of(module: nn.Module) -> dict[str, int | float]:
    """Return the number of parameters, and the numbers in ``module.sizes`` if it exists."""
    own = getattr(module, "sizes", {})
    if is_dataclass(own) and not isinstance(own, type):
        own = {name: getattr(own, name) for name in own.__dataclass_fields__}
    sizes: dict[str, int | float] = {}
    for name, value in own.items() if isinstance(own, Mapping) else ():
        inner = {name: value}
        if isinstance(value, Mapping):
            inner = {f"{name}.{key}": size for key, size in value.items()}
        sizes |= {key: size for key, size in inner.items() if type(size) in (int, float)}
    return {**sizes, "parameters": sum(parameter.numel() for parameter in module.parameters())}


def trace(
    module: nn.Module,
    *inputs: Any,
    name: str | None = None,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    batched: bool = False,
    caption: str = "",
    **by_name: Any,
) -> Trace:
    """Return every named result of a forward pass, with the symbols that `describe` uses.

    ::

        print(attnlens.trace(model, torch.randn(3, 8)))

    Numpy recomputes each equation, for comparison with the model's result. The other arguments are
    those of `describe`.

    Args:
        labels: the labels along each named axis.
        caption: a one-line description of the input.

    Raises:
        RecordingError: as in `describe`.
    """
    pass_symbols = PassSymbols(
        run(module, inputs, by_name, names=names, axes=axes, batched=batched)
    )
    return Trace(
        name=type(module).__name__ if name is None else name,
        caption=caption,
        labels={axis: tuple(map(str, axis_labels)) for axis, axis_labels in (labels or {}).items()},
        inputs=tuple(
            _value(pass_symbols, leaf) for leaf in pass_symbols.forward_pass.inputs.values()
        ),
        steps=tuple(
            _value(pass_symbols, step.expression) for step in pass_symbols.forward_pass.steps
        ),
        output=pass_symbols.forward_pass.output,
    )


def _value(pass_symbols: PassSymbols, expression: Expression) -> Value:
    values = expression.value if expression.step is None else expression.step.value
    assert values is not None
    equation, places = pass_symbols.equation(expression), pass_symbols.places(expression)
    silent = [at for at in range(values.dim()) if at not in places]
    with_heads = {"axes": tuple(expression.axes[at] or "" for at in places)}
    return Value(
        **asdict(equation) | with_heads,
        values=values.permute((*silent, *places)).reshape([expression.shape[at] for at in places]),
        difference=None if expression.step is None else difference(expression.step),
    )
