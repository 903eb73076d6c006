"""How often a checkpoint's calls came true: a small table beside its weights, read cheaply.

The table is measured by ``attnlens evaluate SRC --model CHECKPOINT --calibration-out FILE`` (see
`attnlens.cricket.calibration_table`). A checkpoint ``name.safetensors`` carries one where
``name.calibration.json`` lies beside it and was measured on exactly those weights. The shipped
``bundled`` checkpoint has seen every match that could judge it, so it quotes the table of
``measured``, which says whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.outcomes import OUTCOMES
from attnlens.errors import CheckpointError

KIND: Final = "calibration"
FORMAT: Final = 1
SUFFIX: Final = ".calibration.json"
STANDS_FOR: Final[Mapping[str, str]] = {"bundled": "measured"}
"""Shipped checkpoints without unseen matches, and the one whose table they quote."""


def calibration_beside(checkpoint: Path, sha256: str) -> dict[str, Any] | None:
    """The table of the checkpoint in a file; ``None`` where it carries none of its own.

    Args:
        sha256: of the checkpoint: a table that was measured on other weights does not count.

    Raises:
        CheckpointError: what lies there is damaged or of another kind.
    """
    path = checkpoint.with_name(checkpoint.stem + SUFFIX)
    if not path.is_file():
        return None
    table = _read(path)
    return table if table["checkpoint"]["sha256"] == sha256 else None


def shipped_calibration(folder: Path, name: str) -> dict[str, Any] | None:
    """The table that a shipped checkpoint quotes, its own or another's."""
    path = folder / f"{STANDS_FOR.get(name, name)}{SUFFIX}"
    return _read(path) if path.is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_bytes())
        whole = (
            (table["kind"], table["format"]) == (KIND, FORMAT)
            and {"name", "sha256"} <= set(table["checkpoint"])
            and {"matches", "balls"} <= set(table)
            and {"first", "last"} <= set(table["dates"])
            and tuple(table["outcomes"]) == OUTCOMES
            and all(bins and all(map(_is_bin, bins)) for bins in table["outcomes"].values())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"is no table of calibration ({' '.join(str(error).split())[:80]})",
            path=path,
            remedy="measure it again with `attnlens evaluate --calibration-out`",
        ) from error
    if not whole:
        raise CheckpointError(
            "is a table of calibration that this attnlens does not read",
            path=path,
            remedy="measure it again with `attnlens evaluate --calibration-out`",
        )
    result: dict[str, Any] = table
    return result


def _is_bin(one: Mapping[str, Any]) -> bool:
    chances = [one["most"], one["predicted"], one["happened"], *(one["happened_ci"] or ())]
    return all(0 <= chance <= 1 for chance in chances) and int(one["balls"]) == one["balls"] > 0


def calls_like(table: Mapping[str, Any], chances: Sequence[float]) -> dict[str, Any]:
    """How often calls like these came true, one entry per outcome.

    Args:
        table: as measured.
        chances: the probability of each outcome, in order.
    """
    entries = []
    for outcome, chance in zip(OUTCOMES, chances, strict=True):
        bins = table["outcomes"][outcome]
        like = next((one for one in bins if chance <= one["most"]), bins[-1])
        entries.append(
            {
                "outcome": outcome,
                "predicted": like["predicted"],
                "happened": like["happened"],
                "happened_ci": like["happened_ci"],
                "balls": like["balls"],
            }
        )
    return {
        "checkpoint": table["checkpoint"]["name"],
        "matches": table["matches"],
        "balls": table["balls"],
        "first": table["dates"]["first"],
        "last": table["dates"]["last"],
        "outcomes": entries,
    }
