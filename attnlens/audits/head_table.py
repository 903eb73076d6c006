"""A table that shows what each head of a recording attends to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

import numpy as np

from attnlens.attention.focus import as_floats, entropy, sink_items
from attnlens.attention.heads import (
    duplicate_token,
    earlier_token,
    first_token,
    induction,
    relation_scores,
)
from attnlens.errors import InputError
from attnlens.files import Floats
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.recording import Recording

if TYPE_CHECKING:
    import pandas

RELATIONS: Final = ("previous", "first", "duplicate", "induction")
_CROSS: Final = ("cross", "encdec", "encoder_attn", "enc_attn", "multihead_attn")
"""Words in the site names of cross-attention."""
FIGURES: Final = (*RELATIONS, "sink", "entropy", "importance")
"""The columns that an audit averages over its inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRow:
    """The measurements of one head. A share of attention is a number from 0 to 1.

    Attributes:
        layer: the first number in the site's name, or else the site's index.
        site: the name of the attention module, as in ``named_modules()``.
        stack: a name such as ``decoder cross``; empty if all sites have different layers.
        previous, first, duplicate, induction: the mean share of attention to the previous token,
            the first token, earlier copies of the same token, and the tokens after these copies.
            Queries without such a token are ignored; None if no query has such a token.
        sink: the mean share of attention to sinks.
        entropy: the mean entropy of the attention weights, in nats.
        relation: the relation (previous, duplicate or induction) with the largest lift.
        lift: the share of attention to ``relation``, divided by the share under uniform attention.
        importance: gradient times attention, summed over keys except sinks, special tokens, padding
            and the answer's position. None outside an audit.
        p: the p-value for hiding the head's most attended items from the whole model. None outside
            an audit, and for several inputs.
    """

    layer: int
    head: int
    site: str
    previous: float | None
    first: float | None
    duplicate: float | None
    induction: float | None
    sink: float | None
    entropy: float | None
    relation: str | None = None
    lift: float | None = None
    importance: float | None = None
    p: float | None = None
    stack: str = ""

    @property
    def name(self) -> str:
        """The name of the head, such as ``L16H0`` or ``decoder cross L16H0``."""
        return f"{self.stack} L{self.layer}H{self.head}".strip()


class HeadTable(tuple[HeadRow, ...]):
    """The rows of all heads, displayed as a table."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one row per head."""
        import pandas

        return pandas.DataFrame(list(self), columns=[field.name for field in fields(HeadRow)])

    def __repr__(self) -> str:
        return str(resolve_name("attnlens.render.audit:heads_text")(self))


def heads(
    recording: Recording,
    tokens: Sequence[object] | None = None,
    *,
    sinks: Collection[int] | None = None,
) -> HeadTable:
    """Measure how much each head attends to the previous, first and repeated tokens, and to sinks.

    Args:
        recording: a recording with complete or lazy weights ``(batch, head, query, key)``.
        tokens: one token for each key; None: the labels of the keys. Sites with another number of
            keys are ignored.
        sinks: the positions of sinks; None: the result of `attnlens.attention.focus.sink_items`.

    Raises:
        InputError: no record has complete weights.

    Reference:
        Olsson et al. 2022, "In-context Learning and Induction Heads"; Xiao et al. 2023,
        "Efficient Streaming Language Models with Attention Sinks".
    """
    records = list(whole_records(recording, None if tokens is None else len(tokens)))

    def words(record: AttentionRecord) -> Sequence[object] | None:
        return record.axes[-1].labels if tokens is None else tokens

    if sinks is None:
        sinks = sink_items(records, words(records[0]))
    places = site_places([record.site for record in records])
    return HeadTable(
        replace(row, stack=places[record.site][0])
        for record in records
        for row in _rows(record, places[record.site][1], words(record), sinks)
    )


def whole_records(recording: Recording, keys: int | None) -> Iterator[AttentionRecord]:
    """Yield the first record of each site if it is complete and has ``keys`` keys.

    Raises:
        InputError: there is no such record.
    """
    count = 0
    for site in recording:
        record = recording.calls(site)[0]
        names = tuple(axis.name for axis in record.axes)
        fits = names == ("batch", "head", "query", "key") and record.keys is None
        if fits and record.rows is None and keys in (None, record.shape[-1]):
            count += 1
            if record.lazy is not None:
                record = record.replaced(weights=record.weights, lazy=None)
            yield record
    if not count:
        some = f" over {keys} keys" if keys else ""
        raise InputError(
            f"no complete attention weights (batch, head, query, key){some} were recorded",
            remedy="record without rows= and top_k=",
        )


def site_places(sites: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return the stack and the layer of every site; see `HeadRow`.

    If two sites have the same stack and layer, the site's full name replaces the stack.
    """
    layers = {}
    for index, site in enumerate(sites):
        number = re.search(r"\d+", site)
        layers[site] = int(number[0]) if number else index
    if len({*layers.values()}) == len(sites):
        return {site: ("", layer) for site, layer in layers.items()}
    stacks = {site: _stack_of(site) for site in sites}
    counts = Counter((stacks[site], layers[site]) for site in sites)
    return {
        site: (stacks[site] if counts[stacks[site], layers[site]] == 1 else site, layers[site])
        for site in sites
    }


def _stack_of(site: str) -> str:
    parts = site.lower().split(".")
    stacks = [name for name in ("encoder", "decoder") if name in parts]
    is_cross = any(word in parts[-1] for word in _CROSS) or "crossattention" in parts
    return " ".join([*stacks, *(["cross"] if is_cross else [])])


def _rows(
    record: AttentionRecord, layer: int, tokens: Sequence[object] | None, sinks: Collection[int]
) -> Iterator[HeadRow]:
    queries, keys = record.shape[-2:]
    scores = {}
    if queries == keys:
        flags = {"previous": earlier_token(keys), "first": first_token(keys)}
        if tokens is not None:
            flags |= {"duplicate": duplicate_token(tokens), "induction": induction(tokens)}
        scores = {name: relation_scores(record, flag) for name, flag in flags.items()}
    shares = as_floats(record)
    spread = entropy(shares)
    to_sinks = shares[..., sorted(sinks)].sum(-1).mean((0, 2))
    for head in range(record.shape[1]):
        share = {name: _nan_mean(score.share[:, head]) for name, score in scores.items()}
        lifts = {name: _nan_mean(score.lift[:, head]) for name, score in scores.items()}
        candidates = [name for name in lifts if name != "first" and lifts[name] is not None]
        best = max(candidates, default=None, key=lambda name: lifts[name] or 0.0)
        yield HeadRow(
            layer=layer,
            head=head,
            site=record.site,
            previous=share.get("previous"),
            first=share.get("first"),
            duplicate=share.get("duplicate"),
            induction=share.get("induction"),
            sink=float(to_sinks[head]),
            entropy=_nan_mean(spread[:, head]),
            relation=best,
            lift=None if best is None else lifts[best],
        )


def _nan_mean(values: Floats) -> float | None:
    valid = values[~np.isnan(values)]
    return float(valid.mean()) if valid.size else None
