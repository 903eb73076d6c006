"""Claims about one prediction, put to one test together.

What hiding every single item does is asked once, in one batch; so is what hiding each claim's items
together does, which is told as its size. The test is of the sum of the single effects, against the
same sums of sets that chance would have named (`attnlens.evidence.controls`). Where a direction is
claimed, or one outcome explained, single effects are signed changes of its log-odds.

A supported claim is tried once more by a second operator, where there is one: its items are not
hidden but replaced by items drawn from similar situations. The verdict stands where what that does,
the way it is claimed, is on average over `REPLACED` draws above the mean over `REPLACED_CONTROLS`
other sets, each drawn once; else the operators disagree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, Protocol

import numpy as np

from attnlens.arrays import Floats
from attnlens.errors import InputError
from attnlens.evidence.claim import MODEL, C, Claim, Hidden, Place, Sets, Tested, answers
from attnlens.evidence.controls import Pool, Sums, pool_for
from attnlens.evidence.scores import divergence, log_odds
from attnlens.evidence.verdict import (
    AMONG,
    CHANCE,
    ELSEWHERE,
    EVEN,
    FIRST_LEVEL,
    ITEMS,
    LEAST_SHARE,
    Q_LEVEL,
    TOO_FEW_LIKE_IT,
    TOO_SMALL,
    Judged,
    about_one,
    after_the_first,
    agreed,
    benjamini_hochberg,
    judge,
    matters,
    none_matters,
    too_few,
)

REPLACED: Final = 16
REPLACED_CONTROLS: Final = 24
STEADY: Final = 1e-6
"""Answers to the same question, in one batch, differ by no more than this."""

ALIKE: Final = 0.01
"""Answers to the same question, asked beside others, differ by no more than this."""

UNSTEADY: Final = "the model gives another answer each time it is asked"
STEADILY: Final = "call model.eval() first"

AGAIN: Final = 24
AGAIN_ELSEWHERE: Final = 4
"""So many questions of the whole model, and of each other place, are asked twice."""


def effect_on(outcome: int | None) -> Callable[[Floats, Floats], Floats]:
    """Nats between probabilities: of the whole distribution, or of one outcome and the rest."""
    if outcome is None:
        return divergence
    return lambda full, other: divergence(about_one(full, outcome), about_one(other, outcome))


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Compared(Generic[C]):
    """A claim beside what chance would have named, before it is judged.

    Attributes:
        claim, probabilities, effect, points, singles, share, chance, statistic, statistics: as
            `Tested` has them.
        p, least: how often chance names items that do as much, and as little.
        best: the p of the best set of as many items.
        possible: whether hiding that set matters, and goes the way that is claimed.
        removed: the items in the words of the place they were hidden from.
        untold: why it is not tested, where it is not.
        redraw: sets that chance would have named, for the second operator.
    """

    claim: C
    removed: tuple[int, ...]
    probabilities: Floats
    effect: float
    points: Floats
    singles: Floats
    share: float | None = None
    chance: Floats
    statistic: float = 0.0
    statistics: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))
    p: float = 1.0
    least: float = 1.0
    best: float = 0.0
    possible: bool = True
    untold: Judged | None = None
    redraw: tuple[tuple[int, ...], ...] = ()


class Trial(Generic[C]):
    """The claims of one prediction, tested together.

    Args:
        places: by name; `MODEL` is among them.
        seed: of every draw. The same seed gives the same answer.
        kinds: item to its kind, for matched claims, such as the stratum of its distance.
        usual: item to what hiding an item in its place costs usually, nats, of claims about the
            whole model: sums are then of effects as multiples of that.
        outcome: the outcome (column) that is explained, which claims then say that their items
            raise; without, the whole distribution.
        lowers: whether claims say instead that their items lower it.
        items: what the items are called, in reasons.
        steady: answers to the same question, asked at once, differ by no more: rounding, where a
            model answers them in batches.
    """

    def __init__(
        self,
        places: Mapping[str, Place],
        *,
        seed: int,
        kinds: Mapping[int, int] | None = None,
        usual: Mapping[int, float] | None = None,
        outcome: int | None = None,
        lowers: bool = False,
        items: str = ITEMS,
        steady: float = STEADY,
    ) -> None:
        self.places = places
        self.seed = seed
        self.kinds = kinds
        self.usual = usual
        self.outcome = outcome
        self.lowers = lowers
        self.effect = effect_on(outcome)
        self.items, self.steady = items, steady
        self.spent: dict[str, int] = dict.fromkeys(places, 0)
        self._hidden: dict[str, Hidden] = {}

    def without(self, name: str, sets: Sets) -> Floats:
        """Probabilities with sets of items hidden somewhere.

        Raises:
            InputError: the model answers with what is no probability, or differently each time.
        """
        full = self.hidden(name).full
        again, *found = self._asked(name, [(), *sets])
        if np.abs(again - full).max() > ALIKE:
            raise InputError(UNSTEADY, remedy=STEADILY)
        return np.stack(found) if found else np.zeros((0, len(full)))

    def _asked(self, name: str, sets: Sets) -> Floats:
        self.spent[name] += len(sets)
        return self.places[name].without(sets)

    def hidden(self, name: str) -> Hidden:
        """What a place says with everything, and without each item; asked once.

        Raises:
            InputError: as `without`.
        """
        if name not in self._hidden:
            items = self.places[name].items
            asked = [(), *((item,) for item in items)]
            # Some of all twice: a model that is not steady is found out.
            times = min(AGAIN if name == MODEL else AGAIN_ELSEWHERE, len(asked))
            twice = np.linspace(0, len(asked) - 1, times).astype(int)
            found = self._asked(name, [*asked, *(asked[number] for number in twice)])
            if np.abs(found[twice] - found[len(asked) :]).max() > self.steady:
                raise InputError(UNSTEADY, remedy=STEADILY)
            full, *alone = found[: len(asked)]
            effects = self.effect(full, np.stack(alone)) if alone else np.zeros(0)
            self._hidden[name] = Hidden(
                full,
                dict(zip(items, alone, strict=True)),
                dict(zip(items, effects.tolist(), strict=True)),
            )
        return self._hidden[name]

    def change(self, full: Floats, other: Floats, raises: Sequence[int] = ()) -> Floats:
        """How far probabilities lie from those with everything, as it is claimed.

        Nats; of a claim with a direction, or about one outcome, the signed change of log-odds,
        which is as the root of nats.

        Args:
            full, other: ``(..., outcome)``.
            raises: as `Claim.raises`.
        """
        outcomes = raises or (() if self.outcome is None else (self.outcome,))
        if not outcomes:
            return divergence(full, other)
        moves = log_odds(full, outcomes) - log_odds(other, outcomes)
        return -moves if self.lowers and not raises else moves

    def _scale(self, usual: Floats, claim: Claim) -> Floats:
        """What a change is taken in multiples of: nats, or their root."""
        return np.sqrt(usual) if claim.raises or self.outcome is not None else usual

    def moves(self, name: str, claim: Claim) -> Mapping[int, float]:
        """What each item does, as the claim has it: what its sum, the statistic, is taken of.

        `change`, in multiples of what is usual in its place where that is known.
        """
        hidden, scale = self.hidden(name), self._scale(self._usual(name), claim)
        moves = self.change(hidden.full, np.array(list(hidden.alone.values())), claim.raises)
        return dict(zip(hidden.alone, (moves / scale).tolist(), strict=True))

    def _usual(self, name: str) -> Floats:
        """What hiding an item in the place of each costs usually; 1 where that is not known."""
        items = self.hidden(name).alone
        if self.usual is None or name != MODEL:
            return np.ones(len(items))
        return np.array([self.usual[item] for item in items])

    def _in_place_of(self, claim: Claim, pool: Pool, drawn: Sums, seed: Sequence[int]) -> Floats:
        """What the sets of chance would have cost in the places of these items, summed, nats.

        Args:
            claim: in the items of its place.
            drawn: the sums it is tested against, which are these where it has no direction.
        """
        hidden, usual = self.hidden(claim.place), self._usual(claim.place)
        beside = np.array(list(hidden.effects.values())) / usual
        if claim.raises or self.outcome is not None:
            effects = dict(zip(hidden.alone, beside.tolist(), strict=True))
            drawn = pool.sums(effects, np.random.default_rng(seed))
        ours = [place for place, item in enumerate(hidden.alone) if item in claim.removed]
        scale = usual[ours].mean() if ours else 1.0
        values: Floats = drawn.values * scale
        if drawn.listed:  # the items themselves are no other set
            values = np.delete(values, np.abs(values - beside[ours].sum() * scale).argmin())
        return values

    def pool(self, claim: Claim) -> Pool:
        """What chance would have named instead of a claim's items."""
        return pool_for(claim.removed, claim.window, self.kinds if claim.matched else None)

    def compare(self, claims: Sequence[C]) -> list[Compared[C]]:
        """Hide each claim's items, and put their sum beside those of other sets."""
        rows: dict[int, Floats] = {}
        inside = [self.places[claim.place].within(claim) for claim in claims]
        best = [self.pool(one).best(self.moves(one.place, one)) for one in inside]
        best_rows: dict[int, Floats] = {}
        # A head's items are hidden from the whole model too, for its share.
        heads = [number for number, claim in enumerate(claims) if claim.place != MODEL]
        of_heads: dict[int, Floats] = {}
        for name in dict.fromkeys((MODEL, *(claim.place for claim in claims))):
            mine = [number for number, claim in enumerate(claims) if claim.place == name]
            also = [claims[number].removed for number in heads] if name == MODEL else []
            sets = [inside[number].removed for number in mine]
            found = self.without(name, [*sets, *(best[number] for number in mine), *also])
            rows |= zip(mine, found[: len(mine)], strict=True)
            best_rows |= zip(mine, found[len(mine) : 2 * len(mine)], strict=True)
            of_heads |= zip(heads, found[2 * len(mine) :], strict=False)
        return [
            self._compared(
                claim, inside[number], (rows[number], best_rows[number]), of_heads.get(number)
            )
            for number, claim in enumerate(claims)
        ]

    def _compared(
        self, claim: C, inside: Claim, without: tuple[Floats, Floats], whole: Floats | None
    ) -> Compared[C]:
        """A claim beside chance.

        Args:
            inside: in the items of its place.
            without: probabilities with its items hidden there, and with the best set's.
            whole: of a head's claim, with its items hidden from the whole model.
        """
        place, (probabilities, best) = claim.place, without
        hidden, moves = self.hidden(place), self.moves(place, inside)
        effect = float(self.effect(hidden.full, probabilities))
        if not np.isfinite([effect, *moves.values()]).all():
            raise InputError(
                "what hiding an item does is no number", remedy="give usual effects above 0"
            )
        pool = self.pool(inside)
        seed = pool.seed(self.seed)
        generator = np.random.default_rng(seed)
        sums = pool.sums(moves, generator)
        own = sum(moves[item] for item in inside.removed)
        return Compared(
            claim=claim,
            removed=inside.removed,
            probabilities=probabilities,
            effect=effect,
            points=100 * (probabilities - hidden.full),
            singles=np.array([hidden.effects[item] for item in inside.removed]),
            share=None if whole is None else self._share(claim, probabilities, whole),
            chance=self._in_place_of(inside, pool, sums, seed),
            statistic=own,
            statistics=sums.values,
            p=sums.above(own),
            least=sums.below(own),
            best=sums.above(sum(moves[item] for item in pool.best(moves))),
            possible=self._possible(inside, hidden.full, best),
            untold=self._untold(inside, pool),
            redraw=tuple(pool.drawn(generator, REPLACED_CONTROLS)),
        )

    def _possible(self, claim: Claim, full: Floats, best: Floats) -> bool:
        """Whether hiding the best set matters, and goes the way that is claimed."""
        points = _points_about(claim, 100 * (best - full), self.outcome)
        goes = bool(self.change(full, best, claim.raises) > 0)
        return goes and matters(float(self.effect(full, best)), points)

    def _share(self, claim: Claim, own: Floats, whole: Floats) -> float:
        """A head's part of what hiding its items from the whole model does, between 0 and 1.

        0 where the two go opposite ways: then it carries none of it.
        """
        full, full_own = self.hidden(MODEL).full, self.hidden(claim.place).full
        alike = self.change(full_own, own, claim.raises) * self.change(full, whole, claim.raises)
        effect, all_of_it = float(self.effect(full_own, own)), float(self.effect(full, whole))
        return min(1.0, effect / all_of_it) if alike > 0 and all_of_it > 0 else 0.0

    def _untold(self, claim: Claim, pool: Pool) -> Judged | None:
        """Why a claim is not tested: known before anything is hidden."""
        level = FIRST_LEVEL if claim.first else Q_LEVEL
        if pool.sets * level < 1:
            return Judged("cannot be told", too_few(self.items))
        return Judged(None, EVEN) if claim.even else None

    def judge(self, compared: Sequence[Compared[C]]) -> list[Tested[C]]:
        """Verdicts (`verdicts`), and the second operator's word on supported claims."""
        return self._checked(self.verdicts(compared), compared)

    def verdicts(self, compared: Sequence[Compared[C]]) -> list[Tested[C]]:
        """As `judge`, before the second operator."""
        return verdicts(compared, outcome=self.outcome, lowers=self.lowers, items=self.items)

    def _checked(
        self, tested: Sequence[Tested[C]], compared: Sequence[Compared[C]]
    ) -> list[Tested[C]]:
        """Supported claims tried again with their items replaced instead of hidden."""
        checked = []
        for one, beside in zip(tested, compared, strict=True):
            replace = self.places[one.claim.place].replace
            if one.judged.verdict == "supported" and replace is not None and beside.redraw:
                own = tuple(sorted(beside.removed))
                sets = [own] * REPLACED + list(beside.redraw)
                self.spent[one.claim.place] += len(sets)
                full = self.hidden(one.claim.place).full
                found = answers(replace, sets, len(full))
                nats, usual = self.effect(full, found), self._usual(one.claim.place)
                of = dict(zip(self.hidden(one.claim.place).alone, usual.tolist(), strict=True))
                means = np.array([np.mean([of[item] for item in some]) for some in sets])
                moves = self.change(full, found, one.claim.raises) / self._scale(means, one.claim)
                one = dataclasses.replace(
                    one,
                    judged=agreed(one.judged, moves[:REPLACED], moves[REPLACED:]),
                    replaced=nats[:REPLACED],
                    replaced_controls=nats[REPLACED:],
                )
            checked.append(one)
        return checked


