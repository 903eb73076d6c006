"""`describe`: a module as mathematics, derived from the live module by running it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from torch import nn

from attnlens.files import Json
from attnlens.symbolic.book import Book, Equation, Parameter
from attnlens.symbolic.graph import Axes
from attnlens.symbolic.tracing import run


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
        from attnlens.show.models import render_description

        return render_description(self)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        from attnlens.show.models import render_description_markdown

        return render_description_markdown(self)


def describe(
    module: nn.Module,
    *inputs: Any,
    name: str | None = None,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    batched: bool = False,
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

    Raises:
        RecordingError: no tensor comes in, or nothing that comes out depends on it.
    """
    book = Book(run(module, inputs, names=names, axes=axes, batched=batched))
    return Description(
        name=type(module).__name__ if name is None else name,
        sizes=sizes_of(module),
        notation=tuple(book.notation()),
        parameters=tuple(book.parameters()),
        equations=tuple(book.equation(one.expression) for one in book.steps),
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
    return {**sizes, "parameters": sum(one.numel() for one in module.parameters())}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
