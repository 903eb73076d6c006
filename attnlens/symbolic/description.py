"""`describe`: a module as mathematics, derived from the live module by running it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from torch import nn

from attnlens.symbolic.expressions import Axes, Expression, Named, within
from attnlens.symbolic.families import Member, families
from attnlens.symbolic.notation import constants_of, notation
from attnlens.symbolic.symbols import Symbol, label_steps, parameter_symbols
from attnlens.symbolic.tracing import Pass, run
from attnlens.symbolic.writing import Writer


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or buffer: its path, its symbol in the equations, and what it does there."""

    name: str
    symbol: str
    shape: tuple[int, ...]
    dtype: str
    description: str


@dataclass(frozen=True, slots=True)
class Equation:
    """A step: ``text`` and ``latex`` are whole equations.

    Attributes:
        shape: of the value; of one head where the symbol has the index i. ``None`` is a size
            in which those differ that are told together.
    """

    symbol: str
    latex: str
    text: str
    shape: tuple[int | None, ...]
    description: str


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """A module in symbols.

    Attributes:
        sizes: numbers that fix its shape.
        notation: what the signs mean, a sentence each.
    """

    name: str
    sizes: dict[str, Any]
    notation: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    equations: tuple[Equation, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "name": self.name,
            "sizes": dict(self.sizes),
            "notation": list(self.notation),
            "parameters": [{**asdict(one), "shape": list(one.shape)} for one in self.parameters],
            "equations": [{**asdict(one), "shape": list(one.shape)} for one in self.equations],
        }

    def __str__(self) -> str:
        from attnlens.render.description import render_description

        return render_description(self.to_dict())

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        from attnlens.render.description import render_description_markdown

        return render_description_markdown(self.to_dict())


def describe(
    module: nn.Module,
    *inputs: Any,
    name: str | None = None,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    batched: bool = False,
    together: bool = True,
) -> Description:
    """A module's sizes, parameters and equations, from one forward pass of it.

    ::

        print(attnlens.describe(model, torch.randn(3, 8)))

    The module is run as it is, in evaluation mode; change it and the text changes. Steps that
    it names with `attnlens.probe.step` are the left-hand sides; where it names none, what its
    parts return.

    Args:
        inputs: an example of what it is called with; tensors may lie in mappings and lists.
        name: of the model; its class unless given.
        names: symbols of the tensors that come in, in their order; ``x`` unless given.
        axes: what the axes of inputs (by symbol) and parameters (by name) are, such as
            ``{"x": ("batch", "token")}``.
        batched: the first axis of every input is a batch of one, and is left out of shapes.
        together: equations that differ in a name only, such as those of many layers, are told
            once; else one by one.

    Raises:
        RecordingError: no tensor comes in, or nothing that comes out depends on it.
    """
    told = run(module, inputs, names=names, axes=axes, batched=batched)
    return description_of(told, name, together=together)


def description_of(told: Pass, name: str | None = None, *, together: bool = True) -> Description:
    """The description of a module from a pass of it."""
    book = Book(told)
    equations = tuple(book.equation(one) for one in told.named if not one.given)
    if together:
        members = [
            Member(**asdict(one), key=key_of(named))
            for one, named in zip(
                equations, (one for one in told.named if not one.given), strict=True
            )
        ]
        equations = tuple(
            Equation(one.symbol, one.latex, one.text, one.shape, one.description)
            for one in families(members)
        )
    return Description(
        name=name_of(told.module, name),
        sizes=sizes_of(told.module),
        notation=tuple(notation(told, book.symbols, book.text)),
        parameters=tuple(book.parameters()),
        equations=equations,
    )


def key_of(named: Named) -> str:
    """The name by which a step differs from its like: its label, or what is below its symbol."""
    if named.label:
        return named.label
    below = named.symbol.partition("_")[2].removeprefix("{").removesuffix("}")
    return below if len(below) > 1 else ""


def name_of(module: nn.Module, name: str | None) -> str:
    """The name that was given, else the module's class."""
    return type(module).__name__ if name is None else name


