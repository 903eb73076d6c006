"""`describe`: a module as mathematics, from one pass of the live module.

Its symbols, its equations, and what every sign of them means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from attnlens.files import Json
from attnlens.reference.symbolic.graph import Axes, Expression, within
from attnlens.reference.symbolic.operations import ALONG, OPERATIONS
from attnlens.reference.symbolic.tracing import Pass, run
from attnlens.reference.symbolic.writing import (
    Symbol,
    Writer,
    label_steps,
    only_number,
    over_another_axis,
    parameter_symbols,
)
from attnlens.render.models import render_description, render_description_markdown
from attnlens.render.models import shape as shape_words


@dataclass(frozen=True, slots=True)
class Equation:
    """A step: ``text`` and ``latex`` are whole equations.

    Attributes:
        shape: of the value; of one head where the symbol has the index i.
        axes: what its axes are, such as ``token``; ``""`` where that is not known.
    """

    symbol: str
    latex: str
    text: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or buffer: its path, its symbol in the equations, and what it does there."""

    name: str
    symbol: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str
    description: str


class Book:
    """The symbols of a pass, those of leaves by identity, and both ways of writing it.

    ``steps`` are the results with names whose equations are told.
    """

    def __init__(self, told: Pass) -> None:
        self.told = told
        label_steps(told.named)
        self.steps = [named for named in told.named if not named.given]
        used = self._used()
        pieces = [one for one in used if one.kind == "parameter" and "[" in one.name]
        self._by_name = parameter_symbols(told.module, pieces)
        self._axes = {one.name: one.axes for one in used if one.kind == "parameter"}
        self.symbols: dict[int, Symbol] = {}
        for one in (*used, *told.inputs.values()):
            if one.kind == "parameter":
                self.symbols[id(one)] = self._by_name[one.name]
            elif one.kind == "input":
                self.symbols[id(one)] = Symbol(one.symbol)
        self.symbols |= constants_of(used)
        self.text = Writer(False, self.symbols, told.batched)
        self.latex = Writer(True, self.symbols, told.batched)

    def _used(self) -> list[Expression]:
        """Every leaf that an equation holds, in order."""
        leaves: dict[int, Expression] = {}
        for step in self.steps:
            for one in within(step.expression):
                for part in (one, *one.parts):
                    if part.is_leaf and part.named is None:
                        leaves.setdefault(id(part), part)
        return sorted(leaves.values(), key=lambda leaf: leaf.number)

    def equation(self, left: Expression) -> Equation:
        """A step, or an input; without its equation where it has none."""
        named = left.named
        derived = named is not None and not named.given
        return Equation(
            symbol=self.text.name(left),
            latex=self.latex.equation(left) if derived else "",
            text=self.text.equation(left) if derived else "",
            shape=self.shape(left),
            axes=tuple(left.axes[at] or "" for at in self._of_a_head(left)),
            description="input" if named is None else named.description,
        )

    def places(self, expression: Expression) -> list[int]:
        """The axes that are shown, heads first: a batch of one and a single head say nothing."""
        silent = ("batch", "head") if self.told.batched else ("head",)
        shown = [
            at
            for at, (size, axis) in enumerate(zip(expression.shape, expression.axes, strict=True))
            if size != 1 or axis not in silent
        ]
        return sorted(shown, key=lambda at: expression.axes[at] != "head")

    def shape(self, expression: Expression) -> tuple[int, ...]:
        """The shape without the batch, and of one head where heads stand side by side."""
        return tuple(expression.shape[at] for at in self._of_a_head(expression))

    def _of_a_head(self, expression: Expression) -> list[int]:
        return [at for at in self.places(expression) if expression.axes[at] != "head"]

    def parameters(self) -> list[Parameter]:
        """Every parameter and buffer of the module, in the order in which equations need them."""
        module, roles = self.told.module, self._roles()
        made = []
        for name, value in (*module.named_parameters(), *module.named_buffers()):
            pieces = [part for part in self._by_name if part.startswith(f"{name}[")]
            used = [part for part in (name, *pieces) if part in roles] or [name]
            place, words = roles.get(used[0], (len(self.told.named), "not used in this pass"))
            one = Parameter(
                name,
                ", ".join(self._by_name[part].text() for part in used),
                tuple(value.shape),
                tuple(axis or "" for axis in self._axes.get(name, (None,) * value.dim())),
                str(value.dtype).removeprefix("torch."),
                words,
            )
            made.append((place, one))
        return [one for _, one in sorted(made, key=lambda pair: pair[0])]

    def _roles(self) -> dict[str, tuple[int, str]]:
        """Place of the first equation that holds a parameter, and what it does there."""
        roles: dict[str, tuple[int, str]] = {}
        for at, named in enumerate(self.told.named):
            for one in within(named.expression):
                for index, part in enumerate(one.parts):
                    leaf = part.parts[0] if part.kind == "transpose" else part
                    if leaf.kind == "parameter" and leaf.name not in roles:
                        symbol = self.text.name(named.expression)
                        words = f" ({named.description})" if named.description else ""
                        roles[leaf.name] = (at, f"{_role(one, index)} {symbol}{words}")
        return roles

    def notation(self) -> Iterator[str]:
        """A sentence for every sign that the equations hold."""
        operations = [
            one for step in self.steps for one in within(step.expression) if not one.is_leaf
        ]
        yield from self._leaves(operations)
        kinds = {operation.kind for operation in operations}
        if "rows" in kinds:
            yield "T[i]: the rows of T that i names"
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
            yield "f_n(M): f along the n-th axis of M, or the one named, not along its rows"
        if "multiply" in kinds:
            yield "a ⊙ b: element by element"

    def _leaves(self, operations: Iterable[Expression]) -> Iterator[str]:
        """What comes in, what is given, and what is constant."""
        used = [part for operation in operations for part in operation.parts]
        for leaf in self.told.inputs.values():
            if leaf in used:
                axes = " by ".join(axis for axis in leaf.axes if axis and axis != "batch")
                words = f"{shape_words(self.shape(leaf))}{f', {axes}' if axes else ''}"
                yield f"{self.text.name(leaf)}: the input, {words}"
        for named in self.told.named:
            if named.given:
                words = f": {named.description}" if named.description else ""
                shape = shape_words(named.expression.shape[1 if self.told.batched else 0 :])
                yield f"{self.text.name(named.expression)}{words}, {shape}"
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
    """Symbols of the constants that are no single number; alike ones share theirs."""
    symbols: dict[int, Symbol] = {}
    known: list[tuple[Tensor, Symbol]] = []
    for leaf in leaves:
        if leaf.kind != "constant" or leaf.value is None or only_number(leaf.value) is not None:
            continue
        found = next((symbol for value, symbol in known if _alike(value, leaf.value)), None)
        if found is None:
            found = Symbol("later" if _is_later(leaf.value) else f"C_{len(known) + 1}")
            known.append((leaf.value, found))
        symbols[id(leaf)] = found
        leaf.name = _constant_words(leaf.value)
    return symbols


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)


