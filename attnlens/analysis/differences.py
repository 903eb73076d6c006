"""How attention differs between two recordings: before and after, one model and another.

Records are set side by side by site and call, and their cells by label, so that two recordings
whose words stand in another order are still compared like with like. What does not
align is refused, never compared by position in silence. A difference says that attention moved,
not that the prediction did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from attnlens.analysis.focus import as_floats, joined, nats_of, query_blocks
from attnlens.arrays import Floats
from attnlens.errors import InputError
from attnlens.recording.axes import Axis
from attnlens.recording.record import AttentionRecord
from attnlens.recording.recording import Recording


@dataclass(frozen=True, slots=True)
class Moved:
    """One weight that is not what it was.

    Attributes:
        places: what the cell is called along each axis, as in ``(("head", "1"), ("key", "the"))``.
        before: its weight in the first recording.
        after: in the second.
    """

    places: tuple[tuple[str, str], ...]
    before: float
    after: float

    @property
    def change(self) -> float:
        """``after - before``."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """How far the attention of one call differs, row by row.

    Rows that pay nothing on either side are NaN.

    Attributes:
        site, call: which.
        first, second: the records, the second in the order of the first.
        total_variation: the share of attention that went elsewhere, 0 to 1,
            ``(batch, head, query)``: half the sum of the absolute changes of a row.
        divergence: Jensen–Shannon, in nats, 0 to log 2, likewise.
    """

    site: str
    call: int
    first: AttentionRecord
    second: AttentionRecord
    total_variation: Floats
    divergence: Floats

    @property
    def by_head(self) -> Floats:
        """The mean total variation of each head over all else, ``(head,)``."""
        lead = tuple(axis for axis in range(self.total_variation.ndim) if axis != _head(self))
        told = ~np.isnan(self.total_variation)
        total = np.where(told, self.total_variation, 0.0).sum(lead)
        count = told.sum(lead)
        found: Floats = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
        return found

    def most_moved(self, count: int = 10) -> tuple[Moved, ...]:
        """The weights that changed most, the most first; ties by position; none that did not.

        Raises:
            InputError: no count from 1.
        """
        if count < 1:
            raise InputError(f"the {count} cells that moved most are none", remedy="ask for more")
        best: list[tuple[float, tuple[int, ...], float, float]] = []
        for rows, before, after in _pairs(self.first, self.second):
            change = np.abs(after - before).ravel()
            number = min(count, change.size)
            for flat in np.argpartition(-change, number - 1)[:number] if number else ():
                if change[flat] > 0:
                    place = [int(one) for one in np.unravel_index(flat, before.shape)]
                    if len(place) > 1:
                        place[-2] += rows.start or 0
                    was, now = float(before.ravel()[flat]), float(after.ravel()[flat])
                    best.append((-float(change[flat]), tuple(place), was, now))
            best = sorted(best)[:count]
        names = [self.first.names(place) for place in range(len(self.first.axes))]
        return tuple(
            Moved(
                tuple(
                    (axis.name, known[at])
                    for axis, known, at in zip(self.first.axes, names, place, strict=True)
                ),
                was,
                now,
            )
            for _, place, was, now in best
        )


def _head(difference: Difference) -> int:
    names = [axis.name for axis in difference.first.axes[:-1]]
    if "head" not in names:
        raise InputError(f"{difference.site}: no axis 'head'; axes: {', '.join(names)}")
    return names.index("head")


def compare(
    first: Recording, second: Recording, sites: Sequence[str] | None = None
) -> list[Difference]:
    """Every call of every site of two recordings, side by side, in the order of the first.

    Args:
        sites: only these; all where not given, which both recordings must then have.

    Raises:
        InputError: a site or a call that only one of them has, or records that do not align.
    """
    wanted = list(first) if sites is None else list(sites)
    for recording, name in ((first, "first"), (second, "second")):
        for site in wanted if sites is not None else {*first, *second}:
            if site not in recording:
                raise InputError(
                    f"the {name} recording has no site {site!r}; it has "
                    f"{', '.join(recording) or 'none'}",
                    remedy="name those to compare with sites=[...]",
                )
    found: list[Difference] = []
    for site in wanted:
        calls = first.calls(site), second.calls(site)
        if len(calls[0]) != len(calls[1]):
            told = f"{len(calls[0])} in the first recording, {len(calls[1])} in the second"
            raise InputError(f"{site}: calls do not align: {told}")
        found.extend(difference(one, other) for one, other in zip(*calls, strict=True))
    return found


def difference(first: AttentionRecord, second: AttentionRecord) -> Difference:
    """Two records side by side, whatever their sites.

    Raises:
        InputError: they do not align.
    """
    second = aligned(first, second)
    variation, divergence = [], []
    for _, before, after in _pairs(first, second):
        told = (before.sum(-1) > 0) & (after.sum(-1) > 0)
        variation.append(np.where(told, np.abs(after - before).sum(-1) / 2, np.nan))
        apart = nats_of((before + after) / 2) - (nats_of(before) + nats_of(after)) / 2
        divergence.append(np.where(told, np.maximum(apart.sum(-1), 0.0), np.nan))
    return Difference(first.site, first.call, first, second, joined(variation), joined(divergence))


def aligned(first: AttentionRecord, second: AttentionRecord) -> AttentionRecord:
    """The second record with its positions in the order of the first's labels.

    Where both have labels on an axis (or say which queries they kept), these must be the same,
    in any order as long as none repeats; else both must have as many positions.

    Raises:
        InputError: they do not align.
    """
    place = f"{first.site} call {first.call}"
    for record in (first, second):
        if record.keys is not None:
            raise InputError(
                f"{record.site}: only the strongest keys were kept, and which they are may differ",
                remedy="record with top_k=None or lazy=True to compare",
            )
    names = [", ".join(axis.name for axis in record.axes) for record in (first, second)]
    if names[0] != names[1]:
        raise InputError(f"{place}: axes ({names[0]}) and ({names[1]}) do not align")
    for number, axis in enumerate(first.axes):
        labelled = axis.labels is not None and second.axes[number].labels is not None
        one, other = (
            record.names(number) if labelled else _numbers_of(record, number)
            for record in (first, second)
        )
        if one == other:
            continue
        if sorted(one) != sorted(other) or len(set(one)) < len(one):
            raise InputError(
                f"{place}: {_apart(axis.name, one, other)}",
                remedy="select what both have, with sel or isel",
            )
        second = second.isel(**{axis.name: [other.index(name) for name in one]})
    return second


def _numbers_of(record: AttentionRecord, number: int) -> tuple[str, ...]:
    """What positions are called where labels are left aside."""
    plain = Axis(record.axes[number].name)
    axes = (*record.axes[:number], plain, *record.axes[number + 1 :])
    return record.replaced(axes=axes).names(number)


def _apart(name: str, one: Sequence[str], other: Sequence[str]) -> str:
    """Where two lists of names part, in a few words."""
    if len(one) != len(other):
        return f"{len(one)} positions of {name} and {len(other)} do not align"
    place = next(
        at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right
    )
    return (
        f"the positions of {name} do not align: number {place} is {one[place]!r} in the first "
        f"and {other[place]!r} in the second"
    )


def _pairs(
    first: AttentionRecord, second: AttentionRecord
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Which queries, and both their weights; a few at a time where a record is lazy."""
    turned = first.lazy is None
    leading, other = (second, first) if turned else (first, second)
    for rows, block in query_blocks(leading):
        beside = as_floats(
            other.lazy.weights(rows)
            if other.lazy is not None and rows != slice(None)
            else other
            if rows == slice(None)
            else other.weights[..., rows, :]
        )
        yield (rows, beside, block) if turned else (rows, block, beside)
