"""The names of the shipped cricket checkpoints, and the calibration tables of checkpoints.

The calibration table of ``name.safetensors`` is the file ``name.calibration.json`` in the same
folder. The table must contain the checkpoint's digest. This digest is not checked for shipped
checkpoints, because ``bundled`` uses the table of ``measured``.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Held-out balls with similar predicted probabilities of one outcome.

    Attributes:
        most: the highest predicted probability in the bin.
        predicted: the mean predicted probability.
        happened: the share of the balls with the outcome.
        happened_ci: the 95% interval of ``happened``; ``None`` if all balls are from one match.
    """

    most: float
    predicted: float
    happened: float
    happened_ci: tuple[float, float] | None
    balls: int

    def __post_init__(self) -> None:
        shares = (self.most, self.predicted, self.happened, *(self.happened_ci or ()))
        if not all(0 <= share <= 1 for share in shares) or self.balls not in range(1, 2**40):
            raise ValueError("a bin contains an impossible number")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonSlope:
    """The calibration slope of one reason (a group of inputs), and its 95% interval.

    The slope comes from a logistic regression of the outcome on the reason's contribution. A
    calibrated contribution has the slope 1. See `attnlens.cricket.lab.reasons_evaluation`.
    """

    slope: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.slope, self.low, self.high))):
            raise ValueError("a slope is not finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationTable:
    """The predicted probabilities of one checkpoint, compared with the observed frequencies.

    Attributes:
        checkpoint, sha256: the checkpoint's name and digest.
        first, last: the dates of the first and the last evaluated match.
        levels: for each outcome, the bins in order of increasing probability.
        reasons: the calibration slope of each reason; empty if not measured.
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
        """Build the table from the parsed JSON of its file.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: the content is not a calibration table.
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
            raise ValueError("it does not contain every outcome")
        name, sha256 = (data["checkpoint"][key] for key in ("name", "sha256"))
        counts = {key: data[key] for key in ("matches", "balls")}
        dates = {key: data["dates"][key] for key in ("first", "last")}
        slopes = data.get("reasons", {"slopes": {}})["slopes"]
        reasons = {group: ReasonSlope(**slope) for group, slope in slopes.items()}
        members = {**counts, **dates, "levels": levels, "reasons": reasons}
        return cls(checkpoint=name, sha256=sha256, **members)

    def like(self, outcome: str, probability: float) -> CalibrationBin:
        """Return the first bin whose ``most`` is at least ``probability``, or else the last bin."""
        bins = self.levels[outcome]
        return next((level for level in bins if probability <= level.most), bins[-1])


def calibration_beside(checkpoint: Path, sha256: str, *, shipped: bool) -> CalibrationTable | None:
    """Return the calibration table of a checkpoint, or ``None`` if there is no matching table.

    Args:
        sha256: the digest of the checkpoint.
        shipped: whether attnlens ships the checkpoint; if true, the digest is not checked.

    Raises:
        CheckpointError: the file is damaged or is not a calibration table.
    """
    name = checkpoint.stem
    path = checkpoint.with_name(f"{_STANDS_FOR.get(name, name) if shipped else name}{SUFFIX}")
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_bytes())
        if (data["kind"], data["format"]) != (KIND, FORMAT):
            raise ValueError("its kind or format is not supported")
        table = CalibrationTable.of(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            "is not a calibration table that this attnlens can read "
            f"({' '.join(str(error).split())[:80]})",
            path=path,
            remedy="measure it again with `attnlens lab evaluate --calibration-out`",
        ) from error
    return table if shipped or table.sha256 == sha256 else None


SHIPPED: Final[tuple[str, ...]] = ("bundled", "measured")
"""The names of the shipped predictors of ball outcomes. The first name is the default."""

OVERS: Final = "cricket"
"""The name of the shipped encoder-decoder, which predicts overs."""


def named_checkpoint(model: str | os.PathLike[str] | None = None) -> tuple[str, Path]:
    """Return the name and the path of a checkpoint. The file does not have to exist.

    Args:
        model: a name in `SHIPPED`, the name `OVERS`, or a path; by default, the first name in
            `SHIPPED`. The name of a path is its stem.
    """
    name = SHIPPED[0] if model is None else str(model)
    if name in (*SHIPPED, OVERS):
        return name, shipped(name)
    path = Path(name)
    return path.stem, path
