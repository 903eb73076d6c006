"""The record of one call, and what can be asked of it: a part, an array, a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnlens.recording.kept import Kept
from attnlens.recording.select import by_label, by_position
from attnlens.recording.table import MOST_ROWS, array_of, record_text, table_of

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionRecord(Kept):
    """The attention of one call of one module; `Kept` tells what it holds."""

    def sel(self, **choices: Any) -> AttentionRecord:
        """The part where axes are called as asked: ``sel(query="the", head=[0, 3])``.

        A text is a label, or the number of a position whose axis has no labels, and stands
        for every position that is called so; a stretch of labels, ``slice("the", "mat")``,
        includes its last. A number is a position, as for `isel`. Lists may hold both. Every
        axis stays. Of a lazy record only the rows that are asked for are formed.

        Raises:
            RecordingError: no such axis, label or position.
        """
        return by_label(self, choices)

    def isel(self, **choices: Any) -> AttentionRecord:
        """The part at these positions: ``isel(query=-1, key=slice(0, 8))``; every axis stays.

        Raises:
            RecordingError: no such axis or position.
        """
        return by_position(self, choices)

    def to_numpy(self, *, missing: float = 0.0) -> NDArray[np.floating[Any]]:
        """The weights as an array, one dimension per axis, in single or double precision.

        Args:
            missing: what stands where a top-k record kept no weight.

        Raises:
            RecordingError: more weights than memory can be expected to hold.
        """
        return array_of(self, missing=missing)

    def to_pandas(self, *, most: int = MOST_ROWS) -> pandas.DataFrame:
        """One row per weight: ``site, call``, a column per axis, ``weight`` and, where they
        were told, ``content`` and ``bias``.

        An axis column holds labels where there are some, else numbers; where labels repeat,
        ``query_position`` (or so) tells them apart. Of a top-k record, the keys that were kept.

        Raises:
            RecordingError: more than ``most`` rows.
        """
        return table_of((self,), most=most)

    def __repr__(self) -> str:
        return record_text(self)
