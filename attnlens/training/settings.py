"""Settings of a training run given as words, ``NAME=VALUE``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from attnlens.errors import InputError
from attnlens.models.cricket import OverSizes
from attnlens.models.predictor import Sizes
from attnlens.models.temporal import HEADS
from attnlens.training.fit import Recipe
from attnlens.training.overs import OverRecipe

FIXED: Final = ("graph", "past_nodes", "outcomes", "happened", "scoreboard", "heads")
"""Sizes that follow from the ball graph; heads are given one scale at a time."""

COUNTS: Final = (
    "epochs",
    "heads",
    "innings",
    "patience",
    "hidden_dim",
    "slot_dim",
    "overs",
    "history",
    "d",
    "d_k",
    "ff",
    "length",
    *map("heads.{}".format, HEADS),
)
"""Settings that are at least 1."""

WIDEST: Final = 4096
"""The most that any of the predictor's sizes may be."""

SHARES: Final = (
    "hide_some",
    "hide_all",
    "hide_player",
    "hide_block",
    "forget",
    "forget_past",
    "final",
    "teacher",
    "average",
    "dropout",
    "smoothing",
)
"""Settings that lie between 0 and 1; a moving average and dropout leave something over."""

LARGEST: Final = 1e9
"""The most that any setting without another bound may be, either way."""

SIGNED: Final = ("null",)
"""Settings that may be negative."""

OVER_FIXED: Final = ("features", "context", "tokens")
"""Sizes of the encoder-decoder that follow from what it is told and writes."""

RECIPE: Final = {field.name: field.type for field in fields(Recipe)}
SIZES: Final = {field.name: field.type for field in fields(Sizes) if field.name not in FIXED}
OVER_RECIPE: Final = {field.name: field.type for field in fields(OverRecipe)}
OVER_SIZES: Final = {
    field.name: field.type for field in fields(OverSizes) if field.name not in OVER_FIXED
}


def over_settings(
    words: Sequence[str], given: Mapping[str, Any]
) -> tuple[OverRecipe, dict[str, Any]]:
    """As `recipe_and_sizes`, of the encoder-decoder of overs.

    Raises:
        InputError: a name is no setting, or a value does not fit it.
    """
    recipe: dict[str, Any] = {}
    sizes: dict[str, Any] = {}
    for name, value in [*(_parted(word) for word in words), *given.items()]:
        if name in OVER_RECIPE:
            recipe[name] = _fitting(name, value, str(OVER_RECIPE[name]))
        elif name in OVER_SIZES:
            sizes[name] = _fitting(name, value, str(OVER_SIZES[name]))
        else:
            known = ", ".join([*OVER_RECIPE, *OVER_SIZES])
            raise InputError(f"--set: there is no setting {name!r}", remedy=f"known: {known}")
    return OverRecipe(**recipe), sizes


def recipe_and_sizes(
    words: Sequence[str], given: Mapping[str, Any]
) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and the sizes that differ from the default.

    Args:
        words: such as ``learning_rate=0.001``, ``heads.medium=8`` or ``null=null``.
        given: further settings by name, already values.

    Raises:
        InputError: a name is no setting, or a value does not fit it.
    """
    recipe: dict[str, Any] = {}
    sizes: dict[str, Any] = {}
    heads: dict[str, int] = {}
    for name, value in [*(_parted(word) for word in words), *given.items()]:
        scale = name.removeprefix("heads.")
        if name in RECIPE:
            recipe[name] = _fitting(name, value, str(RECIPE[name]))
        elif name in SIZES:
            sizes[name] = _fitting(name, value, str(SIZES[name]))
        elif scale in HEADS and scale != name:
            heads[scale] = _fitting(name, value, "int")
        else:
            known = ", ".join([*RECIPE, *SIZES, *(f"heads.{scale}" for scale in HEADS)])
            raise InputError(f"--set: there is no setting {name!r}", remedy=f"known: {known}")
    if heads:
        sizes["heads"] = {**HEADS, **heads}
    return Recipe(**recipe), sizes


def _parted(word: str) -> tuple[str, Any]:
    name, sign, value = word.partition("=")
    if not sign:
        raise InputError(f"--set {word}: a setting is NAME=VALUE")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        raise InputError(f"--set {word}: {value!r} is not a number, true, false or null") from None


def _fitting(name: str, value: Any, kind: str) -> Any:
    """``value`` where it is of the kind a dataclass names."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        (value is None and "None" in kind)
        or (kind == "bool" and isinstance(value, bool))
        or (kind == "int" and number and float(value).is_integer() and value >= 0)
        or (kind.startswith("float") and number)
    )
    if not fits:
        raise InputError(f"--set {name}={json.dumps(value)}: {name} is of the kind {kind}")
    bounds = _bounds(name)
    if number and not bounds[0] <= value <= bounds[1]:
        least, most = (f"{bound:g}" for bound in bounds)
        reach = f"between {least} and {most}"
        if name in COUNTS:
            reach = f"at least {least}" if value < bounds[0] else f"at most {most}"
        raise InputError(f"--set {name}={json.dumps(value)}: {name} is {reach}")
    return int(value) if kind == "int" else value


def _bounds(name: str) -> tuple[float, float]:
    """The least and the most a setting may be."""
    if name in COUNTS:
        return 1, math.inf if name in RECIPE or name in OVER_RECIPE else WIDEST
    if name in SHARES:
        return 0, 0.9999 if name in ("average", "dropout") else 1
    return (-LARGEST if name in SIGNED else 0), LARGEST
