"""Settings of a training run given as words, ``NAME=VALUE``."""

from __future__ import annotations

import json
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

KINDS: Final = ("int", "float", "float | None", "bool")
FIXED: Final = ("outcomes", "happened", "features", "context", "tokens")
"""Sizes that follow from what a model is told and writes."""

WIDEST: Final = 4096
LARGEST: Final = 1e9
COUNTS: Final = (
    *("epochs", "heads", "innings", "patience", "hidden_dim", "slot_dim", "overs", "history"),
    *("d", "d_k", "ff", "length"),
    *map("heads.{}".format, HEADS),
)
SHARES: Final = (
    *("hide_some", "hide_all", "hide_player", "hide_block", "forget", "forget_past", "final"),
    *("teacher", "smoothing"),
)
BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    **dict.fromkeys(COUNTS, (1, WIDEST)),
    **dict.fromkeys(SHARES, (0, 1)),
    **dict.fromkeys(("average", "dropout"), (0, 0.9999)),
    "null": (-LARGEST, LARGEST),
}
"""The least and the most a setting may be; from 0 to `LARGEST` where nothing is said."""


@dataclass(frozen=True)
class Kind(Generic[R]):
    """What can be set for one kind of model: its recipe, its sizes, and heads by scale."""

    recipe: type[R]
    sizes: type
    scales: Mapping[str, int]

    @property
    def settings(self) -> dict[str, str]:
        """Every setting, and the kind of value it takes."""
        every = {
            field.name: str(field.type) for field in (*fields(self.recipe), *fields(self.sizes))
        }
        known = {n: kind for n, kind in every.items() if kind in KINDS and n not in FIXED}
        return known | {f"heads.{scale}": "int" for scale in self.scales}


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
    known = kind.settings
    chosen: dict[str, Any] = {}
    for name, value in [*map(_parted, words), *given.items()]:
        if name not in known:
            names = ", ".join(known)
            raise InputError(f"--set: there is no setting {name!r}", remedy=f"known: {names}")
        chosen[name] = _fitting(name, value, known[name])
    heads = {scale: chosen.pop(f"heads.{scale}", usual) for scale, usual in kind.scales.items()}
    of_recipe = {field.name for field in fields(kind.recipe)}
    make: Callable[..., R] = kind.recipe
    recipe = make(**{name: value for name, value in chosen.items() if name in of_recipe})
    sizes = {name: value for name, value in chosen.items() if name not in of_recipe}
    return recipe, sizes if heads == kind.scales else {**sizes, "heads": heads}


def _parted(word: str) -> tuple[str, Any]:
    name, sign, value = word.partition("=")
    if not sign:
        raise InputError(f"--set {word}: a setting is NAME=VALUE")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        raise InputError(f"--set {word}: {value!r} is not a number, true, false or null") from None


def _fitting(name: str, value: Any, kind: str) -> Any:
    """``value`` where it is of the kind a dataclass names, and within `BOUNDS`."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "int": number and float(value).is_integer(),
        "bool": isinstance(value, bool),
        "float": number,
        "float | None": number or value is None,
    }
    if not fits[kind]:
        raise InputError(f"--set {name}={json.dumps(value)}: {name} is of the kind {kind}")
    least, most = BOUNDS.get(name, (0, LARGEST))
    if number and not least <= value <= most:
        raise InputError(
            f"--set {name}={json.dumps(value)}: {name} is between {least:g} and {most:g}"
        )
    return int(value) if kind == "int" else value
