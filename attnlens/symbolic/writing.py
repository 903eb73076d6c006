"""Expressions as LaTeX and as text of one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from torch import Tensor

from attnlens.symbolic.expressions import Expression
from attnlens.symbolic.numbers import COMPARISONS, LAYOUT
from attnlens.symbolic.symbols import Symbol

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4

Written = tuple[str, int]
"""A formula and how strongly it holds together."""

FUNCTION_NAMES: Final[Mapping[str, str]] = {
    "relu": "ReLU",
    "gelu": "GELU",
    "silu": "SiLU",
    "sigmoid": "σ",
    "log1p": "log1p",
    "highest": "max",
    "lowest": "min",
    "norm": "LN",
    "rms_norm": "RMSNorm",
    "log_softmax": "log softmax",
}

SIGNS: Final[Mapping[str, tuple[str, str]]] = {
    "eq": ("=", "="),
    "ne": ("≠", "\\neq"),
    "lt": ("<", "<"),
    "le": ("≤", "\\leq"),
    "gt": (">", ">"),
    "ge": ("≥", "\\geq"),
    "and": ("∧", "\\land"),
    "or": ("∨", "\\lor"),
}

MOST_PARTS: Final = 4
"""Of more things side by side only the first and the last are written."""


@dataclass(slots=True)
class Writer:
    """Writes right-hand sides.

    Attributes:
        latex: LaTeX, or else text.
        symbol_of: the symbol of a leaf, by identity.
        batched: whether the first axis is a batch that is not written.
    """

    latex: bool
    symbol_of: Mapping[int, Symbol]
    batched: bool = False
    seen: set[str] = field(default_factory=set)

    def equation(self, left: str, expression: Expression) -> str:
        return f"{left} = {self.write(expression, top=True)[0]}"

    def name(self, expression: Expression) -> str:
        """The symbol of a named result or a leaf."""
        many = expression.heads > 1
        named = expression.named
        symbol = (
            self.symbol_of[id(expression)] if named is None else Symbol(named.symbol, named.label)
        )
        return self.symbol(symbol, "i" if many else "")

    def symbol(self, symbol: Symbol, index: str = "") -> str:
        return symbol.latex(index) if self.latex else symbol.text(index)

    def write(self, one: Expression, *, top: bool = False) -> Written:
        """The formula of an expression; a named one is its name, unless it is the ``top``."""
        if one.named is not None and not top:
            return self.name(one), ATOM
        if one.kind in ("input", "parameter"):
            return self.symbol(self.symbol_of[id(one)]), ATOM
        if one.kind in ("constant", "number"):
            return self._constant(one)
        self.seen.add(one.kind)
        if one.kind in LAYOUT or one.kind == "unflatten":
            return self.write(one.parts[0])
        maker: Callable[[Expression], Written] | None = getattr(self, f"_{one.kind}", None)
        if maker is not None:
            return maker(one)
        if one.kind in COMPARISONS:
            text, latex = SIGNS[one.kind]
            first, second = (self._held(part, PRODUCT) for part in one.parts)
            return f"{first} {latex if self.latex else text} {second}", SUM
        return self._function(self._function_name(one), one.parts), ATOM

    def _held(self, one: Expression, strength: int) -> str:
        """In parentheses where it does not hold together as strongly."""
        written, holds = self.write(one)
        return written if holds >= strength else self._parentheses(written)

    def _parentheses(self, inner: str) -> str:
        return f"\\left({inner}\\right)" if self.latex else f"({inner})"

    def _function_name(self, one: Expression) -> str:
        name = FUNCTION_NAMES.get(one.kind, one.kind)
        if one.kind == "opaque":
            name = {"gru": "GRU", "lstm": "LSTM"}.get(one.options["name"], one.options["name"])
            name = name.replace("gru_", "GRU_").replace("lstm_", "LSTM_")
        if one.kind == "gelu" and one.options["approximate"] == "tanh":
            name = "GELU_tanh"
        return name

    def _function(self, name: str, parts: tuple[Expression, ...], below: str = "") -> str:
        inner = self._list(parts)
        if self.latex:
            if name == "σ":
                told = "\\sigma"
            else:
                escaped = name.replace("_", "\\_").replace(" ", "\\ ")
                told = f"\\operatorname{{{escaped}}}"
            return f"{told}{f'_{{{below}}}' if below else ''}\\left({inner}\\right)"
        return f"{name}{f'_{below}' if below else ''}({inner})"

    def _list(self, parts: tuple[Expression, ...]) -> str:
        if len(parts) > MOST_PARTS:
            dots = "\\ldots" if self.latex else "…"
            first, second, last = (self.write(parts[at])[0] for at in (0, 1, -1))
            return f"{first}, {second}, {dots}, {last}"
        return ", ".join(self.write(part)[0] for part in parts)

    def _constant(self, one: Expression) -> Written:
        assert one.value is not None
        value = only_number(one.value)
        if value is None:
            return self.symbol(self.symbol_of[id(one)]), ATOM
        return self._number(value)

    def _number(self, value: float) -> Written:
        if math.isinf(value):
            sign = "-" if value < 0 else ""
            return (f"{sign}\\infty" if self.latex else f"{'−' if sign else ''}∞"), ATOM
        under = root_of(value)
        if under is not None:
            return (f"\\sqrt{{{under}}}" if self.latex else f"√{under}"), ATOM
        over = None if not value else root_of(1 / value)
        if over is not None:
            return (f"1 / \\sqrt{{{over}}}" if self.latex else f"1 / √{over}"), PRODUCT
        told = str(int(value)) if float(value).is_integer() else f"{value:.6g}"
        return (told if self.latex else told.replace("-", "−")), ATOM if value >= 0 else SUM

    # Operations that are written otherwise than as name(parts).

    def _add(self, one: Expression) -> Written:
        first, second = one.parts
        if is_nothing(second):
            return self.write(first)
        if is_nothing(first):
            return self.write(second)
        return f"{self._held(first, SUM)} + {self._held(second, PRODUCT)}", SUM

    def _subtract(self, one: Expression) -> Written:
        first, second = one.parts
        sign = "-" if self.latex else "−"
        return f"{self._held(first, SUM)} {sign} {self._held(second, PRODUCT)}", SUM

    def _negative(self, one: Expression) -> Written:
        return f"{'-' if self.latex else '−'}{self._held(one.parts[0], POWER)}", PRODUCT

    def _multiply(self, one: Expression) -> Written:
        first, second = one.parts
        numbers = [_plain_number(part) for part in one.parts]
        if numbers[0] is None and numbers[1] is not None:
            first, second, numbers = second, first, numbers[::-1]
        if numbers[0] is not None:
            over = self._inverse(numbers[0])
            if over:
                return f"{self._held(second, PRODUCT)} / {over}", PRODUCT
            between = " " if self.latex or numbers[0] >= 0 else " · "
            return f"{self._held(first, ATOM)}{between}{self._held(second, PRODUCT)}", PRODUCT
        sign = "\\odot" if self.latex else "⊙"
        return f"{self._held(first, PRODUCT)} {sign} {self._held(second, PRODUCT)}", PRODUCT

    def _inverse(self, value: float) -> str:
        """What is divided by, where that says more than what is multiplied by."""
        if not 0 < value < 1:
            return ""
        root = root_of(1 / value)
        if root is not None:
            return f"\\sqrt{{{root}}}" if self.latex else f"√{root}"
        return str(round(1 / value)) if (1 / value).is_integer() else ""

    def _divide(self, one: Expression) -> Written:
        first, second = one.parts
        return f"{self._held(first, PRODUCT)} / {self._held(second, POWER)}", PRODUCT

    def _power(self, one: Expression) -> Written:
        first, second = one.parts
        raised = self.write(second)[0]
        return f"{self._held(first, ATOM)}^{f'{{{raised}}}' if self.latex else raised}", POWER

    def _matmul(self, one: Expression) -> Written:
        first, second = one.parts
        # (A V) W_O: what is worked out first stands in parentheses.
        left = self._held(first, POWER)
        return f"{left} {self._held(second, POWER)}", PRODUCT

    def _transpose(self, one: Expression) -> Written:
        inner = self._held(one.parts[0], ATOM)
        return (f"{{{inner}}}^\\top" if self.latex else f"{inner}ᵀ"), POWER

    def _rows(self, one: Expression) -> Written:
        table, places = one.parts
        return f"{self._held(table, ATOM)}[{self.write(places)[0]}]", ATOM

    def _item(self, one: Expression) -> Written:
        source, *places = one.parts
        shown = shown_index(one, self.batched)
        if shown is None:
            return self.write(source)
        rest = list(places)
        told = [self.write(rest.pop(0))[0] if part == "part" else part for part in shown]
        dots = "\\ldots" if self.latex else "…"
        inner = ", ".join(dots if part == "..." else part for part in told)
        return f"{self._held(source, ATOM)}[{inner}]", ATOM

    def _split(self, one: Expression) -> Written:
        (inner,) = one.parts
        if one.options["heads"] == 1:
            return self.write(inner)
        if inner.named is None:
            if inner.kind == "matmul":
                return self._indexed_product(inner), PRODUCT
            if inner.kind == "add" and inner.parts[0].kind == "matmul":
                product, bias = inner.parts
                if product.named is None and bias.kind == "parameter":
                    return f"{self._indexed_product(product)} + {self._index(bias)}", SUM
        held = self._held(inner, ATOM)
        return (f"{{{held}}}_i" if self.latex else f"{held}_i"), ATOM

    def _indexed_product(self, product: Expression) -> str:
        first, second = product.parts
        return f"{self._held(first, POWER)} {self._index(second)}"

    def _index(self, one: Expression) -> str:
        """A parameter's columns for head i."""
        if one.kind == "parameter":
            return self.symbol(self.symbol_of[id(one)], "i")
        if one.kind == "transpose" and one.parts[0].kind == "parameter":
            inner = self._index(one.parts[0])
            return f"{{{inner}}}^\\top" if self.latex else f"{inner}ᵀ"
        held = self._held(one, ATOM)
        return f"{{{held}}}_i" if self.latex else f"{held}_i"

    def _join(self, one: Expression) -> Written:
        if one.parts[0].heads == 1:
            return self.write(one.parts[0])
        return self._function("concat", one.parts, "i"), ATOM

    def _norm(self, one: Expression) -> Written:
        return self._function("LN", one.parts[:1], self._which_norm(one)), ATOM

    def _rms_norm(self, one: Expression) -> Written:
        return self._function("RMSNorm", one.parts[:1], self._which_norm(one)), ATOM

    def _which_norm(self, one: Expression) -> str:
        label = self.symbol_of[id(one.parts[1])].label if len(one.parts) > 1 else ""
        return f"\\mathrm{{{label}}}".replace("_", "\\_") if label and self.latex else label

    def _hidden_softmax(self, one: Expression) -> Written:
        if _plain_number(one.parts[1]) == 0:
            self.seen.add("softmax")
            return self._function("softmax", one.parts[:1]), ATOM
        logits, hidden = (self.write(part)[0] for part in one.parts)
        if self.latex:
            inner = f"{logits};\\ {hidden} \\text{{ hidden}}"
            return f"\\operatorname{{softmax}}\\left({inner}\\right)", ATOM
        return f"softmax({logits}; {hidden} hidden)", ATOM

    def _masked(self, one: Expression) -> Written:
        x, mask = (self.write(part)[0] for part in one.parts)
        value = self._number(one.options["value"])[0]
        if self.latex:
            return f"\\left[{x};\\ {value} \\text{{ where }} {mask}\\right]", ATOM
        return f"[{x}; {value} where {mask}]", ATOM

    def _where(self, one: Expression) -> Written:
        mask, yes, no = (self.write(part)[0] for part in one.parts)
        if self.latex:
            return f"\\left[{yes} \\text{{ where }} {mask} \\text{{ else }} {no}\\right]", ATOM
        return f"[{yes} where {mask} else {no}]", ATOM

    def _not(self, one: Expression) -> Written:
        sign = "\\neg " if self.latex else "¬"
        return f"{sign}{self._held(one.parts[0], ATOM)}", POWER

    def _einsum(self, one: Expression) -> Written:
        spec = one.options["spec"].replace(" ", "")
        if self.latex:
            spec = spec.replace("->", "\\to ")
            return self._function("einsum", one.parts, f"\\mathrm{{{spec}}}"), ATOM
        return self._function("einsum", one.parts, f"[{spec.replace('->', '→')}]"), ATOM

    def _clamp(self, one: Expression) -> Written:
        x = self.write(one.parts[0])[0]
        least, most = one.options["least"], one.options["most"]
        limits = [self._number(float(value))[0] for value in (least, most) if value is not None]
        name = "clamp" if len(limits) == 2 else "max" if most is None else "min"
        told = f"\\operatorname{{{name}}}" if self.latex else name
        return f"{told}{self._parentheses(', '.join([x, *limits]))}", ATOM

    def _over_axis(self, one: Expression) -> Written:
        """A function along an axis, which is told where it is not the last."""
        (x,) = one.parts
        given = one.options["axis"]
        count = len(x.shape)
        if given is None:
            told = [] if count < 2 else ["all"]
        else:
            places = (given,) if isinstance(given, int) else given
            lead = 1 if self.batched and x.axes and x.axes[0] == "batch" else 0
            told = [x.axes[at] or str(at % count + 1 - lead) for at in places]
            if [at % count for at in places] == [count - 1]:
                told = []
        words = ",".join(told)
        below = f"\\mathrm{{{words}}}" if words and self.latex else words
        return self._function(self._function_name(one), one.parts, below), ATOM

    _sum = _mean = _highest = _lowest = _any = _all = _over_axis
    _softmax = _log_softmax = _argmax = _over_axis


