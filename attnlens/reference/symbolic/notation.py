"""Write symbols and expressions as LaTeX or as one line of plain text."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from torch import Tensor, nn

from attnlens.reference.symbolic.expressions import (
    ATOM,
    LAYOUT,
    OPERATIONS,
    POWER,
    PRODUCT,
    SUM,
    Expression,
    Operation,
    Step,
)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol that can be written as LaTeX and as plain text.

    Attributes:
        raw: the LaTeX symbol that the model defines, such as ``h_{attn}``.
        label: a superscript that distinguishes equal symbols, such as ``layers.1``.
    """

    raw: str
    label: str = ""

    def latex(self, index: str = "") -> str:
        base, below = _parted(self.raw)
        under = ",".join(filter(None, (_latex_word(below), index)))
        word = _latex_word(base)
        if "^" in base and self.label:
            word = f"{{{word}}}"
        if under:
            word += f"_{{{under}}}" if len(under) > 1 else f"_{under}"
        return f"{word}^{{({_latex_word(self.label)})}}" if self.label else word

    def text(self, index: str = "") -> str:
        base, below = _parted(self.raw)
        under = ",".join(filter(None, (_plain(below), index)))
        word = _plain(base) + (f"_{under}" if under else "")
        return f"{word}^({self.label})" if self.label else word


def _parted(raw: str) -> tuple[str, str]:
    base, _, below = raw.partition("_")
    if "^" in below:
        return raw, ""
    return base, below.removeprefix("{").removesuffix("}")


def _latex_word(word: str) -> str:
    if len(word) <= 1 or "\\" in word or "^" in word or word.isdigit():
        return word
    # A list of indices, such as ``t,h``, is not set in upright letters like a word.
    if re.fullmatch(r"[A-Za-z0-9](?:,[A-Za-z0-9])+", word):
        return word
    return f"\\mathrm{{{word.replace('_', chr(92) + '_')}}}"


def _plain(raw: str) -> str:
    plain = re.sub(r"\\([A-Za-z]+)", _plain_command, raw)
    return re.sub(r"[\\{}]", "", plain).strip()


def _plain_command(match: re.Match[str]) -> str:
    name = match[1]
    if name in ("hat", "tilde", "mathrm", "text"):
        return ""
    size, letter = "CAPITAL" if name[0].isupper() else "SMALL", name.upper().replace("MBD", "MD")
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {letter}")
    except KeyError:
        return "ᵀ" if name == "top" else name


_MAX_LABEL_PARTS: Final = 3
"""The maximum number of path parts in a label; a longer label is the whole path."""


def labels(paths: Iterable[str]) -> dict[str, str]:
    """Return a label for each path: the fewest parts that distinguish the path from the others.

    The labels of ``layers.0.norm`` and ``layers.1.norm`` are ``0`` and ``1``.
    """
    ways = {
        path: [
            parts
            for size in range(1, _MAX_LABEL_PARTS + 1)
            for parts in combinations(filter(None, path.split(".")), size)
        ]
        for path in paths
    }
    if len(ways) < 2:
        return dict.fromkeys(ways, "")
    counts = Counter(way for its in ways.values() for way in set(its))
    # The empty path is the model itself; its label is empty.
    return {
        path: ".".join(next((way for way in its if counts[way] == 1), [path]))
        for path, its in ways.items()
    }


def label_steps(steps: Iterable[Step]) -> None:
    """Label steps with the same symbol by module path, by call number, or by both."""
    by_symbol: dict[str, list[Step]] = {}
    for step in steps:
        by_symbol.setdefault(step.symbol, []).append(step)
    for alike in by_symbol.values():
        path_labels = labels(step.path for step in alike)
        counts = Counter(step.path for step in alike)
        calls = Counter[str]()
        for step in alike:
            calls[step.path] += 1
            call_number = str(calls[step.path]) if counts[step.path] > 1 else ""
            step.label = ".".join(filter(None, (path_labels[step.path], call_number)))


def parameter_symbols(module: nn.Module, pieces: Iterable[Expression]) -> dict[str, Symbol]:
    """Return the symbols of all parameters and buffers, by name.

    Args:
        pieces: parts of packed parameters, which have names such as ``NAME[n]``.
    """
    raw: dict[str, str] = {}
    owner: dict[str, str] = {}
    for name, _ in (*module.named_parameters(), *module.named_buffers()):
        path, _, last = name.rpartition(".")
        raw[name], owner[name] = _raw_symbol(module, path, last), path
    for piece in pieces:
        packed_name = piece.name.partition("[")[0]
        raw[piece.name], owner[piece.name] = piece.symbol, owner.get(packed_name, "")
    symbols = {}
    for name, symbol in raw.items():
        alike = [owner[other] for other, its in raw.items() if its == symbol]
        symbols[name] = Symbol(symbol, labels(alike)[owner[name]])
    return symbols


