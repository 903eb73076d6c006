"""What the signs of a description mean: told of those that it uses, and of no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import torch
from torch import Tensor

from attnlens.symbolic.expressions import Expression, within
from attnlens.symbolic.symbols import Symbol
from attnlens.symbolic.tracing import Pass
from attnlens.symbolic.writing import Writer, only_number


def constants_of(leaves: Iterable[Expression]) -> dict[int, Symbol]:
    """Symbols of the constants that are no single number; alike ones share theirs."""
    symbols: dict[int, Symbol] = {}
    known: list[tuple[Tensor, Symbol]] = []
    for one in leaves:
        if one.kind != "constant" or one.value is None or only_number(one.value) is not None:
            continue
        found = next((symbol for value, symbol in known if _alike(value, one.value)), None)
        if found is None:
            found = Symbol("later" if _is_later(one.value) else f"C_{len(known) + 1}")
            known.append((one.value, found))
        symbols[id(one)] = found
        one.name = _constant_words(one.value)
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


def shape_words(shape: Iterable[int]) -> str:
    return f"({', '.join(map(str, shape))})"


def notation(told: Pass, symbols: Mapping[int, Symbol], writer: Writer) -> Iterator[str]:
    """A sentence for every sign that the equations hold."""
    operations = [
        one
        for named in told.named
        if not named.given
        for one in within(named.expression)
        if not one.is_leaf
    ]
    kinds = {one.kind for one in operations}
    leaves = {id(one): one for one in told.inputs.values()}
    used = {id(part) for one in operations for part in one.parts}
    for key, leaf in leaves.items():
        if key in used:
            shape = [
                size
                for size, axis in zip(leaf.shape, leaf.axes, strict=True)
                if not (told.batched and axis == "batch")
            ]
            axes = " by ".join(axis for axis in leaf.axes if axis and axis != "batch")
            symbol = Symbol(leaf.symbol).text()
            yield f"{symbol}: the input, {shape_words(shape)}{f', {axes}' if axes else ''}"
    for named in told.named:
        if named.given:
            words = f": {named.description}" if named.description else ""
            shape = list(named.expression.shape[1 if told.batched else 0 :])
            yield f"{writer.name(named.expression)}{words}, {shape_words(shape)}"
    constants = {
        symbols[id(part)].text(): part.name
        for one in operations
        for part in one.parts
        if part.kind == "constant" and id(part) in symbols
    }
    for symbol, words in constants.items():
        yield f"{symbol}: {words}"
    if "rows" in kinds:
        yield "T[i]: the rows of T that i names"
    yield from _heads(operations)
    yield from _norms(operations, symbols)
    for kind, words in MEANINGS.items():
        if kind in kinds:
            yield words
    ways = {one.options["approximate"] for one in operations if one.kind == "gelu"}
    for approximate in sorted(ways):
        if approximate == "none":
            yield "GELU(v) = v Φ(v), Φ the normal distribution function"
        else:
            yield "GELU_tanh(v) = v (1 + tanh(√(2/π) (v + 0.044715 v³))) / 2"
    if any(over_another_axis(one) for one in operations):
        yield "f_n(M): f along the n-th axis of M, or the one named, not along its rows"
    if any(one.kind == "multiply" for one in operations):
        yield "a ⊙ b: element by element"


ALONG: Final = ("softmax", "log_softmax", "argmax", "sum", "mean", "highest", "lowest")
"""Operations along an axis."""

MEANINGS: Final = {
    "transpose": "Mᵀ: M with its last two axes swapped",
    "softmax": "softmax: exp(v) / sum of exp(v), over each row",
    "hidden_softmax": "softmax(S; M hidden): over the entries of a row that M does not hide; "
    "hidden ones are 0, and so is a row that is hidden whole",
    "relu": "ReLU(v) = max(v, 0)",
    "silu": "SiLU(v) = v σ(v)",
    "sigmoid": "σ(v) = 1 / (1 + exp(−v))",
    "masked": "[v; c where M]: v, with c where M is true",
    "where": "[a where M else b]: a where M is true, b elsewhere",
    "argmax": "argmax: the place of the largest entry of each row",
    "concat": "concat: side by side",
    "stack": "stack: one below the other, along a new axis",
}
"""Kind of operation to what is said of it."""


def over_another_axis(one: Expression) -> bool:
    """Whether it goes along one axis, and that is not the last."""
    given = one.options.get("axis") if one.kind in ALONG else None
    if given is None:
        return False
    places = (given,) if isinstance(given, int) else given
    return [at % len(one.parts[0].shape) for at in places] != [len(one.parts[0].shape) - 1]


def _heads(operations: Iterable[Expression]) -> Iterator[str]:
    counts = sorted({one.options["heads"] for one in operations if one.kind == "split"})
    if not counts or counts == [1]:
        return
    told = " or ".join(str(count) for count in counts)
    yield (
        f"i: a head, 1 to {told}; W_i and b_i: its share of the outputs of W and b; "
        "concat_i: the heads side by side"
    )


def _norms(operations: Iterable[Expression], symbols: Mapping[int, Symbol]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for one in operations:
        if one.kind not in ("norm", "rms_norm"):
            continue
        scale = [symbols[id(part)] for part in one.parts[1:]]
        label = scale[0].label if scale else ""
        words = _norm_words(one, [Symbol(part.raw, "p" if label else "") for part in scale])
        known = found.setdefault(words, [])
        if label and label not in known:
            known.append(label)
    for words, places in found.items():
        yield words + (f"; p is {' or '.join(places)}" if places else "")


def _norm_words(one: Expression, scale: list[Symbol]) -> str:
    """The definition of a norm whose scale and shift have these symbols."""
    rest = [symbol.text() for symbol in scale]
    eps = f"{one.options['eps']:.6g}"
    if one.kind == "norm":
        name, whole = "LN", f"(v − mean(v)) / √(var(v) + {eps})"
        weight = one.options["weight"]
    else:
        name, whole = "RMSNorm", f"v / √(mean(v²) + {eps})"
        weight = bool(rest)
    if weight:
        whole = f"{rest.pop(0)} ⊙ {whole}"
    if rest:
        whole = f"{whole} + {rest[0]}"
    below = f"_{scale[0].label}" if scale and scale[0].label else ""
    axes = one.options["axes"]
    last = "the last axis" if axes == 1 else f"the last {axes} axes"
    return f"{name}{below}(v) = {whole}, over {last}"
