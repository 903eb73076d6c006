"""Claims about one prediction, put to one test together.

What hiding every single item does is asked once, in one batch; so is what hiding each claim's items
together does, which is told as its size. The test is of the sum of the single effects, against the
same sums of sets that chance would have named (`attnlens.claims.controls`). Where a direction is
claimed, or one outcome explained, single effects are signed changes of its log-odds.

A supported claim is tried once more by a second operator, where there is one: its items are not
hidden but replaced by items drawn from similar situations. The verdict stands where the mean effect
over `REPLACED` draws is above the mean over `REPLACED_CONTROLS` other sets, each drawn once; else
the operators disagree.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, Protocol

import numpy as np

from attnlens.analysis.scores import divergence, log_odds
from attnlens.arrays import Floats
from attnlens.claims.claim import MODEL, C, Claim, Hidden, Place, Sets, Tested, answers
from attnlens.claims.controls import Pool, Sums, pool_for
from attnlens.claims.verdict import (
    AMONG,
    CHANCE,
    ELSEWHERE,
    EVEN,
    FIRST_LEVEL,
    ITEMS,
    LEAST_SHARE,
    Q_LEVEL,
    Judged,
    about_one,
    after_the_first,
    agreed,
    benjamini_hochberg,
    judge,
    too_few,
)
from attnlens.errors import InputError

REPLACED: Final = 16
REPLACED_CONTROLS: Final = 24
STEADY: Final = 1e-6
"""Answers to the same question differ by no more than this."""

AGAIN: Final = 24
"""So many questions of every place are asked twice."""


def effect_on(outcome: int | None) -> Callable[[Floats, Floats], Floats]:
    """Nats between probabilities: of the whole distribution, or of one outcome and the rest."""
    if outcome is None:
        return divergence
    return lambda full, other: divergence(about_one(full, outcome), about_one(other, outcome))


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Compared(Generic[C]):
    """A claim beside what chance would have named, before it is judged.

    Attributes:
        claim, probabilities, effect, points, singles, share, chance: as `Tested` has them.
        p, least: how often chance names items that do as much, and as little.
        best: the p of the best set of as many items.
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
    p: float = 1.0
    least: float = 1.0
    best: float = 0.0
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
    ) -> None:
        self.places = places
        self.seed = seed
        self.kinds = kinds
        self.usual = usual
        self.outcome = outcome
        self.lowers = lowers
        self.effect = effect_on(outcome)
        self.items = items
        self.spent: dict[str, int] = dict.fromkeys(places, 0)
        self._hidden: dict[str, Hidden] = {}

    def without(self, name: str, sets: Sets) -> Floats:
        """Probabilities with sets of items hidden somewhere.

        Raises:
            InputError: the model answers with what is no probability, or differently each time.
        """
        if name in self._hidden:
            return self._asked(name, sets)
        items = self.places[name].items
        asked = [(), *((item,) for item in items), *sets]
        # Some of all twice: a model that is not steady is found out.
        twice = np.linspace(0, len(asked) - 1, min(AGAIN, len(asked))).astype(int)
        found = self._asked(name, [*asked, *(asked[number] for number in twice)])
        found, again = found[: len(asked)], found[len(asked) :]
        if np.abs(found[twice] - again).max() > STEADY:
            raise InputError(
                "the model gives another answer each time it is asked",
                remedy="call model.eval() first",
            )
        singles = found[1 : 1 + len(items)]
        effects = self.effect(found[0], singles)
        self._hidden[name] = Hidden(
            found[0],
            dict(zip(items, singles, strict=True)),
            dict(zip(items, effects.tolist(), strict=True)),
        )
        return found[1 + len(items) :]

    def _asked(self, name: str, sets: Sets) -> Floats:
        self.spent[name] += len(sets)
        return self.places[name].without(sets)

    def hidden(self, name: str) -> Hidden:
        """What a place says with everything, and without each item; asked once.

        Raises:
            InputError: as `without`.
        """
        if name not in self._hidden:
            self.without(name, [])
        return self._hidden[name]

    def moves(self, name: str, claim: Claim) -> Mapping[int, float]:
        """What each item does, as the claim has it: what its sum is taken of.

        Nats; of a claim with a direction, or about one outcome, the signed change of log-odds,
        which is as the root of nats.
        """
        outcomes = claim.raises or (() if self.outcome is None else (self.outcome,))
        hidden, usual = self.hidden(name), self._usual(name)
        if not outcomes:
            moves = np.array(list(hidden.effects.values())) / usual
        else:
            full = float(log_odds(hidden.full, outcomes))
            alone = log_odds(np.array(list(hidden.alone.values())), outcomes)
            moves = (full - alone) / np.sqrt(usual)
            moves = -moves if self.lowers and not claim.raises else moves
        return dict(zip(hidden.alone, moves.tolist(), strict=True))

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
        # A head's items are hidden from the whole model too, for its share.
        heads = [number for number, claim in enumerate(claims) if claim.place != MODEL]
        whole: Floats = np.zeros(0)
        for name in dict.fromkeys((MODEL, *(claim.place for claim in claims))):
            mine = [number for number, claim in enumerate(claims) if claim.place == name]
            sets = [inside[number].removed for number in mine]
            if name == MODEL:
                found = self.without(name, [*sets, *(claims[number].removed for number in heads)])
                whole = self.effect(self.hidden(MODEL).full, found[len(mine) :])
            else:
                found = self.without(name, sets)
            rows |= zip(mine, found[: len(mine)], strict=True)
        of_heads = dict(zip(heads, whole.tolist(), strict=True))
        return [
            self._compared(claim, inside[number], rows[number], of_heads.get(number))
            for number, claim in enumerate(claims)
        ]

    def _compared(
        self, claim: C, inside: Claim, probabilities: Floats, whole: float | None
    ) -> Compared[C]:
        place = claim.place
        hidden, moves = self.hidden(place), self.moves(place, inside)
        effect = float(self.effect(hidden.full, probabilities))
        if not np.isfinite([effect, *moves.values()]).all():
            raise InputError(
                "what hiding an item does is no number", remedy="give usual effects above 0"
            )
        pool = self.pool(inside)
        key = f"{pool}{inside.raises}{place}".encode()
        seed = [self.seed, zlib.crc32(key)]
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
            share=None if whole is None else _share(effect, whole),
            chance=self._in_place_of(inside, pool, sums, seed),
            p=sums.above(own),
            least=sums.below(own),
            best=sums.above(pool.best(moves)),
            untold=self._untold(inside, pool),
            redraw=tuple(pool.drawn(generator, REPLACED_CONTROLS)),
        )

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
                nats = self.effect(full, answers(replace, sets, len(full)))
                replaced, controls = nats[:REPLACED], nats[REPLACED:]
                judged = agreed(one.judged, replaced, controls)
                one = dataclasses.replace(
                    one, judged=judged, replaced=replaced, replaced_controls=controls
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

    What was hidden from the whole model and what was hidden from single heads are two families,
    each with its own q: heads alone often differ by little but surely, and should not lend that to
    claims about the model.

    Args:
        outcome, lowers, items: as `Trial` has them.
    """
    tested = {
        number: _told(one, None, _elsewhere(one) or one.untold)
        for number, one in enumerate(compared)
    }
    for whole in (True, False):
        family = [
            number
            for number, one in enumerate(compared)
            if (one.claim.place == MODEL) == whole and one.untold is None
        ]
        claims = [compared[number] for number in family]
        q_values = _q_values(claims, [one.p for one in claims])
        least = benjamini_hochberg([one.least for one in claims])
        for at, number in enumerate(family):
            judged = _judged(claims[at], q_values[at], least[at], outcome, lowers, items)
            if judged.reason in (CHANCE, AMONG) and _out_of_reach(claims, at):
                judged = Judged("cannot be told", too_few(items))
            tested[number] = _told(claims[at], q_values[at], judged)
    return [tested[number] for number in range(len(compared))]


class HasP(Protocol):
    """A claim after its test: what its items were hidden from, and p where it was tested."""

    @property
    def removed_from(self) -> str: ...
    @property
    def p(self) -> float | None: ...


def q_over(tested: Sequence[HasP]) -> list[float | None]:
    """q over the claims of many predictions together, each of the two kinds a family.

    Whoever looks for the best of many explanations should go by these: of a thousand claims, some
    dozens are supported by chance.

    Args:
        tested: of all predictions, after their own verdicts.

    Returns:
        by claim; ``None`` where it was not tested.
    """
    q_values: list[float | None] = [None] * len(tested)
    for place in ("model", "head"):
        family = {at: one.p for at, one in enumerate(tested) if one.removed_from == place}
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
    about = list(one.claim.raises or (() if outcome is None else (outcome,)))
    points = one.points[about] if about else one.points
    said = -1 if lowers and not one.claim.raises else 1
    against = bool(about) and said * float(points.sum()) > 0
    return judge(one.effect, points, (one.p, q, least), against=against, items=items)


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
        p=None if q is None else one.p,
        q=q,
        judged=judged or Judged(None, None),
    )


def _share(effect: float, whole: float) -> float:
    """A head's part of an effect, between 0 and 1."""
    return min(1.0, effect / whole) if whole > 0 else 0.0


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
