"""The checkpoints of cricket that come with attnlens, and how often their probabilities came true.

The table is measured by ``attnlens lab evaluate SRC --model CHECKPOINT --calibration-out FILE``
(see `attnlens.cricket.lab.evaluation.calibration_table`). A checkpoint ``name.safetensors`` carries
one where ``name.calibration.json`` lies beside it and was measured on exactly those weights. The
shipped ``bundled`` checkpoint has ratings that know every match that could judge it, so it quotes
the table of ``measured``, which says whose it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.errors import CheckpointError
from attnlens.files import Json
from attnlens.reference.checkpoint import shipped

KIND: Final = "calibration"
FORMAT: Final = 1
SUFFIX: Final = ".calibration.json"
_STANDS_FOR: Final[Mapping[str, str]] = {"bundled": "measured"}
"""Shipped checkpoints without unseen matches, and the one whose table they quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Balls with about the same probability of an outcome, and how often it happened.

    Attributes:
        most: the highest probability among them.
        predicted: the mean probability.
        happened_ci: the 95% interval of ``happened``; ``None`` where they come from one match.
    """

    most: float
    predicted: float
    happened: float
    happened_ci: tuple[float, float] | None
    balls: int

    def __post_init__(self) -> None:
        chances = (self.most, self.predicted, self.happened, *(self.happened_ci or ()))
        if (
            not all(0 <= chance <= 1 for chance in chances)
            or int(self.balls) != self.balls
            or (self.balls < 1)
        ):
            raise ValueError("a bin's numbers cannot be")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationTable:
    """How often a checkpoint's calls came true.

    Attributes:
        checkpoint, sha256: whose calls were counted: its name and its digest.
        matches, balls, first, last: on what, and the days between which it was played.
        levels: of every outcome, the likelier ones last.
    """

    checkpoint: str
    sha256: str
    matches: int
    balls: int
    first: str | None
    last: str | None
    levels: Mapping[str, tuple[Level, ...]]

    @classmethod
    def of(cls, data: Json) -> CalibrationTable:
        """The table of a file.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is none.
        """
        levels = {
            name: tuple(
                Level(
                    **{**level, "happened_ci": level["happened_ci"] and tuple(level["happened_ci"])}
                )
                for level in bins
            )
            for name, bins in data["outcomes"].items()
        }
        if tuple(levels) != OUTCOMES or not all(levels.values()):
            raise ValueError("it does not tell of every outcome")
        return cls(
            checkpoint=data["checkpoint"]["name"],
            sha256=data["checkpoint"]["sha256"],
            matches=data["matches"],
            balls=data["balls"],
            first=data["dates"]["first"],
            last=data["dates"]["last"],
            levels=levels,
        )

    def like(self, outcome: str, chance: float) -> Level:
        """The balls like one with this probability; beyond the bins, those of the outermost."""
        bins = self.levels[outcome]
        return next((level for level in bins if chance <= level.most), bins[-1])


def calibration_beside(checkpoint: Path, sha256: str, *, shipped: bool) -> CalibrationTable | None:
    """The table of the checkpoint in a file; ``None`` where it carries none.

    Args:
        sha256: of the checkpoint: a table that was measured on other weights does not count.
        shipped: whether it came with attnlens, and may quote another's table.

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
