"""Test whether the items with the most attention affect a model's answer."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from attnlens.audits.head_table import FIGURES, HeadRow, HeadTable
from attnlens.audits.inputs import AuditInput, split_inputs
from attnlens.audits.loading import load_model
from attnlens.audits.report import (
    PLACEBOS,
    Audit,
    AuditedClaim,
    AuditedModel,
    Cost,
    Input,
    Kind,
    LargestTargetChange,
    Placebo,
    TargetChange,
    TokenEffect,
)
from attnlens.audits.screen import Screening, TargetChoice, screen
from attnlens.errors import InputError
from attnlens.evidence.claim import MODEL, AblationSite, Claim, ClaimTest
from attnlens.evidence.result import claim_fields
from attnlens.evidence.scores import divergence
from attnlens.evidence.trial import MAX_HEAD_ITEMS, Trial
from attnlens.evidence.verdict import MIN_SHARE
from attnlens.files import Flags, Floats

_HEADS: Final = 8
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
    """Test whether the items with the most attention affect a model's answer.

    An item is one attention key, such as a token. The score of an item is gradient times attention.
    The audit tests claims about these items:

    - the item with the highest score, summed over all heads,
    - the few items with the highest scores,
    - the few items with the most attention, averaged over all heads,
    - for each of the highest-scoring heads, the few items to which the head attends most,
    - the last items, for comparison.

    The items of a claim are hidden together, from all heads or from a single head.
    `attnlens.evidence` compares the effect with the effect of hiding other items. Each item is also
    hidden on its own.

    Args:
        model: a torch model in `eval` mode, a Hugging Face folder, a GGUF file, or
            ``module:function``. The function returns a model and its inputs.
        inputs: texts, or tensors whose first axis is the batch. Texts need a tokenizer. Tensors are
            given as one tensor, as a sequence, or as a mapping from argument names.
        tokens: a Hugging Face tokenizer, or the labels of the items.
        target: the part of the output to explain. For a classifier, give the name or number of a
            class. For a language model, give a token (text or number) for the next position or for
            ``[MASK]``. For a forecast, give ``"step 3"`` or ``"step 3, channel 1"``. For an
            embedding, give ``"embedding"``. A function of the output must return numbers with shape
            ``(batch,)``, or probabilities or logits with shape ``(batch, outcome)``. None: the most
            likely token or class, the first step of a forecast, or the embedding. In a text without
            ``[MASK]``, a masked language model predicts the last token. An encoder-decoder predicts
            the first output token.
        layers: the layers whose heads are reported; None: all layers.
        heads: the maximum number of heads with a claim.
        sinks: the positions that claims exclude, in addition to special tokens; None: the result of
            `attnlens.attention.focus.sink_items`.
        seed: the random seed.
        progress: a function that is called with a line of text for each input.

    Raises:
        InputError: an input is invalid, a target, layer or sink does not exist, or there are too
            few items.
        RecordingError: the attention cannot be recorded.
        InterventionError: the attention cannot be changed to hide items.
    """
    started = time.perf_counter()
    if isinstance(model, str | os.PathLike):
        source = load_model(os.fspath(model))
        model = source.model
        tokens = source.tokens if tokens is None else tokens
        inputs = source.inputs if inputs is None else inputs
    single_inputs = split_inputs(model, inputs, tokens)
    if loose := sorted(unknown):
        raise InputError(f"audit has no option {loose[0]!r}", remedy=f"use {_OPTIONS}")
    if not isinstance(heads, int) or isinstance(heads, bool) or heads < 0:
        raise InputError(f"heads={heads!r} is not a number of heads", remedy="give 0 or more")
    # Make a list, because an iterator would be empty at the second input.
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
            remedy=f"the layers are {min(table_layers)} to {max(table_layers)}",
        )
    return HeadTable(row for row in table if row.layer in selected)


def _mean_table(tables: Sequence[HeadTable]) -> HeadTable:
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


_RANDOM_LISTS: Final = 10
_RANDOM_HEADS: Final = 5
"""The most attended items of this many random heads are placebos."""

_MIN_ITEMS: Final = 3

_PROBABILITY_TOLERANCE: Final = 1e-3
"""Rounding can change probabilities by this much between batches."""

_CONTROL: Final = "other sets of as many items, beyond what kind, frequency and place explain"

_ITEMS_PER_COLUMN: Final = 5
"""The adjustment for `token_structure` uses at most one column per 5 items."""

_CLOSED_CLASSES: Final = """
a about all an and any are as at be been but by can could did do does each for from had has have
he her him his how i if in into is it its may me might must my no nor not of on one or our out
shall she should so some such than that the their them then there these they this those to up us
was we were what when where which who whom whose why will with would you your
"""
_FUNCTION_WORDS: Final = frozenset(_CLOSED_CLASSES.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditClaim(Claim):
    """A claim about the head in ``row``, or about the whole model if ``row`` is None."""

    kind: Kind
    row: HeadRow | None = None


class _Case:
    """The evaluations of one input with some items hidden."""

    def __init__(self, single_input: AuditInput, screening: Screening) -> None:
        self.single_input, self.screening = single_input, screening
        self.width = min(MAX_HEAD_ITEMS, max(1, len(screening.items) // _MIN_ITEMS))
        last = screening.target.query == len(screening.labels) - 1
        self._more = (
            {"logits_to_keep": 1} if last and "logits_to_keep" in single_input.takes else {}
        )
        self.structure = token_structure(single_input, screening)
        n_columns = len(next(iter(self.structure.values()), ()))
        self.beyond = tuple(range(min(n_columns, len(screening.items) // _ITEMS_PER_COLUMN)))
        ends = np.repeat([[True], [False]], len(screening.items), 1)
        self._full, self._nothing = self._scores(ends)

    def _scores(self, flags: Flags, rows: Sequence[HeadRow] | None = None) -> Floats:
        masks = np.zeros((len(flags), len(self.screening.labels)), bool)
        masks[:, list(self.screening.items)] = ~flags
        return self._scores_without(masks, rows)

    def _scores_without(self, masks: Flags, rows: Sequence[HeadRow] | None = None) -> Floats:
        """Return the scores ``(mask, score)``; ``masks`` is true for hidden positions."""
        screening = self.screening
        hide = dict.fromkeys(screening.sites, masks)
        if rows is not None:
            hide = {
                site: np.zeros((len(masks), *screening.attention[site].shape), bool)
                for site in {row.site for row in rows}
            }
            for at, row in enumerate(rows):
                hide[row.site][at, row.head] = masks[at]
        parts = self.single_input.hidden(hide, **self._more)
        return np.concatenate([screening.target.scores(*part).cpu().numpy() for part in parts])

    def without(self, flags: Flags, rows: Sequence[HeadRow] | None = None) -> Floats:
        """Return the probabilities with some items hidden, with shape ``(mask, outcome)``.

        Args:
            flags: true for visible items, with shape ``(mask, item)``.
            rows: one head per mask, which does not see the items; None: all heads.
        """
        scores = self._scores(flags, rows)
        probs = self.screening.target.probs(scores, self._full, self._nothing)
        unhidden = flags.all(1)
        if unhidden.any():
            first = probs[unhidden][0]
            probs[unhidden & (abs(probs - first).max(1) < _PROBABILITY_TOLERANCE)] = first
        return probs

    def token_effects(self, number: int) -> tuple[TokenEffect, ...]:
        """Return the effect of hiding each position alone, including sinks and special tokens."""
        screening, target = self.screening, self.screening.target
        count = len(screening.labels)
        places = [at for at in range(count) if at not in screening.left_out]
        masks = np.zeros((len(places) + 1, count), bool)
        masks[np.arange(1, len(masks)), places] = True
        full, *rows = target.probs(self._scores_without(masks), self._full, self._nothing)
        nats = divergence(full, np.stack(rows)) if rows else np.zeros(0)
        attention = np.concatenate(list(screening.attention.values())).mean(0)
        outcome = int(full.argmax()) if target.kind == "all" else 0
        return tuple(
            TokenEffect(
                input=number,
                position=at,
                item=name,
                attention=float(attention[at]),
                before=float(full[outcome]),
                after=float(row[outcome]),
                points=100 * float(row[outcome] - full[outcome]),
                nats=float(effect),
                sink=at in screening.sinks,
            )
            for at, name, row, effect in zip(
                places, self.item_names(places), rows, nats, strict=True
            )
        )

    def site(self, row: HeadRow) -> AblationSite:
        return AblationSite(
            lambda flags: self.without(flags, [row] * len(flags)), self.screening.items
        )

    def top(self, weights: Floats, n: int) -> tuple[int, ...]:
        """``weights`` has the shape ``(key,)``; the result is sorted by position."""
        items = np.array(self.screening.items)
        order = np.argsort(-weights[items], kind="stable")[:n]
        return tuple(sorted(items[order].tolist()))

    def item_names(self, items: Sequence[int]) -> tuple[str, ...]:
        """Return the labels of items; a repeated label ends with its position."""
        labels = self.screening.labels
        return tuple(
            (labels[at].strip() or repr(labels[at]))
            + (f"@{at}" if labels.count(labels[at]) > 1 else "")
            for at in items
        )

    def claim(
        self,
        kind: Kind,
        subject: str,
        items: tuple[int, ...],
        weights: Floats | None = None,
        row: HeadRow | None = None,
    ) -> AuditClaim:
        """``weights`` is the attention to every key; None if unknown."""
        lift = None
        if weights is not None:
            mean = float(weights[list(self.screening.items)].mean())
            lift = float(weights[list(items)].mean()) / mean if mean > 0 else 1.0
        return AuditClaim(
            kind=kind,
            text=f"{subject} mattered: {', '.join(self.item_names(items))}",
            removed=items,
            window=self.screening.items,
            beyond=self.beyond,
            lift=lift,
            first=kind == "weighed most",
            row=row,
            site=MODEL if row is None else f"{row.site} {row.head}",
        )

    def model_claims(self) -> list[AuditClaim]:
        screening, width = self.screening, self.width
        weighed: Floats = sum(
            (scores.sum(0) for scores in screening.importance.values()), np.zeros(1)
        )
        attended = np.concatenate(list(screening.attention.values())).mean(0)
        attended_items, last = self.top(attended, width), screening.items[-width:]
        return [
            self.claim(
                "weighed most",
                "the item with the largest gradient × attention",
                self.top(weighed, 1),
            ),
            self.claim(
                "weighed",
                "the items with the largest gradient × attention",
                self.top(weighed, width),
            ),
            self.claim("attended", "the most attended items", attended_items, attended),
            self.claim("last items", f"the last {width} items", last),
        ]

    def model_free_lists(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Return placebo lists that ignore the model; empty if the input is not a text."""
        if self.single_input.text is None or "input_ids" not in self.single_input.kwargs:
            return [], []
        ids, lengths = np.zeros((2, len(self.screening.labels)))
        for at, (log_id, length, *_) in self.structure.items():
            ids[at], lengths[at] = log_id, length
        return [self.top(ids, self.width)], [self.top(lengths, self.width)]

    def head_claim(self, row: HeadRow) -> AuditClaim:
        weights = self.screening.attention[row.site][row.head]
        items = self.top(weights, self.width)
        return self.claim("head", f"the most attended items of {row.name}", items, weights, row)


