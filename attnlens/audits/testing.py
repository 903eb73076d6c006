"""What one screened input's attention points at, made into claims and put to the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from attnlens.arrays import Flags, Floats
from attnlens.audits.heads import HeadRow, HeadTable
from attnlens.audits.question import Question
from attnlens.audits.report import (
    PLACEBOS,
    AuditedClaim,
    Change,
    Input,
    Kind,
    Placebo,
    TopChange,
)
from attnlens.audits.screen import Screened
from attnlens.errors import InputError
from attnlens.evidence.claim import MODEL, AblationSite, Claim, ClaimTest
from attnlens.evidence.gather import MAX_HEAD_ITEMS
from attnlens.evidence.result import figures
from attnlens.evidence.trial import Trial
from attnlens.evidence.verdict import MIN_SHARE

_RANDOM_LISTS: Final = 10
_RANDOM_HEADS: Final = 5
"""Placebos of each input."""

FEWEST: Final = 3
"""Items that can be told apart."""

_PROBABILITY_TOLERANCE: Final = 1e-3
"""The same input in two batches gives probabilities that rounding keeps this near."""

_CONTROL: Final = "other sets of as many items"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditClaim(Claim):
    """A claim of an audit; of a head where it has one, else of the whole model."""

    kind: Kind
    row: HeadRow | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What came of one input."""

    input: Input
    table: HeadTable
    claims: tuple[AuditedClaim, ...]
    placebos: tuple[Placebo, ...]


