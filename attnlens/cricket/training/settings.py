"""Settings of a training run given as words, ``NAME=VALUE``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Generic, TypeAlias, TypeVar

from attnlens.cricket.model.predictor import Sizes
from attnlens.cricket.model.temporal import HEADS
from attnlens.cricket.overs.encoder_decoder import OverSizes
from attnlens.cricket.training.course import Pace
from attnlens.cricket.training.fit import Recipe
from attnlens.cricket.training.overs import OverRecipe
from attnlens.errors import InputError

R = TypeVar("R", bound=Pace)
Setting: TypeAlias = bool | float | dict[str, int] | None
"""What a recipe's setting or a size may be; the heads are counted by scale."""

FIXED: Final = (
    *("graph", "past_nodes", "outcomes", "happened", "scoreboard", "heads"),
    *("features", "context", "tokens"),
)
"""Sizes that follow from what a model is told and writes; heads are given one scale at a time."""

COUNTS: Final = (
    *("epochs", "heads", "innings", "patience", "hidden_dim", "slot_dim", "overs", "history"),
    *("d", "d_k", "ff", "length"),
    *map("heads.{}".format, HEADS),
)
"""Settings that are at least 1."""

WIDEST: Final = 4096
"""The most that any of a model's sizes may be."""

SHARES: Final = (
    *("hide_some", "hide_all", "hide_player", "hide_block", "forget", "forget_past", "final"),
    *("teacher", "average", "dropout", "smoothing"),
)
"""Settings that lie between 0 and 1; a moving average and dropout leave something over."""

LARGEST: Final = 1e9
"""The most that any setting without another bound may be, either way."""

SIGNED: Final = ("null",)
"""Settings that may be negative."""


@dataclass(frozen=True)
class Kind(Generic[R]):
    """What can be set for one kind of model: its recipe, its sizes, and heads by scale."""

    recipe: type[R]
    sizes: type
    scales: Mapping[str, int]

    @property
    def recipe_types(self) -> dict[str, str]:
        """The recipe's settings and the kind of each."""
        return {field.name: str(field.type) for field in fields(self.recipe)}

    @property
    def size_types(self) -> dict[str, str]:
        """The sizes that can be set, and the kind of each."""
        fixed = FIXED if self.scales else [name for name in FIXED if name != "heads"]
        return {
            field.name: str(field.type) for field in fields(self.sizes) if field.name not in fixed
        }


PREDICTOR: Final = Kind(Recipe, Sizes, HEADS)
OVERS: Final = Kind(OverRecipe, OverSizes, {})


def recipe_and_sizes(
    kind: Kind[R], words: Sequence[str], given: Mapping[str, Setting]
) -> tuple[R, dict[str, Setting]]:
    """The recipe, and the sizes that differ from the default.

    Args:
        words: such as ``learning_rate=0.001``, ``heads.medium=8`` or ``null=null``.
        given: further settings by name, already values.

    Raises:
        InputError: a name is no setting, or a value does not fit it.
    """
    of_recipe, of_sizes = kind.recipe_types, kind.size_types
    recipe: dict[str, Setting] = {}
    sizes: dict[str, Setting] = {}
    heads: dict[str, int] = {}
    for name, value in [*(_parted(word) for word in words), *given.items()]:
        scale = name.removeprefix("heads.")
        if name in of_recipe:
            recipe[name] = _fitting(name, value, of_recipe[name], math.inf)
        elif name in of_sizes:
            sizes[name] = _fitting(name, value, of_sizes[name], WIDEST)
        elif scale in kind.scales and scale != name:
            heads[scale] = _fitting(name, value, "int", WIDEST)
        else:
            known = ", ".join([*of_recipe, *of_sizes, *(f"heads.{one}" for one in kind.scales)])
            raise InputError(f"--set: there is no setting {name!r}", remedy=f"known: {known}")
    if heads:
        sizes["heads"] = {**kind.scales, **heads}
    made: Callable[..., R] = kind.recipe
    return made(**recipe), sizes


def _parted(word: str) -> tuple[str, Any]:
    name, sign, value = word.partition("=")
    if not sign:
        raise InputError(f"--set {word}: a setting is NAME=VALUE")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        raise InputError(f"--set {word}: {value!r} is not a number, true, false or null") from None


def _fitting(name: str, value: Any, kind: str, widest: float) -> Any:
    """``value`` where it is of the kind a dataclass names; a count is at most ``widest``."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        (value is None and "None" in kind)
        or (kind == "bool" and isinstance(value, bool))
        or (kind == "int" and number and float(value).is_integer() and value >= 0)
        or (kind.startswith("float") and number)
    )
    if not fits:
        raise InputError(f"--set {name}={json.dumps(value)}: {name} is of the kind {kind}")
    bounds = _bounds(name, widest)
    if number and not bounds[0] <= value <= bounds[1]:
        least, most = (f"{bound:g}" for bound in bounds)
        reach = f"between {least} and {most}"
        if name in COUNTS:
            reach = f"at least {least}" if value < bounds[0] else f"at most {most}"
        raise InputError(f"--set {name}={json.dumps(value)}: {name} is {reach}")
    return int(value) if kind == "int" else value


def _bounds(name: str, widest: float) -> tuple[float, float]:
    """The least and the most a setting may be."""
    if name in COUNTS:
        return 1, widest
    if name in SHARES:
        return 0, 0.9999 if name in ("average", "dropout") else 1
    return (-LARGEST if name in SIGNED else 0), LARGEST
