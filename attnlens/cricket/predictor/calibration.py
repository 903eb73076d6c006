"""The checkpoints of cricket that come with attnlens, and how often their probabilities came true.

A checkpoint ``name.safetensors`` carries a table where ``name.calibration.json`` lies beside it and
was measured on those weights. The shipped ``bundled`` quotes the table of ``measured``.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from attnlens.cricket.match.match import OUTCOMES
from attnlens.errors import CheckpointError
from attnlens.files import Json
from attnlens.reference.checkpoint import shipped

KIND: Final = "calibration"
FORMAT: Final = 1
SUFFIX: Final = ".calibration.json"
_STANDS_FOR: Final[Mapping[str, str]] = {"bundled": "measured"}
"""Shipped checkpoints without unseen matches, and the one whose table they quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Balls with about the same probability of an outcome, and how often it came.

    Attributes:
        most: the highest probability among them; ``predicted``: the mean.
        happened: the share of them with the outcome; ``happened_ci``: its 95% interval, ``None``
            where the balls come from one match.
    """

    most: float
    predicted: float
    happened: float
    happened_ci: tuple[float, float] | None
    balls: int

    def __post_init__(self) -> None:
        shares = (self.most, self.predicted, self.happened, *(self.happened_ci or ()))
        if not all(0 <= share <= 1 for share in shares) or self.balls not in range(1, 2**40):
            raise ValueError("a bin's numbers cannot be")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonSlope:
    """The slope of what came on what a kind of reason said, and its 95% interval.

    1: it came as said. See `attnlens.cricket.lab.reasons_evaluation`.
    """

    slope: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.slope, self.low, self.high))):
            raise ValueError("a slope is not finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationTable:
    """How often the calls of the checkpoint with that name and digest came true.

    Attributes:
        first, last: the days between which the matches were played.
        levels: the bins of every outcome, the likelier ones last.
        reasons: how much of each group of contributions came true, by name; empty where it was not
            measured.
    """

    checkpoint: str
    sha256: str
    matches: int
    balls: int
    first: str | None
    last: str | None
    levels: Mapping[str, tuple[CalibrationBin, ...]]
    reasons: Mapping[str, ReasonSlope] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Json) -> CalibrationTable:
        """The table of a file.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is none.
        """
        levels = {
            name: tuple(
                CalibrationBin(**entry | {"happened_ci": ci and tuple(ci)})
                for entry in bins
                for ci in [entry["happened_ci"]]
            )
            for name, bins in data["outcomes"].items()
        }
        if tuple(levels) != OUTCOMES or not all(levels.values()):
            raise ValueError("it does not tell of every outcome")
        name, sha256 = (data["checkpoint"][key] for key in ("name", "sha256"))
        counts = {key: data[key] for key in ("matches", "balls")}
        dates = {key: data["dates"][key] for key in ("first", "last")}
        slopes = data.get("reasons", {"slopes": {}})["slopes"]
        reasons = {group: ReasonSlope(**slope) for group, slope in slopes.items()}
        members = {**counts, **dates, "levels": levels, "reasons": reasons}
        return cls(checkpoint=name, sha256=sha256, **members)

    def like(self, outcome: str, probability: float) -> CalibrationBin:
        """The balls like one with this probability; beyond the bins, those of the outermost."""
        bins = self.levels[outcome]
        return next((level for level in bins if probability <= level.most), bins[-1])


def calibration_beside(checkpoint: Path, sha256: str, *, shipped: bool) -> CalibrationTable | None:
    """The table of the checkpoint in a file; ``None`` where there is none of its weights.

    Raises:
        CheckpointError: what lies there is damaged or of another kind.
    """
    name = checkpoint.stem
    path = checkpoint.with_name(f"{_STANDS_FOR.get(name, name) if shipped else name}{SUFFIX}")
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_bytes())
        if (data["kind"], data["format"]) != (KIND, FORMAT):
            raise ValueError("another kind or format")
        table = CalibrationTable.of(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            "is no table of calibration that this attnlens reads "
            f"({' '.join(str(error).split())[:80]})",
            path=path,
            remedy="measure it again with `attnlens lab evaluate --calibration-out`",
        ) from error
    return table if shipped or table.sha256 == sha256 else None


SHIPPED: Final[tuple[str, ...]] = ("bundled", "measured")
"""Predictors of balls that come with attnlens, by name; the first is the default."""

OVERS: Final = "cricket"
"""The encoder-decoder of overs that comes with attnlens."""


def named_checkpoint(model: str | os.PathLike[str] | None = None) -> tuple[str, Path]:
    """A checkpoint's name and its file, which need not exist.

    Args:
        model: a name of `SHIPPED`, `OVERS`, or a file, whose name is then its stem.
    """
    name = SHIPPED[0] if model is None else str(model)
    if name in (*SHIPPED, OVERS):
        return name, shipped(name)
    path = Path(name)
    return path.stem, path