def _raw_symbol(module: nn.Module, path: str, name: str) -> str:
    holder = module.get_submodule(path)
    *above, last = path.split(".") if path else [""]
    around = module.get_submodule(".".join(above)) if path else None
    if isinstance(holder, nn.LayerNorm | nn.RMSNorm | nn.modules.batchnorm._NormBase):
        return {"weight": "\\gamma", "bias": "\\beta"}.get(name, name)
    if isinstance(holder, nn.Embedding) and name == "weight":
        return "E"
    if isinstance(holder, nn.ParameterDict | nn.ParameterList):
        return f"{last}_{{{name}}}"
    if name not in ("weight", "bias"):
        return name if "_" in name or len(name) == 1 else f"\\mathrm{{{name}}}"
    letter = "W" if name == "weight" else "b"
    if isinstance(around, nn.MultiheadAttention) and last == "out_proj":
        return f"{letter}_O"
    in_list = isinstance(around, nn.Sequential | nn.ModuleList | nn.ModuleDict)
    if in_list and above and any(above):
        last = f"{above[-1]}.{last}"
    return f"{letter}_{{{last}}}" if last else letter


Formula = tuple[str, int]
"""A formula and its precedence."""


_FORMS: Final[Mapping[str, Operation]] = {
    **OPERATIONS,
    "of head": Operation(None, "{}_i", (ATOM,), ATOM, "{{{}}}_i"),
    "parentheses": Operation(None, "({})", latex="\\left({}\\right)"),
    "root": Operation(None, "√{}", latex="\\sqrt{{{}}}"),
}

_NAME_FIRST: Final = Operation(None)

_SIGNS: Final[Mapping[str, str]] = {
    "−": "-",
    "⊙": "\\odot",
    "≠": "\\neq",
    "≤": "\\leq",
    "≥": "\\geq",
    "∧": "\\land",
    "∨": "\\lor",
    "¬": "\\neg ",
    "∞": "\\infty",
    "…": "\\ldots",
    "→": "\\to ",
}

_MAX_PARTS: Final = 4
"""The maximum number of displayed arguments; longer lists lose the middle arguments."""


