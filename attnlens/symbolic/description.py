"""`describe`: a module as mathematics, derived from the live module by running it once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Final

from torch import nn

from attnlens.files import Json
from attnlens.symbolic.book import Book, Equation, Parameter
from attnlens.symbolic.graph import Axes, Named
from attnlens.symbolic.tracing import run

FEWEST: Final = 3
"""Fewer equations alike are told one by one."""

NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


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
            "parameters": [{**asdict(one), "shape": list(one.shape)} for one in self.parameters],
            "equations": [{**asdict(one), "shape": list(one.shape)} for one in self.equations],
        }

    def __str__(self) -> str:
        from attnlens.show.description import render_description

        return render_description(self)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        from attnlens.show.description import render_description_markdown

        return render_description_markdown(self)


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
    it names with `attnlens.recording.probe.step` are the left-hand sides; where it names none,
    what its parts return.

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
    book = Book(run(module, inputs, names=names, axes=axes, batched=batched))
    members = [(book.equation(one), key_of(one)) for one in book.steps]
    equations = families(members) if together else [equation for equation, _ in members]
    return Description(
        name=type(module).__name__ if name is None else name,
        sizes=sizes_of(module),
        notation=tuple(book.notation()),
        parameters=tuple(book.parameters()),
        equations=tuple(equations),
    )


def key_of(named: Named) -> str:
    """The name by which a step differs from its like: its label, or what is below its symbol."""
    if named.label:
        return named.label
    below = named.symbol.partition("_")[2].removeprefix("{").removesuffix("}")
    return below if len(below) > 1 else ""


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
    return {**sizes, "parameters": sum(one.numel() for one in module.parameters())}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Member = tuple[Equation, str]
"""An equation, and the word in it that may stand for others; ``""`` where there is none."""


def families(members: Sequence[Member]) -> list[Equation]:
    """The equations, families of three and more told once, where the first of each stands.

    The nodes of a graph or the layers of a stack have equations that differ in a name only, and
    perhaps in numbers. Such become one, whose description lists the names.
    """
    groups: dict[tuple[str, ...], list[Member]] = {}
    for member in members:
        groups.setdefault(_template(*member), []).append(member)
    told: list[Equation] = []
    for equation, key in members:
        group = groups[_template(equation, key)]
        if not key or len(group) < FEWEST or len({its for _, its in group}) < len(group):
            told.append(equation)
        elif equation is group[0][0]:
            told.append(_one(group))
    return told


def _template(equation: Equation, key: str) -> tuple[str, ...]:
    """What members of a family have in common."""
    if not key:
        return (equation.text,)
    return (
        NUMBER.sub("#", _with_sign(equation.text, key)),
        str(len(equation.shape)),
        _with_sign(equation.description, key),
    )


def _with_sign(text: str, key: str) -> str:
    """The key as ``s``, wherever it is a word of its own."""
    if key.isdigit():
        # A number is a name only where a label stands; the one before it is a layer's input.
        for number, sign in ((int(key), "s"), (int(key) - 1, "s−1")):
            label = rf"(\((?:\\mathrm{{)?|(?:LN|RMSNorm)_(?:{{\\mathrm{{)?){number}(?=[.()}}])"
            text = re.sub(label, rf"\g<1>{sign}", text)
        return re.sub(rf"(?<=\.){key}(?=\.)", "s", text)
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(key)}(?![A-Za-z0-9_])", "s", text)


def _one(group: Sequence[Member]) -> Equation:
    first, key = group[0]
    sizes = zip(*(equation.shape for equation, _ in group), strict=True)
    words = f"{_with_sign(first.description, key)}; s: {', '.join(its for _, its in group)}"
    return Equation(
        symbol=_with_sign(first.symbol, key),
        latex=_merged([_latex_with_sign(equation.latex, its) for equation, its in group]),
        text=_merged([_with_sign(equation.text, its) for equation, its in group]),
        shape=tuple(column[0] if len(set(column)) == 1 else None for column in sizes),
        description=words.removeprefix("; "),
    )


def _latex_with_sign(latex: str, key: str) -> str:
    return _with_sign(latex, key.replace("_", "\\_")).replace("s−1", "s-1")


def _merged(texts: Sequence[str]) -> str:
    """One text, in which numbers that differ stand as ``⟨30, 20, 10⟩``."""
    pieces = [re.split(f"({NUMBER.pattern})", text) for text in texts]
    if len({len(piece) for piece in pieces}) > 1:
        return texts[0]
    merged = []
    for column in zip(*pieces, strict=True):
        distinct = list(dict.fromkeys(column))
        if len(distinct) == 1:
            merged.append(distinct[0])
        else:
            merged.append(f"⟨{', '.join(column)}⟩")
    return "".join(merged)