def _is_later(value: Tensor) -> bool:
    """Whether it is true exactly where a key comes after its query."""
    if value.dtype != torch.bool or value.dim() < 2:
        return False
    queries, keys = value.shape[-2:]
    return bool((value == torch.ones_like(value).triu(keys - queries + 1)).all())


def _constant_words(value: Tensor) -> str:
    if _is_later(value):
        return "true where a key comes after the query"
    kind = "truth values" if value.dtype == torch.bool else "numbers"
    return f"fixed {kind}, {shape_words(value.shape)}"


NORMS: Final = {
    "norm": "(v − mean(v)) / √(var(v) + {eps})",
    "rms_norm": "v / √(mean(v²) + {eps})",
}
"""Kind of norm to its definition."""


def _heads(operations: Iterable[Expression]) -> Iterator[str]:
    counts = sorted(
        {operation.options["into"] for operation in operations if operation.kind == "split"}
    )
    if not counts or counts == [1]:
        return
    told = " or ".join(str(count) for count in counts)
    yield (
        f"i: a head, 1 to {told}; W_i and b_i: its share of the outputs of W and b; "
        "concat_i: the heads side by side"
        + ("; where there are fewer, several in a row share one" if len(counts) > 1 else "")
    )


def _norms(operations: Iterable[Expression], symbols: Mapping[int, Symbol]) -> Iterator[str]:
    """The definition of every norm, with p for the place of its scale and shift."""
    places: dict[str, list[str]] = {}
    for operation in operations:
        if operation.kind in NORMS:
            scale = [symbols[id(part)] for part in operation.parts[1:]]
            label = scale[0].label if scale else ""
            known = places.setdefault(
                _norm_words(operation, [part.raw for part in scale], label), []
            )
            if label and label not in known:
                known.append(label)
    for words, labels in places.items():
        yield words + (f"; p is {' or '.join(labels)}" if labels else "")