def only_number(value: Tensor) -> float | None:
    """The number that all of a constant is; ``None`` where it holds several."""
    if not value.numel():
        return None
    first = value.flatten()[0]
    if value.is_complex() or not bool((value == first).all()):
        return None
    return float(first)


def is_nothing(one: Expression) -> bool:
    """Whether it is zero whatever comes in, and so is not written where it is added."""
    if one.named is not None:
        return False
    if one.kind in ("matmul", "multiply"):
        return any(is_nothing(part) for part in one.parts)
    if one.kind in ("expand", "insert", "drop", "reshape", "same"):
        return is_nothing(one.parts[0])
    return _plain_number(one) == 0


def _plain_number(one: Expression) -> float | None:
    if one.kind not in ("constant", "number") or one.named is not None or one.value is None:
        return None
    return only_number(one.value)


def root_of(value: float) -> int | None:
    """The whole number whose root this is, where it is no whole number itself."""
    if not 1 < value < 1e4 or float(value).is_integer():
        return None
    square = value * value
    return round(square) if abs(square - round(square)) < 1e-5 * square else None


def shown_index(one: Expression, batched: bool) -> tuple[str, ...] | None:
    """The index of ``x[...]`` as words; ``None`` where it only moves axes about."""
    index: tuple[Any, ...] = one.options["index"]
    source = one.parts[0]
    used = sum(part is not None and part is not ... for part in index)
    at, told = 0, []
    for part in index:
        if part is None:
            continue
        if part is ...:
            at += len(source.shape) - used
            told.append("...")
            continue
        batch = batched and at == 0 and source.axes[0] == "batch"
        if isinstance(part, slice):
            if not batch:
                told.append(_slice(part))
        elif isinstance(part, str):
            told.append(part)
        elif source.shape[at] != 1:
            told.append(str(part))
        at += 1
    while told and told[-1] == ":":
        told.pop()
    if all(part in (":", "...") for part in told):
        return None
    return tuple(told)


def _slice(part: slice) -> str:
    first = "" if part.start is None else str(part.start)
    last = "" if part.stop is None else str(part.stop)
    return f"{first}:{last}"
