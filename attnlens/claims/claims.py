"""Claims about what a model looked at, put to the test: their items hidden, and others.

An item is a key of attention: a word, a frame.

The controls of a claim are random sets of as many items from the same window. They come in
two rounds: `ROUNDS` first for every claim and, where it is still in doubt (p at most
`IN_DOUBT`), up to `CONTROLS`. What is certainly chance after the first round needs no more.
p stays valid: stopping early can only leave a p above `IN_DOUBT`, so that a smaller one is
always over all the controls that were to be drawn (after Besag & Clifford 1991, "Sequential
Monte Carlo p-values"). Claims with equal pools share their controls.

A supported claim is tried once more by a second operator, where there is one: its items are
not hidden but replaced by items drawn from similar situations (`Replace`). The verdict stands
where the mean effect over `DRAWS` draws is above the mean over `CONTROLS_REPLACED` control
sets, each drawn once; else the operators disagree.
"""

from __future__ import annotations

import dataclasses
import itertools
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.scores import divergence
from attnlens.arrays import Floats
from attnlens.claims.verdicts import (
    CONTROLS,
    EVEN,
    ITEMS,
    LEAST_LIFT,
    Judged,
    Pool,
    about_one,
    agreed,
    benjamini_hochberg,
    comparable,
    draw,
    judge,
    p_value,
    pool_for,
    too_few,
)

Sets = Sequence[tuple[int, ...]]
Predict = Callable[[NDArray[np.bool_]], Floats]
"""Masks ``(mask, item)`` to probabilities ``(mask, outcome)``."""

Replace = Callable[[Sets], Floats]
"""Sets of items, each replaced by items drawn from similar situations, to probabilities
``(set, outcome)``; a set that is listed again is another draw."""