def verdicts(
    compared: Sequence[Compared[C]],
    *,
    outcome: int | None = None,
    lowers: bool = False,
    items: str = ITEMS,
) -> list[Tested[C]]:
    """q over the claims of a kind, and what follows from them.

    What was hidden from the whole model and what was hidden from single heads are families of
    their own (`Claim.family`), each with its own q: heads alone often differ by little but surely,
    and should not lend that to claims about the model.

    Args:
        outcome, lowers, items: as `Trial` has them.
    """
    tested = {
        number: _told(one, None, _elsewhere(one) or one.untold)
        for number, one in enumerate(compared)
    }
    for name in dict.fromkeys(one.claim.family for one in compared):
        family = [
            number
            for number, one in enumerate(compared)
            if one.claim.family == name and one.untold is None
        ]
        claims = [compared[number] for number in family]
        q_values = _q_values(claims, [one.p for one in claims])
        least = benjamini_hochberg([one.least for one in claims])
        for at, number in enumerate(family):
            judged = _judged(claims[at], q_values[at], least[at], outcome, lowers, items)
            if judged.reason in (CHANCE, AMONG, TOO_SMALL):
                if not claims[at].possible:
                    judged = Judged("cannot be told", none_matters(items))
                elif _out_of_reach(claims, at):
                    few = too_few(items) if claims[at].claim.window else TOO_FEW_LIKE_IT
                    judged = Judged("cannot be told", few)
            tested[number] = _told(claims[at], q_values[at], judged)
    return [tested[number] for number in range(len(compared))]


