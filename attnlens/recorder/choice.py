"""What to keep of every attention call: read once, from the options of `record`."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from attnlens.errors import AttnlensError, RecordingError
from attnlens.recording.axes import places, positions

WHOLE_CALL_BYTES: Final = 128 << 20
"""Weights of one call that are kept whole unless asked: 12 heads of 1,672 keys in float32."""

WHOLE_BLOCK_BYTES: Final = 2 << 30
"""Weights of all calls of a block in memory that are kept whole unless asked."""

DEFAULT_TOP: Final = 64
"""Weights kept of each row of a larger call."""

KEPT_DTYPES: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

Rows = int | Sequence[int] | slice | None
Which = str | Sequence[str] | Callable[[str], bool]
"""Sites: names, patterns over them, or a function of a name."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is kept of a call.

    Attributes:
        rows: which queries, as given; a single number has become a tuple.
        top_k: so many largest weights of each row.
        lazy: queries and keys instead of weights.
        dtype: of the weights kept; None: float32, float64 where the model computes in it.
    """

    rows: tuple[int, ...] | slice | None = None
    top_k: int | None = None
    lazy: bool = False
    dtype: torch.dtype | None = None

    @classmethod
    def of(cls, rows: Rows, top_k: int | None, lazy: bool, dtype: torch.dtype | None) -> Choice:
        """The choice that options make.

        Raises:
            RecordingError: options that are none, or exclude each other.
        """
        told = [
            name
            for name, given in (
                ("rows", rows is not None),
                ("top_k", top_k is not None),
                ("lazy", bool(lazy)),
            )
            if given
        ]
        if len(told) > 1:
            raise RecordingError(
                f"{' and '.join(told)} exclude each other; choose one of rows= (some queries), "
                "top_k= (the largest weights of each row), lazy=True (any row later)"
            )
        if top_k is not None and (not _is_number(top_k) or top_k < 1):
            raise RecordingError(f"top_k={top_k!r}; give a number from 1")
        if dtype is not None and dtype not in KEPT_DTYPES:
            names = ", ".join(str(kept) for kept in KEPT_DTYPES)
            raise RecordingError(f"dtype={dtype!r}; choose one of {names}")
        if dtype is not None and lazy:
            raise RecordingError(
                "lazy keeps queries and keys as the model has them; leave dtype out, or lazy"
            )
        chosen = None if rows is None else positions("rows", rows)
        return cls(chosen, top_k, bool(lazy), dtype)

    def queries(self, count: int, site: str) -> list[int] | None:
        """The queries to keep of ``count``, counted from 0; None: all of them.

        Raises:
            RecordingError: a query that is not there, or none at all.
        """
        if self.rows is None:
            return None
        chosen = places(self.rows, count, f"{site}: row")
        return None if chosen == list(range(count)) else chosen

    def top(self, keys: int, site: str) -> int:
        """How many keys of each row to keep.

        Raises:
            RecordingError: more than there are.
        """
        if self.top_k is None:
            return DEFAULT_TOP
        if self.top_k > keys:
            raise RecordingError(
                f"{site}: top_k={self.top_k}, and there are {keys} keys; "
                f"give at most {keys}, or leave top_k out to keep whole rows"
            )
        return self.top_k

    @property
    def open(self) -> bool:
        """Whether nothing was chosen, so that size decides."""
        return self.rows is None and self.top_k is None and not self.lazy


def sites_meant(
    option: str, given: Which, error: type[AttnlensError] = RecordingError
) -> tuple[tuple[str, ...], Callable[[str], bool]]:
    """Patterns over site names (as in a shell: ``*``, ``?``), and whether a site is meant.

    Raises:
        AttnlensError: of the type given: neither patterns nor a function.
    """
    if callable(given):
        return (), given
    many = (given,) if isinstance(given, str) else given
    patterns = tuple(many) if isinstance(many, Iterable) else ()
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise error(
            f"{option}={given!r}; give names, patterns such as 'encoder.*', or a function of a name"
        )
    return patterns, lambda site: any(matches(site, pattern) for pattern in patterns)


def matches(site: str, pattern: str) -> bool:
    """Whether a pattern names a site."""
    return site == pattern or fnmatch.fnmatchcase(site, pattern)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
