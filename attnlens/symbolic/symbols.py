"""Symbols: of parameters from their names, of repeated steps from where they stand."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from torch import nn

from attnlens.symbolic.graph import Expression, Named


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol, in both ways of writing it.

    Attributes:
        raw: LaTeX as the model gives it, such as ``h_{attn}``.
        label: tells it from others alike, such as ``layers.1``; stands as a superscript.
    """

    raw: str
    label: str = ""

    def latex(self, index: str = "") -> str:
        base, below = _parted(self.raw)
        under = ",".join(filter(None, (_latex_word(below), index)))
        told = _latex_word(base)
        if "^" in base and self.label:
            told = f"{{{told}}}"
        if under:
            told += f"_{{{under}}}" if len(under) > 1 else f"_{under}"
        return f"{told}^{{({_latex_word(self.label)})}}" if self.label else told

    def text(self, index: str = "") -> str:
        base, below = _parted(self.raw)
        under = ",".join(filter(None, (_plain(below), index)))
        told = _plain(base) + (f"_{under}" if under else "")
        return f"{told}^({self.label})" if self.label else told


def _parted(raw: str) -> tuple[str, str]:
    """What stands before and after the first ``_``; nothing after it where there is a ``^``."""
    base, _, below = raw.partition("_")
    if "^" in below:
        return raw, ""
    return base, below.removeprefix("{").removesuffix("}")


def _latex_word(word: str) -> str:
    if len(word) <= 1 or "\\" in word or "^" in word or word.isdigit():
        return word
    # A list of indices, such as ``t,h``, is no word.
    if re.fullmatch(r"[A-Za-z0-9](?:,[A-Za-z0-9])+", word):
        return word
    return f"\\mathrm{{{word.replace('_', chr(92) + '_')}}}"


def _plain(raw: str) -> str:
    plain = re.sub(r"\\([A-Za-z]+)", _plain_command, raw)
    return re.sub(r"[\\{}]", "", plain).strip()


def _plain_command(found: re.Match[str]) -> str:
    """A Greek letter as itself, a kind of letters as nothing, another command as its name."""
    name = found[1]
    if name in ("hat", "tilde", "mathrm", "text"):
        return ""
    size, letter = "CAPITAL" if name[0].isupper() else "SMALL", name.upper().replace("MBD", "MD")
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {letter}")
    except KeyError:
        return "ᵀ" if name == "top" else name


MOST_PARTS: Final = 3
"""A label has so many parts of a path at most, where these tell it from the others."""


def labels(paths: Iterable[str]) -> dict[str, str]:
    """What tells paths apart, in as few parts as will do.

    ``decoder.self_attention`` and ``decoder.cross_attention`` become ``self_attention`` and
    ``cross_attention``; ``layers.0.norm`` and ``layers.1.norm`` become ``0`` and ``1``.
    """
    ways = {path: _ways(path) for path in paths}
    if len(ways) < 2:
        return dict.fromkeys(ways, "")
    counts = Counter(way for its in ways.values() for way in set(its))
    # Nothing but the place of the model itself has no path; it needs no label.
    return {
        path: ".".join(next((way for way in its if counts[way] == 1), [path]))
        for path, its in ways.items()
    }


def _ways(path: str) -> list[tuple[str, ...]]:
    """Some of the parts of a path, the fewest first."""
    parts = path.split(".") if path else []
    return [way for count in range(1, MOST_PARTS + 1) for way in combinations(parts, count)]


def label_steps(named: Iterable[Named]) -> None:
    """Tell steps of the same symbol apart by where they were named, else by which call it is."""
    by_symbol: dict[str, list[Named]] = {}
    for one in named:
        by_symbol.setdefault(one.symbol, []).append(one)
    for alike in by_symbol.values():
        told = labels(one.path for one in alike)
        counts = Counter(one.path for one in alike)
        seen = Counter[str]()
        for one in alike:
            seen[one.path] += 1
            again = str(seen[one.path]) if counts[one.path] > 1 else ""
            one.label = ".".join(filter(None, (told[one.path], again)))


def parameter_symbols(module: nn.Module, pieces: Iterable[Expression]) -> dict[str, Symbol]:
    """Every parameter's and buffer's symbol, by its name.

    Args:
        pieces: leaves that are parts of a parameter and have symbols of their own; their names
            are ``NAME[n]``.
    """
    raw: dict[str, str] = {}
    owner: dict[str, str] = {}
    for name, _ in (*module.named_parameters(), *module.named_buffers()):
        path, _, last = name.rpartition(".")
        raw[name], owner[name] = _raw_symbol(module, path, last), path
    for piece in pieces:
        whole = piece.name.partition("[")[0]
        raw[piece.name], owner[piece.name] = piece.symbol, owner.get(whole, "")
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
