"""Which matches a checkpoint has seen, in eight bytes each.

Dates alone cannot tell whether a model was trained on a match: what its collection lacked,
or a league played in the same months, would be suspected too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match import Match


def identity_of(match: Match) -> int | None:
    """A number for the match, the same whatever file tells of it.

    It is made from the first day and the two sides. The ground is left out: collections
    spell it differently, and two sides that meet twice on one day are both suspected rather
    than both missed.

    Returns:
        a signed 64-bit number; ``None`` where the file tells no date or no teams.
    """
    if match.date is None or not match.teams:
        return None
    teams = sorted(" ".join(team.split()).casefold() for team in match.teams)
    told = "\n".join([match.date.isoformat(), *teams])
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "little", signed=True)


def identities(matches: Iterable[Match]) -> frozenset[int]:
    """Of all matches that have one."""
    found = (identity_of(match) for match in matches)
    return frozenset(one for one in found if one is not None)


def to_tensor(seen: frozenset[int]) -> Tensor:
    """``(matches,)``, in order."""
    return torch.from_numpy(np.array(sorted(seen), np.int64))


def from_tensor(told: Tensor) -> frozenset[int]:
    """The reverse of `to_tensor`.

    Raises:
        ValueError: it holds something else.
    """
    if told.dtype != torch.int64 or told.dim() != 1:
        raise ValueError("the matches it has seen are told in another shape")
    return frozenset(told.tolist())