def token_structure(single_input: AuditInput, screening: Screening) -> dict[int, tuple[float, ...]]:
    """Return numbers that describe each item independently of the model.

    A token has five numbers: the logarithm of the id, the length, a flag for function words, a flag
    for special tokens and punctuation, and the logarithm of the distance from the end. Vocabularies
    are roughly sorted by frequency, so the id measures the frequency. Other items have only the
    last number.
    """
    labels, ids = screening.labels, single_input.kwargs.get("input_ids")
    structure: dict[int, tuple[float, ...]] = {}
    for at in screening.items:
        numbers: tuple[float, ...] = (math.log(len(labels) - at),)
        if single_input.text is not None and ids is not None:
            word = labels[at].strip("▁Ġ# \n").lower()
            odd = at in single_input.special or not any(sign.isalnum() for sign in word)
            numbers = (
                math.log1p(int(ids[0, at])),
                float(len(word)),
                float(word in _FUNCTION_WORDS),
                float(odd),
                *numbers,
            )
        structure[at] = numbers
    return structure


def audit_input(
    number: int,
    single_input: AuditInput,
    screening: Screening,
    table: HeadTable,
    heads: int,
    seed: int,
) -> tuple[Input, tuple[TokenEffect, ...], HeadTable, list[AuditedClaim], list[tuple[int, int]]]:
    """Test the claims about one input.

    A claim about a head is tested only if the head has at least a tenth of the model's effect.

    Args:
        number: the index of the input.
        table: the heads to report.
        heads: the number of heads with a claim.

    Returns:
        the input, the effects of hiding each item, the heads, the claims, and the placebo results.
        A placebo result contains the numbers of tested and supported lists. The placebo results
        have the order of `PLACEBOS`.

    Raises:
        InputError: there are too few items to compare.
    """
    if len(screening.items) < _MIN_ITEMS:
        raise InputError(
            f"only {len(screening.items)} items can be compared after attention sinks are excluded",
            remedy="give a longer input, or allow sinks in claims with sinks=[]",
        )
    case = _Case(single_input, screening)
    items = list(screening.items)
    scored = [
        replace(row, importance=float(screening.importance[row.site][row.head, items].sum()))
        for row in table
    ]
    ranked = sorted(scored, key=lambda row: -(row.importance or 0.0))[:heads]
    claims = {row: case.head_claim(row) for row in ranked}
    trial = Trial[AuditClaim](
        {MODEL: AblationSite(case.without, screening.items)}
        | {claim.site: case.site(row) for row, claim in claims.items()},
        seed=seed,
        structure=case.structure,
        tolerance=_PROBABILITY_TOLERANCE,
    )
    tests = trial.judge([*trial.compare(case.model_claims()), *_of_heads(trial, case, claims)])
    full, kind = trial.leave_one_out(MODEL).full, screening.target.kind
    summary = Input(
        single_input.text,
        screening.labels,
        case.item_names(screening.sinks),
        screening.target.name,
        {"all": float(full.max()), "one": float(full[0])}.get(kind),
    )
    return (
        summary,
        case.token_effects(number),
        _with_p_values(trial, case, scored),
        [_result(number, case, test, full) for test in tests],
        _placebos(trial, case, scored, np.random.default_rng([seed, number])),
    )


