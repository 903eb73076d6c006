"""`audit`: which items a model's answer rests on, by its attention, each claim tested."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from attnlens.audits.head_table import FIGURES, HeadRow, HeadTable
from attnlens.audits.inputs import split_inputs
from attnlens.audits.loading import load_model
from attnlens.audits.report import PLACEBOS, Audit, AuditedModel, Cost, Placebo
from attnlens.audits.screen import screen
from attnlens.audits.target import TargetChoice
from attnlens.audits.testing import audit_input
from attnlens.errors import InputError

_HEADS: Final = 8
"""Heads of which a claim is made, those screened highest."""
_OPTIONS: Final = "inputs, tokens, target, layers, heads, sinks, seed or progress"


@torch.inference_mode(mode=False)
def audit(
    model: nn.Module | str | os.PathLike[str],
    inputs: Any = None,
    *,
    tokens: Any = None,
    target: TargetChoice = None,
    layers: Iterable[int] | int | None = None,
    heads: int = _HEADS,
    sinks: Collection[int] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    **unknown: object,
) -> Audit:
    """Which items a model's answer rests on, by its attention, and whether that holds.

    Each item is hidden from all attention: that is the first table. Then all heads are screened
    by one forward with gradients. What they point at becomes claims: the item and the items that
    weigh most (gradient times attention, all heads together), those attended most, and what the
    heads screened highest look at. Each claim's items are hidden together; then
    `attnlens.evidence` judges.

    Args:
        model: any, with `eval` called; or what `attnlens audit` takes: a folder of Hugging Face, a
            GGUF file, or ``module:function``, which may bring its own inputs.
        inputs: a text or several, with a tokenizer; or tensors, batch first: one, several, or by
            the names of the model's arguments.
        tokens: a tokenizer of Hugging Face, or what the items (keys of attention) are called.
        target: a class by name or number; a next token, or that at ``[MASK]``, by text or
            number; ``"step 3"`` or ``"step 3, channel 1"`` of a forecast; ``"embedding"``;
            a function of the output that returns numbers ``(batch,)``, or probabilities or
            logits ``(batch, outcome)``. None: the likeliest token or class, the first step, or
            the embedding of a model without a head; see `attnlens.audits.target`. A masked
            language model is asked for the last token where the text holds no ``[MASK]``, an
            encoder-decoder for the first token it writes.
        layers: rows and claims of heads of these layers alone; None: all.
        heads: claims are made of so many heads.
        sinks: positions of items left out of claims beside special tokens; None: those of
            `attnlens.attention.sinks.sink_items`.
        seed: of everything drawn.
        progress: is told what is being done.

    Raises:
        InputError: an input, a target or a layer that there is not, or too few items.
        RecordingError: attention that cannot be recorded.
        InterventionError: attention that cannot be hidden.
    """
    started = time.perf_counter()
    if isinstance(model, str | os.PathLike):
        source = load_model(os.fspath(model))
        model = source.model
        tokens = source.tokens if tokens is None else tokens
        inputs = source.inputs if inputs is None else inputs
    single_inputs = split_inputs(model, inputs, tokens)
    # An iterator would be empty at the second input.
    if loose := sorted(unknown):
        raise InputError(f"audit has no option {loose[0]!r}", remedy=f"say {_OPTIONS}")
    if not isinstance(heads, int) or heads < 0:
        raise InputError(f"heads={heads!r} is no number of heads", remedy="give 0 or more")
    selected_layers = [layers] if isinstance(layers, int) else None if layers is None else [*layers]
    results = []
    for number, single_input in enumerate(single_inputs):
        several = len(single_inputs) > 1
        progress(
            f"auditing {f'input {number + 1} of {len(single_inputs)}' if several else 'the input'}"
        )
        single_input.mask_tokens()
        screening = screen(single_input, target, sinks=sinks, seed=seed)
        table = _of_layers(screening.table, selected_layers)
        results.append(audit_input(number, single_input, screening, table, heads, seed))
    summaries, tokens_of, tables, claims, placebos = zip(*results, strict=True)
    targets = list(dict.fromkeys(summary.target for summary in summaries))
    return Audit(
        model=AuditedModel(
            type(model).__name__,
            sum(parameter.numel() for parameter in model.parameters()),
            len({row.site for row in tables[0]}),
            len(tables[0]),
        ),
        inputs=summaries,
        target=targets[0] if len(targets) == 1 else "the likeliest of each input",
        tokens=tuple(chain.from_iterable(tokens_of)),
        heads=_mean_table(tables),
        claims=tuple(chain.from_iterable(claims)),
        placebos=tuple(map(Placebo, PLACEBOS, *np.sum(placebos, 0).T.tolist())),
        cost=Cost(sum(each.rows for each in single_inputs), time.perf_counter() - started),
    )


def _of_layers(table: HeadTable, layers: Sequence[int] | None) -> HeadTable:
    table_layers = {row.layer for row in table}
    selected = table_layers if layers is None else set(layers)
    if strange := sorted(selected - table_layers):
        raise InputError(
            f"there is no layer {strange[0]}",
            remedy=f"layers are {min(table_layers)} to {max(table_layers)}",
        )
    return HeadTable(row for row in table if row.layer in selected)


def _mean_table(tables: Sequence[HeadTable]) -> HeadTable:
    """Means over inputs of each head's figures, where they are known."""
    if len(tables) == 1:
        return tables[0]
    by_head: dict[tuple[str, int], list[HeadRow]] = {}
    for row in chain.from_iterable(tables):
        by_head.setdefault((row.site, row.head), []).append(row)

    def mean(rows: Sequence[HeadRow], name: str) -> Any:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        return fmean(values) if values else None

    return HeadTable(
        replace(
            rows[0],
            relation=None,
            lift=None,
            p=None,
            **{name: mean(rows, name) for name in FIGURES},
        )
        for rows in by_head.values()
    )