class Book:
    """The symbols of a pass, and both ways of writing it."""

    def __init__(self, told: Pass) -> None:
        self._pass = told
        label_steps(told.named)
        self.used = _used(told)
        pieces = [one for one in self.used if one.kind == "parameter" and "[" in one.name]
        self._by_name = parameter_symbols(told.module, pieces)
        self.symbols: dict[int, Symbol] = {}
        for one in self.used:
            if one.kind == "parameter":
                self.symbols[id(one)] = self._by_name[one.name]
            elif one.kind == "input":
                self.symbols[id(one)] = Symbol(one.symbol)
        self.symbols |= constants_of(self.used)
        self.text = Writer(False, self.symbols, told.batched)
        self.latex = Writer(True, self.symbols, told.batched)

    def equation(self, one: Named) -> Equation:
        left = one.expression
        return Equation(
            symbol=self.text.name(left),
            latex=self.latex.equation(self.latex.name(left), left),
            text=self.text.equation(self.text.name(left), left),
            shape=shown_shape(left, self._pass.batched),
            description=one.description,
        )

    def parameters(self) -> list[Parameter]:
        """Every parameter and buffer of the module, in the order in which equations need them."""
        module = self._pass.module
        roles = self._roles()
        made = []
        for name, value in (*module.named_parameters(), *module.named_buffers()):
            pieces = [part for part in self._by_name if _whole(part) == name]
            used = [part for part in (name, *pieces) if part in roles] or [name]
            place, words = roles.get(used[0], (len(self._pass.named), "not used in this pass"))
            one = Parameter(
                name,
                ", ".join(self._by_name[part].text() for part in used),
                tuple(value.shape),
                str(value.dtype).removeprefix("torch."),
                words,
            )
            made.append((place, one))
        return [one for _, one in sorted(made, key=lambda pair: pair[0])]

    def _roles(self) -> dict[str, tuple[int, str]]:
        """Place of the first equation that holds a parameter, and what it does there."""
        roles: dict[str, tuple[int, str]] = {}
        for at, named in enumerate(self._pass.named):
            for one in within(named.expression):
                for place, part in enumerate(one.parts):
                    leaf = part.parts[0] if part.kind == "transpose" else part
                    if leaf.kind == "parameter" and leaf.name not in roles:
                        symbol = self.text.name(named.expression)
                        words = f" ({named.description})" if named.description else ""
                        roles[leaf.name] = (at, f"{_role(one, place)} {symbol}{words}")
        return roles


def _whole(name: str) -> str:
    return name.partition("[")[0] if "[" in name else ""


def _role(one: Expression, place: int) -> str:
    if one.kind == "rows" and place == 0:
        return "table whose rows are"
    if one.kind in ("norm", "rms_norm"):
        scales = place == 1 and one.options.get("weight", True)
        return "scale of the norm in" if scales else "shift of the norm in"
    if one.kind == "matmul":
        return "weights of"
    return "added in" if one.kind == "add" else "in"


def _used(told: Pass) -> list[Expression]:
    """Every leaf that an equation holds, in order."""
    leaves: dict[int, Expression] = {}
    for named in told.named:
        if named.given:
            continue
        for one in within(named.expression):
            for part in (one, *one.parts):
                if part.is_leaf and part.named is None:
                    leaves.setdefault(id(part), part)
    return sorted(leaves.values(), key=lambda one: one.number)


def shown_shape(one: Expression, batched: bool) -> tuple[int, ...]:
    """The shape without the batch, and of one head where heads stand side by side."""
    return tuple(
        size
        for size, axis in zip(one.shape, one.axes, strict=True)
        if axis != "head" and not (batched and axis == "batch" and size == 1)
    )


def sizes_of(module: nn.Module) -> dict[str, Any]:
    """The module's ``sizes`` where it has them, and how many parameters it has now."""
    own = getattr(module, "sizes", None)
    if is_dataclass(own) and not isinstance(own, type):
        own = {name: getattr(own, name) for name in own.__dataclass_fields__}
    sizes: dict[str, Any] = {}
    for name, value in own.items() if isinstance(own, Mapping) else ():
        inner = value.items() if isinstance(value, Mapping) else ()
        sizes |= {f"{name}.{key}": one for key, one in inner if _is_number(one)}
        if _is_number(value):
            sizes[name] = value
    return {**sizes, "parameters": sum(one.numel() for one in module.parameters())}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
