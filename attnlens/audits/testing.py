"""What one screened input's attention points at, made into claims and put to the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from attnlens.arrays import Flags, Floats
from attnlens.audits.heads import HeadRow, HeadTable
from attnlens.audits.question import Question
from attnlens.audits.report import (
    PLACEBOS,
    Change,
    Input,
    Kind,
    Placebo,
    PlaceboKind,
    TestedClaim,
    TopChange,
)
from attnlens.audits.screen import Screened
from attnlens.claims.claim import MODEL, Claim, Place, Tested
from attnlens.claims.evidence import LISTED
from attnlens.claims.trial import Compared, Trial
from attnlens.claims.verdict import LEAST_SHARE
from attnlens.errors import InputError

RANDOM_LISTS: Final = 20
RANDOM_HEADS: Final = 10
"""Placebos of each input."""

NEAR: Final = 1e-3
"""The same input in two batches gives probabilities that rounding keeps this near."""

STAND_INS: Final = ("number", "embedding")
"""Kinds of answers whose probabilities stand for something else."""

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
CONTROL: Final = "other sets of as many items"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditClaim(Claim):
    """A claim of an audit; its place is `MODEL` or the name of a head."""

    kind: Kind
    site: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What came of one input."""

    input: Input
    table: HeadTable
    claims: tuple[TestedClaim, ...]
    placebos: tuple[Placebo, ...]