@dataclass(slots=True)
class Writer:
    """Writes expressions as LaTeX or as plain text.

    Attributes:
        symbol_of: the symbol of each leaf, by ``id(leaf)``.
        batched: whether the first axis is a batch axis, which is not displayed.
    """

    latex: bool
    symbol_of: Mapping[int, Symbol]
    batched: bool = False

    def equation(self, left: Expression) -> str:
        return f"{self.name(left)} = {self.write(left, top=True)[0]}"

    def name(self, expression: Expression) -> str:
        step = expression.step
        symbol = self.symbol_of[id(expression)] if step is None else Symbol(step.symbol, step.label)
        return self._symbol(symbol, "i" if expression.heads > 1 else "")

    def _symbol(self, symbol: Symbol, index: str = "") -> str:
        return symbol.latex(index) if self.latex else symbol.text(index)

    def write(self, expression: Expression, *, top: bool = False) -> Formula:
        """Return a formula. A named expression is written as its name, unless ``top`` is true."""
        if expression.step is not None and not top:
            return self.name(expression), ATOM
        if expression.kind in ("input", "parameter"):
            return self._symbol(self.symbol_of[id(expression)]), ATOM
        if expression.kind in ("constant", "number"):
            return self._constant(expression)
        if expression.kind in LAYOUT:
            return self.write(expression.parts[0])
        maker: Callable[[Expression], Formula] | None = getattr(self, f"_{expression.kind}", None)
        if maker is not None:
            return maker(expression)
        if "{" in _FORMS.get(expression.kind, _NAME_FIRST).text:
            return self._formed(expression.kind, expression.parts)
        return self._function(function_name(expression), expression.parts)

    def _formed(self, kind: str, parts: Iterable[Expression], *more: str) -> Formula:
        form = _FORMS[kind]
        held = [self._held(part, needs) for part, needs in zip(parts, form.needs, strict=True)]
        return self._form(kind, *held, *more), form.holds

    def _form(self, kind: str, *written: str) -> str:
        form = _FORMS[kind]
        latex = self.latex and form.latex
        return (latex or self._signs(form.text)).format(*written)

    def _held(self, expression: Expression, strength: int) -> str:
        written, holds = self.write(expression)
        return written if holds >= strength else self._form("parentheses", written)

    def _signs(self, text: str) -> str:
        for sign, latex in _SIGNS.items() if self.latex else ():
            text = text.replace(sign, latex)
        return text

    def _function(self, name: str, parts: Sequence[Expression], below: str = "") -> Formula:
        written = [self.write(part)[0] for part in parts]
        if len(written) > _MAX_PARTS:
            written[2:-1] = [self._signs("…")]
        return self._call(name, written, below), ATOM

    def _call(self, name: str, written: Sequence[str], below: str = "") -> str:
        if self.latex:
            escaped = name.replace("_", "\\_").replace(" ", "\\ ")
            name = "\\sigma" if name == "σ" else f"\\operatorname{{{escaped}}}"
        inner = self._form("parentheses", ", ".join(written))
        mark = f"_{{{below}}}" if self.latex else f"_{below}"
        return f"{name}{mark if below else ''}{inner}"

    def _upright(self, word: str) -> str:
        if not self.latex or not word:
            return word
        return f"\\mathrm{{{word}}}".replace("_", "\\_")

    def _constant(self, expression: Expression) -> Formula:
        assert expression.value is not None
        value = only_number(expression.value)
        if value is None:
            return self._symbol(self.symbol_of[id(expression)]), ATOM
        return self._number(value)

    def _number(self, value: float) -> Formula:
        if math.isinf(value):
            return self._signs("−∞" if value < 0 else "∞"), ATOM
        if root := root_of(value):
            return self._form("root", str(root)), ATOM
        digits = str(int(value)) if float(value).is_integer() else f"{value:.6g}"
        return self._signs(digits.replace("-", "−")), ATOM if value >= 0 else SUM

    def _add(self, expression: Expression) -> Formula:
        terms = [part for part in expression.parts if not is_nothing(part)]
        if len(terms) == 2:
            return self._formed("add", terms)
        return self.write(terms[0] if terms else expression.parts[0])

    def _multiply(self, expression: Expression) -> Formula:
        first, second = expression.parts
        if _plain_number(first) is None:
            first, second = second, first
        factor = _plain_number(first)
        if factor is None:
            return self._formed("multiply", expression.parts)
        over = self._inverse(factor)
        if over:
            return f"{self._held(second, PRODUCT)} / {over}", PRODUCT
        between = " " if self.latex or factor >= 0 else " · "
        return f"{self._held(first, ATOM)}{between}{self._held(second, PRODUCT)}", PRODUCT

    def _inverse(self, value: float) -> str:
        """Write ``1 / value`` as an integer or the root of an integer, or else return ``""``."""
        if not 0 < value < 1:
            return ""
        if root := root_of(1 / value):
            return self._form("root", str(root))
        return str(round(1 / value)) if (1 / value).is_integer() else ""

    def _item(self, expression: Expression) -> Formula:
        source, *places = expression.parts
        rest, indices, at = iter(places), list[str](), 0
        index = [part for part in expression.options["index"] if part is not None]
        for part in index:
            if part is ...:
                indices.append(self._signs("…"))
                at += len(source.shape) - len(index) + 1
                continue
            if isinstance(part, str):
                indices.append(self.write(next(rest))[0])
            elif not isinstance(part, slice):
                indices += [str(part)] if source.shape[at] != 1 else []
            elif not (self.batched and at == 0 and source.axes[0] == "batch"):
                indices.append(_slice(part))
            at += 1
        while indices and indices[-1] == ":":
            indices.pop()
        if all(part in (":", self._signs("…")) for part in indices):
            return self.write(source)
        return f"{self._held(source, ATOM)}[{', '.join(indices)}]", ATOM

    def _split(self, expression: Expression) -> Formula:
        (inner,) = expression.parts
        if expression.options["into"] == 1:
            return self.write(inner)
        if inner.step is None:
            if inner.kind == "matmul":
                return self._indexed_product(inner), PRODUCT
            if inner.kind == "add" and inner.parts[0].kind == "matmul":
                product, bias = inner.parts
                if product.step is None and bias.kind == "parameter":
                    return f"{self._indexed_product(product)} + {self._index(bias)}", SUM
        return self._formed("of head", expression.parts)

    def _indexed_product(self, product: Expression) -> str:
        first, second = product.parts
        return f"{self._held(first, POWER)} {self._index(second)}"

    def _index(self, expression: Expression) -> str:
        if expression.kind == "parameter":
            return self._symbol(self.symbol_of[id(expression)], "i")
        if expression.kind == "transpose" and expression.parts[0].kind == "parameter":
            return self._form("transpose", self._index(expression.parts[0]))
        return self._formed("of head", [expression])[0]

    def _join(self, expression: Expression) -> Formula:
        if expression.parts[0].heads == 1:
            return self.write(expression.parts[0])
        return self._function("concat", expression.parts, "i")

    def _norm(self, expression: Expression) -> Formula:
        label = self.symbol_of[id(expression.parts[1])].label if len(expression.parts) > 1 else ""
        return self._function(function_name(expression), expression.parts[:1], self._upright(label))

    _rms_norm = _norm

    def _hidden_softmax(self, expression: Expression) -> Formula:
        if _plain_number(expression.parts[1]) == 0:
            return self._function("softmax", expression.parts[:1])
        return self._formed("hidden_softmax", expression.parts)

    def _masked(self, expression: Expression) -> Formula:
        return self._formed(
            "masked", expression.parts, self._number(expression.options["value"])[0]
        )

    def _einsum(self, expression: Expression) -> Formula:
        spec = self._signs(expression.options["spec"].replace(" ", "").replace("->", "→"))
        return self._function(
            "einsum", expression.parts, self._upright(spec) if self.latex else f"[{spec}]"
        )

    def _clamp(self, expression: Expression) -> Formula:
        low, high = expression.options["low"], expression.options["high"]
        limits = [self._number(float(value))[0] for value in (low, high) if value is not None]
        name = "clamp" if len(limits) == 2 else "max" if high is None else "min"
        return self._call(name, [self.write(expression.parts[0])[0], *limits]), ATOM

    def _over_axis(self, expression: Expression) -> Formula:
        """Write a function along an axis; the last axis is not named."""
        (x,) = expression.parts
        places, axes = reduced_axes(expression), list[str]()
        lead = 1 if self.batched and x.axes and x.axes[0] == "batch" else 0
        if places is None:
            axes = ["all"] * (len(x.shape) > 1)
        elif over_another_axis(expression):
            axes = [x.axes[at] or str(at + 1 - lead) for at in places]
        return self._function(
            function_name(expression), expression.parts, self._upright(",".join(axes))
        )

    _sum = _mean = _highest = _lowest = _any = _all = _over_axis
    _softmax = _log_softmax = _argmax = _cumsum = _over_axis