def _of_heads(
    trial: Trial[AuditClaim], case: _Case, claims: Mapping[HeadRow, AuditClaim]
) -> Iterator[ClaimTest[AuditClaim]]:
    if not claims:
        return
    flags = np.array(
        [[at not in claim.removed for at in case.screening.items] for claim in claims.values()]
    )
    full = trial.leave_one_out(MODEL).full
    head_probs = case.without(flags, list(claims))
    head_effects = trial.effect(full, head_probs).tolist()
    model_effects = trial.effect(full, case.without(flags)).tolist()
    for claim, probs, effect, total in zip(
        claims.values(), head_probs, head_effects, model_effects, strict=True
    ):
        share = min(1.0, effect / total) if total > 0 else 0.0
        if share >= MIN_SHARE:
            yield from trial.compare([claim])
        else:
            yield ClaimTest(
                claim=claim,
                removed=claim.removed,
                full=full,
                probabilities=probs,
                effect=effect,
                singles=np.zeros(0),
                share=share,
            )


def _with_p_values(trial: Trial[AuditClaim], case: _Case, rows: Sequence[HeadRow]) -> HeadTable:
    claims = [case.head_claim(row) for row in rows]
    statistics = trial.item_statistics(MODEL, claims[0])
    null = claims[0].pool.null(statistics, np.random.default_rng(trial.seed))
    return HeadTable(
        replace(row, p=null.p_high(sum(statistics[item] for item in claim.removed)))
        for row, claim in zip(rows, claims, strict=True)
    )