class _Case:
    """One screened input, asked with items hidden.

    Attributes:
        width: how many items a list has at most.
    """

    def __init__(self, question: Question, shown: Screened) -> None:
        self.question, self.shown = question, shown
        self.width = min(LISTED, max(1, len(shown.items) // 3))
        keys = len(shown.labels)
        reads_last = shown.target.query == keys - 1 and "logits_to_keep" in question.takes
        self._more = {"logits_to_keep": 1} if reads_last else {}
        everything = np.zeros((2, keys), bool)
        everything[1, list(shown.items)] = True
        self._full, self._nothing = self._scores(dict.fromkeys(shown.sites, everything))

    def _scores(self, hide: Mapping[str, Flags]) -> Floats:
        """The target's scores, ``(copy, score)``."""
        target = self.shown.target
        return np.concatenate(
            [
                target.scores(output, kept).cpu().numpy()
                for output, kept in self.question.hidden(hide, **self._more)
            ]
        )

    def _asked(self, hide: Mapping[str, Flags]) -> Floats:
        chances = self.shown.target.chances(self._scores(hide), self._full, self._nothing)
        whole = ~next(iter(hide.values())).reshape(len(chances), -1).any(1)
        if whole.any():
            first = chances[whole][0]
            near = whole & (abs(chances - first).max(1) < NEAR)
            chances[near] = first
        return chances

    def _masks(self, kept: Flags) -> Flags:
        masks = np.zeros((len(kept), len(self.shown.labels)), bool)
        masks[:, list(self.shown.items)] = ~kept
        return masks

    def without(self, kept: Flags) -> Floats:
        """Probabilities with items hidden from the whole model, ``(mask, outcome)``."""
        return self._asked(dict.fromkeys(self.shown.sites, self._masks(kept)))

    def without_in(self, row: HeadRow, kept: Flags) -> Floats:
        """Probabilities with items hidden from one head."""
        masks = np.zeros(
            (len(kept), len(self.shown.attention[row.site]), len(self.shown.labels)), bool
        )
        masks[:, row.head] = self._masks(kept)
        return self._asked({row.site: masks})

    def each_in(self, rows: Sequence[HeadRow], sets: Sequence[tuple[int, ...]]) -> Floats:
        """Probabilities with a set of items hidden from a head, each row another head."""
        sites = dict.fromkeys(row.site for row in rows)
        hide = {
            site: np.zeros(
                (len(rows), len(self.shown.attention[site]), len(self.shown.labels)), bool
            )
            for site in sites
        }
        for at, (row, items) in enumerate(zip(rows, sets, strict=True)):
            hide[row.site][at, row.head, list(items)] = True
        return self._asked(hide)

    def top(self, weights: Floats, many: int | None = None) -> tuple[int, ...]:
        """The items with most weight, in order, of ``(item,)``."""
        items = np.array(self.shown.items)
        order = np.argsort(-weights[items], kind="stable")[: many or self.width]
        return tuple(sorted(items[order].tolist()))

    def lift(self, weights: Floats, items: Sequence[int]) -> float:
        """How many times the mean weight of all items some have."""
        mean = float(weights[list(self.shown.items)].mean())
        return float(weights[list(items)].mean()) / mean if mean > 0 else 1.0

    def named(self, items: Sequence[int]) -> tuple[str, ...]:
        """Items by label, with their places where others are called so too."""
        often = Counter(self.shown.labels)
        return tuple(
            (self.shown.labels[at].strip() or repr(self.shown.labels[at]))
            + (f"@{at}" if often[self.shown.labels[at]] > 1 else "")
            for at in items
        )

    def words(self, items: Sequence[int]) -> str:
        """Items in a sentence."""
        return ", ".join(self.named(items))

    def model_claims(self) -> list[AuditClaim]:
        """What all heads together weigh most, and attend to most; and the last items."""
        shown = self.shown
        weighed = np.sum([one.sum(0) for one in shown.importance.values()], axis=0)
        attended = np.concatenate(list(shown.attention.values())).mean(0)
        most, some, seen = self.top(weighed, 1), self.top(weighed), self.top(attended)
        last = shown.items[-self.width :]
        listed: list[tuple[Kind, tuple[int, ...], str, float | None]] = [
            ("weighed most", most, "the item that weighs most", None),
            ("weighed", some, "the items that weigh most", None),
            ("attended", seen, "the items attended most", self.lift(attended, seen)),
            ("last items", last, f"the last {len(last)} items", None),
        ]
        return [
            AuditClaim(
                kind=kind,
                text=f"{told} mattered: {self.words(items)}",
                removed=items,
                window=shown.items,
                lift=lift,
                first=kind == "weighed most",
            )
            for kind, items, told, lift in listed
            if kind != "weighed" or len(items) > 1
        ]

    def head_claim(self, row: HeadRow) -> AuditClaim:
        """What a head looks at."""
        weights = self.shown.attention[row.site][row.head]
        items = self.top(weights)
        return AuditClaim(
            kind="head",
            text=f"what {row.name} looks at mattered: {self.words(items)}",
            removed=items,
            window=self.shown.items,
            lift=self.lift(weights, items),
            place=f"{row.site} {row.head}",
            site=row.site,
            head=row.name,
        )


def tested(
    number: int, question: Question, shown: Screened, table: HeadTable, heads: int, seed: int
) -> Part:
    """Test what one input's attention points at.

    Of heads, what they look at is first hidden from each alone, together. Only of those that
    carry a tenth of what it does to the whole model every item is hidden alone; of the others
    nothing is claimed, and they count as claims that did not hold.

    Args:
        number: of the input.
        table: the heads to speak of.
        heads: claims are made of so many.

    Raises:
        InputError: too few items to tell any apart.
    """
    if len(shown.items) < 3:
        raise InputError(
            f"{len(shown.items)} items are left beside sinks, too few to compare",
            remedy="give a longer input, or say sinks=[]",
        )
    case = _Case(question, shown)
    scored = [
        replace(
            row, importance=float(shown.importance[row.site][row.head, list(shown.items)].sum())
        )
        for row in table
    ]
    ranked = sorted(scored, key=lambda row: -(row.importance or 0.0))[:heads]
    claims = [case.head_claim(row) for row in ranked]
    places = {
        claim.place: Place(partial(case.without_in, row), shown.items)
        for claim, row in zip(claims, ranked, strict=True)
    }
    trial = Trial[AuditClaim](
        {MODEL: Place(case.without, shown.items), **places}, seed=seed, items="items"
    )
    compared = trial.compare(case.model_claims())
    compared += _of_heads(trial, case, ranked, claims)
    judged = trial.judge(compared)
    placebos = _placebos(trial, case, scored, np.random.default_rng([seed, number]))
    full = trial.hidden(MODEL).full
    return Part(
        Input(
            question.text,
            case.shown.labels,
            case.named(shown.sinks),
            shown.target.name,
            None
            if shown.target.kind in STAND_INS
            else float(full.max() if shown.target.kind == "all" else full[0]),
        ),
        _with_chances(trial, case, scored),
        tuple(_told(number, case, one, full) for one in judged),
        placebos,
    )


def _of_heads(
    trial: Trial[AuditClaim], case: _Case, rows: Sequence[HeadRow], claims: Sequence[AuditClaim]
) -> list[Compared[AuditClaim]]:
    """Claims of heads compared, those that carry too little without a test."""
    if not claims:
        return []
    sets = [claim.removed for claim in claims]
    full = trial.hidden(MODEL).full
    found = case.each_in(rows, sets)
    own = trial.effect(full, found)
    whole = trial.effect(full, trial.without(MODEL, sets))
    compared = []
    for at, claim in enumerate(claims):
        share = min(1.0, float(own[at] / whole[at])) if whole[at] > 0 else 0.0
        if share >= LEAST_SHARE:
            compared += trial.compare([claim])
            continue
        compared.append(
            Compared(
                claim=claim,
                removed=claim.removed,
                probabilities=found[at],
                effect=float(own[at]),
                points=100 * (found[at] - full),
                singles=np.zeros(0),
                share=share,
                chance=np.zeros(0),
            )
        )
    return compared


def _with_chances(trial: Trial[AuditClaim], case: _Case, rows: Sequence[HeadRow]) -> HeadTable:
    """How often chance names items that do as much as those each head looks at."""
    claims = [case.head_claim(row) for row in rows]
    moves = trial.moves(MODEL, claims[0])
    sums = trial.pool(claims[0]).sums(moves, np.random.default_rng(trial.seed))
    return HeadTable(
        replace(row, p=sums.above(sum(moves[item] for item in claim.removed)))
        for row, claim in zip(rows, claims, strict=True)
    )


def _placebos(
    trial: Trial[AuditClaim], case: _Case, rows: Sequence[HeadRow], generator: np.random.Generator
) -> tuple[Placebo, ...]:
    """Lists drawn at random, and those of heads drawn at random, each judged alone."""
    listed = trial.pool(case.model_claims()[-1]).drawn(generator, RANDOM_LISTS)
    drawn = generator.choice(len(rows), min(RANDOM_HEADS, len(rows)), replace=False)
    of_heads = [case.head_claim(rows[at]).removed for at in drawn.tolist()]
    sets: dict[PlaceboKind, list[tuple[int, ...]]] = dict(
        zip(PLACEBOS, (listed, of_heads), strict=True)
    )
    claims = [
        AuditClaim(kind="attended", text=kind, removed=one, window=case.shown.items)
        for kind, some in sets.items()
        for one in some
    ]
    alone = [trial.judge([one])[0] for one in trial.compare(claims)]
    verdicts = {kind: [one for one in alone if one.claim.text == kind] for kind in PLACEBOS}
    return tuple(
        Placebo(kind, len(some), sum(one.judged.verdict == "supported" for one in some))
        for kind, some in verdicts.items()
    )


def _told(number: int, case: _Case, one: Tested[AuditClaim], full: Floats) -> TestedClaim:
    claim, outcomes = one.claim, case.shown.target.outcomes
    picture = one.share is not None and one.share < LEAST_SHARE
    top = int(np.abs(one.points).argmax()) if len(outcomes) > 2 else 0
    quantiles = None
    if one.chance.size:
        quantiles = tuple(float(value) for value in np.quantile(one.chance, QUANTILES))
    return TestedClaim(
        input=number,
        claim=claim.text,
        scale=claim.site,
        head=claim.head,
        kind=claim.kind,
        reference=claim.kind == "last items",
        removed=claim.removed,
        items=case.named(claim.removed),
        removed_from=one.removed_from,
        outcome=None if len(outcomes) > 2 else outcomes[0],
        effect_nats=one.effect,
        single_effects=tuple(one.singles.tolist()),
        share=one.share,
        changes=tuple(
            Change(name, float(points)) for name, points in zip(outcomes, one.points, strict=True)
        ),
        top_change=TopChange(
            outcomes[top], float(one.points[top]), float(full[top]), float(one.probabilities[top])
        ),
        control=CONTROL if quantiles else None,
        controls=len(one.chance),
        control_median_nats=quantiles[2] if quantiles else None,
        control_quantiles_nats=quantiles,
        p=None if picture else one.p,
        q=None if picture else one.q,
        replaced=None,
        verdict=one.judged.verdict,
        reason=one.judged.reason,
    )