class _Case:
    """One screened input, asked with items hidden."""

    def __init__(self, question: Question, screened: Screened) -> None:
        self.question, self.screened = question, screened
        self.width = min(MAX_HEAD_ITEMS, max(1, len(screened.items) // FEWEST))
        last = screened.target.query == len(screened.labels) - 1
        self._more = {"logits_to_keep": 1} if last and "logits_to_keep" in question.takes else {}
        ends = np.repeat([[True], [False]], len(screened.items), 1)
        self._full, self._nothing = self._scores(ends)

    def _scores(self, flags: Flags, rows: Sequence[HeadRow] | None = None) -> Floats:
        screened = self.screened
        masks = np.zeros((len(flags), len(screened.labels)), bool)
        masks[:, list(screened.items)] = ~flags
        hide = dict.fromkeys(screened.sites, masks)
        if rows is not None:
            hide = {
                site: np.zeros((len(flags), *screened.attention[site].shape), bool)
                for site in {row.site for row in rows}
            }
            for at, row in enumerate(rows):
                hide[row.site][at, row.head] = masks[at]
        parts = self.question.hidden(hide, **self._more)
        return np.concatenate([screened.target.scores(*part).cpu().numpy() for part in parts])

    def without(self, flags: Flags, rows: Sequence[HeadRow] | None = None) -> Floats:
        """Probabilities with items hidden from the whole model, or from one head each.

        Args:
            flags: true where kept, ``(mask, item)``.
            rows: a head for each mask.

        Returns:
            ``(mask, outcome)``.
        """
        scores = self._scores(flags, rows)
        chances = self.screened.target.chances(scores, self._full, self._nothing)
        unhidden = flags.all(1)
        if unhidden.any():
            first = chances[unhidden][0]
            chances[unhidden & (abs(chances - first).max(1) < _PROBABILITY_TOLERANCE)] = first
        return chances

    def site(self, row: HeadRow) -> AblationSite:
        """Where items are hidden from one head."""
        return AblationSite(
            lambda flags: self.without(flags, [row] * len(flags)), self.screened.items
        )

    def top(self, weights: Floats, many: int) -> tuple[int, ...]:
        """The items with most weight of ``(key,)``."""
        items = np.array(self.screened.items)
        order = np.argsort(-weights[items], kind="stable")[:many]
        return tuple(sorted(items[order].tolist()))

    def lift(self, weights: Floats, items: Sequence[int]) -> float:
        """How many times the mean weight of all items some have."""
        mean = float(weights[list(self.screened.items)].mean())
        return float(weights[list(items)].mean()) / mean if mean > 0 else 1.0

    def item_names(self, items: Sequence[int]) -> tuple[str, ...]:
        """Items by label, with their places where others are called so too."""
        labels = self.screened.labels
        often = Counter(labels)
        return tuple(
            (labels[at].strip() or repr(labels[at])) + (f"@{at}" if often[labels[at]] > 1 else "")
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
        """A claim about items; with ``weights`` that these are attended to."""
        return AuditClaim(
            kind=kind,
            text=f"{subject} mattered: {', '.join(self.item_names(items))}",
            removed=items,
            window=self.screened.items,
            lift=None if weights is None else self.lift(weights, items),
            first=kind == "weighed most",
            row=row,
            site=MODEL if row is None else f"{row.site} {row.head}",
        )

    def model_claims(self) -> list[AuditClaim]:
        """What all heads together weigh most, and attend to most; and the last items."""
        screened, width = self.screened, self.width
        weighed: Floats = sum(
            (scores.sum(0) for scores in screened.importance.values()), np.zeros(1)
        )
        attended = np.concatenate(list(screened.attention.values())).mean(0)
        attended_items, last = self.top(attended, width), screened.items[-width:]
        return [
            self.claim("weighed most", "the item that weighs most", self.top(weighed, 1)),
            self.claim("weighed", "the items that weigh most", self.top(weighed, width)),
            self.claim("attended", "the items attended most", attended_items, attended),
            self.claim("last items", f"the last {width} items", last),
        ]

    def head_claim(self, row: HeadRow) -> AuditClaim:
        """What a head looks at."""
        weights = self.screened.attention[row.site][row.head]
        items = self.top(weights, self.width)
        return self.claim("head", f"what {row.name} looks at", items, weights, row)


def tested(
    number: int, question: Question, screened: Screened, table: HeadTable, heads: int, seed: int
) -> Part:
    """Test what one input's attention points at.

    What heads look at is first hidden from each alone, together. Only of those that carry a tenth
    of what it does to the whole model every item is hidden alone; of the others nothing is
    claimed, and they count as claims that did not hold.

    Args:
        number: of the input.
        table: the heads to speak of.
        heads: claims are made of so many.

    Raises:
        InputError: too few items to tell any apart.
    """
    if len(screened.items) < FEWEST:
        raise InputError(
            f"{len(screened.items)} items are left beside sinks, too few to compare",
            remedy="give a longer input, or say sinks=[]",
        )
    case = _Case(question, screened)
    items = list(screened.items)
    scored = [
        replace(row, importance=float(screened.importance[row.site][row.head, items].sum()))
        for row in table
    ]
    claims = [
        case.head_claim(row) for row in sorted(scored, key=lambda row: -(row.importance or 0.0))
    ][:heads]
    sites = {claim.site: case.site(claim.row) for claim in claims if claim.row is not None}
    trial = Trial[AuditClaim](
        {MODEL: AblationSite(case.without, screened.items), **sites},
        seed=seed,
        items="items",
        tolerance=_PROBABILITY_TOLERANCE,
    )
    judged = trial.judge([*trial.compare(case.model_claims()), *_of_heads(trial, case, claims)])
    full, kind = trial.leave_one_out(MODEL).full, screened.target.kind
    chance = float(full.max() if kind == "all" else full[0]) if kind in ("all", "one") else None
    return Part(
        Input(
            question.text,
            screened.labels,
            case.item_names(screened.sinks),
            screened.target.name,
            chance,
        ),
        _with_chances(trial, case, scored),
        tuple(_result(number, case, test, full) for test in judged),
        _placebos(trial, case, scored, np.random.default_rng([seed, number])),
    )


def _of_heads(
    trial: Trial[AuditClaim], case: _Case, claims: Sequence[AuditClaim]
) -> list[ClaimTest[AuditClaim]]:
    """Claims of heads compared, those that carry too little without a test."""
    flags = np.array(
        [[at not in claim.removed for at in case.screened.items] for claim in claims], bool
    )
    rows = [claim.row for claim in claims if claim.row is not None]
    if not rows:
        return []
    full = trial.leave_one_out(MODEL).full
    head_probabilities, without = case.without(flags, rows), case.without(flags)
    own, model_effects = trial.effect(full, head_probabilities), trial.effect(full, without)
    tests = []
    for at, claim in enumerate(claims):
        share = min(1.0, float(own[at] / model_effects[at])) if model_effects[at] > 0 else 0.0
        tests += (
            trial.compare([claim])
            if share >= MIN_SHARE
            else [
                ClaimTest(
                    claim=claim,
                    removed=claim.removed,
                    probabilities=head_probabilities[at],
                    effect=float(own[at]),
                    points=100 * (head_probabilities[at] - full),
                    singles=np.zeros(0),
                    share=share,
                )
            ]
        )
    return tests


def _with_chances(trial: Trial[AuditClaim], case: _Case, rows: Sequence[HeadRow]) -> HeadTable:
    """How often chance names items that do as much as those each head looks at."""
    claims = [case.head_claim(row) for row in rows]
    moves = trial.item_statistics(MODEL, claims[0])
    sums = trial.pool(claims[0]).null(moves, np.random.default_rng(trial.seed))
    return HeadTable(
        replace(row, p=sums.p_high(sum(moves[item] for item in claim.removed)))
        for row, claim in zip(rows, claims, strict=True)
    )


def _placebos(
    trial: Trial[AuditClaim], case: _Case, rows: Sequence[HeadRow], generator: np.random.Generator
) -> tuple[Placebo, ...]:
    """Lists drawn at random, those of heads drawn at random and of these shuffled; each alone."""
    heads = [rows[at] for at in generator.permutation(len(rows))[:_RANDOM_HEADS]]
    shuffled = case.screened.shuffled
    lists = (
        trial.pool(case.model_claims()[-1]).sample(generator, _RANDOM_LISTS),
        [case.head_claim(row).removed for row in heads],
        [
            case.top(shuffled[row.site][row.head], case.width)
            for row in heads
            if row.site in shuffled
        ],
    )
    placebos = []
    for kind, sets in zip(PLACEBOS, lists, strict=True):
        claims = [case.claim("attended", kind, items) for items in sets]
        compared = trial.compare(claims) if claims else []
        verdicts = [trial.judge([test])[0].verdict for test in compared]
        placebos.append(Placebo(kind, len(sets), verdicts.count("supported")))
    return tuple(placebos)


def _result(number: int, case: _Case, test: ClaimTest[AuditClaim], full: Floats) -> AuditedClaim:
    claim, outcomes = test.claim, case.screened.target.outcomes
    top = int(np.abs(test.points).argmax()) if len(outcomes) > 2 else 0
    results = figures(test, nats=float, share=float)
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
        changes=tuple(map(Change, outcomes, test.points.tolist())),
        top_change=TopChange(
            outcomes[top], float(test.points[top]), float(full[top]), float(test.probabilities[top])
        ),
        control=_CONTROL if len(test.null_effects) else None,
        **results,
    )