class HasP(Protocol):
    """A claim after its test: the claims it is corrected with, and p where it was tested."""

    @property
    def family(self) -> str: ...
    @property
    def p(self) -> float | None: ...


def q_over(tested: Sequence[HasP]) -> list[float | None]:
    """q over the claims of many predictions together, each kind a family (`Claim.family`).

    Whoever looks for the best of many explanations should go by these: of a thousand claims, some
    dozens are supported by chance.

    Args:
        tested: of all predictions, after their own verdicts.

    Returns:
        by claim; ``None`` where it was not tested.
    """
    q_values: list[float | None] = [None] * len(tested)
    for name in dict.fromkeys(one.family for one in tested):
        family = {at: one.p for at, one in enumerate(tested) if one.family == name}
        known = {at: p for at, p in family.items() if p is not None}
        for at, q in zip(known, benjamini_hochberg([*known.values()]), strict=True):
            q_values[at] = q
    return q_values


def _judged(
    one: Compared[C], q: float, least: float, outcome: int | None, lowers: bool, items: str
) -> Judged:
    picture = _elsewhere(one)
    if picture is not None:
        return picture
    points = _points_about(one.claim, one.points, outcome)
    said = -1 if lowers and not one.claim.raises else 1
    against = len(points) < len(one.points) and said * float(points.sum()) > 0
    return judge(one.effect, points, (one.p, q, least), against=against, items=items)