ROUNDS: Final = 199
IN_DOUBT: Final = 0.1
MODEL: Final = "model"
DRAWS: Final = 16
CONTROLS_REPLACED: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something the attention says, and the items to hide to test it.

    Attributes:
        removed: the items, a subset of ``window``.
        window: the items that could have been named instead.
        matched: whether control sets must lie as far back as the claim's.
        raises: outcomes (columns) that the items raise, as ``text`` has it; empty where it
            gives no direction.
        lift: how many times the weight of even attention a head gave the items, where it is
            said that a head looked at them. Under `LEAST_LIFT` it did not, and there is
            nothing to test: of a head that looks at everything alike, the items it gave most
            weight are chance's or the sorting's.
    """

    text: str
    removed: tuple[int, ...]
    window: tuple[int, ...]
    matched: bool = False
    raises: tuple[int, ...] = ()
    lift: float | None = None

    @property
    def even(self) -> bool:
        """Whether it says that a head looked at what it looked at no more than at others."""
        return self.lift is not None and self.lift < LEAST_LIFT


C = TypeVar("C", bound=Claim)


@dataclass(frozen=True, slots=True)
class Place:
    """Where items can be taken away from: the whole model, or one head's edges alone.

    Attributes:
        predict: what the model says with items hidden there.
        items: the items, in the order of the masks' columns.
        replace: the second operator, if there is one.
        free: whether its masks are next to no work and do not count against a budget.
    """

    predict: Predict
    items: tuple[int, ...]
    replace: Replace | None = None
    free: bool = False

    def without(self, sets: Sets) -> Floats:
        """Probabilities with each set of items hidden, ``(set, outcome)``."""
        column = {item: number for number, item in enumerate(self.items)}
        masks = np.ones((len(sets), len(self.items)), bool)
        rows = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
        masks[rows, [column[item] for item in itertools.chain.from_iterable(sets)]] = False
        return self.predict(masks)


@dataclass(frozen=True, slots=True, eq=False)
class Measured(Generic[C]):
    """A claim and what hiding its items did, before it is judged.

    Attributes:
        place: where they were hidden.
        probabilities: without them ``(outcome,)``.
        effect: nats.
        points: change of each outcome, percentage points ``(outcome,)``.
        controls: the controls' effects, nats; none where there were too few.
        matched: whether those controls have the claim's distances.
        identity: claims that share it are one hypothesis.
        reason: why there is nothing to compare with, where there is not.
        redraw: sets to try the second operator on, the claim's controls.
    """

    claim: C
    place: str
    probabilities: Floats
    effect: float
    points: Floats
    controls: Floats
    matched: bool
    identity: tuple[str, frozenset[int]]
    reason: str = ""
    redraw: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tested(Measured[C]):
    """A claim, what hiding its items did, and what chance would have done.

    Attributes:
        controls, matched: of the controls it was judged by, which may be another claim's.
        p, q: ``None`` where there was too little to compare with.
        replaced: nats of each draw of the second operator; ``None`` where it was not tried.
        replaced_controls: the same for control sets.
    """

    p: float | None
    q: float | None
    judged: Judged
    replaced: Floats | None = None
    replaced_controls: Floats | None = None

    @property
    def removed_from(self) -> str:
        """``model`` or ``head``."""
        return MODEL if self.place == MODEL else "head"


def effect_on(outcome: int | None) -> Callable[[Floats, Floats], Floats]:
    """Nats between probabilities: of the whole distribution, or of one outcome and the rest."""
    if outcome is None:
        return divergence
    return lambda full, other: divergence(about_one(full, outcome), about_one(other, outcome))


def in_parts(effects: Floats, sizes: Sequence[int]) -> list[Floats]:
    """One after the other, so many of each."""
    return np.split(effects, np.cumsum(sizes))[:-1]


class Trial(Generic[C]):
    """The claims of one input, tested together.

    Args:
        places: by name; `MODEL` is among them.
        seed: of every draw. The same seed gives the same answer.
        distances: item to how far back it lies, for matched claims.
        outcome: the outcome (column) that is explained; without, the whole distribution.
        budget: masks that may be spent on places that are not free.
        items: what the items are called, in reasons.
    """

    def __init__(
        self,
        places: Mapping[str, Place],
        *,
        seed: int,
        distances: Mapping[int, int] | None = None,
        outcome: int | None = None,
        budget: int | None = None,
        items: str = ITEMS,
    ) -> None:
        self.places = places
        self.seed = seed
        self.distances = distances
        self.outcome = outcome
        self.effect = effect_on(outcome)
        self.left = budget
        self.items = items
        self.spent: dict[str, int] = dict.fromkeys(places, 0)
        self._drawn: dict[Pool, list[tuple[int, ...]]] = {}

    def pool(self, claim: Claim) -> Pool:
        """What a claim's controls are drawn from."""
        distances = self.distances if claim.matched else None
        return pool_for(claim.removed, claim.window, distances)

    def drawn(self, pool: Pool) -> list[tuple[int, ...]]:
        """The pool's control sets in the order in which they are tried."""
        if pool not in self._drawn:
            generator = np.random.default_rng([self.seed, zlib.crc32(repr(pool).encode())])
            sets = draw(pool, generator)
            self._drawn[pool] = [sets[place] for place in generator.permutation(len(sets))]
        return self._drawn[pool]

    def without(self, name: str, sets: Sets) -> Floats:
        """Probabilities with sets of items hidden somewhere."""
        self.spend(name, len(sets))
        return self.places[name].without(sets)

    def spend(self, name: str, masks: int) -> None:
        """Count masks that were asked about."""
        self.spent[name] += masks
        if self.left is not None and not self.places[name].free:
            self.left -= masks

    def measure(self, asked: Sequence[tuple[C, str]]) -> list[Measured[C]]:
        """Hide each claim's items, and control sets, in two rounds.

        Args:
            asked: claims, each with the place to hide its items in.
        """
        pools = [self.pool(claim) for claim, _ in asked]
        # Its own set is one of them, so one more is needed than is compared with.
        enough = [comparable(pool.sets - 1) for pool in pools]
        judgeable = [many and not one.even for many, (one, _) in zip(enough, asked, strict=True)]
        nats: dict[tuple[str, Pool], Floats] = {}
        full: dict[str, Floats] = {}
        rows: dict[int, Floats] = {}
        for name in dict.fromkeys(place for _, place in asked):
            mine = [n for n, (_, place) in enumerate(asked) if place == name]
            wanted = dict.fromkeys(pools[n] for n in mine if judgeable[n])
            tried = [self.drawn(pool)[:ROUNDS] for pool in wanted]
            sets = [(), *(asked[n][0].removed for n in mine), *itertools.chain(*tried)]
            found = self.without(name, sets)
            full[name] = found[0]
            rows |= zip(mine, found[1:], strict=False)
            effects = self.effect(full[name], found[1 + len(mine) :])
            parts = in_parts(effects, [len(one) for one in tried])
            nats |= {(name, pool): part for pool, part in zip(wanted, parts, strict=True)}

        def told(number: int) -> Measured[C]:
            (claim, name), pool = asked[number], pools[number]
            controls, others = np.zeros(0), []
            if judgeable[number]:
                own = tuple(sorted(claim.removed))
                tried = self.drawn(pool)[: len(nats[name, pool])]
                kept = [at for at, one in enumerate(tried) if one != own]
                controls = nats[name, pool][kept]
                others = [tried[at] for at in kept[:CONTROLS_REPLACED]]
            return Measured(
                claim=claim,
                place=name,
                probabilities=rows[number],
                effect=float(self.effect(full[name], rows[number])),
                points=100 * (rows[number] - full[name]),
                controls=controls,
                matched=claim.matched,
                identity=(name, frozenset(claim.removed)),
                reason=EVEN if enough[number] and claim.even else too_few(self.items),
                redraw=tuple(others),
            )

        first = [told(number) for number in range(len(asked))]
        doubtful = {identity for identity, (p, _) in strictest(first).items() if p <= IN_DOUBT}
        wanted_more = dict.fromkeys(
            (one.place, pools[number])
            for number, one in enumerate(first)
            if one.identity in doubtful and judgeable[number]
        )
        self._second_round(list(wanted_more), full, nats)
        return [told(number) for number in range(len(asked))]

    def _second_round(
        self,
        wanted: Sequence[tuple[str, Pool]],
        full: Mapping[str, Floats],
        nats: dict[tuple[str, Pool], Floats],
    ) -> None:
        """More controls for these pools, an equal share of what masks are left."""
        paid = sum(not self.places[name].free for name, _ in wanted)
        share = CONTROLS if self.left is None or not paid else max(0, self.left // paid)
        for name in dict.fromkeys(name for name, _ in wanted):
            pools = [pool for other, pool in wanted if other == name]
            limit = CONTROLS if self.places[name].free else share
            more = []
            for pool in pools:
                begun = len(nats[name, pool])
                more.append(self.drawn(pool)[begun : min(CONTROLS, begun + limit)])
            if not any(more):
                continue
            effects = self.effect(full[name], self.without(name, [*itertools.chain(*more)]))
            parts = in_parts(effects, [len(one) for one in more])
            for pool, part in zip(pools, parts, strict=True):
                nats[name, pool] = np.append(nats[name, pool], part)

    def judge(
        self, measured: Sequence[Measured[C]], full: Floats | Mapping[str, Floats]
    ) -> list[Tested[C]]:
        """p for every hypothesis, q over them, verdicts, and the second operator's word.

        What was hidden from the whole model and what was hidden from single heads are two
        families, each with its own q: heads alone often differ by little but surely, and
        should not lend that to claims about the model.

        Several heads may list the same items. Hidden in the same place they are one
        hypothesis: it counts once among the claims, and where its claims have different
        controls the least favourable comparison speaks for all of them, so the same items
        never get two verdicts.

        Args:
            full: what the model says with nothing hidden; by place, where places ask about
                different things.
        """
        least = strictest(measured)
        q_values: dict[tuple[str, frozenset[int]], float] = {}
        for whole in (True, False):
            family = [one for one, (_, first) in least.items() if (first.place == MODEL) == whole]
            found = benjamini_hochberg([least[one][0] for one in family])
            q_values |= zip(family, found, strict=True)
        tested: list[Tested[C]] = []
        for one in measured:
            p = q = None
            hardest: Measured[C] = one
            judged = Judged(None, one.reason)
            if one.identity in least and len(one.controls):
                p, hardest = least[one.identity]
                q = q_values[one.identity]
                points = one.points if self.outcome is None else one.points[[self.outcome]]
                against = sum(one.points[list(one.claim.raises)]) > 0
                judged = judge(
                    one.effect, points, hardest.controls, q, against=against, items=self.items
                )
            known = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
            known |= {"controls": hardest.controls, "matched": hardest.matched}
            known |= {"redraw": hardest.redraw, "p": p, "q": q, "judged": judged}
            tested.append(Tested(**known))
        return self._checked(tested, full)

    def _checked(
        self, tested: list[Tested[C]], full: Floats | Mapping[str, Floats]
    ) -> list[Tested[C]]:
        """Supported claims tried again with their items replaced instead of hidden."""
        asked: dict[str, dict[tuple[int, ...], int]] = {}
        for one in tested:
            if not self._is_to_be_checked(one):
                continue
            rows = asked.setdefault(one.place, {})
            rows[tuple(sorted(one.claim.removed))] = DRAWS
            for other in one.redraw:
                rows.setdefault(other, 1)
        nats: dict[tuple[str, tuple[int, ...]], Floats] = {}
        for name, rows in asked.items():
            swapped = self.places[name].replace
            assert swapped is not None
            sets = [one_set for one_set, draws in rows.items() for _ in range(draws)]
            self.spend(name, len(sets))
            whole = full[name] if isinstance(full, Mapping) else full
            parts = in_parts(self.effect(whole, swapped(sets)), list(rows.values()))
            nats |= {(name, one_set): part for one_set, part in zip(rows, parts, strict=True)}
        checked = []
        for one in tested:
            if self._is_to_be_checked(one):
                own = nats[one.place, tuple(sorted(one.claim.removed))]
                controls = np.array([nats[one.place, other][0] for other in one.redraw])
                one = dataclasses.replace(
                    one,
                    judged=agreed(one.judged, own, controls),
                    replaced=own,
                    replaced_controls=controls,
                )
            checked.append(one)
        return checked

    def _is_to_be_checked(self, one: Tested[C]) -> bool:
        """Whether a claim is supported, and its items can be replaced."""
        replaceable = self.places[one.place].replace is not None and bool(one.claim.removed)
        return one.judged.verdict == "supported" and replaceable


def strictest(
    measured: Sequence[Measured[C]],
) -> dict[tuple[str, frozenset[int]], tuple[float, Measured[C]]]:
    """Each hypothesis' largest p, and the claim whose controls it is from."""
    found: dict[tuple[str, frozenset[int]], tuple[float, Measured[C]]] = {}
    for one in measured:
        if len(one.controls):
            p = p_value(one.effect, one.controls)
            if one.identity not in found or p > found[one.identity][0]:
                found[one.identity] = p, one
    return found