def function_name(expression: Expression) -> str:
    if expression.kind == "opaque":
        name: str = expression.options["name"]
        return re.sub("^(gru|lstm)(?=_|$)", lambda match: match[0].upper(), name)
    return OPERATIONS[expression.kind].text or expression.kind


def reduced_axes(expression: Expression) -> list[int] | None:
    """Return the non-negative indices of the axes of an operation; None for all axes."""
    axis = expression.options.get("axis")
    if axis is None:
        return None
    count = len(expression.parts[0].shape)
    return [at % count for at in ((axis,) if isinstance(axis, int) else axis)]


def over_another_axis(expression: Expression) -> bool:
    """Return whether an operation has an axis argument that is not the last axis."""
    places = reduced_axes(expression)
    return places is not None and places != [len(expression.parts[0].shape) - 1]


def only_number(value: Tensor) -> float | None:
    """Return the only value of a constant, or None for a constant with several values."""
    if not value.numel():
        return None
    first = value.flatten()[0]
    return float(first) if bool((value == first).all()) and not value.is_complex() else None


def is_nothing(expression: Expression) -> bool:
    """Return whether an expression is always zero."""
    if expression.step is not None:
        return False
    if expression.kind in ("matmul", "multiply"):
        return any(is_nothing(part) for part in expression.parts)
    if expression.kind in LAYOUT:
        return is_nothing(expression.parts[0])
    return _plain_number(expression) == 0


def _plain_number(expression: Expression) -> float | None:
    if (
        expression.kind not in ("constant", "number")
        or expression.step is not None
        or expression.value is None
    ):
        return None
    return only_number(expression.value)


def root_of(value: float) -> int | None:
    """Return n if ``value`` is the irrational square root of an integer n, or else None."""
    if not 1 < value < 1e4 or float(value).is_integer():
        return None
    square = value * value
    return round(square) if abs(square - round(square)) < 1e-5 * square else None


def _slice(part: slice) -> str:
    first = "" if part.start is None else str(part.start)
    last = "" if part.stop is None else str(part.stop)
    step = "" if part.step in (None, 1) else f":{part.step}"
    return f"{first}:{last}{step}"