def _placebos(
    trial: Trial[AuditClaim], case: _Case, rows: Sequence[HeadRow], generator: np.random.Generator
) -> list[tuple[int, int]]:
    heads = [rows[at] for at in generator.permutation(len(rows))[:_RANDOM_HEADS]]
    shuffled = case.screening.shuffled
    lists = (
        case.model_claims()[-1].pool.sample(generator, _RANDOM_LISTS),
        [case.head_claim(row).removed for row in heads],
        [
            case.top(shuffled[row.site][row.head], case.width)
            for row in heads
            if row.site in shuffled
        ],
        *case.model_free_lists(),
    )
    placebos = []
    for kind, sets in zip(PLACEBOS, lists, strict=True):
        claims = [case.claim("attended", kind, items) for items in sets]
        tests = trial.compare(claims) if claims else []
        verdicts = [trial.judge([test])[0].verdict for test in tests]
        placebos.append((len(sets), verdicts.count("supported")))
    return placebos


def _result(number: int, case: _Case, test: ClaimTest[AuditClaim], full: Floats) -> AuditedClaim:
    claim, outcomes = test.claim, case.screening.target.outcomes
    top = int(np.abs(test.points).argmax()) if len(outcomes) > 2 else 0
    results = claim_fields(test, 0 if len(outcomes) == 2 else None, nats=float, share=float)
    if test.share is not None and test.share < MIN_SHARE:
        results |= {"p": None, "q": None}
    return AuditedClaim(
        input=number,
        scale=None if claim.row is None else claim.row.site,
        head=None if claim.row is None else claim.row.name,
        kind=claim.kind,
        reference=claim.kind == "last items",
        items=case.item_names(claim.removed),
        outcome=None if len(outcomes) > 2 else outcomes[0],
        changes=tuple(map(TargetChange, outcomes, test.points.tolist())),
        top_change=LargestTargetChange(
            outcomes[top], float(test.points[top]), float(full[top]), float(test.probabilities[top])
        ),
        control=_CONTROL if len(test.null_effects) else None,
        **results,
    )