def _points_about(claim: Claim, points: Floats, outcome: int | None) -> Floats:
    """The changes of the outcomes that a claim is about; all of them, where it names none."""
    about = list(claim.raises or (() if outcome is None else (outcome,)))
    return points[about] if about else points


def _elsewhere(one: Compared[C]) -> Judged | None:
    """That a head does not carry what its items do: then nothing is said of it."""
    carries = one.share is None or one.share >= LEAST_SHARE
    return None if carries else Judged(None, ELSEWHERE)


def _told(one: Compared[C], q: float | None, judged: Judged | None) -> Tested[C]:
    return Tested(
        claim=one.claim,
        probabilities=one.probabilities,
        effect=one.effect,
        points=one.points,
        singles=one.singles,
        share=one.share,
        chance=np.zeros(0) if q is None else one.chance,
        statistic=one.statistic,
        statistics=np.zeros(0) if q is None else one.statistics,
        p=None if q is None else one.p,
        q=q,
        judged=judged or Judged(None, None),
    )


def _q_values(told: Sequence[Compared[C]], p_values: Sequence[float]) -> list[float]:
    """q of each, the one that is tested first apart."""
    first = next((at for at, one in enumerate(told) if one.claim.first), None)
    if first is None:
        return benjamini_hochberg(p_values)
    others = [p for at, p in enumerate(p_values) if at != first]
    own, q_values = after_the_first(p_values[first], others)
    q_values.insert(first, own)
    return q_values


def _out_of_reach(told: Sequence[Compared[C]], at: int) -> bool:
    """Whether even the best set in a claim's place would not have been supported."""
    p_values = [one.best if number == at else one.p for number, one in enumerate(told)]
    return _q_values(told, p_values)[at] > Q_LEVEL
