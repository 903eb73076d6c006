"""Names for what the model does not name itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from torch import Tensor, from_numpy

from attnlens.symbolic.evaluate import Unknown, evaluated
from attnlens.symbolic.expressions import Expression, Named, within
from attnlens.symbolic.graph import Graph, tensors_in
from attnlens.symbolic.modules import Modules
from attnlens.symbolic.numbers import LAYOUT

SHORT: Final = 10
"""What has no more operations needs no names inside."""

LONG: Final = 4
"""Something of so many written operations is not written twice."""


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
        id(one) for named in graph.named if not named.given for one in everything(named.expression)
    }
    inlined = _short(modules)
    for one in modules.returned:
        expression = one.expression
        if any(one.path.startswith(f"{path}.") for path in inlined):
            continue
        if expression.named is not None or id(expression) not in needed:
            continue
        if one.around in modules.naming:
            continue
        symbol = f"h_{{{one.path.rpartition('.')[2]}}}"
        words = f"output of {one.path} ({one.kind})"
        expression.named = Named(symbol, words, one.around, expression, one.value)
        graph.named.append(expression.named)


def _short(modules: Modules) -> set[str]:
    """Modules inside others that name their steps, short enough to be written in full there."""
    return {
        one.path
        for one in modules.returned
        if one.around in modules.naming
        and one.path not in modules.naming
        and written(one.expression) <= SHORT
    }


def everything(expression: Expression) -> Iterator[Expression]:
    """The expression and all that it was computed from."""
    seen: set[int] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            if one.named is None or not one.named.given:
                waiting.extend(one.parts)


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
    often.sort(key=lambda one: one.number)
    for one in often:
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