def _norm_words(expression: Expression, scale: list[str], label: str) -> str:
    """The definition of a norm whose scale and shift have these symbols."""
    rest = [Symbol(raw, "p" if label else "").text() for raw in scale]
    whole = NORMS[expression.kind].format(eps=f"{expression.options['eps']:.6g}")
    if expression.options["weight"]:
        whole = f"{rest.pop(0)} ⊙ {whole}"
    whole = " + ".join([whole, *rest])
    count = expression.options["last"]
    over = "the last axis" if count == 1 else f"the last {count} axes"
    return f"{OPERATIONS[expression.kind].text}{'_p' if label else ''}(v) = {whole}, over {over}"


def _plain(one: Equation | Parameter) -> Json:
    return {**asdict(one), "shape": list(one.shape), "axes": list(one.axes)}


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """A module in symbols.

    Attributes:
        sizes: numbers that fix its shape.
        notation: what the signs mean, a sentence each.
    """

    name: str
    sizes: dict[str, int | float]
    notation: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    equations: tuple[Equation, ...]

    def to_dict(self) -> Json:
        """As plain JSON data."""
        return {
            "name": self.name,
            "sizes": dict(self.sizes),
            "notation": list(self.notation),
            "parameters": [_plain(parameter) for parameter in self.parameters],
            "equations": [_plain(equation) for equation in self.equations],
        }

    def __str__(self) -> str:
        return render_description(self)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return render_description_markdown(self)


def describe(
    module: nn.Module,
    *inputs: Any,
    name: str | None = None,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    batched: bool = False,
    **by_name: Any,
) -> Description:
    """A module's sizes, parameters and equations, from one forward pass of it.

    ::

        print(attnlens.describe(model, torch.randn(3, 8)))

    The module is run as it is, in evaluation mode; change it and the text changes. Steps that
    it names with `attnlens.recording.probe.step` are the left-hand sides; where it names none,
    what its parts return.

    Args:
        inputs: an example of what it is called with; tensors may lie in mappings and lists.
        name: of the model; its class unless given.
        names: symbols of the tensors that come in, in their order; ``x`` unless given.
        axes: what the axes of inputs (by symbol) and parameters (by name) are, such as
            ``{"x": ("batch", "token")}``.
        batched: the first axis of every input is a batch of one, and is left out of shapes.
        by_name: whatever else it is called with by name, such as ``input_ids``.

    Raises:
        RecordingError: no module, no tensor comes in, or nothing that comes out depends on it.
    """
    book = Book(run(module, inputs, by_name, names=names, axes=axes, batched=batched))
    return Description(
        name=type(module).__name__ if name is None else name,
        sizes=sizes_of(module),
        notation=tuple(book.notation()),
        parameters=tuple(book.parameters()),
        equations=tuple(book.equation(step.expression) for step in book.steps),
    )


def sizes_of(module: nn.Module) -> dict[str, int | float]:
    """The module's ``sizes`` where it has them, and how many parameters it has now."""
    own = getattr(module, "sizes", None)
    if is_dataclass(own) and not isinstance(own, type):
        own = {name: getattr(own, name) for name in own.__dataclass_fields__}
    sizes: dict[str, int | float] = {}
    for name, value in own.items() if isinstance(own, Mapping) else ():
        inner = value.items() if isinstance(value, Mapping) else ()
        sizes |= {f"{name}.{key}": one for key, one in inner if _is_number(one)}
        if _is_number(value):
            sizes[name] = value
    return {**sizes, "parameters": sum(parameter.numel() for parameter in module.parameters())}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
